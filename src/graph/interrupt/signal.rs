//! Signals to a thread, and the declarations of nodes that receive them. Knows no graph and no store.

use std::any::type_name;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::Value;
use superstep_base::time::system_time;

use super::question::NotAnId;
use super::sketch::sketch;
use crate::checkpoint::{Key, POSTED_ANSWERS, ReceiveRecord, decode_json, signal_name};
use crate::graph::json::{Object, node_path, time_text, write_time};
use crate::graph::state::{ValueError, reading, stored_value, value};

/// A message to a running or waiting thread. `NAME` identifies its type in stored threads.
///
/// ```
/// # use superstep::prelude::*;
/// # use serde::{Deserialize, Serialize};
/// #[derive(Signal, Serialize, Deserialize)]
/// #[signal(name = "paid")]
/// struct Paid {
///     cents: u64,
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a signal",
    note = "add `#[derive(Signal, Serialize, Deserialize)]` to it"
)]
pub trait Signal: Serialize + DeserializeOwned + Send + 'static {
    /// The name of the signal in stored threads; unique within a graph.
    const NAME: &'static str;

    /// Returns a description of the signal's JSON, for people. It is derived from the type; override it for a type that
    /// deserializes from more than one shape.
    fn shape() -> String {
        sketch::<Self>()
    }
}

/// The id of a signal in the mailbox of its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SignalId {
    pub(crate) order: u64,
    pub(crate) id: u64,
}

impl SignalId {
    pub(crate) fn key(self) -> Key {
        Key::Signal { order: self.order, id: self.id }
    }

    pub(crate) fn position(self) -> (u64, u64) {
        (self.order, self.id)
    }

    /// Returns the next id in the order of a mailbox.
    pub(crate) fn next(self) -> Self {
        match self.id.checked_add(1) {
            Some(id) => Self { id, ..self },
            None => Self { order: self.order + 1, id: 0 },
        }
    }

    /// True if it identifies the record of a sender's key, not a signal.
    pub(crate) fn is_keyed(self) -> bool {
        self.order >= POSTED_ANSWERS
    }
}

impl fmt::Display for SignalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&signal_name(self.order, self.id))
    }
}

impl Serialize for SignalId {
    fn serialize<W: Serializer>(&self, out: W) -> Result<W::Ok, W::Error> {
        out.collect_str(self)
    }
}

impl FromStr for SignalId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let bad = || NotAnId::of("signal", text);
        let (order, id) = text.split_once('-').ok_or_else(bad)?;
        let number = |digits: &str| u64::from_str_radix(digits, 16).map_err(|_| bad());
        Ok(Self { order: number(order)?, id: number(id)? })
    }
}

/// A signal to send to a thread: its type and value, the sender and a note.
///
/// ```
/// # use superstep::graph::interrupt::SignalRequest;
/// # use superstep::prelude::*;
/// # #[derive(Serialize, Deserialize)] struct Paid { cents: u64 }
/// # impl Signal for Paid { const NAME: &'static str = "paid"; }
/// let typed = SignalRequest::new(&Paid { cents: 500 }).by("bank").note("invoice 7");
/// let from_a_webhook = SignalRequest::json("paid", &serde_json::json!({ "cents": 500 }));
/// ```
#[derive(Clone, Debug)]
#[must_use = "a request is sent by `thread.send(request)`"]
pub struct SignalRequest {
    pub(crate) name: String,
    pub(crate) bytes: Result<Vec<u8>, ValueError>,
    /// The value, if given as JSON.
    pub(crate) json: Option<Value>,
    pub(crate) by: Option<String>,
    pub(crate) note: Option<String>,
    pub(crate) key: Option<String>,
}

impl SignalRequest {
    /// Returns a typed signal.
    pub fn new<T: Signal>(signal: &T) -> Self {
        let what = || format!("signal `{}`", T::NAME);
        Self::bytes(T::NAME, value::encode_both_ways(what, type_name::<T>(), signal))
    }

    /// Returns a signal given as JSON, checked against the type that a node declares with `.receives`.
    pub fn json(name: impl Into<String>, value: &Value) -> Self {
        let name = name.into();
        let bytes = value::encode(|| format!("signal `{name}`"), stored_value::JSON, value);
        Self { json: Some(value.clone()), ..Self::bytes(&name, bytes) }
    }

    fn bytes(name: &str, bytes: Result<Vec<u8>, ValueError>) -> Self {
        Self { name: name.to_owned(), bytes, json: None, by: None, note: None, key: None }
    }

    /// Sets the sender.
    pub fn by(mut self, name: impl Into<String>) -> Self {
        self.by = Some(name.into());
        self
    }

    /// Adds a note.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.note = Some(text.into());
        self
    }

    /// Sets the sender's key: of all signals to a thread with the same name and key, only the first is delivered. Sending
    /// another returns the id of the first, even after it was received or discarded. The thread keeps its keys until it is
    /// deleted. A key has up to 4 KiB.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }
}

/// A signal in a thread's mailbox, not yet received by a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SentSignal {
    /// Its id.
    pub id: SignalId,
    /// The name of its type.
    pub name: String,
    /// The signal as JSON.
    pub value: Value,
    /// The sender.
    pub by: Option<String>,
    /// The time it was sent, in milliseconds since 1970.
    #[serde(serialize_with = "write_time")]
    pub at: u64,
    /// The sender's note.
    pub note: Option<String>,
}

/// A signal that a thread waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AwaitedSignal {
    /// The name of its type.
    pub name: String,
    /// The node that waits.
    pub node: String,
    /// The nodes whose subgraphs that node is in, outermost first.
    pub namespace: Vec<String>,
    /// The time when it stops waiting, if any.
    pub until: Option<SystemTime>,
}

impl Serialize for AwaitedSignal {
    fn serialize<W: Serializer>(&self, out: W) -> Result<W::Ok, W::Error> {
        Object::new(out)?
            .put("name", &self.name)?
            .put("node", node_path(&self.namespace, &self.node))?
            .put_some("until", self.until.map(time_text))?
            .end()
    }
}

impl From<&ReceiveRecord> for AwaitedSignal {
    fn from(record: &ReceiveRecord) -> Self {
        let ReceiveRecord { name, node, namespace, until, .. } = record.clone();
        Self { name, node, namespace, until: until.map(system_time) }
    }
}

pub(crate) type SignalDeclarations = BTreeMap<&'static str, SignalType>;

#[derive(Clone, Copy, Debug)]
pub(crate) struct SignalType {
    /// The full name of the type.
    pub type_name: &'static str,
    /// Checks a request against the type, and returns the bytes to store.
    pub take: fn(&SignalRequest, Vec<u8>) -> Result<Vec<u8>, String>,
    /// Converts a stored signal to JSON.
    pub show: fn(&[u8]) -> Value,
    /// Describes its JSON.
    pub shape: fn() -> String,
}

impl SignalType {
    pub(crate) fn of<T: Signal>() -> Self {
        Self { type_name: type_name::<T>(), take: encode_checked::<T>, show: to_json::<T>, shape: T::shape }
    }
}

fn encode_checked<T: Signal>(request: &SignalRequest, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let Some(json) = &request.json else { return reading::decode::<T>(&bytes).map(|_| bytes) };
    let signal: T = decode_json(json)?;
    SignalRequest::new(&signal).bytes.map_err(|error| error.to_string())
}

fn to_json<T: Signal>(bytes: &[u8]) -> Value {
    let typed = reading::decode::<T>(bytes).ok().and_then(|signal| serde_json::to_value(signal).ok());
    typed.unwrap_or_else(|| untyped_json(bytes))
}

/// Returns a stored signal of an unknown type as JSON; null if it does not fit JSON.
pub(crate) fn untyped_json(bytes: &[u8]) -> Value {
    reading::as_json(bytes).unwrap_or_default()
}
