//! Tampering is detected before git runs.

use rstest::rstest;
use superstep::process::SecretKey;
use superstep::workspace::GitFingerprint;

use crate::repo::{Repo, request};

#[rstest]
#[case::nothing(|_: &Repo| {}, &[])]
#[case::files(|repo: &Repo| { repo.write("a.txt", "x").commit_all("x"); }, &[])]
#[case::new_hook(|repo: &Repo| { repo.hook("post-commit", "evil"); }, &["hook .git/hooks/post-commit is new"])]
#[case::changed_hook(|repo: &Repo| { repo.hook("pre-commit", "evil"); }, &["hook .git/hooks/pre-commit was changed"])]
#[case::mode_of_hook(|repo: &Repo| crate::program::make_executable(repo.root().join(".git/hooks/asleep")), &["hook .git/hooks/asleep was changed"])]
#[case::no_hook(|repo: &Repo| { repo.remove(".git/hooks/pre-commit"); }, &["hook .git/hooks/pre-commit is gone"])]
#[case::config(|repo: &Repo| { repo.git(&["config", "filter.x.clean", "evil"]); }, &["config .git/config was changed"])]
#[case::included(|repo: &Repo| { repo.write("shared.conf", "[include]\n\tpath = nested/a.conf\n[core]\n\tfsmonitor = evil\n"); }, &["config shared.conf was changed"])]
#[case::included_conditionally(|repo: &Repo| { repo.write("nested/b.conf", "[x]"); }, &["config nested/b.conf was changed"])]
#[case::user(|repo: &Repo| { repo.git(&["config", "--global", "a.b", "c"]); }, &["config HOME/.gitconfig was changed"])]
#[case::work_tree(|repo: &Repo| { repo.write(".git/config.worktree", "[x]"); }, &["config .git/config.worktree was changed"])]
#[case::attributes(|repo: &Repo| { repo.write(".git/info/attributes", "* filter=x"); }, &["info/attributes is new"])]
#[case::exclude(|repo: &Repo| { repo.write(".git/info/exclude", "*.rs"); }, &["info/exclude was changed"])]
#[case::hooks_elsewhere_by_an_included_one(|repo: &Repo| { repo.write("nested/a.conf", "[core]\n\thooksPath = my-hooks\n"); }, &[
    "config nested/a.conf was changed",
    "config nested/b.conf is gone",
    "hook .git/hooks/asleep is gone",
    "hook .git/hooks/pre-commit is gone",
    "hooks in .git/hooks is gone",
    "hooks in my-hooks is new",
])]
#[case::a_program_of_a_filter(|repo: &Repo| { repo.write("tools/clean.sh", "evil"); }, &["program tools/clean.sh was changed"])]
#[case::a_program_that_signs(|repo: &Repo| { repo.write("sign", "evil"); }, &["program sign is new"])]
#[case::hooks_elsewhere(|repo: &Repo| { repo.git(&["config", "core.hooksPath", "my-hooks"]); }, &[
    "config .git/config was changed",
    "hook .git/hooks/asleep is gone",
    "hook .git/hooks/pre-commit is gone",
    "hooks in .git/hooks is gone",
    "hooks in my-hooks is new",
])]
#[tokio::test]
async fn everything_that_names_programs_of_git_is_compared(#[case] agent: fn(&Repo), #[case] expected: &[&str]) {
    let repo = Repo::new();
    std::fs::remove_dir_all(repo.root().join(".git/hooks")).unwrap();
    repo.hook("pre-commit", "exit 0")
        .write(".git/hooks/asleep", "")
        .write("shared.conf", "[include]\n\tpath = nested/a.conf\n");
    repo.write("nested/a.conf", "[includeIf \"gitdir:/nowhere\"]\n\tpath = b.conf\n");
    repo.git(&["config", "include.path", "../shared.conf"]);
    repo.write("tools/clean.sh", "cat").git(&["config", "filter.clean.clean", "sh 'tools/clean.sh' %f clean"]);
    repo.git(&["config", "--global", "gpg.program", "./sign"]);
    let workspace = repo.open().await;
    let before = workspace.fingerprint().await.unwrap();
    agent(&repo);
    let now = workspace.fingerprint().await.unwrap();
    let home = repo.home().display().to_string();
    let changes: Vec<_> = before.changes(&now).iter().map(|one| one.to_string().replace(&home, "HOME")).collect();
    assert_eq!(changes, expected);
    assert_eq!(before.digest() == now.digest(), expected.is_empty());
    let stored: GitFingerprint = serde_json::from_str(&serde_json::to_string(&before).unwrap()).unwrap();
    assert_eq!(stored, before);
}

#[tokio::test]
async fn configured_hook_folders_are_compared() {
    let repo = Repo::new();
    repo.git(&["config", "core.hooksPath", ".husky/_"]);
    repo.write(".husky/_/h", "").write(".husky/pre-commit", "npm test\n");
    let workspace = repo.open().await;
    let before = workspace.fingerprint().await.unwrap();
    repo.write(".husky/pre-commit", "evil\n");
    let changes = before.changes(&workspace.fingerprint().await.unwrap());
    assert_eq!(changes.iter().map(ToString::to_string).collect::<Vec<_>>(), ["hook .husky/pre-commit was changed"]);
}

#[tokio::test]
async fn hook_folders_of_included_configuration_are_compared() {
    let repo = Repo::new();
    repo.write("team.conf", "[core]\n\thooksPath = team/hooks\n").write("team/hooks/pre-commit", "test\n");
    repo.git(&["config", "--global", "include.path", &repo.root().join("team.conf").display().to_string()]);
    let workspace = repo.open().await;
    let before = workspace.fingerprint().await.unwrap();
    repo.write("team/hooks/pre-commit", "evil\n").write("team/hooks/post-commit", "evil\n");
    let changes = before.changes(&workspace.fingerprint().await.unwrap());
    let changes: Vec<_> = changes.iter().map(ToString::to_string).collect();
    assert_eq!(changes, ["hook team/hooks/post-commit is new", "hook team/hooks/pre-commit was changed"]);
}

/// Makes a repository that would run a program as soon as git treats it as one.
fn trap(repo: &Repo, args: &[&str], owned: &str) {
    repo.git(args);
    let folder = repo.root().join(args[args.len() - 1]);
    for key in ["core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "core.pager", "core.sshCommand"] {
        repo.git_in(&folder, &["config", key, owned]);
    }
    repo.git_in(&folder, &["config", "filter.evil.required", "true"]);
}

#[rstest]
#[case::attributes(|repo: &Repo, _: &str| {
    repo.write(".gitattributes", "* filter=evil diff=evil merge=evil\n");
})]
#[case::attributes_and_configuration(|repo: &Repo, owned: &str| {
    repo.write(".gitattributes", "* filter=evil\n").write(".gitconfig", format!("[filter \"evil\"]\n\tclean = {owned}\n"));
})]
#[case::modules(|repo: &Repo, owned: &str| {
    let module = format!("[submodule \"m\"]\n\tpath = m\n\turl = ext::{owned}\n\tupdate = !{owned}\n\tfetchRecurseSubmodules = true\n");
    repo.write(".gitmodules", module).write("m/x", "");
})]
#[case::a_bare_repository(|repo: &Repo, owned: &str| trap(repo, &["init", "-q", "--bare", "src/bare"], owned))]
#[case::a_repository(|repo: &Repo, owned: &str| trap(repo, &["init", "-q", "src/inner"], owned))]
#[case::a_repository_in_the_index(|repo: &Repo, owned: &str| {
    trap(repo, &["init", "-q", "inner"], owned);
    std::fs::write(repo.root().join("inner/.git/config"), "[user]\n\tname = A\n\temail = a@b\n").unwrap();
    repo.git_in(&repo.root().join("inner"), &["commit", "-q", "--allow-empty", "-m", "x"]);
    repo.git(&["-c", "advice.addEmbeddedRepo=false", "add", "inner"]);
    repo.git_in(&repo.root().join("inner"), &["config", "core.fsmonitor", owned]);
})]
#[tokio::test]
async fn programs_planted_in_files_do_not_run(#[case] plant: fn(&Repo, &str)) {
    let repo = Repo::new();
    let owned = repo.beside("owned");
    let workspace = repo.open().await;
    let (before, base) = (workspace.fingerprint().await.unwrap(), workspace.snapshot().await.unwrap().tree);
    plant(&repo, &format!("touch {}", owned.display()));
    repo.write("a.txt", "changed\n");
    assert_eq!(before.changes(&workspace.fingerprint().await.unwrap()), [], "nobody is halted for it");
    workspace.dirt().await.unwrap();
    let tree = workspace.snapshot().await.unwrap().tree;
    assert_eq!(repo.content(&tree, "a.txt"), "changed");
    workspace.commit(&request(&workspace, &tree).await).await.unwrap();
    workspace.reset_to(&base).await.unwrap();
    workspace.reset_to(&tree).await.unwrap();
    assert!(!owned.exists());
}

#[tokio::test]
async fn a_long_diff_is_not_written_through_a_link() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    let base = workspace.snapshot().await.unwrap().tree;
    repo.write("a.txt", "changed\n");
    let tree = workspace.snapshot().await.unwrap().tree;
    let (file, theirs) = (repo.beside("long.diff"), repo.beside("theirs"));
    std::fs::write(&theirs, "theirs").unwrap();
    std::os::unix::fs::symlink(&theirs, &file).unwrap();
    workspace.write_diff(&base, &tree, &file).await.unwrap();
    assert_eq!(std::fs::read_to_string(&theirs).unwrap(), "theirs");
    assert!(std::fs::read_to_string(&file).unwrap().contains("+changed"));
}

#[tokio::test]
async fn no_file_of_the_run_is_written_through_a_link() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    drop(workspace.lock("t").await.unwrap());
    let theirs = repo.beside("theirs");
    std::fs::write(&theirs, "theirs").unwrap();
    let own = repo.root().join(".git/superstep");
    std::fs::remove_file(own.join("lock")).unwrap();
    for name in (0..10_000).map(|nth| format!("index-{}-{nth}", std::process::id())).chain(["lock".to_owned()]) {
        std::os::unix::fs::symlink(&theirs, own.join(name)).unwrap();
    }
    workspace.lock("t").await.unwrap_err();
    workspace.snapshot().await.unwrap();
    assert_eq!(std::fs::read_to_string(&theirs).unwrap(), "theirs");
}

#[tokio::test]
async fn a_swapped_repository_is_detected() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    let linked = workspace.own_worktree("../linked", "linked", None).await.unwrap();
    let before = linked.fingerprint().await.unwrap();
    std::fs::write(linked.root().join(".git"), "gitdir: /elsewhere\n").unwrap();
    let changes = before.changes(&linked.fingerprint().await.unwrap());
    assert_eq!(changes.iter().map(ToString::to_string).collect::<Vec<_>>(), [".git was changed"]);
}

#[tokio::test]
async fn a_hook_planted_after_the_lock_does_not_run() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    let base = workspace.snapshot().await.unwrap().tree;
    let lock = workspace.lock("tides").await.unwrap();
    repo.write("a.txt", "changed\n");
    let tree = workspace.snapshot().await.unwrap().tree;
    assert_ne!(tree, base);
    repo.hook("pre-commit", "touch ../ran");
    let refused = workspace.commit(&request(&workspace, &tree).await).await.unwrap_err();
    let text =
        "git was not run, because hooks or configuration were changed meanwhile: hook .git/hooks/pre-commit is new";
    assert_eq!(refused.to_string(), text);
    assert!(!repo.beside("ran").exists());
    drop(lock);
    let _lock = workspace.lock("tides").await.unwrap(); // a person has looked
    assert!(workspace.commit(&request(&workspace, &tree).await).await.unwrap().commit().is_some());
    assert!(repo.beside("ran").exists());
}

#[tokio::test]
async fn a_filter_planted_after_the_lock_does_not_run() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    let _lock = workspace.lock("tides").await.unwrap();
    repo.write(".gitattributes", "* filter=evil\n").git(&["config", "filter.evil.clean", "touch ../ran; cat"]);
    repo.write("a.txt", "changed\n");
    assert!(workspace.snapshot().await.unwrap_err().to_string().contains("config .git/config was changed"));
    assert!(!repo.beside("ran").exists());
}

#[tokio::test]
async fn changes_by_a_trusted_hook_are_trusted() {
    let repo = Repo::new();
    repo.hook("pre-commit", "git config a.b c");
    let workspace = repo.open().await;
    let _lock = workspace.lock("tides").await.unwrap();
    repo.write("a.txt", "changed\n");
    let tree = workspace.snapshot().await.unwrap().tree;
    assert!(workspace.commit(&request(&workspace, &tree).await).await.unwrap().commit().is_some());
}

#[tokio::test]
async fn a_key_is_found_in_changed_files() {
    let repo = Repo::new();
    repo.write("old.txt", "hunter2-hunter2").commit_all("before");
    let workspace = repo.open().await;
    let base = workspace.snapshot().await.unwrap().tree;
    repo.write("src/b.txt", "one\ntwo hunter2-hunter2\n").write("c.txt", "nothing");
    let tree = workspace.snapshot().await.unwrap().tree;
    let keys = || SecretKey::new("MY_KEY", "hunter2-hunter2").into_iter().collect();
    let found = workspace.leaked_keys(&base, &tree, keys()).await.unwrap();
    let leaks: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(leaks, ["src/b.txt:2 holds the value of `MY_KEY`"], "not what was there before");
    assert_eq!(workspace.leaked_keys(&tree, &tree, keys()).await.unwrap(), []);
}
