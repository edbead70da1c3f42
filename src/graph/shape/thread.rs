//! A thread in a list as JSON.

use serde::{Deserialize, Serialize};
use superstep_base::time::rfc3339;

use super::fields::{metadata, serialize_as, time};
use super::question::QuestionShape;
use super::signal::AwaitedShape;
use crate::checkpoint::ForeignRecord;
use crate::graph::interrupt::Question;
use crate::graph::thread::ThreadInfo;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    /// True if it was imported.
    #[serde(default)]
    pub foreign: bool,
    /// True if an imported one may be run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusted: Option<bool>,
}

impl From<Option<ForeignRecord>> for Origin {
    fn from(foreign: Option<ForeignRecord>) -> Self {
        Self { foreign: foreign.is_some(), trusted: foreign.map(|foreign| foreign.trusted) }
    }
}

impl Origin {
    /// Returns true if the thread may be read but not run.
    #[cfg(feature = "app")]
    pub(crate) fn is_untrusted(self) -> bool {
        self.trusted == Some(false)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ThreadShape<Q = QuestionShape> {
    pub thread: String,
    pub graph: String,
    pub status: String,
    pub checkpoint: Option<u64>,
    pub step: i64,
    pub created_at: String,
    pub updated_at: String,
    /// The metadata of its newest checkpoint.
    #[serde(with = "metadata", default, skip_serializing_if = "Vec::is_empty")]
    pub metadata: Vec<(String, String)>,
    #[serde(flatten)]
    pub origin: Origin,
    /// The time until which it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The signals that it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<AwaitedShape>,
    /// The reason why it cannot be read, or does not fit its graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its pending questions.
    pub questions: Vec<Q>,
}

impl<Q> ThreadShape<Q> {
    /// Returns the shape of a thread, its questions made by `question`.
    pub(crate) fn of(info: &ThreadInfo, question: &dyn Fn(&Question) -> Q) -> Self {
        Self {
            thread: info.id.to_string(),
            graph: info.graph.clone(),
            status: info.standing.to_string(),
            checkpoint: info.checkpoint.map(|checkpoint| checkpoint.0),
            step: info.step,
            created_at: rfc3339(info.created_at),
            updated_at: rfc3339(info.updated_at),
            metadata: info.metadata.clone(),
            origin: info.foreign.clone().into(),
            until: info.wake.map(time),
            signals: info.awaits.iter().map(AwaitedShape::from).collect(),
            reason: info.reason.clone(),
            questions: info.questions.iter().map(question).collect(),
        }
    }
}

fn shape(info: &ThreadInfo) -> ThreadShape {
    ThreadShape::of(info, &|question| question.into())
}

serialize_as!(ThreadInfo => shape);
