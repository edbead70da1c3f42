//! Backups: a copy of a store that is used by opening it, made while the store is open.

use std::sync::Arc;

use superstep::checkpoint::{CheckpointError, MemoryCheckpointer, SledCheckpointer, backup};

use crate::filled::{everything, fill};

#[tokio::test]
async fn a_backup_made_while_a_run_writes_holds_whole_threads() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(SledCheckpointer::open(directory.path().join("store")).unwrap());
    fill(&*store, "a", 0..3).await;
    fill(&*store, "b", 0..1).await;
    let writer = tokio::spawn({
        let store = Arc::clone(&store);
        async move { fill(&*store, "c", 0..60).await }
    });
    let copy = directory.path().join("copy");
    let report = SledCheckpointer::backup(&*store, &copy).await.unwrap();
    writer.await.unwrap();
    assert!(report.is_complete() && report.threads >= 2, "{report}");
    assert!(!directory.path().join("copy.partial").exists());
    let copy = SledCheckpointer::open(copy).unwrap();
    for thread in ["a", "b"] {
        assert_eq!(everything(&copy, thread).await, everything(&*store, thread).await);
    }
    let (head, records) = everything(&copy, "c").await;
    if let Some(head) = head {
        assert_eq!(records as u64, 2 * (head.checkpoint.unwrap().0 + 1));
        assert_eq!(head.birth, 5);
    }
}

#[tokio::test]
async fn a_backup_overwrites_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let store = MemoryCheckpointer::new();
    fill(&store, "a", 0..1).await;
    assert!(backup(&store, &store).await.is_err());
    let error = SledCheckpointer::backup(&store, directory.path()).await.unwrap_err();
    assert!(matches!(error, CheckpointError::Io { .. }), "{error}");
    // A directory that is not a backup is kept, even under the name of an interrupted one.
    let path = directory.path().join("copy");
    std::fs::create_dir(directory.path().join("copy.partial")).unwrap();
    assert!(SledCheckpointer::backup(&store, &path).await.is_err());
    assert!(directory.path().join("copy.partial").exists());
    std::fs::write(directory.path().join("copy.partial/holder"), "pid 1").unwrap();
    SledCheckpointer::backup(&store, &path).await.unwrap();
}
