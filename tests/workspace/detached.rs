//! Work trees with a detached HEAD: commits by agents, and commits of tasks.

use rstest::rstest;
use superstep::workspace::{BranchPositions, CommitResult, HeadMove, Workspace, WorkspaceError};

use crate::repo::{Repo, request, request_now};
use crate::turns::{noted, turn, working};

/// Opens a linked work tree whose HEAD is detached at `main`.
async fn linked(repo: &Repo) -> Workspace {
    repo.write("second.txt", "").commit_all("second");
    repo.git(&["branch", "other"]);
    repo.git(&["worktree", "add", "-q", "--detach", "../linked"]);
    Workspace::open_with(repo.beside("linked"), repo.options()).await.unwrap()
}

fn commits(repo: &Repo) {
    for name in ["agent.txt", "agent2.txt"] {
        repo.write(&format!("../linked/{name}"), "agent");
        here(repo, &["add", "-A"]);
        here(repo, &["commit", "-q", "-m", "by the agent"]);
    }
}

fn here(repo: &Repo, args: &[&str]) {
    repo.git_in(&repo.beside("linked"), args);
}

fn is_ahead(head: &HeadMove) -> bool {
    matches!(head, HeadMove::Ahead { commits } if commits.len() == 2)
}

fn is_moved(head: &HeadMove) -> bool {
    matches!(head, HeadMove::Moved { .. })
}

fn is_switched(head: &HeadMove) -> bool {
    matches!(head, HeadMove::Switched { .. })
}

#[rstest]
#[case::commits(commits, is_ahead)]
#[case::amends(|repo: &Repo| here(repo, &["commit", "-q", "--amend", "-m", "x"]), is_moved)]
#[case::resets_behind(|repo: &Repo| here(repo, &["reset", "-q", "--soft", "HEAD~1"]), is_moved)]
#[case::makes_a_branch(|repo: &Repo| { here(repo, &["switch", "-q", "-c", "agents"]); commits(repo); }, is_switched)]
#[case::switches(|repo: &Repo| { here(repo, &["switch", "-q", "other"]); commits(repo); }, is_switched)]
#[tokio::test]
async fn changes_of_a_detached_head_by_an_agent_are_folded_into_its_task(
    #[case] agent: fn(&Repo),
    #[case] is_expected: fn(&HeadMove) -> bool,
) {
    let repo = Repo::new();
    let workspace = linked(&repo).await;
    let known = workspace.branch_positions(&[]).await.unwrap().known;
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let before = workspace.branch_positions(&known).await.unwrap();
    let standing = working(&workspace, before.clone()).await;
    assert_eq!((&standing.branch, standing.others.len()), (&None, 2));
    let branches = repo.git(&["show-ref", "--heads"]);
    let watched = working(&workspace, standing.clone()).await;
    agent(&repo);
    let files = workspace.snapshot().await.unwrap().tree;

    let movement = workspace.fold(&watched, Some("t")).await.unwrap();
    assert!(is_expected(&movement.head), "{movement:?}");
    assert!(workspace.movement(&standing).await.unwrap().is_none());
    assert_eq!(workspace.branch_positions(&known).await.unwrap(), before);
    assert_eq!(workspace.snapshot().await.unwrap().tree, files);
    assert_eq!(repo.git(&["show-ref", "--heads"]), branches);
    workspace.commit(&request_now(&workspace).await).await.unwrap();
    assert_eq!(repo.git_in(workspace.root(), &["status", "--porcelain"]), "");
}

/// Acts of a person around a turn: before it, and after it.
type Acts = [&'static [&'static [&'static str]]; 2];

const MADE: &[&[&str]] = &[&["switch", "-q", "-c", "persons"], &["switch", "-q", "--detach"]];
const MADE_AND_LEFT: &[&[&str]] = &[&["switch", "-q", "-c", "persons"]];
const NAMED: &[&[&str]] = &[&["branch", "-q", "persons"]];
const COMMITTED: &[&[&str]] = &[&["commit", "-q", "--allow-empty", "-m", "x"], &["branch", "-q", "persons"]];

#[rstest]
#[case::made_before_the_turn([MADE, &[]])]
#[case::named_before_the_turn([NAMED, &[]])]
#[case::made_after_the_turn([&[], MADE])]
#[case::made_after_the_turn_and_head_is_there([&[], MADE_AND_LEFT])]
#[case::named_after_the_turn([&[], NAMED])]
#[case::named_after_a_commit_after_the_turn([&[], COMMITTED])]
#[tokio::test]
async fn a_branch_that_a_person_makes_before_or_after_the_turn_stays(
    #[case] acts: Acts,
    #[values(false, true)] is_visited: bool,
) {
    let [before, after] = acts;
    let repo = Repo::new();
    let workspace = linked(&repo).await;
    let start = workspace.branch_positions(&[]).await.unwrap();
    before.iter().for_each(|args| here(&repo, args));
    let turn = workspace
        .with_all_branches(BranchPositions { known: start.known, ..workspace.branch_positions(&[]).await.unwrap() });
    let turn = turn.await.unwrap();
    let watch = workspace.watch_turn("t", "task").await.unwrap();
    if is_visited && !before.is_empty() {
        [&["switch", "-q", "persons"], &["switch", "-q", "--detach"]].iter().for_each(|args| here(&repo, &args[..]));
    }
    drop(watch);
    after.iter().for_each(|args| here(&repo, args));
    let folded = workspace.fold(&noted(&workspace, &turn).await, Some("t")).await.unwrap();
    assert_eq!(repo.git(&["branch", "--list", "persons", "--format=%(refname:short)"]), "persons");
    assert!(folded.put_back.is_empty(), "{folded:?}");
}

#[tokio::test]
async fn each_branch_that_an_agent_makes_in_its_turn_is_removed_and_named() {
    let repo = Repo::new();
    let workspace = linked(&repo).await;
    let turn = turn(&workspace, &[]).await;
    here(&repo, &["switch", "-q", "-c", "one"]);
    commits(&repo);
    here(&repo, &["branch", "-q", "two"]);
    here(&repo, &["switch", "-q", "-c", "three"]);
    here(&repo, &["branch", "-q", "-m", "three", "four"]);
    here(&repo, &["switch", "-q", "--detach"]);
    let folded = workspace.fold(&turn, Some("t")).await.unwrap();
    let named: Vec<_> = folded.put_back.iter().map(|back| back.moved.branch.as_str()).collect();
    assert_eq!(named, ["four", "one", "two"]);
    assert!(folded.put_back.iter().all(|back| back.moved.old.is_none() && back.kept.is_some()), "{folded:?}");
    assert_eq!(repo.git(&["branch", "--format=%(refname:short)", "--list", "one", "two", "three", "four"]), "");
}

#[tokio::test]
async fn without_the_start_of_a_turn_no_branch_is_removed() {
    let repo = Repo::new();
    let workspace = linked(&repo).await;
    let standing = workspace.branch_positions(&[]).await.unwrap();
    here(&repo, &["switch", "-q", "-c", "persons"]);
    workspace.fold(&standing, Some("t")).await.unwrap();
    assert_eq!(workspace.head().await.unwrap().branch(), Some("persons"), "nor is HEAD moved");
}

#[tokio::test]
async fn a_detached_head_is_at_its_commit_or_after_it() {
    let repo = Repo::new();
    let workspace = linked(&repo).await;
    let standing = workspace.branch_positions(&[]).await.unwrap();
    assert_eq!(workspace.own_head(&standing).await.unwrap().commit(), standing.commit.as_ref());
    here(&repo, &["switch", "-q", "-c", "agents"]);
    commits(&repo);
    let head = workspace.own_head(&standing).await.unwrap();
    assert!(head.branch().is_none() && head.commit() != standing.commit.as_ref());
    here(&repo, &["checkout", "-q", "--detach", "main~1"]);
    let error = workspace.own_head(&standing).await.unwrap_err();
    let expected =
        format!("HEAD is detached at {}, not detached at {}, or after it", tip(&repo, "main~1"), tip(&repo, "main"));
    assert_eq!(error.to_string(), expected);
    // In the user's checkout the same holds for the branch.
    let user = repo.open().await;
    let standing = user.branch_positions(&[]).await.unwrap();
    repo.git(&["checkout", "-q", "--detach"]);
    assert_eq!(user.own_head(&standing).await.unwrap().branch(), Some("main"));
}

fn tip(repo: &Repo, of: &str) -> String {
    repo.git(&["rev-parse", of])
}

#[tokio::test]
async fn a_commit_onto_a_detached_head_moves_no_branch() {
    let repo = Repo::new();
    let workspace = linked(&repo).await;
    repo.hook("pre-commit", "echo formatted > formatted.txt");
    let branches = repo.git(&["show-ref", "--heads"]);
    std::fs::write(workspace.root().join("x.txt"), "x").unwrap();
    let requested = request_now(&workspace).await;
    let made = workspace.commit(&requested).await.unwrap();
    let made = made.commit().unwrap();
    assert_eq!(repo.files(made.tree.as_str()), ["a.txt", "formatted.txt", "second.txt", "src/b.txt", "x.txt"]);
    assert!(matches!(workspace.commit(&requested).await.unwrap(), CommitResult::Before(before) if before == *made));
    assert_eq!(repo.git(&["show-ref", "--heads"]), branches);
    assert_eq!(repo.git_in(workspace.root(), &["rev-list", "--count", "main..HEAD"]), "1");
}

#[tokio::test]
async fn a_commit_that_hooks_make_empty_is_reverted() {
    let repo = Repo::new();
    let workspace = linked(&repo).await;
    let at = workspace.head().await.unwrap();
    repo.hook("pre-commit", "rm -f x.txt; git rm -q --cached x.txt");
    std::fs::write(workspace.root().join("x.txt"), "x").unwrap();
    assert_eq!(workspace.commit(&request_now(&workspace).await).await.ok(), Some(CommitResult::Nothing));
    assert_eq!(workspace.head().await.unwrap(), at);
}

#[tokio::test]
async fn a_commit_requires_the_kind_of_head_it_was_requested_for() {
    let repo = Repo::new();
    let workspace = linked(&repo).await;
    std::fs::write(workspace.root().join("x.txt"), "x").unwrap();
    let requested = request_now(&workspace).await;
    here(&repo, &["switch", "-q", "-c", "agents"]);
    let error = workspace.commit(&requested).await.unwrap_err();
    assert!(matches!(error, WorkspaceError::HeadElsewhere { .. }), "{error}");
    let tree = workspace.snapshot().await.unwrap().tree;
    workspace.commit(&request(&workspace, &tree).await).await.unwrap();
}
