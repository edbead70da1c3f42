//! The node that starts a task: prepares the repository or a worktree for the task, or continues in existing files.

use std::path::PathBuf;

use superstep_base::moved::here;

use crate::drivers::tools::mark_records;
use crate::graph::{Ctx, Node, NodeError, NodeId, State, Writes};
use crate::nodes::folder::{Base, Folder, failed, thread};
use crate::nodes::prepare_workspace::{PrepareJob, prepare};
use crate::nodes::step::step;
use crate::nodes::worktree::{Unready, WorktreeJob, made_ready};
use crate::workspace::{Head, escaped};

/// A task to start.
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

/// Returns a node that prepares the folder of a task: `job` reads the task from the state, `done` creates the update.
///
/// The node fails if git fails, or the repository is not ready.
pub fn begin_task<S, N, C, A, D, E, W>(job: A, done: D) -> impl Node<S, N, C>
where
    S: State,
    N: NodeId,
    C: Send + Sync + 'static,
    A: Fn(&S) -> Result<BeginTaskJob, E> + Send + Sync + 'static,
    D: Fn(&S, BegunTask) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    step(job, perform, done)
}

async fn perform<C: Send + Sync + 'static>(job: BeginTaskJob, ctx: Ctx<C>) -> Result<BegunTask, NodeError> {
    let run = thread(&ctx);
    match job {
        BeginTaskJob::Checkout { prepare: job, records } => {
            let of_run = records.join(escaped(&run));
            let ignore = |_| async {
                ignored(&job.folder, &records).await?;
                Ok::<_, NodeError>(mark_records(&here(&job.folder.directory), &of_run)?)
            };
            ctx.effect("ignore", &records, ignore).await?;
            let prepared = prepare(&job, &ctx).await?;
            let base = Some(prepared.base);
            Ok(BegunTask {
                run,
                folder: job.folder,
                base,
                problem: None,
                notices: prepared.notices,
                before: prepared.before,
            })
        }
        BeginTaskJob::Worktree(job) => {
            let made = made_ready(*job, ctx).await?;
            let problem = made.problem.map(Unready::into_words);
            Ok(BegunTask { run, folder: made.folder, base: made.base, problem, notices: made.notices, before: None })
        }
        BeginTaskJob::Here(folder, base) => {
            Ok(BegunTask { run, folder, base: Some(*base), problem: None, notices: vec![], before: None })
        }
    }
}

/// Makes git ignore the folder of records.
async fn ignored(folder: &Folder, records: &std::path::Path) -> Result<(), NodeError> {
    folder.open().await?.ignore(&format!("/{}/", records.display())).await.map_err(failed)
}
