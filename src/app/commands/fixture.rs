//! `export --fixture`: writes a thread as a file for a test.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::output::CommandOutput;
use super::retention::lines;
use super::session::Session;
use super::transfer::to_file;
use crate::app::failure::Failure;
use crate::app::local::Local;
use crate::app::text::clean;
use crate::checkpoint::{ExportOptions, ImportOptions, MemoryCheckpointer, ThreadId, import_thread, trust};
use crate::graph::Verdict;

impl Session {
    /// Writes the file, and compares it with the graph as the test will.
    pub(super) async fn fixture(
        &self,
        thread: &str,
        file: &Path,
        with_secrets: bool,
    ) -> Result<CommandOutput, Failure> {
        let local = self.store_to_read()?;
        let info = local.info(thread).await?;
        let options = if with_secrets { ExportOptions::new().with_secrets() } else { ExportOptions::new() };
        let exported = to_file(&local, &info.id, &options, file).await?;
        let (found, text, verdict) = compared(&local, &info.graph, file).await?;
        let name = file.display().to_string();
        let mut output = crate::app::local::json(&exported)?;
        (output["file"], output["verify"], output["test"]) = (name.as_str().into(), found, test(&name).into());
        let text = format!("{exported}\nwritten to {name}\n{}\n{}", text.trim_end(), meant(verdict));
        CommandOutput::new(
            format!("{}the test, with the feature `test-util`\n{}", lines(&text), indented(&test(&name))),
            &output,
        )
    }
}

/// Compares the thread in a file with its graph.
async fn compared(local: &Local, graph: &str, file: &Path) -> Result<(Value, String, Verdict), Failure> {
    let store = MemoryCheckpointer::new();
    let opened = File::open(file).map_err(|error| Failure::new(format!("{}: {error}", file.display())))?;
    let thread: ThreadId = import_thread(&store, opened, &ImportOptions::new()).await?.thread;
    trust(&store, &thread).await?;
    local.graphs.named(graph)?.thread(Arc::new(store), thread).verify(None).await
}

/// Returns the sentence for a verdict.
fn meant(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Same => "the test holds now",
        Verdict::SameInPart => "the test holds now, over what was compared",
        Verdict::NothingCompared => {
            "the test has nothing to compare: mark nodes whose side effects all go through `ctx` as `.replayable()`"
        }
        Verdict::Different => "the test fails until the graph comes to what was recorded",
    }
}

fn test(file: &str) -> String {
    let file = json!(file);
    format!(
        "let fixture = superstep::graph::kit::Fixture::load({file})?;\n\
         let report = fixture.verify(&graph).await?;\n\
         assert!(report.agrees(), \"{{report}}\");\n"
    )
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {}\n", clean(line))).collect()
}
