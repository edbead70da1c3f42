//! Trees and commits that no branch has, kept from git's garbage collection.

use std::collections::BTreeSet;

use superstep::workspace::{TreeId, Workspace};

use crate::repo::{Repo, request_now};

async fn opened(repo: &Repo) -> Workspace {
    Workspace::open_with(repo.root(), repo.options().thread("t 1")).await.unwrap()
}

fn collect_garbage(repo: &Repo) {
    repo.git(&["reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all"]);
    repo.git(&["gc", "--quiet", "--prune=now"]);
}

fn has(repo: &Repo, id: &TreeId) -> bool {
    repo.git(&["cat-file", "--batch-check", "--batch-all-objects"]).contains(id.as_str())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_made_for_a_thread_outlives_gits_garbage_collection() {
    let repo = Repo::new();
    let workspace = opened(&repo).await;
    let base = workspace.snapshot().await.unwrap().tree;
    repo.write("a.txt", "ONE\ntwo\nthree\n");
    let one = workspace.snapshot().await.unwrap().tree;
    repo.write("a.txt", "one\ntwo\nTHREE\n");
    let two = workspace.snapshot().await.unwrap().tree;
    let both = workspace.apply_change(&base, &one, &two).await.unwrap();
    let planned = workspace.with_file(&both, "PLAN.md".as_ref(), "plan").await.unwrap();
    let linked = workspace.detached_worktree(".superstep/worktrees/1", &repo.tip()).await.unwrap();
    std::fs::write(linked.root().join("x.txt"), "x").unwrap();
    let made = linked.commit(&request_now(&linked).await).await.unwrap().commit().unwrap().clone();
    workspace.remove_worktree(".superstep/worktrees/1").await.unwrap();
    let trees = [&base, &one, &two, &both, &planned, &made.tree];
    collect_garbage(&repo);
    assert_eq!(trees.map(|tree| has(&repo, tree)), [true; 6]);
    assert_eq!(repo.git(&["cat-file", "-t", made.commit.as_str()]), "commit");
    let others = Workspace::open_with(repo.root(), repo.options()).await.unwrap();
    repo.write("a.txt", "of nobody\n");
    let unkept = others.snapshot().await.unwrap().tree;
    workspace
        .keep_only("t 1", BTreeSet::from([one.to_string(), made.commit.to_string(), "f".repeat(40)]))
        .await
        .unwrap();
    collect_garbage(&repo);
    assert_eq!(trees.map(|tree| has(&repo, tree)), [true, true, false, false, false, true]);
    assert!(!has(&repo, &unkept));
    workspace.keep_only("t 1", BTreeSet::new()).await.unwrap();
    assert_eq!(repo.git(&["for-each-ref", "refs/superstep"]), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_records_are_noted_apart_from_those_made_now() {
    let repo = Repo::new();
    let workspace = opened(&repo).await;
    assert!(!workspace.keeps_recorded("t 1").await.unwrap());
    let base = workspace.snapshot().await.unwrap().tree;
    let made = workspace.with_file(&base, "x.txt".as_ref(), "x").await.unwrap();
    assert!(workspace.keeps_objects("t 1").await.unwrap() && !workspace.keeps_recorded("t 1").await.unwrap());
    let others = Workspace::open_with(repo.root(), repo.options()).await.unwrap();
    repo.write("a.txt", "of a record\n");
    let recorded = others.snapshot().await.unwrap().tree;
    workspace.keep_recorded("t 1", BTreeSet::from([recorded.to_string()])).await.unwrap();
    assert!(workspace.keeps_recorded("t 1").await.unwrap());
    let tip = repo.git(&["rev-parse", "refs/superstep/t%201/objects"]);
    workspace.keep_recorded("t 1", BTreeSet::from([recorded.to_string()])).await.unwrap();
    assert_eq!(repo.git(&["rev-parse", "refs/superstep/t%201/objects"]), tip);
    collect_garbage(&repo);
    assert!(has(&repo, &made) && has(&repo, &recorded));
    workspace.keep_only("t 1", BTreeSet::from([made.to_string()])).await.unwrap();
    assert!(workspace.keeps_recorded("t 1").await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_keep_all_of_their_objects() {
    let repo = Repo::new();
    let workspace = opened(&repo).await;
    let base = workspace.snapshot().await.unwrap().tree;
    let each = (0..8).map(|nth| {
        let (workspace, base) = (workspace.clone(), base.clone());
        tokio::spawn(async move { workspace.with_file(&base, "x.txt".as_ref(), &nth.to_string()).await.unwrap() })
    });
    let mut trees = vec![];
    for task in each.collect::<Vec<_>>() {
        trees.push(task.await.unwrap());
    }
    collect_garbage(&repo);
    assert!(trees.iter().all(|tree| has(&repo, tree)));
}
