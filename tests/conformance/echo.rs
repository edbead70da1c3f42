//! An engine that plays a recording: it returns the expected outcome of every action, with other interrupt ids. The
//! runner checks itself with it.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::canon;
use crate::compare::flatten_events;
use crate::counters::Counters;
use crate::model::Case;
use crate::outcome::{ErrorView, Event, InvokeResult, Question, Snapshot, StreamResult, Verification};
use crate::script::{Action, Config, Mode, Reference, Verb};
use crate::subject::{Engine, HistoryEntry, Input, Place, Query, Refusal, Reply, Setup, StateWrite};

pub(crate) struct Echo {
    case: Arc<Case>,
    counters: Arc<Counters>,
    now: usize,
    /// Histories that the runner still reads to resolve references of the current action.
    lookups: usize,
}

/// Number of checkpoints that a thread seems to have when the runner resolves a reference.
const CHECKPOINTS: i64 = 50;
/// A parent that is not listed.
const ELSEWHERE: i64 = 1000;

impl Echo {
    fn action(&self) -> &Action {
        &self.case.script[self.now]
    }

    /// Returns the expected outcome of the current action, as an engine's reply.
    fn answer<T: DeserializeOwned>(&self, part: impl FnOnce(&Value) -> Value) -> Reply<T> {
        let steps = self.case.expected.steps.as_deref().unwrap_or_default();
        let outcome = steps.get(self.now).map(renamed).unwrap_or_default();
        self.start_bodies(&outcome);
        if outcome.get("error").is_some() && outcome.get("events").is_none() {
            return Err(Refusal::Error(read(&outcome["error"])?));
        }
        read(&part(&outcome))
    }

    fn start_bodies(&self, outcome: &Value) {
        for (place, times) in outcome.get("runs").and_then(Value::as_object).into_iter().flatten() {
            (0..times.as_u64().unwrap_or(0)).for_each(|_| self.counters.started(place));
        }
    }

    /// Returns a thread with exactly the questions that the current action answers.
    fn interrupted(&self) -> Snapshot {
        let answers = self.action().command.as_ref().and_then(|command| command.resume_map.as_ref());
        let payloads = answers.into_iter().flatten().filter_map(|answer| answer.payload.clone());
        let interrupts = payloads.map(|value| Question { id: String::new(), value }).collect();
        Snapshot { interrupts, ..blank_snapshot() }
    }
}

fn by_position(reference: Option<&Reference>) -> bool {
    reference
        .is_some_and(|reference| reference.history.is_some() || reference.sub_history.is_some() || reference.latest)
}

fn blank_snapshot() -> Snapshot {
    let (values, next, tasks, interrupts) = (json!({}), Vec::new(), Vec::new(), Vec::new());
    Snapshot { values, next, tasks, interrupts, step: None, source: None, has_parent: false }
}

/// Returns the outcome with other interrupt ids.
fn renamed(outcome: &Value) -> Value {
    fn rename(value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(id) = canon::id_of(text) {
                    *text = format!("ours-{id}");
                }
            }
            Value::Array(items) => items.iter_mut().for_each(rename),
            Value::Object(map) => map.values_mut().for_each(rename),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut outcome = canon::outcome(outcome.clone());
    rename(&mut outcome);
    outcome
}

fn read<T: DeserializeOwned>(value: &Value) -> Reply<T> {
    T::deserialize(value).map_err(|error| Refusal::Broken(format!("{error} in {value}")))
}

impl Engine for Echo {
    type Point = i64;

    async fn open(setup: Setup) -> Reply<Self> {
        match &setup.case.expected.build_error {
            Some(error) => Err(Refusal::Error(read(error)?)),
            None => Ok(Self { case: setup.case, counters: setup.counters, now: 0, lookups: 0 }),
        }
    }

    async fn restart(&mut self) -> Reply<()> {
        self.answer::<Value>(Value::clone).map(|_| ())
    }

    fn begin(&mut self, action: usize) {
        self.now = action;
        let references = [&self.action().at, &self.action().before];
        self.lookups = references.iter().filter(|reference| by_position(reference.as_ref())).count();
    }

    async fn invoke(&mut self, _place: &Place<i64>, _input: Input, _config: &Config) -> Reply<InvokeResult> {
        self.answer(Value::clone)
    }

    async fn stream(
        &mut self,
        _place: &Place<i64>,
        _input: Input,
        _config: &Config,
        _modes: &[Mode],
        _subgraphs: bool,
    ) -> Reply<StreamResult> {
        let outcome: Value = self.answer(Value::clone)?;
        let events: Vec<Event> = read(&flatten_events(&outcome))?;
        let error: Option<ErrorView> = outcome.get("error").map(read).transpose()?;
        Ok(StreamResult { events, error })
    }

    async fn get_state(&mut self, _place: &Place<i64>, _subgraphs: bool) -> Reply<(Snapshot, i64)> {
        if self.action().verb != Verb::GetState {
            return Ok((self.interrupted(), 0));
        }
        Ok((self.answer(|outcome| outcome["state"].clone())?, 0))
    }

    async fn history(&mut self, _place: &Place<i64>, _query: &Query<i64>) -> Reply<Vec<HistoryEntry<i64>>> {
        if self.action().verb != Verb::History || self.lookups > 0 {
            self.lookups = self.lookups.saturating_sub(1);
            let listed = |point| HistoryEntry { point, parent: None, snapshot: blank_snapshot() };
            return Ok((0..CHECKPOINTS).map(listed).collect());
        }
        let entries: Vec<Value> = self.answer(|outcome| outcome["history"].clone())?;
        (0..).zip(entries).map(|(point, entry)| listed(point, entry)).collect()
    }

    async fn subgraph(&mut self, _place: &Place<i64>, _path: &[String]) -> Reply<Option<i64>> {
        Ok(Some(0))
    }

    async fn update(&mut self, _place: &Place<i64>, _update: StateWrite) -> Reply<i64> {
        self.answer::<Value>(Value::clone).map(|_| 0)
    }

    async fn verify(&mut self, _place: &Place<i64>) -> Reply<Option<Verification>> {
        if self.action().verb != Verb::Verify {
            return Ok(None);
        }
        self.answer(|outcome| outcome["verified"].clone()).map(Some)
    }

    async fn bulk_update(&mut self, _place: &Place<i64>, _supersteps: Vec<Vec<StateWrite>>) -> Reply<i64> {
        self.answer::<Value>(Value::clone).map(|_| 0)
    }
}

fn listed(point: i64, mut entry: Value) -> Reply<HistoryEntry<i64>> {
    let parent = entry["parent"].as_i64().map(|parent| if parent < 0 { ELSEWHERE } else { parent });
    if let Some(map) = entry.as_object_mut() {
        map.remove("parent");
        map.insert("has_parent".to_owned(), parent.is_some().into());
    }
    Ok(HistoryEntry { point, parent, snapshot: read(&entry)? })
}
