//! The changes between two trees for agents and people. Knows trees and files, must not know their readers.

use std::path::Path;

use superstep_base::moved::here;

use super::folder::{Folder, failed};
use super::prompts::Diff;
use crate::graph::{Ctx, NodeError};
use crate::workspace::{FileDiff, FileStatus, TreeId};

/// The maximum length of a diff in a prompt, in bytes; a longer one is put into a file.
pub const DIFF_LIMIT: usize = 100_000;

/// The number of files that are named to a person.
const SHOWN: usize = 50;
/// The number of files that are named to an agent.
pub(super) const NAMED: usize = 500;

/// Lists the files that differ between two trees, a line each. Journalled as [`diff`] is.
pub(super) async fn listed<C: Send + Sync + 'static>(
    ctx: &Ctx<C>,
    key: &str,
    folder: &Folder,
    between: [&TreeId; 2],
) -> Result<String, NodeError> {
    ctx.effect(key, &between, |_| read_files(folder, between)).await
}

async fn read_files(folder: &Folder, [from, to]: [&TreeId; 2]) -> Result<String, NodeError> {
    let files = folder.open().await?.diff(from, to, 0).await.map_err(failed)?.files;
    Ok(lines(&files, SHOWN))
}

/// Formats the first `most` files, a line each.
pub(super) fn lines(files: &[FileDiff], most: usize) -> String {
    let mut lines: Vec<String> = files.iter().take(most).map(line).collect();
    if files.len() > most {
        lines.push(format!("and {} more", files.len() - most));
    }
    lines.join("\n")
}

fn line(file: &FileDiff) -> String {
    let FileDiff { path, from, status, binary, added, removed } = file;
    let size = if *binary { "binary".to_owned() } else { format!("+{added} -{removed}") };
    let what = match (status, from) {
        (FileStatus::Added, _) => " (new)".to_owned(),
        (FileStatus::Deleted, _) => " (deleted)".to_owned(),
        (FileStatus::Renamed, Some(from)) => format!(" (was {from})"),
        (FileStatus::TypeChanged, _) => " (of another type)".to_owned(),
        (FileStatus::Modified | FileStatus::Renamed, _) => String::new(),
    };
    format!("{size} {path}{what}")
}

/// Takes a snapshot of the files.
pub(super) async fn tree_now<C: Send + Sync + 'static>(
    ctx: &Ctx<C>,
    key: &str,
    folder: &Folder,
) -> Result<TreeId, NodeError> {
    let look = |_| async { Ok::<_, NodeError>(folder.hold(ctx).await?.snapshot().await.map_err(failed)?.tree) };
    ctx.effect(key, &(), look).await
}

/// Returns the changes between two trees; long ones in a file named after both. Journalled, so that a replay needs no
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
    std::fs::create_dir_all(here(long))?;
    let file = long.join(format!("{from}-{to}.diff"));
    workspace.write_diff(from, to, &here(&file)).await.map_err(failed)?;
    Ok(Diff::File { path: file.display().to_string(), files: lines(&diff.files, NAMED) })
}
