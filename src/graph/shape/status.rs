//! A thread's status and a run's outcome as JSON.

use std::time::SystemTime;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use super::fields::{serialize_as, state, time};
use super::question::QuestionShape;
use super::signal::AwaitedShape;
use crate::graph::context::Budget;
use crate::graph::interrupt::Question;
use crate::graph::state::State;
use crate::graph::thread::{Outcome, Rest, Status, StatusKind};

/// A thread's status and its details, with questions as `Q`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StatusShape<Q = QuestionShape> {
    pub status: String,
    /// The nodes that run next: a name for each task.
    pub next: Vec<String>,
    /// The pending questions.
    pub questions: Vec<Q>,
    /// The reason why it failed, or needs migration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The suggested fix if it needs migration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The time until which it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The signals that it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<AwaitedShape>,
}

impl<Q> StatusShape<Q> {
    /// Returns the shape of a status, its questions made by `question`.
    pub(crate) fn of(status: &Status, question: &dyn Fn(&Question) -> Q) -> Self {
        let mut shape = Self::named(&status.standing().to_string());
        match status {
            Status::Interrupted { questions } => shape.questions = questions.iter().map(question).collect(),
            Status::Failed { reason } => shape.reason = Some(reason.clone()),
            Status::Waiting { until, next } => {
                shape.until = Some(time(*until));
                shape.next.clone_from(next);
            }
            Status::AwaitingSignal { signals, until, next } => {
                shape.until = until.map(time);
                shape.signals = signals.iter().map(AwaitedShape::from).collect();
                shape.next.clone_from(next);
            }
            Status::NeedsMigration { misfits } => {
                shape.reason = misfits.first().map(ToString::to_string);
                shape.help = misfits.first().map(|misfit| misfit.help());
            }
            Status::Pending { next } | Status::Stopped { next } => shape.next.clone_from(next),
            Status::New | Status::Finished | Status::Running => {}
        }
        shape
    }

    fn named(word: &str) -> Self {
        let (next, questions, signals) = (vec![], vec![], vec![]);
        Self { status: word.into(), next, questions, reason: None, help: None, until: None, signals }
    }
}

/// The outcome of a run: a status, and the state.
#[derive(Serialize)]
struct OutcomeShape {
    #[serde(flatten)]
    status: StatusShape,
    /// The budget that ran out: `{"supersteps": 3}` or `{"wall_ms": 500}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<Value>,
    state: Value,
}

impl<S: State> Serialize for Outcome<S> {
    fn serialize<W: Serializer>(&self, out: W) -> Result<W::Ok, W::Error> {
        let mut budget = None;
        let status = match self {
            Self::Finished(_) => StatusShape::named("finished"),
            Self::Interrupted(questions) => StatusShape {
                questions: questions.iter().map(QuestionShape::from).collect(),
                ..StatusShape::named("interrupted")
            },
            Self::Waiting { until, rest } => waiting(*until, rest),
            Self::AwaitingSignal { signals, until, rest } => StatusShape {
                until: until.map(time),
                signals: signals.iter().map(AwaitedShape::from).collect(),
                ..resting("awaiting-signal", rest)
            },
            Self::Stopped(rest) => resting("stopped", rest),
            Self::Cancelled(rest) => resting("cancelled", rest),
            Self::Drained(rest) => resting("drained", rest),
            Self::Budget(which, rest) => {
                budget = Some(limit(*which));
                resting("budget", rest)
            }
        };
        OutcomeShape { status, budget, state: state(&**self.state()) }.serialize(out)
    }
}

fn resting<S>(word: &str, rest: &Rest<S>) -> StatusShape {
    StatusShape { next: rest.next().to_vec(), ..StatusShape::named(word) }
}

fn waiting<S>(until: SystemTime, rest: &Rest<S>) -> StatusShape {
    StatusShape { until: Some(time(until)), ..resting("waiting", rest) }
}

fn limit(budget: Budget) -> Value {
    match budget {
        Budget::Supersteps(count) => json!({ "supersteps": count }),
        Budget::WallTime(time) => json!({ "wall_ms": u64::try_from(time.as_millis()).unwrap_or(u64::MAX) }),
    }
}

fn shape(status: &Status) -> StatusShape {
    StatusShape::of(status, &|question| question.into())
}

serialize_as!(Status => shape);

impl Serialize for StatusKind {
    fn serialize<W: Serializer>(&self, out: W) -> Result<W::Ok, W::Error> {
        out.serialize_str(self.as_str())
    }
}
