//! The journal of a task as a reader sees it: plain data, made of records. Fields are in the order of their names, as in their
//! JSON. Knows no store.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use superstep_base::time::rfc3339;

use super::outline::write_time_if_known;
use crate::checkpoint::{CheckpointId, EffectEnd, EffectKind, EffectRecord};
use crate::graph::interrupt::AnswerInfo;
use crate::graph::json::{time_text, write_sorted, write_time};
use crate::graph::records::ids::uuid;
use crate::graph::records::{EntryKey, HALF_ID};
use crate::graph::state::reading;

/// The journal of a task over all of its attempts: effects, recorded values, questions and answers. Read by
/// [`TaskSnapshot::journal`](crate::graph::view::TaskSnapshot::journal). A task of the root graph has the entries of the
/// tasks in its subgraphs too. The values of secret channels are replaced by `[secret]`, wherever a body has put them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TaskJournal {
    /// The runs of subgraphs that the task called, in order.
    pub children: Vec<ChildRun>,
    /// Effects, recorded values, times, random numbers, ids and waits, in the order in which they were recorded.
    pub entries: Vec<JournalEntry>,
    /// Messages emitted outside of the task's own effects, as far as they were recorded
    /// ([`record_events`](crate::graph::Thread::record_events)).
    pub messages: Vec<JournalMessage>,
    /// The questions that the task asked, those that were answered first, in the order of the answers.
    pub questions: Vec<JournalQuestion>,
}

impl TaskJournal {
    /// Returns whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.questions.is_empty() && self.children.is_empty() && self.messages.is_empty()
    }

    /// Returns the effects, each with its entry.
    pub fn effects(&self) -> impl Iterator<Item = (&JournalEntry, &JournalEffect)> {
        self.entries.iter().filter_map(|entry| Some((entry, entry.effect()?)))
    }

    /// Returns the task's own effect with this key: the error handler's, if its body has none.
    pub fn effect(&self, key: &str) -> Option<&JournalEffect> {
        let own = |entry: &JournalEntry| entry.key == key && entry.path.is_empty() && entry.within.is_empty();
        let mut found = self.effects().filter(|(entry, _)| own(entry));
        let first = found.next();
        first.filter(|(entry, _)| !entry.by_handler).or_else(|| found.next()).or(first).map(|(_, effect)| effect)
    }
}

/// One entry of a journal.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct JournalEntry {
    /// The key that the body gave it; the number, from 0, of a time, a random number or a wait.
    pub key: String,
    /// The nodes of subgraphs on the way down to the task that made it; empty for the task itself.
    pub path: Vec<String>,
    /// True if an error handler made it.
    pub by_handler: bool,
    /// The effects in whose bodies it was made, outermost first.
    pub within: Vec<String>,
    /// The attempt of the task that made it, from 1: later attempts were given the same. Unknown for an entry of an earlier
    /// release.
    pub attempt: Option<u32>,
    /// When it was recorded, in milliseconds since 1970; for an effect, when it started.
    pub at: u64,
    /// The content of the entry.
    pub kind: JournalKind,
}

impl Serialize for JournalEntry {
    fn serialize<W: Serializer>(&self, out: W) -> Result<W::Ok, W::Error> {
        let at = rfc3339(self.at);
        let mut json = self.kind.fields();
        if self.effect().is_some() {
            json["started_at"] = at.as_str().into();
        }
        (json["key"], json["attempt"], json["at"]) = (self.key.as_str().into(), self.attempt.into(), at.into());
        if self.by_handler {
            json["by_handler"] = true.into();
        }
        for (name, names) in [("path", &self.path), ("within", &self.within)] {
            if !names.is_empty() {
                json[name] = json!(names);
            }
        }
        json.serialize(out)
    }
}

impl JournalEntry {
    /// Returns the effect, if it is one.
    pub fn effect(&self) -> Option<&JournalEffect> {
        if let JournalKind::Effect(effect) = &self.kind { Some(effect) } else { None }
    }

    pub(crate) fn effect_mut(&mut self) -> Option<&mut JournalEffect> {
        if let JournalKind::Effect(effect) = &mut self.kind { Some(effect) } else { None }
    }
}

/// The content of a journal entry.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum JournalKind {
    /// A side effect ([`Ctx::effect`](crate::graph::Ctx::effect)).
    Effect(Box<JournalEffect>),
    /// A recorded value ([`Ctx::record`](crate::graph::Ctx::record)), as JSON.
    Value(Value),
    /// A time ([`Ctx::now`](crate::graph::Ctx::now)).
    Time(SystemTime),
    /// A random number ([`Ctx::random`](crate::graph::Ctx::random)).
    Random(u64),
    /// An id ([`Ctx::new_id`](crate::graph::Ctx::new_id)).
    Id(String),
    /// The time until which the task waits ([`Ctx::sleep`](crate::graph::Ctx::sleep)).
    Sleep(SystemTime),
    /// A signal that was received, as JSON; null for one that did not come in time.
    Signal(Value),
}

impl JournalKind {
    /// Returns the fields of an entry's JSON that only this kind has.
    fn fields(&self) -> Value {
        match self {
            Self::Effect(effect) => effect.fields(),
            Self::Value(value) => json!({ "kind": "value", "value": value }),
            Self::Time(at) => json!({ "kind": "time", "value": time_text(*at) }),
            Self::Random(number) => json!({ "kind": "random", "value": number }),
            Self::Id(id) => json!({ "kind": "id", "value": id }),
            Self::Sleep(until) => json!({ "kind": "sleep", "until": time_text(*until) }),
            Self::Signal(signal) => json!({ "kind": "signal", "value": signal }),
        }
    }
}

/// A side effect.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct JournalEffect {
    /// Its arguments as JSON. Of those longer than 2 KiB, the first part of their text.
    pub arguments: Value,
    /// The key under which the world outside knows it.
    pub idempotency_key: String,
    /// Its result as JSON; or why it failed, if it has no result yet.
    pub result: Result<Value, String>,
    /// When its last run ended, in milliseconds since 1970. Unknown for an effect of an earlier release.
    pub ended_at: Option<u64>,
    /// Its known runs, oldest first. One in a process that was killed leaves no trace.
    pub runs: Vec<JournalRun>,
    /// Messages that its body emitted, as far as they were recorded: the tool calls of an agent, for one.
    pub messages: Vec<JournalMessage>,
}

impl JournalEffect {
    /// Returns whether it is known to have run more than once: earlier runs failed or were dropped.
    pub fn is_repeated(&self) -> bool {
        self.runs.len() > 1
    }

    fn fields(&self) -> Value {
        let (name, result) = match &self.result {
            Ok(result) => ("result", result.clone()),
            Err(error) => ("error", error.as_str().into()),
        };
        let mut json = json!({
            "kind": "effect",
            "arguments": self.arguments,
            "idempotency_key": self.idempotency_key,
            "ended_at": self.ended_at.map(rfc3339),
            "repeated": self.is_repeated(),
            "runs": self.runs,
            name: result,
        });
        if !self.messages.is_empty() {
            json["messages"] = json!(self.messages);
        }
        json
    }
}

/// One run of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct JournalRun {
    /// The attempt of the task, from 1.
    pub attempt: u32,
    /// The end of the run.
    #[serde(serialize_with = "write_end")]
    pub end: EffectEnd,
    /// When it ended, in milliseconds since 1970; unknown if it was dropped.
    #[serde(serialize_with = "write_time_if_known")]
    pub ended_at: Option<u64>,
    /// When it started, in milliseconds since 1970.
    #[serde(serialize_with = "write_time")]
    pub started_at: u64,
}

fn write_end<W: Serializer>(end: &EffectEnd, out: W) -> Result<W::Ok, W::Error> {
    out.serialize_str(match end {
        EffectEnd::Done => "done",
        EffectEnd::Found => "found",
        EffectEnd::Failed => "failed",
        EffectEnd::Dropped => "dropped",
    })
}

/// A question of a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct JournalQuestion {
    /// The answer, by whom and when; none while it is open, or if it is kept with a task of a subgraph.
    #[serde(serialize_with = "write_sorted")]
    pub answer: Option<AnswerInfo>,
    /// The name of its type.
    pub name: String,
    /// The node that asked, after the nodes whose subgraphs it is in: `Research/Ask`.
    pub node: String,
    /// The question as JSON; null if the store does not hold it any more.
    pub payload: Value,
}

/// A run of a subgraph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ChildRun {
    /// When its newest checkpoint was made, in milliseconds since 1970.
    #[serde(serialize_with = "write_time")]
    pub at: u64,
    /// True if the error handler called it.
    pub by_handler: bool,
    /// The number of the task's call, from 0, over all attempts.
    pub call: u32,
    /// Its newest checkpoint.
    pub checkpoint: CheckpointId,
    /// True if nothing is left to run in it.
    #[serde(rename = "over")]
    pub is_over: bool,
    /// The superstep of that checkpoint.
    pub step: i64,
}

/// Something that a node emitted.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct JournalMessage {
    /// When, in milliseconds since 1970.
    #[serde(serialize_with = "write_time")]
    pub at: u64,
    /// The tasks of subgraphs on the way down to the one that emitted it, each as `node:task`; empty for the task itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// The value.
    pub value: Value,
    /// The effects in whose bodies it was emitted, outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<String>,
}

/// A time in milliseconds since 1970.
pub(crate) fn time(millis: u64) -> SystemTime {
    UNIX_EPOCH.checked_add(Duration::from_millis(millis)).unwrap_or(UNIX_EPOCH)
}

/// Returns the entries that records hold, in the order in which they were made.
pub(crate) fn entries(records: impl IntoIterator<Item = (String, EffectRecord)>) -> Vec<JournalEntry> {
    let mut found: BTreeMap<(u32, String), (EntryKey, EffectRecord)> = BTreeMap::new();
    let mut failures: Vec<(EntryKey, EffectRecord)> = vec![];
    for (full, record) in records {
        let Some(key) = EntryKey::parse(&full) else { continue };
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
