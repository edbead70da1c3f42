//! Opening a repository in each of its possible states.

use std::process::Command;
use std::time::Duration;

use rstest::rstest;
use superstep::workspace::{Head, OngoingOperation, Workspace, WorkspaceError};

use crate::repo::Repo;

#[tokio::test]
async fn a_folder_below_opens_the_repository() {
    let repo = Repo::new();
    let workspace = Workspace::open_with(repo.root().join("src"), repo.options()).await.unwrap();
    assert_eq!(workspace.root(), repo.root().canonicalize().unwrap());
}

#[tokio::test]
async fn a_folder_without_a_work_tree_is_refused() {
    let repo = Repo::new();
    let outside = tempfile::tempdir().unwrap();
    let error = Workspace::open(outside.path()).await.unwrap_err();
    assert!(matches!(error, WorkspaceError::NoRepository { .. }), "{error}");
    assert!(error.help().unwrap().contains("git init"));

    repo.git(&["clone", "--quiet", "--bare", ".", "../bare"]);
    let error = Workspace::open(repo.beside("bare")).await.unwrap_err();
    assert!(matches!(error, WorkspaceError::Bare { .. }), "{error}");
}

#[tokio::test]
async fn a_missing_or_old_git_is_reported() {
    let repo = Repo::new();
    let error = Workspace::open_with(repo.root(), repo.options().program("no-such-git")).await.unwrap_err();
    assert!(error.to_string().starts_with("cannot run the program `no-such-git`: "), "{error}");

    repo.write("old-git", "#!/bin/sh\necho git version 2.17.1\n");
    crate::program::make_executable(repo.root().join("old-git"));
    let options = repo.options().program(repo.root().join("old-git"));
    let error = Workspace::open_with(repo.root(), options).await.unwrap_err();
    insta::assert_snapshot!(error, @"git 2.17.1 is too old; 2.30 or newer is needed");
}

#[tokio::test]
async fn head_is_on_a_branch_or_none_or_nothing() {
    let repo = Repo::unborn();
    let workspace = repo.open().await;
    assert_eq!(workspace.head().await.unwrap(), Head::Unborn { name: "main".into() });
    let commit = repo.write("a", "a").commit_all("a");
    assert_eq!(workspace.head().await.unwrap(), Head::Branch { name: "main".into(), commit: commit.clone() });
    repo.git(&["checkout", "--quiet", "--detach"]);
    assert_eq!(workspace.head().await.unwrap(), Head::Detached { commit });
}

#[rstest]
#[case::merge(&["merge", "other"], OngoingOperation::Merge)]
#[case::rebase(&["rebase", "other"], OngoingOperation::Rebase)]
#[case::cherry_pick(&["cherry-pick", "other"], OngoingOperation::CherryPick)]
#[case::revert(&["revert", "HEAD~1"], OngoingOperation::Revert)]
#[case::bisect(&["bisect", "start"], OngoingOperation::Bisect)]
#[tokio::test]
async fn an_operation_in_progress_is_reported(#[case] args: &[&str], #[case] expected: OngoingOperation) {
    let repo = Repo::new();
    repo.git(&["switch", "--quiet", "-c", "other"]);
    repo.write("a.txt", "other\n").commit_all("other");
    repo.git(&["switch", "--quiet", "main"]);
    repo.write("a.txt", "mine\n").commit_all("mine");
    repo.write("a.txt", "mine again\n").commit_all("mine again");
    let workspace = repo.open().await;
    workspace.ensure_ready().await.unwrap();
    repo.try_git(args);
    let error = workspace.ensure_ready().await.unwrap_err();
    assert!(matches!(&error, WorkspaceError::Ongoing { what, .. } if *what == expected), "{error}");
    assert!(error.help().is_some());
}

#[tokio::test]
async fn one_run_at_a_time_works_in_a_work_tree() {
    let repo = Repo::new();
    let (one, two) = (repo.open().await, repo.open().await);
    let lock = one.lock("first").await.unwrap();
    let error = two.lock("second").await.unwrap_err();
    let expected = format!("thread `first` in process {}", std::process::id());
    assert!(error.to_string().contains(&expected), "{error}");

    let linked = one.own_worktree(repo.beside("linked"), "other", None).await.unwrap();
    let _other = linked.lock("third").await.unwrap();
    drop(lock);
    let _lock = two.lock("second").await.unwrap();
}

#[tokio::test]
async fn the_lock_of_a_dead_process_is_free() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    drop(workspace.lock("first").await.unwrap());
    let file = repo.root().join(".git/superstep/lock");
    // The lock belongs to the program that `flock` executes.
    let mut holder = Command::new("flock").arg("--no-fork").arg(&file).args(["sleep", "60"]).spawn().unwrap();
    while workspace.lock("second").await.is_ok() {
        tokio::task::yield_now().await;
    }
    holder.kill().unwrap();
    holder.wait().unwrap();
    repo.write(".git/superstep/index-1-0", "of a killed run");
    let _lock = workspace.lock("second").await.unwrap();
    assert!(!repo.has(".git/superstep/index-1-0"));
}

#[tokio::test]
async fn a_hanging_git_is_killed_with_its_children() {
    let repo = Repo::new();
    repo.write(
        "slow-git",
        "#!/bin/sh\ncase \"$*\" in *version*) echo git version 2.47.0;; *) sleep 77 & sleep 77;; esac\n",
    );
    crate::program::make_executable(repo.root().join("slow-git"));
    let options = repo.options().program(repo.root().join("slow-git")).limit(Duration::from_millis(200));
    let workspace = Workspace::open_with(repo.root(), options).await.unwrap();
    let error = workspace.dirt().await.unwrap_err();
    assert!(matches!(error, WorkspaceError::TimedOut { .. }), "{error}");
    let help = error.help().unwrap();
    assert!(!help.contains("hook") && help.contains("git config superstep.timeout"), "{help}");
    let left = Command::new("pgrep").args(["-f", "sleep 77"]).output();
    assert!(left.map_or(true, |left| left.stdout.is_empty()));
}
