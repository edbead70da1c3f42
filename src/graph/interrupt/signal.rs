//! Signals to a thread: what is sent, and what a node that receives them declares. Knows no graph and no store.

use std::any::type_name;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::sketch::sketch;
use crate::checkpoint::time::system_time;
use crate::checkpoint::{Key, ReceiveRecord, signal_name};
use crate::graph::state::{NotAnId, ValueError, held, reading, value};

/// A message to a running or waiting thread. `NAME` ties it to the nodes that receive it, across processes.
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
    /// Names the signal in stored threads; unique within a graph.
    const NAME: &'static str;

    /// Returns what the signal looks like as JSON, for people. It is found out from the type; one that reads itself from more
    /// than one shape says so here.
    fn shape() -> String {
        sketch::<Self>()
    }
}

/// The order of the records that hold senders' keys: behind all signals, whose order is a time.
pub(crate) const KEYED: u64 = 1 << 60;

/// Names one signal in the mailbox of its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SignalId {
    pub(crate) order: u64,
    pub(crate) id: u64,
}

impl SignalId {
    pub(crate) fn key(self) -> Key {
        Key::Signal { order: self.order, id: self.id }
    }

    /// Returns whether it names what is stored of a sender's key, and no signal.
    pub(crate) fn is_keyed(self) -> bool {
        self.order >= KEYED
    }
}

impl fmt::Display for SignalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&signal_name(self.order, self.id))
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

/// A signal on its way to a thread: its type and value, who sends it and their note.
///
/// ```
/// # use superstep::graph::SignalRequest;
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
    /// As it was given, if as JSON.
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

    /// Returns a signal given as JSON; it is checked against the type that a node declares with `.receives`.
    pub fn json(name: impl Into<String>, value: &Value) -> Self {
        let name = name.into();
        let bytes = value::encode(|| format!("signal `{name}`"), held::JSON, value);
        Self { json: Some(value.clone()), ..Self::bytes(&name, bytes) }
    }

    fn bytes(name: &str, bytes: Result<Vec<u8>, ValueError>) -> Self {
        Self { name: name.to_owned(), bytes, json: None, by: None, note: None, key: None }
    }

    /// Says who sends it.
    pub fn by(mut self, name: impl Into<String>) -> Self {
        self.by = Some(name.into());
        self
    }

    /// Adds a note.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.note = Some(text.into());
        self
    }

    /// Sets the sender's key: of all signals to a thread with the same name and key, the first alone is delivered, and sending
    /// another returns the id of the first, also after it was received or discarded. The thread keeps its keys until it is
    /// deleted. A key has up to 4 KiB.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }
}

/// A signal in a thread's mailbox: no task has received it yet.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SentSignal {
    /// What names it.
    pub id: SignalId,
    /// The name of its type.
    pub name: String,
    /// The signal as JSON.
    pub value: Value,
    /// Who sent it.
    pub by: Option<String>,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// What they noted.
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
    /// When it stops waiting; none: never.
    pub until: Option<SystemTime>,
}

impl From<&ReceiveRecord> for AwaitedSignal {
    fn from(record: &ReceiveRecord) -> Self {
        let ReceiveRecord { name, node, namespace, until, .. } = record.clone();
        Self { name, node, namespace, until: until.map(system_time) }
    }
}

/// The signals that a node declares, by name.
pub(crate) type SignalDeclarations = BTreeMap<&'static str, Receives>;

/// A declared signal type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receives {
    /// The full name of the type.
    pub type_name: &'static str,
    /// Reads a request as the type, and returns the signal as it is stored.
    pub take: fn(&SignalRequest, Vec<u8>) -> Result<Vec<u8>, String>,
    /// Shows a stored signal as JSON.
    pub show: fn(&[u8]) -> Value,
    /// Describes its JSON.
    pub shape: fn() -> String,
}

impl Receives {
    pub(crate) fn of<T: Signal>() -> Self {
        Self { type_name: type_name::<T>(), take: taken::<T>, show: shown::<T>, shape: T::shape }
    }
}

fn taken<T: Signal>(request: &SignalRequest, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let Some(json) = &request.json else { return reading::decode::<T>(&bytes).map(|_| bytes) };
    let signal = T::deserialize(json).map_err(|error| error.to_string())?;
    SignalRequest::new(&signal).bytes.map_err(|error| error.to_string())
}

fn shown<T: Signal>(bytes: &[u8]) -> Value {
    let typed = reading::decode::<T>(bytes).ok().and_then(|signal| serde_json::to_value(signal).ok());
    typed.unwrap_or_else(|| untyped(bytes))
}

/// A stored signal of an unknown type as JSON; null if it does not fit JSON.
pub(crate) fn untyped(bytes: &[u8]) -> Value {
    reading::as_json(bytes).unwrap_or_default()
}
