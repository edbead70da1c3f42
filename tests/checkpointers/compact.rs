//! Compaction: disk space is reclaimed, and a crash at any step leaves the old store or the new one.

use std::fs;
use std::path::{Path, PathBuf};

use rstest::rstest;
use superstep::checkpoint::{CheckpointError, Checkpointer, Claim, SledCheckpointer};

use crate::filled::{everything, fill};
use crate::read_only::copy;

async fn delete(store: &SledCheckpointer, thread: &str) {
    let lease = store.claim(&thread.into(), Claim::IfFree).await.unwrap();
    store.delete_thread(&lease).await.unwrap();
}

/// Creates a store of which most was deleted.
async fn create_mostly_deleted(path: &Path) {
    let store = SledCheckpointer::open(path).unwrap();
    fill(&store, "gone", 0..600).await;
    fill(&store, "kept", 0..9).await;
    delete(&store, "gone").await;
    store.close().await.unwrap();
}

async fn content(path: &Path) -> (Vec<String>, String) {
    let store = SledCheckpointer::open(path).unwrap();
    let threads = store.threads(None, 99).await.unwrap();
    let records = everything(&store, "kept").await;
    store.close().await.unwrap();
    (threads.iter().map(ToString::to_string).collect(), format!("{records:?}"))
}

#[tokio::test]
async fn compaction_reclaims_space_and_keeps_every_record() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    create_mostly_deleted(&path).await;
    let before = content(&path).await;
    let report = SledCheckpointer::compact(&path).unwrap();
    assert!(report.before > 30_000_000 && report.after * 2 < report.before, "{report}");
    assert_eq!(content(&path).await, before);
    for leftover in ["compacted", "swap", "swap.begun"] {
        assert!(!path.join(leftover).exists(), "{leftover}");
    }
    let store = SledCheckpointer::open(&path).unwrap();
    fill_more(&store).await;
    let open = SledCheckpointer::compact(&path).unwrap_err();
    assert!(matches!(open, CheckpointError::Locked { .. }), "{open}");
    store.close().await.unwrap();
    SledCheckpointer::compact(&path).unwrap();
    assert!(SledCheckpointer::compact(directory.path().join("none")).is_err());
}

/// Lease and commit numbers continue after the stored ones.
async fn fill_more(store: &SledCheckpointer) {
    fill(store, "more", 0..3).await;
    assert_eq!(everything(store, "more").await.1, 6);
}

#[derive(Clone, Copy, Debug)]
enum Crash {
    /// While the new database is written.
    Building,
    /// After it is declared complete.
    Declared,
    /// After old snapshots are removed.
    Cleared,
    /// After the log is moved.
    LogMoved,
    /// After everything is moved.
    Moved,
}

#[rstest]
#[tokio::test]
async fn a_crash_at_any_step_leaves_the_old_store_or_the_new_one(
    #[values(Crash::Building, Crash::Declared, Crash::Cleared, Crash::LogMoved, Crash::Moved)] crash: Crash,
) {
    let directory = tempfile::tempdir().unwrap();
    let (old, new) = (directory.path().join("old"), directory.path().join("new"));
    create_mostly_deleted(&old).await;
    let before = content(&old).await;
    copy(&old, &new);
    SledCheckpointer::compact(&new).unwrap();
    let compacted = old.join("compacted");
    copy(&new, &compacted);
    fs::remove_file(compacted.join("format")).unwrap();
    fs::remove_file(compacted.join("holder")).unwrap();
    let of_old = fs::metadata(old.join("db")).unwrap().len();
    match crash {
        Crash::Building => fs::write(compacted.join("db"), b"half").unwrap(),
        Crash::Declared => {}
        Crash::Cleared => snapshots(&old).iter().for_each(|path| fs::remove_file(path).unwrap()),
        Crash::LogMoved | Crash::Moved => {
            snapshots(&old).iter().for_each(|path| fs::remove_file(path).unwrap());
            fs::rename(compacted.join("db"), old.join("db")).unwrap();
        }
    }
    if let Crash::Moved = crash {
        for name in ["conf", "tip"] {
            fs::rename(compacted.join(name), old.join(name)).unwrap();
        }
        snapshots(&compacted).iter().for_each(|path| fs::rename(path, old.join(path.file_name().unwrap())).unwrap());
    }
    if !matches!(crash, Crash::Building) {
        fs::write(old.join("swap"), b"").unwrap();
    }
    assert_eq!(content(&old).await, before);
    assert!(!compacted.exists() && !old.join("swap").exists());
    let is_new = fs::metadata(old.join("db")).unwrap().len() < of_old / 2;
    assert_eq!(is_new, !matches!(crash, Crash::Building));
    SledCheckpointer::compact(&old).unwrap();
    assert_eq!(content(&old).await, before);
}

fn snapshots(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("snap.")).collect()
}
