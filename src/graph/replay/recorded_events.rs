//! Emits the events of recorded supersteps in canonical order: the checkpoint, the tasks that started, then for each
//! task its emitted events, subgraphs, questions, answers and end; then the state. Runs nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use superstep_base::gather;

use super::walk::{StepRecord, Walk};
use crate::checkpoint::{AnswerRecord, BoxFuture, CheckpointId, Key, QuestionRecord, RowId, Source, TaskStatus};
use crate::graph::build::Table;
use crate::graph::diff::outline::child_graph;
use crate::graph::error::RunError;
use crate::graph::interrupt::{AnswerInfo, AnyQuestion, InterruptId, Question, QuestionFormat, Terms};
use crate::graph::records::{BY_HANDLER, Reader, START_NODE};
use crate::graph::run::apply::{all_channels, shows_output};
use crate::graph::run::{Emitter, EventOrigin, StateMode};
use crate::graph::state::{AnyWrite, Mask};
use crate::graph::superstep::task::planned_tasks;
use crate::graph::superstep::{FinishedResult, Position, Task, TaskState};
use crate::graph::thread::journal::answer_info;
use crate::graph::thread::snapshot::with_results;
use crate::graph::view::event::task_id;
use crate::graph::view::{EventKind, EventTask, Ledger, Mode, RecordedEvent, ReplayListener, TaskView};

pub(crate) struct RecordedEvents<'a> {
    pub table: &'a Arc<Table>,
    pub reader: &'a Reader,
    pub listener: &'a ReplayListener,
    /// Nodes from the root graph down to this one.
    pub names: Arc<[String]>,
    /// The same with task ids, as events carry them.
    pub places: Arc<[String]>,
    /// The output channels, if not all.
    pub output: Option<&'a Mask>,
    /// The checkpoint before those of the run whose events are wanted, if not those of all are.
    pub base: Option<CheckpointId>,
    /// True for a subgraph over the state of the graph around it.
    pub shares_state: bool,
}

impl RecordedEvents<'_> {
    /// Emits up to `limit` supersteps, and returns their number.
    pub(crate) async fn emit(&self, mut walk: Walk, limit: u64) -> Result<u64, RunError> {
        let (mut supersteps, mut ran, mut first) = (0, vec![], true);
        while supersteps < limit
            && let Some(step) = walk.next().await?
        {
            if std::mem::take(&mut first) && step.made.meta.parent.is_none() && step.made.meta.source == Source::Loop {
                self.emit_gap(CheckpointId(0), step.made.meta.id).await?;
            }
            if self.is_before_run(&step) {
                continue;
            }
            if self.is_base(&step) {
                self.emitter().values(step.made.meta.step, || step.made.state.clone(), vec![]).await;
            }
            self.checkpoint(&step, &ran).await;
            if includes_tasks(&step) {
                self.load(step.made.meta.id, step.made.meta.id).await?;
                self.tasks(&step).await?;
                self.emit_rest().await;
            }
            let gap_before = |after: &&Position| after.meta.source == Source::Loop && !step.is_applied();
            if let Some(after) = step.after.as_ref().filter(gap_before) {
                self.emit_gap(step.made.meta.id, after.meta.id).await?;
            }
            self.end(&step).await;
            let nodes = step.tasks.iter().map(|task| self.table.node_name(task.node).to_string());
            ran = if step.is_applied() { nodes.collect() } else { vec![] };
            supersteps += u64::from(step.after.is_some() || !step.records.is_empty());
        }
        Ok(supersteps)
    }

    /// Returns whether the run that is replayed began at this checkpoint of another one: it resumed there, unless it
    /// [was before it](Self::is_before_run).
    fn is_base(&self, step: &StepRecord) -> bool {
        self.base == Some(step.made.meta.id)
    }

    /// Returns whether the run that is replayed did not resume at its base: the thread got an input or an update, or the graph had ended.
    fn is_before_run(&self, step: &StepRecord) -> bool {
        let goes_on = step.after.as_ref().is_none_or(|after| after.meta.source == Source::Loop);
        self.is_base(step) && (step.tasks.is_empty() || !goes_on)
    }

    /// Returns whether a task ended before the run that is replayed: those of its base that have asked nothing.
    fn ended_before(&self, step: &StepRecord, task: &Task) -> bool {
        self.is_base(step) && task.asked.is_empty() && task.record.answers.is_empty()
    }

    async fn load(&self, first: CheckpointId, last: CheckpointId) -> Result<(), RunError> {
        if !self.names.is_empty() || !self.listener.listens {
            return Ok(()); // events of subgraphs are loaded with the superstep of the root graph
        }
        self.listener.events.load(self.reader, first, last).await
    }

    /// Emits the custom events of supersteps that durability `exit` left out before a checkpoint.
    async fn emit_gap(&self, from: CheckpointId, to: CheckpointId) -> Result<(), RunError> {
        let newest = self.reader.made_before(to).await?;
        let first = if newest == from { from } else { CheckpointId(newest.0 + 1) };
        self.load(first, CheckpointId(to.0.saturating_sub(1))).await?;
        self.emit_rest().await;
        Ok(())
    }

    async fn emit_rest(&self) {
        if self.names.is_empty() {
            self.pass_on(self.listener.events.rest()).await;
        }
    }

    async fn checkpoint(&self, step: &StepRecord, ran: &[String]) {
        if !self.emitter().wants(Mode::Checkpoints) {
            return;
        }
        let made = &step.made;
        let tasks = planned_tasks(self.table, made);
        let view = |task: &Task| {
            // A run that resumes shows what its tasks have come to.
            let resumed = step.tasks.iter().find(|known| self.is_base(step) && known.key == task.key);
            let ended = resumed.filter(|task| self.ended_before(step, task)).and_then(Task::result);
            TaskView {
                id: task_id(made.meta.id, stored_key(step, task)),
                name: self.table.node_name(task.node).to_string(),
                error: None,
                result: ended.map(|done| self.emitter().writes_view(&done.writes)),
                questions: resumed.map(|task| task.asked.to_vec()).unwrap_or_default(),
                subgraph: !self.table.children_of(task.node).is_empty(),
            }
        };
        let tasks = tasks.iter().map(view).collect();
        self.emitter().checkpoint(made, tasks, ran.to_vec(), made.meta.parent.is_some()).await;
    }

    async fn tasks(&self, step: &StepRecord) -> Result<(), RunError> {
        let callers = self.callers_in_flight(step).await?;
        let has_started =
            |task: &Task| step.records.contains_key(&task.key) || callers.contains(&stored_key(step, task));
        let started = |task: &&Task| task.node != START_NODE && has_started(task);
        for task in step.tasks.iter().filter(started) {
            self.start(step, task).await;
        }
        for task in step.tasks.iter().filter(started) {
            self.emit_custom(step, task).await;
            self.journal(step, task).await?;
            self.emit_subgraphs(step, task).await?;
            let answered = self.emit_questions(step, task).await?;
            if answered && !matches!(task.state, TaskState::Asked { .. }) {
                self.start(step, task).await;
            }
            self.emit_end(step, task).await;
        }
        Ok(())
    }

    /// Returns the tasks of the newest superstep that have called subgraphs: a process that was killed has left no other record of them.
    async fn callers_in_flight(&self, step: &StepRecord) -> Result<BTreeSet<u32>, RunError> {
        if step.after.is_some() || self.table.nodes.iter().all(|row| row.children.is_empty()) {
            return Ok(BTreeSet::new());
        }
        Ok(gather(self.reader.children(step.made.meta.id).await?.into_iter().map(|(task, ..)| task)))
    }

    fn emitter(&self) -> Emitter<'_> {
        Emitter { table: self.table, sink: &self.listener.sink, namespace: &self.places, output: self.output }
    }

    fn origin(&self, step: &StepRecord, task: &Task) -> EventOrigin {
        let (node, id) =
            (Arc::clone(self.table.node_name(task.node)), task_id(step.made.meta.id, stored_key(step, task)));
        EventOrigin { step: step.made.meta.step + 1, task: EventTask::below(&self.places, node, id) }
    }

    async fn start(&self, step: &StepRecord, task: &Task) {
        self.emitter().emit_start(|| self.origin(step, task), task, &step.before.state, 0).await;
    }

    /// Emits the custom events of a node, those of its unsaved subgraphs included.
    async fn emit_custom(&self, step: &StepRecord, task: &Task) {
        self.pass_on(self.listener.events.of(step.made.meta.id, stored_key(step, task))).await;
    }

    /// Emits the journal of a task of the root graph, entries of its subgraphs included.
    async fn journal(&self, step: &StepRecord, task: &Task) -> Result<(), RunError> {
        if !self.names.is_empty() || !self.listener.sink.wants(Mode::Journal, true) {
            return Ok(());
        }
        let own = (step.made.meta.id, stored_key(step, task));
        let ledger = Ledger::of(self.table, self.reader, &step.before, own, task, true);
        for entry in ledger.entries().await? {
            self.emitter().send_of(self.origin(step, task), EventKind::Journal { entry: Box::new(entry) }).await;
        }
        Ok(())
    }

    async fn pass_on(&self, events: Vec<RecordedEvent>) {
        for (step, task, kind) in events {
            let namespace = task.path.split_last().map_or(&[][..], |(_, above)| above).into();
            self.listener.sink.send(&namespace, step, Some(task), kind).await;
        }
    }

    async fn emit_subgraphs(&self, step: &StepRecord, task: &Task) -> Result<(), RunError> {
        let children = self.table.children_of(task.node);
        if children.is_empty() || !self.listener.sink.is_deep() {
            return Ok(());
        }
        for (_, call, tip) in self.reader.children_of(step.made.meta.id, stored_key(step, task)).await? {
            let handler = call >= BY_HANDLER;
            let call = call & !BY_HANDLER;
            if call < task.record.first_call && !handler {
                continue;
            }
            let Some(child) = child_graph(self.reader, children, tip).await? else { continue };
            let way = self.child_names(step, task, handler, call);
            child.0.emit_recorded(self.reader, (step.made.meta.id, tip), self.listener, way).await?;
        }
        Ok(())
    }

    /// Returns the names and places of a subgraph that a task, or its error handler, called.
    fn child_names(&self, step: &StepRecord, task: &Task, handler: bool, call: u32) -> (Arc<[String]>, Arc<[String]>) {
        let row = self.table.row(task.node);
        let name = if handler { &row.handler.name } else { &row.name };
        let own = EventTask::below(&self.places, Arc::clone(name), task_id(step.made.meta.id, stored_key(step, task)));
        let again = || (call > 0).then(|| format!("#{call}"));
        let names = self.names.iter().cloned().chain([name.to_string()]).chain(again()).collect();
        (names, own.path.iter().cloned().chain(again()).collect())
    }

    /// Emits the questions and answers of a task. Returns true if it was answered.
    async fn emit_questions(&self, step: &StepRecord, task: &Task) -> Result<bool, RunError> {
        let own =
            |asked: &QuestionRecord| (asked.checkpoint, asked.task) == (step.made.meta.id, stored_key(step, task));
        let last =
            |answer: &AnswerRecord| task.record.questions.iter().any(|asked| own(asked) && asked.place == answer.place);
        let values = answer_info(self.table, task);
        for (answer, info) in task.record.answers.iter().zip(&values).filter(|(answer, _)| !last(answer)) {
            if let Some(question) = self.question(step, task, answer).await? {
                self.questions(step, task, vec![question]).await;
            }
            self.answer(step, task, info.clone()).await;
            self.start(step, task).await;
        }
        self.questions(step, task, task.asked.to_vec()).await;
        for (_, info) in task.record.answers.iter().zip(&values).filter(|(answer, _)| last(answer)) {
            self.answer(step, task, info.clone()).await;
        }
        Ok(!values.is_empty() || (!task.asked.is_empty() && task.is_done()))
    }

    async fn question(
        &self,
        step: &StepRecord,
        task: &Task,
        answer: &AnswerRecord,
    ) -> Result<Option<Question>, RunError> {
        let (checkpoint, key) = (step.made.meta.id, stored_key(step, task));
        let row = RowId { checkpoint, task: key, slot: RowId::QUESTIONS + answer.place };
        let Some(payload) = self.reader.get_one(Key::Row(row)).await? else { return Ok(None) };
        let shows = self.table.asks(&answer.name).map_or_else(QuestionFormat::of::<AnyQuestion>, |asks| asks.shows);
        Ok(Some(Question {
            id: InterruptId { birth: self.reader.birth, checkpoint, task: key, place: answer.place },
            name: answer.name.clone(),
            node: self.table.node_name(task.node).to_string(),
            namespace: self.names.to_vec(),
            payload,
            shows,
            answered: true,
            asker: answer.asker.clone(),
            terms: Terms::default(),
        }))
    }

    async fn questions(&self, step: &StepRecord, task: &Task, questions: Vec<Question>) {
        let at = step.made.meta.step + 1;
        self.emitter().emit_interrupt(at, || self.origin(step, task), questions, &step.before.state).await;
    }

    async fn answer(&self, step: &StepRecord, task: &Task, answer: AnswerInfo) {
        self.emitter().send_of(self.origin(step, task), EventKind::Answered { answer }).await;
    }

    async fn emit_end(&self, step: &StepRecord, task: &Task) {
        let emitter = self.emitter();
        if let Some(handled) = &task.record.handled {
            emitter.failed(|| self.origin(step, task), Some(handled.error.clone())).await;
        }
        let origin = || match task.record.handled {
            Some(_) => self.origin(step, task).with_node(Arc::clone(&self.table.row(task.node).handler.name)),
            None => self.origin(step, task),
        };
        let is_earlier = self.ended_before(step, task);
        if let TaskState::Done(done) = &task.state {
            emitter.emit_done(origin, &done.writes, is_earlier).await;
        } else if !is_earlier && step.records.get(&task.key).is_some_and(|record| record.status == TaskStatus::Failed) {
            emitter.failed(origin, task.record.error.clone()).await;
        }
    }

    /// Emits the state after a superstep; for an interrupted one, the state with the results so far.
    async fn end(&self, step: &StepRecord) {
        let done: Vec<&FinishedResult> = step.tasks.iter().filter_map(Task::result).collect();
        let starts = self.shares_state && step.tasks.iter().any(|task| task.node == START_NODE);
        let written = match starts {
            true => all_channels(self.table),
            false => done.iter().flat_map(|done| done.writes.0.iter().map(AnyWrite::channel)).collect(),
        };
        let state = match &step.after {
            Some(after) if after.meta.source == Source::Loop => Some(after.state.clone()),
            Some(_) => None,
            None if step.tasks.iter().any(|task| !task.asked.is_empty()) => {
                Some(with_results(self.table, &step.before.state, &done))
            }
            None => None,
        };
        let Some(state) = state else { return };
        if !step.is_applied() && step.after.is_some() || shows_output(self.table, self.output, &written, &state) {
            let at = step.after.as_ref().map_or(step.made.meta.step, |after| after.meta.step);
            self.emitter().values(at, || state, vec![]).await;
        }
    }
}

/// True if the tasks of the checkpoint belong to the line. They do not if the next checkpoint is a fork, if checkpoints
/// are missing in between, or if it is an external write after all tasks had ended.
fn includes_tasks(step: &StepRecord) -> bool {
    match step.after.as_ref().map(|after| after.meta.source) {
        None => true,
        Some(Source::Loop) => step.is_applied(),
        Some(Source::Fork) => false,
        Some(Source::Input | Source::Update) => step.tasks.iter().any(|task| !task.is_done()),
    }
}

/// Returns the key that the task had in the graph which recorded it.
fn stored_key(step: &StepRecord, task: &Task) -> u32 {
    step.mapping.stored_task(task.key)
}

/// Emits the events of a subgraph: the checkpoints that led to `tip` since the calling task was planned.
pub(crate) fn emit_subgraph<'a>(
    (table, mode): (&'a Arc<Table>, StateMode),
    reader: &'a Reader,
    (since, tip): (CheckpointId, CheckpointId),
    listener: &'a ReplayListener,
    (names, places): (Arc<[String]>, Arc<[String]>),
) -> BoxFuture<'a, Result<(), RunError>> {
    Box::pin(async move {
        let mut line = reader.nested_line(tip, since).await?;
        let base = listener.trim(&mut line);
        let walk = Walk::new(Arc::clone(table), reader.clone(), line, listener.needs_states(&names));
        let (output, shares_state) = (table.channels.output.as_ref(), mode == StateMode::Shared);
        let emitter = RecordedEvents { table, reader, listener, names, places, output, base, shares_state };
        emitter.emit(walk, u64::MAX).await.map(drop)
    })
}
