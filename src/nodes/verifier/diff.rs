//! The changes of an attempt for a model: as text, or in a file. Knows trees and files, must not know the verifier.

use std::fs::{self, File};
use std::io::Write;

use superstep_base::moved::here;

use super::job::RunVerifier;
use crate::graph::{Ctx, NodeError};
use crate::nodes::changes::{DIFF_LIMIT, NAMED, lines};
use crate::nodes::folder::failed;
use crate::nodes::prompts::Diff;

/// Returns the changes, limited by the verifier's settings.
pub(super) async fn shown<C: Send + Sync + 'static>(job: &RunVerifier, ctx: &Ctx<C>) -> Result<Diff, NodeError> {
    ctx.effect(job.key("diff"), &[&job.base.tree, &job.tree], |_| read(job)).await
}

async fn read(job: &RunVerifier) -> Result<Diff, NodeError> {
    let workspace = job.folder.open().await?;
    let (from, to, most) = (&job.base.tree, &job.tree, job.entry.config.max_diff_bytes as usize);
    let diff = workspace.diff(from, to, DIFF_LIMIT.min(most)).await.map_err(failed)?;
    if let Some(text) = diff.text {
        return Ok(Diff::Text(text));
    }
    fs::create_dir_all(here(&job.host.long_diffs))?;
    let (text, is_all) = workspace.diff_start(from, to, most).await.map_err(failed)?;
    let name = if is_all { format!("{from}-{to}.diff") } else { format!("{from}-{to}-{most}.diff") };
    let path = job.host.long_diffs.join(name);
    let mut file = File::create(here(&path))?;
    file.write_all(text.as_bytes())?;
    if !is_all {
        writeln!(file, "[the rest is left out: the diff has {} bytes]", diff.bytes)?;
    }
    Ok(Diff::File { path: path.display().to_string(), files: lines(&diff.files, NAMED) })
}
