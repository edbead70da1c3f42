//! Running the tasks of a superstep: a lone one in place; several are polled once in place and then move to the pool.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, OnceLock, PoisonError};
use std::task::{Context, Poll};

use superstep_base::panics::catch_panic;
use tokio::task::{JoinError, JoinSet};
use tracing::Instrument;

use super::finish::Ending;
use super::job::{AttemptRecords, Job, cached_result};
use super::perform::{PerformedTask, Running, start};
use super::pool::{FirstPolls, Panics, Pool, PooledTask};
use super::state::Run;
use crate::checkpoint::{Key, Row, Slot};
use crate::graph::context::{Attempt, AttemptProgress, Permits, StateCell, StateLocations, TaskCtx, TaskPosition};
use crate::graph::error::RunError;
use crate::graph::records::{NEW_LINE, START_KEY, START_NODE};
use crate::graph::superstep::writes::with_returned;
use crate::graph::superstep::{FinishedResult, Resolve, Task, TaskState};

/// The tasks of a superstep after a poll of the only one.
pub(super) enum LonePoll {
    /// None has started.
    Nothing,
    /// The only task was polled once.
    Running(Running),
    /// The only task has ended, but what follows may wait.
    Ended(PerformedTask),
    /// The only task has ended, without a result.
    Settled,
    /// The only task has a result.
    Done,
}

impl Run {
    /// Starts a task that is alone in its superstep, and polls it once.
    pub(super) fn run_at_once(&mut self, cx: &mut Context<'_>) -> Result<LonePoll, RunError> {
        let is_lone = matches!(&self.step.tasks[..], [Task { state: TaskState::Ready, .. }]);
        if !is_lone || self.step.left.is_some() || self.shared.environment.cache.is_some() {
            return Ok(LonePoll::Nothing);
        }
        self.begin_execution();
        if self.pos.start.is_some() {
            return self.start_step().map(|()| LonePoll::Done);
        }
        let mut running = self.begin(0);
        let Poll::Ready(performed) = Pin::new(&mut running).poll(cx) else { return Ok(LonePoll::Running(running)) };
        drop(running); // with what it holds of the context
        self.take_state_back();
        if self.has_listeners() || self.is_held(&performed) {
            return Ok(LonePoll::Ended(performed));
        }
        let ending = self.take_guarded(0, performed)?;
        Ok(if matches!(ending, Ending::Done { .. }) { LonePoll::Done } else { LonePoll::Settled })
    }

    pub(super) fn begin_execution(&mut self) {
        (self.step.has_failed, self.step.runs_again) = (false, false);
        if self.step.left.is_none() {
            self.step.open_questions = None;
        }
    }

    /// Runs every task that has no result yet. Returns false if the run was cancelled.
    pub(crate) async fn execute(&mut self) -> Result<bool, RunError> {
        self.go_on(LonePoll::Nothing).await
    }

    /// Does the same after what could be done without waiting.
    pub(super) async fn go_on(&mut self, polled: LonePoll) -> Result<bool, RunError> {
        let mut unanswered = self.shared.limits.rerun_unanswered;
        let mut goes_on = match polled {
            LonePoll::Nothing => {
                self.begin_execution();
                self.execute_ready(unanswered).await?
            }
            LonePoll::Running(running) => self.run_single(running).await?,
            LonePoll::Ended(performed) => self.settle(0, performed).await.map(|()| true)?,
            LonePoll::Settled | LonePoll::Done => true,
        };
        while goes_on && std::mem::take(&mut self.step.runs_again) {
            unanswered = false; // they have run
            goes_on = self.execute_ready(unanswered).await?;
        }
        Ok(goes_on)
    }

    /// Runs every task that is ready. `unanswered`: including those that wait for an answer.
    async fn execute_ready(&mut self, unanswered: bool) -> Result<bool, RunError> {
        if self.pos.start.is_some() {
            self.start_step()?;
            if self.step.tasks.len() == 1 {
                return Ok(true);
            }
            self.pos.channels.line = NEW_LINE; // the input was stored before what its siblings write
        }
        if self.shared.environment.cache.is_some() {
            Box::pin(self.take_from_cache(unanswered)).await?;
        }
        if let [only] = &self.step.tasks[..] {
            if only.runs(unanswered) {
                let running = self.begin(0);
                return self.run_single(running).await;
            }
            return Ok(true);
        }
        Box::pin(self.fan_out(unanswered)).await
    }

    async fn run_single(&mut self, mut running: Running) -> Result<bool, RunError> {
        let Some(performed) = self.run_to_end(&mut running).await else {
            let panic = running.abandon().err().map(|panic| (0, panic));
            self.take_state_back();
            return self.fail_dropped(panic.into_iter().collect());
        };
        drop(running); // with what it holds of the context
        self.take_state_back();
        self.settle(0, performed).await?;
        Ok(true)
    }

    /// Runs a lone task to its end; none if the run was cancelled.
    async fn run_to_end(&mut self, running: &mut Running) -> Option<PerformedTask> {
        match poll_once(running).await {
            Poll::Ready(performed) => Some(performed),
            Poll::Pending => {
                self.send_riders();
                tokio::select! {
                    biased;
                    performed = running => Some(performed),
                    () = self.shared.wait_for_cancel() => None,
                }
            }
        }
    }

    /// Stores where a subgraph began before time passes.
    fn send_riders(&self) {
        if let Some(recorder) = self.recorder().filter(|_| !self.is_root()) {
            recorder.send_riders();
        }
    }

    /// Takes results from the cache before any body starts: what one task caches is not for its siblings.
    async fn take_from_cache(&mut self, unanswered: bool) -> Result<(), RunError> {
        for nth in 0..self.active_count() {
            let at = self.active_index(nth);
            let task = &self.step.tasks[at];
            if !task.runs(unanswered) || self.table.row(task.node).options.execution.cache.is_none() {
                continue;
            }
            let job = self.job(at);
            let ending = match catch_panic(|| cached_result(&job)) {
                Ok(None) => continue,
                Ok(Some(result)) => self.done_from_cache(at, Box::new(result))?,
                Err(panic) => self.panicked_in(at, format!("its cache key: {panic}"))?,
            };
            self.emit_end(at, ending).await;
        }
        Ok(())
    }

    fn begin(&mut self, at: usize) -> Running {
        self.step.tasks[at].starts.all += 1;
        self.note_start(at);
        let node = self.step.tasks[at].node;
        if self.takes_permits(node) {
            return Running::begin_with_permit(self.job(at));
        }
        if self.table.row(node).execution.simple {
            let moved = self.may_move_state(node).then(Arc::<StateCell>::default);
            let ctx = self.context(at, moved.clone());
            let task = &self.step.tasks[at];
            let payload = task.packet.as_ref().map(|packet| &packet.payload);
            let body = start(&self.table, node, &self.pos.state, payload, Arc::clone(&ctx));
            self.move_state(moved);
            return Running::Simple(body, Some(ctx), 1);
        }
        Running::begin(self.job(at))
    }

    /// Returns true if something limits how many tasks like those of this node run at once.
    fn takes_permits(&self, node: u32) -> bool {
        self.shared.budget.running.is_some() || self.table.row(node).execution.group.is_some()
    }

    /// Notes when a task starts for the first time, if that is stored. One that runs alone has the times of its superstep.
    fn note_start(&mut self, at: usize) {
        let is_noted = self.step.tasks.len() > 1 && self.recorder().is_some();
        if is_noted && self.step.tasks[at].starts.times[0] == 0 {
            self.step.tasks[at].starts.times[0] = self.shared.now();
        }
    }

    fn job(&mut self, at: usize) -> Job {
        let ctx = self.context(at, None);
        let records = self.attempt_records(at);
        let task = &self.step.tasks[at];
        Job {
            table: Arc::clone(&self.table),
            state: self.pos.state.clone(),
            payload: task.packet.as_ref().map(|packet| Arc::clone(&packet.payload)),
            ctx,
            first_call: task.record.first_call,
            handled: task.record.handled.clone(),
            records,
            not_before: task.starts.not_before,
        }
    }

    /// Stores the attempts of tasks that a cancelled run dropped.
    pub(crate) async fn keep_attempts(&mut self) -> Result<(), RunError> {
        let Some(recorder) = self.recorder().cloned().filter(|_| self.pos.start.is_none()) else { return Ok(()) };
        let (mut puts, checkpoint) = (vec![], self.pos.meta.id);
        for task in &mut self.step.tasks {
            if task.starts.all > 0 && matches!(task.state, TaskState::Ready) {
                puts.push((Key::Task { checkpoint, task: task.key }, Row::record(task.dropped_record())));
            }
        }
        recorder.commit(puts, None).await?;
        Ok(())
    }

    pub(crate) fn context(&mut self, at: usize, moved_state: Option<Arc<StateCell>>) -> Arc<TaskCtx> {
        let task = &self.step.tasks[at];
        let row = self.table.row(task.node);
        let answers = task.answers.clone();
        let attempt = Attempt { number: 1, earlier: task.starts.all.saturating_sub(1), again: task.again, beat: None };
        let at = TaskPosition {
            step: self.pos.meta.step + 1,
            last_step: self.stops.last_step,
            checkpoint: self.pos.meta.id,
            node: task.node,
            task: task.key,
            version: self.pos.control.version,
        };
        let locations = self.locations(at.node);
        let permits = match self.takes_permits(at.node) {
            true => Permits::of(row.execution.group.iter().chain(&self.shared.budget.running).cloned()),
            false => None,
        };
        if let Some(mut used) = self.reusable.context.take()
            && let Some(ctx) = Arc::get_mut(&mut used)
        {
            (ctx.at, ctx.attempt, ctx.answers, ctx.locations, ctx.moved_state) =
                (at, attempt, answers, locations, moved_state);
            (ctx.children, ctx.permits, ctx.journal) =
                (self.pos.child_checkpoints(), permits, once_lock(task.journal.clone()));
            if !Arc::ptr_eq(&ctx.facts, &row.facts) {
                ctx.facts = Arc::clone(&row.facts);
            }
            ctx.progress.reset();
            return used;
        }
        Arc::new(TaskCtx {
            shared: Arc::clone(&self.shared),
            scope: Arc::clone(&self.scope),
            facts: Arc::clone(&row.facts),
            at,
            attempt,
            answers,
            children: self.pos.child_checkpoints(),
            locations,
            moved_state,
            permits,
            journal: once_lock(task.journal.clone()),
            progress: AttemptProgress::default(),
        })
    }

    /// Returns where the values of the state are, for a task that may run a subgraph over it.
    fn locations(&self, node: u32) -> Option<Arc<StateLocations>> {
        if node == START_NODE || self.table.row(node).children.is_empty() {
            return None;
        }
        self.recorder()?;
        let mut slots = self.pos.channels.slots.clone();
        self.pos.channels.stale.iter().for_each(|stale| slots[stale] = Slot::Absent);
        Some(Arc::new(StateLocations {
            state: self.pos.state.address(),
            schema: self.table.schema.clone(),
            namespace: self.scope.path.as_str().into(),
            slots,
            sizes: self.pos.channels.sizes.clone(),
        }))
    }

    /// Returns what stores the attempts of a task while it runs, if another attempt or an error handler may follow one.
    fn attempt_records(&mut self, at: usize) -> Option<AttemptRecords> {
        let options = &self.table.row(self.step.tasks[at].node).options;
        if options.execution.retry.is_empty() && options.on_error.is_none() {
            return None;
        }
        let recorder = Arc::clone(self.recorder()?);
        let key = self.task_key(self.step.tasks[at].key);
        Some(AttemptRecords::of(&mut self.step.tasks[at], recorder, key))
    }

    /// Polls each task once in place; unfinished tasks go to the pool, and all once first polls are slow.
    async fn fan_out(&mut self, unanswered: bool) -> Result<bool, RunError> {
        let mut pool = Pool { set: JoinSet::new(), places: vec![], panics: Panics::default() };
        let mut first_polls = FirstPolls::new();
        let limits = self.shared.limits;
        self.send_riders();
        // Of a superstep that an earlier run left interrupted, only the changed tasks are active.
        for nth in 0..self.active_count() {
            let at = self.active_index(nth);
            if !self.step.tasks[at].runs(unanswered) {
                continue;
            }
            // At the limit: what has ended so far is queued for the store before waiting for more.
            while pool.set.len() >= limits.concurrency {
                self.flush_settled(true).await?;
                if !self.join(&mut pool).await? {
                    return self.drop_pool(pool).await;
                }
            }
            if limits.fail_fast && self.has_failed() {
                break;
            }
            let mut running = self.begin(at);
            // A body that ends at its first poll needs no spawn.
            if first_polls.are_quick {
                let first = poll_once(&mut running).await;
                first_polls.note();
                if let Poll::Ready(performed) = first {
                    drop(running);
                    self.settle(at, performed).await?;
                    continue;
                }
            }
            // The others move to the pool, where a body that computes does not hold up its siblings.
            let task = PooledTask { at, running, panics: Arc::clone(&pool.panics) };
            let handle = match &self.step.span {
                Some(span) => pool.set.spawn(task.instrument(span.clone())),
                None => pool.set.spawn(task),
            };
            // A `JoinError` names only tokio's task, so the index is looked up by its id.
            pool.places.push((handle.id(), at));
        }
        self.flush_settled(!pool.set.is_empty()).await?;
        // All tasks have started: settle the rest as they end.
        while !pool.set.is_empty() {
            if limits.fail_fast && self.has_failed() {
                break; // dropping the set cancels the siblings
            }
            if !self.join(&mut pool).await? {
                return self.drop_pool(pool).await;
            }
            self.flush_settled(!pool.set.is_empty()).await?;
        }
        Ok(true)
    }

    /// Cancels the run: waits until the running tasks are dropped.
    async fn drop_pool(&mut self, mut pool: Pool) -> Result<bool, RunError> {
        pool.set.shutdown().await;
        let panics = std::mem::take(&mut *pool.panics.lock().unwrap_or_else(PoisonError::into_inner));
        let failed = self.fail_dropped(panics)?;
        if failed {
            self.keep_attempts().await?;
        }
        Ok(failed)
    }

    async fn join(&mut self, pool: &mut Pool) -> Result<bool, RunError> {
        let joined = tokio::select! {
            biased;
            joined = pool.set.join_next() => joined,
            () = self.shared.wait_for_cancel() => return Ok(false),
        };
        let mut joined = joined;
        while let Some(ended) = joined.take() {
            self.settle_joined(pool, ended).await?;
            if self.outbox.unacknowledged && !(self.shared.limits.fail_fast && self.has_failed()) {
                joined = pool.set.try_join_next(); // those that ended meanwhile share a commit
            }
        }
        Ok(true)
    }

    async fn settle_joined(
        &mut self,
        pool: &Pool,
        ended: Result<(usize, PerformedTask), JoinError>,
    ) -> Result<(), RunError> {
        let error = match ended {
            Ok((at, performed)) => return self.settle(at, performed).await,
            Err(error) => error,
        };
        let Some(at) = pool.place(error.id()) else { return Ok(()) };
        self.panicked_in(at, error.to_string()).map(drop)
    }

    fn has_failed(&self) -> bool {
        self.step.has_failed
    }

    /// Ends START as a task whose writes are the input.
    fn start_step(&mut self) -> Result<(), RunError> {
        let Some(at) = self.step.tasks.iter().position(|task| task.node == START_NODE && !task.is_done()) else {
            return Ok(());
        };
        let Some(start) = &mut self.pos.start else { return Ok(()) };
        let (writes, stored) = (std::mem::take(&mut start.writes), start.stored.clone());
        let mut finished = FinishedResult { writes, stored, ..Default::default() };
        finished.returned = self.input.raw.take();
        let goto = std::mem::take(&mut self.input.goto);
        if !goto.is_empty() {
            let from = self.node_name(START_NODE);
            let resolve = Resolve { table: &self.table, from: &from, made_by: (self.pos.meta.id, START_KEY) };
            resolve.command(goto, START_NODE, &mut finished)?;
            finished.routing.chosen = (finished.routing.targets.len() as u32, finished.routing.sends.len() as u32);
        }
        if self.step.tasks.len() > 1 {
            return self.start_beside(at, finished);
        }
        self.step.tasks[at].state = TaskState::Done(Box::new(finished));
        Ok(())
    }

    /// Ends START when input of `update_state` made it one of several tasks.
    fn start_beside(&mut self, at: usize, mut finished: FinishedResult) -> Result<(), RunError> {
        let seen = self.own_view(at, &self.pos.state, &finished.writes)?;
        let seen = with_returned(&seen, finished.returned.take());
        self.choose(START_NODE, START_KEY, &seen, &mut finished)?;
        self.finish_task(at, Box::new(finished), None)
    }
}

fn once_lock<T>(value: Option<T>) -> OnceLock<T> {
    value.map_or_else(OnceLock::new, OnceLock::from)
}

async fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    poll_fn(|cx| Poll::Ready(Pin::new(&mut *future).poll(cx))).await
}
