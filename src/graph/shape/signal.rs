//! Signals as JSON: those that a thread waits for, and those in its mailbox.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use superstep_base::time::rfc3339;

use super::fields::{serialize_as, time};
use crate::graph::interrupt::{AwaitedSignal, SentSignal, SignalId};
use crate::graph::node::body::node_path;

/// A signal that a thread waits for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct AwaitedShape {
    pub name: String,
    /// The node, after the nodes whose subgraphs it is in: `Research/Ask`.
    pub node: String,
    /// The time until which it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The shape of its value, where a command line knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes: Option<String>,
}

impl From<&AwaitedSignal> for AwaitedShape {
    fn from(signal: &AwaitedSignal) -> Self {
        Self {
            name: signal.name.clone(),
            node: node_path(&signal.namespace, &signal.node),
            until: signal.until.map(time),
            takes: None,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SentShape {
    pub id: String,
    pub name: String,
    pub value: Value,
    pub by: Option<String>,
    pub at: String,
    pub note: Option<String>,
}

impl From<&SentSignal> for SentShape {
    fn from(signal: &SentSignal) -> Self {
        Self {
            id: signal.id.to_string(),
            name: signal.name.clone(),
            value: signal.value.clone(),
            by: signal.by.clone(),
            at: rfc3339(signal.at),
            note: signal.note.clone(),
        }
    }
}

serialize_as!(AwaitedSignal => AwaitedShape::from);
serialize_as!(SentSignal => SentShape::from);

impl Serialize for SignalId {
    fn serialize<W: Serializer>(&self, out: W) -> Result<W::Ok, W::Error> {
        out.collect_str(self)
    }
}
