//! Reports of tasks: their expenses and the words they have for people. They are stored with the next commit of the run. Must not know
//! what a task does.
//!
//! Small because what is stored of them is in `checkpoint/spending`.

use super::recorder::Recorder;
use crate::checkpoint::spending::{Reporter, SpendingThread, TaskReport, read_for_run};
use crate::checkpoint::{CheckpointError, CheckpointId};

impl Recorder {
    /// Takes in a report of a task that a checkpoint planned. The store has nothing of one that this run has planned.
    pub(crate) async fn report(
        &self,
        from: Reporter,
        planned: CheckpointId,
        report: TaskReport,
    ) -> Result<(), CheckpointError> {
        let _reading = self.reports.lock().await; // two tasks may report for one that is around both
        let birth = self.birth();
        let (needs_thread, missing) = {
            let inner = self.lock();
            let has_spent = matches!(report, TaskReport::Spent(_));
            let own = (planned < self.first).then_some(&from.task);
            let around = from.above.iter().filter(|_| has_spent);
            let missing = own.into_iter().chain(around).filter(|task| !inner.reported.has_note(task)).cloned();
            (has_spent && !inner.reported.has_thread(), missing.collect::<Vec<_>>())
        };
        let stored = match needs_thread || !missing.is_empty() {
            true => {
                let of = SpendingThread { thread: self.lease().thread(), birth, graph: self.graph() };
                Some(read_for_run(&**self.store(), of, !needs_thread, missing).await?)
            }
            false => None,
        };
        let mut inner = self.lock();
        stored.into_iter().for_each(|stored| inner.reported.know(stored));
        inner.reported.add(from, report, birth);
        Ok(())
    }
}
