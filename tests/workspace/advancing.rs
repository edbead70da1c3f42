//! Advancing the run's branch, with its files, in the user's checkout.

use std::fs;
use std::os::unix::fs::symlink;

use rstest::rstest;
use superstep::workspace::{CommitId, Workspace, WorkspaceError};

use crate::repo::Repo;

/// Creates a repository on `run`, and a later commit that changes files of all kinds.
async fn scene() -> (Repo, Workspace, CommitId, CommitId) {
    let repo = Repo::new();
    repo.git(&["config", "filter.upper.clean", "tr a-z A-Z"]);
    repo.git(&["config", "filter.upper.smudge", "tr A-Z a-z"]);
    repo.write("gone.txt", "gone\n").write("file", "file\n").write("folder/x.txt", "x\n").write("mine.txt", "mine\n");
    repo.write("tool.sh", "#!/bin/sh\n").write("staged.txt", "").write("deep/er/gone.txt", "");
    let from = repo.commit_all("from");
    repo.git(&["switch", "-q", "-c", "run"]);
    let workspace = repo.open().await;
    workspace.ignore_store().await.unwrap();

    repo.git(&["worktree", "add", "-q", "--detach", "../work"]);
    let work = repo.beside("work");
    for gone in ["gone.txt", "file", "folder/x.txt", "deep/er/gone.txt"] {
        fs::remove_file(work.join(gone)).unwrap();
    }
    fs::remove_dir(work.join("folder")).unwrap();
    repo.write("../work/file/inner.txt", "inner\n").write("../work/folder", "a file now\n");
    repo.write("../work/a.txt", "ONE\n").write("../work/new/new.txt", "new\n").write("../work/.gitignore", "*.log\n");
    repo.write("../work/.gitattributes", "*.up filter=upper\n").write("../work/word.up", "word\n");
    symlink("a.txt", work.join("link")).unwrap();
    crate::program::make_executable(work.join("tool.sh"));
    repo.write("../work/kept.log", "log\n").git_in(&work, &["add", "--all", "--force"]);
    repo.git_in(&work, &["commit", "-q", "-m", "to"]);
    let to = repo.git_in(&work, &["rev-parse", "HEAD"]).parse().unwrap();
    repo.git(&["worktree", "remove", "../work"]);
    (repo, workspace, from, to)
}

/// Makes changes as a person would, none in a file that differs between the commits.
fn person(repo: &Repo) {
    repo.write("mine.txt", "changed\n").write("untracked.txt", "").write("staged.txt", "staged\n");
    repo.git(&["add", "staged.txt"]);
}

const PERSONS: &str = " M mine.txt\nM  staged.txt\n?? untracked.txt";

/// Asserts that everything is as in the later commit, except the person's changes.
fn assert_advanced(repo: &Repo, to: &CommitId) {
    assert_eq!(repo.git(&["rev-parse", "HEAD", "run"]), format!("{to}\n{to}"));
    assert_eq!(repo.git(&["branch", "--show-current"]), "run");
    assert_eq!(repo.status().trim_end(), PERSONS.trim_end());
    assert_eq!((repo.read("word.up"), repo.git(&["show", "HEAD:word.up"])), ("word\n".into(), "WORD".into()));
    assert!(!repo.has("deep") && !repo.has("gone.txt") && !repo.has(".superstep/advance"));
}

#[tokio::test]
async fn the_branch_moves_forward_and_the_files_follow() {
    let (repo, workspace, from, to) = scene().await;
    for hook in ["post-checkout", "post-merge", "reference-transaction", "post-index-change"] {
        repo.hook(hook, "touch $HOME/ran");
    }
    person(&repo);
    fs::remove_file(repo.home().join("ran")).ok();
    let files = workspace.advance("run", &from, &to).await.unwrap();
    assert!(!repo.home().join("ran").exists());
    assert_advanced(&repo, &to);
    let expected = [
        ".gitattributes",
        ".gitignore",
        "a.txt",
        "deep/er/gone.txt",
        "file",
        "file/inner.txt",
        "folder",
        "folder/x.txt",
        "gone.txt",
        "kept.log",
        "link",
        "new/new.txt",
        "tool.sh",
        "word.up",
    ];
    assert_eq!(files, expected);
    assert_eq!(workspace.advance("run", &from, &to).await.unwrap(), expected);
    assert_advanced(&repo, &to);
    assert_eq!(repo.git(&["rev-parse", "main"]), from.to_string());
}

#[rstest]
#[case::changed(|repo: &Repo| { repo.write("a.txt", "mine\n"); }, &["a.txt"])]
#[case::staged(|repo: &Repo| { repo.write("a.txt", "mine\n").git(&["add", "a.txt"]); }, &["a.txt"])]
#[case::deleted(|repo: &Repo| { repo.remove("a.txt"); }, &["a.txt"])]
#[case::changed_and_gone_there(|repo: &Repo| { repo.write("gone.txt", "mine\n"); }, &["gone.txt"])]
#[case::new_and_new_there(|repo: &Repo| { repo.write("new/new.txt", "mine\n"); }, &["new/new.txt"])]
#[case::ignored(|repo: &Repo| { repo.write(".git/info/exclude", ".superstep/\n*.log\n").write("kept.log", "mine\n"); }, &["kept.log"])]
#[case::mode(|repo: &Repo| crate::program::make_executable(repo.root().join("a.txt")), &["a.txt"])]
#[case::a_file_in_the_place_of_a_folder(|repo: &Repo| { repo.write("new", "mine\n"); }, &["new/new.txt"])]
#[case::a_link_in_the_place_of_a_folder(|repo: &Repo| symlink("src", repo.root().join("new")).unwrap(), &["new/new.txt"])]
#[case::a_file_in_a_folder_that_goes(|repo: &Repo| { repo.write("folder/mine.txt", ""); }, &["folder"])]
#[case::a_folder_in_the_place_of_a_file(|repo: &Repo| { repo.remove("a.txt").write("a.txt/x", ""); }, &["a.txt"])]
#[tokio::test]
async fn a_persons_changes_are_not_overwritten(#[case] person: fn(&Repo), #[case] expected: &[&str]) {
    let (repo, workspace, from, to) = scene().await;
    person(&repo);
    let before = (repo.status(), repo.tip(), workspace.snapshot().await.unwrap());
    let error = workspace.advance("run", &from, &to).await.unwrap_err();
    assert!(matches!(&error, WorkspaceError::InTheWay { files } if files == expected), "{error}");
    assert_eq!((repo.status(), repo.tip(), workspace.snapshot().await.unwrap()), before);
}

#[tokio::test]
async fn a_head_elsewhere_is_not_moved() {
    let (repo, workspace, from, to) = scene().await;
    let error = workspace.advance("run", &to, &from).await.unwrap_err();
    assert!(matches!(error, WorkspaceError::NotForward { .. }), "{error}");
    for elsewhere in [
        &["switch", "-q", "main"][..],
        &["switch", "-q", "--detach", "run"],
        &["commit", "-q", "--allow-empty", "-m", "x"],
    ] {
        repo.git(&["switch", "-q", "run"]);
        repo.git(elsewhere);
        let before = (repo.tip(), repo.status());
        let error = workspace.advance("run", &from, &to).await.unwrap_err();
        assert!(matches!(error, WorkspaceError::HeadElsewhere { .. }), "{error}");
        assert_eq!((repo.tip(), repo.status()), before);
    }
}

/// Installs a git program that works for `calls` calls and then fails.
fn failing_git(repo: &Repo, calls: usize) -> std::path::PathBuf {
    let (program, count) = (repo.home().join("git"), repo.home().join("count"));
    let path = std::env::var_os("PATH").unwrap();
    let git = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|git| git.is_file()).unwrap();
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *version) ;; *) echo >> {count}; [ $(wc -l < {count}) -le {calls} ] || exit 9;; esac\nexec {git} \"$@\"\n",
        count = count.display(),
        git = git.display(),
    );
    fs::remove_file(count).ok();
    fs::write(&program, script).unwrap();
    crate::program::make_executable(&program);
    program
}

#[tokio::test]
async fn an_advance_killed_at_any_call_of_git_can_be_repeated() {
    for calls in 0.. {
        let (repo, workspace, from, to) = scene().await;
        person(&repo);
        let options = repo.options().program(failing_git(&repo, calls));
        let killed = Workspace::open_with(repo.root(), options).await.unwrap();
        let has_ended = killed.advance("run", &from, &to).await.is_ok();
        workspace.advance("run", &from, &to).await.unwrap();
        assert_advanced(&repo, &to);
        if has_ended {
            assert!(calls > 4, "{calls}");
            return;
        }
    }
}

#[rstest]
#[case::files_were_removed(|repo: &Repo, _: &str| { repo.remove("gone.txt").remove("file").remove("folder/x.txt"); })]
#[case::files_were_written(|repo: &Repo, to: &str| { repo.git(&["checkout", "-q", to, "--", "a.txt", "new", ".gitignore", "kept.log"]); })]
#[case::in_the_middle(|repo: &Repo, _: &str| { repo.write("a.txt", "ONE\n").write(".superstep/advance/half", "ha").remove("file").write("file/inner.txt", "inner\n"); })]
#[case::before_the_index(|repo: &Repo, to: &str| {
    repo.git(&["stash", "-q", "-u"]);
    repo.git(&["read-tree", "-u", "-m", to]);
    repo.git(&["update-ref", "refs/heads/run", to]);
    repo.git(&["read-tree", "main"]);
    fs::remove_file(repo.root().join(".git/refs/stash")).unwrap();
    person(repo);
})]
#[tokio::test]
async fn files_of_a_killed_advance_are_not_taken_for_a_persons_changes(#[case] killed: fn(&Repo, &str)) {
    let (repo, workspace, from, to) = scene().await;
    person(&repo);
    killed(&repo, to.as_str());
    workspace.advance("run", &from, &to).await.unwrap();
    assert_advanced(&repo, &to);
}
