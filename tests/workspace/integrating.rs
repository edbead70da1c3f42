//! Integrating several pieces of work: trees, and the private references that keep them.

use std::path::Path;

use superstep::workspace::{SalvageKey, SalvagePhase, WorkspaceError, reference_name};

use crate::repo::{Repo, request_now};

#[tokio::test]
async fn changes_are_rebased_and_a_conflict_names_its_files() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    let base = workspace.snapshot().await.unwrap().tree;
    repo.write("a.txt", "ONE\ntwo\nthree\n");
    let one = workspace.snapshot().await.unwrap().tree;
    repo.write("a.txt", "one\ntwo\nTHREE\n").remove("src/b.txt").write("new.txt", "");
    let two = workspace.snapshot().await.unwrap().tree;
    let both = workspace.apply_change(&base, &one, &two).await.unwrap();
    assert_eq!(repo.content(&both, "a.txt"), "ONE\ntwo\nTHREE");
    assert_eq!(workspace.changed_files(&base, &both).await.unwrap(), ["a.txt", "new.txt", "src/b.txt"]);
    assert!(workspace.changed_files(&base, &base).await.unwrap().is_empty());
    repo.write("a.txt", "uno\ntwo\nthree\n").write("src/b.txt", "changed");
    let three = workspace.snapshot().await.unwrap().tree;
    let error = workspace.apply_change(&base, &both, &three).await.unwrap_err();
    assert!(matches!(&error, WorkspaceError::Conflict { files } if *files == ["a.txt", "src/b.txt"]), "{error}");
}

#[tokio::test]
async fn modes_links_and_submodules_are_rebased_onto_changes_of_other_files() {
    let repo = Repo::new();
    let (workspace, tip) = (repo.open().await, repo.tip());
    std::os::unix::fs::symlink("a.txt", repo.root().join("link")).unwrap();
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{tip},module")]);
    repo.git(&["add", "link"]);
    repo.git(&["commit", "--quiet", "--message", "link and module"]);
    let from = workspace.tree_of(&repo.tip()).await.unwrap();
    let onto = workspace.with_file(&from, Path::new("src/c.txt"), "c\n").await.unwrap();
    crate::program::make_executable(repo.root().join("a.txt"));
    repo.remove("link").write("link", "no link").remove("src/b.txt").write("new/d.txt", "d\n");
    std::os::unix::fs::symlink("d.txt", repo.root().join("new/e.txt")).unwrap();
    let second = repo.commit_all("second");
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{second},module")]);
    let to = repo.git(&["write-tree"]).parse().unwrap();
    let both = workspace.apply_change(&from, &onto, &to).await.unwrap();
    let listed = repo.git(&["ls-tree", "-r", "--format=%(objectmode) %(path)", both.as_str()]);
    insta::assert_snapshot!(listed, @r"
    100755 a.txt
    100644 link
    160000 module
    100644 new/d.txt
    120000 new/e.txt
    100644 src/c.txt
    ");
    assert_eq!(repo.git(&["rev-parse", &format!("{both}:module")]), second.to_string());
}

#[tokio::test]
async fn a_file_where_a_folder_is_in_the_way_is_a_conflict() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    let from = workspace.snapshot().await.unwrap().tree;
    let folder = workspace.with_file(&from, Path::new("docs/a.md"), "a\n").await.unwrap();
    let file = workspace.with_file(&from, Path::new("docs"), "docs\n").await.unwrap();
    for (onto, to) in [(&folder, &file), (&file, &folder)] {
        let error = workspace.apply_change(&from, onto, to).await.unwrap_err();
        assert!(matches!(&error, WorkspaceError::Conflict { files } if files[0].starts_with("docs")), "{error}");
    }
}

#[tokio::test]
async fn a_private_reference_moves_from_where_it_is_expected() {
    let repo = Repo::new();
    let (first, second) = (repo.tip(), repo.write("x", "").commit_all("second"));
    let third = repo.write("y", "").commit_all("third");
    let (workspace, name) = (repo.open().await, reference_name("a b", &["integrated", "phase-1"]));
    assert_eq!(name, "refs/superstep/a%20b/integrated/phase-1");
    assert_eq!(workspace.reference(&name).await.unwrap(), None);
    for _ in 0..2 {
        workspace.set_reference(&name, None, &first).await.unwrap();
    }
    workspace.set_reference(&name, Some(&first), &second).await.unwrap();
    for (expected, found) in [(None, "not there".to_owned()), (Some(&first), format!("at commit {first}"))] {
        let error = workspace.set_reference(&name, expected, &third).await.unwrap_err();
        assert_eq!(error.to_string(), format!("`{name}` is at commit {second}, not {found}"));
    }
    assert_eq!(workspace.reference(&name).await.unwrap(), Some(second.clone()));
    assert!(workspace.salvaged_work("a b").await.unwrap().is_empty());
    for _ in 0..2 {
        workspace.remove_reference(&name).await.unwrap();
    }
    assert_eq!(workspace.reference(&name).await.unwrap(), None);
    for bad in ["refs/heads/main", "HEAD", "refs/superstep/a..b", "refs/superstep/"] {
        let error = workspace.set_reference(bad, None, &first).await.unwrap_err();
        assert!(matches!(error, WorkspaceError::BadReference { .. }), "{bad}: {error}");
        assert!(matches!(workspace.remove_reference(bad).await, Err(WorkspaceError::BadReference { .. })));
    }
    assert_eq!(repo.tip(), third);
}

#[tokio::test]
async fn work_of_a_phase_is_salvaged_beside_work_of_tasks() {
    let repo = Repo::new();
    let (workspace, tip) = (repo.open().await, repo.tip());
    let keys = [
        ("2.1", 1, None),
        ("2.1", 1, Some((1, 1))),
        ("2a", 2, Some((1, 1))),
        ("2a", 2, Some((1, 2))),
        ("a-2", 1, Some((2, 1))),
    ];
    for (nth, (task, attempt, phase)) in keys.into_iter().rev().enumerate() {
        repo.write("work.txt", nth.to_string());
        let tree = workspace.snapshot().await.unwrap().tree;
        let phase = phase.map(|(phase, nth)| SalvagePhase { phase, nth });
        let key = SalvageKey { thread: "t".into(), task: task.into(), attempt, phase };
        let salvaged = workspace.salvage(&key, Some(&tip), &tree).await.unwrap();
        assert_eq!((&salvaged.files, salvaged.phase), (&vec!["work.txt".to_owned()], phase));
    }
    let all = workspace.salvaged_work("t").await.unwrap();
    let names: Vec<&str> = all.iter().map(|one| one.reference.strip_prefix("refs/superstep/t/").unwrap()).collect();
    let expected = [
        "task-2.1/attempt-1",
        "phase-1/attempt-1/task-2.1",
        "phase-1/attempt-2/task-2a",
        "phase-1/attempt-2/task-2a-2",
        "phase-2/attempt-1/task-a%2D2",
    ];
    assert_eq!(names, expected);
    assert_eq!(all[4].task, "a-2");
    repo.remove("work.txt");
    workspace.restore(&all[3].reference).await.unwrap();
    assert_eq!(repo.read("work.txt"), "1");
    let json = serde_json::to_value(&all[0]).unwrap();
    assert!(json.get("phase").is_none(), "{json}");
}

#[tokio::test]
async fn a_commit_of_a_phase_names_it() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    repo.write("a.txt", "changed");
    let mut wanted = request_now(&workspace).await;
    wanted.key.phase = Some(2);
    wanted.message = "feat: x\n\nSuperstep-Phase: 9".to_owned();
    let made = workspace.commit(&wanted).await.unwrap().commit().unwrap().clone();
    assert_eq!(made.key.phase, Some(2));
    let message = repo.git(&["log", "-1", "--format=%B"]);
    let end = "Superstep-Thread: t 1\nSuperstep-Task: 2.1\nSuperstep-Phase: 2\nSuperstep-Attempt: 1";
    assert!(message.ends_with(end), "{message}");
    assert_eq!(workspace.find_commit(&wanted.key, wanted.parent.as_ref()).await.unwrap(), Some(made));
    wanted.key.phase = None;
    assert_eq!(workspace.find_commit(&wanted.key, None).await.unwrap(), None);
    let old = r#"{"thread":"t","task":"1","attempt":1}"#;
    let key: superstep::workspace::CommitKey = serde_json::from_str(old).unwrap();
    assert_eq!((key.phase, serde_json::to_string(&key).unwrap().as_str()), (None, old));
}
