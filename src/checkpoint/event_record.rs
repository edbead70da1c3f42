//! What is stored of an event that a node emitted, also in the form of earlier stores.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use super::codec::decode_record;
use super::error::CheckpointError;
use super::id::{CheckpointId, ThreadId};

/// What a recorded event was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventRecordKind {
    /// A value that a node emitted.
    Custom,
    /// A piece of a message.
    Message,
}

/// A recorded event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRecord {
    /// What it was.
    pub kind: EventRecordKind,
    /// The checkpoint, in the innermost subgraph that is kept, of the task that emitted it.
    pub checkpoint: CheckpointId,
    /// That task.
    pub task: u32,
    /// The tasks on the way down to the one that emitted it, itself included, each as `node:task`; nodes alone where an
    /// earlier store has no more.
    pub path: Vec<String>,
    /// The superstep in the innermost subgraph.
    pub step: i64,
    /// The node.
    pub node: String,
    /// The value, as JSON.
    pub value: String,
    /// When it was emitted, in milliseconds since 1970.
    pub at: u64,
    /// The tags of the node.
    pub tags: Vec<String>,
    /// The keys of the effects in whose bodies it was emitted, outermost first. Since format 3.
    pub within: Vec<String>,
}

/// The first form of the record.
#[derive(Deserialize)]
struct Untagged {
    kind: EventRecordKind,
    checkpoint: CheckpointId,
    task: u32,
    namespace: Vec<String>,
    step: i64,
    node: String,
    value: String,
    at: u64,
}

impl From<Untagged> for EventRecord {
    fn from(event: Untagged) -> Self {
        let Untagged { kind, checkpoint, task, namespace: mut path, step, node, value, at } = event;
        path.push(node.clone());
        Self { kind, checkpoint, task, path, step, node, value, at, tags: vec![], within: vec![] }
    }
}

impl EventRecord {
    /// Returns the record that `bytes` hold, in this form or the first one.
    ///
    /// # Errors
    /// As [`decode_record`].
    pub fn decode(thread: &ThreadId, what: impl Display, bytes: &[u8]) -> Result<Self, CheckpointError> {
        // The first form first: of an older format, it could be read as the present one without its tags.
        let first = decode_record::<Untagged>(thread, &what, bytes).map(Into::into);
        first.or_else(|_| decode_record(thread, &what, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::encode_record;

    #[test]
    fn the_first_form_stays_readable() {
        let namespace = vec!["inner".to_owned()];
        let first = (EventRecordKind::Message, CheckpointId(3), 7_u32, namespace, 2_i64, "say", "\"hi\"", 9_u64);
        let mut stored = encode_record(&first).unwrap();
        stored[0] = 1; // the format at that time
        let read = EventRecord::decode(&"t".into(), "event", &stored).unwrap();
        assert_eq!((read.path.join("/"), read.node.as_str(), read.tags.len()), ("inner/say".into(), "say", 0));
        let now = encode_record(&read).unwrap();
        assert_eq!(EventRecord::decode(&"t".into(), "event", &now).unwrap(), read);
        assert!(EventRecord::decode(&"t".into(), "event", &now[..5]).is_err());
    }
}
