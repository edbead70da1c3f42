//! Whether the records of a file make up a thread: numbers in their bounds, indexes in their shapes, nothing missing, no
//! circles. What passes can be loaded without a doubt about its form; what it says is another matter. Pure.

use std::collections::{BTreeMap, HashSet};

use super::skim::{DEPTH, skim};
use crate::checkpoint::threads::anatomy::{Anatomy, Made};
use crate::checkpoint::threads::needs::Need;
use crate::checkpoint::{
    CheckpointId, CheckpointRecord, Commit, ControlRecord, Key, LogRange, Record, RowId, Shape, Slot, Source,
    TaskRecord, WriteRecord,
};

type Checked = Result<(), String>;

/// No counter of an honest thread comes near; every sum of two is still a number.
pub(super) const MOST: u64 = 1 << 60;
/// The greatest count of attempts, calls and entries.
const MANY: u32 = 1 << 30;
/// START, in place of a node.
const START: u32 = u32::MAX;

/// Checks the records of a thread.
///
/// # Errors
/// What is wrong.
pub(super) fn check(anatomy: &Anatomy, records: &[Record], head: CheckpointId, next: u64) -> Checked {
    ensure(next <= MOST, || "its numbers are too great".into())?;
    let found = anatomy.checkpoints.get(&head).filter(|made| made.root);
    ensure(found.is_some(), || format!("its newest checkpoint {head} is missing"))?;
    for (key, _) in records {
        check_key(anatomy, key, next).map_err(|reason| format!("{key}: {reason}"))?;
    }
    for (fingerprint, shape) in &anatomy.shapes {
        check_shape(*fingerprint, shape).map_err(|reason| format!("{}: {reason}", Key::Shape(*fingerprint)))?;
    }
    let stored = Stored::of(records);
    for (id, made) in &anatomy.checkpoints {
        let key = made.key(*id);
        check_checkpoint(anatomy, *id, made, next).map_err(|reason| format!("{key}: {reason}"))?;
        for (task, record) in anatomy.tasks_of(*id) {
            let key = Key::Task { checkpoint: *id, task };
            check_task(anatomy, &made.record, record, next).map_err(|reason| format!("{key}: {reason}"))?;
        }
        for (by, need) in anatomy.needs(*id) {
            stored.check(anatomy, &need).map_err(|reason| format!("{by}: {reason}"))?;
        }
    }
    let lost = anatomy.tags.iter().find(|(_, tag)| !anatomy.checkpoints.contains_key(&tag.checkpoint));
    ensure(lost.is_none(), || {
        format!("tag `{}` is for a checkpoint that is missing", lost.map_or("", |(name, _)| name))
    })
}

fn ensure(holds: bool, reason: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(reason()) }
}

fn check_key(anatomy: &Anatomy, key: &Key, next: u64) -> Checked {
    let number = match key {
        Key::Head => return Err("it stands where no record does".into()),
        Key::About | Key::Shape(_) => return Ok(()),
        Key::Tag(name) => return ensure(name.len() <= Commit::MAX_NAME, || "its name is too long".into()),
        Key::Checkpoint(id) => {
            let twice = anatomy.checkpoints.get(id).is_some_and(|made| !made.root);
            ensure(!twice, || "its number is there twice".into())?;
            id.0
        }
        Key::Nested(id) => id.0,
        Key::Task { checkpoint, .. } | Key::Child { checkpoint, .. } => {
            ensure(anatomy.checkpoints.contains_key(checkpoint), || "its checkpoint is missing".into())?;
            checkpoint.0
        }
        Key::Row(row) => row.checkpoint.0,
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

fn check_shape(fingerprint: u64, shape: &Shape) -> Checked {
    ensure(shape.fingerprint() == fingerprint, || "it is not what its name says".into())?;
    let node = |at: &u32| (*at as usize) < shape.nodes.len();
    let joins = shape.joins.iter().all(|(sources, target)| sources.iter().all(node) && node(target));
    ensure(joins, || "a join is of nodes that are missing".into())
}

fn check_checkpoint(anatomy: &Anatomy, id: CheckpointId, made: &Made, next: u64) -> Checked {
    let record = &made.record;
    let path = &record.namespace;
    ensure(made.root == path.is_empty() && path.len() <= Commit::MAX_NAME, || "its subgraph is misnamed".into())?;
    let earlier = |other: Option<CheckpointId>| other.is_none_or(|other| other < id);
    ensure(earlier(record.parent) && earlier(record.base) && record.line <= id, || {
        "it follows a checkpoint that came later".into()
    })?;
    ensure((-2..=MOST as i64).contains(&record.step) && record.control.version <= MOST, || {
        "its counters are out of bounds".into()
    })?;
    ensure(record.created_at <= MOST && record.epoch <= MOST * 8, || "its time is out of bounds".into())?;
    if let Some(base) = record.base.and_then(|base| anatomy.checkpoints.get(&base)) {
        let fits = base.record.base.is_none() && base.record.shape == record.shape && base.record.namespace == *path;
        ensure(fits, || "it builds on a checkpoint that does not fit".into())?;
    }
    if !made.root && record.source != Source::Input {
        let parent = record.parent.and_then(|parent| anatomy.checkpoints.get(&parent));
        ensure(parent.is_none_or(|parent| !parent.root), || "it follows one of the graph above".into())?;
    }
    for (name, child) in &record.children {
        check_inside(anatomy, path, *child).map_err(|reason| format!("subgraph `{name}`: {reason}"))?;
    }
    for child in anatomy.children.range((id, 0, 0)..=(id, u32::MAX, u32::MAX)).map(|(_, child)| *child) {
        check_inside(anatomy, path, child)?;
    }
    check_slots(anatomy, record, next)?;
    check_control(anatomy, record, &record.control, next)
}

/// A subgraph's place is within that of whoever points at it, so that pointers cannot lead round.
fn check_inside(anatomy: &Anatomy, path: &str, child: CheckpointId) -> Checked {
    let Some(made) = anatomy.checkpoints.get(&child) else { return Ok(()) };
    let inside = made.record.namespace.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
    ensure(!made.root && inside, || format!("checkpoint {child} is not inside it"))
}

fn check_slots(anatomy: &Anatomy, record: &CheckpointRecord, next: u64) -> Checked {
    let channels: Vec<bool> = anatomy.channels(record).map(|channel| channel.logged).collect();
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
                channels[at] && full && *full_bytes <= MOST >> 20 && ranges_fit(ranges, next)
            }
        };
        ensure(fits, || "it says of a value where none can be".into())?;
    }
    Ok(())
}

fn ranges_fit(ranges: &[LogRange], next: u64) -> bool {
    let fits = |range: &LogRange| {
        range.first <= range.last && range.last.checkpoint.0 < next && range.count <= MANY && range.bytes <= MOST >> 20
    };
    ranges.iter().all(fits)
}

fn check_control(anatomy: &Anatomy, record: &CheckpointRecord, control: &ControlRecord, next: u64) -> Checked {
    let Some(shape) = anatomy.shapes.get(&record.shape) else {
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
    ensure(ready && deferred && joins && sends && last, || "what is to run next is not of its graph".into())?;
    let channels = anatomy.channels(record).count();
    ensure(writes_fit(control.start.iter().flatten(), channels, next), || "its input is not of its graph".into())
}

fn writes_fit<'a>(mut writes: impl Iterator<Item = &'a WriteRecord>, channels: usize, next: u64) -> bool {
    let row = |row: Option<RowId>| row.is_none_or(|row| row.checkpoint.0 < next);
    writes.all(|write| (write.channel as usize) < channels && row(write.row))
}

fn check_task(anatomy: &Anatomy, of: &CheckpointRecord, record: &TaskRecord, next: u64) -> Checked {
    let nodes = anatomy.shapes.get(&of.shape).map_or(0, |shape| shape.nodes.len());
    let node = |at: &u32| (*at as usize) < nodes;
    let targets = record.targets.iter().all(node) && record.sends.iter().all(|send| node(&send.node));
    ensure(targets, || "it leads to nodes that its graph does not have".into())?;
    let channels = anatomy.channels(of).count();
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
        check_inside(anatomy, &of.namespace, *child).map_err(|reason| format!("subgraph `{name}`: {reason}"))
    };
    record.children.iter().try_for_each(inside)
}

fn terms_fit(record: &TaskRecord) -> bool {
    let fits = |value: &[u8]| skim(value, DEPTH).is_ok();
    let terms = record.terms.iter().all(|terms| {
        terms.expires.is_none_or(|expires| expires <= MOST)
            && terms.approvals <= MANY
            && terms.place <= MANY
            && terms.default.as_deref().is_none_or(fits)
    });
    terms && record.votes.iter().all(|vote| vote.at <= MOST && vote.place <= MANY && fits(&vote.value))
}

/// What there is of rows and entries.
struct Stored<'a> {
    rows: HashSet<RowId>,
    logs: BTreeMap<&'a str, Vec<RowId>>,
}

impl<'a> Stored<'a> {
    fn of(records: &'a [Record]) -> Self {
        let mut stored = Self { rows: HashSet::new(), logs: BTreeMap::new() };
        for (key, _) in records {
            match key {
                Key::Row(row) => _ = stored.rows.insert(*row),
                Key::Log { channel, row } => stored.logs.entry(channel).or_default().push(*row),
                _ => {}
            }
        }
        stored
    }

    /// Entries come in the order of keys.
    fn entries(&self, log: &str, first: RowId, last: RowId) -> usize {
        let Some(rows) = self.logs.get(log) else { return 0 };
        rows.partition_point(|row| *row <= last) - rows.partition_point(|row| *row < first)
    }

    fn check(&self, anatomy: &Anatomy, need: &Need) -> Checked {
        let missing = |what: &dyn std::fmt::Display| Err(format!("{what} is missing"));
        match need {
            Need::Row(row) if !self.rows.contains(row) => missing(&Key::Row(*row)),
            Need::Written { log, row } if !self.rows.contains(row) && self.entries(log, *row, *row) == 0 => {
                missing(&Key::Row(*row))
            }
            Need::Entries { log, range } if self.entries(log, range.first, range.last) != range.count as usize => {
                let found = self.entries(log, range.first, range.last);
                Err(format!("{found} of {} entries of a log are there", range.count))
            }
            Need::Shape(shape) if !anatomy.shapes.contains_key(shape) => missing(&Key::Shape(*shape)),
            Need::Checkpoint(id) if !anatomy.checkpoints.contains_key(id) => missing(&format!("checkpoint {id}")),
            _ => Ok(()),
        }
    }
}
