//! The end of a task's body: a result, an interrupt, or a failure by an error or a panic. Updates the run, queues records,
//! and emits events.

use std::sync::Arc;

use superstep_base::panics::catch_panic;

use super::job::CachedResult;
use super::perform::{BodyResult, PerformedTask, TaskDetails};
use super::state::Run;
use super::trace;
use super::waiting::Waits;
use crate::checkpoint::{CheckpointId, FailureRecord, HandledRecord, Row, TaskRecord, TaskStatus};
use crate::graph::build::rows::may_wait;
use crate::graph::context::{AttemptStop, Exit, KnownAnswers, SubgraphCalls, TaskCtx};
use crate::graph::error::{NodeError, ParentCommand, RunError, SharedNodeError};
use crate::graph::interrupt::Question;
use crate::graph::node::AnyCommand;
use crate::graph::superstep::task::command_result;
use crate::graph::superstep::{FinishedResult, Resolve, Task, TaskState};

impl Run {
    /// Finishes a task: updates the run, queues records, and emits events.
    pub(crate) async fn settle(&mut self, at: usize, performed: PerformedTask) -> Result<(), RunError> {
        if self.is_held(&performed) {
            Box::pin(self.outlast_holders(at, &performed.ctx)).await;
        }
        let ending = self.take_guarded(at, performed)?;
        if self.shared.events.sink.is_some() {
            self.outbox.unacknowledged |= matches!(ending, Ending::Done { .. }) && self.listener_awaits_commit();
            Box::pin(self.emit_end(at, ending)).await; // boxed, as all that only listeners need
        }
        Ok(())
    }

    /// Returns true if the body returned a result while somebody else may still hold its context.
    pub(super) fn is_held(&self, performed: &PerformedTask) -> bool {
        let may_be = Arc::strong_count(&performed.ctx) > 1 || self.shared.stragglers.are_noted();
        may_be && matches!(performed.ended, Ok(Ok(_)))
    }

    /// Calls `take`; a panic in it is the failure of the task.
    pub(super) fn take_guarded(&mut self, at: usize, performed: PerformedTask) -> Result<Ending, RunError> {
        match catch_panic(|| self.take(at, performed)) {
            Ok(ending) => ending,
            Err(panic) => self.panicked_in(at, panic),
        }
    }

    /// Waits until nobody else holds the context of a body that returned a result, or of its earlier attempts: what a task
    /// that it spawned asks belongs to it, and fails it before its superstep is stored.
    async fn outlast_holders(&self, at: usize, ctx: &Arc<TaskCtx>) {
        let (stragglers, row) = (&self.shared.stragglers, self.table.row(self.step.tasks[at].node));
        let id = ctx.id();
        let is_left = || Arc::strong_count(ctx) > 1 || stragglers.are_left(|task| task == id);
        let is_held = || ctx.progress.attempt_stop().is_none() && is_left();
        stragglers.wait_while(is_held, || may_wait(row)).await;
        if let Some(error) = stragglers.error_of(&id) {
            ctx.raise(AttemptStop::Wrong(error));
        }
    }

    /// The synchronous part of `settle`: updates the run and queues records.
    pub(crate) fn take(&mut self, at: usize, performed: PerformedTask) -> Result<Ending, RunError> {
        let PerformedTask { ended, ctx, attempts, details } = performed;
        // The end of a task is a sign of life of the nodes whose subgraphs it is in.
        self.scope.beat();
        // From here on, a question that somebody who still holds the context asks fails the run.
        ctx.end();
        let task = &mut self.step.tasks[at];
        match details {
            Some(_) => task.latest = None, // they say more
            None => task.catch_up(),
        }
        let TaskDetails { handled, cache_key, failures } = details.map(|details| *details).unwrap_or_default();
        task.starts.all += attempts.saturating_sub(1);
        task.starts.last = ctx.attempt.number;
        if task.starts.times[0] > 0 {
            task.starts.times[1] = self.shared.now();
        }
        if !failures.is_empty() {
            task.note_failures(attempts, failures);
        }
        let handled_failure =
            handled.as_ref().and_then(|(error, answered)| self.note_handled_failure(at, error, *answered));
        // First of all records: the journal's entries are part of the commit of the task's record.
        self.take_journal(at, &ctx)?;
        let answered = ctx.answered();
        if ctx.left_anything() {
            self.step.tasks[at].record.first_call = ctx.state().subgraphs.first_call;
        }
        match self.body_outcome(at, &ctx, ended, handled.is_some()) {
            Ok(BodyOutcome::Done(mut result)) => {
                if ctx.left_anything() {
                    result.children = self.leave(&ctx);
                }
                let kept = self.finish_task(at, result, cache_key.filter(|_| handled.is_none()));
                self.reuse(ctx);
                match kept {
                    Ok(()) => Ok(Ending::Done { handled_failure, by_handler: handled.is_some() }),
                    Err(error) => self.fail(at, error).map(|()| Ending::Failed { handled_failure, answered }),
                }
            }
            Ok(BodyOutcome::Halted(exit)) => {
                // A breakpoint inside a subgraph shows as an interrupt of this graph, not as its own stop.
                self.step.halted = self.step.halted.or(Some(exit).filter(|exit| *exit != Exit::Stopped));
                self.asked(at, vec![], Waits::default()).map(|()| Ending::Asked { handled_failure })
            }
            Ok(BodyOutcome::Asked(questions, _)) if let Some(answers) = ctx.rematch_answers(&questions) => {
                self.repeat(at, answers);
                Ok(Ending::RunsAgain)
            }
            Ok(BodyOutcome::Asked(questions, wake)) => match self.asked(at, questions, Waits::of(&ctx, wake)) {
                Ok(()) => Ok(Ending::Asked { handled_failure }),
                Err(error) => self.fail(at, error).map(|()| Ending::Failed { handled_failure, answered }),
            },
            Err(error) => {
                self.leave(&ctx);
                // A command for the parent is not reported as a failure.
                let is_handed_up = matches!(error, RunError::HandUp(_));
                self.fail(at, error)?;
                Ok(if is_handed_up { Ending::HandedUp } else { Ending::Failed { handled_failure, answered } })
            }
        }
    }

    /// Keeps a context for the next task, without the state: one that is shared would be copied by the next write.
    fn reuse(&mut self, mut ctx: Arc<TaskCtx>) {
        if let Some(unshared) = Arc::get_mut(&mut ctx) {
            (unshared.locations, unshared.moved_state) = (None, None);
            self.reusable.context = Some(ctx);
        }
    }

    /// Schedules the body once more, with rematched answers.
    fn repeat(&mut self, at: usize, answers: Arc<KnownAnswers>) {
        self.count_closed(at);
        let task = &mut self.step.tasks[at];
        (task.answers, task.again, task.state) = (Some(answers), true, TaskState::Ready);
        self.step.runs_again = true;
    }

    /// Forgets the subgraphs of a task that has ended or failed. Returns those with state of their own.
    fn leave(&self, ctx: &TaskCtx) -> Vec<(String, CheckpointId)> {
        let SubgraphCalls { children, ended, .. } = std::mem::take(&mut *ctx.state()).subgraphs;
        if let Some(recorder) = self.recorder() {
            ended.iter().for_each(|(path, pointer)| recorder.forget(path, pointer));
        }
        children
    }

    /// Returns the outcome of a body. An interrupt raised in the context wins over the value that the node returned.
    pub(crate) fn body_outcome(
        &mut self,
        at: usize,
        ctx: &TaskCtx,
        ended: BodyResult,
        by_handler: bool,
    ) -> Result<BodyOutcome, RunError> {
        let command = match (ctx.progress.attempt_stop(), ended) {
            (None, Ok(Ok(command))) => command,
            (raised, ended) => match self.raised_outcome(ctx, raised, ended)? {
                RaisedOutcome::Command(command) => command,
                RaisedOutcome::Asked(questions, wake) => return Ok(BodyOutcome::Asked(questions, wake)),
                RaisedOutcome::Halted(exit) => return Ok(BodyOutcome::Halted(exit)),
            },
        };
        let name = &ctx.facts.name;
        if let Some(handed) = command.parent {
            return Err(self.hand_up(Arc::clone(name), *handed));
        }
        let mut result = self.reusable.result.take().unwrap_or_default();
        let task = &self.step.tasks[at];
        let resolve = Resolve { table: &self.table, from: name, made_by: (self.pos.meta.id, task.key) };
        command_result(&resolve, command, task.node, &mut result)?;
        result.routing.fires = !by_handler;
        if self.step.tasks.len() > 1 && result.routing.fires {
            self.route(at, &mut result)?;
            result.routing.is_done = true;
        }
        Ok(BodyOutcome::Done(result))
    }

    /// Returns the outcome of a body that raised something or did not return a command.
    fn raised_outcome(
        &self,
        ctx: &TaskCtx,
        raised: Option<&AttemptStop>,
        ended: BodyResult,
    ) -> Result<RaisedOutcome, RunError> {
        let (node, step) = (Arc::clone(&ctx.facts.name), self.pos.meta.step + 1);
        let ended = match ended {
            Ok(ended) => ended,
            Err(message) => return Err(self.panic_error(node, message)),
        };
        // What is raised first decides how the task ends, but an invalid question or wait fails it in any case.
        if !matches!(raised, Some(AttemptStop::Wrong(_)))
            && let Some(error) = &ctx.state().waits.wrong
        {
            return Err(error.clone());
        }
        // A reason to stop reaches the engine as an error; a body that returned a result has swallowed it.
        match (raised, ended) {
            (None, Ok(command)) => Ok(RaisedOutcome::Command(command)),
            (None, Err(error)) => {
                let namespace = Arc::clone(&self.scope.names);
                let failed = |error| RunError::Node { node, namespace, step, error: SharedNodeError(Arc::new(error)) };
                // The error of a subgraph that the body passed on with `?` keeps the node it is from.
                Err(ctx.passed_on(&error).unwrap_or_else(|| failed(error)))
            }
            (Some(AttemptStop::Wrong(error)), _) => Err(error.clone()),
            (Some(AttemptStop::Ask(question)), Err(_)) => Ok(with_inside(ctx, Some(question), None)),
            (Some(AttemptStop::Sleep(until)), Err(_)) => Ok(with_inside(ctx, None, Some(*until))),
            (Some(AttemptStop::Inside | AttemptStop::Signal(_)), Err(_)) => Ok(with_inside(ctx, None, None)),
            (Some(AttemptStop::Stopped(exit)), Err(_)) => Ok(RaisedOutcome::Halted(*exit)),
            (Some(AttemptStop::Ask(question)), Ok(_)) => {
                Err(RunError::QuestionIgnored { node, question: question.name.clone() })
            }
            (Some(AttemptStop::Sleep(_)), Ok(_)) => {
                Err(RunError::QuestionIgnored { node, question: "of how long to sleep".into() })
            }
            (Some(AttemptStop::Signal(name)), Ok(_)) => Err(RunError::SignalIgnored { node, signal: name.clone() }),
            (Some(AttemptStop::Inside | AttemptStop::Stopped(_)), Ok(_)) => {
                Err(RunError::QuestionIgnored { node, question: "of its subgraph".into() })
            }
            // The type ids of state and nodes tell whether the command was made for this graph.
            (Some(AttemptStop::Parent(handed)), _) => match handed.command.downcast_ref::<AnyCommand>() {
                Some(command) if handed.types == self.table.identity.types => {
                    Ok(RaisedOutcome::Command(command.clone()))
                }
                _ => Err(RunError::WrongParent { node, given: handed.given }),
            },
        }
    }

    /// Returns the error that carries a command to the enclosing graph.
    fn hand_up(&self, node: Arc<str>, handed: ParentCommand) -> RunError {
        if self.scope.names.is_empty() {
            return RunError::NoParentGraph { node };
        }
        RunError::HandUp(handed)
    }

    pub(crate) fn finish_task(
        &mut self,
        at: usize,
        mut result: Box<FinishedResult>,
        cache_key: Option<Vec<u8>>,
    ) -> Result<(), RunError> {
        if let Some(key) = cache_key {
            self.keep_in_cache(at, key, &result);
        }
        if self.step.tasks.len() > 1 {
            self.save_task(at, &mut result)?;
        }
        self.count_closed(at);
        self.step.tasks[at].state = TaskState::Done(result);
        Ok(())
    }

    /// Caches what a body returned.
    fn keep_in_cache(&self, at: usize, key: Vec<u8>, result: &FinishedResult) {
        let Some(cache) = &self.shared.environment.cache else { return };
        CachedResult::keep(&self.table, self.step.tasks[at].node, (&**cache, self.shared.now()), key, result);
    }

    /// Ends a task with a result from the cache.
    pub(crate) fn done_from_cache(&mut self, at: usize, mut result: Box<FinishedResult>) -> Result<Ending, RunError> {
        if self.step.tasks.len() > 1 {
            if let Err(error) = self.route(at, &mut result) {
                return self.fail(at, error).map(|()| Ending::Failed { handled_failure: None, answered: false });
            }
            result.routing.is_done = true;
        }
        self.finish_task(at, result, None).map(|()| Ending::Cached)
    }

    /// Records that an error handler runs; returns the failure the first time.
    fn note_handled_failure(&mut self, at: usize, error: &Arc<NodeError>, answered: bool) -> Option<HandledFailure> {
        let text = self.shared.events.secrets.hide(error);
        let task = &mut self.step.tasks[at];
        task.record.error = Some(text.clone());
        if task.record.handled.is_some() {
            return None;
        }
        task.note_failure(FailureRecord { error: text.clone(), at: self.shared.now() });
        task.record.handled = Some(HandledRecord { error: error.to_string() }); // which the handler gets
        Some(HandledFailure { error: text, answered })
    }

    /// Takes a task's journal, and queues its pending entries with the task's next records.
    fn take_journal(&mut self, at: usize, ctx: &TaskCtx) -> Result<(), RunError> {
        let Some(journal) = ctx.written_journal() else { return Ok(()) };
        if self.recorder().is_some() {
            self.outbox.finished.extend(journal.take_riders()?);
        }
        if self.is_root() {
            self.step.tasks[at].record.effects = u32::try_from(journal.len()).unwrap_or(u32::MAX);
            self.step.tasks[at].journal = Some(Arc::clone(journal));
        }
        Ok(())
    }

    /// Records the failure of a task; its siblings continue.
    pub(crate) fn fail(&mut self, at: usize, error: RunError) -> Result<(), RunError> {
        if !matches!(error, RunError::HandUp(_) | RunError::NoParentGraph { .. }) {
            trace::failed(&self.node_name(self.step.tasks[at].node), &error, &self.shared.events.secrets);
            let text = self.shared.events.secrets.hide(&error);
            self.step.tasks[at].record.error = Some(text.clone());
            let failure = FailureRecord { error: text, at: self.shared.now() };
            self.step.tasks[at].note_failure(failure);
            let mut puts = std::mem::take(&mut self.outbox.finished);
            if let Some(recorder) = self.recorder() {
                let record = TaskRecord { status: TaskStatus::Failed, ..self.step.tasks[at].to_record() };
                puts.push((self.task_key(self.step.tasks[at].key), Row::record(record)));
                recorder.queue(puts, None);
            }
        }
        self.count_closed(at);
        self.step.has_failed = true;
        self.step.tasks[at].state = TaskState::Failed(Box::new(error));
        Ok(())
    }

    pub(crate) fn panic_error(&self, node: Arc<str>, message: String) -> RunError {
        RunError::Panicked { node, namespace: Arc::clone(&self.scope.names), step: self.pos.meta.step + 1, message }
    }

    pub(crate) fn panicked_in(&mut self, at: usize, message: String) -> Result<Ending, RunError> {
        self.step.tasks[at].catch_up();
        let error = self.panic_error(self.node_name(self.step.tasks[at].node), message);
        self.fail(at, error).map(|()| Ending::Failed { handled_failure: None, answered: false })
    }

    /// Records the failures of dropped tasks whose `Drop` panicked. Returns true if there are any.
    pub(crate) fn fail_dropped(&mut self, panics: Vec<(usize, String)>) -> Result<bool, RunError> {
        let failed = !panics.is_empty();
        for (at, panic) in panics {
            self.panicked_in(at, format!("dropped by the cancelled run: {panic}"))?;
        }
        self.step.runs_again &= !failed;
        Ok(failed)
    }

    /// Returns the error for a panic while results were applied.
    pub(crate) fn panicked_applying(&self, tasks: &[Task], message: &str) -> RunError {
        let nodes: Vec<Arc<str>> = tasks.iter().map(|task| self.node_name(task.node)).collect();
        let message = format!("applying its results: {message}");
        self.panic_error(nodes.join("` and `").into(), message)
    }
}

pub(crate) enum BodyOutcome {
    Done(Box<FinishedResult>),
    /// Questions, and the time at which the task resumes without an answer.
    Asked(Vec<Question>, Option<u64>),
    Halted(Exit),
}

/// Returns the questions and waits of a task and of its subgraphs, in the order of its calls: concurrent calls stop in
/// any order.
fn with_inside(ctx: &TaskCtx, own: Option<&Question>, until: Option<u64>) -> RaisedOutcome {
    let mut state = ctx.state();
    state.note_wake(until);
    let questions = own.into_iter().chain(state.waits.questions.values().flatten());
    RaisedOutcome::Asked(questions.cloned().collect(), state.waits.wake)
}

enum RaisedOutcome {
    Command(AnyCommand),
    Asked(Vec<Question>, Option<u64>),
    Halted(Exit),
}

/// The end of a task, for the stream. `handled_failure`: the failure whose handler ran.
pub(crate) enum Ending {
    Cached,
    RunsAgain,
    Done {
        handled_failure: Option<HandledFailure>,
        by_handler: bool,
    },
    Asked {
        handled_failure: Option<HandledFailure>,
    },
    Failed {
        handled_failure: Option<HandledFailure>,
        answered: bool,
    },
    /// With a command for the graph around the task's own.
    HandedUp,
}

/// A failure that an error handler took; `answered`: the failed attempt had used answers.
pub(crate) struct HandledFailure {
    pub error: String,
    pub answered: bool,
}
