//! What may become of a question besides an answer: it expires, is cancelled, or those who answer do not agree. Knows no store.

use serde::{Deserialize, Serialize};

use crate::checkpoint::{CheckpointId, QuestionRecord, TaskRecord, TermsRecord, VoteRecord};
use crate::graph::state::{ValueError, reading, value};

/// Who answers in the name of a question's time.
pub(crate) const EXPIRY: &str = "expiry";

/// The type name under which the end of a question without an answer is stored.
const CLOSED: &str = "superstep question closed";

/// The end of a question that has no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Closed {
    pub how: Closing,
    pub by: Option<String>,
    pub note: Option<String>,
}

/// Why a question has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Closing {
    Expired,
    Cancelled,
    Disagreed,
}

impl Closed {
    /// Returns it as it is stored in the place of an answer.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, ValueError> {
        value::encode(|| "the end of a question".into(), CLOSED, self)
    }

    /// Returns what is stored in the place of an answer, unless that is an answer.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        value::is_named(bytes, CLOSED).then(|| reading::decode_only(bytes).ok()).flatten()
    }
}

/// What a question needs to be answered, and the answers it has so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Terms {
    pub record: TermsRecord,
    pub votes: Vec<VoteRecord>,
}

impl Terms {
    /// Returns the terms of a stored question.
    pub(crate) fn of(record: &TaskRecord, asked: &QuestionRecord) -> Self {
        let votes = votes_of(record, asked).cloned().collect();
        Self { record: terms_of(record, asked).cloned().unwrap_or_default(), votes }
    }
}

fn names(asked: &QuestionRecord, (checkpoint, task, place): (CheckpointId, u32, u32)) -> bool {
    (asked.checkpoint, asked.task, asked.place) == (checkpoint, task, place)
}

/// Returns the terms of a question; none if it has none.
pub(crate) fn terms_of<'a>(record: &'a TaskRecord, asked: &QuestionRecord) -> Option<&'a TermsRecord> {
    record.terms.iter().find(|terms| names(asked, (terms.checkpoint, terms.task, terms.place)))
}

/// Returns the answers that a question has so far.
pub(crate) fn votes_of<'a>(record: &'a TaskRecord, asked: &'a QuestionRecord) -> impl Iterator<Item = &'a VoteRecord> {
    record.votes.iter().filter(move |vote| names(asked, (vote.checkpoint, vote.task, vote.place)))
}
