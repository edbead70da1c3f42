//! The outcome of a run, and its line in the log.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use serde::{Serialize, Serializer};
use superstep_base::time::system_time;

use crate::graph::context::{Budget, Exit, LoggedSecrets};
use crate::graph::error::RunError;
use crate::graph::interrupt::{AwaitedSignal, Question};
use crate::graph::json::{Object, time_text};
use crate::graph::records::START_NODE;
use crate::graph::run::{InterruptedStep, Run};
use crate::graph::state::{AnyState, State};
use crate::graph::view::{DebugState, StateJson};

/// The end of a run. Everything it did is stored. A failure is a [`RunError`](crate::graph::RunError), not an outcome.
/// Its `Debug` shows a derived state as JSON, without secret channels.
#[derive(Clone, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum Outcome<S> {
    /// Nothing is left to run.
    Finished(Arc<S>),
    /// Questions are pending: answer them with `thread.resume` or `thread.answer`, in this process or another.
    Interrupted(Questions<S>),
    /// No task can run before a time; `thread.proceed()` resumes the thread from then on. See
    /// [`Ctx::sleep`](crate::graph::Ctx::sleep).
    Waiting {
        /// The earliest time at which a task can resume.
        until: SystemTime,
        /// The position of the run.
        rest: Rest<S>,
    },
    /// No task can run before a signal arrives; once it has been [sent](crate::graph::Thread::signal),
    /// `thread.proceed()` resumes the thread. See [`Ctx::receive`](crate::graph::Ctx::receive).
    AwaitingSignal {
        /// The signals that tasks wait for.
        signals: Vec<AwaitedSignal>,
        /// The earliest time at which a task resumes without a signal; none: never.
        until: Option<SystemTime>,
        /// The position of the run.
        rest: Rest<S>,
    },
    /// The run stopped at a breakpoint; `thread.proceed()` resumes it.
    Stopped(Rest<S>),
    /// The run was cancelled; `thread.proceed()` resumes it.
    Cancelled(Rest<S>),
    /// The run was drained: it stopped after its superstep; `thread.proceed()` resumes it.
    Drained(Rest<S>),
    /// A budget was used up; `thread.proceed()` resumes with a new one.
    Budget(Budget, Rest<S>),
}

impl<S: State> fmt::Debug for Outcome<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished(state) => f.debug_tuple("Finished").field(&DebugState(&**state)).finish(),
            Self::Interrupted(questions) => f.debug_tuple("Interrupted").field(questions).finish(),
            Self::Waiting { until, rest } => {
                f.debug_struct("Waiting").field("until", until).field("rest", rest).finish()
            }
            Self::AwaitingSignal { signals, until, rest } => {
                let mut shown = f.debug_struct("AwaitingSignal");
                shown.field("signals", signals).field("until", until).field("rest", rest).finish()
            }
            Self::Stopped(rest) => f.debug_tuple("Stopped").field(rest).finish(),
            Self::Cancelled(rest) => f.debug_tuple("Cancelled").field(rest).finish(),
            Self::Drained(rest) => f.debug_tuple("Drained").field(rest).finish(),
            Self::Budget(budget, rest) => f.debug_tuple("Budget").field(budget).field(rest).finish(),
        }
    }
}

impl<S> Outcome<S> {
    /// Returns the state so far, results of finished parallel tasks included.
    pub fn state(&self) -> &Arc<S> {
        match self {
            Self::Finished(state) => state,
            Self::Interrupted(questions) => questions.state(),
            Self::Waiting { rest, .. } | Self::AwaitingSignal { rest, .. } => &rest.state,
            Self::Stopped(rest) | Self::Cancelled(rest) | Self::Drained(rest) | Self::Budget(_, rest) => &rest.state,
        }
    }

    /// Returns the nodes that run next.
    fn next(&self) -> &[String] {
        match self {
            Self::Finished(_) | Self::Interrupted(_) => &[],
            Self::Waiting { rest, .. } | Self::AwaitingSignal { rest, .. } => &rest.next,
            Self::Stopped(rest) | Self::Cancelled(rest) | Self::Drained(rest) | Self::Budget(_, rest) => &rest.next,
        }
    }

    /// Returns the final state, if the run finished.
    pub fn finished(self) -> Option<Arc<S>> {
        match self {
            Self::Finished(state) => Some(state),
            _ => None,
        }
    }

    /// Returns the pending questions.
    pub fn questions(&self) -> &[Question] {
        match self {
            Self::Interrupted(questions) => questions,
            _ => &[],
        }
    }
}

impl<S: State> Serialize for Outcome<S> {
    fn serialize<W: Serializer>(&self, out: W) -> Result<W::Ok, W::Error> {
        let out = Object::new(out)?.put("status", <&str>::from(self))?.put("next", self.next())?;
        let out = out.put("questions", self.questions())?;
        let out = match self {
            Self::Waiting { until, .. } => out.put("until", time_text(*until))?,
            Self::AwaitingSignal { signals, until, .. } => {
                out.put_some("until", until.map(time_text))?.put_list("signals", signals)?
            }
            Self::Budget(budget, _) => out.put("budget", budget)?,
            Self::Finished(_) | Self::Interrupted(_) => out,
            Self::Stopped(_) | Self::Cancelled(_) | Self::Drained(_) => out,
        };
        out.put("state", self.state().state_json())?.end()
    }
}

/// Pending questions, with the state at the interrupt. Both are put together when they are first looked at: an answer among
/// many questions costs no more than one among few.
#[derive(Clone)]
pub struct Questions<S> {
    step: Arc<InterruptedStep>,
    questions: OnceLock<Arc<[Question]>>,
    state: OnceLock<Arc<S>>,
    state_of: fn(&InterruptedStep) -> Arc<S>,
}

impl<S> Questions<S> {
    fn of(step: Arc<InterruptedStep>, state_of: fn(&InterruptedStep) -> Arc<S>) -> Self {
        Self { step, questions: OnceLock::new(), state: OnceLock::new(), state_of }
    }

    /// Returns the state so far.
    pub fn state(&self) -> &Arc<S> {
        self.state.get_or_init(|| (self.state_of)(&self.step))
    }
}

impl<S> Deref for Questions<S> {
    type Target = [Question];

    fn deref(&self) -> &[Question] {
        self.questions.get_or_init(|| self.step.questions())
    }
}

impl<S> fmt::Debug for Questions<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.iter().map(|question| format!("{} {}", question.name(), question.id()));
        f.debug_list().entries(shown).finish()
    }
}

/// The position of a stopped run.
#[derive(Clone)]
pub struct Rest<S> {
    state: Arc<S>,
    next: Vec<String>,
}

impl<S> Rest<S> {
    /// Returns the state so far.
    pub fn state(&self) -> &Arc<S> {
        &self.state
    }

    /// Returns the nodes that run next: a name for each task.
    pub fn next(&self) -> &[String] {
        &self.next
    }
}

impl<S> fmt::Debug for Rest<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "before {:?}", self.next)
    }
}

impl Outcome<AnyState> {
    /// Returns the outcome with the type of the state.
    pub(crate) fn typed<S: State>(self) -> Outcome<S> {
        match self {
            Self::Finished(state) => Outcome::Finished(typed(state)),
            Self::Interrupted(Questions { step, .. }) => {
                Outcome::Interrupted(Questions::of(step, |step| step.state().into_typed()))
            }
            Self::Waiting { until, rest } => Outcome::Waiting { until, rest: rest.typed() },
            Self::AwaitingSignal { signals, until, rest } => {
                Outcome::AwaitingSignal { signals, until, rest: rest.typed() }
            }
            Self::Stopped(rest) => Outcome::Stopped(rest.typed()),
            Self::Cancelled(rest) => Outcome::Cancelled(rest.typed()),
            Self::Drained(rest) => Outcome::Drained(rest.typed()),
            Self::Budget(budget, rest) => Outcome::Budget(budget, rest.typed()),
        }
    }
}

impl Rest<AnyState> {
    fn typed<S: State>(self) -> Rest<S> {
        Rest { state: typed(self.state), next: self.next }
    }
}

fn typed<S: State>(state: Arc<AnyState>) -> Arc<S> {
    Arc::unwrap_or_clone(state).into_typed()
}

impl Run {
    pub(crate) fn outcome(&mut self, exit: Exit) -> Outcome<AnyState> {
        match exit {
            Exit::Finished => Outcome::Finished(Arc::new(self.pos.state.clone())),
            Exit::Interrupted if self.open_questions() > 0 => {
                Outcome::Interrupted(Questions::of(Arc::new(self.interrupted_step()), |step| Arc::new(step.state())))
            }
            Exit::Waiting(until) => Outcome::Waiting { until: system_time(until), rest: self.rest() },
            Exit::Awaiting(until) => {
                let signals = self.receives().map(AwaitedSignal::from).collect();
                Outcome::AwaitingSignal { signals, until: until.map(system_time), rest: self.rest() }
            }
            Exit::Interrupted | Exit::Stopped => Outcome::Stopped(self.rest()),
            Exit::Cancelled => Outcome::Cancelled(self.rest()),
            Exit::Drained => Outcome::Drained(self.rest()),
            Exit::Budget(budget) => Outcome::Budget(budget, self.rest()),
        }
    }

    fn rest(&mut self) -> Rest<AnyState> {
        self.plan();
        let open = self.step.tasks.iter().filter(|task| !task.is_done() && task.node != START_NODE);
        let next = open.map(|task| self.node_name(task.node).to_string()).collect();
        Rest { state: Arc::new(self.live_state()), next }
    }
}

/// Logs the end of a run.
pub(crate) fn log_end<S>(outcome: &Result<Outcome<S>, RunError>, secrets: &LoggedSecrets) {
    let outcome = match outcome {
        Err(error) => return tracing::error!(error = %secrets.hide(error), "the run failed"),
        Ok(Outcome::Cancelled(_)) => return tracing::warn!("the run was cancelled"),
        Ok(Outcome::AwaitingSignal { .. }) => "awaiting a signal",
        Ok(outcome) => outcome.into(),
    };
    tracing::info!(outcome, "the run ended");
}
