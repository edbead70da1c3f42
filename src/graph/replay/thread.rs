//! `Thread::verify` and `Thread::what_if`. Runs no effects, and writes nothing.

use std::sync::Arc;

use super::unsaved::Unsaved;
use super::walk::Walk;
use crate::checkpoint::about_thread;
use crate::graph::context::{Comparison, GraphScope, Spot, Verified, WhatIf};
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::run::Run;
use crate::graph::run::catch_panics::catch_panics;
use crate::graph::state::{Boxed, State};
use crate::graph::superstep::Position;
use crate::graph::thread::{Thread, ThreadCore};

type ReplayRun = (Run, Walk, Arc<Comparison>);

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    /// Compares the records with what the graph does now, superstep by superstep, up to the first difference; with
    /// [`at`](Self::at) from that checkpoint on, along the newest branch. Routers and reducers run again over the
    /// recorded states; so do the bodies of nodes marked [`replayable`](crate::graph::NodeExt::replayable), over
    /// recorded answers, effects, times and results of subgraphs. For other nodes the recorded writes are used, and the
    /// report lists them. No effect happens, and nothing is written.
    ///
    /// To limit the supersteps: [`replay`](Self::replay)`(Replay::Verify).supersteps(1)`. Subgraphs are compared with
    /// the task they run in.
    ///
    /// Not compared: reducers of channels kept as logs of their writes, a superstep that has not ended, supersteps that
    /// durability [`Exit`](crate::graph::Durability::Exit) leaves out, the routes of graphs read from data, channels that
    /// are never saved, and checkpoints lost or removed by [`gc`](Self::gc): it starts at the oldest one with no gap after
    /// it.
    ///
    /// **Channels that are never saved** start each run at their defaults, and a run may have started at any checkpoint.
    /// Writes of bodies in this replay are known; those of other nodes and the input are not. A body runs over each value
    /// that it may have seen until its result matches the record. If none matches, that is a difference, unless the body
    /// may have read an unknown value: then its recorded result is used, and the report names the channel. For a node that
    /// declares what it [`reads`](crate::graph::NodeExt::reads), only those channels count.
    ///
    /// The report counts the bodies and routers that ran, and lists the results that were used as recorded:
    /// [`Verified::verdict`](crate::graph::Verified::verdict) distinguishes full agreement, partial agreement, and
    /// nothing compared at all.
    ///
    /// # Errors
    /// [`RunError::UnknownThread`]; if there is no store, it cannot be read, or the checkpoint is unknown.
    pub async fn verify(&self) -> Result<Verified, RunError> {
        self.core.verify().await
    }

    /// Returns the result that the thread would have with the current graph: runs its supersteps again over the
    /// records, with new routes, reducers and replayable bodies, and continues after differences. It ends at the first
    /// task without a record, and at the first effect that differs from the recorded one. Results of subgraphs are used
    /// as recorded, and listed if the subgraph would start with a different state; it ends before a subgraph that would
    /// get a different input. No effect happens, and nothing is written.
    ///
    /// # Errors
    /// As [`verify`](Self::verify).
    pub async fn what_if(&self) -> Result<WhatIf, RunError> {
        self.core.what_if().await
    }
}

impl ThreadCore {
    pub(crate) fn verify(&self) -> Boxed<'_, Result<Verified, RunError>> {
        Box::pin(async move { catch_panics("verifying a thread", self.verify_up_to(u64::MAX)).await })
    }

    pub(crate) fn verify_up_to(&self, supersteps: u64) -> Boxed<'_, Result<Verified, RunError>> {
        Box::pin(async move {
            let (mut run, mut walk, comparison) = self.replay_run(false).await?;
            run.compare_line(&mut walk, Unsaved::fresh(), &comparison, supersteps).await?;
            Ok(comparison.report())
        })
    }

    pub(crate) fn what_if(&self) -> Boxed<'_, Result<WhatIf, RunError>> {
        Box::pin(async move { catch_panics("replaying a thread", self.what_if_up_to(u64::MAX)).await })
    }

    pub(crate) fn what_if_up_to(&self, supersteps: u64) -> Boxed<'_, Result<WhatIf, RunError>> {
        Box::pin(async move {
            let (mut run, mut walk, comparison) = self.replay_run(true).await?;
            run.what_if(&mut walk, &comparison, supersteps).await
        })
    }

    async fn replay_run(&self, goes_on: bool) -> Result<ReplayRun, RunError> {
        self.check_whole("a replay")?;
        self.check_trusted().await?;
        let (reader, head) = self.known("a replay").await?;
        let Some(head) = head.checkpoint else { return Err(self.unknown()) };
        self.check_at(&reader).await?;
        let line = self.recorded_line(&reader, head).await?;
        let table = Arc::clone(&self.graph.table);
        let line_begins = line.first().cloned();
        let walk = Walk::new(Arc::clone(&table), reader.clone(), line, true);
        let about = about_thread(&*reader.store, &reader.thread).await?;
        let comparison = Arc::new(Comparison::new(reader, goes_on, about.as_ref()));
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
        Ok((Run::new(table, Arc::new(shared), GraphScope::root(), empty), walk, comparison))
    }
}
