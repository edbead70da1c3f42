//! Tests: manipulated files with correct checksums are all refused.

use super::file::{Header, write};
use super::import::{ImportOptions, import_thread};
use crate::checkpoint::threads::thread_records::log_name;
use crate::checkpoint::{
    ChannelShape, CheckpointError, CheckpointId, CheckpointRecord, Checkpointer, ControlRecord, EffectKind,
    EffectRecord, GotoRecord, Key, LogRange, MemoryCheckpointer, Record, RowId, SendRecord, Shape, Slot, Source,
    TagRecord, TaskRecord, WriteRecord, encode_record,
};

fn shape() -> Shape {
    let channel = |name: &str, logged| ChannelShape { name: name.into(), logged, ..ChannelShape::default() };
    Shape {
        channels: vec![channel("text", false), channel("notes", true)],
        nodes: vec!["a".into(), "b".into()],
        joins: vec![(vec![0, 1], 0)],
        past: vec![],
        version: 0,
    }
}

fn row(checkpoint: u64) -> RowId {
    RowId { checkpoint: CheckpointId(checkpoint), task: 0, slot: 0 }
}

fn checkpoint(parent: Option<u64>, namespace: &str) -> CheckpointRecord {
    CheckpointRecord {
        parent: parent.map(CheckpointId),
        namespace: namespace.into(),
        source: if parent.is_none() { Source::Input } else { Source::Loop },
        step: 0,
        created_at: 5,
        shape: shape().fingerprint(),
        epoch: 1,
        line: CheckpointId(1),
        control: ControlRecord { ready: vec![(1, 3)], ..ControlRecord::default() },
        base: None,
        channels: vec![(0, Slot::Row(row(1)))],
        carried: vec![],
        children: vec![],
        metadata: vec![],
        journals: vec![],
        gotos: vec![],
    }
}

/// A valid thread, and a change to it.
struct File {
    first: CheckpointRecord,
    second: CheckpointRecord,
    inside: CheckpointRecord,
    task: TaskRecord,
    shape: Shape,
    value: Vec<u8>,
    child: u64,
    head: u64,
    next: u64,
    more: Vec<Record>,
}

impl File {
    fn honest() -> Self {
        Self {
            first: checkpoint(None, ""),
            second: checkpoint(Some(1), ""),
            inside: checkpoint(None, "/a:3.0"),
            task: TaskRecord { children: vec![("a".into(), CheckpointId(4))], ..TaskRecord::default() },
            shape: shape(),
            value: vec![1, 1, 0, 0, 0, 0, 0xa1, b'x'],
            child: 4,
            head: 3,
            next: 9,
            more: vec![],
        }
    }

    fn bytes(self) -> Vec<u8> {
        let task = |checkpoint| Key::Task { checkpoint: CheckpointId(checkpoint), task: 0 };
        let mut records = vec![
            (Key::Shape(shape().fingerprint()), encode_record(&self.shape).unwrap()),
            (Key::Checkpoint(CheckpointId(1)), encode_record(&self.first).unwrap()),
            (Key::Checkpoint(CheckpointId(3)), encode_record(&self.second).unwrap()),
            (Key::Nested(CheckpointId(4)), encode_record(&self.inside).unwrap()),
            (task(3), encode_record(&self.task).unwrap()),
            (
                Key::Child { checkpoint: CheckpointId(3), task: 0, call: 0 },
                encode_record(&CheckpointId(self.child)).unwrap(),
            ),
            (Key::Row(row(1)), self.value),
        ];
        records.extend(self.more);
        records.sort_by(|(a, _), (b, _)| a.cmp(b));
        let header = Header {
            thread: "t".into(),
            graph: Some("essay".into()),
            exported_at: 0,
            release: "0".into(),
            head: self.head,
            next: self.next,
            checkpoints: 3,
            records: records.len(),
            bytes: 0,
            shapes: vec![],
            secrets: false,
            redacted: vec![],
        };
        let mut file = vec![];
        write(&header, &records, &mut file).unwrap();
        file
    }
}

async fn import(change: impl FnOnce(&mut File)) -> Result<usize, CheckpointError> {
    let store = MemoryCheckpointer::new();
    let mut file = File::honest();
    change(&mut file);
    let imported = import_thread(&store, &file.bytes()[..], &ImportOptions::new()).await;
    let threads = store.threads(None, 9).await.unwrap();
    assert_eq!(threads.len(), usize::from(imported.is_ok()), "nothing is written of what is refused");
    imported.map(|imported| imported.records)
}

#[tokio::test]
async fn what_is_in_order_comes_in() {
    assert_eq!(import(|_| ()).await.unwrap(), 8);
}

fn entries(count: u32) -> Slot {
    let range = LogRange { log: None, first: row(1), last: row(2), count, bytes: 9 };
    Slot::Log { full: None, full_bytes: 0, ranges: vec![range] }
}

type Change = fn(&mut File);

#[rstest::rstest]
#[case::parent_in_a_circle(|f: &mut File| f.first.parent = Some(CheckpointId(3)))]
#[case::parent_of_itself(|f: &mut File| f.second.parent = Some(CheckpointId(3)))]
#[case::base_in_a_circle(|f: &mut File| f.second.base = Some(CheckpointId(3)))]
#[case::base_is_missing(|f: &mut File| f.second.base = Some(CheckpointId(2)))]
#[case::base_of_a_base(|f: &mut File| { f.inside.base = Some(CheckpointId(1)) })]
#[case::child_in_a_circle(|f: &mut File| f.inside.children = vec![("a".into(), CheckpointId(4))])]
#[case::child_leads_up(|f: &mut File| f.child = 3)]
#[case::child_is_missing(|f: &mut File| f.child = 7)]
#[case::child_of_a_task_is_missing(|f: &mut File| f.task.children = vec![("a".into(), CheckpointId(8))])]
#[case::subgraph_without_a_place(|f: &mut File| f.inside.namespace = String::new())]
#[case::root_with_a_place(|f: &mut File| f.second.namespace = "/a".into())]
#[case::place_too_long(|f: &mut File| f.inside.namespace = format!("/{}", "a".repeat(5000)))]
#[case::follows_the_graph_above(|f: &mut File| { f.inside.parent = Some(CheckpointId(3)); f.inside.source = Source::Loop })]
#[case::line_from_the_future(|f: &mut File| f.first.line = CheckpointId(u64::MAX))]
#[case::step_that_overflows(|f: &mut File| f.second.step = i64::MAX)]
#[case::version_that_overflows(|f: &mut File| f.second.control.version = u64::MAX)]
#[case::next_that_overflows(|f: &mut File| f.next = u64::MAX)]
#[case::head_is_missing(|f: &mut File| f.head = 2)]
#[case::head_is_a_subgraph(|f: &mut File| f.head = 4)]
#[case::number_not_given_out(|f: &mut File| f.next = 4)]
#[case::channel_out_of_range(|f: &mut File| f.second.channels = vec![(2, Slot::Row(row(1)))])]
#[case::log_in_place_of_a_value(|f: &mut File| f.second.channels = vec![(0, entries(0))])]
#[case::value_in_place_of_a_log(|f: &mut File| f.second.channels = vec![(1, Slot::Row(row(1)))])]
#[case::entries_are_missing(|f: &mut File| f.second.channels = vec![(1, entries(2))])]
#[case::row_is_missing(|f: &mut File| f.second.channels = vec![(0, Slot::Row(row(2)))])]
#[case::node_out_of_range(|f: &mut File| f.second.control.ready = vec![(2, 3)])]
#[case::send_to_nowhere(|f: &mut File| f.second.control.sends = vec![SendRecord { node: 9, payload: row(1) }])]
#[case::goto_to_nowhere(|f: &mut File| f.second.gotos = vec![GotoRecord { by: 0, nodes: vec![9], sends: (0, 0) }])]
#[case::goto_of_no_node(|f: &mut File| f.second.gotos = vec![GotoRecord { by: 9, nodes: vec![1], sends: (0, 0) }])]
#[case::goto_to_sends_that_are_missing(
    |f: &mut File| f.second.gotos = vec![GotoRecord { by: 0, nodes: vec![], sends: (0, u32::MAX) }]
)]
#[case::join_out_of_range(|f: &mut File| f.second.control.joins = vec![(1, Default::default())])]
#[case::last_ran_out_of_range(|f: &mut File| f.second.control.last_ran = Some((1, 5, false)))]
#[case::target_out_of_range(|f: &mut File| f.task.targets = vec![u32::MAX])]
#[case::write_out_of_range(|f: &mut File| f.task.writes = vec![WriteRecord { channel: 9, overwrite: false, row: None }])]
#[case::attempts_that_overflow(|f: &mut File| f.task.attempts = u32::MAX)]
#[case::time_that_overflows(|f: &mut File| f.task.wake = Some(u64::MAX))]
#[case::shape_of_another_name(|f: &mut File| f.shape.nodes.push("c".into()))]
#[case::shape_is_missing(|f: &mut File| f.second.shape = 1)]
#[case::value_too_deep(|f: &mut File| f.value.splice(6.., [0x91; 600]).for_each(drop))]
#[case::value_claims_too_much(|f: &mut File| f.value.splice(6.., [0xdd, 0xff, 0xff, 0xff, 0xff]).for_each(drop))]
#[case::value_of_unknown_codec(|f: &mut File| f.value[0] = 7)]
#[case::empty_value(|f: &mut File| f.value.clear())]
#[case::record_that_does_not_decode(|f: &mut File| f.more.push((Key::Checkpoint(CheckpointId(2)), vec![1, 255, 255])))]
#[case::record_that_claims_too_much(|f: &mut File| f.more.push((Key::Task { checkpoint: CheckpointId(1), task: 0 }, vec![1, 0, 253, 255, 255, 255, 255, 255, 255, 255, 255])))]
#[case::number_twice(|f: &mut File| f.more.push((Key::Nested(CheckpointId(3)), encode_record(&checkpoint(None, "/a")).unwrap())))]
#[case::key_twice(|f: &mut File| f.more.push((Key::Row(row(1)), vec![])))]
#[case::head_among_records(|f: &mut File| f.more.push((Key::Head, vec![1])))]
#[case::task_without_a_checkpoint(|f: &mut File| f.more.push((Key::Task { checkpoint: CheckpointId(2), task: 0 }, encode_record(&TaskRecord::default()).unwrap())))]
#[case::tag_for_nothing(|f: &mut File| f.more.push((Key::Tag("x".into()), encode_record(&TagRecord::default()).unwrap())))]
#[case::name_too_long(|f: &mut File| f.more.push((Key::Log { channel: log_name("/a", &"x".repeat(5000)), row: row(1) }, f.value.clone())))]
#[case::effect_too_deep(|f: &mut File| f.more.push(effect()))]
#[case::event_that_does_not_decode(|f: &mut File| f.more.push((Key::Event { checkpoint: CheckpointId(3), number: 0 }, vec![1])))]
#[tokio::test]
async fn what_is_not_in_order_is_refused(#[case] change: Change) {
    let error = import(change).await.unwrap_err();
    assert!(matches!(error, CheckpointError::BadImport { .. }), "{error}");
    let message = error.to_string();
    let foreign = ["expected", "invalid", "io error", "variant", "deserial", "unexpected"];
    assert!(!foreign.iter().any(|word| message.contains(word)), "these are words of a decoder: {message}");
}

fn effect() -> Record {
    let value = [vec![1, 1, 0, 0, 0, 0], vec![0x91; 600], vec![0]].concat();
    let record = EffectRecord {
        kind: EffectKind::Effect,
        order: 0,
        arguments: 0,
        shown: String::new(),
        idempotency: String::new(),
        value,
        at: 0,
        runs: vec![],
    };
    (Key::Effect { checkpoint: CheckpointId(3), task: 0, key: "e".into() }, encode_record(&record).unwrap())
}

#[tokio::test]
async fn a_record_of_a_later_release_is_recognized() {
    let later = |f: &mut File| f.more.push((Key::Checkpoint(CheckpointId(2)), vec![crate::checkpoint::FORMAT + 1]));
    assert!(matches!(import(later).await.unwrap_err(), CheckpointError::Format { .. }));
}
