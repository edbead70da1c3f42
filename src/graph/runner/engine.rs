//! [`EngineWorker`]: a worker of an engine that says where and when a thread runs, such as Restate. Each of its calls is one turn
//! of one thread. Knows what a store says of the thread; must not know the engine.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use superstep_base::gather;
use superstep_base::time::system_time;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::claims::{ReadyThread, wanted_thread};
use super::report::{ThreadLedger, ThreadMark};
use super::resume::{EndedTurn, Runner, TurnStops};
use crate::checkpoint::{
    CheckpointError, Checkpointer, Claim, DueQuery, Lease, LeaseOwner, ListedThread, OwnerRequest, SummaryReader,
    ThreadId,
};
use crate::graph::error::RunError;
use crate::graph::host::AnyGraph;

/// The maximum number of threads that [`EngineWorker::lost`] returns.
const LOST: usize = 1000;
/// Permits of all turns; more than a semaphore can have are not needed.
const MOST: usize = Semaphore::MAX_PERMITS >> 3;

/// A worker of an engine that says where and when threads run: it is called with a thread, and runs it until it interrupts,
/// sleeps, waits, or ends. Made by [`Runner::called_by`].
///
/// The engine has to call one worker at a time for a thread: its next call takes over the lease of the one before, which
/// stops the latter's run if that still lives.
#[must_use = "a worker does nothing until `turn`"]
pub struct EngineWorker {
    runner: Runner,
    engine: &'static str,
    permits: Semaphore,
    all: u32,
    ledger: Mutex<ThreadLedger>,
    stops: TurnStops,
    /// Removals at an interval, beside the turns.
    cleaning: OnceLock<JoinSet<()>>,
}

/// The next call of a thread, which the engine has to see to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NextCall {
    /// When something is stored for it: whoever stores it [wakes](super::Dispatch::wake) the thread.
    WhenWoken,
    /// After this time.
    After(Duration),
    /// When somebody else, who runs it now, may have ended.
    Busy(Arc<LeaseOwner>),
    /// On another worker: this one does not have its graph, or is on another machine.
    Elsewhere(String),
}

impl fmt::Debug for EngineWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineWorker").field("engine", &self.engine).field("runner", &self.runner).finish()
    }
}

impl Runner {
    /// Turns the runner into a worker that an engine calls: the settings and hooks of turns stay. `engine` names the engine in the
    /// store: workers of the same engine take over each other's leases.
    ///
    /// # Errors
    /// [`RunError::NoCheckpointer`] if a graph has none.
    pub fn called_by(self, engine: &'static str) -> Result<EngineWorker, RunError> {
        self.graphs.stores_for("a worker")?;
        let all = u32::try_from(self.threads.min(MOST)).unwrap_or(u32::MAX);
        let permits = Semaphore::new(all as usize);
        let (ledger, stops, cleaning) = (Mutex::default(), TurnStops::default(), OnceLock::new());
        Ok(EngineWorker { runner: self, engine, permits, all, ledger, stops, cleaning })
    }
}

impl EngineWorker {
    /// Resumes a thread if it can be resumed now, and returns when the engine has to call again. A call for a thread that rests,
    /// or that does not exist, does nothing.
    ///
    /// Dropping the future cancels the run; it can be resumed.
    ///
    /// # Errors
    /// If a store fails: the engine calls again after a while.
    pub async fn turn(&self, thread: &ThreadId) -> Result<NextCall, RunError> {
        let _permit = self.permits.acquire().await; // never closed
        if self.is_stopping() {
            return Ok(NextCall::After(Duration::ZERO));
        }
        let Some(found) = self.find(thread).await? else { return Ok(NextCall::WhenWoken) };
        if !found.listed.can_resume() {
            return Ok(found.next());
        }
        let graph = match self.graph(&found) {
            Ok(graph) => graph,
            Err(reason) => return Ok(NextCall::Elsewhere(reason)),
        };
        let lease = match found.store.claim(thread, Claim::ForEngine(self.engine)).await {
            Err(CheckpointError::ThreadBusy { owner, .. }) => return Ok(NextCall::Busy(owner)),
            lease => lease?,
        };
        self.turn_claimed(graph, lease, found.store).await
    }

    /// Runs a claimed thread.
    async fn turn_claimed(
        &self,
        graph: &AnyGraph,
        lease: Lease,
        store: Arc<dyn Checkpointer>,
    ) -> Result<NextCall, RunError> {
        let id = lease.thread().clone();
        // Somebody may have run it since it was found.
        let found = self.read(store, &id).await?.filter(|_| !lease.follows_cancel());
        let Some(found) = found else {
            lease.release().await?;
            return Ok(NextCall::WhenWoken);
        };
        if !found.listed.can_resume() {
            lease.release().await?;
            return Ok(found.next());
        }
        let (cancel, mark) = (lease.cancel().clone(), ThreadMark::from(&found.listed));
        if self.ledger().rejects(&id, &mark, self.runner.resumes) {
            lease.leave().await?;
            return Ok(NextCall::WhenWoken);
        }
        let Some(thread) = wanted_thread(graph, lease, &found.listed).await? else { return Ok(NextCall::WhenWoken) };
        self.ledger().begin(&id, mark.clone());
        let due = found.listed.due.map(system_time);
        let ready = ReadyThread { thread, id: id.clone(), mark: mark.clone(), due };
        let EndedTurn { stop, .. } = self.runner.turn(ready, &self.stops).await;
        self.ledger().end(&id);
        let stop = stop?;
        if let Some(RunError::Checkpoint(error @ CheckpointError::Outage { .. })) = stop.error {
            return Err(error.into());
        }
        if stop.is_cancelled {
            self.leave(&found.store, &id).await?;
        }
        match cancel.is_cancelled() || stop.is_cancelled {
            true => Ok(NextCall::WhenWoken),
            false => Ok(self.read(found.store, &id).await?.map_or(NextCall::WhenWoken, |found| found.next())),
        }
    }

    /// Has a thread whose run was cancelled left alone until somebody writes it.
    async fn leave(&self, store: &Arc<dyn Checkpointer>, id: &ThreadId) -> Result<(), RunError> {
        self.ledger().cancel(id.clone());
        match store.claim(id, Claim::ForEngine(self.engine)).await {
            Err(CheckpointError::ThreadBusy { .. }) => Ok(()),
            lease => Ok(lease?.leave().await?),
        }
    }

    /// Returns threads that can be resumed and that nobody runs: those whose call was lost, and those whose call is on its
    /// way. To be asked for from time to time, and woken. The first call starts what the runner
    /// [removes](Runner::gc_every) at an interval.
    ///
    /// # Errors
    /// If a store fails.
    pub async fn lost(&self) -> Result<Vec<ThreadId>, RunError> {
        let (mut lost, stores) = (vec![], self.runner.graphs.stores_for("a worker")?);
        self.cleaning.get_or_init(|| self.runner.clean_up(&stores));
        for (nth, store) in stores.iter().enumerate() {
            let mut query = DueQuery::new(Vec::<String>::new(), LOST);
            let own = self.runner.graphs.over(store);
            query.graphs = gather(own.map(|graph| (graph.name().to_owned(), graph.version())));
            query.except = self.ledger().running().clone();
            query.with_left = self.ledger().judges_left(nth);
            for (lease, found) in store.due(&query).await?.threads {
                lease.release().await?;
                lost.push(found.id);
            }
            self.ledger().note_all_judged(nth);
        }
        Ok(lost)
    }

    /// Asks whoever runs a thread to stop at once. Does nothing if nobody runs it.
    ///
    /// # Errors
    /// If a store fails.
    pub async fn cancel(&self, thread: &ThreadId) -> Result<(), RunError> {
        for store in self.runner.graphs.stores_for("a worker")? {
            store.send(thread, OwnerRequest::Cancel).await?;
        }
        Ok(())
    }

    /// Lets the current turns end after their supersteps, cancels them after the [grace](Runner::grace) time, and waits for them.
    /// No thread is resumed any more.
    pub async fn stop(&self) {
        self.stops.drain.cancel();
        if timeout(self.runner.grace, self.permits.acquire_many(self.all)).await.is_err() {
            self.stops.cancel.cancel();
            _ = timeout(self.runner.grace, self.permits.acquire_many(self.all)).await;
        }
    }

    /// Returns a token that is cancelled when the worker [stops](Self::stop).
    pub fn stopping(&self) -> &CancellationToken {
        &self.stops.drain
    }

    fn is_stopping(&self) -> bool {
        self.stops.drain.is_cancelled()
    }

    /// Returns the graph of a thread, or the reason why it cannot run here.
    fn graph(&self, found: &FoundThread) -> Result<&AnyGraph, String> {
        let (name, version) = (&found.listed.graph, found.listed.version);
        let graph = self.runner.graphs.over(&found.store).find(|graph| graph.name() == *name);
        let graph = graph.ok_or_else(|| format!("this program has no graph `{name}`"))?;
        if version > graph.version() {
            return Err(format!(
                "version {version} of the graph `{name}` stored it, and this program has {}",
                graph.version()
            ));
        }
        match found.listed.place.as_ref().filter(|place| !place.is_here()) {
            Some(place) => Err(format!("it is bound to {place}")),
            None => Ok(graph),
        }
    }

    async fn find(&self, id: &ThreadId) -> Result<Option<FoundThread>, RunError> {
        for store in self.runner.graphs.stores_for("a worker")? {
            if let Some(found) = self.read(store, id).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Reads a thread as if nobody ran it.
    async fn read(&self, store: Arc<dyn Checkpointer>, id: &ThreadId) -> Result<Option<FoundThread>, RunError> {
        let Some(listed) = SummaryReader::new(&&*store).read_records(id).await? else { return Ok(None) };
        let now = self.runner.time(Some(&store));
        let listed = listed.at(now, store.is_foreign());
        Ok(Some(FoundThread { store, listed, now }))
    }

    fn ledger(&self) -> MutexGuard<'_, ThreadLedger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread in one of the stores, as of a time.
struct FoundThread {
    store: Arc<dyn Checkpointer>,
    listed: ListedThread,
    /// In milliseconds since 1970.
    now: u64,
}

impl FoundThread {
    fn next(&self) -> NextCall {
        match self.listed.due {
            _ if self.listed.can_resume() => NextCall::After(Duration::ZERO),
            Some(due) => NextCall::After(Duration::from_millis(due.saturating_sub(self.now))),
            None => NextCall::WhenWoken,
        }
    }
}
