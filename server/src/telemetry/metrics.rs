//! The numbers of a server, for Prometheus: those of its runs, which a runner counts too, those of its queue, and the questions of its
//! store. No label has the name of a thread. Must not know requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use superstep::graph::{AnyState, Graphs, Outcome, RunError, StatusKind};
use superstep_base::gather;
use superstep_base::time::system_time;
use superstep_metrics::{Page, RunMeter, RunMetrics};

use super::open_questions::{OpenQuestions, QuestionReader};
use crate::records::run::{OpenRun, RunRecord, RunStatus};

/// The runs that have ended, by graph and outcome.
type EndedRuns = BTreeMap<(String, &'static str), u64>;

/// The numbers of a server.
pub(crate) struct Metrics {
    runs: Arc<RunMetrics>,
    ended: Mutex<EndedRuns>,
    /// The runs of the store that have not ended, by graph, when they were looked for last.
    open: Mutex<BTreeMap<String, u64>>,
    questions: QuestionReader,
}

impl Metrics {
    /// Returns the numbers of these graphs, all 0.
    pub(crate) fn new(graphs: &Graphs) -> Self {
        let names: Vec<String> = graphs.iter().map(|graph| graph.name().to_owned()).collect();
        let outcomes = [RunStatus::Success, RunStatus::Error, RunStatus::Interrupted].map(RunStatus::as_str);
        let of_graph = |name: &String| outcomes.map(|outcome| ((name.clone(), outcome), 0));
        Self {
            ended: Mutex::new(gather(names.iter().flat_map(of_graph))),
            open: Mutex::new(gather(names.iter().map(|name| (name.clone(), 0)))),
            runs: RunMetrics::new(&names),
            questions: QuestionReader::default(),
        }
    }

    /// Notes an execution of a run that begins.
    pub(crate) fn begin(&self, run: &RunRecord) -> RunMeter {
        let is_waiting = run.status == RunStatus::Pending && !run.is_delayed;
        let due: Option<SystemTime> = is_waiting.then(|| system_time(run.created_at));
        self.runs.begin(&run.graph, due)
    }

    /// Notes the result of an execution.
    pub(crate) fn end_execution(&self, graph: &str, result: &Result<Outcome<AnyState>, RunError>) {
        if let Some(status) = status_after(result) {
            self.runs.end(graph, status);
        }
    }

    /// Counts a run that has ended.
    pub(crate) fn count_end(&self, graph: &str, status: RunStatus) {
        *lock(&self.ended).entry((graph.to_owned(), status.as_str())).or_default() += 1;
    }

    /// Sets the runs of the store that have not ended.
    pub(crate) fn set_open<'a>(&self, runs: impl Iterator<Item = &'a OpenRun>) {
        let mut open = lock(&self.open);
        open.values_mut().for_each(|count| *count = 0);
        runs.for_each(|run| *open.entry(run.graph.clone()).or_default() += 1);
    }

    /// Returns the numbers as they are now, with the questions of the store as they were lately.
    pub(crate) async fn page(&self, graphs: &Graphs) -> Page {
        let mut page = self.runs.page();
        self.write_runs(&mut page);
        match self.questions.read(graphs).await {
            Ok(questions) => write_questions(&mut page, &questions),
            Err(error) => tracing::warn!(%error, "the open questions cannot be counted"),
        }
        page
    }

    fn write_runs(&self, page: &mut Page) {
        let ended = lock(&self.ended).clone();
        let mut metric = page.metric("superstep_runs_total", "counter", "Runs that this server has ended, by outcome.");
        for ((graph, outcome), count) in &ended {
            metric.number(&[("graph", graph), ("outcome", outcome)], count);
        }
        let open = lock(&self.open).clone();
        let mut metric = page.metric("superstep_runs_open", "gauge", "Runs of the store that have not ended.");
        open.iter().for_each(|(graph, count)| metric.number(&[("graph", graph)], count));
        let queued = open.values().sum::<u64>().saturating_sub(self.runs.running());
        let help = "Runs of the store that have not ended, without those that this server executes.";
        page.metric("superstep_queue_length", "gauge", help).number(&[], queued);
    }
}

fn write_questions(page: &mut Page, questions: &OpenQuestions) {
    let mut metric = page.metric("superstep_open_questions", "gauge", "Questions that wait for an answer.");
    questions.by_graph.iter().for_each(|(graph, count)| metric.number(&[("graph", graph)], count));
    let help = "Time since the last checkpoint of the thread that waits longest for an answer; 0 if none does.";
    page.metric("superstep_oldest_question_seconds", "gauge", help).number(&[], questions.oldest_age().as_secs_f64());
}

/// Returns the status of a thread after an execution; `None` if another process may have it.
fn status_after(result: &Result<Outcome<AnyState>, RunError>) -> Option<StatusKind> {
    match result {
        Ok(Outcome::Finished(_)) => Some(StatusKind::Finished),
        Ok(Outcome::Interrupted(_)) => Some(StatusKind::Interrupted),
        Ok(Outcome::Waiting { .. }) => Some(StatusKind::Waiting),
        Ok(Outcome::AwaitingSignal { .. }) => Some(StatusKind::AwaitingSignal),
        Ok(Outcome::Stopped(_)) => Some(StatusKind::Stopped),
        Ok(_) => Some(StatusKind::Pending),
        Err(RunError::Checkpoint(_)) => None,
        Err(_) => Some(StatusKind::Failed),
    }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
