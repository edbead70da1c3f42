//! Locks of git that a kill leaves behind, and those of other people.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use superstep::workspace::{CommitId, SalvageKey, Workspace, WorkspaceError, WorkspaceOptions, reference_name};

use crate::repo::{Repo, request_now};
use crate::turns::turn;

/// Does everything that takes locks; repeated after a kill, it ends the same.
async fn work(root: &Path, options: WorkspaceOptions, base: &CommitId) -> Result<Vec<String>, WorkspaceError> {
    let user = Workspace::open_with(root, options).await?;
    let _lock = user.lock("t").await?;
    user.own_branch("superstep/t", Some(base)).await?;
    fs::write(root.join("x.txt"), "x\n").unwrap();
    let mut request = request_now(&user).await;
    request.parent = Some(base.clone());
    let made = user.commit(&request).await?.commit().unwrap().commit.clone();
    let reference = reference_name("t", &["work"]);
    let now = user.reference(&reference).await?;
    user.set_reference(&reference, now.as_ref(), base).await?;
    user.set_reference(&reference, Some(base), &made).await?;
    let key = SalvageKey { thread: "t".into(), task: "1".into(), attempt: 1, phase: None };
    for commit in [base, &made] {
        user.salvage(&key, Some(base), &user.tree_of(commit).await?).await?;
    }
    let place = ".superstep/worktrees/1";
    let linked = user.detached_worktree(place, base).await?;
    let at = turn(&linked, &[]).await;
    fs::write(linked.root().join("y.txt"), "y\n").unwrap();
    let request = request_now(&linked).await;
    linked.commit(&request).await?;
    linked.fold(&at, None).await?;
    linked.reset_to(&user.tree_of(base).await?).await?;
    user.remove_worktree(place).await?;
    user.remove_reference(&reference).await?;
    user.new_branch("other", &made).await.or_else(|error| match error {
        WorkspaceError::BranchTaken { .. } => Ok(()),
        error => Err(error),
    })?;
    user.own_branch("superstep/t", Some(&made)).await?;
    Ok(user.removed_locks())
}

/// The work of a process that is killed; the test below starts it.
#[test]
#[ignore = "started by another test"]
fn killed_work() {
    let variable = |name| std::env::var(name).unwrap();
    let mut options = WorkspaceOptions::new().without_env("XDG_CONFIG_HOME").env("HOME", variable("HOME"));
    for name in ["LD_PRELOAD", "KILL_AT", "KILL_COUNT", "KILL_ONLY", "GIT_CONFIG_NOSYSTEM"] {
        options = options.env(name, variable(name));
    }
    let base = variable("BASE").parse().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    // A git that was killed is an error.
    let _ = runtime.block_on(work(Path::new(&variable("ROOT")), options, &base));
}

fn library(folder: &Path) -> PathBuf {
    let library = folder.join("kill_at.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/workspace/kill_at.c");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl").status();
    assert!(built.unwrap().success());
    library
}

/// Works until the nth moment, at which a process is killed; returns the number of moments. `only`: those at locks
/// whose paths contain it.
fn killed_at(repo: &Repo, library: &Path, moment: u64, only: &str) -> u64 {
    let (count, base) = (repo.beside("count"), repo.tip().to_string());
    let mut killed = Command::new(std::env::current_exe().unwrap());
    killed.args(["locks::killed_work", "--exact", "--ignored", "--nocapture"]).env_clear();
    killed.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", repo.home()).env("GIT_CONFIG_NOSYSTEM", "1");
    killed.env("ROOT", repo.root()).env("BASE", base).env("LD_PRELOAD", library).env("KILL_ONLY", only);
    killed.env("KILL_AT", moment.to_string()).env("KILL_COUNT", &count).output().unwrap();
    fs::metadata(count).unwrap().len()
}

/// Returns the locks of git in a folder.
fn locks(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = entries.flat_map(|path| if path.is_dir() { locks(&path) } else { vec![path] });
    below.filter(|path| path.extension().is_some_and(|end| end == "lock")).collect()
}

/// `SUPERSTEP_KILLS=1` tries every moment.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_any_system_call_on_a_lock_leaves_none_that_a_person_has_to_remove() {
    let folder = tempfile::tempdir().unwrap();
    let library = library(folder.path());
    let all = killed_at(&Repo::new(), &library, 0, "");
    assert!(all > 60, "only {all} moments");
    let step = if std::env::var_os("SUPERSTEP_KILLS").is_some() { 1 } else { all / 9 };
    let mut removed = 0;
    for moment in (1..=all).step_by(usize::try_from(step).unwrap()) {
        let repo = Repo::new();
        let base = repo.tip();
        killed_at(&repo, &library, moment, "");
        let worked = work(&repo.root(), repo.options(), &base).await;
        let notices = worked.unwrap_or_else(|error| panic!("killed at {moment} of {all}: {error}"));
        removed += notices.len();
        assert_eq!(locks(&repo.root().join(".git")), [] as [PathBuf; 0], "killed at {moment} of {all}");
        assert_eq!((repo.count(), repo.status()), (2, String::new()), "killed at {moment} of {all}");
        repo.git(&["fsck", "--strict"]);
        assert_eq!(repo.git(&["for-each-ref", "--format=%(refname)", "refs/heads"]).lines().count(), 3);
        let salvaged = repo.git(&["for-each-ref", "--format=%(refname)", "refs/superstep"]);
        assert!(salvaged.contains("attempt-1\n") && salvaged.contains("-earlier-1"), "{salvaged}");
    }
    if step == 1 {
        eprintln!("{all} kills, {removed} locks removed");
    }
}

/// Changes the time of a file.
fn aged(file: &Path, seconds: u64) {
    let at = SystemTime::now() - Duration::from_secs(seconds);
    fs::File::options().write(true).open(file).unwrap().set_modified(at).unwrap();
}

#[rstest::rstest]
#[case::index("index.lock")]
#[case::head("HEAD.lock")]
#[case::branch("refs/heads/superstep/t.lock")]
#[tokio::test(flavor = "multi_thread")]
async fn a_lock_of_somebody_else_is_waited_for_and_then_named_with_its_age_and_the_command(#[case] lock: &str) {
    let repo = Repo::new();
    let options = repo.options().lock_wait(Duration::from_millis(50));
    let workspace = Workspace::open_with(repo.root(), options).await.unwrap();
    repo.write(&format!(".git/{lock}"), "");
    let lock = repo.root().canonicalize().unwrap().join(".git").join(lock);
    aged(&lock, 3 * 3600 + 60);
    let error = workspace.own_branch("superstep/t", None).await.unwrap_err();
    let path = lock.display();
    let text =
        "another git program has held the lock `LOCK` for 3 hours, or was killed; if none runs, `rm LOCK` removes it";
    assert_eq!(error.to_string(), text.replace("LOCK", &path.to_string()));
    assert!(lock.exists() && error.help().is_some());
    fs::remove_file(&lock).unwrap();
    workspace.own_branch("superstep/t", None).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_is_released_in_time_is_no_error() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    repo.write(".git/index.lock", "").write("x.txt", "x");
    let remove = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        repo.remove(".git/index.lock");
    };
    let request = request_now(&workspace).await;
    let (made, ()) = tokio::join!(workspace.commit(&request), remove);
    made.unwrap();
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_noted_lock_that_a_living_process_may_use_is_left_alone() {
    let repo = Repo::new();
    let folder = tempfile::tempdir().unwrap();
    killed_at(&repo, &library(folder.path()), 2, "/repo/.git/index.lock");
    let lock = repo.root().join(".git/index.lock");
    assert!(lock.exists());
    let options = repo.options().lock_wait(Duration::from_millis(50));
    let workspace = Workspace::open_with(repo.root(), options).await.unwrap();
    let refused = async |who: &str| {
        let error = workspace.reset_to(&workspace.head_tree().await.unwrap().unwrap()).await.unwrap_err();
        assert!(matches!(error, WorkspaceError::Locked { .. }), "{who}: {error}");
    };
    let open = fs::File::open(&lock).unwrap();
    let mut other = Command::new("sleep").arg("60").stdin(open).spawn().unwrap();
    refused("another process has it open").await;
    other.kill().unwrap();
    other.wait().unwrap();
    // A git that waits for an editor has closed its lock.
    let mut editing = Command::new("git");
    editing.args(["-c", "alias.wait=!sleep 60; true", "wait"]).current_dir(repo.root());
    let mut editing = editing.spawn().unwrap();
    while fs::read_to_string(format!("/proc/{}/comm", editing.id())).unwrap().trim() != "git" {
        tokio::task::yield_now().await;
    }
    refused("a git works in the repository").await;
    editing.kill().unwrap();
    editing.wait().unwrap();
    // A lock that was taken long after the call was not left by it.
    let note = fs::read_dir(repo.root().join(".git/superstep/locks")).unwrap().next().unwrap().unwrap().path();
    let (noted, text) = (fs::metadata(&note).unwrap().modified().unwrap(), fs::read(&note).unwrap());
    aged(&note, 24 * 3600);
    refused("it was taken later").await;
    fs::write(&note, text).unwrap();
    fs::File::options().write(true).open(&note).unwrap().set_modified(noted).unwrap();
    // A new index has the time of the older file that git has refreshed.
    aged(&lock, 60);
    let workspace = Workspace::open_with(repo.root(), repo.options()).await.unwrap();
    workspace.reset_to(&workspace.head_tree().await.unwrap().unwrap()).await.unwrap();
    let lock = repo.root().canonicalize().unwrap().join(".git/index.lock");
    assert_eq!(workspace.removed_locks(), [format!("the lock {} of a killed run was removed", lock.display())]);
    assert!(workspace.removed_locks().is_empty());
}

/// Waits until files have a later time.
async fn later() {
    let begin = SystemTime::now();
    while begin.elapsed().unwrap() < Duration::from_millis(50) {
        tokio::time::sleep(Duration::from_millis(10)).await; // the times of files are not exact
    }
}

async fn impatient(repo: &Repo) -> Workspace {
    Workspace::open_with(repo.root(), repo.options().lock_wait(Duration::from_millis(50))).await.unwrap()
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_an_agent_leaves_is_removed_and_one_from_before_or_after_its_turn_is_not() {
    let repo = Repo::new();
    let workspace = impatient(&repo).await;
    let lock = repo.root().join(".git/refs/stash.lock");
    repo.write(".git/refs/stash.lock", "");
    later().await;
    let day = Duration::from_secs(24 * 3600);
    let note = workspace.note_agent(day).await.unwrap();
    repo.write(".git/index.lock", "");
    assert!(workspace.ensure_ready().await.is_err(), "the agent works");
    drop(note);
    workspace.ensure_ready().await.unwrap();
    assert!(lock.exists());

    let note = workspace.note_agent(day).await.unwrap();
    repo.write(".git/index.lock", "");
    workspace.agent_ended(note).await.unwrap();
    workspace.ensure_ready().await.unwrap();
    assert_eq!(workspace.removed_locks().len(), 2);

    for is_killed in [true, false] {
        let note = workspace.note_agent(day).await.unwrap();
        if is_killed {
            drop(note)
        } else {
            workspace.agent_ended(note).await.unwrap()
        };
        later().await;
        repo.write(".git/index.lock", "");
        let error = workspace.ensure_ready().await.unwrap_err();
        assert!(error.to_string().contains("index.lock` for"), "its turn has ended: {error}");
        repo.remove(".git/index.lock");
    }
}

/// An agent's turn in a process that is killed; the test below starts it.
#[tokio::test]
#[ignore = "started by another test"]
async fn killed_turn() {
    let root = PathBuf::from(std::env::var_os("ROOT").unwrap());
    let workspace = Workspace::open(&root).await.unwrap();
    let _note = workspace.note_agent(Duration::from_secs(24 * 3600)).await.unwrap();
    fs::write(root.join(".git/index.lock"), "").unwrap();
    std::future::pending().await
}

#[cfg(target_os = "linux")]
#[rstest::rstest]
#[case::before_the_kill(0, true)]
#[case::an_hour_after_it(3600, false)]
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_ends_when_its_process_is_killed(#[case] seconds: u64, #[case] is_of_turn: bool) {
    let repo = Repo::new();
    let workspace = impatient(&repo).await;
    let lock = repo.root().join(".git/index.lock");
    let mut turn = Command::new(std::env::current_exe().unwrap());
    turn.args(["locks::killed_turn", "--exact", "--ignored"]).env("ROOT", repo.root()).current_dir("/");
    let mut turn = turn.stdout(std::process::Stdio::null()).spawn().unwrap();
    while !lock.exists() {
        tokio::task::yield_now().await;
    }
    turn.kill().unwrap();
    turn.wait().unwrap();
    let notes = || fs::read_dir(repo.root().join(".git/superstep/locks")).unwrap().map(|note| note.unwrap().path());
    let end = loop {
        if let Some(end) = notes().find(|note| note.extension().is_some()) {
            break end;
        }
        tokio::task::yield_now().await;
    };
    let ended = fs::metadata(&end).unwrap().modified().unwrap();
    let file = fs::File::options().write(true).open(&end).unwrap();
    file.set_modified(ended - Duration::from_secs(seconds)).unwrap();
    assert_eq!(workspace.ensure_ready().await.is_ok(), is_of_turn);
    assert_eq!((notes().count(), workspace.removed_locks().len()), (0, usize::from(is_of_turn)));
}

/// A program that holds a lock, which it has closed, in a folder.
struct Holder(std::process::Child);

impl Holder {
    fn start(repo: &Repo, folder: &Path, script: &str) -> Self {
        let program = repo.beside("jgit");
        fs::write(&program, format!("#!/bin/sh\n{script}\nexec sleep 60\n")).unwrap();
        crate::program::make_executable(&program);
        let mut holder = Command::new(&program);
        holder.current_dir(folder).env("ROOT", repo.root()).env("HOME", repo.home());
        let holder = holder.stdin(std::process::Stdio::null()).process_group(0).spawn().unwrap();
        while !repo.has(".git/index.lock") {
            std::thread::yield_now();
        }
        Self(holder)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        Command::new("kill").args(["-s", "KILL", "--", &format!("-{}", self.0.id())]).status().unwrap();
        self.0.wait().unwrap();
    }
}

const MAKES: &str = ": > \"$ROOT/.git/index.lock\"";

#[cfg(target_os = "linux")]
#[rstest::rstest]
#[case::a_tool_that_closed_it("repo", format!("{MAKES}\nexec sleep 60"))]
#[case::a_tool_in_another_work_tree("other", MAKES.into())]
#[case::a_git_in_another_work_tree("other", format!("{MAKES}\nexec git -c alias.wait='!sleep 60; true' wait"))]
#[case::a_git_that_works_from_elsewhere(
    "home",
    format!("{MAKES}\nexec git --git-dir=\"$ROOT/.git\" -c alias.wait='!sleep 60; true' wait")
)]
#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_a_program_of_somebody_else_may_have_made_is_left_alone(#[case] at: &str, #[case] script: String) {
    let repo = Repo::new();
    repo.git(&["worktree", "add", "--quiet", "--detach", "../other"]);
    let workspace = impatient(&repo).await;
    let note = workspace.note_agent(Duration::from_secs(3600)).await.unwrap();
    let holder = Holder::start(&repo, &repo.beside(at), &script);
    drop(note);
    let error = workspace.ensure_ready().await.unwrap_err();
    assert!(error.to_string().contains("index.lock` removes it"), "{error}");
    drop(holder);
    workspace.ensure_ready().await.unwrap();
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_lock_in_the_work_tree_of_an_agent_is_removed_only_if_it_is_from_a_turn() {
    let repo = Repo::new();
    let workspace = impatient(&repo).await;
    let linked = workspace.detached_worktree(".superstep/worktrees/1", &repo.tip()).await.unwrap();
    let at = linked.branch_positions(&[]).await.unwrap();
    let lock = linked.git_dir().join("index.lock");
    fs::write(&lock, "").unwrap();
    assert!(matches!(linked.own_head(&at).await, Err(WorkspaceError::Locked { .. })), "no note claims it");
    fs::remove_file(&lock).unwrap();
    let note = linked.note_agent(Duration::from_secs(3600)).await.unwrap();
    fs::write(&lock, "").unwrap();
    fs::write(linked.git_dir().join("HEAD.lock"), "").unwrap();
    later().await;
    let mut person = Command::new("sleep").arg("60").current_dir(linked.root()).spawn().unwrap();
    drop(note);
    let refused = linked.own_head(&at).await;
    person.kill().unwrap();
    person.wait().unwrap();
    assert!(refused.is_ok(), "it came later");
    assert_eq!(locks(linked.git_dir()), [] as [PathBuf; 0]);
    assert_eq!(linked.removed_locks().len(), 2);
}
