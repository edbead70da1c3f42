//! Stores that others tampered with: links in place of files, and stores that came with a clone.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use rstest::rstest;
use superstep::checkpoint::{CheckpointError, Checkpointer, SledCheckpointer, backup, foreign, trust};

use crate::filled::fill;

async fn store(path: &Path, thread: &str) {
    let store = SledCheckpointer::open(path).unwrap();
    fill(&store, thread, 0..3).await;
    store.close().await.unwrap();
}

/// Returns the files under a directory with their contents and permissions.
fn contents(directory: &Path) -> Vec<(PathBuf, Vec<u8>, u32)> {
    let mut found = vec![];
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let kind = path.symlink_metadata().unwrap();
        if kind.is_dir() {
            found.extend(contents(&path));
        }
        if kind.is_file() {
            found.push((path.clone(), fs::read(&path).unwrap(), kind.permissions().mode()));
        }
    }
    found.sort();
    found
}

fn is_unsafe<T>(result: Result<T, CheckpointError>, name: &str) -> bool {
    match result {
        Err(error @ CheckpointError::UnsafeStore { .. }) => error.to_string().contains(&format!("`{name}` in it is")),
        _ => false,
    }
}

#[rstest]
#[tokio::test]
async fn a_link_in_a_store_is_refused_and_not_followed(
    #[values("holder", "tip", "format", "db", "conf", "blobs", "swap", "swap.begun", "compacted", "snap.1", "more")]
    name: &str,
    #[values(false, true)] to_directory: bool,
) {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (directory.path().join("store"), directory.path().join("other"));
    store(&path, "t").await;
    store(&other, "theirs").await;
    fs::write(directory.path().join("notes"), "mine").unwrap();
    fs::set_permissions(directory.path().join("notes"), fs::Permissions::from_mode(0o644)).unwrap();
    let link = path.join(name);
    let _ = fs::remove_file(&link).or_else(|_| fs::remove_dir_all(&link));
    symlink(if to_directory { &other } else { Path::new("../notes") }, &link).unwrap();
    let before = contents(directory.path());
    assert!(is_unsafe(SledCheckpointer::open(&path), name));
    assert!(is_unsafe(SledCheckpointer::repair(&path, directory.path().join("new")).await, name));
    if name != "format" {
        assert!(is_unsafe(SledCheckpointer::compact(&path), name));
    }
    assert!(contents(directory.path()) == before);
}

#[tokio::test]
async fn a_compaction_swap_does_not_take_files_of_another_store() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (directory.path().join("store"), directory.path().join("other"));
    store(&path, "t").await;
    store(&other, "theirs").await;
    fs::write(path.join("swap"), "").unwrap();
    symlink(&other, path.join("compacted")).unwrap();
    assert!(is_unsafe(SledCheckpointer::open(&path), "compacted"));
    let other = SledCheckpointer::open(other).unwrap();
    assert_eq!(other.threads(None, 9).await.unwrap(), ["theirs".into()]);
}

#[tokio::test]
async fn a_hard_linked_file_is_not_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    store(&path, "t").await;
    let notes = directory.path().join("notes");
    fs::write(&notes, "mine").unwrap();
    fs::remove_file(path.join("holder")).unwrap();
    fs::hard_link(&notes, path.join("holder")).unwrap();
    assert!(is_unsafe(SledCheckpointer::open(&path), "holder"));
    assert_eq!(fs::read_to_string(notes).unwrap(), "mine");
}

#[tokio::test]
async fn opening_a_store_does_not_block_on_a_pipe_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    store(&path, "t").await;
    fs::remove_file(path.join("tip")).unwrap();
    let made = Command::new("mkfifo").arg(path.join("tip")).status();
    if made.is_ok_and(|status| status.success()) {
        assert!(is_unsafe(SledCheckpointer::open(&path), "tip"));
        assert!(is_unsafe(SledCheckpointer::repair(&path, directory.path().join("new")).await, "tip"));
    }
}

#[tokio::test]
async fn a_link_named_by_the_user_is_followed() {
    let directory = tempfile::tempdir().unwrap();
    store(&directory.path().join("store"), "t").await;
    let link = directory.path().join("link");
    symlink("store", &link).unwrap();
    assert_eq!(SledCheckpointer::open(&link).unwrap().threads(None, 9).await.unwrap().len(), 1);
}

// --- stores from a clone ---

fn git(directory: &Path, words: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(directory).args(["-c", "user.name=A", "-c", "user.email=a@example.com"]).args(words);
    for (name, value) in [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")] {
        command.env(name, value);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Clones a repository that tracks a store; returns the path of the clone's store.
async fn cloned(directory: &Path, settings: &[&[&str]]) -> PathBuf {
    let theirs = directory.join("theirs");
    fs::create_dir_all(theirs.join("a")).unwrap();
    git(&theirs, &["init", "-q"]);
    store(&theirs.join(".superstep/store"), "t").await;
    fs::write(theirs.join("a/file"), "text").unwrap();
    fs::write(theirs.join("z"), "text").unwrap();
    git(&theirs, &["add", "-f", "."]);
    git(&theirs, &["commit", "-qm", "a store"]);
    git(directory, &["clone", "-q", "theirs", "mine"]);
    for words in settings {
        git(&directory.join("mine"), words);
    }
    directory.join("mine/.superstep/store")
}

#[rstest]
#[case::plain(&[])]
#[case::version_4(&[&["update-index", "--index-version", "4"][..]])]
#[case::split(&[&["update-index", "--split-index"][..]])]
#[tokio::test]
async fn a_store_that_came_with_a_clone_is_foreign_until_it_is_trusted(#[case] settings: &[&[&str]]) {
    let directory = tempfile::tempdir().unwrap();
    let path = cloned(directory.path(), settings).await;
    for _ in 0..2 {
        let store = SledCheckpointer::open(&path).unwrap();
        assert!(store.is_foreign());
        for thread in ["t", "new"] {
            assert!(foreign(&store, &thread.into()).await.unwrap().is_some_and(|foreign| !foreign.trusted));
        }
    }
    let store = SledCheckpointer::open(&path).unwrap();
    assert!(trust(&store, &"nobody".into()).await.is_err() && store.is_foreign());
    assert!(trust(&store, &"t".into()).await.unwrap() && !trust(&store, &"t".into()).await.unwrap());
    assert!(!store.is_foreign());
    fill(&store, "mine", 0..2).await;
    drop(store);
    assert!(!SledCheckpointer::open(&path).unwrap().is_foreign());
}

#[tokio::test]
async fn a_store_that_a_pull_changed_must_be_trusted_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = cloned(directory.path(), &[]).await;
    Checkpointer::trust(&SledCheckpointer::open(&path).unwrap()).unwrap();
    let theirs = directory.path().join("theirs");
    store(&theirs.join(".superstep/store"), "more").await;
    git(&theirs, &["commit", "-qam", "another thread"]);
    let mine = directory.path().join("mine");
    git(&mine, &["checkout", "-qf", "."]);
    git(&mine, &["pull", "-q"]);
    assert!(SledCheckpointer::open(&path).unwrap().is_foreign());
}

#[tokio::test]
async fn a_store_that_git_does_not_track_is_not_foreign() {
    let directory = tempfile::tempdir().unwrap();
    git(directory.path(), &["init", "-q"]);
    fs::create_dir(directory.path().join("store")).unwrap();
    fs::write(directory.path().join("store.txt"), "text").unwrap();
    git(directory.path(), &["add", "."]);
    let path = directory.path().join("store");
    store(&path, "t").await;
    assert!(!SledCheckpointer::open(&path).unwrap().is_foreign());
}

#[tokio::test]
async fn a_backup_of_an_untrusted_store_is_not_trusted() {
    let directory = tempfile::tempdir().unwrap();
    let path = cloned(directory.path(), &[]).await;
    let copy = SledCheckpointer::open(directory.path().join("copied")).unwrap();
    backup(&SledCheckpointer::open(&path).unwrap(), &copy).await.unwrap();
    assert!(foreign(&copy, &"t".into()).await.unwrap().is_some_and(|foreign| !foreign.trusted));
    assert!(trust(&copy, &"t".into()).await.unwrap());
    assert_eq!(foreign(&copy, &"t".into()).await.unwrap().map(|foreign| foreign.trusted), Some(true));
}
