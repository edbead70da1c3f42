//! Stored form of an event that a node emitted, including the form that earlier releases wrote.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use super::codec::decode_record;
use super::error::CheckpointError;
use super::id::{CheckpointId, ThreadId};

/// Kind of a recorded event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventRecordKind {
    /// A value emitted by a node.
    Custom,
    /// A chunk of a message.
    Message,
}

/// A recorded event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRecord {
    /// Kind of the event.
    pub kind: EventRecordKind,
    /// Checkpoint, in the innermost persisted subgraph, of the task that emitted it.
    pub checkpoint: CheckpointId,
    /// Index of that task.
    pub task: u32,
    /// Tasks from the root down to the one that emitted it, each as `node:task`; older stores have node names only.
    pub path: Vec<String>,
    /// Superstep of the innermost subgraph.
    pub step: i64,
    /// The node.
    pub node: String,
    /// Value as JSON.
    pub value: String,
    /// Time of emission, in milliseconds since 1970.
    pub at: u64,
    /// Tags of the node.
    pub tags: Vec<String>,
    /// Keys of the effects in whose bodies it was emitted, outermost first. Since format 3.
    pub within: Vec<String>,
}

/// First form of the record.
#[derive(Deserialize)]
struct EventRecordV1 {
    kind: EventRecordKind,
    checkpoint: CheckpointId,
    task: u32,
    namespace: Vec<String>,
    step: i64,
    node: String,
    value: String,
    at: u64,
}

impl From<EventRecordV1> for EventRecord {
    fn from(event: EventRecordV1) -> Self {
        let EventRecordV1 { kind, checkpoint, task, namespace: mut path, step, node, value, at } = event;
        path.push(node.clone());
        Self { kind, checkpoint, task, path, step, node, value, at, tags: vec![], within: vec![] }
    }
}

impl EventRecord {
    /// Decodes a record in this form or the first one.
    ///
    /// # Errors
    /// As [`decode_record`].
    pub fn decode(thread: &ThreadId, what: impl Display, bytes: &[u8]) -> Result<Self, CheckpointError> {
        // The first form first: an older record could also be decoded as the present form, without its tags.
        let first = decode_record::<EventRecordV1>(thread, &what, bytes).map(Into::into);
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
