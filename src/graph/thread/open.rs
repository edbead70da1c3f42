//! Opening and leaving a thread: the claim and its recorder, or only a reader; the breakpoints that are stored with it, at
//! which handles without breakpoints of their own stop too; the end at which a run or an update left it, from which the next
//! one by the same graph continues: what was just stored need not be read again. Runs nothing.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tokio::time::Instant;

use super::handle::{Thread, ThreadCore};
use crate::checkpoint::{
    AboutRecord, Checkpointer, Claim, Key, StopRecord, ThreadHead, ThreadId, ThreadPlace, about_thread,
    effective_origin, encode_record, request_run, similar_threads,
};
use crate::graph::build::{StopOverrides, Stops};
use crate::graph::context::permits::semaphore;
use crate::graph::context::{
    BudgetUse, Budgets, Environment, EventOptions, Exit, LongTermMemory, RunShared, Stragglers,
};
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::records::{COMMAND_KEY, Clock, Host, KnownState, KnownValues, LastEnds, Reader, Recorder, clock};
use crate::graph::run::{Run, StoppedStep, trace};
use crate::graph::state::{Boxed, State, Storage};
use crate::graph::superstep::{Position, StoredChannels};
use crate::graph::view::Sink;

/// The memory that a kept task takes besides values, roughly, in bytes.
const TASK: u64 = 1024;

/// The end of a run.
pub(crate) struct RunEnd {
    pub position: Position,
    /// The superstep that it left interrupted.
    pub step: Option<StoppedStep>,
}

/// A [`RunEnd`], and the lease under which it was stored.
struct StoredEnd {
    end: Box<RunEnd>,
    epoch: u64,
}

impl RunEnd {
    /// Returns its size in memory, roughly, in bytes.
    fn bytes(&self) -> u64 {
        let state = self.position.channels.bytes;
        let Some(step) = &self.step else { return state };
        let results = if step.left.has_results() { state } else { 0 };
        state + results + step.len() as u64 * TASK
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    /// Replaces the clock of the store or the machine for checkpoints, answers, [`Ctx::now`](crate::graph::Ctx::now) and waits. Retries and
    /// timeouts use tokio's.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.core = self.core.clock(clock);
        self
    }

    /// Stores the breakpoints of this handle ([`interrupt_before`](Self::interrupt_before) and its like) with the
    /// thread, when it next runs or is updated. From then on every handle without breakpoints of its own stops there,
    /// in other processes and [runners](crate::graph::runner()) too; they take precedence over those of the graph. A
    /// handle without breakpoints removes the stored ones.
    ///
    /// ```
    /// # use superstep::graph::{NodeId, State, Writes};
    /// # use superstep::prelude::*;
    /// # async fn example<S: State, N: NodeId>(graph: CompiledGraph<S, N, ()>, review: N, input: Writes<S>) -> Result<(), RunError> {
    /// graph.thread("essay").interrupt_before([review]).remember_stops().invoke(input).await?;
    /// graph.thread("essay").proceed().await?; // a loop that reaches `review` again stops before it again
    /// graph.thread("essay").remember_stops().proceed().await?; // no more
    /// # Ok(()) }
    /// ```
    pub fn remember_stops(mut self) -> Self {
        self.core = self.core.remember_stops();
        self
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    /// Binds the thread to a machine and a folder, when it next runs or is updated: runners elsewhere leave it alone. For
    /// work in files that other machines do not have.
    pub fn place(mut self, place: ThreadPlace) -> Self {
        self.core.settings.place = Some(place);
        self
    }

    /// Asks the [runners](crate::graph::runner()) of the store to resume the thread, whatever its status is, and returns at
    /// once: with an answer stored before, after a failure, or past a breakpoint. The next run ends the request.
    ///
    /// # Errors
    /// [`RunError::UnknownThread`], [`RunError::NoCheckpointer`], [`RunError::Foreign`];
    /// [`CheckpointError::ThreadBusy`](crate::checkpoint::CheckpointError::ThreadBusy) while it runs; if the store fails.
    pub async fn request_run(&self) -> Result<(), RunError> {
        self.core.request_run().await
    }
}

impl ThreadCore {
    pub(crate) fn request_run(&self) -> Boxed<'_, Result<(), RunError>> {
        Box::pin(async move {
            self.check_whole("a request")?;
            let (reader, _) = self.known("a request").await?;
            self.check_trusted().await?;
            Ok(request_run(&*reader.store, &reader.thread, self.now()).await?)
        })
    }

    pub(crate) fn shared(&self, recorder: Option<Arc<Recorder>>, sink: Option<Sink>) -> Arc<RunShared> {
        let mut shared = self.own_shared();
        shared.limits.may_ask = recorder.is_some() || self.graph.table.questions.unresumable;
        shared.events.timed |= sink.is_some();
        (shared.events.sink, shared.recorder) = (sink, recorder);
        Arc::new(shared)
    }

    /// Returns the part of a run that the handle determines.
    pub(crate) fn own_shared(&self) -> RunShared {
        let concurrency = self.limits.concurrency;
        let events = EventOptions {
            sink: None,
            recorded: self.settings.records_events,
            traced: trace::is_on(),
            secrets: self.environment.secrets.clone().unwrap_or_default(),
            timed: trace::logs_warnings(),
        };
        let environment = Environment {
            host: self.host(),
            stage: self.environment.stage.clone(),
            cache: self.graph.cache.clone(),
            memory: LongTermMemory::of(self.graph.memory.as_ref()),
            ..Environment::default()
        };
        RunShared {
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

    /// Returns the clock and the random numbers of the thread's runs.
    fn host(&self) -> Host {
        self.environment.host.over(self.graph.store.as_ref())
    }

    /// Milliseconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        self.host().now()
    }

    pub(crate) fn clock(mut self, clock: impl Clock) -> Self {
        self.environment.host.clock = Some(Arc::new(clock));
        self
    }

    /// Returns the store of the thread, and its name there.
    pub(crate) fn stored_in(&self) -> Option<(&Arc<dyn Checkpointer>, &ThreadId)> {
        self.graph.store.as_ref().zip(self.id.as_ref())
    }

    /// Claims the thread and reads its head; none without a store.
    pub(crate) async fn open(&self) -> Result<Option<Arc<Recorder>>, RunError> {
        let Some((store, id)) = self.stored_in() else { return Ok(None) };
        let claim = if self.settings.take_over { Claim::TakeOver } else { Claim::IfFree };
        // One that was lost since the thread was claimed is claimed again, or the thread is busy.
        let lease = match self.environment.lease.take_for(id).filter(|lease| lease.check().is_ok()) {
            Some(lease) => lease,
            None => store.claim(id, claim).await?,
        };
        let about = about_thread(&**store, id).await?;
        Self::check_trust(&**store, id, about.as_ref())?;
        let born = || ThreadHead { checkpoint: None, next: 1, birth: self.environment.host.random() & clock::BIRTH };
        let head = store.head(id).await?.unwrap_or_else(born);
        let name = Arc::clone(&self.graph.name);
        let recorder = Recorder::new(Arc::clone(store), lease, head, self.settings.durability, name)
            .with_place(self.settings.place.clone());
        self.open_about(&recorder, about).await?;
        Ok(Some(Arc::new(recorder)))
    }

    /// Fails for an imported thread that nobody has trusted yet.
    pub(crate) async fn check_trusted(&self) -> Result<(), RunError> {
        let Some((store, id)) = self.stored_in() else { return Ok(()) };
        Self::check_trust(&**store, id, about_thread(&**store, id).await?.as_ref())
    }

    fn check_trust(store: &dyn Checkpointer, id: &ThreadId, about: Option<&AboutRecord>) -> Result<(), RunError> {
        let foreign = effective_origin(store, about.and_then(|about| about.foreign.clone()));
        match foreign.is_some_and(|foreign| !foreign.trusted) {
            true => Err(RunError::Foreign { thread: id.clone() }),
            false => Ok(()),
        }
    }

    /// Returns a reader and the head, without claiming the thread.
    pub(crate) async fn reader(&self, what: &'static str) -> Result<(Reader, Option<ThreadHead>), RunError> {
        let Some((store, thread)) = self.stored_in() else {
            return Err(RunError::NoCheckpointer { what });
        };
        let head = store.head(thread).await?;
        let birth = head.map_or(0, |head| head.birth);
        Ok((Reader { store: Arc::clone(store), thread: thread.clone(), birth, recorder: None, known: None }, head))
    }

    /// Returns a reader and the head of a thread that must exist.
    pub(crate) async fn known(&self, what: &'static str) -> Result<(Reader, ThreadHead), RunError> {
        let (reader, head) = self.reader(what).await?;
        if let Some(head) = head {
            return Ok((reader, head));
        }
        let near = similar_threads(&*reader.store, &reader.thread).await;
        Err(RunError::UnknownThread { thread: reader.thread, near })
    }

    pub(crate) fn empty_input_error(&self) -> RunError {
        RunError::EmptyInput { thread: self.id.clone().unwrap_or_else(|| "".into()) }
    }

    pub(crate) fn remember_stops(mut self) -> Self {
        self.settings.remembers = true;
        self
    }

    /// Passes the breakpoints of an opened thread to the recorder. Stores those of the handle if it remembers them, and its
    /// place; a request that the thread is run ends with the first commit.
    async fn open_about(&self, recorder: &Recorder, about: Option<AboutRecord>) -> Result<(), RunError> {
        let stored = about.as_ref().map(|about| about.stops.clone()).unwrap_or_default();
        let stops = if self.settings.remembers { self.own_stops() } else { stored };
        recorder.stops_at(stops.clone());
        let Some(about) = about else { return Ok(()) };
        let place = self.settings.place.clone().or_else(|| about.place.clone());
        let next = AboutRecord { stops, place, requested_at: None, ..about.clone() };
        if next == about {
            return Ok(());
        }
        let record = (Key::About, encode_record(&next)?.into());
        if (&next.stops, &next.place) == (&about.stops, &about.place) {
            recorder.add_rider(record);
            return Ok(());
        }
        Ok(recorder.commit_apart(vec![record]).await?)
    }

    fn own_stops(&self) -> Vec<StopRecord> {
        let before = self.settings.stops.before.iter().flat_map(|stops| self.records(stops, false));
        before.chain(self.settings.stops.after.iter().flat_map(|stops| self.records(stops, true))).collect()
    }

    fn records(&self, stops: &Stops<u32>, after: bool) -> Vec<StopRecord> {
        match stops {
            Stops::None => vec![],
            Stops::All => vec![StopRecord { node: None, after }],
            Stops::At(nodes) => {
                let name = |node: &u32| Some(self.graph.table.row(*node).name.to_string());
                nodes.iter().map(|node| StopRecord { node: name(node), after }).collect()
            }
        }
    }

    /// Returns the breakpoints of a run: the handle's, or else those stored with the thread.
    pub(crate) fn stops_over(&self, stored: &[StopRecord]) -> StopOverrides {
        let of = |own: &Option<Stops<u32>>, after| own.clone().or_else(|| self.stored_stops(stored, after));
        let StopOverrides { before, after } = &self.settings.stops;
        StopOverrides { before: of(before, false), after: of(after, true) }
    }

    fn stored_stops(&self, stored: &[StopRecord], after: bool) -> Option<Stops<u32>> {
        let mut stops = stored.iter().filter(|stop| stop.after == after).peekable();
        stops.peek()?;
        let nodes: Option<Vec<&str>> = stops.map(|stop| stop.node.as_deref()).collect();
        let Some(nodes) = nodes else { return Some(Stops::All) };
        Some(Stops::At(nodes.into_iter().filter_map(|name| self.graph.table.now(name)).collect()))
    }

    /// Returns the breakpoints of a run, with the stored ones read from the store.
    pub(crate) async fn read_stops(&self, reader: &Reader) -> Result<StopOverrides, RunError> {
        let about = about_thread(&*reader.store, &reader.thread).await?;
        Ok(self.stops_over(&about.map(|about| about.stops).unwrap_or_default()))
    }

    /// Returns the position at which the thread was left, unless it has moved since or has tasks to run.
    pub(super) fn take_end_at_rest(&self, recorder: &Recorder) -> Option<Box<RunEnd>> {
        self.take_end(recorder).filter(|end| end.position.control.is_idle(&self.graph.table.wiring))
    }

    /// Returns the position at which the thread was left, as its checkpoint has it, unless the thread has moved since.
    pub(super) async fn take_stored_end(
        &self,
        reader: &Reader,
        recorder: &Recorder,
    ) -> Result<Option<Box<RunEnd>>, RunError> {
        let Some(end) = self.take_end(recorder) else { return Ok(None) };
        // A command that is stored beside the checkpoint may have changed the position already.
        let command = Key::Task { checkpoint: end.position.meta.id, task: COMMAND_KEY };
        Ok(reader.get_one(command).await?.is_none().then_some(end))
    }

    /// Returns a reader that keeps what it has read, and starts with the state in which the graph left the thread.
    pub(super) fn with_end_read(&self, reader: Reader, head: Option<ThreadHead>) -> Reader {
        let state = |stored: &StoredEnd| {
            let position = &stored.end.position;
            let StoredChannels { slots, sizes, .. } = &position.channels;
            KnownState { state: position.state.clone(), slots: slots.clone(), sizes: sizes.clone() }
        };
        let known = head.and_then(|head| self.graph.last_ends.look_at(&reader.thread, head, state));
        Reader { known: Some(known.map_or_else(KnownValues::default, KnownValues::of_root)), ..reader }
    }

    fn take_end(&self, recorder: &Recorder) -> Option<Box<RunEnd>> {
        if self.at.is_some() || !self.scope.nodes.is_empty() {
            return None;
        }
        let head = recorder.head();
        let stored: Box<StoredEnd> = self.graph.last_ends.take(self.id.as_ref()?, head)?;
        let StoredEnd { mut end, epoch } = *stored;
        if recorder.lease().follows() != Some(epoch) {
            end.step = None; // another run may have changed records of its tasks
        }
        (head.checkpoint == Some(end.position.meta.id)).then_some(end)
    }

    /// Keeps the position at which a run or an update left the thread, once that is stored.
    pub(super) fn keep_end(&self, recorder: &Recorder, end: Option<Box<RunEnd>>) {
        let (Some(thread), Some(end)) = (&self.id, end) else { return };
        let (bytes, epoch) = (end.bytes(), recorder.lease().epoch());
        recorder.lease().mark_end();
        let stored = Box::new(StoredEnd { end, epoch });
        self.graph.last_ends.keep(thread.clone(), recorder.head(), bytes, stored);
    }
}

/// Returns true if a run that ended like this can be resumed from the position that it had.
pub(super) fn is_resumable(exit: &Exit) -> bool {
    matches!(exit, Exit::Finished | Exit::Interrupted | Exit::Waiting(_) | Exit::Awaiting(_))
}

/// Returns the end of a run, if it can be kept and is worth it: values that are never saved do not outlive their run, and
/// a run moves the writes of its input into the task that applies them.
pub(super) fn end_to_keep(mut run: Run) -> Option<Box<RunEnd>> {
    let is_whole = run.table.schema.channels().iter().all(|channel| channel.storage() != Storage::Never);
    if !is_whole || !run.is_root() || run.pos.start.is_some() {
        return None;
    }
    let step = run.take_left_step();
    let is_worth = step.is_some() || LastEnds::is_worth(run.pos.channels.bytes);
    is_worth.then(|| Box::new(RunEnd { position: run.pos, step }))
}
