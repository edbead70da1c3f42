//! Records of a task's journal as entries that a reader sees. Pure.

use std::collections::BTreeMap;

use serde_json::Value;

use super::task_journal::{JournalEffect, JournalEntry, JournalKind, JournalRun, time};
use crate::checkpoint::{EffectEnd, EffectKind, EffectRecord};
use crate::graph::records::ids::uuid;
use crate::graph::records::{EntryKey, HALF_ID};
use crate::graph::state::reading;

/// Returns the entries that records hold, in the order in which they were made.
pub(crate) fn entries(records: impl IntoIterator<Item = (String, EffectRecord)>) -> Vec<JournalEntry> {
    let mut found: BTreeMap<(u32, String), (EntryKey, EffectRecord)> = BTreeMap::new();
    let mut failures: Vec<(EntryKey, EffectRecord)> = vec![];
    for (full, record) in records {
        let Some(key) = EntryKey::read(&full) else { continue };
        match record.kind {
            EffectKind::Failure => failures.push((key, record)),
            EffectKind::Effect
            | EffectKind::Value
            | EffectKind::Time
            | EffectKind::Random
            | EffectKind::Sleep
            | EffectKind::Signal => _ = found.insert((record.order, full), (key, record)),
        }
    }
    let mut entries: Vec<(u32, JournalEntry)> = vec![];
    let mut half: Option<(EntryKey, EffectRecord)> = None;
    for ((order, _), (key, record)) in found {
        if record.kind == EffectKind::Random && record.shown == HALF_ID {
            match half.take() {
                Some((first, high)) if is_beside(&first, &key) => {
                    let id = uuid(number(&high), number(&record));
                    entries.push((order, entry(first, &high, JournalKind::Id(id))));
                }
                _ => half = Some((key, record)),
            }
            continue;
        }
        let at = failures.iter().position(|(of, _)| record.kind == EffectKind::Effect && *of == key);
        let failure = at.map(|at| failures.swap_remove(at).1);
        let kind = kind(&record, failure.as_ref());
        entries.push((order, entry(key, &record, kind)));
    }
    for (key, failure) in failures {
        let kind = JournalKind::Effect(Box::new(effect(&failure, None)));
        entries.push((failure.order, entry(key, &failure, kind)));
    }
    entries.sort_by_key(|(order, _)| *order);
    entries.into_iter().map(|(_, entry)| entry).collect()
}

fn is_beside(one: &EntryKey, other: &EntryKey) -> bool {
    (&one.path, one.by_handler, &one.within) == (&other.path, other.by_handler, &other.within)
}

fn entry(place: EntryKey, record: &EffectRecord, kind: JournalKind) -> JournalEntry {
    let EntryKey { path, by_handler, within, key } = place;
    let attempt = record.runs.last().map(|run| run.attempt);
    JournalEntry { key, path, by_handler, within, attempt, at: record.at, kind }
}

fn kind(record: &EffectRecord, failure: Option<&EffectRecord>) -> JournalKind {
    match record.kind {
        EffectKind::Effect | EffectKind::Failure => JournalKind::Effect(Box::new(effect(record, failure))),
        EffectKind::Value => JournalKind::Value(value(record)),
        EffectKind::Time => JournalKind::Time(time(number(record))),
        EffectKind::Random => JournalKind::Random(number(record)),
        EffectKind::Sleep => JournalKind::Sleep(time(number(record))),
        EffectKind::Signal => JournalKind::Signal(value(record)),
    }
}

/// An effect, with the runs that failed before.
fn effect(record: &EffectRecord, failure: Option<&EffectRecord>) -> JournalEffect {
    let runs: Vec<JournalRun> = failure.into_iter().chain([record]).flat_map(runs).collect();
    let result = value(record);
    JournalEffect {
        arguments: serde_json::from_str(&record.shown).unwrap_or_else(|_| Value::String(record.shown.clone())),
        idempotency_key: record.idempotency.clone(),
        result: match (record.kind, result) {
            (EffectKind::Failure, Value::String(why)) => Err(why),
            (_, result) => Ok(result),
        },
        ended_at: runs.last().and_then(|run| run.ended_at),
        runs,
        messages: vec![],
    }
}

fn runs(record: &EffectRecord) -> impl Iterator<Item = JournalRun> {
    record.runs.iter().map(|run| {
        let started_at = record.at.saturating_sub(run.before);
        let ended_at = (run.end != EffectEnd::Dropped).then(|| started_at.saturating_add(run.took));
        JournalRun { attempt: run.attempt, started_at, ended_at, end: run.end }
    })
}

/// A recorded value as JSON; what does not fit JSON, as its size.
fn value(record: &EffectRecord) -> Value {
    let sized = || Value::String(format!("({} bytes that are no JSON)", record.value.len()));
    reading::as_json(&record.value).unwrap_or_else(|_| sized())
}

fn number(record: &EffectRecord) -> u64 {
    value(record).as_u64().unwrap_or_default()
}
