//! Resuming a superstep that the graph's last run left interrupted: only the tasks that get answers are read.

use super::handle::ThreadCore;
use crate::checkpoint::decode_record;
use crate::graph::error::RunError;
use crate::graph::interrupt::{Answer, To};
use crate::graph::records::{Reader, Tasks};
use crate::graph::run::Run;
use crate::graph::superstep::Task;

impl ThreadCore {
    /// Returns the records of the tasks that the answers are for, if the run has taken up the superstep that the last one
    /// left, and the answers alone change it: each names a pending question.
    pub(super) async fn answered_records(
        &self,
        run: &Run,
        reader: &Reader,
        answers: &[Answer],
    ) -> Result<Option<Tasks>, RunError> {
        let Some(left) = &run.step.left else { return Ok(None) };
        let runs_others = self.settings.restart_superstep || self.limits.rerun_unanswered;
        if runs_others || left.has_expired(self.environment.host.now()) {
            return Ok(None);
        }
        let Some(places) = places(run, answers) else { return Ok(None) };
        let tasks: Vec<u32> = places.into_iter().map(|at| run.step.tasks[at].key).collect();
        let rows = reader.get(tasks.iter().map(|&task| run.task_key(task)).collect()).await?;
        let mut records = Tasks::new();
        for (task, row) in tasks.into_iter().zip(rows) {
            let Some(row) = row else { return Ok(None) };
            records.insert(task, decode_record(&reader.thread, "task", &row)?);
        }
        Ok(Some(records))
    }

    /// Stores the answers, and restores the tasks that they are for.
    pub(super) async fn resume_left(
        &self,
        mut run: Run,
        reader: &Reader,
        (mut records, answers): (Tasks, Vec<Answer>),
    ) -> Result<Run, RunError> {
        let matched = self.matching(reader, &records, answers, self.environment.host.now()).await?;
        self.store_answers(&run, reader, &mut records, matched).await?;
        let (mapping, mut changed) = (run.own_mapping(), vec![]);
        for (key, record) in records {
            let Ok(at) = run.step.tasks.binary_search_by_key(&key, |task| task.key) else { continue };
            let mut task = run.step.tasks[at].planned_again();
            let records = Tasks::from([(key, record)]);
            reader.restore(&run.table, "", std::slice::from_mut(&mut task), records, &mapping).await?;
            task.journal = reader.journal(run.pos.meta.id, key, &mapping).await?;
            changed.push((at, task));
        }
        mapping.check(reader)?;
        run.change_tasks(changed);
        Ok(run)
    }
}

/// Returns the indexes of the tasks that answers are for, if each of them names a pending question of a task.
fn places(run: &Run, answers: &[Answer]) -> Option<Vec<usize>> {
    let mut places = vec![];
    for answer in answers {
        let To::Id(id) = answer.to else { return None };
        let asks = |task: &Task| task.asks().iter().any(|question| question.id() == id);
        let at = match id.checkpoint == run.pos.meta.id {
            true => run.step.tasks.binary_search_by_key(&id.task, |task| task.key).ok()?,
            false => run.step.tasks.iter().position(asks)?, // of a subgraph
        };
        if !asks(&run.step.tasks[at]) {
            return None;
        }
        places.push(at);
    }
    places.sort_unstable();
    places.dedup();
    Some(places)
}
