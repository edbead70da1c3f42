//! A stored value: its header (codec, schema version, type name), and its content as JSON, for upgrades and for types other than
//! the one that stored it. Knows no state.

use std::fmt;

use bincode::Options;
use serde::de::{self, DeserializeOwned, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::{Deserializer, Serialize};
use serde_json::{Map, Number, Value};

use super::channel::Codec;
use crate::checkpoint::value_deserializer;

pub(crate) const MESSAGE_PACK: u8 = 1;
pub(crate) const BINCODE: u8 = 2;

/// The type name of an answer that was given as JSON because the question's type was unknown.
pub(crate) const JSON: &str = "json";

pub(crate) fn options() -> impl Options {
    bincode::DefaultOptions::new()
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredValue<'a> {
    pub codec: Codec,
    pub version: u32,
    pub type_name: &'a str,
    pub body: &'a [u8],
}

impl<'a> StoredValue<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Result<Self, String> {
        let short = || "the stored value is cut short".to_owned();
        let (&codec, rest) = bytes.split_first().ok_or_else(short)?;
        let (version, rest) = rest.split_first_chunk().ok_or_else(short)?;
        let (&name, rest) = rest.split_first().ok_or_else(short)?;
        let (name, body) = rest.split_at_checked(name.into()).ok_or_else(short)?;
        let codec = if codec == BINCODE { Codec::Bincode } else { Codec::MessagePack };
        let type_name = std::str::from_utf8(name).map_err(|_| "the name of its type is damaged".to_owned())?;
        Ok(Self { codec, version: u32::from_le_bytes(*version), type_name, body })
    }
}

/// Returns a stored value as JSON: bytes as a list of numbers, non-text keys as text.
pub(crate) fn json(raw: &StoredValue<'_>) -> Result<Value, String> {
    match raw.codec {
        Codec::MessagePack => {
            let read = Any.deserialize(&mut value_deserializer(raw.body));
            read.map_err(|error| error.to_string())
        }
        Codec::Bincode => bincode_json(&short_name(raw.type_name), raw.body),
    }
}

/// True if two names mean the same type. Modules do not count, as a type may be moved.
pub(crate) fn is_same_type(stored: &str, expected: &str) -> bool {
    stored == expected || short_name(stored) == short_name(expected)
}

/// Returns the first part of a stored value that another type dropped or changed. Lists may be reordered.
pub(crate) fn first_lost_field(stored: &Value, now: &Value) -> Option<String> {
    match (stored, now) {
        (Value::Object(stored), Value::Object(now)) => stored.iter().find_map(|(key, value)| match now.get(key) {
            Some(now) => first_lost_field(value, now),
            None if is_nothing(value) => None,
            None => Some(format!("it has no `{key}`")),
        }),
        (Value::Array(stored), Value::Array(now)) if stored.len() != now.len() => {
            Some(format!("{} of its {} items are kept", now.len(), stored.len()))
        }
        (Value::Array(stored), Value::Array(now)) => {
            let missing = |item: &Value| now.iter().all(|other| first_lost_field(item, other).is_some());
            let in_order = stored.iter().zip(now).all(|(stored, now)| first_lost_field(stored, now).is_none());
            (!in_order && stored.iter().any(missing)).then(|| "not all of its items are kept".into())
        }
        (Value::Number(stored), Value::Number(now)) => {
            let same = stored == now || stored.as_f64() == now.as_f64();
            (!same).then(|| format!("{stored} becomes {now}"))
        }
        (stored, now) => (stored != now).then(|| "it becomes another value".into()),
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

macro_rules! by_name {
    ($name:expr, $body:expr; $($type:ty),*) => {
        match $name {
            $(stringify!($type) => reencode::<$type>($body),
              concat!("Vec<", stringify!($type), ">") => reencode::<Vec<$type>>($body),)*
            other => Err(format!("nothing is known of the type `{other}`")),
        }
    };
}

/// Decodes bincode, which is not self-describing, by the name of the type.
fn bincode_json(name: &str, body: &[u8]) -> Result<Value, String> {
    by_name!(name, body; u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64, bool, char)
}

fn reencode<T: DeserializeOwned + Serialize>(body: &[u8]) -> Result<Value, String> {
    let mut from = bincode::Deserializer::from_slice(body, options().with_limit(body.len() as u64));
    let value = T::deserialize(&mut from).map_err(|error| error.to_string())?;
    serde_json::to_value(value).map_err(|error| error.to_string())
}

#[derive(Clone, Copy)]
struct Any;

impl<'de> DeserializeSeed<'de> for Any {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Any {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_bytes<E>(self, value: &[u8]) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        self.deserialize(from)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        self.deserialize(from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = vec![];
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key_seed(self)? {
            let key = match key {
                Value::String(text) => text,
                Value::Bool(_) | Value::Number(_) => key.to_string(),
                other => return Err(de::Error::custom(format_args!("a key is {other}"))),
            };
            map.insert(key, entries.next_value_seed(self)?);
        }
        Ok(Value::Object(map))
    }
}

/// Returns two type names without their modules, unless they differ only in those.
pub(crate) fn distinct_names(first: &str, second: &str) -> (String, String) {
    let (brief, other) = (short_name(first), short_name(second));
    if brief == other { (first.to_owned(), second.to_owned()) } else { (brief, other) }
}

/// Returns a type's name without modules: `Vec<String>` for `alloc::vec::Vec<alloc::string::String>`.
pub(crate) fn short_name(type_name: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for letter in type_name.chars() {
        match letter {
            ':' => word.clear(),
            letter if letter.is_alphanumeric() || letter == '_' => word.push(letter),
            other => {
                out.push_str(&std::mem::take(&mut word));
                out.push(other);
            }
        }
    }
    out + &word
}
