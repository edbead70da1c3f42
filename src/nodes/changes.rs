//! The changes between two trees as agents are shown them. Knows trees and files, not who looks.

use std::path::Path;

use super::folder::{Folder, failed};
use super::prompts::Diff;
use crate::graph::{Ctx, NodeError};
use crate::workspace::TreeId;

/// How long a diff may be in a prompt, in bytes; a longer one is put into a file.
pub const DIFF_LIMIT: usize = 100_000;

/// The changes between two trees; in a file named after both where they are long. Kept in the journal, so that a replay needs no
/// repository.
pub(super) async fn diff<C: Send + Sync + 'static>(
    ctx: &Ctx<C>,
    key: &str,
    folder: &Folder,
    long: &Path,
    between: [&TreeId; 2],
) -> Result<Diff, NodeError> {
    ctx.effect(key, &between, |_| read_diff(folder, long, between)).await
}

async fn read_diff(folder: &Folder, long: &Path, [from, to]: [&TreeId; 2]) -> Result<Diff, NodeError> {
    let workspace = folder.open().await?;
    let diff = workspace.diff(from, to, DIFF_LIMIT).await.map_err(failed)?;
    if let Some(text) = diff.text {
        return Ok(Diff::Text(text));
    }
    std::fs::create_dir_all(long)?;
    let file = long.join(format!("{from}-{to}.diff"));
    workspace.write_diff(from, to, &file).await.map_err(failed)?;
    Ok(Diff::File(file.display().to_string()))
}
