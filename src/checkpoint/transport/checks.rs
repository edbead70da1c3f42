//! Checks that the records of a file form a valid thread: numbers within bounds, indexes within their shapes, no
//! missing records, no cycles. The form of a thread that passes is valid; its content is still untrusted. Pure.

use std::collections::BTreeMap;

use super::check_msgpack::check_msgpack;
use super::facts::{Facts, GraphFacts};
use crate::checkpoint::codec::DECODE_DEPTH;
use crate::checkpoint::threads::reach::RowSet;
use crate::checkpoint::threads::thread_records::{Reference, StoredCheckpoint, checkpoint_references, task_references};
use crate::checkpoint::{
    CheckpointId, CheckpointRecord, Commit, ControlRecord, GotoRecord, Key, LogRange, Record, RowId, Shape, Slot,
    Source, TaskRecord, ThreadId, WriteRecord, decode_record, is_chunk,
};

type CheckResult = Result<(), String>;

/// Upper bound of counters: no real thread comes near, and the sum of two does not overflow.
pub(super) const MOST: u64 = 1 << 60;
/// Upper bound of attempts, calls and entries.
const MANY: u32 = 1 << 30;
/// Node index of START.
const START: u32 = u32::MAX;

/// Checks the records of a thread, of which each can be facts.
///
/// The reason why it is invalid.
pub(super) fn check(
    thread: &ThreadId,
    facts: &Facts,
    records: &[Record],
    (head, next): (CheckpointId, u64),
) -> CheckResult {
    ensure(next <= MOST, || "its numbers are too great".into())?;
    let found = facts.checkpoints.get(&head).filter(|made| made.root);
    ensure(found.is_some(), || format!("its newest checkpoint {head} is missing"))?;
    for (key, _) in records {
        check_key(facts, key, next).map_err(|reason| format!("{key}: {reason}"))?;
    }
    for (fingerprint, shape) in &facts.shapes {
        check_shape(*fingerprint, shape).map_err(|reason| format!("{}: {reason}", Key::Shape(*fingerprint)))?;
    }
    let stored = StoredRows::of(records);
    for record in records {
        check_record(thread, (facts, &stored), record, next).map_err(|reason| format!("{}: {reason}", record.0))?;
    }
    let lost = facts.tags.iter().find(|(_, tag)| !facts.checkpoints.contains_key(&tag.checkpoint));
    ensure(lost.is_none(), || {
        format!("tag `{}` is for a checkpoint that is missing", lost.map_or("", |(name, _)| name))
    })
}

/// Checks one of the engine's own records, and that what it refers to is there.
fn check_record(
    thread: &ThreadId,
    (facts, stored): (&Facts, &StoredRows<'_>),
    (key, bytes): &Record,
    next: u64,
) -> CheckResult {
    let undecoded = |error: crate::checkpoint::CheckpointError| error.to_string();
    let references = match key {
        Key::Checkpoint(id) | Key::Nested(id) => {
            let root = matches!(key, Key::Checkpoint(_));
            let made = StoredCheckpoint { root, record: decode_record(thread, key, bytes).map_err(undecoded)? };
            check_checkpoint(facts, *id, &made, next)?;
            checkpoint_references(*id, &made, &facts.channels(&made.record))
        }
        Key::Task { checkpoint, task } => {
            let Some(made) = facts.checkpoints.get(checkpoint) else { return Ok(()) };
            let record = decode_record(thread, key, bytes).map_err(undecoded)?;
            check_task(facts, &made.graph, &record, next)?;
            task_references((*checkpoint, *task), &record, &made.graph.namespace, &facts.channels_of(&made.graph))
        }
        Key::Child { .. } => {
            vec![(key.clone(), Reference::Checkpoint(decode_record(thread, key, bytes).map_err(undecoded)?))]
        }
        _ => return Ok(()),
    };
    references.iter().try_for_each(|(_, reference)| stored.check(facts, reference))
}

fn ensure(holds: bool, reason: impl FnOnce() -> String) -> CheckResult {
    if holds { Ok(()) } else { Err(reason()) }
}

fn check_key(facts: &Facts, key: &Key, next: u64) -> CheckResult {
    let number = match key {
        Key::Head => return Err("no record can be stored under this key".into()),
        Key::About | Key::Shape(_) => return Ok(()),
        Key::Tag(name) => return ensure(name.len() <= Commit::MAX_NAME, || "its name is too long".into()),
        Key::Checkpoint(id) => {
            let twice = facts.checkpoints.get(id).is_some_and(|made| !made.root);
            ensure(!twice, || "its number is there twice".into())?;
            id.0
        }
        Key::Nested(id) => id.0,
        Key::Task { checkpoint, .. } | Key::Child { checkpoint, .. } => {
            ensure(facts.checkpoints.contains_key(checkpoint), || "its checkpoint is missing".into())?;
            checkpoint.0
        }
        Key::Row(row) => row.checkpoint.0,
        key if is_chunk(key) => return Err("it repeats other records, which no exported file does".into()),
        Key::Log { channel: name, row: RowId { checkpoint, .. } } | Key::Effect { checkpoint, key: name, .. } => {
            ensure(name.len() <= Commit::MAX_NAME, || "its name is too long".into())?;
            checkpoint.0
        }
        Key::Event { checkpoint, .. } => checkpoint.0,
        Key::Signal { order, .. } => {
            return ensure(*order <= MOST, || "its time is out of bounds".into());
        }
    };
    ensure(number < next, || "its number was never given out".into())
}

fn check_shape(fingerprint: u64, shape: &Shape) -> CheckResult {
    ensure(shape.fingerprint() == fingerprint, || "its content does not match its name".into())?;
    let node = |at: &u32| (*at as usize) < shape.nodes.len();
    let joins = shape.joins.iter().all(|(sources, target)| sources.iter().all(node) && node(target));
    ensure(joins, || "a join is of nodes that are missing".into())
}

fn check_checkpoint(facts: &Facts, id: CheckpointId, made: &StoredCheckpoint, next: u64) -> CheckResult {
    let record = &made.record;
    let path = &record.namespace;
    ensure(made.root == path.is_empty() && path.len() <= Commit::MAX_NAME, || "its subgraph is misnamed".into())?;
    let earlier = |other: Option<CheckpointId>| other.is_none_or(|other| other < id);
    ensure(earlier(record.parent) && earlier(record.base), || "it follows a checkpoint that came later".into())?;
    // The newest checkpoint of a copied thread begins its line with the number that the next one gets.
    ensure(record.line.0 <= next, || "the number of its line was never given out".into())?;
    ensure((-2..=MOST as i64).contains(&record.step) && record.control.version <= MOST, || {
        "its counters are out of bounds".into()
    })?;
    ensure(record.created_at <= MOST && record.epoch <= MOST * 8, || "its time is out of bounds".into())?;
    if let Some(base) = record.base.and_then(|base| facts.checkpoints.get(&base)) {
        let fits = !base.has_base && base.graph.shape == record.shape && base.graph.namespace == *path;
        ensure(fits, || "it builds on a checkpoint that does not fit".into())?;
    }
    if !made.root && record.source != Source::Input {
        let parent = record.parent.and_then(|parent| facts.checkpoints.get(&parent));
        ensure(parent.is_none_or(|parent| !parent.root), || "its parent belongs to the root graph".into())?;
    }
    for (name, child) in &record.children {
        check_inside(facts, path, *child).map_err(|reason| format!("subgraph `{name}`: {reason}"))?;
    }
    for child in facts.children.range((id, 0, 0)..=(id, u32::MAX, u32::MAX)).map(|(_, child)| *child) {
        check_inside(facts, path, child)?;
    }
    check_slots(facts, record, next)?;
    check_control(facts, record, &record.control, next)?;
    check_gotos(facts, record)
}

/// Checks that a subgraph's namespace is deeper than that of the checkpoint that points at it, so that pointers form no
/// cycle. The one need not begin with the other: a subgraph with state of its own may be inside one without, and a node
/// on the way may have had another name.
fn check_inside(facts: &Facts, path: &str, child: CheckpointId) -> CheckResult {
    let Some(made) = facts.checkpoints.get(&child) else { return Ok(()) };
    let inside = depth(&made.graph.namespace) > depth(path);
    ensure(!made.root && inside, || format!("checkpoint {child} is not inside it"))
}

/// Returns the number of graphs around the graph of a path.
fn depth(path: &str) -> usize {
    path.matches('/').count()
}

fn check_slots(facts: &Facts, record: &CheckpointRecord, next: u64) -> CheckResult {
    let channels: Vec<bool> = facts.channels(record).iter().map(|channel| channel.logged).collect();
    let own = channels.len() - record.carried.len();
    let slots = record.channels.iter().map(|(at, slot)| (*at as usize, slot));
    let carried = (own..).zip(record.carried.iter().map(|carried| &carried.slot));
    let slots_fit = slots.clone().all(|(at, _)| at < own);
    ensure(slots_fit, || "it has values of channels that its graph does not have".into())?;
    for (at, slot) in slots.chain(carried) {
        let fits = match slot {
            Slot::Absent => true,
            Slot::Row(row) => !channels[at] && row.checkpoint.0 < next,
            Slot::Log { full, full_bytes, ranges } => {
                let full = full.is_none_or(|row| row.checkpoint.0 < next);
                channels[at] && full && *full_bytes <= MOST >> 20 && ranges_fit(ranges, &record.namespace, next)
            }
        };
        ensure(fits, || "it refers to a value that cannot exist".into())?;
    }
    Ok(())
}

fn ranges_fit(ranges: &[LogRange], namespace: &str, next: u64) -> bool {
    // The one need not begin with the other, as in `check_inside`.
    let encloses = |log: &str| (log.is_empty() || log.starts_with('/')) && depth(log) < depth(namespace);
    let fits = |range: &LogRange| {
        range.log.as_deref().is_none_or(encloses)
            && range.first <= range.last
            && range.last.checkpoint.0 < next
            && range.count <= MANY
            && range.bytes <= MOST >> 20
    };
    ranges.iter().all(fits)
}

fn check_control(facts: &Facts, record: &CheckpointRecord, control: &ControlRecord, next: u64) -> CheckResult {
    let Some(shape) = facts.shapes.get(&record.shape) else {
        return Err("the names of its graph are missing".into());
    };
    let node = |at: u32| (at as usize) < shape.nodes.len();
    let ready = control.ready.iter().all(|(at, version)| node(*at) && *version <= MOST);
    let deferred = control.deferred.iter().all(|(at, version, _)| node(*at) && *version <= MOST);
    let joins = control.joins.iter().all(|(at, join)| {
        let sources = shape.joins.get(*at as usize).map_or(0, |(sources, _)| sources.len());
        let most = join.arrived.len() <= sources.div_ceil(64);
        let over = sources % 64;
        let last = join.arrived.get(sources / 64).is_none_or(|word| over > 0 && word >> over == 0);
        sources > 0 && most && last && join.version <= MOST
    });
    let sends = control.sends.iter().all(|send| node(send.node) && send.payload.checkpoint.0 < next);
    let last = control.last_ran.is_none_or(|(version, at, _)| (at == START || node(at)) && version <= MOST);
    ensure(ready && deferred && joins && sends && last, || "what runs next does not belong to its graph".into())?;
    let channels = facts.channels(record).len();
    ensure(writes_fit(control.start.iter().flatten(), channels, next), || "its input is not of its graph".into())
}

fn check_gotos(facts: &Facts, record: &CheckpointRecord) -> CheckResult {
    let nodes = facts.shapes.get(&record.shape).map_or(0, |shape| shape.nodes.len());
    let node = |at: &u32| (*at as usize) < nodes;
    let fits = |goto: &GotoRecord| {
        let by = node(&goto.by) || [START, GotoRecord::CALLER].contains(&goto.by);
        let (first, count) = goto.sends;
        let last = first.checked_add(count);
        by && goto.nodes.iter().all(node) && last.is_some_and(|last| last as usize <= record.control.sends.len())
    };
    ensure(record.gotos.iter().all(fits), || "the targets of its commands do not belong to its graph".into())
}

fn writes_fit<'a>(mut writes: impl Iterator<Item = &'a WriteRecord>, channels: usize, next: u64) -> bool {
    let row = |row: Option<RowId>| row.is_none_or(|row| row.checkpoint.0 < next);
    writes.all(|write| (write.channel as usize) < channels && row(write.row))
}

fn check_task(facts: &Facts, of: &GraphFacts, record: &TaskRecord, next: u64) -> CheckResult {
    let nodes = facts.shapes.get(&of.shape).map_or(0, |shape| shape.nodes.len());
    let node = |at: &u32| (*at as usize) < nodes;
    let targets = record.targets.iter().all(node) && record.sends.iter().all(|send| node(&send.node));
    ensure(targets, || "it leads to nodes that its graph does not have".into())?;
    let channels = facts.channels_of(of).len();
    ensure(writes_fit(record.writes.iter(), channels, next), || {
        "it writes channels that its graph does not have".into()
    })?;
    let counts = record.attempts <= MANY
        && record.effects <= MANY
        && record.wake.is_none_or(|wake| wake <= MOST)
        && record.receives.iter().all(|awaited| awaited.until.is_none_or(|until| until <= MOST));
    let places = record.questions.iter().all(|asked| asked.place <= MANY && asked.checkpoint.0 < next)
        && record.answers.iter().all(|answer| answer.place <= MANY && answer.at <= MOST);
    ensure(counts && places && terms_fit(record) && record.failures.iter().all(|failure| failure.at <= MOST), || {
        "its counters are out of bounds".into()
    })?;
    let inside = |(name, child): &(String, CheckpointId)| {
        check_inside(facts, &of.namespace, *child).map_err(|reason| format!("subgraph `{name}`: {reason}"))
    };
    record.children.iter().try_for_each(inside)
}

fn terms_fit(record: &TaskRecord) -> bool {
    let fits = |value: &[u8]| check_msgpack(value, DECODE_DEPTH).is_ok();
    let terms = record.terms.iter().all(|terms| {
        terms.expires.is_none_or(|expires| expires <= MOST)
            && terms.approvals <= MANY
            && terms.place <= MANY
            && terms.default.as_deref().is_none_or(fits)
    });
    terms && record.votes.iter().all(|vote| vote.at <= MOST && vote.place <= MANY && fits(&vote.value))
}

/// Rows and log entries of the file.
struct StoredRows<'a> {
    rows: RowSet,
    logs: BTreeMap<&'a str, Vec<RowId>>,
}

impl<'a> StoredRows<'a> {
    fn of(records: &'a [Record]) -> Self {
        let mut stored = Self { rows: RowSet::default(), logs: BTreeMap::new() };
        for (key, _) in records {
            match key {
                Key::Row(row) => stored.rows.insert(*row),
                Key::Log { channel, row } => stored.logs.entry(channel).or_default().push(*row),
                _ => {}
            }
        }
        stored
    }

    /// Counts the entries of a log between two keys; they are sorted.
    fn entries(&self, log: &str, first: RowId, last: RowId) -> usize {
        let Some(rows) = self.logs.get(log) else { return 0 };
        rows.partition_point(|row| *row <= last) - rows.partition_point(|row| *row < first)
    }

    fn check(&self, facts: &Facts, reference: &Reference) -> CheckResult {
        let missing = |what: &dyn std::fmt::Display| Err(format!("{what} is missing"));
        match reference {
            Reference::Row(row) if !self.rows.contains(*row) => missing(&Key::Row(*row)),
            Reference::Written { log, row } if !self.rows.contains(*row) && self.entries(log, *row, *row) == 0 => {
                missing(&Key::Row(*row))
            }
            Reference::Entries { log, range } if self.entries(log, range.first, range.last) != range.count as usize => {
                let found = self.entries(log, range.first, range.last);
                Err(format!("{found} of {} entries of a log are there", range.count))
            }
            Reference::Shape(shape) if !facts.shapes.contains_key(shape) => missing(&Key::Shape(*shape)),
            Reference::Checkpoint(id) if !facts.checkpoints.contains_key(id) => missing(&format!("checkpoint {id}")),
            _ => Ok(()),
        }
    }
}
