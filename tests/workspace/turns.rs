//! Whose a commit is: an agent's if it was made during a turn, else a person's, which nothing moves, amends or adopts.

use std::time::Duration;

use rstest::rstest;
use superstep::workspace::{BranchPositions, CommitResult, Workspace, WorkspaceError};

use crate::repo::{Repo, key, request_now};

/// Returns the position of HEAD and all branches at the start of a turn that does not end.
pub(crate) async fn turn(workspace: &Workspace, others: &[&str]) -> BranchPositions {
    working(workspace, workspace.branch_positions(others).await.unwrap()).await
}

/// Begins a turn that does not end at a position.
pub(crate) async fn working(workspace: &Workspace, standing: BranchPositions) -> BranchPositions {
    let log = std::fs::metadata(workspace.git_dir().join("logs/HEAD")).map_or(0, |about| about.len());
    BranchPositions { turns: vec![[log, u64::MAX]], ..workspace.with_all_branches(standing).await.unwrap() }
}

const OWN: &str = "superstep/t";

async fn started(repo: &Repo) -> (Workspace, BranchPositions) {
    repo.write("second.txt", "").commit_all("second");
    let workspace = repo.open().await;
    workspace.own_branch(OWN, None).await.unwrap();
    let standing = workspace.branch_positions(&["main"]).await.unwrap();
    (workspace, standing)
}

/// Returns the position with what was noted of the turns of a task.
pub(crate) async fn noted(workspace: &Workspace, standing: &BranchPositions) -> BranchPositions {
    BranchPositions { turns: workspace.turns("t", "task").await.unwrap(), ..standing.clone() }
}

fn commit(repo: &Repo, name: &str) -> String {
    repo.write(name, name).commit_all(name).to_string()
}

fn merge(repo: &Repo) {
    repo.git(&["switch", "-q", "-c", "side", "main~1"]);
    commit(repo, "side");
    repo.git(&["switch", "-q", OWN]);
    repo.git(&["merge", "-q", "--no-ff", "-m", "merged", "side"]);
}

#[rstest]
#[case::a_commit(|repo: &Repo| { commit(repo, "mine"); })]
#[case::a_merge(merge)]
#[case::an_amend(|repo: &Repo| { repo.git(&["commit", "-q", "--amend", "-m", "other"]); })]
#[case::a_reset(|repo: &Repo| { repo.git(&["reset", "-q", "--soft", "HEAD~1"]); })]
#[case::a_visit_elsewhere(|repo: &Repo| { repo.git(&["switch", "-q", "-c", "else"]); commit(repo, "mine"); })]
#[case::a_detached_head(|repo: &Repo| { repo.git(&["switch", "-q", "--detach"]); commit(repo, "mine"); })]
#[case::the_users_branch(|repo: &Repo| { repo.git(&["switch", "-q", "main"]); commit(repo, "mine"); })]
#[tokio::test]
async fn without_a_turn_nothing_is_put_back(#[case] person: fn(&Repo), #[values(false, true)] after_a_turn: bool) {
    let repo = Repo::new();
    let (workspace, standing) = started(&repo).await;
    if after_a_turn {
        drop(workspace.watch_turn("t", "task").await.unwrap());
    }
    person(&repo);
    let all = || {
        (
            repo.git(&["for-each-ref"]),
            repo.git(&["rev-parse", "HEAD"]),
            std::fs::read(repo.root().join(".git/HEAD")).unwrap(),
        )
    };
    let before = all();
    let folded = workspace.fold(&noted(&workspace, &standing).await, Some("t")).await.unwrap();
    assert_eq!(all(), before);
    assert!(folded.taken_back.is_none() && folded.put_back.is_empty(), "{folded:?}");
}

#[rstest]
#[case::before_the_turn(true, false)]
#[case::after_the_turn(false, true)]
#[case::around_the_turn(true, true)]
#[tokio::test]
async fn only_what_was_committed_during_a_turn_is_put_back(#[case] before: bool, #[case] after: bool) {
    let repo = Repo::new();
    let (workspace, standing) = started(&repo).await;
    let mut tip = repo.tip().to_string();
    if before {
        tip = commit(&repo, "before");
    }
    let watch = workspace.watch_turn("t", "task").await.unwrap();
    commit(&repo, "agents");
    drop(watch);
    if after {
        tip = commit(&repo, "after");
    }
    workspace.fold(&noted(&workspace, &standing).await, Some("t")).await.unwrap();
    assert_eq!(repo.git(&["rev-parse", OWN]), tip);
}

#[tokio::test]
async fn a_commit_between_two_turns_stays_with_what_is_beneath_it() {
    let repo = Repo::new();
    let (workspace, standing) = started(&repo).await;
    let watch = workspace.watch_turn("t", "task").await.unwrap();
    commit(&repo, "first");
    drop(watch);
    let mine = commit(&repo, "mine");
    let watch = workspace.watch_turn("t", "task").await.unwrap();
    commit(&repo, "second");
    commit(&repo, "third");
    drop(watch);
    let standing = noted(&workspace, &standing).await;
    assert_eq!(standing.turns.len(), 2);
    let folded = workspace.fold(&standing, Some("t")).await.unwrap();
    assert_eq!(repo.git(&["rev-parse", OWN]), mine);
    let kept = folded.taken_back.unwrap().unwrap();
    assert_eq!(repo.git(&["log", "--format=%s", &format!("{mine}..{kept}")]), "third\nsecond");
    assert!(repo.has("third"));
    let again = workspace.fold(&standing, Some("t")).await.unwrap();
    assert_eq!((again.taken_back, repo.git(&["rev-parse", OWN])), (None, mine));
}

#[tokio::test]
async fn a_commit_on_a_detached_head_between_two_turns_stays() {
    let repo = Repo::new();
    repo.git(&["switch", "-q", "--detach"]);
    let workspace = repo.open().await;
    let standing = workspace.branch_positions(&[]).await.unwrap();
    let mine = commit(&repo, "mine");
    let watch = workspace.watch_turn("t", "task").await.unwrap();
    commit(&repo, "agents");
    drop(watch);
    workspace.fold(&noted(&workspace, &standing).await, Some("t")).await.unwrap();
    assert_eq!((repo.tip().to_string(), workspace.head().await.unwrap().branch()), (mine, None));
}

#[tokio::test]
async fn what_an_agent_does_is_noted_while_its_turn_runs() {
    let repo = Repo::new();
    let (workspace, _) = started(&repo).await;
    let watch = workspace.watch_turn("t", "task").await.unwrap();
    assert_eq!(workspace.turns("t", "task").await.unwrap(), Vec::<[u64; 2]>::new());
    commit(&repo, "agents");
    let length = std::fs::metadata(repo.root().join(".git/logs/HEAD")).unwrap().len();
    let noted = async {
        while workspace.turns("t", "task").await.unwrap().last().map(|part| part[1]) != Some(length) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), noted).await.unwrap();
    drop(watch);
    assert_eq!(workspace.turns("t", "other").await.unwrap(), Vec::<[u64; 2]>::new());
    workspace.forget_turns("t").await.unwrap();
    assert_eq!(workspace.turns("t", "task").await.unwrap(), Vec::<[u64; 2]>::new());
}

// --- commits of the run beside those of people ---

const PERSON: &str = "unset GIT_INDEX_FILE; git -c core.hooksPath=/dev/null commit -q -m mine mine.txt";

#[tokio::test]
async fn a_commit_on_top_of_that_of_the_run_is_not_amended() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    repo.write("mine.txt", "mine").commit_all("begin mine");
    repo.write("a.txt", "changed\n");
    repo.hook("post-commit", &format!("echo formatted > b.txt; echo more > mine.txt; {PERSON}"));
    let request = request_now(&workspace).await;
    let committed = workspace.commit(&request).await.unwrap();
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "mine");
    let made = committed.commit().unwrap();
    assert_eq!(repo.git(&["rev-parse", "HEAD~1"]), made.commit.to_string());
    assert_eq!(workspace.find_commit(&key(1), None).await.unwrap().as_ref(), Some(made));
}

#[tokio::test]
async fn a_commit_with_the_same_files_that_a_person_makes_after_a_kill_is_not_taken_for_that_of_the_run() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    repo.hook("pre-commit", "sleep 60").write("a.txt", "changed\n");
    let request = request_now(&workspace).await;
    // The future is dropped while the hook runs, and the record of the commit stays.
    let cut = tokio::time::timeout(Duration::from_millis(500), workspace.commit(&request)).await;
    assert!(cut.is_err() && repo.root().join(".git/superstep/commit").exists());
    assert_eq!(workspace.started_commit(&key(1)).await.unwrap(), Some(request.parent.clone()));
    let mine = repo.commit_all("mine");
    let error = workspace.commit(&request).await.unwrap_err();
    assert!(matches!(error, WorkspaceError::HeadElsewhere { .. }), "{error}");
    assert_eq!(workspace.started_commit(&key(1)).await.unwrap(), Some(Some(mine.clone())), "it is to be made on top");
    assert_eq!(workspace.commit(&request_now(&workspace).await).await.unwrap(), CommitResult::Nothing);
    assert_eq!(repo.tip(), mine);
    assert!(!repo.root().join(".git/superstep/commit").exists(), "it is about a commit that was never made");
}

// --- commits that are gone ---

#[rstest]
#[case::on_a_branch(false)]
#[case::on_a_detached_head(true)]
#[tokio::test]
async fn a_commit_of_an_agent_that_was_collected_as_garbage_is_put_back_and_its_files_stay(#[case] is_detached: bool) {
    let repo = Repo::new();
    let (workspace, _) = started(&repo).await;
    if is_detached {
        repo.git(&["switch", "-q", "--detach"]);
    }
    let standing = workspace.with_all_branches(workspace.branch_positions(&[]).await.unwrap()).await.unwrap();
    let before = repo.git(&["rev-parse", "HEAD"]);
    let watch = workspace.watch_turn("t", "task").await.unwrap();
    let gone = commit(&repo, "agents.txt");
    drop(watch);
    let objects = repo.root().join(".git/objects");
    for object in [gone.clone(), repo.git(&["rev-parse", &format!("{gone}:agents.txt")])] {
        std::fs::remove_file(objects.join(&object[..2]).join(&object[2..])).unwrap();
    }
    let folded = workspace.fold(&noted(&workspace, &standing).await, Some("t")).await.unwrap();
    assert_eq!((folded.taken_back, repo.git(&["rev-parse", "HEAD"])), (Some(None), before));
    let snapshot = workspace.snapshot().await.unwrap();
    assert!(repo.files(snapshot.tree.as_str()).contains(&"agents.txt".to_owned()));
    repo.git(&["fsck", "--no-reflogs", "--connectivity-only", snapshot.tree.as_str()]);
}

#[rstest]
#[case::of_a_living_process(std::process::id(), true)]
#[case::of_a_process_that_ended(u32::MAX >> 2, false)]
#[tokio::test]
async fn a_snapshot_waits_for_the_end_of_a_collection(#[case] process: u32, #[case] waits: bool) {
    let repo = Repo::new();
    let workspace = repo.open().await;
    let host = String::from_utf8(std::process::Command::new("uname").arg("-n").output().unwrap().stdout).unwrap();
    repo.write(".git/gc.pid", format!("{process} {host}"));
    let taken = tokio::time::timeout(Duration::from_millis(if waits { 300 } else { 60_000 }), workspace.snapshot());
    assert_eq!(taken.await.is_err(), waits);
    std::fs::remove_file(repo.root().join(".git/gc.pid")).unwrap();
    workspace.snapshot().await.unwrap();
}
