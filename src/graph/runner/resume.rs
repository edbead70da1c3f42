//! The runner: its settings, its loop over the threads that its stores hand out, and its turns.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::future::select_all;
use superstep_base::panics::{catch_panic, catch_panic_in};
use superstep_base::time::system_time;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::claims::{Claims, ReadyThread, StoreCheck};
use super::housekeeping::Housekeeping;
use super::report::{RunnerQuestion, RunnerReport, RunnerStop, ThreadLedger};
use crate::checkpoint::{
    BoxFuture, CheckpointError, Checkpointer, Expiry, ExpiryReport, Retention, StoreGcReport, StoreWatch, ThreadId,
};
use crate::graph::error::RunError;
use crate::graph::host::{AnyGraph, AnyThread, Graphs};
use crate::graph::records::{Clock, Host};
use crate::graph::run::catch_panics::catch_panics;
use crate::graph::thread::Status;

/// Returns a runner of the threads of these graphs, each of which needs a checkpointer. Graphs may share one.
///
/// It resumes threads after a crash, threads whose sleep is over, and threads answered elsewhere. It does not resume
/// threads that wait for an answer, failed, stopped at a breakpoint, or need migration; threads that another run holds;
/// threads that a newer [version](crate::graph::StateGraph::version) of their graph stored; and imported threads that are not
/// trusted.
///
/// ```
/// # use std::sync::Arc;
/// # use superstep::graph::runner;
/// # use superstep::graph::runner::{RunnerGraph, Until};
/// # use superstep::prelude::*;
/// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Draft { topic: String, #[channel(add)] runs: u32 }
/// # #[derive(NodeId)] enum Step { Write }
/// # async fn write(_: Arc<Draft>, _: Ctx) -> Result<DraftUpdate, NodeError> { Ok(Draft::update().runs(1)) }
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let graph = StateGraph::new().add_node(Step::Write, write).add_sequence([Step::Write]).compile()?;
/// let graph = graph.named("draft").with_checkpointer(MemoryCheckpointer::new());
/// graph.thread("a").max_supersteps(0).invoke(Draft::update().topic("tides")).await?; // stored, not run
/// let report = runner([graph.clone()])
///     .on_question(|asked| async move { println!("{}: {}", asked.thread, asked.question.json()) })
///     .run(Until::Idle)
///     .await?;
/// assert_eq!(report.turns, 1);
/// # Ok(()) }
/// ```
pub fn runner(graphs: impl IntoIterator<Item = impl Into<AnyGraph>>) -> Runner {
    Runner::new(graphs.into_iter().collect())
}

/// A graph of a runner: [`AnyGraph`], with the context of its threads.
pub type RunnerGraph = AnyGraph;

/// A turn of a runner: a thread that it resumes.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunnerTurn {
    /// The thread, set to stop with the runner: `thread.proceed()` resumes it.
    pub thread: AnyThread,
    /// Cancelled when the time is over that the runner gives its runs to stop.
    pub cancel: CancellationToken,
    /// The time since when the thread was due, by the clock of its store.
    pub due: Option<SystemTime>,
}

/// The end of a turn that was driven by a function: see [`Runner::drive_with`].
#[derive(Debug, Default)]
pub struct TurnEnd {
    /// The error that the run ended with.
    pub error: Option<RunError>,
    /// True if this run alone was cancelled: the runner does not resume the thread again.
    pub is_cancelled: bool,
}

async fn proceed(turn: RunnerTurn) -> Result<TurnEnd, RunError> {
    Ok(TurnEnd { error: turn.thread.proceed().await.err(), is_cancelled: false })
}

/// The end of a runner.
#[derive(Clone, Debug)]
pub enum Until {
    /// Until no thread can be resumed now. Sleeping threads keep sleeping.
    Idle,
    /// For this time.
    For(Duration),
    /// Until the token is cancelled.
    Cancelled(CancellationToken),
}

impl From<Duration> for Until {
    fn from(time: Duration) -> Self {
        Self::For(time)
    }
}

impl From<CancellationToken> for Until {
    fn from(token: CancellationToken) -> Self {
        Self::Cancelled(token)
    }
}

type Hook<T> = Arc<dyn Fn(T) -> BoxFuture<'static, ()> + Send + Sync>;
type UnknownGraphHook = Arc<dyn Fn(&str, u32) + Send + Sync>;
type GcHook = Arc<dyn Fn(Result<(ExpiryReport, StoreGcReport), CheckpointError>) + Send + Sync>;
type Drive = Arc<dyn Fn(RunnerTurn) -> BoxFuture<'static, Result<TurnEnd, RunError>> + Send + Sync>;

/// Resumes the threads of a store; made by [`runner`].
#[must_use = "a runner does nothing until `run` is called"]
pub struct Runner {
    pub(super) graphs: Graphs,
    drive: Drive,
    pub(super) threads: usize,
    pub(super) resumes: u32,
    poll: Duration,
    pub(super) grace: Duration,
    host: Host,
    wake: Arc<Notify>,
    stop: CancellationToken,
    asked: Vec<Hook<RunnerQuestion>>,
    stopped: Vec<Hook<RunnerStop>>,
    unknown: Vec<UnknownGraphHook>,
    keeping: Option<Housekeeping>,
    cleaned: Vec<GcHook>,
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.graphs.iter().map(|graph| graph.name()).collect();
        f.debug_struct("Runner").field("graphs", &names).finish_non_exhaustive()
    }
}

impl Runner {
    fn new(graphs: Graphs) -> Self {
        Self {
            graphs,
            drive: Arc::new(|turn| Box::pin(proceed(turn))),
            threads: 16,
            resumes: 3,
            poll: Duration::from_secs(5),
            grace: Duration::from_secs(10),
            host: Host::default(),
            wake: Arc::default(),
            stop: CancellationToken::new(),
            asked: vec![],
            stopped: vec![],
            unknown: vec![],
            keeping: None,
            cleaned: vec![],
        }
    }

    /// Drives each turn with a function of the host, for example to listen to the events of the run: it resumes the thread
    /// and returns how the run ended. An error of the function itself is counted, and the turn is not reported.
    pub fn drive_with<Fut>(mut self, drive: impl Fn(RunnerTurn) -> Fut + Send + Sync + 'static) -> Self
    where
        Fut: Future<Output = Result<TurnEnd, RunError>> + Send + 'static,
    {
        self.drive = Arc::new(move |turn| Box::pin(drive(turn)));
        self
    }

    /// Ends the runner when the token is cancelled, whatever its [`Until`]; current runs get the [grace](Self::grace) time.
    pub fn stop_with(mut self, stop: CancellationToken) -> Self {
        self.stop = stop;
        self
    }

    /// Sets the number of threads that run at once; 16 unless set, 0 counts as 1.
    pub fn max_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Sets how often a thread without progress is resumed: 3 unless set. After that it is left alone until its position
    /// changes.
    pub fn max_resumes(mut self, times: u32) -> Self {
        self.resumes = times.max(1);
        self
    }

    /// Sets the interval at which the store is checked for answers and new threads; 5 seconds unless set. A store of this
    /// process wakes the runner by itself: see [`Checkpointer::watch`](crate::checkpoint::Checkpointer::watch).
    pub fn poll_every(mut self, time: Duration) -> Self {
        self.poll = time.max(Duration::from_millis(1));
        self
    }

    /// Sets the time that runs get to stop when the runner ends, before they are cancelled: 10 seconds unless set. They
    /// stop after their superstep, and can be resumed later.
    pub fn grace(mut self, time: Duration) -> Self {
        self.grace = time;
        self
    }

    /// Replaces the machine's clock.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.host.clock = Some(Arc::new(clock));
        self
    }

    /// Calls a function for each question asked in a turn. The thread counts as running until the function has ended.
    pub fn on_question<Fut>(mut self, hook: impl Fn(RunnerQuestion) -> Fut + Send + Sync + 'static) -> Self
    where
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.asked.push(Arc::new(move |asked| Box::pin(hook(asked))));
        self
    }

    /// Calls a function after each turn, whatever it ended with.
    pub fn on_stop<Fut>(mut self, hook: impl Fn(RunnerStop) -> Fut + Send + Sync + 'static) -> Self
    where
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.stopped.push(Arc::new(move |stop| Box::pin(hook(stop))));
        self
    }

    /// Calls a function when threads are due whose graph the runner does not have, or only in an older version, once for each
    /// graph: with its name, and the newest version that stored one of them. The runner leaves them to others.
    pub fn on_unknown_graph(mut self, hook: impl Fn(&str, u32) + Send + Sync + 'static) -> Self {
        self.unknown.push(Arc::new(hook));
        self
    }

    /// Removes at an interval, and at the start, finished threads that have [expired](crate::checkpoint::expire_threads), and what no
    /// kept checkpoint [needs](crate::checkpoint::gc_all), in all stores of the runner. Not done unless set.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use superstep::checkpoint::{Expiry, Retention};
    /// # use superstep::graph::{AnyGraph, runner};
    /// # fn example(graph: AnyGraph) {
    /// let (hour, day) = (Duration::from_secs(3600), Duration::from_secs(86_400));
    /// let expiry = Expiry::new().finished(30 * day).finished_of("chat", 7 * day);
    /// let runner = runner([graph]).gc_every(hour, expiry, Retention::new().keep_last(20));
    /// # }
    /// ```
    pub fn gc_every(mut self, interval: Duration, expiry: Expiry, retention: Retention) -> Self {
        self.keeping = Some(Housekeeping { interval, expiry, retention });
        self
    }

    /// Calls a function after each removal of [`gc_every`](Self::gc_every), with its reports. A removal that fails is tried again
    /// after the interval.
    pub fn on_gc(
        mut self,
        hook: impl Fn(Result<(ExpiryReport, StoreGcReport), CheckpointError>) + Send + Sync + 'static,
    ) -> Self {
        self.cleaned.push(Arc::new(hook));
        self
    }

    /// Returns a handle that makes the runner check the store at once: for stores that send no hints.
    pub fn waker(&self) -> RunnerWaker {
        RunnerWaker(Arc::clone(&self.wake))
    }

    /// Resumes threads until `until`. Dropping the future cancels the current runs; they can be resumed.
    ///
    /// # Errors
    /// [`RunError::NoCheckpointer`] if a graph has none; if a store cannot be read. A failed thread does not end the
    /// runner, and an outage of a shared store does so only with [`Until::Idle`].
    pub async fn run(&self, until: impl Into<Until>) -> Result<RunnerReport, RunError> {
        let until = until.into();
        let ends = async {
            tokio::select! {
                () = wait_for_end(&until) => {}
                () = self.stop.cancelled() => {}
            }
        };
        // One future for all rounds: a new one would restart the time of `Until::For` each time.
        tokio::pin!(ends);
        // Each round checks the stores, starts what can run, and waits for a reason to check again.
        let (mut shift, stores) = (Shift::default(), self.graphs.stores_for("a runner")?);
        let _cleaning = self.clean_up(&stores);
        let mut watches: Vec<StoreWatch> = stores.iter().map(|store| store.watch()).collect();
        loop {
            let free = self.threads.saturating_sub(shift.turns.len());
            let round = match self.claims().round(&stores, &mut shift.ledger, free).await {
                // Its turns have waited for the store as well; the next check may find it again.
                Err(error) if is_outage(&error) && !matches!(until, Until::Idle) => {
                    tracing::warn!(%error, "no threads can be claimed");
                    StoreCheck::default()
                }
                round => round?,
            };
            shift.report.wake = round.wake;
            (shift.report.given_up, shift.report.unknown_graphs) =
                (shift.ledger.given_up(), shift.ledger.unknown_graphs());
            round.unknown.iter().for_each(|(graph, version)| self.report_unknown(graph, *version));
            round.ready.into_iter().for_each(|ready| self.start(&mut shift, ready));
            // Idle only without running turns: a turn that ends may leave its thread ready again.
            if matches!(until, Until::Idle) && shift.turns.is_empty() {
                return Ok(shift.report);
            }
            tokio::select! {
                () = &mut ends => return Ok(self.end(shift).await),
                Some(ended) = shift.turns.join_next() => shift.note(ended),
                () = self.wake.notified() => {}
                () = any_changed(&mut watches) => {}
                () = sleep_until(self.next_look(&stores, shift.report.wake)) => {}
            }
        }
    }

    /// Starts what is done at an interval beside the turns; dropping it ends it.
    pub(super) fn clean_up(&self, stores: &[Arc<dyn Checkpointer>]) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        for store in stores {
            let Some(keeping) = self.keeping.clone() else { break };
            let (store, host, hooks) = (Arc::clone(store), self.host.clone(), self.cleaned.clone());
            tasks.spawn(async move {
                keeping
                    .run(&*store, &host, |done| hooks.iter().for_each(|hook| _ = catch_panic(|| hook(done.clone()))))
                    .await;
            });
        }
        tasks
    }

    fn claims(&self) -> Claims<'_> {
        Claims { graphs: &self.graphs, host: &self.host, resumes: self.resumes, poll: self.poll }
    }

    fn report_unknown(&self, graph: &str, version: u32) {
        tracing::info!(graph, version, "threads of this graph are left to other runners");
        self.unknown.iter().for_each(|hook| _ = catch_panic(|| hook(graph, version)));
    }

    /// Returns the time of the next check, unless something wakes the runner before.
    fn next_look(&self, stores: &[Arc<dyn Checkpointer>], wake: Option<SystemTime>) -> Instant {
        let now = system_time(self.time(stores.first()));
        let until = wake.map_or(self.poll, |wake| wake.duration_since(now).unwrap_or_default().min(self.poll));
        // A custom clock may not move: never spin.
        Instant::now() + until.max(Duration::from_millis(1))
    }

    fn start(&self, shift: &mut Shift, ready: ReadyThread) {
        shift.ledger.begin(&ready.id, ready.mark.clone());
        shift.report.turns += 1;
        shift.turns.spawn(self.turn(ready, &shift.stops));
    }

    /// Returns the turn of a claimed thread, with the calls of the hooks at its end.
    pub(super) fn turn(
        &self,
        ready: ReadyThread,
        stops: &TurnStops,
    ) -> impl Future<Output = EndedTurn> + Send + 'static {
        let ReadyThread { thread: claimed, id: thread, due, .. } = ready;
        let mut resumed = claimed.cancel_with(stops.cancel.clone()).drain_with(stops.drain.clone());
        resumed.core.environment.host = self.host.clone();
        let lease = resumed.core.environment.lease.clone();
        let turn = RunnerTurn { thread: resumed, cancel: stops.cancel.clone(), due };
        let driven = catch_panics("resuming a thread", drive(Arc::clone(&self.drive), thread.clone(), turn));
        let (asked, stopped) = (self.asked.clone(), self.stopped.clone());
        async move {
            let stop = driven.await;
            drop(lease.take()); // of a turn that has not run the thread
            let panics = match &stop {
                Ok(stop) => call_hooks(stop, &asked, &stopped).await,
                Err(_) => 0,
            };
            EndedTurn { thread, stop, panics }
        }
    }

    /// Lets the runs end after their supersteps, and cancels them after the grace time.
    async fn end(&self, mut shift: Shift) -> RunnerReport {
        shift.stops.drain.cancel();
        let patience = tokio::time::sleep(self.grace);
        tokio::pin!(patience);
        loop {
            tokio::select! {
                ended = shift.turns.join_next() => match ended {
                    Some(ended) => shift.note(ended),
                    None => return shift.report,
                },
                () = &mut patience, if !shift.stops.cancel.is_cancelled() => shift.stops.cancel.cancel(),
            }
        }
    }

    /// Returns the time by the clock that was set, or that of a store.
    pub(super) fn time(&self, store: Option<&Arc<dyn Checkpointer>>) -> u64 {
        self.host.over(store).now()
    }
}

/// Makes a [`Runner`] check its store at once.
#[derive(Clone, Debug)]
pub struct RunnerWaker(Arc<Notify>);

impl RunnerWaker {
    /// Wakes the runner.
    pub fn wake(&self) {
        self.0.notify_one();
    }
}

/// Drives a turn, and reports how the thread stands afterwards.
async fn drive(drive: Drive, id: ThreadId, turn: RunnerTurn) -> Result<RunnerStop, RunError> {
    let thread = turn.thread.clone();
    let TurnEnd { error, is_cancelled } = drive(turn).await?;
    let status = thread.status().await?;
    Ok(RunnerStop { thread: id, graph: thread.graph().name().to_owned(), status, error, is_cancelled })
}

pub(super) struct EndedTurn {
    thread: ThreadId,
    pub(super) stop: Result<RunnerStop, RunError>,
    /// The number of calls of hooks that panicked.
    panics: u64,
}

/// The tokens by which all turns of a runner are stopped: after their supersteps, or at once.
#[derive(Debug, Default)]
pub(super) struct TurnStops {
    pub(super) drain: CancellationToken,
    pub(super) cancel: CancellationToken,
}

#[derive(Default)]
struct Shift {
    turns: JoinSet<EndedTurn>,
    ledger: ThreadLedger,
    report: RunnerReport,
    stops: TurnStops,
}

impl Shift {
    fn note(&mut self, ended: Result<EndedTurn, tokio::task::JoinError>) {
        let Ok(EndedTurn { thread, stop, panics }) = ended else { return }; // never: panics are caught within the turn
        self.report.errors += panics;
        match &stop {
            Ok(stop) => {
                self.report.count(stop);
                if stop.is_cancelled {
                    self.ledger.cancel(thread.clone());
                }
            }
            Err(_) => self.report.errors += 1,
        }
        self.ledger.end(&thread);
    }
}

/// Calls all hooks. Returns the number of calls that panicked.
async fn call_hooks(stop: &RunnerStop, asked: &[Hook<RunnerQuestion>], stopped: &[Hook<RunnerStop>]) -> u64 {
    let mut panics = 0;
    if let Status::Interrupted { questions } = &stop.status {
        for question in questions {
            let RunnerStop { thread, graph, .. } = stop.clone();
            let question = RunnerQuestion { thread, graph, question: question.clone() };
            panics += call(asked, &question).await;
        }
    }
    panics + call(stopped, stop).await
}

async fn call<T: Clone>(hooks: &[Hook<T>], with: &T) -> u64 {
    let mut panics = 0;
    for hook in hooks {
        let called = catch_panic_in(async { hook(with.clone()).await }).await;
        panics += u64::from(called.is_err());
    }
    panics
}

fn is_outage(error: &RunError) -> bool {
    matches!(error, RunError::Checkpoint(CheckpointError::Outage { .. }))
}

async fn wait_for_end(until: &Until) {
    match until {
        Until::Idle => std::future::pending().await,
        Until::For(time) => tokio::time::sleep(*time).await,
        Until::Cancelled(token) => token.cancelled().await,
    }
}

/// Waits until one of the stores may have changed.
async fn any_changed(watches: &mut [StoreWatch]) {
    let changes: Vec<_> = watches.iter_mut().map(|watch| Box::pin(watch.changed())).collect();
    if changes.is_empty() {
        std::future::pending().await
    }
    select_all(changes).await;
}
