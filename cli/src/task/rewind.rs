//! `rewind`: a task as it was after an attempt, as a thread of its own, with files of its own.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use superstep::nodes::{Base, Folder};
use superstep::workspace::{
    CommitId, Head, TreeId, Workspace, WorkspaceError, WorkspaceOptions, branch_name, escape_id,
};
use superstep_app::{CustomOutput, Exit, Refusal, StoredThread};
use superstep_workflows::code_task::{Attempt, CodeTaskState, Settings, Start};

use super::state::{state, task};
use crate::salvage::refusal;

/// The arguments of `rewind`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  {bin} rewind tides --attempt 2\n  {bin} rewind tides --attempt 2 --branch tides-again"
)]
pub(crate) struct RewindArgs {
    /// The attempt after which the new thread starts
    #[arg(long, value_name = "N")]
    attempt: u32,

    /// The folder of its work tree [default: .superstep/rewind/THREAD-N in the repository]
    #[arg(long, value_name = "DIR")]
    worktree: Option<PathBuf>,

    /// The new branch; without --worktree in the checkout, which must be clean [default: superstep/THREAD-N]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
}

/// An attempt as it was recorded.
struct RewindSource {
    checkpoint: u64,
    state: CodeTaskState,
    start: Start,
    /// The commit at which its work began.
    commit: CommitId,
    /// The files that it left.
    tree: TreeId,
}

/// Copies a task as it was after an attempt, and brings the files of that attempt to a place of their own.
pub(crate) async fn rewind(args: RewindArgs, stored: StoredThread) -> Result<CustomOutput, Refusal> {
    let thread = stored.found().thread.clone();
    let past = past(&stored, args.attempt).await?;
    let name = format!("{thread}-{}", args.attempt);
    if stored.is_taken(&name).await? {
        let error = format!("there is a thread `{name}` already");
        return Err(Refusal::new(error)
            .help(format!("resume it, or delete it with `superstep delete {name}`"))
            .exit(Exit::Failed));
    }
    let branch = args.branch.clone().unwrap_or_else(|| branch_name(&name));
    let RewindPlace { place, undo } = place(&args, &past, &name, &branch).await?;
    let copied = async {
        let values = moved_values(past.state, past.start, &place, &name).await?;
        stored.copy_to(&name, past.checkpoint, "record", &values).await
    };
    if let Err(refusal) = copied.await {
        return Err(undo.undo_after(refusal).await);
    }
    let folder = place.root().display();
    let text = format!(
        "thread {name}: {thread} after attempt {}\n  files: {folder}\n  branch: {branch}\nresume it with\n  superstep proceed {name}\n",
        args.attempt
    );
    CustomOutput::new(
        text,
        &json!({ "thread": name, "attempt": args.attempt, "folder": place.root(), "branch": branch }),
    )
}

/// Finds the checkpoint at which an attempt was recorded.
async fn past(stored: &StoredThread, attempt: u32) -> Result<RewindSource, Refusal> {
    let last = task(stored.found())?;
    let number = |line: &serde_json::Value| line["past"]["number"].as_u64();
    let changes = stored.changes("attempts").await?;
    let is_it = |value: &serde_json::Value| {
        value.as_array().and_then(|all| all.last()).and_then(number) == Some(attempt.into())
    };
    let known = last.attempts.iter().any(|line| line.past.number == attempt);
    let found = changes.iter().find(|change| known && is_it(&change.value));
    let found = found.ok_or_else(|| unknown(&stored.found().thread, &last, attempt))?;
    let state = state(&stored.state_at(found.checkpoint).await?)?;
    let start = state.start.clone().zip(state.attempt.files.clone());
    let (start, files) = start.ok_or_else(|| unknown(&stored.found().thread, &last, attempt))?;
    let commit = state.attempt.base.as_ref().unwrap_or(&start.base).at.commit.clone();
    let commit = commit.ok_or_else(|| {
        Refusal::new("the repository had no commit when the task started, so there is nothing to start a branch from")
            .exit(Exit::Failed)
    })?;
    Ok(RewindSource { checkpoint: found.checkpoint, state, start, commit, tree: files.tree })
}

fn unknown(thread: &str, state: &CodeTaskState, attempt: u32) -> Refusal {
    let help = match state.attempts.last() {
        Some(last) => format!("its attempts are 1 to {}; `superstep task show {thread}` lists them", last.past.number),
        None => "no attempt has been recorded yet".to_owned(),
    };
    Refusal::new(format!("task `{thread}` has no attempt {attempt}")).help(help)
}

/// Makes the place of the new thread's work: a new branch with the files of the attempt.
async fn place(args: &RewindArgs, past: &RewindSource, name: &str, branch: &str) -> Result<RewindPlace, Refusal> {
    let home = open_checkout(&past.state.settings).await.map_err(|error| refusal(&error))?;
    if home.branch_at(branch).await.map_err(|error| refusal(&error))?.is_some() {
        let error = format!("branch `{branch}` already exists, and existing branches are not moved");
        return Err(Refusal::new(error).help("choose another one with `--branch NAME`").exit(Exit::Failed));
    }
    let is_in_place = args.branch.is_some() && args.worktree.is_none();
    if is_in_place {
        return in_checkout(home, past, name, branch).await;
    }
    let folder = folder(args.worktree.as_deref(), &home, name)?;
    in_worktree(&home, &folder, past, branch).await
}

/// The folder of a new work tree, which must be free.
fn folder(given: Option<&Path>, home: &Workspace, name: &str) -> Result<PathBuf, Refusal> {
    let own = || home.root().join(".superstep/rewind").join(escape_id(name));
    let folder = given.map_or_else(own, |given| std::path::absolute(given).unwrap_or_else(|_| given.to_owned()));
    let is_free = std::fs::read_dir(&folder).map_or(!folder.exists(), |mut entries| entries.next().is_none());
    let taken =
        || Refusal::new(format!("{}: already exists and is not an empty folder", folder.display())).exit(Exit::Failed);
    if is_free { Ok(folder) } else { Err(taken().help("choose another folder with `--worktree DIR`")) }
}

/// The place of the work.
struct RewindPlace {
    place: Workspace,
    undo: PlaceUndo,
}

/// The removal of the place if the thread cannot be stored.
struct PlaceUndo {
    home: Workspace,
    kind: PlaceKind,
    branch: String,
    /// The commit at which the branch begins.
    at: CommitId,
}

enum PlaceKind {
    /// A new work tree in this folder.
    WorkTree(PathBuf),
    /// The checkout, with what was there before.
    Checkout { head: Head, files: TreeId },
}

impl PlaceUndo {
    /// Removes the place after a failure, which it returns.
    async fn undo_after(&self, refusal: Refusal) -> Refusal {
        match self.undo().await {
            Ok(()) => refusal,
            Err(left) => refusal
                .help(format!("cannot remove the files and branch of the new thread, remove them yourself: {left}")),
        }
    }

    async fn undo(&self) -> Result<(), WorkspaceError> {
        match &self.kind {
            PlaceKind::WorkTree(folder) => self.home.remove_worktree(folder).await?,
            PlaceKind::Checkout { head, files } => {
                if self.home.head().await?.branch() == Some(&self.branch) {
                    self.home.reset_to(files).await?;
                    self.home.go_back(&self.branch, head).await?;
                }
            }
        }
        self.home.remove_branch_at(&self.branch, &self.at).await
    }
}

/// Opens the checkout; what is no part of the work is left alone there.
async fn open_checkout(settings: &Settings) -> Result<Workspace, WorkspaceError> {
    let options = settings.apart.iter().fold(WorkspaceOptions::new(), |options, file| options.exclude(file));
    Workspace::open_with(&settings.repository, options).await
}

async fn in_checkout(home: Workspace, past: &RewindSource, name: &str, branch: &str) -> Result<RewindPlace, Refusal> {
    let free = async {
        let alone = home.lock(name).await?;
        home.ensure_ready().await?;
        home.ensure_clean().await?;
        Ok((alone, home.head().await?, home.snapshot().await?.tree))
    };
    let (_alone, head, files) = free.await.map_err(|error: WorkspaceError| refusal(&error))?;
    let kind = PlaceKind::Checkout { head, files };
    let undo = PlaceUndo { home: home.clone(), kind, branch: branch.to_owned(), at: past.commit.clone() };
    let fill = async {
        home.new_branch(branch, &past.commit).await?;
        home.reset_to(&past.tree).await
    };
    match fill.await {
        Ok(_) => Ok(RewindPlace { place: home, undo }),
        Err(error) => Err(undo.undo_after(refusal(&error)).await),
    }
}

async fn in_worktree(
    home: &Workspace,
    folder: &Path,
    past: &RewindSource,
    branch: &str,
) -> Result<RewindPlace, Refusal> {
    let (folder, branch, at) = (folder.to_owned(), branch.to_owned(), past.commit.clone());
    let kind = PlaceKind::WorkTree(folder.clone());
    let undo = PlaceUndo { home: home.clone(), kind, branch: branch.clone(), at: at.clone() };
    let fill = async {
        let place = home.detached_worktree(&folder, &at).await?;
        place.new_branch(&branch, &at).await?;
        place.reset_to(&past.tree).await?;
        Ok::<_, WorkspaceError>(place)
    };
    match fill.await {
        Ok(place) => Ok(RewindPlace { place, undo }),
        Err(error) => Err(undo.undo_after(refusal(&error)).await),
    }
}

/// The parts of the state that name the place of the work.
async fn moved_values(
    state: CodeTaskState,
    start: Start,
    place: &Workspace,
    name: &str,
) -> Result<serde_json::Value, Refusal> {
    let at = place.branch_positions(&[]).await.map_err(|error| refusal(&error))?;
    let root = place.stored_root();
    let base = |tree: TreeId| Base { at: at.clone(), tree };
    let attempt =
        Attempt { base: state.attempt.base.map(|was| base(was.tree)), session: None, cut: None, ..state.attempt };
    let came_from = start.came_from.filter(|_| root == state.settings.repository); // another work tree goes nowhere else
    let mut settings = Settings { repository: root.clone(), ..state.settings };
    settings.profile.working_dir.clone_from(&root);
    let folder = Folder { directory: root, ..start.folder };
    let with_commits = start.with_commits;
    let start = Start { run: name.to_owned(), folder, base: base(start.base.tree), came_from, with_commits };
    Ok(json!({ "settings": settings, "start": start, "attempt": attempt }))
}
