//! Decodes stored values into the current types: directly, by an upgrade, or into another type that loses nothing. Any
//! other value is an error. Knows no store.

use std::any::type_name;

use bincode::Options;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use superstep_base::panics::{catch_panic, catch_panic_as};

use super::channel::{Channel, Codec};
use super::channels::State;
use super::stored_value::{JSON, StoredValue, distinct_names, first_lost_field, is_same_type, json, options};
use crate::checkpoint::{decode_json, read_json, value_deserializer};

/// The kind of data-defined channels that store with the value whether it is readable.
const PAIRED: &str = "after_finish";

/// The error of a stored value that cannot be read, with the stored and the expected type.
#[derive(Clone, Debug)]
pub struct DecodeError {
    pub stored: String,
    pub stored_version: u32,
    pub expected: String,
    pub expected_version: u32,
    pub reason: String,
}

impl DecodeError {
    /// Returns the error of a value that no type reads.
    pub(crate) fn unreadable(reason: &str) -> Self {
        let (stored, expected) = ("?".to_owned(), "?".to_owned());
        Self { stored, stored_version: 1, expected, expected_version: 1, reason: reason.to_owned() }
    }
}

pub(crate) fn decode_write<S: State>(
    schema: &S::Schema,
    at: usize,
    overwrite: bool,
    bytes: &[u8],
) -> Result<S::Write, DecodeError> {
    let channel = &S::channels(schema)[at];
    let expected = if overwrite { channel.type_name() } else { channel.write_type() };
    read(channel, expected, bytes, WriteOf::<S> { schema, at, overwrite })
}

pub(crate) fn decode_channel<S: State>(
    schema: &S::Schema,
    state: &mut S,
    at: usize,
    bytes: &[u8],
) -> Result<(), DecodeError> {
    let channel = &S::channels(schema)[at];
    read(channel, channel.type_name(), bytes, ValueOf { schema, at, state })
}

/// Decodes the value of a channel in place from the parts of one list.
pub(crate) fn take_list<S: State>(
    schema: &S::Schema,
    state: &mut S,
    at: usize,
    parts: &[Vec<u8>],
) -> Result<(), DecodeError> {
    let channel = &S::channels(schema)[at];
    let mut into = ValueOf { schema, at, state };
    let mut stored: Option<(&str, u32)> = None;
    let mut list = || {
        let mut list = vec![];
        for part in parts {
            let raw = StoredValue::of(part)?;
            if stored.is_some_and(|(_, version)| version != raw.version) {
                return Err("its parts are of several versions".into());
            }
            stored = Some((raw.type_name, raw.version));
            match json(&raw)? {
                Value::Array(items) => list.extend(items),
                other => list.push(other),
            }
        }
        Ok(Value::Array(list))
    };
    let list = list();
    let version = stored.map_or(1, |(_, version)| version);
    let read = list.and_then(|list| catch_panic_as(|| read_list(channel, &mut into, list, version), panic_text));
    read.map_err(|reason| decode_error(channel, channel.type_name(), stored, reason))
}

/// Reads a value that was assembled from several stored ones.
fn read_list<I: Target>(channel: &Channel, into: &mut I, value: Value, version: u32) -> Result<I::Read, String> {
    if version != channel.schema_version() {
        return into.upgrade(value, version).unwrap_or_else(|| Err(format!("nothing upgrades version {version}")));
    }
    let read = read_json(&value, |from| into.take(from))?;
    check_lossless(&value, into.to_json(&read))?;
    Ok(read)
}

/// Decodes a value that belongs to no channel. An answer given as JSON is read as JSON.
pub(crate) fn decode<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    decode_known(bytes, |value: &T| serde_json::to_value(value).unwrap_or_default()).map_err(|misread| misread.reason)
}

/// Decodes a value of a type that does not serialize.
pub(crate) fn decode_only<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let raw = StoredValue::of(bytes)?;
    deserialize(&mut value_deserializer(raw.body))
}

fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<T, String> {
    catch_panic_as(|| T::deserialize(from).map_err(|error| error.to_string()), panic_text)
}

fn panic_text(panic: String) -> String {
    format!("its `Deserialize` panicked: {panic}")
}

/// Decodes a value; the error names the stored type.
pub(crate) fn decode_known<T: DeserializeOwned>(bytes: &[u8], shown: impl Fn(&T) -> Value) -> Result<T, DecodeError> {
    let unread = |stored: &str, stored_version, reason| {
        let (stored, expected) = distinct_names(stored, type_name::<T>());
        DecodeError { stored, stored_version, expected, expected_version: 1, reason }
    };
    let raw = StoredValue::of(bytes).map_err(|reason| unread("?", 0, reason))?;
    let unread = |reason: String| unread(raw.type_name, raw.version, reason);
    if raw.type_name == JSON {
        let json = json(&raw).map_err(unread)?;
        return catch_panic_as(|| decode_json(&json), panic_text).map_err(unread);
    }
    let value = deserialize(&mut value_deserializer(raw.body)).map_err(unread)?;
    if !is_same_type(raw.type_name, type_name::<T>()) && !is_same_type(type_name::<Value>(), type_name::<T>()) {
        check_lossless(&json(&raw).map_err(unread)?, catch_panic(|| shown(&value))).map_err(unread)?;
    }
    Ok(value)
}

pub(crate) fn as_json(bytes: &[u8]) -> Result<Value, String> {
    json(&StoredValue::of(bytes)?)
}

trait Target {
    type Read;
    fn take<'de, D: Deserializer<'de>>(&mut self, from: D) -> Result<Self::Read, D::Error>;
    /// Returns `None` if the channel has no upgrade.
    fn upgrade(&mut self, value: Value, from: u32) -> Option<Result<Self::Read, String>>;
    fn to_json(&self, read: &Self::Read) -> Result<Value, String>;
}

struct WriteOf<'a, S: State> {
    schema: &'a S::Schema,
    at: usize,
    overwrite: bool,
}

impl<S: State> Target for WriteOf<'_, S> {
    type Read = S::Write;

    fn take<'de, D: Deserializer<'de>>(&mut self, from: D) -> Result<S::Write, D::Error> {
        S::decode_write(self.schema, self.at, self.overwrite, from)
    }

    fn upgrade(&mut self, value: Value, from: u32) -> Option<Result<S::Write, String>> {
        S::upgrade_write(self.schema, self.at, self.overwrite, value, from)
    }

    fn to_json(&self, write: &S::Write) -> Result<Value, String> {
        serde_json::to_value(WriteValue::<S>(self.schema, write)).map_err(|error| error.to_string())
    }
}

struct ValueOf<'a, S: State> {
    schema: &'a S::Schema,
    at: usize,
    state: &'a mut S,
}

impl<S: State> Target for ValueOf<'_, S> {
    type Read = ();

    fn take<'de, D: Deserializer<'de>>(&mut self, from: D) -> Result<(), D::Error> {
        self.state.decode_channel(self.schema, self.at, from)
    }

    fn upgrade(&mut self, value: Value, from: u32) -> Option<Result<(), String>> {
        self.state.upgrade_channel(self.schema, self.at, value, from)
    }

    fn to_json(&self, (): &()) -> Result<Value, String> {
        serde_json::to_value(ChannelValue(self.schema, self.state, self.at)).map_err(|error| error.to_string())
    }
}

fn read<I: Target>(channel: &Channel, expected: &str, bytes: &[u8], mut into: I) -> Result<I::Read, DecodeError> {
    let raw = StoredValue::of(bytes).map_err(|reason| decode_error(channel, expected, None, reason))?;
    let read = catch_panic_as(|| decode_as(channel, expected, &raw, &mut into), panic_text);
    read.map_err(|reason| decode_error(channel, expected, Some((raw.type_name, raw.version)), reason))
}

fn decode_as<I: Target>(
    channel: &Channel,
    expected: &str,
    raw: &StoredValue<'_>,
    into: &mut I,
) -> Result<I::Read, String> {
    let version = channel.schema_version();
    if raw.version > version {
        return Err("a later version of the code stored it".into());
    }
    if raw.version < version {
        let upgraded = into.upgrade(json(raw)?, raw.version);
        return upgraded.unwrap_or_else(|| Err(format!("nothing upgrades version {}", raw.version)));
    }
    if is_same_type(raw.type_name, expected) {
        return decode_direct(raw, into);
    }
    if raw.type_name == PAIRED || expected == PAIRED {
        return Err("it was stored in another form".into());
    }
    let stored = json(raw)?;
    let read = match raw.codec {
        Codec::MessagePack => decode_direct(raw, into)?,
        Codec::Bincode => read_json(&stored, |from| into.take(from))?,
    };
    check_lossless(&stored, into.to_json(&read))?;
    Ok(read)
}

fn decode_direct<I: Target>(raw: &StoredValue<'_>, into: &mut I) -> Result<I::Read, String> {
    match raw.codec {
        Codec::MessagePack => into.take(&mut value_deserializer(raw.body)).map_err(|error| error.to_string()),
        Codec::Bincode => {
            let limit = options().with_limit(raw.body.len() as u64);
            let mut from = bincode::Deserializer::from_slice(raw.body, limit);
            into.take(&mut from).map_err(|error| error.to_string())
        }
    }
}

fn check_lossless(stored: &Value, now: Result<Value, String>) -> Result<(), String> {
    match first_lost_field(stored, &now?) {
        Some(loss) => Err(format!("it would not be the same: {loss}")),
        None => Ok(()),
    }
}

fn decode_error(channel: &Channel, expected: &str, stored: Option<(&str, u32)>, reason: String) -> DecodeError {
    let (name, stored_version) = stored.unwrap_or(("?", 0));
    DecodeError {
        stored: name.to_owned(),
        stored_version,
        expected: expected.to_owned(),
        expected_version: channel.schema_version(),
        reason: channel.redact(reason),
    }
}

pub(crate) struct WriteValue<'a, S: State>(pub(super) &'a S::Schema, pub(super) &'a S::Write);

impl<S: State> Serialize for WriteValue<'_, S> {
    fn serialize<E: Serializer>(&self, out: E) -> Result<E::Ok, E::Error> {
        S::encode_write(self.0, self.1, out)
    }
}

pub(crate) struct ChannelValue<'a, S: State>(pub(super) &'a S::Schema, pub(super) &'a S, pub(super) usize);

impl<S: State> Serialize for ChannelValue<'_, S> {
    fn serialize<E: Serializer>(&self, out: E) -> Result<E::Ok, E::Error> {
        self.1.encode_channel(self.0, self.2, out)
    }
}
