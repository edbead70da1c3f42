//! [`RunMetrics`]: the numbers of runs, by graph. Executions change them as they begin, send events and end. Must not know how they are
//! printed.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use superstep::checkpoint::CheckpointError;
use superstep::graph::{Event, EventKind, Mode, RunError, StatusKind};

use super::histogram::Histogram;
use super::usage::{ModelUse, Turns, UsageTotals};

/// The modes of the events that change the numbers.
pub const MODES: [Mode; 4] = [Mode::Tasks, Mode::Checkpoints, Mode::Messages, Mode::Stored];

/// Bounds for commits, in seconds.
const COMMITS: &[f64] = &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];
/// Bounds for the time until a thread that is due runs, in seconds.
const DELAYS: &[f64] = &[0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 1800.0, 7200.0];

/// Bounds for supersteps, in seconds.
const SUPERSTEPS: &[f64] = &[0.001, 0.0025, 0.01, 0.05, 0.25, 1.0, 5.0, 15.0, 60.0, 300.0, 1800.0];

/// The numbers of one graph.
#[derive(Clone, Debug)]
pub(super) struct GraphNumbers {
    pub(super) running: u64,
    pub(super) claims: u64,
    pub(super) supersteps: Histogram,
    pub(super) lost_leases: u64,
    pub(super) outages: u64,
    /// Turns that ended, by the status of the thread.
    pub(super) turns: BTreeMap<&'static str, u64>,
    pub(super) delays: Histogram,
    pub(super) commits: Histogram,
    pub(super) usage: UsageTotals,
}

impl GraphNumbers {
    fn new() -> Self {
        let turns = [StatusKind::Finished, StatusKind::Failed, StatusKind::Interrupted];
        Self {
            running: 0,
            claims: 0,
            supersteps: Histogram::new(SUPERSTEPS),
            lost_leases: 0,
            outages: 0,
            turns: turns.map(|status| (status.as_str(), 0)).into(),
            delays: Histogram::new(DELAYS),
            commits: Histogram::new(COMMITS),
            usage: UsageTotals::default(),
        }
    }
}

/// The numbers of the runs of a process. Each of its graphs has them from the start, so that a rate is known from the first change on.
#[derive(Debug)]
pub struct RunMetrics(Mutex<BTreeMap<String, GraphNumbers>>);

impl RunMetrics {
    /// Returns the numbers of these graphs, all 0.
    pub fn new(graphs: &[String]) -> Arc<Self> {
        let numbers = graphs.iter().map(|graph| (graph.clone(), GraphNumbers::new()));
        Arc::new(Self(Mutex::new(numbers.collect())))
    }

    /// Notes an execution that begins; `due` is the time since when its thread was due.
    pub fn begin(self: &Arc<Self>, graph: &str, due: Option<SystemTime>) -> RunMeter {
        self.change(graph, |numbers| {
            numbers.running += 1;
            numbers.claims += 1;
            // The clock of the store may be ahead.
            let delay = due.map(|due| SystemTime::now().duration_since(due).unwrap_or(Duration::ZERO));
            delay.into_iter().for_each(|delay| numbers.delays.observe(delay));
        });
        RunMeter {
            metrics: Arc::clone(self),
            graph: graph.to_owned(),
            since: Instant::now(),
            ends: HashMap::new(),
            turns: Turns::default(),
        }
    }

    /// Notes an execution that ended, with the status of its thread.
    pub fn end(&self, graph: &str, status: StatusKind) {
        self.change(graph, |numbers| *numbers.turns.entry(status.as_str()).or_default() += 1);
    }

    /// Returns the number of executions that have begun and not ended.
    pub fn running(&self) -> u64 {
        self.lock().values().map(|numbers| numbers.running).sum()
    }

    /// Returns the numbers as they are now.
    pub(super) fn numbers(&self) -> BTreeMap<String, GraphNumbers> {
        self.lock().clone()
    }

    fn change(&self, graph: &str, change: impl FnOnce(&mut GraphNumbers)) {
        change(self.lock().entry(graph.to_owned()).or_insert_with(GraphNumbers::new));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, GraphNumbers>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The numbers of one execution of a run. Dropping it ends the execution.
#[derive(Debug)]
pub struct RunMeter {
    metrics: Arc<RunMetrics>,
    graph: String,
    /// The time of the newest checkpoint, or of the begin.
    since: Instant,
    /// The time at which the newest task of each graph and subgraph ended whose results are not stored yet.
    ends: HashMap<Arc<[String]>, Instant>,
    turns: Turns,
}

impl RunMeter {
    /// Notes supersteps, the time from the end of tasks until their results are stored, and what models have used. Returns what the
    /// event says that a model has used.
    pub fn on_event(&mut self, event: &Event) -> Option<ModelUse> {
        match &event.kind {
            EventKind::Checkpoint(made) if event.namespace.is_empty() => {
                let (now, since) = (Instant::now(), self.since);
                self.since = now;
                if !made.ran.is_empty() {
                    self.metrics.change(&self.graph, |numbers| numbers.supersteps.observe(now - since));
                }
            }
            EventKind::TaskEnd { .. } => _ = self.ends.insert(Arc::clone(&event.namespace), Instant::now()),
            EventKind::Stored => {
                if let Some(end) = self.ends.remove(&event.namespace) {
                    self.metrics.change(&self.graph, |numbers| numbers.commits.observe(end.elapsed()));
                }
            }
            EventKind::Message { value, .. } => {
                let task = event.task.as_ref().map(|task| Arc::clone(&task.path)).unwrap_or_default();
                let (name, usage) = self.turns.usage(&task, value)?;
                let used = ModelUse::new(&name, usage);
                self.metrics.change(&self.graph, |numbers| numbers.usage.add(name, usage));
                return Some(used);
            }
            _ => {}
        }
        None
    }

    /// Notes an error that ended the execution.
    pub fn on_error(&self, error: &RunError) {
        self.metrics.change(&self.graph, |numbers| match error {
            RunError::Checkpoint(CheckpointError::StaleLease { .. }) => numbers.lost_leases += 1,
            RunError::Checkpoint(CheckpointError::Outage { .. }) => numbers.outages += 1,
            _ => {}
        });
    }
}

impl Drop for RunMeter {
    fn drop(&mut self) {
        self.metrics.change(&self.graph, |numbers| numbers.running = numbers.running.saturating_sub(1));
    }
}
