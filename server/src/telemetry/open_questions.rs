//! The questions of a store that wait for an answer, counted by the store's list of interrupted threads, and seldom enough that a scrape
//! costs little whatever the number of threads. Must not know how they are shown.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use superstep::graph::{Graphs, RunError, StatusKind, ThreadFilter, ThreadInfo};
use superstep_base::gather;
use superstep_base::time::system_time;
use tokio::sync::Mutex;

/// The shortest time for which a count is used.
const LIFETIME: Duration = Duration::from_secs(5);
/// A count is used for as many times the time that it took.
const SHARE: u32 = 100;
/// The number of threads that are read at once.
const PAGE: usize = 256;

/// The questions of a store at a moment.
#[derive(Debug, Default)]
pub(super) struct OpenQuestions {
    pub(super) by_graph: BTreeMap<String, u64>,
    /// The time of the last checkpoint of the thread that waits longest.
    oldest: Option<SystemTime>,
}

impl OpenQuestions {
    pub(super) fn oldest_age(&self) -> Duration {
        self.oldest.and_then(|oldest| SystemTime::now().duration_since(oldest).ok()).unwrap_or_default()
    }

    fn add(&mut self, thread: &ThreadInfo) {
        let open = thread.questions.iter().filter(|question| !question.is_answered()).count();
        if open == 0 {
            return;
        }
        *self.by_graph.entry(thread.graph.clone()).or_default() += open as u64;
        let since = system_time(thread.updated_at);
        self.oldest = Some(self.oldest.map_or(since, |oldest| oldest.min(since)));
    }
}

/// The count of a store's questions, with the time until which it is used.
#[derive(Default)]
pub(super) struct QuestionReader(Mutex<Option<(Instant, Arc<OpenQuestions>)>>);

impl QuestionReader {
    /// Returns the questions of the threads of some graphs as they were lately.
    pub(super) async fn read(&self, graphs: &Graphs) -> Result<Arc<OpenQuestions>, RunError> {
        let mut known = self.0.lock().await;
        if let Some((_, questions)) = known.as_ref().filter(|(until, _)| Instant::now() < *until) {
            return Ok(Arc::clone(questions));
        }
        let began = Instant::now();
        let questions = Arc::new(count(graphs).await?);
        let lifetime = began.elapsed().saturating_mul(SHARE).max(LIFETIME);
        *known = Some((Instant::now() + lifetime, Arc::clone(&questions)));
        Ok(questions)
    }
}

async fn count(graphs: &Graphs) -> Result<OpenQuestions, RunError> {
    let by_graph = gather(graphs.iter().map(|graph| (graph.name().to_owned(), 0)));
    let mut questions = OpenQuestions { by_graph, oldest: None };
    let interrupted = ThreadFilter::new().status(StatusKind::Interrupted).limit(PAGE);
    let mut filter = interrupted.clone();
    loop {
        let page = graphs.threads(filter).await?;
        page.threads.iter().for_each(|thread| questions.add(thread));
        match page.next {
            Some(last) => filter = interrupted.clone().after(last),
            None => return Ok(questions),
        }
    }
}
