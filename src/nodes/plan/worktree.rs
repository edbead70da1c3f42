//! The node that prepares the worktree of a subtask, and the removal of worktrees. Knows git and commands, must not
//! know the work.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use superstep_base::moved::present_path;

use crate::graph::{Ctx, NodeError};
use crate::nodes::events::Activity;
use crate::nodes::git::{Base, Folder, failed, reference_of, store, tampering_message, thread};
use crate::nodes::job::{Context, Job, job};
use crate::nodes::siblings::Siblings;
use crate::nodes::verify::{Check, Checks};
use crate::workspace::{CommitId, Furnishings, OmittedFile, TreeId, Workspace, WorkspaceError, WorktreeSnapshot};

job! {
    /// A worktree to prepare, with a detached HEAD. Files are copied and linked, then the setup commands run; the work starts
    /// with the files after them.
    ///
    /// Its node fails if git fails; a failing command is a problem of the worktree.
    #[derive(Clone, Debug)]
    pub struct WorktreeJob {
        /// The work tree of the run, from which files are copied.
        repository: Folder,
        /// The folder of the worktree: an absolute path.
        path: PathBuf,
        /// The commit to start at.
        at: CommitId,
        /// The time limit of each.
        limit: Duration,
        ..
        /// Files to copy or link into it; paths are relative to the top of the work tree.
        furnishings: Furnishings,
        /// Setup commands, in order.
        setup: Vec<String>,
        /// Variables of this process that the commands get besides the usual ones.
        pass: Vec<String>,
        /// Branches that must not move: the run's, and the user's.
        others: Vec<String>,
        /// The group of tasks that stops them.
        together: Option<Siblings>,
    }
}

/// Result of preparing a worktree.
#[derive(Clone, Debug)]
pub struct Worktree {
    /// The worktree.
    pub folder: Folder,
    /// Position and files at the start of the work; none if it is not ready.
    pub base: Option<Base>,
    /// The problem, if it is not ready.
    pub problem: Option<WorktreeProblem>,
    /// Notices for people.
    pub notices: Vec<String>,
}

/// Reason that a worktree is not ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorktreeProblem {
    /// A copy, link or command failed.
    Failed(String),
    /// It was stopped with its group.
    Stopped(String),
    /// Hooks or configuration of git were changed.
    Tampered(String),
}

impl<C: Context> Job<C> for WorktreeJob {
    type Output = Worktree;

    async fn perform(self, ctx: &Ctx<C>) -> Result<Worktree, NodeError> {
        let folder = self.folder();
        let unready =
            |problem| Worktree { folder: folder.clone(), base: None, problem: Some(problem), notices: vec![] };
        let arguments = (&self.path, &self.at, &self.furnishings);
        if let Some(problem) = ctx.effect("worktree", &arguments, |_| self.make(ctx)).await? {
            return Ok(unready(problem));
        }
        let checks = self.checks(&folder).run("setup", ctx).await?;
        if let Some(check) = checks.iter().find(|check| !check.has_passed()) {
            return Ok(unready(check.into()));
        }
        let look = |_| async { base(&self, &folder, ctx).await };
        Ok(match ctx.effect("base", &self.at, look).await? {
            WorktreeStart::Base(base, notices) => Worktree { folder, base: Some(*base), problem: None, notices },
            WorktreeStart::Tampered(problem) => unready(WorktreeProblem::Tampered(problem)),
        })
    }
}

/// The base of the work in a worktree.
#[derive(Serialize, Deserialize)]
enum WorktreeStart {
    /// Position and files, with notices.
    Base(Box<Base>, Vec<String>),
    /// Hooks or configuration of git were changed.
    Tampered(String),
}

impl From<&Check> for WorktreeProblem {
    fn from(check: &Check) -> Self {
        match check.stopped {
            true => Self::Stopped(check.output.clone()),
            false => Self::Failed(format!("the setup of its worktree failed: {}", check.report())),
        }
    }
}

impl WorktreeProblem {
    pub(super) fn into_words(self) -> String {
        let (Self::Failed(problem) | Self::Stopped(problem) | Self::Tampered(problem)) = self;
        problem
    }

    fn into_error(self) -> NodeError {
        NodeError::permanent(self.into_words())
    }
}

/// Returns the start of the work in a prepared worktree.
async fn base<C: Context>(job: &WorktreeJob, folder: &Folder, ctx: &Ctx<C>) -> Result<WorktreeStart, NodeError> {
    let workspace = folder.hold(ctx).await?;
    let at =
        workspace.branch_positions(&job.others.iter().map(String::as_str).collect::<Vec<_>>()).await.map_err(failed)?;
    let snapshot = match job.files(&workspace, ctx).await {
        Err(WorkspaceError::Tampered { changes }) => {
            return Ok(WorktreeStart::Tampered(tampering_message("somebody", &changes)));
        }
        snapshot => snapshot.map_err(failed)?,
    };
    store(folder, Some(&snapshot.tree), ctx).await?;
    let notices = snapshot.left_out.iter().map(OmittedFile::to_string).collect();
    Ok(WorktreeStart::Base(Box::new(Base { at, tree: snapshot.tree }), notices))
}

impl WorktreeJob {
    /// Returns the worktree, without the copied and linked files.
    pub(in crate::nodes) fn folder(&self) -> Folder {
        let apart = self.furnishings.paths().map(Path::to_owned).collect();
        Folder { directory: self.path.clone(), apart }
    }

    /// Returns the files of a prepared worktree: those of its commit, unless there are setup commands. The worktree's
    /// lock guards its hooks and configuration only from then on; earlier changes show in the run's own work tree.
    async fn files<C: Context>(&self, workspace: &Workspace, ctx: &Ctx<C>) -> Result<WorktreeSnapshot, WorkspaceError> {
        self.repository.hold_workspace(ctx).await?.ensure_untampered().await?;
        if self.setup.is_empty() {
            return Ok(WorktreeSnapshot { tree: workspace.tree_of(&self.at).await?, left_out: vec![] });
        }
        workspace.snapshot().await
    }

    fn checks<'a>(&'a self, folder: &'a Folder) -> Checks<'a> {
        Checks { folder, commands: &self.setup, limit: self.limit, pass: &self.pass, together: self.together.as_ref() }
    }

    /// Creates the worktree; returns the problem of files to copy or link.
    async fn make<C: Context>(&self, ctx: &Ctx<C>) -> Result<Option<WorktreeProblem>, NodeError> {
        match self.create(ctx).await {
            Ok(()) => Ok(None),
            Err(error @ (WorkspaceError::Io { .. } | WorkspaceError::Unfurnished { .. })) => {
                Ok(Some(WorktreeProblem::Failed(error.to_string())))
            }
            Err(WorkspaceError::Tampered { changes }) => {
                Ok(Some(WorktreeProblem::Tampered(tampering_message("somebody", &changes))))
            }
            Err(error) => Err(failed(error)),
        }
    }

    async fn create<C: Context>(&self, ctx: &Ctx<C>) -> Result<(), WorkspaceError> {
        let repository = self.repository.hold_workspace(ctx).await?; // so that siblings cannot change what git runs meanwhile
        let made = repository.detached_worktree(&self.path, &self.at).await?;
        repository.furnish(&made, &self.furnishings).await
    }
}

/// Prepares a worktree, and returns its files. A failing command is an error.
pub(super) async fn prepare<C: Context>(job: &WorktreeJob, ctx: &Ctx<C>) -> Result<TreeId, NodeError> {
    job.create(ctx).await.map_err(failed)?;
    let folder = job.folder();
    let checks = job.checks(&folder);
    for command in &job.setup {
        let check = checks.run_one(command, ctx).await?;
        if !check.has_passed() {
            return Err(WorktreeProblem::from(&check).into_error());
        }
    }
    Ok(job.files(&folder.hold(ctx).await?, ctx).await.map_err(failed)?.tree)
}

/// Makes a worktree again that was removed or emptied while its work waited: with the files that were stored last, or that
/// are still there, and with the commits of people.
///
/// # Errors
/// Those of git and of the store.
pub async fn restore_worktree<C: Context>(job: &WorktreeJob, ctx: &Ctx<C>) -> Result<(), NodeError> {
    let Some((_, thread)) = ctx.thread_store() else { return Ok(()) };
    let repository = job.repository.open_for(ctx).await.map_err(failed)?;
    let stored = repository.reference(&reference_of(thread.as_str(), &job.path)).await.map_err(failed)?;
    let Some(stored) = stored else { return Ok(()) };
    let what = match (repository.has_worktree(&job.path).await.map_err(failed)?, has_files(&job.path)) {
        (true, true) => return relink_files(job, &repository).await.map_err(failed),
        (true, false) => "had lost its files",
        (false, _) => "was gone",
    };
    let lost = LostWorktree::find(job, &repository, &stored).await.map_err(failed)?;
    if what != "was gone" && !lost.has_shown_files(&repository).await.map_err(failed)? {
        return Ok(()); // it has no files that could be missing
    }
    prepare(&WorktreeJob { at: lost.at.clone(), ..job.clone() }, ctx).await?;
    job.folder().open_for(ctx).await.map_err(failed)?.reset_to(&lost.tree).await.map_err(failed)?;
    store(&job.folder(), Some(&lost.tree), ctx).await?;
    let place = job.path.display();
    Activity::Notice(format!("the worktree {place} {what}; it was created again with the stored files"))
        .emit(ctx)
        .await;
    Ok(())
}

/// Links files of the checkout into a worktree again if both were moved: the links are full paths.
async fn relink_files(job: &WorktreeJob, repository: &Workspace) -> Result<(), WorkspaceError> {
    if present_path(&job.path) == job.path || job.furnishings.link.is_empty() {
        return Ok(());
    }
    let links = Furnishings { copy: vec![], link: job.furnishings.link.clone() };
    match repository.guarded_worktree(&job.path).await {
        Ok(there) => repository.furnish(&there, &links).await,
        Err(error) => Err(error),
    }
}

/// The contents of a worktree that was removed or emptied.
struct LostWorktree {
    /// The commit of its HEAD.
    at: CommitId,
    /// Its files.
    tree: TreeId,
}

impl LostWorktree {
    async fn find(job: &WorktreeJob, repository: &Workspace, stored: &CommitId) -> Result<Self, WorkspaceError> {
        let before = repository.parent_of(stored).await?;
        let begin = before.as_ref().unwrap_or(&job.at);
        // Git's folder for it may have commits that people made after the files were stored.
        let head = match repository.head_of_worktree(&job.path).await? {
            Some(head) if repository.descends(&head, begin).await? => head,
            _ => begin.clone(),
        };
        let tree = match repository.guarded_worktree(&job.path).await {
            Ok(there) if has_files(&job.path) => there.snapshot().await?.tree,
            Ok(_) | Err(_) => {
                let files = repository.tree_of(stored).await?;
                if head == *begin { files } else { repository.with_commits(&files, Some(begin), &head).await? }
            }
        };
        Ok(Self { at: head, tree })
    }

    /// Returns whether there are files that [`has_files`] looks for.
    async fn has_shown_files(&self, repository: &Workspace) -> Result<bool, WorkspaceError> {
        let files = repository.changed_files(&repository.empty_tree().await?, &self.tree).await?;
        Ok(files.iter().any(|file| !file.starts_with('.')))
    }
}

/// Returns whether a folder has files of its own: not only hidden ones, such as those of git and of tools.
fn has_files(folder: &Path) -> bool {
    let is_shown = |entry: std::fs::DirEntry| !entry.file_name().to_string_lossy().starts_with('.');
    std::fs::read_dir(present_path(folder)).is_ok_and(|entries| entries.filter_map(Result::ok).any(is_shown))
}

/// Opens a worktree at a commit; creates it if missing.
pub(super) async fn reopen_worktree(repository: &Folder, path: &Path, at: &CommitId) -> Result<Workspace, NodeError> {
    repository.open().await?.detached_worktree(path, at).await.map_err(failed)
}

/// Removes all worktrees below a folder, and the folder. Commits that people made there on no branch are kept.
pub(super) async fn sweep<C: Context>(repository: &Folder, folder: &Path, ctx: &Ctx<C>) -> Result<(), NodeError> {
    let workspace = repository.open().await?;
    for path in workspace.worktrees_below(folder).await.map_err(failed)? {
        if let Some(kept) = workspace.keep_head_of(&path, &thread(ctx)).await.map_err(failed)? {
            let note =
                format!("commits in the worktree {} are on no branch; they are kept as `{kept}`", path.display());
            ctx.keep_event(&json!({ "note": note })).await;
        }
        workspace.remove_worktree(&path).await.map_err(failed)?;
    }
    match std::fs::remove_dir_all(present_path(folder)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}
