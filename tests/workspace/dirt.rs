//! The check for a clean work tree.

use rstest::rstest;
use superstep::workspace::{Workspace, WorkspaceError};

use crate::repo::Repo;

#[rstest]
#[case::nothing(|_: &Repo| {}, &[])]
#[case::changed(|repo: &Repo| { repo.write("a.txt", "new"); }, &["a.txt"])]
#[case::staged(|repo: &Repo| { repo.write("a.txt", "new"); repo.git(&["add", "a.txt"]); }, &["a.txt"])]
#[case::removed(|repo: &Repo| { repo.remove("a.txt"); }, &["a.txt"])]
#[case::removed_and_staged(|repo: &Repo| { repo.git(&["rm", "-q", "a.txt"]); }, &["a.txt"])]
#[case::untracked(|repo: &Repo| { repo.write("x/y/z.txt", "").write("b c.txt", ""); }, &["b c.txt", "x/y/z.txt"])]
#[case::ignored(|repo: &Repo| { repo.write(".git/info/exclude", "*.log\n").write("a.log", ""); }, &[])]
#[case::mode(|repo: &Repo| crate::program::make_executable(repo.root().join("a.txt")), &["a.txt"])]
#[case::store(|repo: &Repo| { repo.write(".superstep/runs.sled/db", "").write("src/.superstep/x", ""); }, &[])]
#[case::plan(|repo: &Repo| { repo.write("docs/PLAN.md", "# Plan"); }, &[])]
#[case::secrets(|repo: &Repo| {
    repo.write(".env", "KEY=1").write("x/.env.local", "").write("id_rsa", "").write("deploy.key", "");
    repo.write("any", "-----BEGIN OPENSSH PRIVATE KEY-----\n").write("b.pem", "cert\n-----BEGIN PRIVATE KEY-----\n");
    repo.write("staged.p12", "x").git(&["add", "staged.p12"]);
}, &[])]
#[case::nearly_secrets(|repo: &Repo| {
    repo.write("env.rs", "").write("test.rs", "let a = \"-----BEGIN PRIVATE KEY-----\";").write("id_rsa.pub", "");
}, &["env.rs", "id_rsa.pub", "test.rs"])]
#[case::large(|repo: &Repo| { repo.write("big.bin", vec![0; 10 * 1024 * 1024 + 1]); }, &[])]
#[case::just_not_large(|repo: &Repo| { repo.write("big.bin", vec![0; 10 * 1024 * 1024]); }, &["big.bin"])]
#[case::repository_inside(|repo: &Repo| { repo.git(&["init", "-q", "inner"]); repo.write("inner/x", ""); }, &[])]
#[tokio::test]
async fn dirt_is_every_file_that_a_commit_could_include(#[case] make: fn(&Repo), #[case] expected: &[&str]) {
    let repo = Repo::new();
    make(&repo);
    let options = repo.options().exclude("docs/PLAN.md");
    let workspace = Workspace::open_with(repo.root(), options).await.unwrap();
    assert_eq!(workspace.dirt().await.unwrap(), expected);
    assert_eq!(workspace.ensure_clean().await.is_ok(), expected.is_empty());
}

#[tokio::test]
async fn a_plan_given_by_an_absolute_path_is_not_dirt_even_when_tracked() {
    let repo = Repo::new();
    let options = repo.options().exclude(repo.root().join("a.txt"));
    let workspace = Workspace::open_with(repo.root(), options).await.unwrap();
    let before = workspace.snapshot().await.unwrap();
    repo.write("a.txt", "changed");
    workspace.ensure_clean().await.unwrap();
    assert_eq!(workspace.snapshot().await.unwrap(), before);
    workspace.reset_to(&before.tree).await.unwrap();
    assert_eq!(repo.read("a.txt"), "changed");
}

#[tokio::test]
async fn many_dirty_files_are_summarized() {
    let repo = Repo::new();
    for nth in 0..12 {
        repo.write(&format!("f{nth:02}"), "");
    }
    let error = repo.open().await.ensure_clean().await.unwrap_err();
    assert!(matches!(&error, WorkspaceError::Dirty { files } if files.len() == 12));
    insta::assert_snapshot!(error, @"the work tree has uncommitted changes: `f00`, `f01`, `f02`, `f03`, `f04`, `f05`, `f06`, `f07`, `f08`, `f09` and 2 more");
}

#[tokio::test]
async fn the_store_is_ignored_once_and_in_every_work_tree() {
    let repo = Repo::new();
    repo.write(".git/info/exclude", "*.log");
    let workspace = repo.open().await;
    let linked = workspace.own_worktree("../linked", "linked", None).await.unwrap();
    for each in [&workspace, &linked, &workspace] {
        each.ignore_store().await.unwrap();
    }
    assert_eq!(repo.read(".git/info/exclude"), "*.log\n.superstep/\n");
    std::fs::create_dir(linked.root().join(".superstep")).unwrap();
    std::fs::write(linked.root().join(".superstep/db"), "").unwrap();
    assert_eq!(repo.git_in(linked.root(), &["status", "--porcelain"]), "");
}
