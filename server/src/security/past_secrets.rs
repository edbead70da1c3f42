//! The secrets of threads: all values that their secret channels, and those of their subgraphs, have had since the oldest checkpoint, so
//! that a copy is hidden also after its secret was changed or cleared. A thread is read on from where it was read last. Knows no route.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use superstep::checkpoint::{BoxFuture, CheckpointId};
use superstep::graph::thread::SubgraphRun;
use superstep::graph::{AnyGraph, AnyState, AnyThread, RunError, StateSnapshot};
use tokio::sync::Mutex as AsyncMutex;

use super::secrets::Secrets;

/// The largest number of threads that are remembered.
const MOST: usize = 1000;
/// The number of checkpoints that are read at first: a thread that was read has few new ones.
const FEW: usize = 2;
/// The number of checkpoints that are read at once.
const PAGE: usize = 64;

/// The secrets of threads that were read, by their names.
#[derive(Default)]
pub(crate) struct PastSecrets(Mutex<HashMap<String, Arc<AsyncMutex<Past>>>>);

impl PastSecrets {
    /// Returns the secrets of a thread. They are none if its graph, and the graphs that it declares as called, have no secret channels.
    ///
    /// # Errors
    /// If a checkpoint of the thread, or the store, cannot be read.
    pub(crate) fn of<'a>(&'a self, graph: &'a AnyGraph, thread: &'a str) -> BoxFuture<'a, Result<Secrets, RunError>> {
        // Boxed: it is deep in the futures of most routes.
        Box::pin(async move {
            if !graph.has_secrets() {
                return Ok(Secrets::default());
            }
            let past = self.past(thread);
            let mut past = past.lock().await;
            past.read_on(graph, &graph.thread(thread)).await?;
            Ok(past.secrets.clone())
        })
    }

    /// Forgets a thread that was deleted.
    pub(crate) fn forget(&self, thread: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(thread);
    }

    fn past(&self, thread: &str) -> Arc<AsyncMutex<Past>> {
        let mut threads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if threads.len() >= MOST && !threads.contains_key(thread) {
            threads.clear(); // they are read again
        }
        Arc::clone(threads.entry(thread.to_owned()).or_default())
    }
}

/// A checkpoint with the time at which it was made: a thread that was deleted and made again has the same numbers.
type Place = (CheckpointId, u64);

/// The secrets of a thread, as far as it was read.
#[derive(Default)]
struct Past {
    secrets: Secrets,
    /// The newest checkpoint that need not be read again; all older ones were read.
    through: Option<Place>,
    /// The checkpoints of subgraphs that were read.
    nested: HashSet<CheckpointId>,
}

impl Past {
    /// Reads the checkpoints that were made since the last time.
    async fn read_on(&mut self, graph: &AnyGraph, thread: &AnyThread) -> Result<(), RunError> {
        let (mut read, mut limit): (Vec<Place>, _) = (vec![], FEW);
        loop {
            let history = thread.history().await?.limit(limit);
            let mut history = read.last().into_iter().fold(history, |history, (oldest, _)| history.before(*oldest));
            let wanted = read.len() + limit;
            limit = PAGE;
            while let Some(snapshot) = history.next().await {
                let snapshot = snapshot?;
                let place = (snapshot.id, snapshot.created_at);
                if self.was_read(place) {
                    break;
                }
                self.add(graph, thread, &snapshot).await?;
                read.push(place);
            }
            if read.len() < wanted {
                break; // there are no others
            }
        }
        // The newest may get more: its tasks call subgraphs. Those before it cannot.
        self.through = read.get(1).copied().or(self.through);
        Ok(())
    }

    fn was_read(&self, (checkpoint, made_at): Place) -> bool {
        self.through.is_some_and(|(newest, at)| checkpoint <= newest && made_at <= at)
    }

    async fn add(
        &mut self,
        graph: &AnyGraph,
        thread: &AnyThread,
        snapshot: &StateSnapshot<AnyState>,
    ) -> Result<(), RunError> {
        self.secrets.add_state(graph, &snapshot.values);
        self.secrets.add_results(&snapshot.tasks);
        for task in &snapshot.tasks {
            self.add_calls(thread.subgraph_calls(&task.name, &task.id).await?).await?;
        }
        Ok(())
    }

    /// Adds those of all states of subgraphs, those below them included.
    async fn add_calls(&mut self, mut open: Vec<SubgraphRun>) -> Result<(), RunError> {
        while let Some(run) = open.pop() {
            for (nth, made) in run.checkpoints().await?.into_iter().enumerate() {
                if nth > 0 && !self.nested.insert(made.id) {
                    continue; // it was read, and is not the newest
                }
                let Some(found) = run.state_at(made.id).await? else { continue };
                self.secrets.add_past_nested(&found);
                for task in found.tasks.iter().filter(|task| task.subgraph) {
                    open.extend(run.calls_of(task).await?);
                }
            }
        }
        Ok(())
    }
}
