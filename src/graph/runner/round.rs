//! A check of the stores: the threads that can be resumed now, and the time when the next one can.

use std::sync::Arc;
use std::time::SystemTime;

use super::driven::{Driven, Ready};
use super::ledger::{Ledger, Mark};
use super::resume::Runner;
use crate::checkpoint::{Checkpointer, ThreadId};
use crate::graph::error::RunError;
use crate::graph::thread::{Status, StatusKind, ThreadFilter, ThreadInfo};

#[derive(Default)]
pub(super) struct Round {
    pub ready: Vec<Ready>,
    /// The time when the first sleeping thread can be resumed.
    pub wake: Option<SystemTime>,
    /// Threads without progress.
    pub given_up: Vec<ThreadId>,
    /// Threads that their graphs do not resume.
    pub left: Vec<(ThreadId, Mark)>,
}

impl Runner {
    /// Checks the threads of all stores. `free`: the number that can be started; more are found in a later check.
    pub(super) async fn round(&self, ledger: &Ledger, free: usize) -> Result<Round, RunError> {
        let mut round = Round::default();
        for store in self.stores()? {
            let threads = ThreadFilter::new().at(self.now()).page(&*store).await?.threads;
            for info in threads.iter().filter(|info| !ledger.is_running(&info.id)) {
                let Some(graph) = self.graph_of(info, &store) else { continue };
                if let Some(wake) = info.wake {
                    round.wake = Some(round.wake.map_or(wake, |first| first.min(wake)));
                }
                let mark = Mark::from(info);
                if !info.can_resume() || ledger.is_left(&info.id, &mark) {
                    continue;
                }
                if ledger.has_given_up(&info.id, &mark, self.resumes) {
                    round.given_up.push(info.id.clone());
                } else if round.ready.len() >= free {
                    continue;
                } else if wants(&**graph, info).await? {
                    round.ready.push(Ready { graph: Arc::clone(graph), thread: info.id.clone(), mark });
                } else {
                    round.left.push((info.id.clone(), mark));
                }
            }
        }
        Ok(round)
    }

    fn stores(&self) -> Result<Vec<Arc<dyn Checkpointer>>, RunError> {
        let mut stores: Vec<Arc<dyn Checkpointer>> = vec![];
        for graph in &self.graphs {
            let store = graph.store().ok_or(RunError::NoCheckpointer { what: "a runner" })?;
            if !stores.iter().any(|known| Arc::ptr_eq(known, &store)) {
                stores.push(store);
            }
        }
        Ok(stores)
    }

    fn graph_of(&self, info: &ThreadInfo, store: &Arc<dyn Checkpointer>) -> Option<&Arc<dyn Driven>> {
        let mut graphs = self.graphs.iter().filter(|graph| graph.name() == info.graph);
        graphs.find(|graph| graph.store().is_some_and(|own| Arc::ptr_eq(&own, store)))
    }
}

/// True if its graph resumes the thread: only the graph knows its breakpoints and compatibility.
async fn wants(graph: &dyn Driven, info: &ThreadInfo) -> Result<bool, RunError> {
    let status = match graph.status(info.id.clone()).await {
        Err(RunError::Panic { .. }) => return Ok(false), // of this thread; others are not affected
        status => status?,
    };
    Ok(match status {
        Status::Pending { .. } => true,
        Status::Interrupted { .. } => info.standing == StatusKind::Interrupted,
        // By the machine's clock it may still sleep.
        Status::Waiting { .. } | Status::AwaitingSignal { .. } => true,
        Status::New | Status::Finished | Status::Stopped { .. } | Status::Failed { .. } => false,
        Status::NeedsMigration { .. } | Status::Running => false,
    })
}
