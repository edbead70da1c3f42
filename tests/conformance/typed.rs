//! A struct with a field for each channel that a case may have, so that cases cover the code of `#[derive(State)]`.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use superstep::graph::{Name, State, StateGraph, Writes};

use crate::build::World;
use crate::model::{Case, Channel, ChannelKind, Graph};
use crate::states::CaseState;

thread_local! {
    /// Set when a case writes a value that no field can hold.
    static MISFIT: Cell<bool> = const { Cell::new(false) };
}

/// Returns true if this thread's case has written a value that no field can hold. It has no outcome then.
pub(crate) fn has_misfits() -> bool {
    MISFIT.get()
}

/// A value, or none yet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Held(Vec<Value>);

/// Declares the struct, and for each field the conversion of a case's value to its write.
macro_rules! fields {
    ($($(#[channel($($rule:tt)*)])? $field:ident: $type:ty = $kind:ident($read:path),)*) => {
        #[derive(State, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        pub(crate) struct Typed {
            $($(#[channel($($rule)*)])? $field: $type,)*
        }

        /// The fields and the kinds of channels that they support, in order.
        const FIELDS: &[(&str, Field)] = &[$((stringify!($field), Field::$kind),)*];

        fn write(field: &str, value: Value) -> Option<Writes<Typed>> {
            match field {
                $(stringify!($field) => Some(Typed::update().$field($read(value)?).into()),)*
                _ => None,
            }
        }
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Last,
    Any,
    Ephemeral,
    Untracked,
    List,
    Sum,
    Greatest,
    Topic,
    TopicKept,
}

fields! {
    last0: Held = Last(one),
    last1: Held = Last(one),
    last2: Held = Last(one),
    last3: Held = Last(one),
    last4: Held = Last(one),
    last5: Held = Last(one),
    #[channel(any_value)] any0: Held = Any(one),
    #[channel(any_value)] any1: Held = Any(one),
    #[channel(ephemeral)] ephemeral0: Held = Ephemeral(one),
    #[channel(untracked)] untracked0: Held = Untracked(one),
    #[channel(append)] list0: Vec<Value> = List(list),
    #[channel(append)] list1: Vec<Value> = List(list),
    #[channel(append)] list2: Vec<Value> = List(list),
    #[channel(append)] list3: Vec<Value> = List(list),
    #[channel(add)] sum0: i64 = Sum(number),
    #[channel(add)] sum1: i64 = Sum(number),
    #[channel(max)] greatest0: i64 = Greatest(number),
    #[channel(topic)] topic0: Vec<Value> = Topic(list),
    #[channel(topic)] topic1: Vec<Value> = Topic(list),
    #[channel(topic(accumulate))] kept0: Vec<Value> = TopicKept(list),
}

fn one(value: Value) -> Option<Held> {
    Some(Held(vec![value]))
}

fn list(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(items) => Some(items),
        _ => None,
    }
}

fn number(value: Value) -> Option<i64> {
    value.as_i64()
}

impl Field {
    fn of(channel: &Channel) -> Option<Self> {
        Some(match channel.kind {
            ChannelKind::LastValue => Self::Last,
            ChannelKind::AnyValue => Self::Any,
            ChannelKind::Ephemeral if channel.guard => Self::Ephemeral,
            ChannelKind::Untracked if channel.guard => Self::Untracked,
            ChannelKind::Append => Self::List,
            ChannelKind::Add => Self::Sum,
            ChannelKind::Max => Self::Greatest,
            ChannelKind::Topic if channel.accumulate => Self::TopicKept,
            ChannelKind::Topic => Self::Topic,
            _ => return None,
        })
    }

    /// Shows a value or a write of a channel of this kind; `None` if it has no value.
    fn shown(self, value: Value) -> Option<Value> {
        match (self, value) {
            (Self::Last | Self::Any | Self::Ephemeral | Self::Untracked, Value::Array(list)) => list.into_iter().next(),
            (_, value) => Some(value),
        }
    }

    /// Returns true if this field value means that a channel of this kind has no value.
    fn is_empty(self, value: &Value) -> bool {
        matches!(self, Self::Topic | Self::TopicKept) && value.as_array().is_some_and(Vec::is_empty)
    }
}

/// Returns the field of each channel, by name; `None` if there are too few fields of its kind.
fn layout(graph: &Graph) -> Option<BTreeMap<&str, usize>> {
    let (mut taken, mut layout) = (vec![false; FIELDS.len()], BTreeMap::new());
    for (name, channel) in &graph.channels {
        let wanted = Field::of(channel)?;
        let free = (0..FIELDS.len()).find(|&at| !taken[at] && FIELDS[at].1 == wanted)?;
        taken[free] = true;
        layout.insert(name.as_str(), free);
    }
    Some(layout)
}

/// Returns true if the struct has fields for the channels of every graph.
pub(crate) fn has_room(case: &Case) -> bool {
    case.graphs.values().all(|graph| layout(graph).is_some())
}

fn field(graph: &Graph, channel: &str) -> Option<usize> {
    layout(graph)?.get(channel).copied()
}

impl CaseState for Typed {
    fn builder(_: &Graph) -> StateGraph<Self, Name, Arc<World>> {
        StateGraph::new()
    }

    fn writes(graph: &Graph, values: &Map<String, Value>) -> Writes<Self> {
        let mut writes = vec![];
        for (name, value) in values {
            match (field(graph, name), graph.branches.is_empty()) {
                (Some(field), _) => match write(FIELDS[field].0, value.clone()) {
                    Some(write) => writes.extend(write.0),
                    None => MISFIT.set(true),
                },
                (None, true) => {}
                (None, false) => MISFIT.set(true), // a router may read it
            }
        }
        Writes(writes)
    }

    fn values(&self, graph: &Graph) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(values)) => Self::shown_state(graph, values),
            _ => Map::new(),
        }
    }

    fn own_name(graph: &Graph, channel: &str) -> String {
        field(graph, channel).map_or_else(|| channel.to_owned(), |field| FIELDS[field].0.to_owned())
    }

    fn shown(graph: &Graph, own_name: String, value: Value) -> Option<(String, Value)> {
        let layout = layout(graph)?;
        let (name, field) = layout.into_iter().find(|(_, field)| FIELDS[*field].0 == own_name)?;
        Some((name.to_owned(), FIELDS[field].1.shown(value)?))
    }

    fn shown_state(graph: &Graph, mut values: Map<String, Value>) -> Map<String, Value> {
        values.retain(|field, value| !FIELDS.iter().any(|(name, kind)| name == field && kind.is_empty(value)));
        values.into_iter().filter_map(|(name, value)| Self::shown(graph, name, value)).collect()
    }
}
