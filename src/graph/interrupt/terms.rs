//! The terms of a question, and its end without an answer: expired, cancelled, or no agreement. Knows no store.

use serde::{Deserialize, Serialize};

use crate::checkpoint::{CheckpointId, QuestionRecord, TaskRecord, TermsRecord, VoteRecord};
use crate::graph::state::{ValueError, reading, value};

/// The name under which an expired question is answered.
pub(crate) const EXPIRY: &str = "expiry";

/// The stored type name of a question's end without an answer.
const CLOSED: &str = "superstep question closed";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Closed {
    pub how: CloseReason,
    pub by: Option<String>,
    pub note: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CloseReason {
    Expired,
    Cancelled,
    Disagreed,
}

impl Closed {
    /// Encodes it to be stored in place of an answer.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, ValueError> {
        value::encode(|| "the end of a question".into(), CLOSED, self)
    }

    /// Decodes it from the place of an answer; `None` for an answer.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        value::is_named(bytes, CLOSED).then(|| reading::decode_only(bytes).ok()).flatten()
    }
}

/// The requirements for answering a question, and its answers so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Terms {
    pub record: TermsRecord,
    pub votes: Vec<VoteRecord>,
}

impl Terms {
    pub(crate) fn of(record: &TaskRecord, asked: &QuestionRecord) -> Self {
        let votes = votes_of(record, asked).cloned().collect();
        Self { record: terms_of(record, asked).cloned().unwrap_or_default(), votes }
    }
}

fn names(asked: &QuestionRecord, (checkpoint, task, place): (CheckpointId, u32, u32)) -> bool {
    (asked.checkpoint, asked.task, asked.place) == (checkpoint, task, place)
}

pub(crate) fn terms_of<'a>(record: &'a TaskRecord, asked: &QuestionRecord) -> Option<&'a TermsRecord> {
    record.terms.iter().find(|terms| names(asked, (terms.checkpoint, terms.task, terms.place)))
}

pub(crate) fn votes_of<'a>(record: &'a TaskRecord, asked: &'a QuestionRecord) -> impl Iterator<Item = &'a VoteRecord> {
    record.votes.iter().filter(move |vote| names(asked, (vote.checkpoint, vote.task, vote.place)))
}
