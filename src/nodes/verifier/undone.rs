//! Files that a verifier changed: they are reset, and named in a finding.

use serde::{Deserialize, Serialize};

use super::job::RunVerifier;
use super::result::failure;
use crate::findings::{Finding, FindingKind};
use crate::graph::{Ctx, NodeError};
use crate::nodes::folder::failed;
use crate::workspace::{FileDiff, FileStatus, TreeId};

/// The number of files that are named.
const SHOWN: usize = 10;

/// Lock files that build tools write.
const LOCKS: [&str; 5] = ["Cargo.lock", "go.sum", "package-lock.json", "pnpm-lock.yaml", "yarn.lock"];

/// Files that differ from the verified ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Undone {
    /// New files.
    new: Vec<String>,
    /// Changed or removed files.
    changed: Vec<String>,
}

/// Resets the files; `left` is the tree after the verifier. The differences are read first, as a run may be killed in
/// between.
pub(super) async fn put_back<C>(
    job: &RunVerifier,
    left: &TreeId,
    has_found_command: bool,
    ctx: &Ctx<C>,
) -> Result<Finding, NodeError>
where
    C: Send + Sync + 'static,
{
    let trees = [&job.tree, left];
    let undone = ctx.effect(job.key("changed"), &trees, |_| differing(job, trees)).await?;
    job.folder.undo(ctx, &job.key("undo"), (&job.base.at, &job.tree)).await?;
    Ok(finding(&undone, has_found_command))
}

async fn differing(job: &RunVerifier, [from, to]: [&TreeId; 2]) -> Result<Undone, NodeError> {
    let files = job.folder.open().await?.diff(from, to, 0).await.map_err(failed)?.files;
    let (new, changed): (Vec<FileDiff>, Vec<FileDiff>) =
        files.into_iter().partition(|file| matches!(file.status, FileStatus::Added | FileStatus::Renamed));
    // A rename is a new file and a removed one.
    let gone = new.iter().filter_map(|file| file.from.clone());
    let changed = changed.into_iter().map(|file| file.path).chain(gone).collect();
    Ok(Undone { new: new.into_iter().map(|file| file.path).collect(), changed })
}

/// Returns the finding for reset files. Only a discovered command may leave new files behind, such as build output.
fn finding(undone: &Undone, has_found_command: bool) -> Finding {
    let Undone { new, changed } = undone;
    let files = [new.as_slice(), changed].concat();
    if has_found_command && changed.iter().all(|file| is_lock(file)) {
        let message = format!("the command left files behind, which was taken back: {}", listed(&files));
        return Finding::info(FindingKind::Other("FILES_LEFT".into()), message);
    }
    failure(format!("the verifier changed files, which was taken back: {}", listed(&files)))
}

fn is_lock(file: &str) -> bool {
    file.rsplit('/').next().is_some_and(|name| LOCKS.contains(&name))
}

fn listed(files: &[String]) -> String {
    let shown = files.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
