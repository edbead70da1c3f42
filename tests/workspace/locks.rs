//! Locks of git that a kill leaves behind, and those of other people.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use superstep::workspace::{CommitId, SalvageKey, Workspace, WorkspaceError, WorkspaceOptions, reference_name};

use crate::repo::{Repo, request_now};

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
    let at = linked.standing(&[]).await?;
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

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_a_killed_agent_leaves_is_removed_and_one_from_before_its_turn_is_not() {
    let repo = Repo::new();
    let options = repo.options().lock_wait(Duration::from_millis(50));
    let workspace = Workspace::open_with(repo.root(), options).await.unwrap();
    let lock = repo.root().join(".git/refs/stash.lock");
    repo.write(".git/refs/stash.lock", "");
    let written = SystemTime::now();
    while written.elapsed().unwrap() < Duration::from_millis(50) {
        tokio::time::sleep(Duration::from_millis(10)).await; // the times of files are not exact
    }
    let note = workspace.note_agent(Duration::from_secs(60)).await.unwrap();
    repo.write(".git/index.lock", "");
    assert!(workspace.ensure_ready().await.is_err(), "the agent works");
    drop(note);
    workspace.ensure_ready().await.unwrap();
    assert!(lock.exists());
    let note = workspace.note_agent(Duration::from_secs(60)).await.unwrap();
    note.remove();
    repo.write(".git/index.lock", "");
    assert!(workspace.ensure_ready().await.is_err(), "its turn has ended");
}
