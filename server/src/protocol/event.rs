//! An event of the protocol with its number. The number is made of the run's place in the thread, the number of the run's event, and a
//! place among what was made of that event: so it is the same on each connection, after each restart, and on each server.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::records::run::RunRecord;

/// Bits of a number for what is made of one event of a run.
const PART_BITS: u32 = 10;
/// Bits of a number for the events of one run. With 19 bits for the runs of a thread, all numbers are exact in JavaScript.
const EVENT_BITS: u32 = 24;
/// The place of what comes after the last event of a run.
const END: u64 = (1 << EVENT_BITS) - 1;

/// The place of an event in its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Before the first event.
    Start,
    /// Made of the event with a number.
    Of(u64),
    /// After the last event.
    End,
}

/// An event of the protocol.
#[derive(Clone, Debug)]
pub(crate) struct ProtocolEvent {
    /// The same on each connection; clients drop events whose id they have seen.
    pub id: String,
    /// Grows along the thread, with gaps.
    pub seq: u64,
    pub method: &'static str,
    /// The tasks of the subgraphs from which the event comes, outermost first; empty for the root graph.
    pub namespace: Vec<String>,
    /// The node from which the event comes, where clients ask for it.
    pub node: Option<String>,
    /// In milliseconds since 1970.
    pub at: u64,
    pub data: Value,
}

impl ProtocolEvent {
    /// Returns the event on the wire.
    pub(crate) fn json(&self) -> Value {
        let mut params = json!({ "namespace": self.namespace, "timestamp": self.at, "data": self.data });
        if let Some(node) = &self.node {
            params["node"] = node.as_str().into();
        }
        json!({
            "type": "event", "event_id": self.id, "seq": self.seq, "method": self.method, "params": params,
        })
    }
}

/// The numbers of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunNumbers {
    pub run: Uuid,
    ordinal: u64,
}

impl RunNumbers {
    pub(crate) fn of(run: &RunRecord) -> Self {
        Self { run: run.run, ordinal: run.ordinal }
    }

    /// Returns a number before those of all events of the run, and after those of earlier runs.
    pub(crate) fn before(self) -> u64 {
        self.ordinal << (PART_BITS + EVENT_BITS)
    }

    /// Returns whether no event of the run comes after a number.
    pub(crate) fn is_over_at(self, seq: u64) -> bool {
        seq >= Self { ordinal: self.ordinal + 1, ..self }.before()
    }

    /// Returns the newest number that can have been made of the events of the run up to one.
    pub(crate) fn through(self, event: u64) -> u64 {
        self.seq(Place::Of(event), usize::MAX)
    }

    /// Returns the number of what was made of an event.
    pub(super) fn seq(self, place: Place, part: usize) -> u64 {
        let event = match place {
            Place::Start => 0,
            Place::Of(number) => number.clamp(1, END - 1),
            Place::End => END,
        };
        let parts = 1 << PART_BITS;
        let part = u64::try_from(part).unwrap_or(u64::MAX).min(parts - 2) + 1;
        self.before() + (event << PART_BITS) + part
    }

    /// Returns the id of what was made of an event.
    pub(super) fn id(self, place: Place, part: usize) -> String {
        match place {
            Place::Start => format!("{}-start-{part}", self.run),
            Place::Of(number) => format!("{}-{number}-{part}", self.run),
            Place::End => format!("{}-end-{part}", self.run),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_grow_along_a_thread_and_are_exact_in_javascript() {
        let numbers = |ordinal| RunNumbers { run: Uuid::nil(), ordinal };
        let (first, second) = (numbers(1), numbers(2));
        let all = [
            first.before(),
            first.seq(Place::Start, 0),
            first.seq(Place::Start, 1),
            first.seq(Place::Of(1), 0),
            first.seq(Place::Of(1), 5000),
            first.seq(Place::Of(2), 0),
            first.seq(Place::Of(u64::MAX), 7),
            first.seq(Place::End, 0),
            second.before(),
            second.seq(Place::Start, 0),
        ];
        assert!(all.is_sorted_by(|a, b| a < b), "{all:?}");
        assert!(first.is_over_at(second.before()) && !first.is_over_at(first.seq(Place::End, 5000)));
        assert!(numbers((1 << 19) - 1).seq(Place::End, 0) < 1 << 53);
    }
}
