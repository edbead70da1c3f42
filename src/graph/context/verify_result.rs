//! What a replay that compares finds. Knows no graph.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::Value;

use super::logged_secrets::SecretValues;
use crate::checkpoint::{AboutRecord, CheckpointId};
use crate::graph::records::Reader;
use crate::graph::view::event::task_id;

/// The result of comparing a thread with its present graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct VerifyReport {
    /// The number of supersteps compared, those of subgraphs included.
    pub verified: u64,
    /// The number of bodies that ran again with the recorded result, those of subgraphs included.
    pub bodies: u64,
    /// The number of routers that ran again.
    pub routers: u64,
    /// Parts that were not compared but taken as recorded, in order.
    pub not_verified: Vec<NotVerified>,
    /// The first difference.
    pub divergence: Option<Divergence>,
}

/// The verdict of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifyVerdict {
    /// All of it was compared, and nothing differs.
    Same,
    /// Nothing differs, but some recorded results were reused without running.
    SameInPart,
    /// No body and no router could be run: nothing was compared but what was recorded with itself.
    NothingCompared,
    /// Something differs.
    Different,
}

/// The result that a thread would have had with the present graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WhatIf {
    /// The number of supersteps that ran again.
    pub supersteps: u64,
    /// The differences, in order.
    pub differences: Vec<Divergence>,
    /// Tasks whose writes were taken as they were recorded, though their input may be another now.
    pub taken: Vec<NotVerified>,
    /// The first task that cannot continue from the records; none if the run reached its end.
    pub stopped: Option<NotVerified>,
    /// The state there, as JSON, without secret channels.
    pub state: Value,
    /// The nodes that would run next: a name for each task.
    pub next: Vec<String>,
}

/// A task, or a superstep, that could not be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NotVerified {
    /// The superstep.
    pub step: i64,
    /// The nodes whose subgraphs it is in, outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub namespace: Vec<String>,
    /// The node; empty for a superstep as a whole.
    pub node: String,
    /// The reason.
    pub why: String,
}

/// A difference between a thread and its graph.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Divergence {
    /// The checkpoint that the superstep starts from.
    pub checkpoint: u64,
    /// The superstep.
    pub step: i64,
    /// The nodes whose subgraphs it is in, outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub namespace: Vec<String>,
    /// The node; several, joined by commas, where it is not known which.
    pub node: String,
    /// The id of the task, where one task differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The part that differs: a write, a route, an effect, a question, a channel.
    pub what: String,
    /// The recorded value; null if there is none.
    pub recorded: Value,
    /// The present value; null if there is none.
    pub now: Value,
}

impl VerifyReport {
    /// Returns whether nothing differed in what was compared, be it little: see [`verdict`](Self::verdict).
    pub fn agrees(&self) -> bool {
        self.divergence.is_none()
    }

    /// Returns what the comparison says of the graph.
    pub fn verdict(&self) -> VerifyVerdict {
        match self {
            Self { divergence: Some(_), .. } => VerifyVerdict::Different,
            Self { bodies: 0, routers: 0, .. } => VerifyVerdict::NothingCompared,
            Self { not_verified, .. } if not_verified.is_empty() => VerifyVerdict::Same,
            _ => VerifyVerdict::SameInPart,
        }
    }
}

impl VerifyReport {
    /// Hides secrets in what differs, and why parts were not compared.
    pub(crate) fn hide(&mut self, secrets: &SecretValues) {
        self.divergence.iter_mut().for_each(|found| found.hide(secrets));
        self.not_verified.iter_mut().for_each(|part| secrets.hide_in_text(&mut part.why));
    }
}

impl WhatIf {
    /// Hides secrets in it.
    pub(crate) fn hide(&mut self, secrets: &SecretValues) {
        secrets.hide(&mut self.state);
        self.differences.iter_mut().for_each(|found| found.hide(secrets));
        self.taken.iter_mut().chain(&mut self.stopped).for_each(|part| secrets.hide_in_text(&mut part.why));
    }
}

impl Divergence {
    fn hide(&mut self, secrets: &SecretValues) {
        secrets.hide_in_text(&mut self.what);
        secrets.hide(&mut self.recorded);
        secrets.hide(&mut self.now);
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step, node, what, recorded, now, .. } = self;
        write!(f, "superstep {step}, ")?;
        self.namespace.iter().try_for_each(|above| write!(f, "`{above}` > "))?;
        write!(f, "`{node}`: {what}\n  recorded: {}\n  now:      {}", display(recorded), display(now))
    }
}

fn display(value: &Value) -> String {
    if value.is_null() { "nothing".into() } else { value.to_string() }
}

impl fmt::Display for WhatIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { supersteps, differences, taken, stopped, .. } = self;
        write!(f, "{supersteps} superstep{} run again", if *supersteps == 1 { "" } else { "s" })?;
        differences.iter().try_for_each(|difference| write!(f, "\n{difference}"))?;
        taken.iter().try_for_each(|taken| write!(f, "\ntaken as recorded: {taken}"))?;
        match stopped {
            Some(stopped) => write!(f, "\nstopped before {stopped}"),
            None => f.write_str("\nreached the end"),
        }
    }
}

impl fmt::Display for VerifyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { verified, bodies, routers, not_verified, divergence } = self;
        let supersteps = pluralize(*verified, "superstep", "supersteps");
        let taken = pluralize(not_verified.len() as u64, "result", "results");
        let (bodies, routers) = (pluralize(*bodies, "body", "bodies"), pluralize(*routers, "router", "routers"));
        match self.verdict() {
            VerifyVerdict::Same | VerifyVerdict::SameInPart => write!(f, "{supersteps} compared, no difference")?,
            VerifyVerdict::NothingCompared => write!(f, "nothing compared in {supersteps}")?,
            VerifyVerdict::Different => write!(f, "{supersteps} compared, then a difference")?,
        }
        write!(f, ": {bodies} and {routers} run, {taken} reused")?;
        if let Some(divergence) = divergence {
            write!(f, "\nthe first difference is in {divergence}")?;
        }
        not_verified.iter().try_for_each(|skipped| write!(f, "\nnot compared: {skipped}"))
    }
}

fn pluralize(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

impl fmt::Display for NotVerified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step, namespace, node, why } = self;
        let place: Vec<&str> =
            namespace.iter().chain([node]).map(String::as_str).filter(|name| !name.is_empty()).collect();
        match place.is_empty() {
            true => write!(f, "superstep {step}: {why}"),
            false => write!(f, "superstep {step}, `{}`: {why}", place.join("` > `")),
        }
    }
}

/// A comparison under way: what all levels of a replay share.
pub(crate) struct Comparison {
    pub reader: Reader,
    /// Set if the run continues after a difference, as far as it can.
    pub goes_on: bool,
    /// Time from which on the thread has its name, in milliseconds since 1970: earlier checkpoints were copied or imported.
    pub named_at: u64,
    found: Mutex<ComparisonState>,
}

#[derive(Clone, Default)]
struct ComparisonState {
    report: VerifyReport,
    /// The differences after which the run continued.
    passed: Vec<Divergence>,
    /// Set once a body called a subgraph that has no records.
    lost: bool,
    /// A reason why a difference may be due to something that is not recorded.
    doubt: Option<&'static str>,
    /// Set for a superstep that ran in a thread of another name.
    ran_elsewhere: bool,
}

/// The findings at one moment, to go back to.
pub(crate) struct ComparisonMark(ComparisonState);

/// The part that differs, and both values.
pub(crate) struct Difference {
    pub what: String,
    pub recorded: Value,
    pub now: Value,
}

impl Difference {
    pub(crate) fn new(what: impl Into<String>, recorded: impl Into<Value>, now: impl Into<Value>) -> Self {
        Self { what: what.into(), recorded: recorded.into(), now: now.into() }
    }
}

/// The place of a task or superstep, for the report.
#[derive(Clone, Copy)]
pub(crate) struct Spot<'a> {
    pub checkpoint: CheckpointId,
    pub step: i64,
    pub namespace: &'a [String],
    /// The key of the task, if it is known which.
    pub task: Option<u32>,
}

impl Spot<'_> {
    fn with(self, node: &str, difference: Difference) -> Divergence {
        let (Difference { what, recorded, now }, node) = (difference, node.to_owned());
        let (checkpoint, step, namespace) = (self.checkpoint.0, self.step, self.namespace.to_vec());
        let task = self.task.map(|task| task_id(self.checkpoint, task));
        Divergence { checkpoint, step, namespace, node, task, what, recorded, now }
    }
}

impl Comparison {
    pub(crate) fn new(reader: Reader, goes_on: bool, about: Option<&AboutRecord>) -> Self {
        let imported_at = about.and_then(|about| about.foreign.as_ref()).map_or(0, |foreign| foreign.imported_at);
        let named_at = about.map_or(0, |about| about.created_at).max(imported_at);
        Self { reader, goes_on, named_at, found: Mutex::default() }
    }

    /// Starts a superstep whose results were stored at a time, in milliseconds since 1970.
    pub(crate) fn begin_step(&self, stored_at: Option<u64>) {
        self.lock().ran_elsewhere = stored_at.is_some_and(|at| at < self.named_at);
    }

    /// Notes that the body read the name of the thread, which may be another than in the record.
    pub(crate) fn note_thread_read(&self) {
        if self.lock().ran_elsewhere {
            self.note_doubt("it read the name of its thread, which was another one when it ran");
        }
    }

    pub(crate) fn count(&self) {
        self.lock().report.verified += 1;
    }

    /// Notes the first difference.
    pub(crate) fn set_divergence(&self, spot: Spot<'_>, node: &str, difference: Difference) {
        self.lock().report.divergence.get_or_insert(spot.with(node, difference));
    }

    /// Notes a difference after which the run goes on, if it may. Returns whether it may not.
    pub(crate) fn note_difference(&self, spot: Spot<'_>, node: &str, difference: Difference) -> bool {
        if self.goes_on && spot.namespace.is_empty() {
            self.lock().passed.push(spot.with(node, difference));
            return false;
        }
        self.set_divergence(spot, node, difference);
        true
    }

    /// Returns the differences after which the run continued, and the one that stopped it.
    pub(crate) fn differences(&self) -> (Vec<Divergence>, Option<Divergence>) {
        let found = self.lock();
        (found.passed.clone(), found.report.divergence.clone())
    }

    pub(crate) fn has_diverged(&self) -> bool {
        self.lock().report.divergence.is_some()
    }

    pub(crate) fn note_skip(&self, spot: Spot<'_>, node: &str, why: &str) {
        let (node, namespace, why) = (node.to_owned(), spot.namespace.to_vec(), why.to_owned());
        self.lock().report.not_verified.push(NotVerified { step: spot.step, namespace, node, why });
    }

    /// A subgraph's supersteps are not kept, so the body that calls it cannot go on.
    pub(crate) fn note_lost(&self) {
        self.lock().lost = true;
    }

    /// Returns true if a body called a subgraph without records since the last call.
    pub(crate) fn has_lost(&self) -> bool {
        std::mem::take(&mut self.lock().lost)
    }

    /// Notes that the body read something that is not recorded: a difference may be due to it.
    pub(crate) fn note_doubt(&self, why: &'static str) {
        self.lock().doubt.get_or_insert(why);
    }

    /// Returns why the last difference is in doubt, if it is; forgets it.
    pub(crate) fn take_doubt(&self) -> Option<&'static str> {
        self.lock().doubt.take()
    }

    pub(crate) fn mark(&self) -> ComparisonMark {
        ComparisonMark(self.lock().clone())
    }

    /// Forgets what was found since.
    pub(crate) fn go_back_to(&self, mark: &ComparisonMark) {
        *self.lock() = mark.0.clone();
    }

    /// Counts a body that ran again.
    pub(crate) fn ran_body(&self) {
        self.lock().report.bodies += 1;
    }

    /// Counts routers that ran again.
    pub(crate) fn ran_routers(&self, count: usize) {
        self.lock().report.routers += count as u64;
    }

    pub(crate) fn report(&self) -> VerifyReport {
        self.lock().report.clone()
    }

    fn lock(&self) -> MutexGuard<'_, ComparisonState> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
