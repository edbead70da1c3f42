//! Linked work trees without a branch: created, found again, removed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rstest::rstest;
use superstep::workspace::{Workspace, WorkspaceError};

use crate::repo::{Repo, request_now};
use crate::turns::turn;

const PLACE: &str = ".superstep/worktrees/1";

fn place(repo: &Repo) -> PathBuf {
    repo.root().canonicalize().unwrap().join(PLACE)
}

async fn created(repo: &Repo) -> Workspace {
    repo.open().await.detached_worktree(PLACE, &repo.tip()).await.unwrap()
}

/// The number of work trees known to git, without the user's.
fn known(repo: &Repo) -> usize {
    let list = repo.git(&["worktree", "list", "--porcelain"]);
    list.lines().filter(|line| line.starts_with("worktree ")).count() - 1
}

#[tokio::test]
async fn a_worktree_is_created_without_a_branch_or_a_hook_and_found_again() {
    let repo = Repo::new();
    repo.hook("post-checkout", "touch $HOME/ran");
    repo.write("mine.txt", "uncommitted");
    let (status, heads) = (repo.status(), repo.git(&["show-ref", "--heads"]));
    let worktree = created(&repo).await;
    assert_eq!(worktree.root(), place(&repo));
    assert!(worktree.root().join("src/b.txt").exists() && !worktree.root().join("mine.txt").exists());
    assert_eq!(worktree.head().await.unwrap().branch(), None);
    fs::write(worktree.root().join("x.txt"), "x").unwrap();
    let (first, user) = (repo.tip(), repo.open().await);
    user.ignore_store().await.unwrap();
    worktree.commit(&request_now(&worktree).await).await.unwrap();
    fs::write(worktree.root().join("y.txt"), "y").unwrap();
    let again = user.detached_worktree(PLACE, &first).await.unwrap();
    assert!(again.root().join("y.txt").exists(), "work goes on");
    assert_eq!((repo.status(), repo.git(&["show-ref", "--heads"])), (status, heads));
    assert_eq!(user.worktrees_below(".superstep/worktrees").await.unwrap(), [place(&repo)]);
    assert!(user.worktrees_below("src").await.unwrap().is_empty());
    assert!(!repo.home().join("ran").exists());
    user.remove_worktree(PLACE).await.unwrap();
    user.remove_worktree(PLACE).await.unwrap();
    assert_eq!((known(&repo), place(&repo).exists()), (0, false));
}

#[tokio::test]
async fn other_worktrees_and_other_folders_are_left_alone() {
    let repo = Repo::new();
    let user = repo.open().await;
    created(&repo).await;
    let later = repo.write("later.txt", "").commit_all("later");
    let error = user.detached_worktree(PLACE, &later).await.unwrap_err();
    let text =
        format!("`{}` already exists and is not a work tree at commit {later} or after it", place(&repo).display());
    assert_eq!(error.to_string(), text);
    repo.write("../theirs/x", "");
    for theirs in ["../theirs", "src", "."] {
        let error = user.detached_worktree(theirs, &later).await.unwrap_err();
        assert!(matches!(error, WorkspaceError::WorktreeTaken { .. }), "{error}");
        let error = user.remove_worktree(theirs).await.unwrap_err();
        assert!(matches!(error, WorkspaceError::NotAWorktree { .. }), "{error}");
    }
    assert!(repo.has("../theirs/x") && repo.has("src/b.txt"));
    let error = user.detached_worktree("../new", &"0".repeat(40).parse().unwrap()).await.unwrap_err();
    assert!(matches!(error, WorkspaceError::NoSuchObject { .. }), "{error}");
}

#[rstest]
#[case::nothing_was_checked_out(|repo: &Repo| { repo.git(&["worktree", "add", "-q", "--no-checkout", "--detach", PLACE]); })]
#[case::git_was_killed(|repo: &Repo| { repo.git(&["worktree", "add", "-q", "--no-checkout", "--detach", "--lock", PLACE]); repo.remove(".git/worktrees/1/HEAD"); })]
#[case::no_folder(|repo: &Repo| { repo.git(&["worktree", "add", "-q", "--detach", PLACE]); fs::remove_dir_all(place(repo)).unwrap(); })]
#[case::no_folder_of_gits(|repo: &Repo| { repo.git(&["worktree", "add", "-q", "--detach", PLACE]); fs::remove_dir_all(repo.root().join(".git/worktrees/1")).unwrap(); })]
#[case::only_a_folder_of_gits(|repo: &Repo| { repo.write(".git/worktrees/1/gitdir", format!("{}/.git\n", place(repo).display())); })]
#[tokio::test]
async fn a_half_made_worktree_is_made_again_or_removed(#[case] killed: fn(&Repo)) {
    for remove_only in [false, true] {
        let repo = Repo::new();
        killed(&repo);
        if !remove_only {
            assert!(created(&repo).await.root().join("a.txt").exists());
            assert_eq!(known(&repo), 1);
        }
        repo.open().await.remove_worktree(PLACE).await.unwrap();
        assert_eq!((known(&repo), place(&repo).exists()), (0, false));
        assert!(!repo.has(".git/worktrees/1"));
    }
}

#[tokio::test]
async fn targets_of_links_in_a_worktree_are_not_removed() {
    let repo = Repo::new();
    let worktree = created(&repo).await;
    repo.write("../theirs/x", "theirs");
    symlink(repo.beside("theirs"), worktree.root().join("link")).unwrap();
    fs::create_dir_all(worktree.root().join("shut/inner")).unwrap();
    symlink(repo.beside("theirs"), worktree.root().join("shut/inner/link")).unwrap();
    for folder in ["shut/inner", "shut"] {
        fs::set_permissions(worktree.root().join(folder), fs::Permissions::from_mode(0o500)).unwrap();
    }
    repo.git(&["worktree", "lock", PLACE]);
    repo.open().await.remove_worktree(PLACE).await.unwrap();
    assert_eq!((known(&repo), place(&repo).exists()), (0, false));
    assert_eq!(repo.read("../theirs/x"), "theirs");
    // A link in the place of a work tree is not followed either.
    symlink(repo.beside("theirs"), place(&repo)).unwrap();
    repo.open().await.remove_worktree(PLACE).await.unwrap();
    assert!(repo.has("../theirs/x") && !repo.has(PLACE));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_worktrees_are_made_and_removed_at_once() {
    let repo = Repo::new();
    let (user, tip) = (repo.open().await, repo.tip());
    let each = (0..16).map(|nth| {
        let (user, tip) = (user.clone(), tip.clone());
        tokio::spawn(async move {
            let path = format!(".superstep/worktrees/{nth}/work");
            let worktree = user.detached_worktree(&path, &tip).await.unwrap();
            assert!(worktree.root().join("a.txt").exists());
            fs::write(worktree.root().join("x.txt"), nth.to_string()).unwrap();
            worktree.commit(&request_now(&worktree).await).await.unwrap();
            if nth % 2 == 0 {
                user.remove_worktree(&path).await.unwrap();
            }
        })
    });
    for task in each.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(user.worktrees_below(".superstep").await.unwrap().len(), 8);
    assert_eq!(known(&repo), 8);
}

#[tokio::test]
async fn a_repository_with_submodules_filters_and_links_has_worktrees_too() {
    let inner = Repo::new();
    let repo = Repo::new();
    repo.git(&["submodule", "add", "-q", &inner.root().display().to_string(), "sub"]);
    repo.git(&["config", "filter.upper.clean", "tr a-z A-Z"]);
    repo.git(&["config", "filter.upper.smudge", "tr A-Z a-z"]);
    repo.write(".gitattributes", "*.up filter=upper\n*.bin filter=kept\n").write("word.up", "word\n");
    repo.write("tool.sh", "#!/bin/sh\n");
    crate::program::make_executable(repo.root().join("tool.sh"));
    symlink("a.txt", repo.root().join("link")).unwrap();
    repo.commit_all("all kinds");
    let worktree = created(&repo).await;
    let base = worktree.snapshot().await.unwrap();
    assert_eq!(base.tree.to_string(), repo.git(&["rev-parse", "HEAD^{tree}"]));
    assert_eq!(fs::read_to_string(worktree.root().join("word.up")).unwrap(), "word\n");
    assert_eq!(fs::read_link(worktree.root().join("link")).unwrap(), PathBuf::from("a.txt"));
    repo.git_in(worktree.root(), &["submodule", "update", "--init", "-q"]);
    fs::write(worktree.root().join("word.up"), "other\n").unwrap();
    let tree = worktree.snapshot().await.unwrap().tree;
    assert_eq!(repo.content(&tree, "word.up"), "OTHER");
    repo.open().await.remove_worktree(PLACE).await.unwrap();
    assert_eq!((known(&repo), repo.git(&["submodule", "status"]).contains("sub")), (0, true));
}

/// A long-running filter process of git: it adds a mark to what it smudges and removes it when it cleans.
const PROCESS: &str = r#"
import sys
def packet():
    head = sys.stdin.buffer.read(4)
    if not head: sys.exit(0)
    size = int(head, 16)
    return sys.stdin.buffer.read(size - 4) if size else None
def packets():
    return list(iter(packet, None))
def send(*parts):
    for part in parts: sys.stdout.buffer.write(b"%04x" % (len(part) + 4) + part)
    sys.stdout.buffer.write(b"0000"); sys.stdout.buffer.flush()
packets(); send(b"git-filter-server\n", b"version=2\n")
packets(); send(b"capability=clean\n", b"capability=smudge\n")
while True:
    head = packets()
    text = b"".join(packets())
    text = b"mark:" + text if b"command=smudge\n" in head else text.removeprefix(b"mark:")
    send(b"status=success\n"); send(text); send()
"#;

#[tokio::test]
async fn filters_that_are_processes_work_in_worktrees() {
    let repo = Repo::new();
    let filter = repo.home().join("filter.py");
    fs::write(&filter, PROCESS).unwrap();
    repo.git(&["config", "filter.mark.process", &format!("python3 {}", filter.display())]);
    repo.git(&["config", "filter.mark.required", "true"]);
    repo.write(".gitattributes", "*.big filter=mark\n").write("x.big", "mark:one").write("y.big", "mark:two");
    repo.commit_all("filtered");
    assert_eq!(repo.git(&["show", "HEAD:x.big"]), "one");
    let worktree = created(&repo).await;
    assert_eq!(fs::read_to_string(worktree.root().join("x.big")).unwrap(), "mark:one");
    fs::write(worktree.root().join("x.big"), "mark:three").unwrap();
    assert_eq!(repo.content(&worktree.snapshot().await.unwrap().tree, "x.big"), "three");
}

#[tokio::test]
async fn a_linked_work_tree_has_worktrees_too() {
    let repo = Repo::new();
    let linked = repo.open().await.own_worktree("../linked", "one", None).await.unwrap();
    let worktree = linked.detached_worktree(PLACE, &repo.tip()).await.unwrap();
    assert_eq!(worktree.root(), repo.beside("linked").join(PLACE));
    assert_eq!(linked.worktrees_below(".superstep").await.unwrap(), [worktree.root()]);
    linked.remove_worktree(PLACE).await.unwrap();
    assert_eq!((known(&repo), linked.root().join("a.txt").exists()), (1, true));
}

#[tokio::test]
async fn a_commit_in_a_worktree_runs_hooks_that_only_the_main_one_has() {
    let repo = Repo::new();
    repo.git(&["config", "core.hooksPath", ".hooks"]);
    repo.write(".hooks/.gitignore", "*\n").write(".hooks/pre-commit", "#!/bin/sh\ntouch \"$HOME/ran\"\n");
    crate::program::make_executable(repo.root().join(".hooks/pre-commit"));
    let worktree = created(&repo).await;
    fs::write(worktree.root().join("x.txt"), "x").unwrap();
    let before = worktree.fingerprint().await.unwrap();
    worktree.commit(&request_now(&worktree).await).await.unwrap();
    assert!(repo.home().join("ran").exists());
    repo.write(".hooks/pre-commit", "#!/bin/sh\nexit 1\n");
    assert_eq!(before.changes(&worktree.fingerprint().await.unwrap()).len(), 1, "a changed hook is noticed there too");
}

/// Clones without history.
async fn shallow(repo: &Repo) -> Workspace {
    for n in 1..4 {
        repo.write("a.txt", n.to_string()).commit_all("more");
    }
    let clone = repo.beside("clone");
    let from = format!("file://{}", repo.root().display());
    repo.git(&["clone", "--quiet", "--depth", "1", &from, clone.to_str().unwrap()]);
    Workspace::open_with(&clone, repo.options()).await.unwrap()
}

#[tokio::test]
async fn commits_are_found_in_a_shallow_clone() {
    let repo = Repo::new();
    let workspace = shallow(&repo).await;
    let base = workspace.head().await.unwrap().commit().cloned().unwrap();
    let worktree = workspace.detached_worktree(PLACE, &base).await.unwrap();
    fs::write(worktree.root().join("x.txt"), "x").unwrap();
    let request = request_now(&worktree).await;
    let made = worktree.commit(&request).await.unwrap().commit().unwrap().commit.clone();
    let found = worktree.find_commit(&request.key, Some(&base)).await.unwrap();
    assert_eq!(found.map(|found| found.commit), Some(made));
    assert!(workspace.detached_worktree(PLACE, &base).await.is_ok(), "its HEAD comes after the base");
}

#[tokio::test]
async fn branches_that_an_agent_moves_are_folded_in_a_worktree_of_a_shallow_clone() {
    let repo = Repo::new();
    let workspace = shallow(&repo).await;
    let base = workspace.head().await.unwrap().commit().cloned().unwrap();
    let linked = workspace.own_worktree("../linked", "one", None).await.unwrap();
    repo.git_in(linked.root(), &["branch", "side"]);
    let standing = turn(&linked, &["side"]).await;
    for branch in ["side", "one"] {
        repo.git_in(linked.root(), &["switch", "-q", branch]);
        repo.git_in(linked.root(), &["commit", "-q", "--allow-empty", "-m", branch]);
    }
    assert_eq!(linked.foreign_move(&standing).await.unwrap(), None);
    let folded = linked.fold(&standing, Some("t")).await.unwrap();
    assert_eq!(repo.git_in(linked.root(), &["rev-parse", "side"]), base.as_str());
    let [back] = folded.put_back.as_slice() else { panic!("{folded:?}") };
    assert!(back.kept.is_some(), "{folded:?}");
}

#[rstest]
#[case::without_a_path(None, 600, |_: &Path| (), false)]
#[case::with_an_empty_path(Some(""), 600, |_: &Path| (), false)]
#[case::just_made(None, 0, |_: &Path| (), true)]
#[case::locked(None, 600, |entry: &Path| fs::write(entry.join("locked"), "on a disk that is away").unwrap(), true)]
#[case::unreadable(None, 600, |entry: &Path| fs::create_dir(entry.join("gitdir")).unwrap(), true)]
#[tokio::test]
async fn an_old_record_of_no_work_tree_is_removed(
    #[case] gitdir: Option<&str>,
    #[case] age: u64,
    #[case] change: fn(&Path),
    #[case] stays: bool,
) {
    let repo = Repo::new();
    let user = repo.open().await;
    repo.write(".git/worktrees/left/HEAD", repo.tip().to_string());
    let entry = repo.root().join(".git/worktrees/left");
    if let Some(text) = gitdir {
        fs::write(entry.join("gitdir"), text).unwrap();
    }
    change(&entry);
    fs::File::open(&entry).unwrap().set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
    drop(user.lock("t").await.unwrap());
    assert_eq!(entry.exists(), stays);
}

#[tokio::test]
async fn a_survey_names_what_work_in_a_repository_will_meet() {
    let repo = Repo::new();
    repo.write(".gitignore", ".env\nnode_modules/\ntarget/\n.superstep/\n")
        .write(".gitattributes", "*.bin filter=lfs diff=lfs\n");
    repo.write(".env", "KEY=1")
        .write("node_modules/x/y.js", "")
        .write("target/out", "")
        .write("web/node_modules/z.js", "");
    repo.hook("commit-msg", "exit 0").write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n");
    let survey = repo.open().await.survey().await.unwrap();
    assert_eq!(survey.idle_hooks, [".git/hooks/pre-commit"]);
    assert_eq!(survey.missing_filters, ["lfs"]);
    assert_eq!(survey.ignored, [".env", "node_modules/", "web/node_modules/"]);
    assert_eq!((survey.submodules, survey.missing_hooks), (vec![], None));
    repo.git(&["config", "filter.lfs.clean", "cat"]);
    repo.git(&["config", "core.hooksPath", ".husky/_"]);
    let survey = repo.open().await.survey().await.unwrap();
    assert_eq!(survey.missing_filters, Vec::<String>::new());
    assert!(survey.missing_hooks.is_some_and(|folder| folder.ends_with(".husky/_")));
}
