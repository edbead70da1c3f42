//! A verifier in code: found by its id, run with a timeout. Knows the trait; must not know any verifier.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use superstep_base::panics::catch_panic_in;

use super::job::RunVerifier;
use super::result::{VerifierResult, failed_report};
use crate::findings::VerifierReport;
use crate::graph::{Ctx, NodeError};
use crate::nodes::agents::Agents;
use crate::nodes::folder::failed;
use crate::process::Key;
use crate::verifiers::{Changes, DynVerifier, KnownKey, VerifierJob};
use crate::workspace::{LeakedKey, TreeId, Workspace, WorkspaceError};

/// A report with its duration.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Timed {
    pub(super) report: VerifierReport,
    pub(super) ms: u64,
}

impl Timed {
    /// Measures the time of a report.
    pub(super) async fn of(report: impl Future<Output = Result<VerifierReport, NodeError>>) -> Result<Self, NodeError> {
        let started = Instant::now();
        let report = report.await?;
        Ok(Self { report, ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX) })
    }
}

pub(super) async fn ran<C: Agents>(job: &RunVerifier, ctx: &Ctx<C>) -> Result<VerifierResult, NodeError> {
    let trees = [&job.base.tree, &job.tree];
    let Timed { report, ms } = ctx.effect(job.key("report"), &trees, |_| Timed::of(reported(job, ctx))).await?;
    Ok(VerifierResult { report, ms, ..VerifierResult::default() })
}

/// Runs the verifier; its failure is a finding.
async fn reported<C: Agents>(job: &RunVerifier, ctx: &Ctx<C>) -> Result<VerifierReport, NodeError> {
    let id = &job.entry.id;
    let Some(verifier) = ctx.context().verifier(id) else {
        let why = format!("there is no verifier `{id}` in this program; add it by `Crew::with_verifier`");
        return Ok(failed_report(why));
    };
    let given = given(job, &verifier, ctx).await?;
    let limit = Duration::from_secs(job.entry.config.timeout_sec.into());
    let failed = match tokio::time::timeout(limit, catch_panic_in(verifier.verify(&given))).await {
        Ok(Ok(Ok(report))) => return Ok(report),
        Ok(Ok(Err(error))) => format!("the verifier failed: {error}"),
        Ok(Err(panic)) => format!("the verifier panicked: {panic}"),
        Err(_) => format!("the verifier took longer than {} s", limit.as_secs()),
    };
    Ok(failed_report(failed))
}

/// Reads the input of the verifier.
async fn given<C: Agents>(job: &RunVerifier, by: &DynVerifier, ctx: &Ctx<C>) -> Result<VerifierJob, NodeError> {
    let workspace = job.folder.hold(ctx).await?;
    let most = by.diff_limit(job.entry.config.max_diff_bytes as usize);
    let changes = changes(&workspace, [&job.base.tree, &job.tree], most).await.map_err(failed)?;
    Ok(VerifierJob {
        task: job.task.clone(),
        attempt: job.attempt,
        folder: superstep_base::moved::here(&job.folder.directory),
        base: job.base.tree.to_string(),
        tree: job.tree.to_string(),
        changes,
        config: serde_json::Value::Object(job.entry.config.other.clone().into_iter().collect()),
    })
}

async fn changes(workspace: &Workspace, [from, to]: [&TreeId; 2], most: usize) -> Result<Changes, WorkspaceError> {
    let (diff, is_all) = workspace.diff_start(from, to, most).await?;
    let files = workspace.changed_files(from, to).await?;
    let keys = workspace.leaked_keys(from, to, Key::known()).await?.into_iter().map(known).collect();
    Ok(Changes { diff, is_cut: !is_all, files, keys })
}

fn known(LeakedKey { path, line, variable }: LeakedKey) -> KnownKey {
    KnownKey { file: path, line: u32::try_from(line).unwrap_or(u32::MAX), variable }
}
