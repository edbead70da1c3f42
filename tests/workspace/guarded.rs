//! Work is kept after an agent changed hooks and configuration, and no planted program runs.

use std::fs;
use std::path::PathBuf;

use rstest::rstest;
use superstep::workspace::{SalvageKey, WorkspaceError};

use crate::repo::Repo;

const PLACE: &str = ".superstep/worktrees/1";

fn place(repo: &Repo) -> PathBuf {
    repo.root().join(PLACE)
}

/// Every configuration key that names a program for git.
fn commands(owned: &str) -> String {
    format!(
        "[core]\n\tfsmonitor = {owned}\n\tsshCommand = {owned}\n\tpager = {owned}\n\teditor = {owned}\n\
         [filter \"evil\"]\n\tclean = {owned}\n\tsmudge = {owned}\n\tprocess = {owned}\n\trequired = true\n\
         [diff]\n\texternal = {owned}\n[gpg]\n\tprogram = {owned}\n[credential]\n\thelper = !{owned}\n"
    )
}

/// Appends to a file of the repository's `.git`.
fn append(repo: &Repo, file: &str, text: &str) {
    let path = repo.root().join(".git").join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let before = fs::read_to_string(&path).unwrap_or_default();
    fs::write(path, before + text).unwrap();
}

/// A repository of the agent's own, with planted programs.
fn theirs(repo: &Repo, owned: &str) -> PathBuf {
    let folder = repo.beside("evil");
    repo.git(&["init", "-q", &folder.display().to_string()]);
    fs::write(folder.join(".git/config"), commands(owned)).unwrap();
    folder.join(".git")
}

#[rstest]
#[case::configuration(|repo: &Repo, owned: &str| append(repo, "config", &commands(owned)))]
#[case::of_the_user(|repo: &Repo, owned: &str| fs::write(repo.home().join(".gitconfig"), commands(owned)).unwrap())]
#[case::included(|repo: &Repo, owned: &str| {
    fs::write(repo.beside("evil.conf"), commands(owned)).unwrap();
    append(repo, "config", "[include]\n\tpath = ../../evil.conf\n[includeIf \"gitdir:**\"]\n\tpath = ../../evil.conf\n");
})]
#[case::of_the_worktree(|repo: &Repo, owned: &str| {
    append(repo, "config", "[extensions]\n\tworktreeConfig = true\n");
    append(repo, "worktrees/1/config.worktree", &commands(owned));
})]
#[case::attributes(|repo: &Repo, owned: &str| {
    append(repo, "config", &commands(owned));
    append(repo, "info/attributes", "* filter=evil diff=evil\n");
})]
#[case::hooks(|repo: &Repo, owned: &str| {
    for name in ["post-index-change", "pre-commit", "reference-transaction", "post-checkout", "fsmonitor-watchman"] {
        repo.hook(name, owned);
        repo.write(&format!("evil-hooks/{name}"), format!("#!/bin/sh\n{owned}\n"));
        crate::program::make_executable(repo.root().join("evil-hooks").join(name));
    }
    append(repo, "config", &format!("[core]\n\thooksPath = {}/evil-hooks\n", repo.root().display()));
})]
#[case::file_of_the_worktree(|repo: &Repo, owned: &str| {
    fs::write(place(repo).join(".git"), format!("gitdir: {}\n", theirs(repo, owned).display())).unwrap();
})]
#[case::a_repository_in_place_of_the_file(|repo: &Repo, owned: &str| {
    fs::remove_file(place(repo).join(".git")).unwrap();
    fs::rename(theirs(repo, owned), place(repo).join(".git")).unwrap();
})]
#[case::common_folder(|repo: &Repo, owned: &str| {
    append(repo, "config", &commands(owned));
    fs::write(repo.root().join(".git/worktrees/1/commondir"), theirs(repo, owned).display().to_string()).unwrap();
})]
#[case::another_work_tree(|repo: &Repo, owned: &str| {
    append(repo, "config", &format!("{}[core]\n\tworktree = {}\n\tbare = true\n", commands(owned), repo.home().display()));
})]
#[case::alternates(|repo: &Repo, owned: &str| {
    append(repo, "config", &commands(owned));
    append(repo, "objects/info/alternates", &format!("{}\n", theirs(repo, owned).join("objects").display()));
})]
#[case::another_index(|repo: &Repo, owned: &str| {
    append(repo, "config", &commands(owned));
    fs::write(repo.root().join(".git/worktrees/1/index"), "no index").unwrap();
})]
#[case::hidden_in_the_index(|repo: &Repo, owned: &str| {
    repo.git_in(&place(repo), &["update-index", "--skip-worktree", "a.txt"]);
    append(repo, "config", &commands(owned));
})]
#[case::no_configuration_at_all(|repo: &Repo, _: &str| append(repo, "config", "[[[ nothing that git can read"))]
#[case::an_extension(|repo: &Repo, _: &str| append(repo, "config", "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tevil = true\n"))]
#[tokio::test]
async fn work_is_kept_and_nothing_planted_runs(#[case] plant: fn(&Repo, &str)) {
    let repo = Repo::new();
    let (user, tip) = (repo.open().await, repo.tip());
    user.ignore_store().await.unwrap();
    let worktree = user.detached_worktree(PLACE, &tip).await.unwrap();
    let _lock = user.lock("t").await.unwrap();
    fs::write(worktree.root().join("a.txt"), "work\n").unwrap();
    fs::write(worktree.root().join("new.txt"), "new\n").unwrap();
    fs::write(worktree.root().join(".gitattributes"), "* filter=evil diff=evil merge=evil\n").unwrap();
    let owned = repo.beside("owned");
    let script = repo.beside("owned.sh");
    fs::write(&script, format!("#!/bin/sh\necho \"$0 $@\" >> {}\ncat\n", owned.display())).unwrap();
    crate::program::make_executable(&script);
    plant(&repo, &script.display().to_string());

    let guarded = user.guarded_worktree(PLACE).await.unwrap();
    assert_eq!(guarded.head().await.unwrap().commit(), Some(&tip));
    let base = guarded.head_tree().await.unwrap().unwrap();
    let tree = guarded.snapshot().await.unwrap().tree;
    assert_eq!(guarded.changed_files(&base, &tree).await.unwrap(), [".gitattributes", "a.txt", "new.txt"]);
    let key = SalvageKey { thread: "t".into(), task: "1".into(), attempt: 1, phase: None };
    let salvaged = guarded.salvage(&key, Some(&tip), &tree).await.unwrap();
    assert_eq!(salvaged.files, [".gitattributes", "a.txt", "new.txt"]);
    guarded.reset_to(&base).await.unwrap();
    assert!(!place(&repo).join("new.txt").exists());
    user.remove_worktree(PLACE).await.unwrap();
    assert!(!place(&repo).exists() && !repo.has(".git/worktrees/1"));
    drop(guarded);
    let left = fs::read_dir(repo.root().join(".git/superstep")).unwrap().filter_map(Result::ok);
    assert_eq!(left.filter(|entry| entry.file_name().to_string_lossy().starts_with("guarded")).count(), 0);
    assert!(!owned.exists(), "{}", fs::read_to_string(&owned).unwrap_or_default());
    let reference = repo.root().join(".git").join(&salvaged.reference);
    assert_eq!(fs::read_to_string(reference).unwrap().trim().len(), 40);
}

#[tokio::test]
async fn the_users_checkout_can_be_guarded_and_commits_cannot_be_made_there() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    let owned = repo.beside("owned");
    let _lock = workspace.lock("t").await.unwrap();
    append(&repo, "config", &commands(&format!("touch {}", owned.display())));
    repo.write(".gitattributes", "* filter=evil\n").write("a.txt", "changed\n");
    assert!(matches!(workspace.snapshot().await, Err(WorkspaceError::Tampered { .. })));
    let guarded = workspace.open_guarded().await.unwrap();
    let tree = guarded.snapshot().await.unwrap().tree;
    assert_eq!(repo.content(&tree, "a.txt"), "changed");
    let error = guarded.detached_worktree(PLACE, &repo.tip()).await.unwrap_err();
    assert!(matches!(&error, WorkspaceError::Guarded { command } if command.starts_with("worktree add")), "{error}");
    assert!(matches!(guarded.ensure_identity().await, Err(WorkspaceError::Guarded { .. })));
    assert!(!owned.exists());
}

#[tokio::test]
async fn a_worktree_unknown_to_git_is_kept_too() {
    let repo = Repo::new();
    let (user, tip) = (repo.open().await, repo.tip());
    let worktree = user.detached_worktree(PLACE, &tip).await.unwrap();
    fs::write(worktree.root().join("a.txt"), "work\n").unwrap();
    fs::remove_dir_all(repo.root().join(".git/worktrees")).unwrap();
    let guarded = user.guarded_worktree(PLACE).await.unwrap();
    let tree = guarded.snapshot().await.unwrap().tree;
    assert_eq!(
        (repo.files(tree.as_str()), repo.content(&tree, "a.txt")),
        (vec!["a.txt".into(), "src/b.txt".into()], "work".into())
    );
    let error = user.guarded_worktree("nowhere").await.unwrap_err();
    assert!(matches!(error, WorkspaceError::NotAWorktree { .. }), "{error}");
}
