//! Comparing a thread with what its graph does now. Runs nothing for real, and writes nothing.

use std::sync::Arc;

use super::unsaved::Unsaved;
use super::walk::Walk;
use crate::graph::context::{Comparison, Level, Spot, Verified, WhatIf};
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::run::{Run, net::netted};
use crate::graph::state::State;
use crate::graph::superstep::Position;
use crate::graph::thread::Thread;

/// A run over records, what it goes along, and what it finds.
type Replayed<S, N, C> = (Run<S, N, C>, Walk<S, N, C>, Arc<Comparison>);

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    /// Compares what was recorded with what the graph does now, superstep by superstep, to the first difference; with
    /// [`at`](Self::at) from that checkpoint on, along the newest branch. Routers and reducers are run again over the recorded
    /// states; so are the bodies of nodes marked [`replayable`](crate::graph::NodeExt::replayable), over recorded answers,
    /// effects, times and results of subgraphs. Of other nodes the recorded writes are taken, and the report says so. No effect
    /// happens, and nothing is written.
    ///
    /// For so many supersteps only: [`replay`](Self::replay)`(Replay::Verify).supersteps(1)`. Subgraphs are compared with the
    /// task they run in.
    ///
    /// Not compared: reducers of channels that are kept as logs of their writes, a superstep that has not ended, what durability
    /// [`Exit`](crate::graph::Durability::Exit) leaves out, the routes of graphs read from data, channels that are never saved,
    /// and what [`gc`](Self::gc) removed, or was lost: it begins at the oldest checkpoint with no gap after it, and says so.
    ///
    /// **Channels that are never saved** start each run at their defaults, and a run may have started at any checkpoint. What
    /// bodies write to them in this replay is known, what other nodes and the input wrote is not. A body runs over each value
    /// that it may have seen until it comes to what was recorded. If it never does, that is a difference, unless it may have
    /// read an unknown value: then its result is taken over, and the report names the channel. A node that declares what it
    /// [`reads`](crate::graph::NodeExt::reads) is held to that.
    ///
    /// The report counts the bodies and routers that ran, and lists what was taken over:
    /// [`Verified::verdict`](crate::graph::Verified::verdict) tells full agreement from agreement in part, and from nothing
    /// compared at all.
    ///
    /// # Errors
    /// [`RunError::UnknownThread`]; if there is no store, it cannot be read, or the checkpoint is unknown.
    pub async fn verify(&self) -> Result<Verified, RunError> {
        netted("verifying a thread", self.verified(u64::MAX)).await
    }

    pub(crate) async fn verified(&self, supersteps: u64) -> Result<Verified, RunError> {
        let (mut run, mut walk, comparison) = self.replayed(false).await?;
        run.compared(&mut walk, Unsaved::fresh(), &comparison, supersteps).await?;
        Ok(comparison.report())
    }

    /// Tells what the thread would have come to with the graph as it is now: runs its supersteps again over what was
    /// recorded, with new routes, reducers and replayable bodies, and goes on after differences. It ends at the first task
    /// that nothing is recorded for, and at the first effect that is asked for otherwise. Subgraphs are taken as they were, and
    /// listed if they would begin with another state; before one that would get another input it ends. No effect happens, and
    /// nothing is written.
    ///
    /// # Errors
    /// As [`verify`](Self::verify).
    pub async fn what_if(&self) -> Result<WhatIf, RunError> {
        netted("replaying a thread", self.imagined(u64::MAX)).await
    }

    pub(crate) async fn imagined(&self, supersteps: u64) -> Result<WhatIf, RunError> {
        let (mut run, mut walk, comparison) = self.replayed(true).await?;
        run.what_if(&mut walk, &comparison, supersteps).await
    }

    async fn replayed(&self, goes_on: bool) -> Result<Replayed<S, N, C>, RunError> {
        self.check_whole("a replay")?;
        self.check_trusted().await?;
        let (reader, head) = self.known("a replay").await?;
        let Some(head) = head.checkpoint else { return Err(self.unknown()) };
        self.check_at(&reader).await?;
        let line = self.recorded_line(&reader, head).await?;
        let table = Arc::clone(&self.graph.table);
        let line_begins = line.first().cloned();
        let walk = Walk::new(Arc::clone(&table), reader.clone(), line, true);
        let comparison = Arc::new(Comparison::new(reader, goes_on));
        if self.at.is_none()
            && let Some((id, first)) = line_begins.filter(|(_, first)| first.parent.is_some())
        {
            let spot = Spot { checkpoint: id, step: first.step, namespace: &[] };
            comparison.skips(spot, "", "the checkpoint that led here was removed, or is lost, and so is all before it");
        }
        let mut shared = self.own_shared();
        shared.limits.may_ask = true;
        shared.replay = Some(Arc::clone(&comparison));
        let empty = Position::empty(&table);
        Ok((Run::new(table, Arc::new(shared), Level::root(), empty), walk, comparison))
    }
}
