//! Resuming a superstep that the graph's last run left interrupted: only the tasks that get answers are read.

use super::answer::{MatchedAnswer, past, the_only};
use super::handle::ThreadCore;
use super::last_end::end_to_keep;
use crate::checkpoint::decode_record;
use crate::graph::error::RunError;
use crate::graph::interrupt::{Answer, InterruptId, To};
use crate::graph::records::{Reader, Tasks};
use crate::graph::run::Run;
use crate::graph::superstep::Task;

/// Checked answers, and the records of the tasks that they are for.
pub(super) struct MatchedLeft {
    records: Tasks,
    matched: Vec<MatchedAnswer>,
}

impl ThreadCore {
    /// Checks answers against the superstep that the last run left, if this run has taken it up. Returns nothing if more
    /// than the answers changes it. After a refusal, the next run finds the superstep as this one did.
    pub(super) async fn matched_left(
        &self,
        run: Run,
        reader: &Reader,
        answers: &[Answer],
    ) -> Result<(Run, Option<MatchedLeft>), RunError> {
        let Some(left) = &run.step.left else { return Ok((run, None)) };
        let now = self.environment.host.now();
        let runs_others = self.settings.restart_superstep || self.limits.rerun_unanswered || left.has_expired(now);
        match self.match_left(&run, reader, answers, now).await {
            Ok(matched) => Ok((run, matched.filter(|_| !runs_others))),
            Err(refused) => {
                self.keep_unchanged(run);
                Err(refused)
            }
        }
    }

    /// Returns nothing if a record is missing.
    async fn match_left(
        &self,
        run: &Run,
        reader: &Reader,
        answers: &[Answer],
        now: u64,
    ) -> Result<Option<MatchedLeft>, RunError> {
        let (mut places, mut named, mut taken) = (vec![], vec![], vec![]);
        for answer in answers {
            let (at, id) = match answer.to {
                To::Id(id) => (place(run, id), id),
                To::TheOnly => {
                    let id = the_only(open_questions(run, &taken), answer)?;
                    (place(run, id), id)
                }
            };
            let Some(at) = at else { return Err(past(reader, To::Id(id), id.to_string()).await?) };
            taken.push(id);
            places.push(at);
            named.push(Answer { to: To::Id(id), ..answer.clone() });
        }
        places.sort_unstable();
        places.dedup();
        let tasks: Vec<u32> = places.into_iter().map(|at| run.step.tasks[at].key).collect();
        let rows = reader.get(tasks.iter().map(|&task| run.task_key(task)).collect()).await?;
        let mut records = Tasks::new();
        for (task, row) in tasks.into_iter().zip(rows) {
            let Some(row) = row else { return Ok(None) };
            records.insert(task, decode_record(&reader.thread, "task", &row)?);
        }
        let matched = self.matching(reader, &records, named, now).await?;
        Ok(Some(MatchedLeft { records, matched }))
    }

    /// Keeps what this run has taken up, and not changed, for the next one.
    fn keep_unchanged(&self, run: Run) {
        if let Some(recorder) = run.recorder().cloned() {
            self.keep_end(&recorder, end_to_keep(run));
        }
    }

    /// Stores the answers, and restores the tasks that they are for.
    pub(super) async fn resume_left(
        &self,
        mut run: Run,
        reader: &Reader,
        MatchedLeft { mut records, matched }: MatchedLeft,
    ) -> Result<Run, RunError> {
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

/// Returns the index of the task with this pending question.
fn place(run: &Run, id: InterruptId) -> Option<usize> {
    let asks = |task: &Task| task.asks().iter().any(|question| question.id() == id);
    if id.checkpoint != run.pos.meta.id {
        return run.step.tasks.iter().position(asks); // of a subgraph
    }
    let at = run.step.tasks.binary_search_by_key(&id.task, |task| task.key).ok()?;
    asks(&run.step.tasks[at]).then_some(at)
}

/// Returns the pending questions without those that have got an answer, with their names.
fn open_questions<'a>(run: &'a Run, taken: &'a [InterruptId]) -> impl Iterator<Item = (InterruptId, &'a str)> {
    let open = run.step.tasks.iter().flat_map(Task::asks);
    open.map(|question| (question.id(), question.name.as_str())).filter(|(id, _)| !taken.contains(id))
}
