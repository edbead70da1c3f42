//! What a task asked in its earlier runs, and the answers it got. Data only.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The questions and answers of a task's earlier runs.
pub(crate) type Answers = Option<Arc<Known>>;

/// Questions that a task asked before and the answers it got, by place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub asked: BTreeMap<u32, EarlierQuestion>,
    pub answers: BTreeMap<u32, Vec<u8>>,
    pub rematch: Rematch,
}

/// The treatment of a question whose payload fits none that was answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rematch {
    /// It is new.
    #[default]
    New,
    /// An attempt asked it and left an answer unused: it gets that one, if no other answer to its type is left.
    ByType,
    /// An attempt asked several such: the node fails.
    Refused,
}

/// A question that a task asked in an earlier run.
#[derive(Clone, Debug)]
pub(crate) struct EarlierQuestion {
    pub asker: String,
    pub name: String,
    /// Unknown if the store holds it no more.
    pub payload: Option<Vec<u8>>,
    /// True if it was asked at the task's own checkpoint: a copy for a fork may have another state.
    pub here: bool,
}
