//! Branches that an agent makes in a linked work tree are removed; branches that others make there or meanwhile stay.

use rstest::rstest;
use superstep::workspace::{BranchPositions, Workspace};

use crate::repo::Repo;

/// Opens a linked work tree with a detached HEAD, and records its position at the start of a turn.
async fn linked(repo: &Repo) -> (Workspace, BranchPositions) {
    repo.git(&["worktree", "add", "-q", "--detach", "../linked"]);
    let linked = Workspace::open_with(repo.beside("linked"), repo.options()).await.unwrap();
    let standing = linked.with_all_branches(linked.branch_positions(&[]).await.unwrap()).await.unwrap();
    (linked, standing)
}

/// Runs lines of git in the linked work tree, or in the user's if they start with `> `.
fn run(repo: &Repo, lines: &str) {
    for line in lines.split("; ") {
        match line.strip_prefix("> ") {
            Some(line) => repo.git(&line.split(' ').collect::<Vec<_>>()),
            None => repo.git_in(&repo.beside("linked"), &line.split(' ').collect::<Vec<_>>()),
        };
    }
}

const COMMIT: &str = "commit -q --allow-empty -m mine";

#[rstest]
#[case::at_a_commit(format!("{COMMIT}; branch x"), "x", true)]
#[case::after_a_commit(format!("{COMMIT}; switch -q -c y; {COMMIT}; switch -q --detach; branch -q -M y x"), "x", true)]
#[case::left_with_a_commit(format!("switch -q -c x; {COMMIT}; checkout -q main~0"), "x", true)]
#[case::left_without_one("switch -q -c x; switch -q --detach".to_owned(), "x", false)]
#[case::with_a_slash(format!("{COMMIT}; branch a/b"), "a/b", true)]
#[tokio::test]
async fn branches_of_a_work_tree_are_removed_and_their_commits_kept(
    #[case] lines: String,
    #[case] name: &str,
    #[case] is_kept: bool,
) {
    let repo = Repo::new();
    let (linked, standing) = linked(&repo).await;
    let watch = linked.watch_turn("t 1", "task").await.unwrap();
    run(&repo, &format!("{lines}; > branch users"));
    drop(watch);
    let tip = repo.git(&["rev-parse", name]);
    let workspace = repo.open().await;
    for gone in [vec![name.to_owned()], vec![]] {
        let removed = workspace.remove_branches_of("../linked", &standing, "t 1").await.unwrap();
        assert_eq!(removed.into_iter().map(|removed| removed.moved.branch).collect::<Vec<_>>(), gone);
    }
    assert_eq!(repo.git(&["branch", "--format=%(refname:short)"]).lines().last(), Some("users"));
    let kept = repo.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/superstep"]);
    let expected = format!("refs/superstep/t%201/branches/{}-{} {tip}", name.replace('/', "%2F"), &tip[..12]);
    assert_eq!(kept, if is_kept { expected } else { String::new() });
}

#[rstest]
#[case::of_the_user("> branch x")]
#[case::of_the_user_at_a_commit("> switch -q -c x; > commit -q --allow-empty -m theirs; > switch -q main")]
#[case::that_the_user_works_on("commit -q --allow-empty -m mine; branch x; > switch -q x")]
#[case::of_which_nobody_knows("branch x")]
#[case::that_was_merged_in("> branch x; > commit -q --allow-empty -m theirs; > branch -f x; merge -q x")]
#[tokio::test]
async fn a_branch_that_may_be_another_users_stays(#[case] lines: &str) {
    let repo = Repo::new();
    let (linked, standing) = linked(&repo).await;
    let watch = linked.watch_turn("t", "task").await.unwrap();
    run(&repo, lines);
    drop(watch);
    let workspace = repo.open().await;
    assert!(workspace.remove_branches_of("../linked", &standing, "t").await.unwrap().is_empty());
    assert_eq!(repo.git(&["branch", "--list", "x", "--format=%(refname:short)"]), "x");
}

#[rstest]
#[case::before_the_turn(["switch -q -c x; switch -q --detach", "", ""])]
#[case::between_two_turns(["", "switch -q -c x; switch -q --detach", ""])]
#[case::after_the_turn(["", "", "switch -q -c x"])]
#[case::with_a_commit_after_the_turn(["", "", "commit -q --allow-empty -m mine; branch x"])]
#[tokio::test]
async fn a_branch_that_a_person_makes_there_stays_and_is_named(#[case] lines: [&str; 3]) {
    let [before, between, after] = lines;
    let repo = Repo::new();
    let (linked, start) = linked(&repo).await;
    let act =
        |lines: &str| Some(lines).filter(|lines| !lines.is_empty()).into_iter().for_each(|lines| run(&repo, lines));
    act(before);
    let turn = linked.with_all_branches(linked.branch_positions(&[]).await.unwrap()).await.unwrap();
    drop(linked.watch_turn("t", "first").await.unwrap());
    act(between);
    drop(linked.watch_turn("t", "second").await.unwrap());
    act(after);
    let workspace = repo.open().await;
    assert!(workspace.remove_branches_of("../linked", &turn, "t").await.unwrap().is_empty());
    let tip = repo.git(&["rev-parse", "x"]);
    let named: Vec<_> = workspace.branches_of("../linked", &start).await.unwrap();
    assert_eq!(
        named.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [format!("the branch `x` was created at {tip}")]
    );
}

#[tokio::test]
async fn without_a_turn_or_the_names_of_all_branches_none_is_removed_or_named() {
    let repo = Repo::new();
    let (linked, standing) = linked(&repo).await;
    run(&repo, "switch -q -c x; switch -q --detach");
    let workspace = repo.open().await;
    assert!(workspace.remove_branches_of("../linked", &standing, "t").await.unwrap().is_empty());
    drop(linked.watch_turn("other thread", "task").await.unwrap());
    let unnamed = BranchPositions { known: [].into(), all: [].into(), ..standing };
    let watch = linked.watch_turn("t", "task").await.unwrap();
    run(&repo, "switch -q x; switch -q --detach");
    drop(watch);
    assert!(workspace.remove_branches_of("../linked", &unnamed, "t").await.unwrap().is_empty());
    assert!(workspace.branches_of("../linked", &unnamed).await.unwrap().is_empty());
}

#[rstest]
#[case::at_its_commit("status", false)]
#[case::on_a_branch("switch -q -c x; commit -q --allow-empty -m mine", false)]
#[case::at_a_commit_of_a_branch("commit -q --allow-empty -m mine; branch x", false)]
#[case::before_the_tip_of_a_branch(
    "commit -q --allow-empty -m one; commit -q --allow-empty -m two; branch x; checkout -q HEAD~1",
    false
)]
#[case::at_a_tagged_commit("commit -q --allow-empty -m mine; tag -a -m t x", false)]
#[case::at_a_commit_of_its_own("commit -q --allow-empty -m mine", true)]
#[tokio::test]
async fn a_commit_on_no_branch_is_kept_before_its_work_tree_goes(#[case] lines: &str, #[case] is_kept: bool) {
    let repo = Repo::new();
    let (linked, _) = linked(&repo).await;
    run(&repo, lines);
    let workspace = repo.open().await;
    let kept = workspace.keep_head_of("../linked", "t").await.unwrap();
    let head = linked.head().await.unwrap().commit().cloned().unwrap();
    let expected = format!("refs/superstep/t/branches/HEAD-{}", &head.as_str()[..12]);
    assert_eq!(kept, is_kept.then_some(expected));
    assert_eq!(workspace.keep_head_of("../linked", "t").await.unwrap(), None, "it is kept");
}
