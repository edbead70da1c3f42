//! Operations of git that an agent left unfinished.

use rstest::rstest;
use superstep::workspace::{OngoingOperation, Workspace, WorkspaceError};

use crate::repo::Repo;

/// A repository with a branch `other` that conflicts in `a.txt`.
fn conflicting() -> Repo {
    let repo = Repo::new();
    repo.git(&["switch", "--quiet", "--create", "other"]);
    repo.write("a.txt", "other\n").commit_all("other");
    repo.git(&["switch", "--quiet", "main"]);
    repo.write("a.txt", "mine\n").commit_all("mine");
    repo
}

async fn started(workspace: &Workspace) -> u64 {
    workspace.with_all_branches(workspace.branch_positions(&[]).await.unwrap()).await.unwrap().started.unwrap()
}

#[rstest]
#[case::merge(&["merge", "other"], OngoingOperation::Merge)]
#[case::rebase(&["rebase", "other"], OngoingOperation::Rebase)]
#[case::detached_rebase(&["rebase", "other", "HEAD~0"], OngoingOperation::Rebase)]
#[case::cherry_pick(&["cherry-pick", "other"], OngoingOperation::CherryPick)]
#[case::revert(&["revert", "HEAD~1"], OngoingOperation::Revert)]
#[case::bisect(&["bisect", "start", "HEAD", "HEAD~1"], OngoingOperation::Bisect)]
#[tokio::test]
async fn an_operation_that_an_agent_leaves_is_ended_and_the_files_stay(
    #[case] args: &[&str],
    #[case] expected: OngoingOperation,
    #[values(true, false)] is_linked: bool,
) {
    let repo = conflicting();
    repo.write("a.txt", "mine, later\n").commit_all("more");
    let main = repo.open().await;
    let workspace = match is_linked {
        true => main.detached_worktree(".superstep/worktrees/1", &repo.tip()).await.unwrap(),
        false => main,
    };
    let (head, since) = (workspace.head().await.unwrap(), started(&workspace).await);
    let mut git = std::process::Command::new("git");
    git.args(args).current_dir(workspace.root()).env("HOME", repo.home()).env("GIT_EDITOR", "true").output().unwrap();
    let text = std::fs::read(workspace.root().join("a.txt")).unwrap();
    assert_eq!(workspace.ongoing_operation().await.unwrap(), Some(expected));
    let is_detached = args.last() == Some(&"HEAD~0");
    assert_eq!(workspace.quit_left(since).await.unwrap(), Some(expected));
    workspace.ensure_ready().await.unwrap();
    let now = workspace.head().await.unwrap();
    assert_eq!(now.commit(), head.commit());
    assert!(now == head || is_detached, "{now}");
    assert_eq!(std::fs::read(workspace.root().join("a.txt")).unwrap(), text);
    assert_eq!(repo.git_in(workspace.root(), &["diff", "--cached", "--name-only"]), "");
}

#[tokio::test]
async fn an_operation_of_a_person_is_left_alone() {
    let repo = conflicting();
    let workspace = repo.open().await;
    repo.try_git(&["merge", "other"]);
    let later = started(&workspace).await;
    assert_eq!(workspace.quit_left(later).await.unwrap(), None, "it is from before the turn");
    assert_eq!(workspace.quit_killed(0).await.unwrap(), None, "a person may have begun it after the kill");
    assert!(matches!(workspace.ensure_ready().await, Err(WorkspaceError::Ongoing { .. })));
}
