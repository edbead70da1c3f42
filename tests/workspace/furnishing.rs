//! Files that worktrees get from the user's checkout.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use rstest::rstest;
use superstep::workspace::{Furnishings, Workspace, WorkspaceOptions};

use crate::repo::{Repo, request};

fn with(copy: &[&str], link: &[&str]) -> Furnishings {
    let paths = |all: &[&str]| all.iter().map(PathBuf::from).collect();
    Furnishings { copy: paths(copy), link: paths(link) }
}

async fn created(repo: &Repo) -> (Workspace, Workspace) {
    let user = repo.open().await;
    let worktree = user.detached_worktree(".superstep/worktrees/1", &repo.tip()).await.unwrap();
    (user, worktree)
}

#[tokio::test]
async fn copied_and_linked_files_are_in_no_snapshot_and_no_commit() {
    let repo = Repo::new();
    repo.write(".gitignore", "node_modules/\n").commit_all("ignore");
    repo.write("config/.env.test", "KEY=1")
        .write("seed.sql", "insert")
        .write("node_modules/p/i.js", "")
        .write("a.txt", "mine");
    let (user, worktree) = created(&repo).await;
    let furnishings = with(&["config/.env.test", "seed.sql", "a.txt"], &["node_modules"]);
    user.furnish(&worktree, &furnishings).await.unwrap();
    user.furnish(&worktree, &furnishings).await.unwrap();
    let read = |file: &str| fs::read_to_string(worktree.root().join(file)).unwrap();
    assert_eq!(
        (read("seed.sql"), read("a.txt"), read("config/.env.test")),
        ("insert".into(), "mine".into(), "KEY=1".into())
    );
    assert!(worktree.root().join("node_modules/p/i.js").exists());

    let options = furnishings.paths().fold(repo.options(), WorkspaceOptions::exclude);
    let worktree = Workspace::open_with(worktree.root(), options).await.unwrap();
    assert!(worktree.dirt().await.unwrap().is_empty());
    let base = worktree.snapshot().await.unwrap();
    assert_eq!((base.tree.to_string(), base.left_out.len()), (repo.git(&["rev-parse", "HEAD^{tree}"]), 0));
    // Not even if an agent commits them, or replaces the link by a folder.
    repo.git_in(worktree.root(), &["add", "--all", "--force"]);
    assert_eq!(worktree.snapshot().await.unwrap().tree, base.tree);
    fs::remove_file(worktree.root().join("node_modules")).unwrap();
    fs::create_dir(worktree.root().join("node_modules")).unwrap();
    fs::write(worktree.root().join("node_modules/new.js"), "").unwrap();
    repo.git_in(worktree.root(), &["add", "--all", "--force"]);
    fs::write(worktree.root().join("work.txt"), "work").unwrap();
    let tree = worktree.snapshot().await.unwrap().tree;
    assert_eq!(repo.files(tree.as_str()), [".gitignore", "a.txt", "src/b.txt", "work.txt"]);
    assert_eq!(repo.content(&tree, "a.txt"), "one\ntwo\nthree");
    worktree.commit(&request(&worktree, &tree).await).await.unwrap();
    worktree.reset_to(&base.tree).await.unwrap();
    assert_eq!(read("a.txt"), "mine");
    assert!(!worktree.root().join("work.txt").exists());
}

#[rstest]
#[case::missing(with(&[".env.test"], &[]), "`copy` in `[worktree]` names `.env.test`, which is not in `ROOT`")]
#[case::absolute(with(&["/etc/passwd"], &[]), "`copy` in `[worktree]` names `/etc/passwd`, which is not a path below the top of the work tree")]
#[case::above(with(&[], &["../theirs"]), "`link` in `[worktree]` names `../theirs`, which is not a path below the top of the work tree")]
#[case::top(with(&[], &["."]), "`link` in `[worktree]` names `.`, which is not a path below the top of the work tree")]
#[case::git(with(&[], &[".git"]), "`link` in `[worktree]` names `.git`, which belongs to git or superstep")]
#[case::through_a_link(with(&["out/x"], &[]), "`copy` in `[worktree]` names `out/x`, which leads out of the work tree through a link")]
#[case::folder(with(&["src"], &[]), "`copy` in `[worktree]` names `src`, which is not a file; `link` takes folders")]
#[case::in_git(with(&[], &["src"]), "`link` in `[worktree]` names `src`, which is in the worktree already: git has it, or a command of `setup` made it")]
#[case::out_of_the_worktree(with(&["way/x"], &[]), "`copy` in `[worktree]` names `way/x`, which goes through `ROOT/.superstep/worktrees/1/way`, which is not a folder")]
#[tokio::test]
async fn a_file_that_cannot_be_copied_or_linked_is_named(#[case] furnishings: Furnishings, #[case] expected: &str) {
    let repo = Repo::new();
    symlink(repo.beside("theirs"), repo.root().join("way")).unwrap();
    repo.commit_all("way").to_string();
    repo.write("../theirs/y", "").remove("way").write("way/x", "");
    symlink(repo.beside("theirs"), repo.root().join("out")).unwrap();
    repo.write("out/x", "theirs");
    let (user, worktree) = created(&repo).await;
    let error = user.furnish(&worktree, &furnishings).await.unwrap_err();
    assert_eq!(error.to_string().replace(user.root().to_str().unwrap(), "ROOT"), expected);
    assert!(error.help().is_some());
    assert!(!repo.beside("theirs/way").exists());
}
