//! One verifier on one attempt: runs it, undoes its changes and names them in a finding, returns its output; or only says
//! what it would run.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use super::checks::some_of;
use super::job::{RunVerifier, VerifierResult, VerifierRun, failure, output};
use super::model::{ask_model, prompt_length};
use super::programs::{command, run_code, run_shell};
use crate::findings::{Finding, FindingKind};
use crate::graph::{Ctx, NodeError};
use crate::nodes::agent::Agents;
use crate::nodes::git::{Base, Folder, TamperCheck, Traces, failed, tampering_message};
use crate::nodes::job::Context;
use crate::spec::{VerifierEntry, VerifierMode};
use crate::verifiers::VerifierTask;
use crate::workspace::{FileDiff, FileStatus, TreeId};

/// Runs a verifier. A verifier that crashes, times out, returns nonsense or changes files has an error among its
/// findings.
///
/// # Errors
/// If the repository cannot be read, or the store fails.
pub async fn run_verifier<C: Agents>(job: &RunVerifier, ctx: &Ctx<C>) -> Result<VerifierRun, NodeError> {
    let look = job.look(ctx).await?;
    let alone = look.lock().await;
    let arrival = job.folder.arrive_without_asking(ctx, &job.key("stand"), &job.base).await?;
    let tree = arrival.carry(ctx, &job.key("stand/tree"), &job.folder, &job.tree).await?;
    let job = &RunVerifier { base: arrival.base.clone(), tree, ..job.clone() };
    drop(alone);
    let mut result = match job.entry.mode {
        VerifierMode::Model => ask_model(job, ctx).await?,
        mode @ (VerifierMode::Shell | VerifierMode::Code) => run_guarded(job, mode, ctx).await?,
    };
    let base = Base { at: arrival.turn.clone(), ..job.base.clone() };
    let _alone = look.lock().await;
    let seen = TamperCheck { tampered: std::mem::take(&mut result.tampered), is_shared: true };
    let Traces { tampered, tree, mut notices, at, .. } =
        job.folder.after_as(ctx, &job.key("left"), &base, seen).await?;
    // Commits that were made while a command ran are not its own, and stay.
    let settled = job.folder.settle(ctx, &job.key("left"), &arrival, at).await?;
    let verified = settled.carry(ctx, &job.key("left/tree"), &job.folder, &job.tree).await?;
    let job = &RunVerifier { base: settled.base.clone(), tree: verified, ..job.clone() };
    notices.extend(settled.notices);
    if let Some(left) = tree.filter(|left| *left != job.tree) {
        result.report.push(put_back(job, &left, result.has_found, ctx).await?);
    }
    if !tampered.is_empty() {
        result.report.push(failure(tampering_message("the verifier", &tampered)));
    }
    notices.extend(arrival.notices);
    let VerifierResult { usage, raised, is_spent, .. } = result;
    Ok(VerifierRun { output: output(job, result), usage, raised, notices, tampered, is_spent })
}

/// Runs a command or code, and checks whether git was tampered with during it.
async fn run_guarded<C: Agents>(
    job: &RunVerifier,
    mode: VerifierMode,
    ctx: &Ctx<C>,
) -> Result<VerifierResult, NodeError> {
    let before = job.folder.guard(ctx, &job.key("guard")).await?;
    let result = match mode {
        VerifierMode::Shell => run_shell(job, ctx).await?,
        VerifierMode::Model | VerifierMode::Code => run_code(job, ctx).await?,
    };
    let tampered = job.folder.tampering_since(ctx, &job.key("guard"), &before).await?;
    Ok(VerifierResult { tampered, ..result })
}

impl RunVerifier {
    /// Returns the lock for reading and resetting the files of the folder: several verifiers of an attempt may run at a
    /// time.
    async fn look<C: Agents>(&self, ctx: &Ctx<C>) -> Result<Arc<Mutex<()>>, NodeError> {
        let name = format!("verifiers of {}", self.folder.directory.display());
        let look = ctx.keep_for_run(&name, || Arc::new(Mutex::new(()))).await;
        look.ok_or_else(|| NodeError::permanent(format!("`{name}` is the name of something else")))
    }
}

/// Lock files that build tools write.
const LOCKS: [&str; 5] = ["Cargo.lock", "go.sum", "package-lock.json", "pnpm-lock.yaml", "yarn.lock"];

/// Files that differ from the verified ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct UndoneChanges {
    /// New files.
    new: Vec<String>,
    /// Changed or removed files.
    changed: Vec<String>,
}

/// Resets the files; `left` is the tree after the verifier. The differences are read first, as a run may be killed in
/// between.
async fn put_back<C: Context>(
    job: &RunVerifier,
    left: &TreeId,
    has_found_command: bool,
    ctx: &Ctx<C>,
) -> Result<Finding, NodeError> {
    let trees = [&job.tree, left];
    let undone = ctx.effect(job.key("changed"), &trees, |_| find_differences(job, trees)).await?;
    job.folder.undo(ctx, &job.key("undo"), (&job.base.at, &job.tree)).await?;
    Ok(finding(&undone, has_found_command))
}

async fn find_differences(job: &RunVerifier, [from, to]: [&TreeId; 2]) -> Result<UndoneChanges, NodeError> {
    let files = job.folder.open().await?.diff(from, to, 0).await.map_err(failed)?.files;
    let (new, changed): (Vec<FileDiff>, Vec<FileDiff>) =
        files.into_iter().partition(|file| matches!(file.status, FileStatus::Added | FileStatus::Renamed));
    // A rename is a new file and a removed one.
    let gone = new.iter().filter_map(|file| file.from.clone());
    let changed = changed.into_iter().map(|file| file.path).chain(gone).collect();
    Ok(UndoneChanges { new: new.into_iter().map(|file| file.path).collect(), changed })
}

/// Returns the finding for reset files. Only a discovered command may leave new files behind, such as build output.
fn finding(undone: &UndoneChanges, has_found_command: bool) -> Finding {
    let UndoneChanges { new, changed } = undone;
    let files = [new.as_slice(), changed].concat();
    if has_found_command && changed.iter().all(|file| is_lock(file)) {
        let message = format!("the command left files behind, which was taken back: {}", some_of(&files));
        return Finding::info(FindingKind::Other("FILES_LEFT".into()), message);
    }
    failure(format!("the verifier changed files, which was taken back: {}", some_of(&files)))
}

fn is_lock(file: &str) -> bool {
    file.rsplit('/').next().is_some_and(|name| LOCKS.contains(&name))
}

/// The plan of a verifier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedVerifier {
    /// The command, from the settings or discovered in the last commit; none: there is none, or the verifier is no
    /// command.
    pub command: Option<String>,
    /// Length of the prompt without any changes, in bytes; none: it is no model.
    pub prompt: Option<usize>,
}

/// Returns what a verifier would run for a task in a repository. Nothing runs.
///
/// # Errors
/// If the repository cannot be read.
pub async fn plan_verifier(
    entry: &VerifierEntry,
    task: &VerifierTask,
    folder: &Folder,
) -> Result<PlannedVerifier, NodeError> {
    let workspace = folder.open().await?;
    let command = match (entry.mode, workspace.head_tree().await.map_err(failed)?) {
        (VerifierMode::Shell, Some(tree)) => command(entry, &tree, &workspace).await?,
        (VerifierMode::Shell, None) => entry.config.command.clone(),
        (VerifierMode::Model | VerifierMode::Code, _) => None,
    };
    let prompt = (entry.mode == VerifierMode::Model).then(|| prompt_length(entry, task));
    Ok(PlannedVerifier { command, prompt })
}
