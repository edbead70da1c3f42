//! Times at which the server does something by itself, in their order. Knows which record each is of; must not know what is done.

use serde::{Deserialize, Serialize};
use superstep::checkpoint::{CheckpointError, ItemWrite};

use super::items::{Lookup, Record, Records, StoredRecord, delete, put};

/// Kind of a record that has a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TimerKind {
    /// A cron: its next run is created.
    Cron,
    /// A webhook that is still to be sent.
    Delivery,
    /// A run that was created to start later.
    Run,
    /// A thread that expires.
    Thread,
}

impl TimerKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Cron => "cron",
            Self::Delivery => "delivery",
            Self::Run => "run",
            Self::Thread => "thread",
        }
    }
}

/// Time at which a record is looked at. A server takes it by removing or moving it, in one write with what it does then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Timer {
    /// In milliseconds since 1970.
    pub at: u64,
    pub kind: TimerKind,
    /// Key of the record.
    pub of: String,
}

impl Record for Timer {
    const NAMESPACE: &'static str = "superstep.server.timers";

    fn key(&self) -> String {
        format!("{:015}/{}/{}", self.at, self.kind.as_str(), self.of)
    }
}

impl Records {
    /// Returns the record of a timer if it is due. Removes a timer that its record has no more; keeps that of an unreadable one.
    pub(crate) async fn due_record<R: Record>(
        &self,
        timer: &StoredRecord<Timer>,
        is_due: impl Fn(&R) -> bool + Send,
    ) -> Result<Option<StoredRecord<R>>, CheckpointError> {
        match self.look_up::<R>(&timer.record.of).await? {
            Lookup::Found(found) if is_due(&found.record) => Ok(Some(found)),
            Lookup::Found(_) | Lookup::Gone => self.write(vec![timer.remove()]).await.map(|()| None),
            Lookup::Damaged | Lookup::Later => Ok(None),
        }
    }
}

impl Timer {
    pub(crate) fn new(kind: TimerKind, at: u64, of: impl Into<String>) -> Self {
        Self { at, kind, of: of.into() }
    }

    /// Returns the writes that put a timer in the place of another.
    pub(crate) fn replace(old: Option<&Self>, new: Option<&Self>) -> Vec<ItemWrite> {
        if old == new {
            return vec![];
        }
        old.map(delete).into_iter().chain(new.map(put)).collect()
    }
}
