//! What the end of a task's body means: done, asked, failed. Tells the stream and the store.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::checkpoint::{CheckpointId, Key, QuestionRecord, RowId, TaskRecord, TaskStatus, encode_record};

use super::cached::CachedResult;
use super::command::Command;
use super::control::START_NODE;
use super::ctx::{Raised, TaskCtx};
use super::error::{HandedUp, RunError};
use super::event::{EventKind, Mode, View};
use super::interrupt::Question;
use super::node::NodeId;
use super::perform::{Caught, Performed, words};
use super::position::{Finished, fresh_read, named};
use super::recorder::Puts;
use super::run::Run;
use super::save;
use super::state::State;
use super::task::{Resolve, Stand, finished};
use super::writes::Writes;

impl<S: State, N: NodeId, C: Send + Sync + 'static> Run<S, N, C> {
    /// Takes the result of a task's body.
    pub(crate) async fn settle(&mut self, at: usize, performed: Performed<S, N, C>) -> Result<(), RunError> {
        let Performed { ended, ctx, attempts, handled, cached, cache_key } = performed;
        self.tasks[at].attempts += attempts.saturating_sub(1);
        if let Some(hit) = cached {
            return self.take_cached(at, hit).await;
        }
        if let Some(error) = &handled {
            self.handler_took_over(at, error).await;
        }
        let by_handler = handled.is_some();
        match self.judge(at, &ctx, ended, by_handler) {
            Ok(Judged::Done(result)) => self.done(at, result, &ctx, by_handler, cache_key).await?,
            Ok(Judged::Asked(questions)) => self.asked(at, questions).await?,
            Err(error) => self.fail(at, error).await?,
        }
        self.spare = Some(ctx);
        Ok(())
    }

    /// What counts is the question in the context, not the value the node returned.
    fn judge(&self, at: usize, ctx: &TaskCtx<C>, ended: Caught<S, N>, by_handler: bool) -> Result<Judged<S>, RunError> {
        let task = &self.tasks[at];
        let (node, step) = (Arc::clone(&ctx.name), self.pos.step + 1);
        let ended = match ended {
            Ok(ended) => ended,
            Err(message) => return Err(RunError::Panicked { node, step, message }),
        };
        let command = match (ctx.raised.get(), ended) {
            (None, Ok(command)) => command,
            (None, Err(error)) => return Err(RunError::Node { node, step, error: Arc::new(error) }),
            (Some(Raised::Wrong(error) | Raised::Failed(error)), Err(_)) => return Err(error.clone()),
            (Some(Raised::Wrong(error)), Ok(_)) => return Err(error.clone()),
            (Some(Raised::Failed(_)), Ok(command)) => command, // the node dealt with its subgraph's failure
            (Some(Raised::Ask(question)), Err(_)) => return Ok(Judged::Asked(vec![question.clone()])),
            (Some(Raised::Inside(questions)), Err(_)) => return Ok(Judged::Asked(questions.clone())),
            (Some(Raised::Ask(question)), Ok(_)) => {
                return Err(RunError::QuestionIgnored { node, question: question.name.clone() });
            }
            (Some(Raised::Inside(_) | Raised::Stopped), Ok(_)) => {
                return Err(RunError::QuestionIgnored { node, question: "of its subgraph".into() });
            }
            (Some(Raised::Stopped), Err(_)) => return Ok(Judged::Asked(vec![])),
            (Some(Raised::Parent(command, given)), _) => match command.downcast_ref::<Command<S, N>>() {
                Some(command) => command.clone(),
                None => return Err(RunError::WrongParent { node, given }),
            },
        };
        if let Some(handed) = command.parent {
            return Err(self.hand_up(node, handed, command.parent_type));
        }
        let resolve = Resolve { table: &self.table, from: &node, made_by: (self.pos.id, task.key) };
        let mut result = finished(&resolve, command, task.node)?;
        result.fires = !by_handler;
        if self.tasks.len() > 1 && result.fires {
            self.route(at, &mut result)?;
            result.routed = true;
        }
        Ok(Judged::Done(result))
    }

    /// A command for the enclosing graph ends this one.
    fn hand_up(&self, node: Arc<str>, command: Arc<dyn Any + Send + Sync>, given: &'static str) -> RunError {
        if self.level.names.is_empty() {
            return RunError::NoParentGraph { node };
        }
        RunError::HandUp(HandedUp { command, given })
    }

    /// Lets the node's routers choose over the state with this task's own writes only (R3).
    fn route(&self, at: usize, result: &mut Finished<S>) -> Result<(), RunError> {
        let task = &self.tasks[at];
        if self.table.row(task.node).exits.routers.is_empty() {
            return Ok(());
        }
        let seen = self.own_view(at, &self.pos.state, &result.writes)?;
        self.choose(task.node, task.key, &seen, result)
    }

    /// Lets the routers after a node choose over this state.
    pub(crate) fn choose(&self, node: u32, key: u32, seen: &S, result: &mut Finished<S>) -> Result<(), RunError> {
        self.choose_as(node, (self.pos.id, key), seen, result)
    }

    /// The same, with sends made under a number of their own.
    pub(crate) fn choose_as(
        &self,
        node: u32,
        made_by: (CheckpointId, u32),
        seen: &S,
        result: &mut Finished<S>,
    ) -> Result<(), RunError> {
        let from = self.node_name(node);
        let exits = if node == START_NODE { &self.table.entry } else { &self.table.row(node).exits };
        let resolve = Resolve { table: &self.table, from: &from, made_by };
        let choose = || {
            let mut routers = exits.routers.iter();
            routers.try_for_each(|branch| resolve.branch(branch, seen, &self.shared.context, result))
        };
        match catch_unwind(AssertUnwindSafe(choose)) {
            Ok(chosen) => chosen,
            Err(panic) => {
                let message = format!("its router: {}", words(&*panic));
                Err(RunError::Panicked { node: Arc::clone(&from), step: self.pos.step + 1, message })
            }
        }
    }

    fn own_view(&self, at: usize, state: &S, writes: &Writes<S>) -> Result<S, RunError> {
        let node = || vec![self.node_name(self.tasks[at].node).to_string()];
        fresh_read(&self.table, state, writes).map_err(|error| named(&self.table, self.pos.step + 1, error, node()))
    }

    async fn done(
        &mut self,
        at: usize,
        mut result: Finished<S>,
        ctx: &TaskCtx<C>,
        by_handler: bool,
        cache_key: Option<Vec<u8>>,
    ) -> Result<(), RunError> {
        result.children = std::mem::take(&mut ctx.inside().children);
        if let (Some(key), Some(cache), false) = (cache_key, &self.shared.cache, by_handler) {
            let mut whole = Finished { writes: result.writes.clone(), ..Finished::default() };
            (whole.targets, whole.sends) = (result.targets.clone(), result.sends.clone());
            if self.tasks.len() == 1 {
                self.route(at, &mut whole)?;
            }
            CachedResult::keep(&self.table, self.tasks[at].node, &**cache, key, &whole);
        }
        if self.tasks.len() > 1 {
            self.save_task(at, &mut result)?;
        }
        if self.shared.sink.is_some() {
            let name = Arc::clone(&ctx.name);
            self.tell_done(&name, &result.writes, false).await;
        }
        self.tasks[at].stand = Stand::Done(Box::new(result));
        Ok(())
    }

    async fn take_cached(&mut self, at: usize, hit: CachedResult) -> Result<(), RunError> {
        let made_by = (self.pos.id, self.tasks[at].key);
        let Some(mut result) = hit.revive(&self.table, made_by) else {
            let what = self.node_name(self.tasks[at].node).to_string();
            return Err(RunError::Codec { what, reason: "its cached result cannot be read".into() });
        };
        if self.shared.sink.is_some() {
            let name = self.node_name(self.tasks[at].node);
            self.tell_done(&name, &result.writes, true).await;
        }
        if self.tasks.len() > 1 {
            self.save_task(at, &mut result)?;
        }
        self.tasks[at].stand = Stand::Done(Box::new(result));
        Ok(())
    }

    async fn handler_took_over(&mut self, at: usize, error: &Arc<super::node::NodeError>) {
        let first = self.tasks[at].handled.is_none();
        self.tasks[at].handled = Some(error.to_string());
        self.tasks[at].error = Some(error.to_string());
        if !first {
            return;
        }
        let node = self.node_name(self.tasks[at].node);
        self.tell_end(&node, Some(error.to_string()), Writes::default(), vec![]).await;
        let node = Arc::clone(&self.table.row(self.tasks[at].node).handler_name);
        let input = self.input(at);
        self.emit(self.pos.step + 1, EventKind::TaskStart { node, input }).await;
    }

    async fn asked(&mut self, at: usize, questions: Vec<Question>) -> Result<(), RunError> {
        self.note_questions(at, &questions);
        self.save_waiting(at, &questions)?;
        self.tasks[at].asked.clone_from(&questions);
        if self.shared.sink.is_some() && !questions.is_empty() {
            let step = self.pos.step + 1;
            self.emit(step, EventKind::Interrupt { questions: questions.clone() }).await;
            if self.wants(Mode::Values) {
                let values = self.view();
                self.emit(step, EventKind::Values { values, questions: questions.clone() }).await;
            }
            let node = self.node_name(self.tasks[at].node);
            self.tell_end(&node, None, Writes::default(), questions.clone()).await;
        }
        self.tasks[at].stand = Stand::Asked { questions, fresh: false };
        Ok(())
    }

    fn note_questions(&mut self, at: usize, questions: &[Question]) {
        let record = |question: &Question| QuestionRecord {
            checkpoint: question.id.checkpoint,
            task: question.id.task,
            place: question.id.place,
            name: question.name.clone(),
            payload: RowId {
                checkpoint: question.id.checkpoint,
                task: question.id.task,
                slot: RowId::QUESTIONS + question.id.place,
            },
            node: question.node.clone(),
            namespace: question.namespace.clone(),
            answered: false,
        };
        self.tasks[at].questions = questions.iter().map(record).collect();
    }

    fn save_waiting(&mut self, at: usize, questions: &[Question]) -> Result<(), RunError> {
        let Some(recorder) = self.recorder() else { return Ok(()) };
        let mut puts: Puts = vec![];
        for (question, record) in questions.iter().zip(&self.tasks[at].questions) {
            puts.push((Key::Row(record.payload), question.payload.clone()));
        }
        let record = TaskRecord { status: TaskStatus::Interrupted, ..self.tasks[at].record() };
        puts.push((self.task_key(self.tasks[at].key), encode_record(&record)?));
        recorder.queue(puts, None);
        Ok(())
    }

    /// A task has failed: its siblings go on.
    pub(crate) async fn fail(&mut self, at: usize, error: RunError) -> Result<(), RunError> {
        if matches!(error, RunError::HandUp(_) | RunError::NoParentGraph { .. }) {
            self.tasks[at].stand = Stand::Failed(error);
            return Ok(());
        }
        let text = error.to_string();
        self.tasks[at].error = Some(text.clone());
        if let Some(recorder) = self.recorder() {
            let record = TaskRecord { status: TaskStatus::Failed, ..self.tasks[at].record() };
            let puts = vec![(self.task_key(self.tasks[at].key), encode_record(&record)?)];
            recorder.queue(puts, None);
        }
        if self.shared.sink.is_some() {
            let node = self.node_name(self.tasks[at].node);
            self.tell_end(&node, Some(text), Writes::default(), vec![]).await;
        }
        self.tasks[at].stand = Stand::Failed(error);
        Ok(())
    }

    /// Encodes a finished task; its records go out with the next commit of finished siblings.
    fn save_task(&mut self, at: usize, result: &mut Finished<S>) -> Result<(), RunError> {
        if self.recorder().is_none() {
            return Ok(());
        }
        let mut puts = std::mem::take(&mut self.settled);
        save::task(self, at, result, &mut puts)?;
        self.settled = puts;
        Ok(())
    }

    /// Queues the records of siblings that finished; the last one's ride on the checkpoint's commit.
    pub(crate) fn flush_settled(&mut self) {
        let open = self.tasks.iter().any(|task| !task.is_done());
        if self.settled.is_empty() || !open {
            return;
        }
        let puts = std::mem::take(&mut self.settled);
        if let Some(recorder) = self.recorder() {
            recorder.queue(puts, None);
        }
    }

    pub(crate) fn task_key(&self, task: u32) -> Key {
        Key::Task { checkpoint: self.pos.id, task }
    }

    pub(crate) async fn tell_done(&self, node: &Arc<str>, writes: &Writes<S>, cached: bool) {
        let step = self.pos.step + 1;
        if self.wants(Mode::Updates) {
            let writes = View::of_writes(self.shown_writes(writes), Arc::clone(&self.table));
            self.emit(step, EventKind::Update { node: Arc::clone(node), writes, cached }).await;
        }
        if !cached {
            self.tell_end(node, None, writes.clone(), vec![]).await;
        }
    }

    async fn tell_end(&self, node: &Arc<str>, error: Option<String>, writes: Writes<S>, questions: Vec<Question>) {
        if self.wants(Mode::Tasks) {
            let writes = View::of_writes(writes, Arc::clone(&self.table));
            let kind = EventKind::TaskEnd { node: Arc::clone(node), error, writes, questions };
            self.emit(self.pos.step + 1, kind).await;
        }
    }
}

enum Judged<S: State> {
    Done(Finished<S>),
    Asked(Vec<Question>),
}
