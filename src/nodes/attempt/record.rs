//! The node that records an attempt: a commit of its files, and records for people and programs. Knows git and files;
//! the records are opaque JSON.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_base::moved::here;

use crate::drivers::tools::mark_records;
use crate::graph::{Ctx, Node, NodeError, NodeExt, NodeId, State, WithOptions, Writes};
use crate::nodes::commit::{CommitJob, Moved, commit_since};
use crate::nodes::folder::{Base, Folder, failed, refusal};
use crate::nodes::questions::BranchMoved;
use crate::nodes::step::step;
use crate::nodes::whole_file::write_whole;
use crate::workspace::{CommitId, KeptTree, TreeId};

/// An attempt to record.
#[derive(Clone, Debug)]
pub struct RecordJob {
    /// The work tree.
    pub folder: Folder,
    /// The position and files at which the task began.
    pub base: Base,
    /// The files of the attempt.
    pub tree: TreeId,
    /// Target of its commit.
    pub keep: Keep,
    /// Folder of its record: an absolute path.
    pub directory: PathBuf,
    /// The decision; the id of the commit is added as `commit`.
    pub decision: Value,
    /// The reports of the verifiers.
    pub outputs: Value,
    /// The task.
    pub spec: String,
}

/// Target of an attempt's commit.
#[derive(Clone, Debug)]
pub enum Keep {
    /// Under a private reference.
    Reference(KeptTree),
    /// On the branch of the work; under a private reference where there is nothing to commit, or a hook refuses an attempt that is
    /// not the last.
    Branch {
        /// The commit.
        commit: Box<CommitJob>,
        /// The position and files at which the task began, if people have committed since the files of the commit's base
        /// were there: the base gets them with all commits that were made since.
        start: Option<Box<Base>>,
        /// In place of it.
        or: KeptTree,
        /// Set if the task ends with it, so that a refusal of a hook must be mended.
        is_last: bool,
    },
    /// Nowhere: its files contain a key.
    Nowhere,
}

/// A recorded attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// Its commit; none: its files contain a key.
    pub commit: Option<CommitId>,
    /// The private reference that points to it; none: it is on the branch.
    pub reference: Option<String>,
    /// Position at which the next attempt starts; none: unchanged.
    pub at: Option<Base>,
    /// The message of a hook that refused the commit on the branch.
    pub refused: Option<String>,
    /// True if a person ended the run, because its branch was moved.
    #[serde(default)]
    pub is_aborted: bool,
    /// True if the digest of its record belongs into the store. An earlier version stored none.
    #[serde(default)]
    pub has_digest: bool,
}

/// Returns a node that records an attempt: `job` reads it from the state, `done` creates the update from its commit.
///
/// The node fails if a hook refuses the commit, or a file cannot be written; run again, it tries again.
pub fn record<S, N, C, A, D, E, W>(job: A, done: D) -> WithOptions<impl Node<S, N, C>, S, N, C>
where
    S: State,
    N: NodeId,
    C: Send + Sync + 'static,
    A: Fn(&S) -> Result<RecordJob, E> + Send + Sync + 'static,
    D: Fn(&S, Recorded) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    step(job, perform, done).asks::<BranchMoved>()
}

async fn perform<C: Send + Sync + 'static>(mut job: RecordJob, ctx: Ctx<C>) -> Result<Recorded, NodeError> {
    let mut recorded = job.kept(&ctx).await?;
    job.decision["commit"] = recorded.commit.as_ref().map_or(Value::Null, |commit| commit.to_string().into());
    let message = serde_json::json!({ "decision": job.decision });
    let write = |_| async {
        ctx.keep_event(&message).await;
        job.write().await.map(|()| Some(true))
    };
    // The effect of an earlier version had no result.
    let written: Option<bool> = ctx.effect("artifacts", &job.decision, write).await?;
    recorded.has_digest = written.unwrap_or_default();
    Ok(recorded)
}

impl RecordJob {
    async fn kept<C: Send + Sync + 'static>(&self, ctx: &Ctx<C>) -> Result<Recorded, NodeError> {
        match &self.keep {
            Keep::Nowhere => Ok(Recorded::default()),
            Keep::Reference(kept) => self.referenced(kept, ctx).await,
            Keep::Branch { commit: job, start, or, is_last } => match commit_since(start.as_deref(), job, ctx).await {
                Ok(Moved { is_aborted: true, .. }) => {
                    Ok(Recorded { is_aborted: true, ..self.referenced(or, ctx).await? })
                }
                Ok(Moved { made: None, base, .. }) => {
                    Ok(Recorded { at: Some(base), ..self.referenced(or, ctx).await? })
                }
                Ok(Moved { made, base, .. }) => Ok(Recorded { commit: made, at: Some(base), ..Recorded::default() }),
                Err(error) => match refusal(&error).filter(|_| !is_last) {
                    Some(refused) => Ok(Recorded { refused: Some(refused), ..self.referenced(or, ctx).await? }),
                    None => Err(error),
                },
            },
        }
    }

    async fn referenced<C: Send + Sync + 'static>(&self, kept: &KeptTree, ctx: &Ctx<C>) -> Result<Recorded, NodeError> {
        let commit = keep_tree(&self.folder, kept, ctx).await?;
        Ok(Recorded { commit: Some(commit), reference: Some(kept.reference.clone()), ..Recorded::default() })
    }

    /// Writes the files, each atomically.
    async fn write(&self) -> Result<(), NodeError> {
        let directory = here(&self.directory);
        std::fs::create_dir_all(&directory)?;
        let below = self.directory.strip_prefix(&self.folder.directory).ok().and_then(Path::parent);
        below.map_or(Ok(()), |below| mark_records(&here(&self.folder.directory), below))?;
        let patch = directory.join("diff.patch");
        self.folder.open().await?.write_diff(&self.base.tree, &self.tree, &patch).await.map_err(failed)?;
        let file = |name: &str| directory.join(name);
        write_whole(&file("spec.md"), &self.spec)?;
        write_whole(&file("verifier_outputs.json"), &pretty(&self.outputs)?)?;
        write_whole(&file("decision.json"), &pretty(&self.decision)?)?;
        let transcript = file("agent.ndjson");
        if transcript.exists() { Ok(()) } else { Ok(write_whole(&transcript, "")?) }
    }
}

/// Commits a tree with the current time.
pub(super) async fn keep_tree<C: Send + Sync + 'static>(
    folder: &Folder,
    kept: &KeptTree,
    ctx: &Ctx<C>,
) -> Result<CommitId, NodeError> {
    let at = superstep_base::time::millis(ctx.now().await?);
    let kept = KeptTree { at, ..kept.clone() };
    let arguments = (&kept.reference, &kept.parent, &kept.tree);
    let keep = |_| async { folder.open().await?.keep_tree(&kept).await.map_err(failed) };
    ctx.effect("keep", &arguments, keep).await
}

fn pretty(value: &Value) -> Result<String, NodeError> {
    serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(NodeError::permanent)
}
