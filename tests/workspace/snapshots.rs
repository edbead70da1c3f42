//! Snapshots and the differences between them.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use rstest::rstest;
use superstep::workspace::{FileStatus, OmissionReason, OmittedFile, TreeId, Workspace, WorkspaceError};

use crate::repo::Repo;

async fn snap(workspace: &Workspace) -> TreeId {
    workspace.snapshot().await.unwrap().tree
}

#[tokio::test]
async fn a_snapshot_holds_what_a_commit_of_everything_would_hold_and_leaves_the_index_alone() {
    let repo = Repo::new();
    repo.write(".gitignore", "*.log\n/target\n").write("deep/.gitignore", "!keep.log\nlocal\n").commit_all("ignore");
    repo.write("a.txt", "changed\n").remove("src/b.txt").write("new/x.txt", "x").write("run.sh", "#!/bin/sh\n");
    repo.write("a.log", "").write("deep/keep.log", "kept").write("deep/local", "").write("target/x", "");
    repo.write("bin", [0, 159, 146, 150]).write("staged.txt", "staged").git(&["add", "staged.txt"]);
    repo.write("staged.txt", "changed since").write("gone.txt", "").git(&["add", "gone.txt"]);
    repo.remove("gone.txt");
    crate::program::make_executable(repo.root().join("run.sh"));
    symlink("a.txt", repo.root().join("link")).unwrap();
    fs::write(repo.root().join(OsStr::from_bytes(b"caf\xe9 \n\"q\"")), "latin").unwrap();
    let index = fs::read(repo.root().join(".git/index")).unwrap();

    let workspace = repo.open().await;
    let snapshot = workspace.snapshot().await.unwrap();

    assert_eq!(fs::read(repo.root().join(".git/index")).unwrap(), index);
    assert_eq!(fs::read_dir(repo.root().join(".git/superstep")).unwrap().count(), 0);
    assert_eq!(snapshot.left_out, []);
    repo.git(&["add", "--all"]);
    assert_eq!(snapshot.tree.as_str(), repo.git(&["write-tree"]));
    assert_eq!(workspace.head_tree().await.unwrap().unwrap().as_str(), repo.git(&["rev-parse", "HEAD^{tree}"]));
}

#[tokio::test]
async fn a_repository_without_a_commit_has_snapshots() {
    let repo = Repo::unborn();
    let workspace = repo.open().await;
    let empty = snap(&workspace).await;
    assert_eq!(empty, workspace.empty_tree().await.unwrap());
    repo.write("a", "a").write(".env", "");
    assert_eq!(repo.files(snap(&workspace).await.as_str()), ["a"]);
}

#[rstest]
#[case::by_attributes(".gitattributes", "*.txt text eol=crlf\n", &[])]
#[case::by_configuration("x", "x", &["core.autocrlf", "true"])]
#[tokio::test]
async fn line_endings_are_those_of_a_commit(#[case] file: &str, #[case] content: &str, #[case] config: &[&str]) {
    let repo = Repo::new();
    repo.write(file, content).commit_all("attributes");
    if let [name, value] = config {
        repo.git(&["config", name, value]);
        repo.git(&["config", "core.safecrlf", "true"]);
    }
    let workspace = repo.open().await;
    repo.write("w.txt", "one\r\ntwo\nthree\r\n");
    let tree = snap(&workspace).await;
    assert_eq!(repo.content(&tree, "w.txt"), "one\ntwo\nthree");
    workspace.reset_to(&workspace.head_tree().await.unwrap().unwrap()).await.unwrap();
    workspace.reset_to(&tree).await.unwrap();
    assert_eq!(repo.read("w.txt"), "one\r\ntwo\r\nthree\r\n");
}

#[tokio::test]
async fn filters_of_the_user_run() {
    let repo = Repo::new();
    repo.write(".gitattributes", "*.up filter=up\n").commit_all("attributes");
    repo.git(&["config", "filter.up.clean", "tr a-z A-Z"]);
    repo.git(&["config", "filter.up.smudge", "tr A-Z a-z"]);
    let workspace = repo.open().await;
    repo.write("x.up", "tides");
    let tree = snap(&workspace).await;
    assert_eq!(repo.content(&tree, "x.up"), "TIDES");
    workspace.reset_to(&workspace.head_tree().await.unwrap().unwrap()).await.unwrap();
    workspace.reset_to(&tree).await.unwrap();
    assert_eq!(repo.read("x.up"), "tides");
}

#[tokio::test]
async fn secrets_and_large_files_are_those_of_head() {
    let repo = Repo::new();
    repo.write(".env.example", "KEY=\n").write(".env.old", "").commit_all("examples");
    let workspace = repo.open().await;
    let before = workspace.snapshot().await.unwrap();
    assert_eq!(before.left_out, []);
    repo.write(".env.example", "KEY=secret\n").write(".env", "KEY=secret").write("big", vec![1; 11 * 1024 * 1024]);
    repo.write("k.pem", "-----BEGIN RSA PRIVATE KEY-----\n").git(&["add", ".env", "k.pem"]);
    repo.git(&["init", "-q", "inner"]);
    let now = workspace.snapshot().await.unwrap();
    assert_eq!(now.tree, before.tree);
    let left_out = |path: &str, reason| OmittedFile { path: path.into(), reason };
    let expected = [
        left_out(".env", OmissionReason::Environment),
        left_out(".env.example", OmissionReason::Environment),
        left_out("big", OmissionReason::TooLarge { bytes: 11 * 1024 * 1024 }),
        left_out("inner/", OmissionReason::Repository),
        left_out("k.pem", OmissionReason::PrivateKey),
    ];
    assert_eq!(now.left_out, expected);
    insta::assert_snapshot!(now.left_out[2], @"`big` is left out: it is too large (12 MB)");

    // Deleting one reveals no secret.
    repo.remove(".env.old");
    assert!(!repo.files(snap(&workspace).await.as_str()).contains(&".env.old".to_owned()));
    // The contents of neither are in the object database.
    let hash = repo.git(&["hash-object", "big"]);
    assert!(std::panic::catch_unwind(|| repo.git(&["cat-file", "-e", &hash])).is_err());
}

#[tokio::test]
async fn a_file_changed_at_the_moment_of_a_commit_is_seen() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    for round in 0..20 {
        repo.write("a.txt", format!("round {round:02} a\n")).git(&["add", "a.txt"]);
        repo.write("a.txt", format!("round {round:02} b\n"));
        assert_eq!(repo.content(&snap(&workspace).await, "a.txt"), format!("round {round:02} b"));
    }
}

#[tokio::test]
async fn submodules_are_left_as_they_are() {
    let (repo, other) = (Repo::new(), Repo::new());
    repo.git(&["submodule", "--quiet", "add", other.root().to_str().unwrap(), "sub"]);
    repo.commit_all("submodule");
    let workspace = repo.open().await;
    let before = snap(&workspace).await;
    repo.write("sub/new.txt", "").write("sub/a.txt", "changed");
    workspace.ensure_clean().await.unwrap();
    assert_eq!(snap(&workspace).await, before);
    repo.write("x", "x");
    workspace.reset_to(&before).await.unwrap();
    assert!(repo.has("sub/new.txt") && !repo.has("x"));
    assert_eq!(repo.status(), " M sub");
}

#[tokio::test]
async fn files_and_folders_change_places() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    let before = snap(&workspace).await;
    repo.remove("src/b.txt").remove("a.txt");
    fs::remove_dir(repo.root().join("src")).unwrap();
    symlink("/tmp", repo.root().join("src")).unwrap();
    repo.write("a.txt/inner", "x");
    let now = snap(&workspace).await;
    assert_eq!(repo.files(now.as_str()), ["a.txt/inner", "src"]);
    workspace.reset_to(&before).await.unwrap();
    assert_eq!((repo.read("src/b.txt").as_str(), repo.read("a.txt").as_str()), ("b\n", "one\ntwo\nthree\n"));
    assert_eq!(repo.status(), "");
    workspace.reset_to(&now).await.unwrap();
    assert_eq!(snap(&workspace).await, now);
}

// --- diffs ---

#[tokio::test]
async fn a_diff_shows_new_files_with_content_renames_and_binaries() {
    let repo = Repo::new();
    repo.write("old.txt", "a long line that stays the same\nanother one\n").commit_all("old");
    let workspace = repo.open().await;
    let before = snap(&workspace).await;
    repo.write("a.txt", "one\n2\nthree").remove("src/b.txt").write("new.txt", "fresh\n").write("bin", [0, 1, 2]);
    repo.git(&["mv", "old.txt", "renamed.txt"]);
    crate::program::make_executable(repo.root().join("new.txt"));
    let diff = workspace.diff(&before, &snap(&workspace).await, usize::MAX).await.unwrap();
    insta::assert_snapshot!(diff.text.as_ref().unwrap(), @r"
    diff --git a/a.txt b/a.txt
    index 4cb29ea38f70..a623a0b003e0 100644
    --- a/a.txt
    +++ b/a.txt
    @@ -1,3 +1,3 @@
     one
    -two
    -three
    +2
    +three
    \ No newline at end of file
    diff --git a/bin b/bin
    new file mode 100644
    index 000000000000..8352675d67ae
    Binary files /dev/null and b/bin differ
    diff --git a/new.txt b/new.txt
    new file mode 100755
    index 000000000000..92d5444121bb
    --- /dev/null
    +++ b/new.txt
    @@ -0,0 +1 @@
    +fresh
    diff --git a/old.txt b/renamed.txt
    similarity index 100%
    rename from old.txt
    rename to renamed.txt
    diff --git a/src/b.txt b/src/b.txt
    deleted file mode 100644
    index 61780798228d..000000000000
    --- a/src/b.txt
    +++ /dev/null
    @@ -1 +0,0 @@
    -b
    ");
    let files: Vec<_> =
        diff.files.iter().map(|file| (file.path.as_str(), file.status, file.added, file.removed)).collect();
    let expected = [
        ("a.txt", FileStatus::Modified, 2, 2),
        ("bin", FileStatus::Added, 0, 0),
        ("new.txt", FileStatus::Added, 1, 0),
        ("renamed.txt", FileStatus::Renamed, 0, 0),
        ("src/b.txt", FileStatus::Deleted, 0, 1),
    ];
    assert_eq!(files, expected);
    assert!(diff.files[1].binary && !diff.files[2].binary);
    assert_eq!(diff.files[3].from.as_deref(), Some("old.txt"));
    insta::assert_snapshot!(diff, @"5 file(s), +3 -3");
}

#[tokio::test]
async fn a_long_diff_is_counted_and_written_to_a_file() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    let before = snap(&workspace).await;
    repo.write("long.txt", "a line\n".repeat(5000));
    let now = snap(&workspace).await;
    let whole = workspace.diff(&before, &now, usize::MAX).await.unwrap();
    let cut = workspace.diff(&before, &now, 1000).await.unwrap();
    assert_eq!((cut.text, cut.bytes), (None, whole.bytes));
    let file = repo.beside("task.diff");
    workspace.write_diff(&before, &now, &file).await.unwrap();
    let without_ids =
        |text: &str| text.lines().filter(|line| !line.starts_with("index ")).collect::<Vec<_>>().join("\n");
    assert_eq!(without_ids(&fs::read_to_string(&file).unwrap()), without_ids(&whole.text.unwrap()));
    let error = workspace.write_diff(&before, &now, &repo.beside("no/folder")).await.unwrap_err();
    assert!(matches!(error, WorkspaceError::Io { .. }), "{error}");
}

#[tokio::test]
async fn a_written_diff_is_one_that_git_applies() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    let noise = |seed: u32| (0..3000_u32).map(|nth| (nth.wrapping_mul(nth ^ seed) >> 3) as u8).collect::<Vec<_>>();
    repo.write("changed.png", noise(1))
        .write("gone.png", noise(2))
        .write("old.png", noise(3))
        .write("both.png", noise(4));
    repo.write("text", "a\nb\nc\n")
        .write("was-a-file", "x\n")
        .write("run.sh", "#!/bin/sh\n")
        .write("to-text", [0, 1, 2]);
    symlink("text", repo.root().join("was-a-link")).unwrap();
    let before = snap(&workspace).await;
    repo.write("changed.png", noise(5)).remove("gone.png").remove("old.png").write("moved.png", noise(3));
    repo.write("new.png", noise(6)).write("empty", "").write("text", "a\nB\nc").write("to-text", "text\n");
    repo.remove("both.png").write("ä b\t.png", [noise(4), vec![0, 1, 2]].concat());
    crate::program::make_executable(repo.root().join("run.sh"));
    repo.remove("was-a-file").remove("was-a-link").write("was-a-link", "x\n");
    symlink("text", repo.root().join("was-a-file")).unwrap();
    let now = snap(&workspace).await;
    for (from, to) in [(&before, &now), (&now, &before)] {
        let file = repo.beside("task.diff");
        workspace.write_diff(from, to, &file).await.unwrap();
        repo.git(&["read-tree", from.as_str()]);
        repo.git(&["apply", "--cached", file.to_str().unwrap()]);
        assert_eq!(repo.git(&["write-tree"]), to.as_str());
    }
}

#[tokio::test]
async fn attributes_hide_nothing_from_a_diff_and_no_program_runs() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    let before = snap(&workspace).await;
    let trap = format!("touch {}; cat", repo.beside("trap").display());
    for name in ["diff.external", "diff.trap.textconv", "diff.trap.command", "core.fsmonitor", "core.pager"] {
        repo.git(&["config", name, &trap]);
    }
    repo.hook("post-index-change", "touch ../trap").hook("reference-transaction", "touch ../trap");
    repo.hook("post-checkout", "touch ../trap");
    repo.write(".gitattributes", "*.txt -diff\n*.rs diff=trap\n").write("a.txt", "evil\n").write("x.rs", "evil\n");
    let now = snap(&workspace).await;
    let diff = workspace.diff(&before, &now, usize::MAX).await.unwrap();
    assert_eq!(diff.text.unwrap().matches("+evil\n").count(), 2);
    workspace.own_branch("superstep/t", None).await.unwrap();
    workspace.own_worktree("../linked", "linked", None).await.unwrap();
    workspace.reset_to(&before).await.unwrap();
    workspace.dirt().await.unwrap();
    workspace.fingerprint().await.unwrap();
    assert!(!repo.beside("trap").exists());
}

#[tokio::test]
async fn a_missing_tree_is_reported() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    let tree = snap(&workspace).await;
    let missing: TreeId = "0123456789012345678901234567890123456789".parse().unwrap();
    let error = workspace.diff(&tree, &missing, 0).await.unwrap_err();
    insta::assert_snapshot!(error, @"`0123456789012345678901234567890123456789` is not a tree of this repository");
    assert!("HEAD".parse::<TreeId>().is_err());
}

#[tokio::test]
async fn the_files_of_a_tree_are_read_from_the_tree() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    repo.write("new.txt", [b'c', 0xff]);
    let tree = snap(&workspace).await;
    repo.remove("src/b.txt").write("new.txt", "other");
    assert_eq!(workspace.top_names(&tree).await.unwrap(), ["a.txt", "new.txt", "src"]);
    let text = async |path: &str, most| workspace.text_of(&tree, path, most).await.unwrap();
    assert_eq!(text("src/b.txt", 2).await.as_deref(), Some("b\n"));
    assert_eq!(text("new.txt", 9).await.as_deref(), Some("c\u{fffd}"));
    for (path, most) in [("src/b.txt", 1), ("src", 9), ("nothing", 9), ("", 9), ("../a.txt", 9), ("/a.txt", 9)] {
        assert_eq!(text(path, most).await, None, "{path}");
    }
}

#[tokio::test]
async fn the_start_of_a_diff_has_whole_lines() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    let before = snap(&workspace).await;
    repo.write("c.txt", "ones\ntwos\nthrees\n");
    let now = snap(&workspace).await;
    let all = workspace.diff(&before, &now, 10_000).await.unwrap().text.unwrap();
    assert_eq!(workspace.diff_start(&before, &now, all.len()).await.unwrap(), (all.clone(), true));
    for most in 0..all.len() {
        let (start, is_all) = workspace.diff_start(&before, &now, most).await.unwrap();
        assert!(!is_all && start.len() <= most && all.starts_with(&start), "{start}");
        assert!(start.is_empty() || start.ends_with('\n'), "{start}");
    }
}
