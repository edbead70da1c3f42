//! Copies of all threads of a store into another one, between stores of every kind.

use std::path::Path;
use std::sync::Arc;

use rstest::rstest;
use superstep::checkpoint::{
    CheckpointError, CheckpointId, Checkpointer, Claim, FailingCheckpointer, FjallCheckpointer, Key,
    MemoryCheckpointer, Order, Record, SledCheckpointer, ThreadHead, copy_threads, foreign, tag,
};

use crate::filled::fill;

pub(crate) type Opener = fn(&Path) -> Arc<dyn Checkpointer>;

pub(crate) const OPENERS: [Opener; 3] = [
    |path| Arc::new(SledCheckpointer::open(path).unwrap()),
    |path| Arc::new(FjallCheckpointer::open(path).unwrap()),
    |_| Arc::new(MemoryCheckpointer::new()),
];

/// Creates threads with checkpoints, a tag and signals; the records of one take several commits.
async fn filled(store: &dyn Checkpointer) {
    for (thread, checkpoints) in [("one", 3), ("another", 1), ("large", 150)] {
        fill(store, thread, 0..checkpoints).await;
    }
    tag(store, &"one".into(), CheckpointId(1), "here").await.unwrap();
    let signal = Key::Signal { order: 7, id: 8 };
    store.post(&"another".into(), vec![(signal, b"a message".to_vec())]).await.unwrap();
}

/// The content of a store.
type Everything = Vec<(String, ThreadHead, Vec<Record>)>;

async fn everything(store: &dyn Checkpointer) -> Everything {
    let mut found = vec![];
    for thread in store.threads(None, 99).await.unwrap() {
        let last = Key::Signal { order: u64::MAX, id: u64::MAX };
        let records = store.scan(&thread, Key::About..=last, Order::Ascending, usize::MAX).await.unwrap();
        found.push((thread.to_string(), store.head(&thread).await.unwrap().unwrap(), records));
    }
    found
}

#[rstest]
#[tokio::test]
async fn a_copy_holds_everything_and_can_be_repeated(#[values(0, 1, 2)] from: usize, #[values(0, 1, 2)] to: usize) {
    let directory = tempfile::tempdir().unwrap();
    let from = OPENERS[from](&directory.path().join("from"));
    let to = OPENERS[to](&directory.path().join("to"));
    filled(&*from).await;
    let copied = copy_threads(&*from, &*to).await.unwrap();
    assert_eq!((copied.threads, copied.same, copied.is_complete()), (3, 0, true), "{copied}");
    let whole = everything(&*from).await;
    assert_eq!(copied.records, whole.iter().map(|(.., records)| records.len()).sum::<usize>());
    assert!(everything(&*to).await == whole);
    assert!(foreign(&*to, &"large".into()).await.unwrap().is_none());
    let again = copy_threads(&*from, &*to).await.unwrap();
    assert_eq!((again.threads, again.same), (0, 3), "{again}");
    assert!(everything(&*to).await == whole);
    fill(&*from, "new", 0..1).await;
    assert_eq!(copy_threads(&*from, &*to).await.unwrap().threads, 1);
}

#[tokio::test]
async fn a_thread_that_differs_is_not_overwritten_and_nothing_is_copied() {
    let (from, to) = (MemoryCheckpointer::new(), MemoryCheckpointer::new());
    filled(&from).await;
    fill(&to, "one", 0..2).await;
    let before = everything(&to).await;
    let error = copy_threads(&from, &to).await.unwrap_err();
    assert!(matches!(&error, CheckpointError::ThreadExists { thread } if thread.as_str() == "one"), "{error}");
    assert!(everything(&to).await == before);
}

#[tokio::test]
async fn a_copy_cut_at_any_commit_shows_no_half_thread_and_ends_when_repeated() {
    let from = MemoryCheckpointer::new();
    filled(&from).await;
    let whole = everything(&from).await;
    for nth in 1.. {
        let to = MemoryCheckpointer::new();
        if copy_threads(&from, &FailingCheckpointer::new(Arc::new(to.clone()), nth)).await.is_ok() {
            assert!(nth > 4, "{nth} commits");
            return;
        }
        for (thread, head, records) in everything(&to).await {
            let is_whole = whole.iter().any(|known| *known == (thread.clone(), head, records.clone()));
            let is_marked = foreign(&to, &thread.as_str().into()).await.unwrap().is_some_and(|mark| !mark.trusted);
            assert!(is_whole || (is_marked && head.checkpoint.is_none()), "cut at commit {nth}: {thread}");
        }
        assert!(copy_threads(&from, &to).await.unwrap().is_complete());
        assert!(everything(&to).await == whole, "cut at commit {nth}");
    }
}

#[tokio::test]
async fn a_damaged_thread_is_named_and_the_others_are_copied() {
    let directory = tempfile::tempdir().unwrap();
    let from = FjallCheckpointer::open(directory.path()).unwrap();
    filled(&from).await;
    assert!(from.faults().damage(&"one".into(), &Key::Checkpoint(CheckpointId(1))));
    let to = MemoryCheckpointer::new();
    let copied = copy_threads(&from, &to).await.unwrap();
    assert_eq!((copied.threads, copied.failed.len()), (2, 1), "{copied}");
    assert!(to.claim(&"one".into(), Claim::IfFree).await.is_ok());
}
