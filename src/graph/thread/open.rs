//! Opening a thread: the claim and its recorder, or only a reader. Runs nothing.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tokio::time::Instant;

use super::handle::{Thread, ThreadCore};
use crate::checkpoint::{AboutRecord, Checkpointer, Claim, Head, ThreadId, about_thread, near_threads, of_store};
use crate::graph::context::permits::semaphore;
use crate::graph::context::{BudgetUse, Budgets, Environment, EventOptions, Shared, Stragglers};
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::records::{Clock, Reader, Recorder, clock};
use crate::graph::run::trace;
use crate::graph::state::State;
use crate::graph::view::Sink;

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    /// Replaces the system clock for checkpoints, answers, [`Ctx::now`](crate::graph::Ctx::now) and waits. Retries and
    /// timeouts use tokio's.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.core = self.core.clock(clock);
        self
    }
}

impl ThreadCore {
    pub(crate) fn shared(&self, recorder: Option<Arc<Recorder>>, sink: Option<Sink>) -> Arc<Shared> {
        let mut shared = self.own_shared();
        shared.limits.may_ask = recorder.is_some() || self.graph.table.questions.unresumable;
        shared.events.timed |= sink.is_some();
        (shared.events.sink, shared.recorder) = (sink, recorder);
        Arc::new(shared)
    }

    /// Returns the part of a run that the handle determines.
    pub(crate) fn own_shared(&self) -> Shared {
        let concurrency = self.limits.concurrency;
        let events = EventOptions {
            sink: None,
            recorded: self.settings.records_events,
            traced: trace::is_on(),
            timed: trace::logs_warnings(),
        };
        let environment = Environment {
            host: self.environment.host.clone(),
            stage: self.environment.stage.clone(),
            cache: self.graph.cache.clone(),
            ..Environment::default()
        };
        Shared {
            context: Arc::clone(&self.context),
            thread: self.id.clone(),
            recorder: None,
            events,
            cancellation: self.cancellation.clone(),
            metadata: self.settings.metadata.clone(),
            limits: self.limits,
            budget: BudgetUse {
                limits: self.budgets(),
                running: (concurrency < usize::MAX).then(|| Arc::new(semaphore(concurrency))),
                spent: AtomicU64::new(0),
            },
            environment,
            replay: None,
            stragglers: Stragglers::default(),
        }
    }

    fn budgets(&self) -> Budgets {
        let until = self.settings.wall_time.map(|limit| (Instant::now() + limit, limit));
        Budgets { supersteps: self.settings.supersteps, until }
    }

    pub(crate) fn clock(mut self, clock: impl Clock) -> Self {
        self.environment.host.clock = Some(Arc::new(clock));
        self
    }

    /// Claims the thread and reads its head; none without a store.
    pub(crate) async fn open(&self) -> Result<Option<Arc<Recorder>>, RunError> {
        let (Some(store), Some(id)) = (&self.graph.store, &self.id) else { return Ok(None) };
        let claim = if self.settings.take_over { Claim::TakeOver } else { Claim::IfFree };
        let lease = store.claim(id, claim).await?;
        let about = about_thread(&**store, id).await?;
        Self::check_trust(&**store, id, about.as_ref())?;
        let born = || Head { checkpoint: None, next: 1, birth: self.environment.host.random() & clock::BIRTH };
        let head = store.head(id).await?.unwrap_or_else(born);
        let name = Arc::clone(&self.graph.name);
        let recorder = Recorder::new(Arc::clone(store), lease, head, self.settings.durability, name);
        self.open_stops(&recorder, about).await?;
        Ok(Some(Arc::new(recorder)))
    }

    /// Fails for an imported thread that nobody has trusted yet.
    pub(crate) async fn check_trusted(&self) -> Result<(), RunError> {
        let (Some(store), Some(id)) = (&self.graph.store, &self.id) else { return Ok(()) };
        Self::check_trust(&**store, id, about_thread(&**store, id).await?.as_ref())
    }

    fn check_trust(store: &dyn Checkpointer, id: &ThreadId, about: Option<&AboutRecord>) -> Result<(), RunError> {
        let foreign = of_store(store, about.and_then(|about| about.foreign.clone()));
        match foreign.is_some_and(|foreign| !foreign.trusted) {
            true => Err(RunError::Foreign { thread: id.clone() }),
            false => Ok(()),
        }
    }

    /// Returns a reader and the head, without claiming the thread.
    pub(crate) async fn reader(&self, what: &'static str) -> Result<(Reader, Option<Head>), RunError> {
        let (Some(store), Some(thread)) = (&self.graph.store, &self.id) else {
            return Err(RunError::NoCheckpointer { what });
        };
        let head = store.head(thread).await?;
        let birth = head.map_or(0, |head| head.birth);
        Ok((Reader { store: Arc::clone(store), thread: thread.clone(), birth, recorder: None, known: None }, head))
    }

    /// Returns a reader and the head of a thread that must exist.
    pub(crate) async fn known(&self, what: &'static str) -> Result<(Reader, Head), RunError> {
        let (reader, head) = self.reader(what).await?;
        if let Some(head) = head {
            return Ok((reader, head));
        }
        let near = near_threads(&*reader.store, &reader.thread).await;
        Err(RunError::UnknownThread { thread: reader.thread, near })
    }

    pub(crate) fn unknown(&self) -> RunError {
        RunError::EmptyInput { thread: self.id.clone().unwrap_or_else(|| "".into()) }
    }
}
