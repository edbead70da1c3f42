//! The run's branch, linked work trees, and agents that move HEAD.

use rstest::rstest;
use superstep::workspace::{HeadMove, WorkspaceError, branch_name};

use crate::repo::{Repo, key, request_now};
use crate::turns::{turn, working};

#[tokio::test]
async fn an_own_branch_is_made_in_place_and_found_again() {
    let repo = Repo::new();
    repo.write("a.txt", "changed").write("new", "").git(&["add", "new"]);
    let (status, main, workspace) = (repo.status(), repo.tip(), repo.open().await);
    let name = branch_name("fix 1/2");
    let first = workspace.own_branch(&name, None).await.unwrap();
    assert!(first.is_new && first.before.branch() == Some("main"));
    let again = workspace.own_branch(&name, first.commit.as_ref()).await.unwrap();
    assert!(!again.is_new);
    assert_eq!((repo.git(&["branch", "--show-current"]), repo.status()), (name.clone(), status));

    // The run continues and stops, and the user goes back to work.
    workspace.commit(&request_now(&workspace).await).await.unwrap();
    repo.git(&["switch", "--quiet", "main"]);
    repo.write("b.txt", "b").commit_all("user's");
    let back = workspace.own_branch(&name, first.commit.as_ref()).await.unwrap();
    assert_eq!(back.commit.as_ref(), Some(&repo.tip()));
    assert_eq!(repo.read("a.txt"), "changed");
    assert_ne!(repo.git(&["rev-parse", "main"]), main.to_string());
}

#[tokio::test]
async fn a_branch_of_another_run_is_not_used() {
    let repo = Repo::new();
    repo.git(&["switch", "--quiet", "-c", "theirs"]);
    let theirs = repo.write("x", "x").commit_all("theirs");
    repo.git(&["switch", "--quiet", "main"]);
    let workspace = repo.open().await;
    let error = workspace.own_branch("theirs", None).await.unwrap_err();
    assert!(matches!(&error, WorkspaceError::BranchTaken { commit, .. } if *commit == theirs), "{error}");
    for bad in ["a..b", "-x", "a b", "", "HEAD"] {
        let error = workspace.own_branch(bad, None).await.unwrap_err();
        assert!(matches!(error, WorkspaceError::BadBranch { .. }), "{bad}: {error}");
    }
    assert_eq!(repo.git(&["branch", "--show-current"]), "main");
}

#[tokio::test]
async fn a_detached_head_can_get_a_branch() {
    let repo = Repo::new();
    repo.git(&["checkout", "--quiet", "--detach"]);
    let branch = repo.open().await.own_branch("superstep/t", None).await.unwrap();
    assert_eq!((branch.is_new, branch.commit), (true, Some(repo.tip())));
    assert_eq!(repo.git(&["branch", "--show-current"]), "superstep/t");
}

#[tokio::test]
async fn linked_and_own_work_trees_are_independent() {
    let repo = Repo::new();
    repo.write("mine.txt", "uncommitted");
    let workspace = repo.open().await;
    let linked = workspace.own_worktree("../linked", "one", None).await.unwrap();
    assert_eq!(linked.own_worktree(repo.beside("linked"), "one", None).await.unwrap().root(), linked.root());
    let nested = linked.own_worktree("../nested", "two", None).await.unwrap();
    assert_eq!(nested.common_dir(), workspace.common_dir());

    for each in [&linked, &nested] {
        std::fs::write(each.root().join("x.txt"), "x").unwrap();
        let base = each.head_tree().await.unwrap().unwrap();
        let committed = each.commit(&request_now(each).await).await.unwrap();
        assert_eq!(repo.files(committed.commit().unwrap().tree.as_str()), ["a.txt", "src/b.txt", "x.txt"]);
        assert_eq!(repo.git_in(each.root(), &["status", "--porcelain"]), "");
        each.reset_to(&base).await.unwrap();
        assert!(!each.root().join("x.txt").exists());
    }
    assert_eq!((repo.count(), repo.status().as_str()), (1, "?? mine.txt"));
}

#[tokio::test]
async fn an_occupied_path_is_refused() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    repo.write("../taken/x", "");
    let error = workspace.own_worktree("../taken", "one", None).await.unwrap_err();
    assert!(matches!(error, WorkspaceError::PlaceTaken { .. }), "{error}");
    workspace.own_worktree("../linked", "one", None).await.unwrap();
    let error = workspace.own_worktree("../linked", "two", None).await.unwrap_err();
    assert!(matches!(error, WorkspaceError::PlaceTaken { .. }), "{error}");
    let error = Repo::unborn().open().await.own_worktree("../linked", "one", None).await.unwrap_err();
    assert!(matches!(error, WorkspaceError::NoCommitYet { .. }), "{error}");
}

// --- agents that commit by themselves ---

fn commits(repo: &Repo) {
    repo.write("agent.txt", "agent").commit_all("by the agent");
    repo.write("agent2.txt", "agent").commit_all("and another");
}

fn is_ahead(head: &HeadMove) -> bool {
    matches!(head, HeadMove::Ahead { commits } if commits.len() == 2)
}

fn is_moved(head: &HeadMove) -> bool {
    matches!(head, HeadMove::Moved { .. })
}

#[rstest]
#[case::commits(commits, is_ahead)]
#[case::amends(|repo: &Repo| { repo.write("agent.txt", ""); repo.git(&["add", "-A"]); repo.git(&["commit", "-q", "--amend", "-m", "x"]); }, is_moved)]
#[case::resets_behind(|repo: &Repo| { repo.git(&["reset", "-q", "--soft", "HEAD~1"]); }, is_moved)]
#[case::switches(|repo: &Repo| { repo.git(&["switch", "-q", "-c", "agents"]); commits(repo); }, |head: &HeadMove| matches!(head, HeadMove::Switched { .. }))]
#[case::detaches(|repo: &Repo| { repo.git(&["checkout", "-q", "--detach"]); commits(repo); }, |head: &HeadMove| matches!(head, HeadMove::Detached { .. }))]
#[case::commits_to_the_users_branch(|repo: &Repo| { repo.git(&["switch", "-q", "main"]); commits(repo); }, |head: &HeadMove| matches!(head, HeadMove::Switched { .. }))]
#[case::orphans(|repo: &Repo| { repo.git(&["update-ref", "-d", "HEAD"]); }, |head: &HeadMove| *head == HeadMove::Moved { commit: None })]
#[tokio::test]
async fn changes_of_head_by_an_agent_are_folded_into_its_task(
    #[case] agent: fn(&Repo),
    #[case] is_expected: fn(&HeadMove) -> bool,
) {
    let repo = Repo::new();
    repo.write("second.txt", "").commit_all("second");
    let workspace = repo.open().await;
    workspace.own_branch("superstep/t", None).await.unwrap();
    let standing = workspace.branch_positions(&["main", "no-such", "superstep/t"]).await.unwrap();
    assert_eq!(standing.others.len(), 1);
    assert!(workspace.movement(&standing).await.unwrap().is_none());
    let watched = working(&workspace, standing.clone()).await;
    agent(&repo);
    let files = workspace.snapshot().await.unwrap().tree;

    let movement = workspace.fold(&watched, Some("t")).await.unwrap();
    assert!(is_expected(&movement.head), "{movement:?}");
    assert!(workspace.movement(&standing).await.unwrap().is_none());
    assert_eq!(workspace.branch_positions(&["main"]).await.unwrap(), standing);
    assert_eq!(workspace.snapshot().await.unwrap().tree, files);
    workspace.commit(&request_now(&workspace).await).await.unwrap();
    assert_eq!(repo.status(), "");
}

/// A new commit on top of `main`, made in a work tree beside the run's.
fn commit_beside(repo: &Repo, name: &str) -> String {
    let beside = repo.beside("beside");
    if !beside.exists() {
        repo.git(&["worktree", "add", "-q", "--force", beside.to_str().unwrap(), "main"]);
    }
    std::fs::write(beside.join(name), name).unwrap();
    repo.git_in(&beside, &["add", "-A"]);
    repo.git_in(&beside, &["commit", "-qm", name]);
    repo.git_in(&beside, &["rev-parse", "HEAD"])
}

fn other_commit(repo: &Repo, parent: &str) -> String {
    repo.git(&["commit-tree", "-m", "other", "-p", parent, &format!("{parent}^{{tree}}")])
}

#[rstest]
#[case::a_commit_in_another_work_tree(|repo: &Repo| { commit_beside(repo, "mine"); })]
#[case::amends_in_another_work_tree(|repo: &Repo| { commit_beside(repo, "mine"); repo.git_in(&repo.beside("beside"), &["commit", "-q", "--amend", "-m", "other"]); })]
#[case::rebases_in_another_work_tree(|repo: &Repo| { commit_beside(repo, "mine"); repo.git_in(&repo.beside("beside"), &["rebase", "-q", "--onto", "main~2", "main~1", "main"]); })]
#[case::update_ref(|repo: &Repo| { let new = other_commit(repo, "main"); repo.git(&["update-ref", "refs/heads/main", &new]); })]
#[case::branch_force(|repo: &Repo| { repo.git(&["branch", "-q", "-f", "main", "main~1"]); })]
#[case::fetch(|repo: &Repo| { let new = other_commit(repo, "main"); repo.git(&["fetch", "-q", ".", &format!("{new}:refs/heads/main")]); })]
#[case::push(|repo: &Repo| { let new = other_commit(repo, "main"); repo.git(&["push", "-q", ".", &format!("{new}:refs/heads/main")]); })]
#[case::deletion(|repo: &Repo| { repo.git(&["branch", "-q", "-D", "main"]); })]
#[case::rename(|repo: &Repo| { repo.git(&["branch", "-q", "-m", "main", "trunk"]); })]
#[tokio::test]
async fn a_branch_that_somebody_else_moves_is_left_and_named(#[case] person: fn(&Repo)) {
    let repo = Repo::new();
    repo.write("second.txt", "").commit_all("second");
    let workspace = repo.open().await;
    workspace.own_branch("superstep/t", None).await.unwrap();
    let standing = turn(&workspace, &["main"]).await;
    let old = repo.git(&["rev-parse", "main"]);
    person(&repo);
    commits(&repo);
    let heads = repo.git(&["for-each-ref", "refs/heads/main"]);
    let new = repo.git(&["for-each-ref", "--format=%(objectname)", "refs/heads/main"]);

    let folded = workspace.fold(&standing, Some("t")).await.unwrap();
    assert_eq!(repo.git(&["for-each-ref", "refs/heads/main"]), heads);
    let [left] = folded.left.as_slice() else { panic!("{folded:?}") };
    assert_eq!((left.branch.as_str(), left.old.as_ref().unwrap().as_str()), ("main", old.as_str()));
    assert_eq!(left.new.as_ref().map(|new| new.as_str()).unwrap_or_default(), new);
    assert!(folded.put_back.is_empty() && folded.own.is_none(), "{folded:?}");
    let kept = folded.taken_back.unwrap().unwrap();
    assert_eq!(repo.git(&["log", "--format=%s", &format!("{old}..{kept}")]).lines().count(), 2, "{kept}");
}

#[tokio::test]
async fn what_an_agent_commits_on_the_users_branch_is_kept_and_what_others_did_there_stays() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    workspace.own_branch("superstep/t", None).await.unwrap();
    let standing = turn(&workspace, &["main"]).await;
    let old = repo.tip().to_string();
    let persons = other_commit(&repo, "main");
    repo.git(&["update-ref", "refs/heads/main", &persons]);
    repo.git(&["switch", "-q", "main"]);
    commits(&repo);
    let agents = repo.tip().to_string();

    let folded = workspace.fold(&standing, Some("t")).await.unwrap();
    assert_eq!(repo.git(&["rev-parse", "main"]), persons);
    let [back] = folded.put_back.as_slice() else { panic!("{folded:?}") };
    assert_eq!(back.moved.new.as_ref().unwrap().as_str(), agents);
    assert_eq!(repo.git(&["rev-parse", back.kept.as_ref().unwrap()]), agents);
    assert!(back.kept.as_ref().unwrap().starts_with("refs/superstep/t/branches/main-"));
    let [left] = folded.left.as_slice() else { panic!("{folded:?}") };
    assert_eq!(left.to_string(), format!("the branch `main` was moved from {old} to {persons}"));
}

#[rstest]
#[case::update_ref_elsewhere(|repo: &Repo, new: &str| { repo.git_in(&repo.beside("beside"), &["update-ref", "refs/heads/superstep/t", new]); }, false)]
#[case::then_the_agent_commits(|repo: &Repo, new: &str| { repo.git_in(&repo.beside("beside"), &["update-ref", "refs/heads/superstep/t", new]); commits(repo); }, true)]
#[tokio::test]
async fn the_branch_of_the_run_is_left_where_somebody_else_put_it(
    #[case] acts: fn(&Repo, &str),
    #[case] has_agents_commits: bool,
) {
    let repo = Repo::new();
    let workspace = repo.open().await;
    workspace.own_branch("superstep/t", None).await.unwrap();
    commit_beside(&repo, "mine");
    let standing = turn(&workspace, &["main"]).await;
    let new = other_commit(&repo, "superstep/t");
    acts(&repo, &new);
    let folded = workspace.fold(&standing, Some("t")).await.unwrap();
    assert_eq!(repo.git(&["rev-parse", "superstep/t"]), new);
    assert_eq!(folded.own.clone().unwrap().new.unwrap().as_str(), new);
    assert_eq!(folded.taken_back.is_some(), has_agents_commits, "{folded:?}");
    assert_eq!(workspace.foreign_move(&standing).await.unwrap(), folded.own);
}

#[rstest]
#[case::a_commit(|repo: &Repo| { commits(repo); }, true)]
#[case::a_merge(|repo: &Repo| { commit_beside(repo, "mine"); repo.git(&["merge", "-q", "--no-ff", "-m", "merged", "main"]); }, true)]
#[case::a_visit_elsewhere(|repo: &Repo| { repo.git(&["switch", "-q", "-c", "else"]); commits(repo); repo.git(&["switch", "-q", "superstep/t"]); repo.git(&["merge", "-q", "else"]); }, true)]
#[case::an_amend(|repo: &Repo| { repo.git(&["commit", "-q", "--amend", "-m", "other"]); }, false)]
#[case::a_reset(|repo: &Repo| { repo.git(&["reset", "-q", "--hard", "HEAD~1"]); }, false)]
#[case::a_rebase(|repo: &Repo| { commits(repo); repo.git(&["rebase", "-q", "--onto", "HEAD~4", "HEAD~3"]); }, false)]
#[case::a_deletion(|repo: &Repo| { repo.git(&["switch", "-q", "--detach"]); repo.git(&["branch", "-q", "-D", "superstep/t"]); }, false)]
#[case::a_push_from_elsewhere(|repo: &Repo| { let new = other_commit(repo, "HEAD"); commit_beside(repo, "mine"); repo.git_in(&repo.beside("beside"), &["update-ref", "refs/heads/superstep/t", &new]); }, false)]
#[tokio::test]
async fn commits_on_top_in_the_work_tree_are_no_foreign_move(#[case] person: fn(&Repo), #[case] is_on_top: bool) {
    let repo = Repo::new();
    repo.write("second.txt", "").commit_all("second");
    let workspace = repo.open().await;
    workspace.own_branch("superstep/t", None).await.unwrap();
    repo.write("third.txt", "").commit_all("third");
    let standing = workspace.branch_positions(&["main"]).await.unwrap();
    assert_eq!(workspace.foreign_move(&standing).await.unwrap(), None);
    person(&repo);
    assert_eq!(workspace.foreign_move(&standing).await.unwrap().is_none(), is_on_top);
}

#[tokio::test]
async fn another_history_or_an_unfinished_merge_is_not_folded() {
    let repo = Repo::new();
    repo.git(&["branch", "old"]);
    repo.write("a.txt", "second").commit_all("second");
    let workspace = repo.open().await;
    let standing = turn(&workspace, &[]).await;
    repo.git(&["switch", "-q", "old"]);
    let error = workspace.fold(&standing, Some("t")).await.unwrap_err();
    assert!(
        matches!(&error, WorkspaceError::HeadElsewhere { expected, .. } if expected == "on `main`, or after it"),
        "{error}"
    );

    repo.write("a.txt", "third").commit_all("third");
    repo.git(&["switch", "-q", "main"]);
    repo.try_git(&["merge", "old"]);
    let error = workspace.fold(&standing, Some("t")).await.unwrap_err();
    assert!(matches!(error, WorkspaceError::Ongoing { .. }), "{error}");
}

#[tokio::test]
async fn a_task_can_start_on_an_unborn_branch() {
    let repo = Repo::unborn();
    let workspace = repo.open().await;
    let standing = turn(&workspace, &[]).await;
    assert_eq!(standing.commit, None);
    commits(&repo);
    assert!(is_ahead(&workspace.fold(&standing, Some("t")).await.unwrap().head));
    assert_eq!(workspace.head().await.unwrap().commit(), None);
    let made = workspace.commit(&request_now(&workspace).await).await.unwrap();
    assert_eq!(made.commit().unwrap().key, key(1));
}

#[rstest]
#[case::above("superstep", "superstep/t", Some("superstep"))]
#[case::far_above("superstep", "superstep/a/b", Some("superstep"))]
#[case::below("superstep/t/x", "superstep/t", Some("superstep/t/x"))]
#[case::itself("superstep/t", "superstep/t", None)]
#[case::beside("superstep/t2", "superstep/t", None)]
#[tokio::test]
async fn a_branch_that_git_cannot_have_beside_another_is_found_before(
    #[case] known: &str,
    #[case] wanted: &str,
    #[case] expected: Option<&str>,
) {
    let repo = Repo::new();
    repo.git(&["branch", known]);
    let found = repo.open().await.ensure_room_for(wanted).await;
    let other = found.map_err(|error| match error {
        WorkspaceError::BranchInTheWay { other, .. } => other,
        error => error.to_string(),
    });
    assert_eq!(other.err().as_deref(), expected);
}

#[tokio::test]
async fn a_failure_of_libgit2_is_told_in_words_without_its_codes() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    let tip = repo.tip().to_string();
    std::fs::remove_file(repo.root().join(".git/objects").join(&tip[..2]).join(&tip[2..])).unwrap();
    let error = workspace.head_tree().await.unwrap_err();
    let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
    let texts: Vec<String> = causes.map(ToString::to_string).collect();
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert_eq!(texts[0], "cannot read HEAD: an object of the repository is missing or damaged");
    assert!(format!("{error:?}").contains("klass"), "{error:?}");
}

#[tokio::test]
async fn a_fold_that_was_killed_before_it_moved_the_branch_is_repeated() {
    let repo = Repo::new();
    let (workspace, base) = (repo.open().await, repo.tip());
    let standing = turn(&workspace, &[]).await;
    let own = repo.write("a.txt", "own").commit_all("own");
    for log in [".git/logs/HEAD", ".git/logs/refs/heads/main"] {
        // libgit2 writes the line before it moves the branch.
        let line = format!("{own} {base} A Person <person@example.org> 1 +0000\tsuperstep: fold\n");
        let text = repo.read(log) + &line;
        repo.write(log, text);
    }
    assert_eq!(workspace.foreign_move(&standing).await.unwrap(), None);
    let folded = workspace.fold(&standing, Some("t")).await.unwrap();
    assert!(folded.taken_back.is_some() && folded.own.is_none(), "{folded:?}");
    assert_eq!(repo.tip(), base);
}
