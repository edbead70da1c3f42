//! Each check of a runner's stores: it claims the threads that can be resumed now, and leaves those that it does not resume.
//! Knows what a store hands out, and asks a graph only for its breakpoints and compatibility.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use superstep_base::gather;
use superstep_base::time::system_time;

use super::report::{ThreadLedger, ThreadMark};
use crate::checkpoint::listing::status_kind::StatusKind;
use crate::checkpoint::{Checkpointer, DueQuery, DueThreads, Lease, ListedThread, ThreadId};
use crate::graph::error::RunError;
use crate::graph::host::{AnyGraph, AnyThread, Graphs};
use crate::graph::records::Host;
use crate::graph::thread::{LeaseSlot, Status};

/// A thread that can be resumed now, claimed.
pub(super) struct ReadyThread {
    pub thread: AnyThread,
    pub id: ThreadId,
    pub mark: ThreadMark,
    /// The time since when it is due.
    pub due: Option<SystemTime>,
}

#[derive(Default)]
pub(super) struct StoreCheck {
    pub ready: Vec<ReadyThread>,
    /// The time when the first sleeping thread can be resumed.
    pub wake: Option<SystemTime>,
    /// Graphs of threads that are left to others, each with its newest version; each graph is found once.
    pub unknown: Vec<(String, u32)>,
}

/// The graphs whose threads are claimed, the clock that decides what is due, and how often a thread is resumed without progress.
pub(super) struct Claims<'a> {
    pub graphs: &'a Graphs,
    pub host: &'a Host,
    pub resumes: u32,
    /// The interval at which graphs that the runner does not have are looked for.
    pub poll: Duration,
}

impl Claims<'_> {
    /// Claims threads of all stores. `free`: the number that can be started; more are found in a later check.
    pub(super) async fn round(
        &self,
        stores: &[Arc<dyn Checkpointer>],
        ledger: &mut ThreadLedger,
        free: usize,
    ) -> Result<StoreCheck, RunError> {
        let mut round = StoreCheck::default();
        for store in stores.iter().enumerate() {
            self.claim_due(store, ledger, free, &mut round).await?;
        }
        Ok(round)
    }

    /// Claims threads of a store.
    async fn claim_due(
        &self,
        (nth, store): (usize, &Arc<dyn Checkpointer>),
        ledger: &mut ThreadLedger,
        free: usize,
        round: &mut StoreCheck,
    ) -> Result<(), RunError> {
        let mut query = DueQuery::new(Vec::<String>::new(), free.saturating_sub(round.ready.len()));
        query.graphs = gather(self.graphs.over(store).map(|graph| (graph.name().to_owned(), graph.version())));
        (query.except, query.at) = (ledger.running().clone(), self.host.clock.as_ref().map(|clock| clock.now()));
        query.with_left = ledger.judges_left(nth);
        query.finds_others = ledger.looks_for_others(nth, self.poll);
        loop {
            let DueThreads { threads, next, others } = store.due(&query).await?;
            round.unknown.extend(others.into_iter().filter(|(graph, version)| ledger.note_unknown(graph, *version)));
            query.finds_others = false;
            round.wake = [round.wake, next].into_iter().flatten().min();
            let (found, mut unwanted) = (threads.len(), 0);
            for (lease, listed) in threads {
                let room = round.ready.len() < free;
                match self.judge(store, ledger, lease, &listed).await? {
                    Some(ready) if room => round.ready.push(ready),
                    Some(_) => {} // dropped, so that it is free again
                    None => unwanted += 1,
                }
            }
            if found < query.limit {
                ledger.note_all_judged(nth);
            }
            // Others may be due behind those that are left; a store may return the latter again.
            if unwanted == 0 || found < query.limit || round.ready.len() >= free {
                return Ok(());
            }
            query.limit += unwanted;
        }
    }

    /// Returns a claimed thread that is to be resumed. Any other is left until somebody writes it.
    async fn judge(
        &self,
        store: &Arc<dyn Checkpointer>,
        ledger: &mut ThreadLedger,
        lease: Lease,
        listed: &ListedThread,
    ) -> Result<Option<ReadyThread>, RunError> {
        let (id, mark) = (listed.id.clone(), ThreadMark::from(listed));
        let Some(graph) = self.graphs.over(store).find(|graph| graph.name() == listed.graph) else { return Ok(None) };
        if ledger.running().contains(&id) {
            return Ok(None); // a hook of its turn has not ended
        }
        if ledger.rejects(&id, &mark, self.resumes) {
            lease.leave().await?;
            return Ok(None);
        }
        let Some(thread) = wanted_thread(graph, lease, listed).await? else {
            ledger.leave(id, mark);
            return Ok(None);
        };
        Ok(Some(ReadyThread { thread, id, mark, due: listed.due.map(system_time) }))
    }
}

/// Returns a claimed thread that its graph resumes. Any other is left.
pub(super) async fn wanted_thread(
    graph: &AnyGraph,
    lease: Lease,
    listed: &ListedThread,
) -> Result<Option<AnyThread>, RunError> {
    let mut thread = graph.thread(listed.id.clone());
    thread.core.environment.lease = LeaseSlot::of(lease);
    if wants(&thread, listed).await? {
        return Ok(Some(thread));
    }
    if let Some(lease) = thread.core.environment.lease.take() {
        lease.leave().await?;
    }
    Ok(None)
}

/// True if its graph resumes the thread: only the graph knows its breakpoints and compatibility.
async fn wants(thread: &AnyThread, listed: &ListedThread) -> Result<bool, RunError> {
    if listed.requested_at.is_some() {
        return Ok(true);
    }
    let status = match thread.status().await {
        Err(RunError::Panic { .. }) => return Ok(false), // of this thread; others are not affected
        status => status?,
    };
    Ok(match status {
        Status::Pending { .. } => true,
        Status::Interrupted { .. } => listed.status == StatusKind::Interrupted,
        // By the machine's clock it may still sleep.
        Status::Waiting { .. } | Status::AwaitingSignal { .. } => true,
        Status::New | Status::Finished | Status::Stopped { .. } | Status::Failed { .. } => false,
        Status::NeedsMigration { .. } | Status::Running { .. } => false,
    })
}
