//! Requests to stop a run. They are stored before they are acknowledged, as the server that executes the run may be killed, or none may
//! execute it at that moment. Must not know how a run is executed.

use std::collections::HashSet;

use uuid::Uuid;

use super::open::OpenRuns;
use crate::error::ApiResult;
use crate::progress::executing::ExecutingThreads;
use crate::records::items::{Records, put};
use crate::records::run::{OpenRun, RunRecord};

impl RunRecord {
    /// Returns whether somebody has asked to stop the run.
    pub(crate) fn is_to_stop(&self) -> bool {
        self.is_cancelled || self.is_rolled_back
    }
}

impl Records {
    /// Stores that a run is to be stopped, unless it has ended.
    pub(crate) async fn cancel(&self, run: &RunRecord) -> ApiResult<()> {
        let key = RunRecord::key_of(&run.thread, run.run);
        let cancelled = self.change::<RunRecord, ()>(&key, |found| {
            let found = found.filter(|found| !found.record.status.has_ended())?;
            let record = RunRecord { is_cancelled: true, ..found.record.clone() };
            let open = record.starts_at.is_none().then(|| put(&OpenRun::of(&record)));
            Some(([found.replace(&record)].into_iter().chain(open).collect(), ()))
        });
        Ok(cancelled.await.map(drop)?)
    }
}

impl ExecutingThreads {
    /// Stops those of these runs that are to be stopped, or are gone: a request that was sent to this server may have been lost. The
    /// runs were executed before the open ones were read.
    pub(super) fn stop_all_but(&self, executed: Vec<(String, Uuid)>, open: &OpenRuns) {
        let runs = open.runs.iter().filter(|open| !open.is_to_stop).map(|open| open.run);
        let going_on: HashSet<Uuid> = runs.chain(open.later.iter().copied()).collect();
        let to_stop = executed.into_iter().filter(|(_, run)| !going_on.contains(run));
        to_stop.for_each(|(thread, run)| _ = self.stop(&thread, run));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(run: Uuid, is_to_stop: bool) -> OpenRun {
        let (thread, graph) = (String::new(), String::new());
        OpenRun { run, thread, graph, is_to_stop, is_running: true, created_at: None }
    }

    #[test]
    fn runs_that_are_to_be_stopped_or_are_gone_are_stopped() {
        let (threads, runs) = (ExecutingThreads::default(), [(); 4].map(|()| Uuid::now_v7()));
        let entered: Vec<_> = ["a", "b", "c", "d"].iter().map(|name| threads.enter(name)).collect();
        let tokens: Vec<_> =
            ["a", "b", "c", "d"].iter().zip(runs).map(|(name, run)| threads.token(name, run)).collect();
        let marks = vec![open(runs[0], false), open(runs[1], true)];
        threads.stop_all_but(threads.runs(), &OpenRuns { runs: marks, later: vec![runs[3]] });
        assert_eq!(tokens.iter().map(|token| token.is_cancelled()).collect::<Vec<_>>(), [false, true, true, false]);
        assert_eq!(entered.len(), 4);
    }
}
