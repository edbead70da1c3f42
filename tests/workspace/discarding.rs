//! Salvage, restore, reset.

use superstep::workspace::{SalvageKey, WorkspaceError};

use crate::repo::Repo;

fn salvage_key(attempt: u32) -> SalvageKey {
    SalvageKey { thread: "fix: a/b".into(), task: "2.1".into(), attempt, phase: None }
}

#[tokio::test]
async fn discarded_work_is_salvaged_listed_and_restored() {
    let repo = Repo::new();
    let (workspace, base) = (repo.open().await, repo.tip());
    let begin = workspace.snapshot().await.unwrap().tree;
    repo.write("a.txt", "tried\n").write("new/x.txt", "x").remove("src/b.txt").write("new/.env", "KEY=1");
    let tried = workspace.snapshot().await.unwrap().tree;
    let salvaged = workspace.salvage(&salvage_key(1), Some(&base), &tried).await.unwrap();
    let reset = workspace.reset_to(&begin).await.unwrap();
    assert_eq!(
        (reset.from, reset.removed, reset.written),
        (tried.clone(), vec!["new/x.txt".into()], vec!["src/b.txt".into(), "a.txt".into()])
    );
    assert!(!repo.has("new/x.txt") && repo.has("new/.env") && repo.read("a.txt") == "one\ntwo\nthree\n");
    assert_eq!(repo.status(), "?? new/.env");

    assert_eq!(salvaged.reference, "refs/superstep/fix%3A%20a%2Fb/task-2.1/attempt-1");
    assert_eq!(workspace.salvaged_work("fix: a/b").await.unwrap(), std::slice::from_ref(&salvaged));
    assert!(workspace.salvaged_work("fix").await.unwrap().is_empty());
    let json = serde_json::to_string(&salvaged).unwrap();
    insta::assert_snapshot!(json, @r#"{"ref":"refs/superstep/fix%3A%20a%2Fb/task-2.1/attempt-1","task":"2.1","attempt":1,"files":["a.txt","new/x.txt","src/b.txt"]}"#);
    assert_eq!(repo.git(&["rev-parse", &format!("{}^", salvaged.reference)]), base.to_string());

    workspace.restore(&salvaged.reference).await.unwrap();
    assert_eq!(workspace.snapshot().await.unwrap().tree, tried);
    workspace.restore(&salvaged.reference).await.unwrap();
    assert_eq!(repo.tip(), base);
}

#[tokio::test]
async fn files_are_restored_without_the_index() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    let begin = workspace.snapshot().await.unwrap().tree;
    repo.write("a.txt", "tried\n").write("new.txt", "x").git(&["add", "a.txt"]);
    let reset = workspace.reset_files(&begin).await.unwrap();
    assert_eq!((reset.removed, reset.written), (vec!["new.txt".to_owned()], vec!["a.txt".to_owned()]));
    assert_eq!(workspace.snapshot().await.unwrap().tree, begin);
    assert_eq!(repo.status(), "MM a.txt");
}

#[tokio::test]
async fn the_same_work_is_salvaged_once_and_other_work_renames_it() {
    let repo = Repo::new();
    let (workspace, base) = (repo.open().await, repo.tip());
    for content in ["one", "one", "two"] {
        repo.write("x.txt", content);
        let tree = workspace.snapshot().await.unwrap().tree;
        workspace.salvage(&salvage_key(2), Some(&base), &tree).await.unwrap();
    }
    let all = workspace.salvaged_work("fix: a/b").await.unwrap();
    let names: Vec<_> = all.iter().map(|one| one.reference.rsplit('/').next().unwrap()).collect();
    assert_eq!(names, ["attempt-2", "attempt-2-earlier-1"]);
    assert!(all.iter().all(|one| one.attempt == 2));
    assert_eq!(repo.git(&["show", &format!("{}:x.txt", all[1].reference)]), "one");
}

#[tokio::test]
async fn work_is_restored_onto_later_commits_and_never_over_changes() {
    let repo = Repo::new();
    let (workspace, base) = (repo.open().await, repo.tip());
    let begin = workspace.snapshot().await.unwrap().tree;
    repo.write("a.txt", "tried\n").write("x.txt", "x");
    let tree = workspace.snapshot().await.unwrap().tree;
    let name = workspace.salvage(&salvage_key(1), Some(&base), &tree).await.unwrap().reference;
    workspace.reset_to(&begin).await.unwrap();
    repo.write("later.txt", "later").commit_all("later");

    repo.write("a.txt", "my own\n");
    let error = workspace.restore(&name).await.unwrap_err();
    assert!(matches!(&error, WorkspaceError::InTheWay { files } if files == &["a.txt"]), "{error}");
    repo.git(&["checkout", "-q", "a.txt"]);
    repo.write(".git/info/exclude", "x.txt\n").write("x.txt", "ignored, but there");
    let error = workspace.restore(&name).await.unwrap_err();
    assert!(matches!(&error, WorkspaceError::InTheWay { files } if files == &["x.txt"]), "{error}");
    repo.remove("x.txt").write("other.txt", "no matter");

    workspace.restore(&name).await.unwrap();
    assert_eq!((repo.read("a.txt").as_str(), repo.read("later.txt").as_str()), ("tried\n", "later"));
    for missing in ["refs/heads/main", "refs/superstep/x/task-1/attempt-1", "nonsense"] {
        let error = workspace.restore(missing).await.unwrap_err();
        assert!(matches!(error, WorkspaceError::NoSuchSalvage { .. }), "{error}");
    }
}

#[tokio::test]
async fn work_that_later_commits_contradict_is_a_conflict() {
    let repo = Repo::new();
    let (workspace, base) = (repo.open().await, repo.tip());
    repo.write("a.txt", "tried\n");
    let tree = workspace.snapshot().await.unwrap().tree;
    let name = workspace.salvage(&salvage_key(1), Some(&base), &tree).await.unwrap().reference;
    repo.write("a.txt", "otherwise\n").commit_all("otherwise");
    let error = workspace.restore(&name).await.unwrap_err();
    assert!(matches!(&error, WorkspaceError::Conflict { files } if files == &["a.txt"]), "{error}");
    assert_eq!(repo.status(), "");
}

#[tokio::test]
async fn a_reset_keeps_what_is_ignored_and_unstages() {
    let repo = Repo::unborn();
    repo.write(".gitignore", "target/\n").write("a.txt", "a").commit_all("begin");
    let workspace = repo.open().await;
    let begin = workspace.snapshot().await.unwrap().tree;
    repo.write("target/x", "built").write("deep/er/new.txt", "").write("a.txt", "b").git(&["add", "-A"]);
    repo.write("a.txt", "a");
    workspace.reset_to(&begin).await.unwrap();
    assert!(repo.has("target/x") && !repo.has("deep"));
    assert_eq!(repo.status(), "");
}

#[tokio::test]
async fn salvage_before_the_first_commit_has_no_parent() {
    let repo = Repo::unborn();
    let workspace = repo.open().await;
    repo.write("a.txt", "a");
    let tree = workspace.snapshot().await.unwrap().tree;
    let salvaged = workspace.salvage(&salvage_key(1), None, &tree).await.unwrap();
    assert_eq!(salvaged.files, ["a.txt"]);
    workspace.reset_to(&workspace.empty_tree().await.unwrap()).await.unwrap();
    assert!(!repo.has("a.txt"));
    workspace.restore(&salvaged.reference).await.unwrap();
    assert_eq!(repo.read("a.txt"), "a");
}
