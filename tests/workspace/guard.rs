//! What was tampered with is seen before git is called.

use rstest::rstest;
use superstep::workspace::Fingerprint;

use crate::repo::{Repo, executable};

#[rstest]
#[case::nothing(|_: &Repo| {}, &[])]
#[case::files(|repo: &Repo| { repo.write("a.txt", "x").commit_all("x"); }, &[])]
#[case::new_hook(|repo: &Repo| { repo.hook("post-commit", "evil"); }, &["hook .git/hooks/post-commit is new"])]
#[case::changed_hook(|repo: &Repo| { repo.hook("pre-commit", "evil"); }, &["hook .git/hooks/pre-commit was changed"])]
#[case::mode_of_hook(|repo: &Repo| executable(&repo.root().join(".git/hooks/asleep")), &["hook .git/hooks/asleep was changed"])]
#[case::no_hook(|repo: &Repo| { repo.remove(".git/hooks/pre-commit"); }, &["hook .git/hooks/pre-commit is gone"])]
#[case::config(|repo: &Repo| { repo.git(&["config", "filter.x.clean", "evil"]); }, &["config .git/config was changed"])]
#[case::included(|repo: &Repo| { repo.write("shared.conf", "[include]\n\tpath = nested/a.conf\n[core]\n\tfsmonitor = evil\n"); }, &["config shared.conf was changed"])]
#[case::included_conditionally(|repo: &Repo| { repo.write("nested/b.conf", "[x]"); }, &["config nested/b.conf was changed"])]
#[case::user(|repo: &Repo| { repo.git(&["config", "--global", "a.b", "c"]); }, &["config HOME/.gitconfig was changed"])]
#[case::work_tree(|repo: &Repo| { repo.write(".git/config.worktree", "[x]"); }, &["config .git/config.worktree was changed"])]
#[case::attributes(|repo: &Repo| { repo.write(".git/info/attributes", "* filter=x"); }, &["info/attributes is new"])]
#[case::exclude(|repo: &Repo| { repo.write(".git/info/exclude", "*.rs"); }, &["info/exclude was changed"])]
#[case::hooks_elsewhere(|repo: &Repo| { repo.git(&["config", "core.hooksPath", "my-hooks"]); }, &[
    "config .git/config was changed",
    "hook .git/hooks/asleep is gone",
    "hook .git/hooks/pre-commit is gone",
    "hooks in .git/hooks is gone",
    "hooks in my-hooks is new",
])]
#[tokio::test]
async fn what_decides_what_git_runs_is_compared(#[case] agent: fn(&Repo), #[case] expected: &[&str]) {
    let repo = Repo::new();
    std::fs::remove_dir_all(repo.root().join(".git/hooks")).unwrap();
    repo.hook("pre-commit", "exit 0")
        .write(".git/hooks/asleep", "")
        .write("shared.conf", "[include]\n\tpath = nested/a.conf\n");
    repo.write("nested/a.conf", "[includeIf \"gitdir:/nowhere\"]\n\tpath = b.conf\n");
    repo.git(&["config", "include.path", "../shared.conf"]);
    let workspace = repo.open().await;
    let before = workspace.fingerprint().await.unwrap();
    agent(&repo);
    let now = workspace.fingerprint().await.unwrap();
    let home = repo.home().display().to_string();
    let told: Vec<_> = before.changes(&now).iter().map(|one| one.to_string().replace(&home, "HOME")).collect();
    assert_eq!(told, expected);
    assert_eq!(before.digest() == now.digest(), expected.is_empty());
    let stored: Fingerprint = serde_json::from_str(&serde_json::to_string(&before).unwrap()).unwrap();
    assert_eq!(stored, before);
}

#[tokio::test]
async fn hooks_are_where_they_are_configured() {
    let repo = Repo::new();
    repo.git(&["config", "core.hooksPath", ".husky/_"]);
    repo.write(".husky/_/h", "").write(".husky/pre-commit", "npm test\n");
    let workspace = repo.open().await;
    let before = workspace.fingerprint().await.unwrap();
    repo.write(".husky/pre-commit", "evil\n");
    let told = before.changes(&workspace.fingerprint().await.unwrap());
    assert_eq!(told.iter().map(ToString::to_string).collect::<Vec<_>>(), ["hook .husky/pre-commit was changed"]);
}

#[tokio::test]
async fn a_repository_that_was_swapped_is_seen() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    let linked = workspace.own_worktree("../linked", "linked", None).await.unwrap();
    let before = linked.fingerprint().await.unwrap();
    std::fs::write(linked.root().join(".git"), "gitdir: /elsewhere\n").unwrap();
    let told = before.changes(&linked.fingerprint().await.unwrap());
    assert_eq!(told.iter().map(ToString::to_string).collect::<Vec<_>>(), [".git was changed"]);
}
