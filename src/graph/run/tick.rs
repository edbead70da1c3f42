//! The superstep loop: plan, check for stops, execute, settle, apply, commit. It holds the clock, the store and the
//! tasks; its rules are pure functions in `superstep`. LangGraph: `PregelLoop.tick`.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use tokio::time::Instant;
use tracing::Instrument;

use super::execute::LonePoll;
use super::state::Run;
use super::trace;
use crate::checkpoint::Source;
use crate::graph::build::{Stops, Table};
use crate::graph::context::{Budget, Exit};
use crate::graph::error::RunError;
use crate::graph::superstep::task::plan;

impl Run {
    /// Runs supersteps until the run ends or stops.
    pub(crate) async fn drive(&mut self) -> Result<Exit, RunError> {
        let table = Arc::clone(&self.table);
        let is_plain = self.is_plain();
        loop {
            let polled = if is_plain { self.run_plain(&table).await? } else { LonePoll::Nothing };
            let ticked = match self.shared.events.traced {
                true => Box::pin(self.traced_tick(&table)).await,
                false => self.tick(&table, polled).await,
            };
            if let Some(exit) = ticked? {
                return Ok(exit);
            }
        }
    }

    async fn traced_tick(&mut self, table: &Table) -> Result<Option<Exit>, RunError> {
        self.plan();
        if self.step.tasks.is_empty() {
            return self.tick(table, LonePoll::Nothing).await;
        }
        let span = trace::superstep_span(
            self.pos.meta.step + 1,
            self.pos.is_stored().then_some(self.pos.meta.id),
            self.step.tasks.len(),
        );
        self.step.span = Some(span.clone());
        self.tick(table, LonePoll::Nothing).instrument(span).await
    }

    /// Runs one superstep, of which something may have run. Returns the reason to stop, if there is one.
    async fn tick(&mut self, table: &Table, mut polled: LonePoll) -> Result<Option<Exit>, RunError> {
        if matches!(polled, LonePoll::Nothing) {
            self.shared.stragglers.check()?;
            self.shared.check_lease()?;
            self.plan();
            self.note_secrets();
            if self.has_listeners() {
                Box::pin(self.flush_input()).await?;
                Box::pin(self.emit_checkpoint()).await;
            }
            if let Some(exit) = self.stop_before()? {
                if exit == Exit::Stopped {
                    Box::pin(self.emit_breakpoint()).await;
                }
                return Ok(Some(exit));
            }
            if self.has_listeners() {
                Box::pin(self.emit_starts()).await;
                self.let_listener_read().await; // what it shows is stored: results are not shown before their commit is under way
            }
            // Most supersteps have one task, which never waits: without this, each would pay for a future per function below.
            polled = poll_fn(|cx| Poll::Ready(self.run_at_once(cx))).await?;
        }
        if !matches!(polled, LonePoll::Done)
            && let Some(exit) = Box::pin(self.execute_and_settle(polled)).await?
        {
            return Ok(Some(exit));
        }
        let (stops, starts) = (self.stops_after(), self.pos.start.is_some());
        self.note_written_secrets();
        let puts = match self.apply_results(table) {
            Ok(puts) => puts,
            Err(failure) => return Err(Box::pin(self.not_applied(failure)).await),
        };
        match self.recorder().is_some() || self.has_listeners() {
            true => self.commit(puts, starts).await?,
            false => self.advance(Source::Loop),
        }
        self.count_superstep(starts);
        if stops {
            return Ok(Some(Box::pin(self.stop_after()).await));
        }
        if self.stops.supersteps & 63 == 0 {
            tokio::task::consume_budget().await;
        }
        Ok(None)
    }

    pub(crate) fn plan(&mut self) {
        if self.step.planned {
            return;
        }
        self.step.planned = true;
        plan(&self.table, &self.pos, &mut self.reusable.pulls, &mut self.step.tasks);
    }

    /// Returns the reason not to run the planned superstep, if there is one.
    fn stop_before(&self) -> Result<Option<Exit>, RunError> {
        if self.pos.meta.step + 1 > self.stops.last_step {
            return Err(RunError::RecursionLimit { limit: self.shared.limits.recursion });
        }
        if self.step.tasks.is_empty() {
            return Ok(Some(Exit::Finished));
        }
        if self.only_starts() {
            return Ok(None);
        }
        if self.stops_at_breakpoint() {
            return Ok(Some(Exit::Stopped));
        }
        Ok(self.cancelled_or_over_budget())
    }

    /// Returns where the run stops before and after nodes.
    pub(super) fn breakpoints(&self) -> [&Stops<u32>; 2] {
        let (own, graph) = (&self.stops.overrides, &self.table.stops);
        [own.before.as_ref().unwrap_or(&graph.before), own.after.as_ref().unwrap_or(&graph.after)]
    }

    fn stops_at_breakpoint(&self) -> bool {
        let [before, _] = self.breakpoints();
        self.stops.breakpoints_active && Table::stops_at(before, self.step.tasks.iter().map(|task| task.node))
    }

    fn cancelled_or_over_budget(&self) -> Option<Exit> {
        if self.shared.is_cancelled() {
            return Some(Exit::Cancelled);
        }
        if self.shared.is_draining() {
            return Some(Exit::Drained);
        }
        self.over_budget()
    }

    fn over_budget(&self) -> Option<Exit> {
        let budgets = &self.shared.budget.limits;
        if let Some(limit) =
            budgets.supersteps.filter(|&limit| self.shared.budget.spent.load(Ordering::Relaxed) >= limit)
        {
            return Some(Exit::Budget(Budget::Supersteps(limit)));
        }
        let (until, limit) = budgets.until?;
        (Instant::now() >= until).then_some(Exit::Budget(Budget::WallTime(limit)))
    }

    /// Runs the tasks until each has ended or waits. Returns the reason to stop if their results cannot be applied yet.
    async fn execute_and_settle(&mut self, polled: LonePoll) -> Result<Option<Exit>, RunError> {
        let mut goes_on = self.go_on(polled).await?;
        loop {
            if !goes_on {
                Box::pin(self.keep_attempts()).await?;
                return Ok(Some(Exit::Cancelled));
            }
            let Some(exit) = self.failure_or_exit()? else { return Ok(None) };
            if !exit.may_receive() || !Box::pin(self.wake_signalled()).await? {
                return Ok(Some(exit));
            }
            goes_on = self.execute().await?;
        }
    }

    /// Counts the superstep that was committed; the input does not count.
    pub(super) fn count_superstep(&mut self, starts: bool) {
        (self.stops.breakpoints_active, self.step.planned) = (true, false);
        self.stops.supersteps += u64::from(!starts);
        if !starts && self.shared.budget.limits.supersteps.is_some() {
            self.shared.budget.spent.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Stops at a breakpoint after a node, with the next superstep planned.
    async fn stop_after(&mut self) -> Exit {
        self.plan();
        self.emit_checkpoint().await;
        self.emit_breakpoint().await;
        Exit::Stopped
    }

    fn only_starts(&self) -> bool {
        self.pos.start.is_some() && self.step.tasks.len() == 1
    }

    fn stops_after(&self) -> bool {
        let [_, after] = self.breakpoints();
        !self.only_starts() && Table::stops_at(after, self.step.tasks.iter().map(|task| task.node))
    }
}
