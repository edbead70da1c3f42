//! Supersteps of a run that stores nothing and that nobody watches: as long as each has one task, which ends at its first poll, they go on
//! without what only other runs need. Their rules are those of the loop, by the same functions; the first that is anything else goes on there.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use superstep_base::panics::catch_panic;

use super::apply::fire;
use super::execute::LonePoll;
use super::perform::{PerformedTask, Running, start};
use super::state::Run;
use crate::checkpoint::Source;
use crate::graph::build::{Stops, Table};
use crate::graph::context::TaskCtx;
use crate::graph::error::RunError;
use crate::graph::node::AnyCommand;
use crate::graph::state::Mask;
use crate::graph::superstep::writes::apply_writes;
use crate::graph::superstep::{FinishedResult, Task, TaskState};

/// The number of supersteps after which the runtime may run something else.
const MANY: usize = 64;

impl Run {
    /// Returns true if nothing of this run is stored, shown, limited or stopped but by its end.
    pub(super) fn is_plain(&self) -> bool {
        let (events, budget) = (&self.shared.events, &self.shared.budget);
        let is_unseen = events.sink.is_none() && !events.traced && !self.table.has_secrets;
        let is_unlimited =
            budget.running.is_none() && budget.limits.supersteps.is_none() && budget.limits.until.is_none();
        let is_unstored = self.shared.recorder.is_none() && self.shared.environment.cache.is_none();
        let has_no_stops = self.breakpoints().iter().all(|stops| matches!(stops, Stops::None));
        self.is_root() && is_unseen && is_unlimited && is_unstored && has_no_stops && self.shared.replay.is_none()
    }

    /// Runs supersteps as long as they are plain. Returns what has become of the next one.
    pub(super) async fn run_plain(&mut self, table: &Table) -> Result<LonePoll, RunError> {
        loop {
            match poll_fn(|cx| Poll::Ready(self.run_some(table, cx))).await? {
                Some(polled) => return Ok(polled),
                None => tokio::task::consume_budget().await,
            }
        }
    }

    fn run_some(&mut self, table: &Table, cx: &mut Context<'_>) -> Result<Option<LonePoll>, RunError> {
        for _ in 0..MANY {
            let polled = self.run_one(table, cx)?;
            if polled.is_some() {
                return Ok(polled);
            }
        }
        Ok(None)
    }

    /// Runs a superstep. Returns what has become of it, if it is not plain.
    #[inline]
    fn run_one(&mut self, table: &Table, cx: &mut Context<'_>) -> Result<Option<LonePoll>, RunError> {
        self.plan();
        if !self.starts_plainly(table) {
            return Ok(Some(LonePoll::Nothing));
        }
        self.begin_execution();
        self.step.tasks[0].starts.all += 1;
        let ctx = self.plain_context(table);
        let mut body = start(table, ctx.at.node, &self.pos.state, None, Arc::clone(&ctx));
        let Poll::Ready(ended) = Pin::new(&mut body).poll(cx) else {
            return Ok(Some(LonePoll::Running(Running::Simple(body, Some(ctx), 1))));
        };
        drop(body); // with what it holds of the context
        match ended {
            Ok(Ok(command)) if self.is_all(&ctx, &command) => {
                self.reusable.plain_context = Some(ctx);
                self.end_plainly(table, command).map(|()| None)
            }
            ended => Ok(Some(LonePoll::Ended(PerformedTask::without_details(ended, ctx, 1)))),
        }
    }

    /// Returns the context of the planned task: that of the plain task before, if there was one.
    fn plain_context(&mut self, table: &Table) -> Arc<TaskCtx> {
        if let Some(mut used) = self.reusable.plain_context.take()
            && let Some(ctx) = Arc::get_mut(&mut used)
        {
            let Task { node, key, .. } = self.step.tasks[0];
            (ctx.at.step, ctx.at.version) = (self.pos.meta.step + 1, self.pos.control.version);
            (ctx.at.node, ctx.at.task) = (node, key);
            ctx.progress.reset();
            let facts = &table.row(node).facts;
            if !Arc::ptr_eq(&ctx.facts, facts) {
                ctx.facts = Arc::clone(facts);
            }
            return used;
        }
        self.context(0, None)
    }

    /// Returns true if the planned superstep has one task, of a node that needs nothing but its body, and nothing stops the run.
    fn starts_plainly(&self, table: &Table) -> bool {
        let [Task { node, packet: None, state: TaskState::Ready, .. }] = &self.step.tasks[..] else { return false };
        if self.pos.start.is_some() || self.step.left.is_some() {
            return false;
        }
        let row = table.row(*node);
        let needs_nothing = row.execution.simple && row.execution.group.is_none() && row.children.is_empty();
        let is_stopped =
            self.pos.meta.step >= self.stops.last_step || self.shared.is_cancelled() || self.shared.is_draining();
        needs_nothing && self.pos.children.is_empty() && !is_stopped && self.shared.stragglers.check().is_ok()
    }

    /// Returns true if a command is all that came of a body.
    fn is_all(&self, ctx: &Arc<TaskCtx>, command: &AnyCommand) -> bool {
        let has_left = ctx.left_anything() || ctx.written_journal().is_some() || ctx.progress.attempt_stop().is_some();
        let is_held = Arc::strong_count(ctx) > 1 || self.shared.stragglers.are_noted();
        !has_left && !is_held && command.parent.is_none() && command.goto.is_empty()
    }

    /// Ends the superstep of a task that has returned a command.
    #[inline]
    fn end_plainly(&mut self, table: &Table, command: AnyCommand) -> Result<(), RunError> {
        let mut done = self.reusable.result.take().unwrap_or_default();
        (done.writes, done.returned) = (command.writes, command.returned);
        let applied = catch_panic(|| self.apply_plainly(table, &mut done));
        applied.unwrap_or_else(|panic| Err(self.panicked_applying(&self.step.tasks, &panic)))?;
        done.clear();
        self.reusable.result = Some(done);
        self.step.tasks.clear();
        self.advance(Source::Loop);
        self.count_superstep(false);
        Ok(())
    }

    #[inline]
    fn apply_plainly(&mut self, table: &Table, done: &mut FinishedResult) -> Result<(), RunError> {
        let (node, key) = (self.step.tasks[0].node, self.step.tasks[0].key);
        let (control, merge) = (&mut self.pos.control, &mut self.reusable.merge);
        let mut applying = control.begin(&table.wiring, &[node]);
        control.clear(&mut applying);
        merge.clear();
        let (writes, mut changed) = (std::mem::take(&mut done.writes.0), Mask::default());
        if let Err(error) = apply_writes(table, &mut self.pos.state, writes, merge) {
            return Err(self.not_written(error, &[node]));
        }
        table.schema.end_step(&mut self.pos.state, merge.written(), &mut changed);
        self.route_alone(node, key, done)?;
        fire(table, &mut self.pos.control, &mut applying, node, done);
        self.keep_sends(node, done)?;
        self.end_apply(&applying, &mut changed);
        Ok(())
    }
}
