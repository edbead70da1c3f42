//! The nodes that prepare a repository, or a worktree for one task. They know branches and dirt, must not know the work.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use superstep_base::moved::present_path;

use super::worktree::{Worktree, WorktreeJob, WorktreeProblem};
use crate::drivers::tools::mark_records;
use crate::graph::node::WithOptions;
use crate::graph::{Ctx, Node, NodeError, NodeId, State};
use crate::nodes::events::pending_notices;
use crate::nodes::git::{Base, Folder, failed, thread};
use crate::nodes::job::{Context, Job, MakeUpdate, ReadJob, job, node};
use crate::workspace::{Head, OmittedFile, Workspace, branch_name, escape_id};

job! {
    /// A repository to prepare.
    #[derive(Clone, Debug, Serialize, Deserialize)]
    pub struct PrepareJob {
        /// The folder of the work.
        folder: Folder,
        ..
        /// Full name of the branch of the work.
        branch: Option<String>,
        /// Otherwise, the issue to name the branch after; none: the thread.
        named_after: Option<String>,
        /// True if changes of the user's own may be in the files.
        allow_dirty: bool,
        /// A plan to write into the repository, and its path there; none: it is not written.
        #[serde(default)]
        plan: Option<(PathBuf, String)>,
        /// True if the plan comes into the files later, with the first commit.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        plan_waits: bool,
    }
}

/// A prepared repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreparedRepository {
    /// The base of the work: with the plan, unless that waits.
    pub base: Base,
    /// The same without the plan.
    pub start: Base,
    /// Notices for a person: files that are left out.
    pub notices: Vec<String>,
    /// The position of HEAD before; none: an earlier release prepared it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Head>,
}

/// Returns a node that prepares a repository: no unfinished git operation, no user changes in the way, HEAD on a new
/// branch. The user's branches never move.
///
/// The node fails if there are uncommitted changes, a merge is in progress, or the branch has other work.
pub fn prepare_workspace<S: State, N: NodeId, C: Context>(
    job: impl ReadJob<S, PrepareJob>,
    done: impl MakeUpdate<S, PreparedRepository>,
) -> WithOptions<impl Node<S, N, C>, S, N, C> {
    node(job, done)
}

impl<C: Context> Job<C> for PrepareJob {
    type Output = PreparedRepository;

    async fn perform(self, ctx: &Ctx<C>) -> Result<PreparedRepository, NodeError> {
        let name =
            self.branch.clone().unwrap_or_else(|| branch_name(self.named_after.as_deref().unwrap_or(&thread(ctx))));
        // Recorded before HEAD moves to the branch of the work.
        let look = |_| async { self.folder.hold(ctx).await?.head().await.map_err(failed) };
        let before: Head = ctx.effect("head", &self.folder, look).await?;
        ctx.effect("prepare", &self, |_| prepare_branch(&self, name, &before, ctx)).await
    }
}

async fn prepare_branch<C: Context>(
    job: &PrepareJob,
    name: String,
    before: &Head,
    ctx: &Ctx<C>,
) -> Result<PreparedRepository, NodeError> {
    let mut without = job.folder.clone();
    if let Some((path, text)) = &job.plan {
        without.apart.extend(may_write(job, path, text)?.then(|| path.clone()));
    }
    let workspace = without.hold(ctx).await?;
    workspace.ignore_store().await.map_err(failed)?;
    workspace.ensure_ready().await.map_err(failed)?;
    if !job.allow_dirty {
        workspace.ensure_clean().await.map_err(failed)?;
    }
    workspace.ensure_identity().await.map_err(failed)?;
    let own = workspace.own_branch(&name, None).await.map_err(failed)?;
    let others: Vec<&str> = [before, &own.before].into_iter().filter_map(Head::branch).collect();
    let at = workspace.branch_positions(&others).await.map_err(failed)?;
    let snapshot = workspace.snapshot().await.map_err(failed)?;
    let mut notices: Vec<String> = snapshot.left_out.iter().map(OmittedFile::to_string).collect();
    notices.extend(salvage_notice(&workspace, &thread(ctx)).await?);
    notices.extend(pending_notices(ctx).await);
    let start = Base { at, tree: snapshot.tree };
    let unwritten =
        PreparedRepository { base: start.clone(), start: start.clone(), notices, before: Some(before.clone()) };
    let Some((path, text)) = job.plan.as_ref().filter(|_| !job.plan_waits) else { return Ok(unwritten) };
    let written = super::draft::write(&job.folder.directory, &job.folder.directory.join(path), text);
    written.map_err(NodeError::permanent)?;
    let tree = job.folder.hold(ctx).await?.snapshot().await.map_err(failed)?.tree;
    Ok(PreparedRepository { base: Base { tree, ..start }, ..unwritten })
}

/// Returns a notice about work kept by an earlier run of the same name.
async fn salvage_notice(workspace: &Workspace, thread: &str) -> Result<Option<String>, NodeError> {
    let count = workspace.salvaged_work(thread).await.map_err(failed)?.len();
    let work = if count == 1 { "an attempt is".to_owned() } else { format!("{count} attempts are") };
    let message = format!(
        "{work} kept in git from an earlier run of this name: `salvage` lists and restores them; they are separate from \
         this run's"
    );
    Ok((count > 0).then_some(message))
}

/// Returns true if the plan is written already. Another file in its place is only overwritten if git has it.
fn may_write(job: &PrepareJob, path: &Path, text: &str) -> Result<bool, NodeError> {
    let place = present_path(job.folder.directory.join(path));
    match superstep_base::files::text(&place) {
        Ok(found) if found == text => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        _ if !job.allow_dirty => Ok(false), // it is dirt, or git has it
        _ => Err(NodeError::permanent(format!(
            "{}: already exists, and the plan does not overwrite it (help: move it away, or set `plan_in_repo = false`)",
            place.display()
        ))),
    }
}

/// A task to start: its folder is prepared.
///
/// Its node fails if git fails, or the repository is not ready.
#[derive(Clone, Debug)]
pub enum BeginTaskJob {
    /// In the user's checkout, on a new branch.
    Checkout {
        /// The repository to prepare.
        prepare: Box<PrepareJob>,
        /// The folder of records, relative to the top of the work tree: git ignores it from now on.
        records: PathBuf,
    },
    /// In a new worktree.
    Worktree(Box<WorktreeJob>),
    /// In existing files.
    Here(Folder, Box<Base>),
}

/// A started task.
#[derive(Clone, Debug)]
pub struct BegunTask {
    /// Name of the run.
    pub run: String,
    /// Folder of the work.
    pub folder: Folder,
    /// Position and files at the start; none if the worktree is not ready.
    pub base: Option<Base>,
    /// The problem, if it is not ready.
    pub problem: Option<String>,
    /// Notices for people.
    pub notices: Vec<String>,
    /// The position of HEAD before; none: the task has no checkout of its own.
    pub before: Option<Head>,
}

impl<C: Context> Job<C> for BeginTaskJob {
    type Output = BegunTask;

    async fn perform(self, ctx: &Ctx<C>) -> Result<BegunTask, NodeError> {
        let run = thread(ctx);
        match self {
            Self::Checkout { prepare: job, records } => {
                let of_run = records.join(escape_id(&run));
                let ignore = |_| async {
                    ignore_records(&job.folder, &records).await?;
                    Ok::<_, NodeError>(mark_records(&present_path(&job.folder.directory), &of_run)?)
                };
                ctx.effect("ignore", &records, ignore).await?;
                let folder = job.folder.clone();
                let PreparedRepository { base, notices, before, .. } = job.perform(ctx).await?;
                Ok(BegunTask { run, folder, base: Some(base), problem: None, notices, before })
            }
            Self::Worktree(job) => {
                let Worktree { folder, base, problem, notices } = job.perform(ctx).await?;
                let problem = problem.map(WorktreeProblem::into_words);
                Ok(BegunTask { run, folder, base, problem, notices, before: None })
            }
            Self::Here(folder, base) => {
                Ok(BegunTask { run, folder, base: Some(*base), problem: None, notices: vec![], before: None })
            }
        }
    }
}

/// Makes git ignore the folder of records.
async fn ignore_records(folder: &Folder, records: &std::path::Path) -> Result<(), NodeError> {
    folder.open().await?.ignore(&format!("/{}/", records.display())).await.map_err(failed)
}
