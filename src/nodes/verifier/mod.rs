//! One verifier on one attempt: by a command, a model or code. What it does outside is an effect named `verifier/ID/...`; what it
//! changes is taken back. Knows how verifiers run; must not know which run, in which order, and what follows from their findings.

mod alignment;
mod answers;
mod code;
mod command;
mod diff;
mod model;
mod outcome;
mod planned;
mod remarks;
mod shell;
mod undone;

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use super::agents::{AgentSpec, Agents};
use super::folder::{After, Base, Folder, Seen, told_tampering};
use crate::drivers::{NewLimits, Usage};
use crate::findings::{Finding, FindingKind, Fingerprint, VerifierOutput, VerifierReport};
use crate::graph::{Ctx, NodeError};
use crate::spec::{Mode, VerifierEntry};
use crate::verifiers::TaskView;
use crate::workspace::TreeId;

pub use planned::{PlannedVerifier, planned_verifier};

/// A verifier to run, and the attempt that it judges. Plain data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunVerifier {
    /// The verifier.
    pub entry: VerifierEntry,
    /// The task.
    pub task: TaskView,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The work tree.
    pub folder: Folder,
    /// The branch and the files from before the task.
    pub base: Base,
    /// The files of the attempt; what the verifier changes of them is taken back.
    pub tree: TreeId,
    /// The agent of a model verifier; the verifier's id becomes its role, and its settings come before the agent's.
    pub agent: AgentSpec,
    /// What verifiers get of this machine.
    pub host: VerifierHost,
    /// Errors that others remove: they count as infos.
    pub expected: Vec<Fingerprint>,
}

/// What verifiers get of the machine that they run on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifierHost {
    /// Variables of this process that commands get besides the usual ones.
    pub pass: Vec<String>,
    /// The folder for diffs that are too long for a prompt.
    pub long_diffs: PathBuf,
    /// Folders besides the work tree whose paths count as relative ones in findings: the user's checkout.
    pub roots: Vec<PathBuf>,
}

/// A verifier that has run.
#[derive(Clone, Debug)]
pub struct RanVerifier {
    /// Its report.
    pub output: VerifierOutput,
    /// What its model used.
    pub usage: Usage,
    /// The limits of the run that a person set.
    pub raised: NewLimits,
    /// What a person should know.
    pub notices: Vec<String>,
    /// What it did to git's hooks or configuration; nothing may be run in git then.
    pub tampered: Vec<String>,
    /// Whether the budget of the run is used up, and its model was not asked for that reason.
    pub is_spent: bool,
}

/// The words of a verifier, before its files are looked at.
#[derive(Debug, Default)]
struct Said {
    report: VerifierReport,
    ms: u64,
    /// Whether it is a command, and one was given or found.
    has_command: bool,
    /// Whether that command was found by the files of the attempt.
    has_found: bool,
    usage: Usage,
    raised: NewLimits,
    tampered: Vec<String>,
    is_spent: bool,
}

/// Runs a verifier. A verifier that crashes, takes too long, answers nonsense or changes files has an error among its findings.
///
/// # Errors
/// If the repository cannot be read, or the store fails.
pub async fn run_verifier<C: Agents>(job: &RunVerifier, ctx: &Ctx<C>) -> Result<RanVerifier, NodeError> {
    let look = job.look(ctx).await?;
    let at = {
        let _alone = look.lock().await;
        job.folder.stand(ctx, &job.key("stand"), &job.base).await?
    };
    let mut said = match job.entry.mode {
        Mode::Model => model::asked(job, ctx).await?,
        mode @ (Mode::Shell | Mode::Code) => guarded(job, mode, ctx).await?,
    };
    let base = Base { at, ..job.base.clone() };
    let _alone = look.lock().await;
    let seen = Seen { tampered: std::mem::take(&mut said.tampered), is_shared: true };
    let After { tampered, tree, notices } = job.folder.after_as(ctx, &job.key("left"), &base, seen).await?;
    if let Some(left) = tree.filter(|left| *left != job.tree) {
        said.report.push(undone::put_back(job, &left, said.has_found, ctx).await?);
    }
    if !tampered.is_empty() {
        said.report.push(failure(told_tampering("the verifier", &tampered)));
    }
    let Said { usage, raised, is_spent, .. } = said;
    Ok(RanVerifier { output: outcome::output(job, said), usage, raised, notices, tampered, is_spent })
}

/// Runs a command or code, and looks whether git was tampered with meanwhile.
async fn guarded<C: Agents>(job: &RunVerifier, mode: Mode, ctx: &Ctx<C>) -> Result<Said, NodeError> {
    let before = job.folder.guard(ctx, &job.key("guard")).await?;
    let said = match mode {
        Mode::Shell => shell::ran(job, ctx).await?,
        Mode::Model | Mode::Code => code::ran(job, ctx).await?,
    };
    let tampered = job.folder.tampered(ctx, &job.key("guard"), &before).await?;
    Ok(Said { tampered, ..said })
}

impl RunVerifier {
    /// Returns what is held while the files of the folder are looked at and put back: several verifiers of an attempt may run at a
    /// time.
    async fn look<C: Agents>(&self, ctx: &Ctx<C>) -> Result<Arc<Mutex<()>>, NodeError> {
        let name = format!("verifiers of {}", self.folder.directory.display());
        let look = ctx.kept(&name, || Arc::new(Mutex::new(()))).await;
        look.ok_or_else(|| NodeError::permanent(format!("`{name}` is the name of something else")))
    }

    /// Returns the name of an effect.
    fn key(&self, of: &str) -> String {
        format!("verifier/{}/{of}", self.entry.id)
    }
}

/// Returns the finding that a verifier itself failed.
fn failure(message: impl Into<String>) -> Finding {
    Finding::error(FindingKind::VerifierFail, message)
}

/// Returns the report of a verifier that failed: it has no opinion of the work.
fn failed_report(message: impl Into<String>) -> VerifierReport {
    VerifierReport { verdict: None, ..VerifierReport::of([failure(message)]) }
}
