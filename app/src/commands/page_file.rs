//! `export --html`: a run as one file that a browser shows. Without the feature `server` it says which one is missing.
//!
//! Small because the server makes the page.

use std::path::Path;

use super::session::{CommandOutput, Session};
use crate::failure::Failure;

#[cfg(not(feature = "server"))]
impl Session {
    /// Fails: the program has no page.
    pub(super) async fn export_page(&self, _: &str, file: &Path) -> Result<CommandOutput, Failure> {
        let error = format!("to write {} needs the page, which this program was built without", file.display());
        Err(Failure::usage(error).help("build it with the feature `server`"))
    }
}

#[cfg(feature = "server")]
impl Session {
    /// Writes a run and the page that shows it.
    pub(super) async fn export_page(&self, thread: &str, file: &Path) -> Result<CommandOutput, Failure> {
        let local = self.store_to_read().await?;
        let id = local.info(thread).await?.id;
        let graphs = self.graphs.with_store(&local.store);
        let page = superstep_server::recorded_page(graphs, local.store, id.as_str()).await;
        let page = page.map_err(|error| Failure::new(format!("{thread} cannot be shown")).because(&error))?;
        std::fs::write(file, &page)
            .map_err(|error| Failure::new(format!("{} cannot be written", file.display())).because(&error))?;
        let text = format!("{} KB written to {}: open it in a browser\n", page.len() >> 10, file.display());
        CommandOutput::new(text, &serde_json::json!({ "file": file.display().to_string(), "bytes": page.len() }))
    }
}
