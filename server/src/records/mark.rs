//! Marks of events that the checkpoints of a run can give again: with them, each is stored once, whichever process sends it. Knows no engine.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Mark of an event of a superstep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EventMark {
    pub step: i64,
    /// Differs from those of the other events of the superstep.
    pub key: Arc<str>,
}

/// The marks of the newest superstep of a run that were sent; those of earlier ones were all sent.
#[derive(Debug, Default)]
pub(crate) struct SentMarks {
    step: Option<i64>,
    keys: HashSet<Arc<str>>,
}

impl SentMarks {
    /// Notes that an event is sent; returns false if it was sent before.
    pub(crate) fn add(&mut self, mark: &EventMark) -> bool {
        if self.step.is_some_and(|step| mark.step < step) {
            return false;
        }
        if self.step != Some(mark.step) {
            (self.step, self.keys) = (Some(mark.step), HashSet::new());
        }
        self.keys.insert(Arc::clone(&mark.key))
    }

    /// Returns the newest superstep of which an event was sent; `None` if none was.
    pub(crate) fn step(&self) -> Option<i64> {
        self.step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_sent_once() {
        let mut sent = SentMarks::default();
        let mut add = |step, key: &str| sent.add(&EventMark { step, key: key.into() });
        assert!(add(1, "a") && add(1, "b") && add(2, "a"));
        assert!(!add(2, "a") && !add(1, "a") && !add(1, "c"));
        assert!(add(2, "b") && add(3, "a"));
    }
}
