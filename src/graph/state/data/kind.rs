//! The kinds of data-defined channels: defaults, merge rules and storage.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

use superstep_base::Printable;
use superstep_base::text::first_chars;

use super::reduce::{self, ANY, LIST, NUMBER, OBJECT, ORDERED, Reducer, STRING};
use crate::graph::state::channel::Storage;
use crate::graph::state::json_schema::SchemaSide;

/// The JSON types of the items of a set.
const SIMPLE: [&str; 4] = ["null", "boolean", "number", "string"];

/// The kind of a data-defined channel. As text, and in documents, it is a word: `append`, `topic:accumulate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// Takes one write per superstep. LangGraph: `LastValue`.
    LastValue,
    /// Appends lists. Starts as `[]`.
    Append,
    /// Adds numbers. Starts as 0; integers stay integers until one does not fit 64 bits, then the sum is a float.
    Add,
    /// Joins strings. Starts as `""`.
    Concat,
    /// Collects the distinct items of lists, sorted by type, then value. Starts as `[]`; holds no lists or objects.
    Union,
    /// Merges objects, entry by entry. Starts as `{}`.
    Merge,
    /// Keeps the greatest number. Starts as 0.
    Max,
    /// Keeps the smallest number or string. Starts without a value, so the first write is kept.
    OptMin,
    /// Merges messages by id. Starts as `[]`. LangGraph: `add_messages`.
    ///
    /// A write is one message or a list. A message is an object, replaces the one with its `id` in place, and gets an id if
    /// it has none. `{"$remove": id}` and `{"$remove_all": true}` remove.
    Messages,
    /// Keeps a value for the superstep after the write only. LangGraph: `EphemeralValue`.
    Ephemeral {
        /// True if a second write in one superstep is an error; else the last one wins.
        guard: bool,
    },
    /// Keeps a value for one run, never saved. LangGraph: `UntrackedValue`.
    Untracked {
        /// True if a second write in one superstep is an error; else the last one wins.
        guard: bool,
    },
    /// Keeps the last write; emptied by a superstep that does not write it. LangGraph: `AnyValue`.
    AnyValue,
    /// Lists all writes, the items of lists one by one. Has no value while it has no items. LangGraph: `Topic`.
    Topic {
        /// True if items outlive the superstep.
        accumulate: bool,
    },
    /// Keeps the last write, readable when the run is about to end. LangGraph: `LastValueAfterFinish`.
    AfterFinish,
    /// Appends lists like [`Append`](Kind::Append), but stored as a value and the writes since. LangGraph: `DeltaChannel`.
    DeltaAppend,
}

/// The rule that merges a write into a value.
#[derive(Clone, Copy)]
pub(crate) enum Rule {
    /// Replaces it, once per superstep.
    Single,
    /// Replaces it.
    Last,
    /// Replaces it, and cannot be read until the run is about to end.
    AfterFinish,
    /// Is added to a list.
    Topic { accumulate: bool },
    /// Is reduced into it.
    Reduced(Reducer),
}

/// An unknown kind of channel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a kind of channel: {known}", Printable(.0), known = known())]
pub struct UnknownKind(String);

/// Formats the name, with `:accumulate` or `:unguarded` if set: `topic:accumulate`.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Topic { accumulate: true } => f.write_str(":accumulate"),
            Self::Ephemeral { guard: false } | Self::Untracked { guard: false } => f.write_str(":unguarded"),
            _ => Ok(()),
        }
    }
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        let known = Self::ALL.into_iter().find(|kind| kind.to_string() == text);
        known.ok_or_else(|| UnknownKind(first_chars(text, 80).to_owned()))
    }
}

impl Serialize for Kind {
    fn serialize<W: Serializer>(&self, out: W) -> Result<W::Ok, W::Error> {
        out.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(KindVisitor)
    }
}

/// Reads a kind. Its error is raised where the word is read, so that a document's format adds the line.
struct KindVisitor;

impl serde::de::Visitor<'_> for KindVisitor {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a kind of channel: {}", known())
    }

    fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Kind, E> {
        word.parse().map_err(E::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Kind {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Kind".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "The kind of a channel.",
            "enum": Self::ALL.map(|kind| kind.to_string()),
        })
    }
}

/// Lists all kinds.
pub(crate) fn known() -> String {
    Kind::ALL.map(|kind| kind.to_string()).join(", ")
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 18] = [
        Self::LastValue,
        Self::Append,
        Self::Add,
        Self::Concat,
        Self::Union,
        Self::Merge,
        Self::Max,
        Self::OptMin,
        Self::Messages,
        Self::Ephemeral { guard: true },
        Self::Ephemeral { guard: false },
        Self::Untracked { guard: true },
        Self::Untracked { guard: false },
        Self::AnyValue,
        Self::Topic { accumulate: false },
        Self::Topic { accumulate: true },
        Self::AfterFinish,
        Self::DeltaAppend,
    ];

    /// Returns the kind's name in documents, such as `last_value`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns how a write is merged, how the value is stored, and its type: all that a kind is.
    fn row(self) -> (Rule, Storage, &'static str) {
        match self {
            Self::LastValue | Self::Ephemeral { guard: true } => (Rule::Single, Storage::Value, ANY),
            Self::AnyValue | Self::Ephemeral { guard: false } => (Rule::Last, Storage::Value, ANY),
            Self::Untracked { guard: true } => (Rule::Single, Storage::Never, ANY),
            Self::Untracked { guard: false } => (Rule::Last, Storage::Never, ANY),
            Self::AfterFinish => (Rule::AfterFinish, Storage::Full, ANY),
            Self::Topic { accumulate } => (Rule::Topic { accumulate }, Storage::Full, LIST),
            Self::Append => (Rule::Reduced(reduce::append), Storage::Log, LIST),
            Self::DeltaAppend => (Rule::Reduced(reduce::append), Storage::Delta, LIST),
            Self::Add => (Rule::Reduced(reduce::add), Storage::Full, NUMBER),
            Self::Concat => (Rule::Reduced(reduce::concat), Storage::Delta, STRING),
            Self::Union => (Rule::Reduced(reduce::union), Storage::Delta, LIST),
            Self::Merge => (Rule::Reduced(reduce::merge), Storage::Delta, OBJECT),
            Self::Max => (Rule::Reduced(reduce::max), Storage::Full, NUMBER),
            Self::OptMin => (Rule::Reduced(reduce::opt_min), Storage::Full, ORDERED),
            Self::Messages => (Rule::Reduced(reduce::messages), Storage::Delta, LIST),
        }
    }

    pub(super) fn rule(self) -> Rule {
        self.row().0
    }

    pub(super) fn storage(self) -> Storage {
        self.row().1
    }

    /// Returns the value before the first write.
    pub(super) fn start(self) -> Option<Value> {
        match self.row() {
            (Rule::Reduced(_), _, LIST) => Some(Value::Array(vec![])),
            (Rule::Reduced(_), _, NUMBER) => Some(0.into()),
            (Rule::Reduced(_), _, STRING) => Some(String::new().into()),
            (Rule::Reduced(_), _, OBJECT) => Some(Value::Object(Map::new())),
            _ => None,
        }
    }

    /// True if a write can replace the value instead of being merged.
    pub(super) fn takes_overwrites(self) -> bool {
        matches!(self.rule(), Rule::Topic { .. } | Rule::Reduced(_))
    }

    /// True if a superstep that does not write the channel clears it.
    pub(super) fn lives_one_step(self) -> bool {
        matches!(self, Self::Ephemeral { .. } | Self::AnyValue | Self::Topic { accumulate: false })
    }

    pub(super) fn check(self, value: &Value) -> Result<(), String> {
        let (_, _, wanted) = self.row();
        let fits = match wanted {
            ANY => true,
            ORDERED => value.is_number() || value.is_string(),
            wanted => reduce::type_of(value) == wanted,
        };
        if fits { Ok(()) } else { Err(reduce::type_error(wanted, value)) }
    }

    /// Returns the JSON Schema of a value, or of a write to it.
    pub(super) fn json_schema(self, side: SchemaSide) -> Value {
        let is_write = side == SchemaSide::Write;
        match (self, self.row().2) {
            (Self::Topic { .. }, _) if is_write => json!({}),
            (Self::Messages, _) if is_write => json!({ "type": ["array", "object"], "items": { "type": "object" } }),
            (Self::Messages, _) => json!({ "type": "array", "items": { "type": "object" } }),
            (Self::Union, _) => json!({ "type": "array", "items": { "type": SIMPLE } }),
            (_, LIST) => json!({ "type": "array" }),
            (_, NUMBER) => json!({ "type": "number" }),
            (_, STRING) => json!({ "type": "string" }),
            (_, OBJECT) => json!({ "type": "object" }),
            (_, ORDERED) => json!({ "type": ["number", "string"] }),
            (_, _) => json!({}),
        }
    }

    /// Returns a value in the channel's form: sorted, with ids.
    pub(super) fn normalize(self, value: Value) -> Result<Value, String> {
        self.check(&value)?;
        if self == Self::Union {
            return reduce::into_set(value);
        }
        if self == Self::Messages { reduce::normalize_messages(value) } else { Ok(value) }
    }
}
