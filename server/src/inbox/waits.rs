//! The reasons for which a thread waits for a person, by its records. Must not know how they are read.

use std::sync::Arc;

use superstep::checkpoint::ListedThread;
use superstep::graph::{InterruptId, StatusKind};

use super::place::ItemPlace;
use super::stalls::StallCause;
use crate::records::thread::{RunFailure, ThreadRecord};

/// The reason why a thread waits for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitReason {
    Question(InterruptId),
    Failed,
    NeedsMigration,
    Untrusted,
    Damaged,
    Stalled(StallCause),
}

/// An item with its place, before its thread is read.
#[derive(Clone, Debug)]
pub(super) struct WaitingItem {
    pub place: ItemPlace,
    pub reason: WaitReason,
    pub listed: Arc<ListedThread>,
}

impl WaitingItem {
    pub(super) fn new(listed: &Arc<ListedThread>, record: Option<&ThreadRecord>, reason: WaitReason) -> Self {
        let since = match (reason, &listed.foreign) {
            (WaitReason::Untrusted, Some(foreign)) => foreign.imported_at,
            // Of a damaged thread, nothing but its name may be known.
            (WaitReason::Damaged, _) => record.map_or(listed.updated_at, |record| record.updated_at),
            _ => listed.updated_at,
        };
        let question = match reason {
            WaitReason::Question(id) => Some(id),
            _ => None,
        };
        let place = ItemPlace { since, thread: listed.id.clone(), question };
        Self { place, reason, listed: Arc::clone(listed) }
    }
}

/// Returns why a thread without open questions and without a run waits for a person.
pub(super) fn reason_of_idle(
    listed: &ListedThread,
    record: Option<&ThreadRecord>,
    (has_given_up, now): (bool, u64),
) -> Option<WaitReason> {
    match listed.status {
        StatusKind::Failed => Some(WaitReason::Failed),
        StatusKind::Pending if failure(listed, record).is_some() => Some(WaitReason::Failed),
        StatusKind::Pending => StallCause::of(listed, record, (has_given_up, now)).map(WaitReason::Stalled),
        _ => None,
    }
}

/// Returns the failure of the last run of a thread that has not changed since.
pub(super) fn failure<'a>(listed: &ListedThread, record: Option<&'a ThreadRecord>) -> Option<&'a RunFailure> {
    let record = record.filter(|record| record.state_updated_at() >= listed.updated_at)?;
    record.error.as_ref().filter(|failure| failure.error != "UserInterrupt")
}

/// Returns whether a thread was made elsewhere and nobody has trusted it.
pub(super) fn is_untrusted(listed: &ListedThread) -> bool {
    listed.foreign.as_ref().is_some_and(|foreign| !foreign.trusted)
}
