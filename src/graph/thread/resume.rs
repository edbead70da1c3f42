//! Resuming a thread: results restored, answers stored and a command applied, on a fork where one is needed.
//!
//! Of a superstep that the graph's last run left interrupted, only the tasks that get answers are read.

use std::sync::Arc;

use super::answer::{MatchedAnswer, the_only, unmatched_error, with_expired};
use super::fork::{attach_journals, fork_upwards};
use super::handle::ThreadCore;
use super::open::end_to_keep;
use super::snapshot::add_command;
use crate::checkpoint::{Row, Source, TaskStatus, decode_record};
use crate::graph::context::RunShared;
use crate::graph::error::RunError;
use crate::graph::interrupt::{Answer, InterruptId, To};
use crate::graph::node::AnyCommand;
use crate::graph::records::reader::reader;
use crate::graph::records::{COMMAND_KEY, Mapping, NEW_LINE, Reader, Tasks, fork};
use crate::graph::run::Run;
use crate::graph::superstep::Task;

/// Checked answers, and the records of the tasks that they are for.
struct MatchedStep {
    records: Tasks,
    matched: Vec<MatchedAnswer>,
}

impl ThreadCore {
    /// Resumes the thread. Everything written before a task runs is one commit.
    pub(super) async fn resume_run(
        &self,
        shared: Arc<RunShared>,
        mut answers: Vec<Answer>,
        command: Option<AnyCommand>,
    ) -> Result<Run, RunError> {
        let recorder = shared.recorder.clone();
        if let Some(recorder) = &recorder {
            recorder.gather();
            answers.extend(self.take_posted(recorder, &answers).await?);
        }
        let run = self.load_for_resume(shared, answers, command).await?;
        if let Some(recorder) = &recorder {
            recorder.keep_gathered().await?;
        }
        if run.step.planned {
            run.emit_values().await;
        }
        Ok(run)
    }

    /// Loads the run to resume, with results restored, answers stored and the command applied; on a fork where one is
    /// needed.
    async fn load_for_resume(
        &self,
        shared: Arc<RunShared>,
        answers: Vec<Answer>,
        command: Option<AnyCommand>,
    ) -> Result<Run, RunError> {
        if !answers.is_empty() && shared.recorder.is_none() {
            return Err(RunError::NoCheckpointer { what: "an answer" });
        }
        if command.is_none() && self.id.is_some() && shared.recorder.is_none() {
            return Err(RunError::NoCheckpointer { what: "continuing a thread" });
        }
        // A checkpoint inside a subgraph: each graph around it is forked, and the run resumes from the new head.
        if let Some(thread) = self.replay_in_subgraph(&shared).await? {
            return Box::pin(thread.load_for_resume(shared, answers, command)).await;
        }
        let (mut run, loaded) = self.load(shared, false).await?;
        let Some((reader, mut mapping)) = loaded else { return self.begin_with_command(run, answers, command) };
        run.limit();
        run.stops.breakpoints_active = false;
        // Fast path: answers to the superstep that the last run left touch only the tasks they are for.
        if command.is_none() {
            let matched;
            (run, matched) = self.matched_left(run, &reader, &answers).await?;
            if let Some(matched) = matched {
                return self.resume_left(run, &reader, matched).await;
            }
        }
        run.drop_left_step();
        if command.as_ref().is_some_and(|command| command.writes.is_empty() && command.goto.is_empty()) {
            return Err(self.empty_input_error());
        }
        let behind = !run.is_at_head();
        let travels = (self.at.is_some() && answers.is_empty()) || self.settings.restart_superstep;
        let mut records = reader.tasks(run.pos.meta.id).await?;
        if let Some(before) = records.get(&COMMAND_KEY) {
            let before = reader.load_result(&run.table, "", before, &mapping).await?;
            add_command(&run.table, &mut run.pos, &before);
        }
        // Travelling runs tasks again, on a fork, unless it starts from an update or a fork that is still the head.
        let own = matches!(run.pos.meta.source, Source::Update | Source::Fork) && !self.settings.restart_superstep;
        let mut forks = behind || (travels && !own);
        let anew = forks && travels;
        // Another version of the graph stored this: the migration makes a checkpoint, which serves as the fork too.
        if !mapping.is_same() && !anew {
            self.check_inside(&run, &reader, &records, &mapping).await?;
            records = run.migrate(&reader, records, &mapping).await?;
            (mapping, forks) = (run.own_mapping(), false);
        }
        let mapped_at = run.pos.meta.id;
        self.drop_undeclared_questions(&mut records);
        let now = self.now(); // one time for all checks, or an answer in time might be stored late
        let answers = if travels || forks { answers } else { with_expired(&reader, &records, answers, now) };
        // Answers are stored before the command is applied, and both before any task runs.
        if !answers.is_empty() {
            let given = (answers, now);
            self.apply_answers(&mut run, &reader, &mut records, given, forks.then_some(&mapping)).await?;
        } else if travels && !forks {
            self.forget(&run, &reader, &records, &mapping).await?;
        }
        let (carried, origin) = (forks && travels, run.pos.meta.id);
        // Without answers nothing has forked yet: the command's checkpoint is the fork, or an empty one.
        match command {
            Some(command) => self.apply_command(&mut run, &reader, &mut records, command, (carried, &mapping)).await?,
            None if carried => run.fork(Source::Fork, vec![]).await?,
            None => {}
        }
        run.step.planned = false;
        run.plan();
        // A retry copies the journals to its fork, so that recorded effects do not happen again.
        if self.settings.restart_superstep
            && let Some(recorder) = run.recorder()
        {
            let tasks = run.step.tasks.iter().map(|task| task.key);
            let fork = fork::ForkPoint {
                from: origin,
                to: run.pos.meta.id,
                mapping: &mapping,
                parts: behind.then_some(&records),
            };
            recorder.commit_now(fork::journals(&reader, fork, tasks).await?).await?;
        }
        // Resuming restores results, answers and waits; travelling starts every task of the superstep anew.
        if !travels {
            let table = Arc::clone(&run.table);
            records.remove(&COMMAND_KEY);
            reader.restore(&table, "", &mut run.step.tasks, records, &mapping).await?;
            run.wake_due();
        } else if !forks {
            let asked = mapping.by_present_key(records);
            for task in &mut run.step.tasks {
                let Some(record) = asked.get(&task.key) else { continue };
                task.asked = reader.questions(&run.table, record).await?.into(); // shown until it asks again
            }
        }
        let moved = (run.pos.meta.id != mapped_at).then(|| run.own_mapping()); // a fork is in the present graph's words
        attach_journals(&mut run, &reader, moved.as_ref().unwrap_or(&mapping), travels && !forks).await?;
        mapping.check(&reader)?;
        run.wake_signalled().await?;
        Ok(run)
    }

    /// Replays from a checkpoint of a subgraph: forks the graphs around it and resumes from the new head (V10).
    async fn replay_in_subgraph(&self, shared: &RunShared) -> Result<Option<Self>, RunError> {
        let (Some(id), Some(recorder)) = (self.at, &shared.recorder) else { return Ok(None) };
        let reader = reader(recorder);
        let nested = reader.record(id).await?.is_some_and(|record| !record.namespace.is_empty());
        if !nested {
            return Ok(None);
        }
        fork_upwards(&reader, recorder, self.stamp(), id).await?;
        let mut thread = self.clone();
        thread.at = None;
        Ok(Some(thread))
    }

    /// Starts a thread that has never run with a command; anything else is an error.
    fn begin_with_command(
        &self,
        mut run: Run,
        answers: Vec<Answer>,
        command: Option<AnyCommand>,
    ) -> Result<Run, RunError> {
        if !answers.is_empty() {
            let thread = self.id.as_ref().map(|id| format!(" `{id}`")).unwrap_or_default();
            return Err(RunError::UnknownQuestion { question: format!("on thread{thread}, which has never run") });
        }
        let command = command.ok_or_else(|| self.empty_input_error())?;
        if command.writes.is_empty() && command.goto.is_empty() {
            return Err(self.empty_input_error());
        }
        run.limit();
        let AnyCommand { writes, goto, .. } = command;
        run.begin_input(writes)?;
        run.input.goto = goto;
        Ok(run)
    }

    /// Applies a command: a fork stores it with its checkpoint; otherwise a goto is recorded at the present checkpoint,
    /// and an update makes a checkpoint of its own (V7).
    async fn apply_command(
        &self,
        run: &mut Run,
        reader: &Reader,
        records: &mut Tasks,
        command: AnyCommand,
        (forks, mapping): (bool, &Mapping),
    ) -> Result<(), RunError> {
        if command.parent.is_some() {
            return Err(RunError::NoParentGraph { node: "the command".into() });
        }
        let updates = !command.writes.is_empty();
        let mut puts = vec![];
        let before = records.get(&COMMAND_KEY).filter(|_| !updates && !forks).cloned();
        let beside_results = records.values().any(|record| record.status == TaskStatus::Done);
        // Stored, but not part of the state: the entries of a log must not close over them.
        if updates && (beside_results || run.pos.start.is_some()) {
            run.pos.channels.line = NEW_LINE;
        }
        let record = run.command(command, before, &mut puts)?;
        let Some(recorder) = run.recorder().cloned() else { return Ok(()) };
        if forks {
            return run.fork(Source::Fork, puts).await;
        }
        if updates {
            let origin = run.pos.meta.id;
            run.fork(Source::Update, puts).await?;
            run.allow_extra_step();
            let puts = self.copy_tasks(run, reader, (origin, false), records, mapping).await?;
            recorder.commit(puts, None).await?;
            return Ok(());
        }
        let key = run.task_key(COMMAND_KEY);
        if beside_results {
            recorder.keep(&key); // without it, the results alone would seem to have led to what comes next
        }
        puts.push((key, Row::record(record)));
        recorder.commit(puts, None).await?;
        Ok(())
    }

    /// Stores answers at the checkpoint itself, or at a fork that continues with copies of its tasks and their
    /// subgraphs.
    async fn apply_answers(
        &self,
        run: &mut Run,
        reader: &Reader,
        records: &mut Tasks,
        (answers, now): (Vec<Answer>, u64),
        forks: Option<&Mapping>,
    ) -> Result<(), RunError> {
        let matched = self.match_answers(reader, records, answers, now).await?;
        if let Some(mapping) = forks {
            let way = (run.pos.meta.id, !run.is_at_head());
            run.fork(Source::Fork, vec![]).await?;
            run.allow_extra_step();
            let puts = self.copy_tasks(run, reader, way, records, mapping).await?;
            if let Some(recorder) = run.recorder() {
                recorder.commit_now(puts).await?;
            }
        }
        self.store_answers(run, reader, records, matched).await
    }

    /// Checks answers against the superstep that the last run left, if this run has taken it up. Returns nothing if more
    /// than the answers changes it. After a refusal, the next run finds the superstep as this one did.
    async fn matched_left(
        &self,
        run: Run,
        reader: &Reader,
        answers: &[Answer],
    ) -> Result<(Run, Option<MatchedStep>), RunError> {
        let Some(left) = &run.step.left else { return Ok((run, None)) };
        let now = self.now();
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
    ) -> Result<Option<MatchedStep>, RunError> {
        let (mut places, mut named, mut taken) = (vec![], vec![], vec![]);
        for answer in answers {
            let (at, id) = match answer.to {
                To::Id(id) => (place(run, id), id),
                To::TheOnly => {
                    let id = the_only(open_questions(run, &taken), answer)?;
                    (place(run, id), id)
                }
            };
            let Some(at) = at else { return Err(unmatched_error(reader, To::Id(id), id.to_string()).await?) };
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
        let matched = self.match_answers(reader, &records, named, now).await?;
        Ok(Some(MatchedStep { records, matched }))
    }

    /// Keeps what this run has taken up, and not changed, for the next one.
    fn keep_unchanged(&self, run: Run) {
        if let Some(recorder) = run.recorder().cloned() {
            self.keep_end(&recorder, end_to_keep(run));
        }
    }

    /// Stores the answers, and restores the tasks that they are for.
    async fn resume_left(
        &self,
        mut run: Run,
        reader: &Reader,
        MatchedStep { mut records, matched }: MatchedStep,
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
