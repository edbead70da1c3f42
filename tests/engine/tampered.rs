//! Records with indexes that fit no graph, although they have the shape of this graph: an error, never a panic.

use std::sync::Arc;

use rstest::rstest;
use superstep::checkpoint::{
    CheckpointRecord, Checkpointer, Claim, Commit, JoinRecord, Key, Record, SendRecord, Slot, TaskRecord, TaskStatus,
    WriteRecord, decode_record, encode_record,
};
use superstep::graph::Replay;
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::Store;

/// An index out of bounds in every graph.
const FAR: u32 = 70_000;

/// A join that waits for a question.
fn graph() -> Graph {
    let builder = Builder::new().add_node(id("a"), note("a")).add_node(id("b"), note("b"));
    let builder = builder.add_node(id("ask"), approval.asks::<Approve>()).add_node(id("end"), note("end"));
    let builder = builder.add_edge(START, [id("a"), id("b")]).add_edge([id("a"), id("b")], id("ask"));
    builder.add_edge(id("ask"), id("end")).compile().unwrap()
}

type Tampering = fn(&mut CheckpointRecord);

/// Replaces the newest checkpoint by a changed one, and stores a task that seems to have ended.
async fn tamper(store: &Arc<dyn Checkpointer>, tampering: Tampering, task: Option<TaskRecord>) {
    let thread = "t".into();
    let head = store.head(&thread).await.unwrap().unwrap();
    let checkpoint = head.checkpoint.unwrap();
    let key = Key::Checkpoint(checkpoint);
    let bytes = store.get(&thread, vec![key.clone()]).await.unwrap().remove(0).unwrap();
    let mut record: CheckpointRecord = decode_record(&thread, &key, &bytes).unwrap();
    tampering(&mut record);
    let mut puts: Vec<Record> = vec![(key, encode_record(&record).unwrap())];
    if let Some(task) = task {
        let asks = decode_tasks(store, checkpoint).await;
        puts.push((Key::Task { checkpoint, task: asks }, encode_record(&task).unwrap()));
    }
    let lease = store.claim(&thread, Claim::IfFree).await.unwrap();
    let epoch = lease.epoch();
    store.commit(Commit::new(thread, epoch, Some(checkpoint), head).with_records(puts)).await.unwrap();
}

/// Returns the key of the checkpoint's only task.
async fn decode_tasks(store: &Arc<dyn Checkpointer>, checkpoint: CheckpointId) -> u32 {
    let range = Key::Task { checkpoint, task: 0 }..=Key::Task { checkpoint, task: u32::MAX };
    let found = store.scan(&"t".into(), range, superstep::checkpoint::Order::Ascending, 9).await.unwrap();
    let Key::Task { task, .. } = found[0].0 else { panic!("{found:?}") };
    task
}

fn ended() -> TaskRecord {
    TaskRecord { status: TaskStatus::Done, ..TaskRecord::default() }
}

fn nowhere() -> superstep::checkpoint::RowId {
    superstep::checkpoint::RowId { checkpoint: CheckpointId(1), task: 0, slot: 0 }
}

#[rstest]
#[case::a_node(|made: &mut CheckpointRecord| made.control.ready = vec![(FAR, 1)], None)]
#[case::one_that_waits(|made: &mut CheckpointRecord| made.control.deferred = vec![(FAR, 1, true)], None)]
#[case::a_join(|made: &mut CheckpointRecord| made.control.joins.push((FAR, JoinRecord { arrived: vec![3], version: 1, finished: false })), None)]
#[case::the_last_that_ran(|made: &mut CheckpointRecord| made.control.last_ran = Some((1, FAR, false)), None)]
#[case::a_channel(|made: &mut CheckpointRecord| made.channels.push((FAR, Slot::Absent)), None)]
#[case::a_send(|made: &mut CheckpointRecord| made.control.sends = vec![SendRecord { node: FAR, payload: made_row(made) }], None)]
#[case::a_target(|_: &mut CheckpointRecord| {}, Some(TaskRecord { targets: vec![FAR], ..ended() }))]
#[case::a_write(
    |_: &mut CheckpointRecord| {},
    Some(TaskRecord { writes: vec![WriteRecord { channel: FAR, overwrite: false, row: Some(nowhere()) }], ..ended() })
)]
#[tokio::test]
async fn an_index_out_of_bounds_does_not_panic(#[case] tampering: Tampering, #[case] task: Option<TaskRecord>) {
    let store = Store::memory();
    store.thread(&graph()).invoke(start()).await.unwrap();
    tamper(&store.store, tampering, task).await;
    let thread = || store.thread(&graph());
    let errors = [
        thread().state_deep().await.err(),
        thread().status().await.err(),
        thread().history().await.unwrap().all().await.err(),
        thread().verify().await.err(),
        thread().what_if().await.err(),
        thread().replay(Replay::Recorded).await.err(),
        thread().resume::<Approve>(true).await.err(),
        thread().retry().await.err(),
    ];
    for error in errors.into_iter().flatten() {
        assert!(!error.to_string().is_empty());
    }
}

#[tokio::test]
async fn the_error_names_the_index() {
    let store = Store::memory();
    store.thread(&graph()).invoke(start()).await.unwrap();
    tamper(&store.store, |made| made.control.ready = vec![(FAR, 1)], None).await;
    let error = store.thread(&graph()).resume::<Approve>(true).await.unwrap_err().to_string();
    let expected = "thread `t` was stored by another version of the graph: its node `number 70000` no longer exists";
    assert_eq!(error, expected);
}

fn made_row(made: &CheckpointRecord) -> superstep::checkpoint::RowId {
    let slot = made.channels.iter().find_map(|(_, slot)| if let Slot::Row(row) = slot { Some(*row) } else { None });
    slot.unwrap_or_else(nowhere)
}
