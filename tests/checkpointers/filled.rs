//! Threads of checkpoints, each with a value, for tests of whole stores.

use superstep::checkpoint::{
    CheckpointId, CheckpointRecord, Checkpointer, Claim, Commit, Key, Order, RowId, Source, ThreadHead, ThreadId,
    encode_record,
};

pub(crate) fn record(number: u64) -> CheckpointRecord {
    CheckpointRecord {
        parent: number.checked_sub(1).map(CheckpointId),
        namespace: String::new(),
        source: Source::Loop,
        step: 0,
        created_at: 0,
        shape: 7,
        epoch: 1,
        line: CheckpointId(0),
        control: Default::default(),
        base: None,
        channels: vec![],
        carried: vec![],
        children: vec![],
        metadata: vec![],
        journals: vec![],
        gotos: vec![],
    }
}

pub(crate) async fn fill(store: &dyn Checkpointer, thread: &str, numbers: std::ops::Range<u64>) {
    let lease = store.claim(&thread.into(), Claim::IfFree).await.unwrap();
    for number in numbers {
        let id = CheckpointId(number);
        let row = Key::Row(RowId { checkpoint: id, task: 0, slot: 0 });
        let puts = vec![(Key::Checkpoint(id), encode_record(&record(number)).unwrap()), (row, vec![7; 50_000])];
        let (expected, head) =
            (number.checked_sub(1).map(CheckpointId), ThreadHead { checkpoint: Some(id), next: number + 1, birth: 5 });
        let commit = Commit::new(thread.into(), lease.epoch(), expected, head).with_records(puts);
        store.commit(commit).await.unwrap();
    }
}

pub(crate) async fn everything(store: &dyn Checkpointer, thread: &str) -> (Option<ThreadHead>, usize) {
    let last = Key::Event { checkpoint: CheckpointId(u64::MAX), number: u64::MAX };
    let order = Order::Ascending;
    let thread = ThreadId::from(thread);
    let found = store.scan(&thread, Key::About..=last, order, usize::MAX).await.unwrap();
    (store.head(&thread).await.unwrap(), found.len())
}
