//! The nodes that record the attempts at a task: a snapshot of the files, their commit with records for people and programs,
//! the end of the task. Knows git and files; the records are opaque JSON.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_base::moved::present_path;

use super::commit::{CommitJob, CommittedWork, commit, commit_since};
use super::folder::{Base, Folder, failed, refusal, store, tampering, thread};
use super::on_top::placed_files;
use crate::drivers::tools::mark_records;
use crate::graph::node::NodeOptions;
use crate::graph::{Ctx, NodeError, NodeId, State};
use crate::nodes::ask::BranchMoved;
use crate::nodes::job::{Context, Job, job};
use crate::nodes::siblings::write_whole;
use crate::workspace::{BranchPositions, CommitId, Head, StoredTree, TreeId};

job! {
    /// Snapshot to take.
    ///
    /// Its node fails if git fails.
    #[derive(Clone, Debug)]
    pub struct SnapshotJob {
        /// The folder.
        folder: Folder,
        /// The position and files at which the task began.
        base: Base,
    }
}

/// A snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenSnapshot {
    /// All files.
    pub tree: TreeId,
    /// Keys of this process that the files contain, each as a line with file and line number.
    pub leaked: Vec<String>,
    /// The position and files at which the task began, if people made commits meanwhile: it is on top of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Base>,
}

/// A snapshot with the position of HEAD.
#[derive(Serialize, Deserialize)]
struct PlacedSnapshot {
    #[serde(flatten)]
    taken: TakenSnapshot,
    /// None: HEAD or its branch were moved in another way than by commits on top.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<BranchPositions>,
}

impl<C: Context> Job<C> for SnapshotJob {
    type Output = TakenSnapshot;

    async fn perform(self, ctx: &Ctx<C>) -> Result<TakenSnapshot, NodeError> {
        take_snapshot(&self, ctx).await
    }
}

async fn take_snapshot<C: Context>(job: &SnapshotJob, ctx: &Ctx<C>) -> Result<TakenSnapshot, NodeError> {
    let take = |_| async {
        let workspace = job.folder.hold(ctx).await?;
        let (found, at) = placed_files(&thread(ctx), &workspace, &job.base.at).await.map_err(failed)?;
        let leaked = job.folder.leaked_keys(&job.base.tree, &found.tree).await?;
        if leaked.is_empty() && workspace.git_dir() != workspace.common_dir() {
            store(&job.folder, Some(&found.tree), ctx).await?; // the worktree may be removed while its task waits
        }
        Ok::<_, NodeError>(PlacedSnapshot { taken: TakenSnapshot { tree: found.tree, leaked, base: None }, at })
    };
    let PlacedSnapshot { taken, at } = ctx.effect("files", &job.base.tree, take).await?;
    let base = job.folder.new_base(ctx, "files", &job.base, at).await?;
    Ok(TakenSnapshot { base, ..taken })
}

job! {
    /// An attempt to record.
    ///
    /// Its node fails if a hook refuses the commit, or a file cannot be written; run again, it tries again.
    #[derive(Clone, Debug)]
    pub struct RecordJob {
        /// The work tree.
        folder: Folder,
        /// The position and files at which the task began.
        base: Base,
        /// The files of the attempt.
        tree: TreeId,
        /// Folder of its record: an absolute path.
        directory: PathBuf,
        ..
        /// Target of its commit.
        keep: CommitTarget = CommitTarget::Nowhere,
        /// The decision; the id of the commit is added as `commit`.
        decision: Value,
        /// The reports of the verifiers.
        outputs: Value,
        /// The task.
        spec: String,
    }
}

/// Target of an attempt's commit.
#[derive(Clone, Debug)]
pub enum CommitTarget {
    /// Under a private reference.
    Reference(StoredTree),
    /// On the branch of the work; under a private reference where there is nothing to commit, or a hook refuses an attempt that is
    /// not the last.
    Branch {
        /// The commit.
        commit: Box<CommitJob>,
        /// The position and files at which the task began, if people have committed since the files of the commit's base
        /// were there: the base gets them with all commits that were made since.
        start: Option<Box<Base>>,
        /// In place of it.
        or: StoredTree,
        /// Set if the task ends with it, so that a refusal of a hook must be mended.
        is_last: bool,
    },
    /// Nowhere: its files contain a key.
    Nowhere,
}

/// A recorded attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordResult {
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

impl<C: Context> Job<C> for RecordJob {
    type Output = RecordResult;

    async fn perform(mut self, ctx: &Ctx<C>) -> Result<RecordResult, NodeError> {
        let mut recorded = self.keep_work(ctx).await?;
        self.decision["commit"] = recorded.commit.as_ref().map_or(Value::Null, |commit| commit.to_string().into());
        let message = serde_json::json!({ "decision": self.decision });
        let write = |_| async {
            ctx.keep_event(&message).await;
            self.write().await.map(|()| Some(true))
        };
        // The effect of an earlier version had no result.
        let written: Option<bool> = ctx.effect("artifacts", &self.decision, write).await?;
        recorded.has_digest = written.unwrap_or_default();
        Ok(recorded)
    }

    fn options<S: State, N: NodeId>(options: NodeOptions<S, N, C>) -> NodeOptions<S, N, C> {
        options.asks::<BranchMoved>()
    }
}

impl RecordJob {
    async fn keep_work<C: Context>(&self, ctx: &Ctx<C>) -> Result<RecordResult, NodeError> {
        match &self.keep {
            CommitTarget::Nowhere => Ok(RecordResult::default()),
            CommitTarget::Reference(kept) => self.keep_by_reference(kept, ctx).await,
            CommitTarget::Branch { commit: job, start, or, is_last } => {
                match commit_since(start.as_deref(), job, ctx).await {
                    Ok(CommittedWork { is_aborted: true, .. }) => {
                        Ok(RecordResult { is_aborted: true, ..self.keep_by_reference(or, ctx).await? })
                    }
                    Ok(CommittedWork { made: None, base, .. }) => {
                        Ok(RecordResult { at: Some(base), ..self.keep_by_reference(or, ctx).await? })
                    }
                    Ok(CommittedWork { made, base, .. }) => {
                        Ok(RecordResult { commit: made, at: Some(base), ..RecordResult::default() })
                    }
                    Err(error) => match refusal(&error).filter(|_| !is_last) {
                        Some(refused) => {
                            Ok(RecordResult { refused: Some(refused), ..self.keep_by_reference(or, ctx).await? })
                        }
                        None => Err(error),
                    },
                }
            }
        }
    }

    async fn keep_by_reference<C: Context>(&self, kept: &StoredTree, ctx: &Ctx<C>) -> Result<RecordResult, NodeError> {
        let commit = keep_tree(&self.folder, kept, ctx).await?;
        Ok(RecordResult { commit: Some(commit), reference: Some(kept.reference.clone()), ..RecordResult::default() })
    }

    /// Writes the files, each atomically.
    async fn write(&self) -> Result<(), NodeError> {
        let directory = present_path(&self.directory);
        std::fs::create_dir_all(&directory)?;
        let below = self.directory.strip_prefix(&self.folder.directory).ok().and_then(Path::parent);
        below.map_or(Ok(()), |below| mark_records(&present_path(&self.folder.directory), below))?;
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
async fn keep_tree<C: Context>(folder: &Folder, kept: &StoredTree, ctx: &Ctx<C>) -> Result<CommitId, NodeError> {
    let at = superstep_base::time::millis(ctx.now().await?);
    let kept = StoredTree { at, ..kept.clone() };
    let arguments = (&kept.reference, &kept.parent, &kept.tree);
    let keep = |_| async { folder.open().await?.keep_tree(&kept).await.map_err(failed) };
    ctx.effect("keep", &arguments, keep).await
}

fn pretty(value: &Value) -> Result<String, NodeError> {
    serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(NodeError::permanent)
}

job! {
    /// A task to end.
    ///
    /// Its node fails if a hook refuses the commit; run again, it commits again.
    #[derive(Clone, Debug)]
    pub struct FinishJob {
        /// The commit on the branch.
        commit: CommitJob,
        ..
        /// Files of a turn that did not finish; none: they are recorded already.
        left: Option<LeftFiles>,
        /// The position to which the checkout goes back once the work is committed; none: it stays.
        back: Option<Head>,
    }
}

/// Files that are not recorded yet.
#[derive(Clone, Debug)]
pub struct LeftFiles {
    /// Folder and files at the start of the task: if nothing differs, nothing is kept.
    pub snapshot: SnapshotJob,
    /// The commit that keeps them; its tree is replaced by the files found.
    pub kept: StoredTree,
}

/// An ended task.
#[derive(Clone, Debug)]
pub struct FinishedTask {
    /// The commit, if there is one.
    pub moved: CommittedWork,
    /// Files that were recorded at the end.
    pub left: Option<KeptFiles>,
    /// A notice for people if the checkout could not go back.
    pub stays: Option<String>,
}

/// Files that were recorded at the end of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptFiles {
    /// The files; none if git's hooks or configuration were changed, so that git was not run.
    pub files: Option<TakenSnapshot>,
    /// The commit that keeps them; none: nothing was changed, or they contain a key.
    pub commit: Option<CommitId>,
}

impl<C: Context> Job<C> for FinishJob {
    type Output = FinishedTask;

    async fn perform(self, ctx: &Ctx<C>) -> Result<FinishedTask, NodeError> {
        let finished = end_task(&self, ctx).await?;
        if ctx.namespace().is_empty() {
            self.commit.folder.worktrees_unneeded(ctx).await?;
        }
        Ok(finished)
    }

    fn options<S: State, N: NodeId>(options: NodeOptions<S, N, C>) -> NodeOptions<S, N, C> {
        options.asks::<BranchMoved>()
    }
}

async fn end_task<C: Context>(job: &FinishJob, ctx: &Ctx<C>) -> Result<FinishedTask, NodeError> {
    match &job.left {
        None => {
            let back = job.back.as_ref().filter(|_| job.commit.tree.is_some()); // what is in no commit stays in the files
            if back.is_some() {
                // The checkout has gone back before, if this decision follows one that ended the task.
                job.commit.folder.arrive_without_asking(ctx, "own head", &job.commit.base).await?;
            }
            let moved = commit(&job.commit, ctx).await?;
            let stays = match (back, &moved.base.at.branch) {
                (Some(back), Some(own)) => job.commit.folder.go_back(ctx, own, back).await?,
                _ => None,
            };
            Ok(FinishedTask { moved, left: None, stays })
        }
        Some(left) => {
            let kept = left.keep(ctx).await?;
            let base = job.commit.base.clone();
            let moved = CommittedWork { made: None, base, moved: None, is_aborted: false };
            Ok(FinishedTask { moved, left: Some(kept), stays: None })
        }
    }
}

impl LeftFiles {
    async fn keep<C: Context>(&self, ctx: &Ctx<C>) -> Result<KeptFiles, NodeError> {
        let files = match take_snapshot(&self.snapshot, ctx).await {
            Ok(files) => files,
            Err(error) if tampering(&error).is_some() => return Ok(KeptFiles { files: None, commit: None }),
            Err(error) => return Err(error),
        };
        if files.tree == self.snapshot.base.tree || !files.leaked.is_empty() {
            return Ok(KeptFiles { files: Some(files), commit: None });
        }
        let kept = StoredTree { tree: files.tree.clone(), ..self.kept.clone() };
        let commit = keep_tree(&self.snapshot.folder, &kept, ctx).await?;
        Ok(KeptFiles { files: Some(files), commit: Some(commit) })
    }
}
