//! Stored values back to the types of this version of the code: as they are, by an upgrade, or by another type that keeps
//! all of them. What fits none of these is not guessed at. Knows no store.

use std::any::type_name;

use bincode::Options;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::channel::{Channel, Codec};
use super::channels::State;
use super::convert::{is_same_type, json, lost};
use super::held::{Held, JSON, options};
use super::serialized::{Valued, Written};
use super::type_name::told_apart;
use crate::checkpoint::panics::{caught, caught_as};
use crate::checkpoint::value_deserializer;

/// The kind of data-defined channels whose values say beside themselves whether they can be read.
const PAIRED: &str = "after_finish";

/// Why a stored value cannot be read, and as what it was tried.
#[derive(Clone, Debug)]
pub(crate) struct Misread {
    pub stored: String,
    pub stored_version: u32,
    pub expected: String,
    pub expected_version: u32,
    pub reason: String,
}

impl Misread {
    /// Nothing reads such a value.
    pub(crate) fn of_nothing(reason: &str) -> Self {
        let (stored, expected) = ("?".to_owned(), "?".to_owned());
        Self { stored, stored_version: 1, expected, expected_version: 1, reason: reason.to_owned() }
    }
}

/// Decodes a write to a channel.
pub(crate) fn decode_write<S: State>(
    schema: &S::Schema,
    at: usize,
    overwrite: bool,
    bytes: &[u8],
) -> Result<S::Write, Misread> {
    let channel = &S::channels(schema)[at];
    let expected = if overwrite { channel.type_name() } else { channel.write_type() };
    read(channel, expected, bytes, WriteOf::<S> { schema, at, overwrite })
}

/// Decodes the value of a channel in place.
pub(crate) fn decode_channel<S: State>(
    schema: &S::Schema,
    state: &mut S,
    at: usize,
    bytes: &[u8],
) -> Result<(), Misread> {
    let channel = &S::channels(schema)[at];
    read(channel, channel.type_name(), bytes, ValueOf { schema, at, state })
}

/// Decodes the value of a channel from the parts of one list, in place.
pub(crate) fn take_list<S: State>(
    schema: &S::Schema,
    state: &mut S,
    at: usize,
    parts: &[Vec<u8>],
) -> Result<(), Misread> {
    let channel = &S::channels(schema)[at];
    let mut into = ValueOf { schema, at, state };
    let mut stored: Option<(&str, u32)> = None;
    let mut list = || {
        let mut list = vec![];
        for part in parts {
            let held = Held::of(part)?;
            if stored.is_some_and(|(_, version)| version != held.version) {
                return Err("its parts are of several versions".into());
            }
            stored = Some((held.type_name, held.version));
            match json(&held)? {
                Value::Array(items) => list.extend(items),
                other => list.push(other),
            }
        }
        Ok(Value::Array(list))
    };
    let list = list();
    let version = stored.map_or(1, |(_, version)| version);
    let read = list.and_then(|list| caught_as(|| taken(channel, &mut into, list, version), panicked));
    read.map_err(|reason| misread(channel, channel.type_name(), stored, reason))
}

/// Takes a value that no stored bytes hold.
fn taken<I: Target>(channel: &Channel, into: &mut I, value: Value, version: u32) -> Result<I::Read, String> {
    if version != channel.schema_version() {
        return into.upgrade(value, version).unwrap_or_else(|| Err(format!("nothing upgrades version {version}")));
    }
    let read = into.take(value.clone()).map_err(|error: serde_json::Error| error.to_string())?;
    kept(&value, into.shown(&read))?;
    Ok(read)
}

/// Decodes a value that is in no channel. What was given as JSON is read by the rules of JSON.
pub(crate) fn decode<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    decode_known(bytes, |value: &T| serde_json::to_value(value).unwrap_or_default()).map_err(|misread| misread.reason)
}

/// The same for a type that is never written.
pub(crate) fn decode_only<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let held = Held::of(bytes)?;
    deserialized(&mut value_deserializer(held.body))
}

fn deserialized<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<T, String> {
    caught_as(|| T::deserialize(from).map_err(|error| error.to_string()), panicked)
}

fn panicked(panic: String) -> String {
    format!("its `Deserialize` panicked: {panic}")
}

/// The same, and tells what was stored.
pub(crate) fn decode_known<T: DeserializeOwned>(bytes: &[u8], shown: impl Fn(&T) -> Value) -> Result<T, Misread> {
    let unread = |stored: &str, stored_version, reason| {
        let (stored, expected) = told_apart(stored, type_name::<T>());
        Misread { stored, stored_version, expected, expected_version: 1, reason }
    };
    let held = Held::of(bytes).map_err(|reason| unread("?", 0, reason))?;
    let unread = |reason: String| unread(held.type_name, held.version, reason);
    if held.type_name == JSON {
        let json = json(&held).map_err(unread)?;
        return deserialized(json).map_err(unread);
    }
    let value = deserialized(&mut value_deserializer(held.body)).map_err(unread)?;
    if !is_same_type(held.type_name, type_name::<T>()) && !is_same_type(type_name::<Value>(), type_name::<T>()) {
        kept(&json(&held).map_err(unread)?, caught(|| shown(&value))).map_err(unread)?;
    }
    Ok(value)
}

/// Returns a stored value as JSON, whatever its type.
pub(crate) fn as_json(bytes: &[u8]) -> Result<Value, String> {
    json(&Held::of(bytes)?)
}

/// What a stored value is read into.
trait Target {
    type Read;
    fn take<'de, D: Deserializer<'de>>(&mut self, from: D) -> Result<Self::Read, D::Error>;
    /// None if nothing upgrades the channel.
    fn upgrade(&mut self, value: Value, from: u32) -> Option<Result<Self::Read, String>>;
    /// What was read, as JSON.
    fn shown(&self, read: &Self::Read) -> Result<Value, String>;
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

    fn shown(&self, write: &S::Write) -> Result<Value, String> {
        serde_json::to_value(Written::<S>(self.schema, write)).map_err(|error| error.to_string())
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

    fn shown(&self, (): &()) -> Result<Value, String> {
        serde_json::to_value(Valued(self.schema, self.state, self.at)).map_err(|error| error.to_string())
    }
}

fn read<I: Target>(channel: &Channel, expected: &str, bytes: &[u8], mut into: I) -> Result<I::Read, Misread> {
    let held = Held::of(bytes).map_err(|reason| misread(channel, expected, None, reason))?;
    let read = caught_as(|| by_version(channel, expected, &held, &mut into), panicked);
    read.map_err(|reason| misread(channel, expected, Some((held.type_name, held.version)), reason))
}

fn by_version<I: Target>(channel: &Channel, expected: &str, held: &Held<'_>, into: &mut I) -> Result<I::Read, String> {
    let version = channel.schema_version();
    if held.version > version {
        return Err("a later version of the code stored it".into());
    }
    if held.version < version {
        let upgraded = into.upgrade(json(held)?, held.version);
        return upgraded.unwrap_or_else(|| Err(format!("nothing upgrades version {}", held.version)));
    }
    if is_same_type(held.type_name, expected) {
        return direct(held, into);
    }
    if held.type_name == PAIRED || expected == PAIRED {
        return Err("it was kept in another way".into());
    }
    let stored = json(held)?;
    let read = match held.codec {
        Codec::MessagePack => direct(held, into)?,
        Codec::Bincode => into.take(stored.clone()).map_err(|error| error.to_string())?,
    };
    kept(&stored, into.shown(&read))?;
    Ok(read)
}

fn direct<I: Target>(held: &Held<'_>, into: &mut I) -> Result<I::Read, String> {
    match held.codec {
        Codec::MessagePack => into.take(&mut value_deserializer(held.body)).map_err(|error| error.to_string()),
        Codec::Bincode => {
            let limit = options().with_limit(held.body.len() as u64);
            let mut from = bincode::Deserializer::from_slice(held.body, limit);
            into.take(&mut from).map_err(|error| error.to_string())
        }
    }
}

/// Another type reads a value only if it keeps all of it.
fn kept(stored: &Value, now: Result<Value, String>) -> Result<(), String> {
    match lost(stored, &now?) {
        Some(loss) => Err(format!("it would not be the same: {loss}")),
        None => Ok(()),
    }
}

fn misread(channel: &Channel, expected: &str, stored: Option<(&str, u32)>, reason: String) -> Misread {
    let (name, stored_version) = stored.unwrap_or(("?", 0));
    Misread {
        stored: name.to_owned(),
        stored_version,
        expected: expected.to_owned(),
        expected_version: channel.schema_version(),
        reason: channel.told(reason),
    }
}
