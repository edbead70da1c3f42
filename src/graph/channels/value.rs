//! User values as bytes: a small header (codec, schema version, type name), then named MessagePack or bincode.

use bincode::Options;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};

use super::canon::Canon;
use super::channel::{Channel, Codec};
use super::state::State;
use crate::checkpoint::{CheckpointError, encode_value, value_deserializer};
use crate::graph::run::error::RunError;

const MESSAGE_PACK: u8 = 1;
const BINCODE: u8 = 2;

/// The largest value a store is given, in bytes.
pub(crate) const VALUE_LIMIT: usize = 64 << 20;

/// The type name of an answer that was given as JSON to a question of unknown type.
pub(crate) const JSON: &str = "json";

fn header(codec: u8, version: u32, type_name: &str) -> Vec<u8> {
    let name = type_name.as_bytes();
    let name = &name[..name.len().min(255)];
    let mut out = Vec::with_capacity(name.len() + 64);
    out.push(codec);
    out.extend(version.to_le_bytes());
    out.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
    out.extend(name);
    out
}

/// Encodes a value that is in no channel: a payload, a question, an answer. `what` names it in errors.
pub(crate) fn encode<T: Serialize + ?Sized>(
    what: impl Fn() -> String,
    type_name: &str,
    value: &T,
) -> Result<Vec<u8>, RunError> {
    let mut out = header(MESSAGE_PACK, 1, type_name);
    encode_value(&what, value, &mut out).map_err(refused)?;
    check_size(what, &out)?;
    Ok(out)
}

fn refused(error: CheckpointError) -> RunError {
    match error {
        CheckpointError::Codec { what, reason } => RunError::Codec { what, reason },
        other => other.into(),
    }
}

/// The same, of a type that is read back too.
pub(crate) fn encode_both_ways<T: Serialize + DeserializeOwned>(
    what: impl Fn() -> String,
    type_name: &str,
    value: &T,
) -> Result<Vec<u8>, RunError> {
    let bytes = encode(&what, type_name, value)?;
    if cfg!(debug_assertions) {
        reread(what, decode::<T>(&bytes))?;
    }
    Ok(bytes)
}

/// Decodes a value that is in no channel. What was given as JSON is read by the rules of JSON.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let (_, body) = split(bytes)?;
    let mut from = value_deserializer(body);
    if type_name(bytes) != JSON.as_bytes() {
        return T::deserialize(&mut from).map_err(|error| error.to_string());
    }
    let json = serde_json::Value::deserialize(&mut from).map_err(|error| error.to_string())?;
    T::deserialize(json).map_err(|error| error.to_string())
}

/// Debug and test builds read every value they write, so that a type whose two ways do not agree is found at once.
pub(crate) fn reread<T>(what: impl Fn() -> String, read: Result<T, String>) -> Result<(), RunError> {
    let differs = |reason| RunError::Codec { what: what(), reason: format!("it cannot be read back: {reason}") };
    read.map(drop).map_err(differs)
}

struct Written<'a, S: State>(&'a S::Schema, &'a S::Write);

impl<S: State> Serialize for Written<'_, S> {
    fn serialize<E: Serializer>(&self, out: E) -> Result<E::Ok, E::Error> {
        S::encode_write(self.0, self.1, out)
    }
}

struct Held<'a, S: State>(&'a S::Schema, &'a S, usize);

impl<S: State> Serialize for Held<'_, S> {
    fn serialize<E: Serializer>(&self, out: E) -> Result<E::Ok, E::Error> {
        self.1.encode_channel(self.0, self.2, out)
    }
}

/// Encodes the value a write carries.
pub(crate) fn encode_write<S: State>(schema: &S::Schema, write: &S::Write) -> Result<Vec<u8>, RunError> {
    let at = S::channel_of(write);
    let channel = &S::channels(schema)[at];
    let bytes = encode_in(channel, &Written::<S>(schema, write))?;
    if cfg!(debug_assertions) {
        let read = read_write::<S>(schema, at, S::overwrites(write), &bytes);
        reread(|| format!("channel `{}`", channel.name()), read.map_err(|reason| channel.told(reason)))?;
    }
    Ok(bytes)
}

/// Encodes the value of a channel.
pub(crate) fn encode_channel<S: State>(schema: &S::Schema, state: &S, at: usize) -> Result<Vec<u8>, RunError> {
    let channel = &S::channels(schema)[at];
    let bytes = encode_in(channel, &Held(schema, state, at))?;
    if cfg!(debug_assertions) {
        let read = read_channel::<S>(schema, &mut S::empty(schema), at, &bytes);
        reread(|| format!("channel `{}`", channel.name()), read.map_err(|reason| channel.told(reason)))?;
    }
    Ok(bytes)
}

fn encode_in(channel: &Channel, value: &impl Serialize) -> Result<Vec<u8>, RunError> {
    let refused = |error| match error {
        CheckpointError::Codec { reason, .. } => codec(channel, channel.told(reason)),
        other => other.into(),
    };
    let what = || format!("channel `{}`", channel.name());
    let (version, type_name) = (channel.schema_version(), channel.type_name());
    match channel.value_codec() {
        Codec::MessagePack => {
            let mut out = header(MESSAGE_PACK, version, type_name);
            encode_value(what, value, &mut out).map_err(refused)?;
            check_size(what, &out)?;
            Ok(out)
        }
        Codec::Bincode => {
            let mut out = header(BINCODE, version, type_name);
            let done = value.serialize(&mut bincode::Serializer::new(&mut out, options()));
            done.map_err(|error| codec(channel, channel.told(error.to_string())))?;
            check_size(what, &out)?;
            Ok(out)
        }
    }
}

fn check_size(what: impl Fn() -> String, out: &[u8]) -> Result<(), CheckpointError> {
    if out.len() > VALUE_LIMIT {
        return Err(CheckpointError::TooLarge { what: what(), bytes: out.len(), limit: VALUE_LIMIT });
    }
    Ok(())
}

/// The value a write carries, in canonical form.
pub(crate) fn canon_write<S: State>(schema: &S::Schema, write: &S::Write) -> Result<Canon, RunError> {
    let what = || format!("channel `{}`", S::channels(schema)[S::channel_of(write)].name());
    Ok(Canon::of(what, &Written::<S>(schema, write))?)
}

/// The value of a channel, in canonical form.
pub(crate) fn canon_channel<S: State>(schema: &S::Schema, state: &S, at: usize) -> Result<Canon, RunError> {
    let what = || format!("channel `{}`", S::channels(schema)[at].name());
    Ok(Canon::of(what, &Held(schema, state, at))?)
}

/// A value that is in no channel, in canonical form.
pub(crate) fn canon(bytes: &[u8]) -> Result<Canon, RunError> {
    let unreadable = |reason| RunError::Codec { what: "a stored value".into(), reason };
    let (_, body) = split(bytes).map_err(unreadable)?;
    Canon::read(body).map_err(|error| unreadable(error.to_string()))
}

/// Decodes a write to a channel.
pub(crate) fn decode_write<S: State>(
    schema: &S::Schema,
    at: usize,
    overwrite: bool,
    bytes: &[u8],
) -> Result<S::Write, RunError> {
    let channel = &S::channels(schema)[at];
    read_write::<S>(schema, at, overwrite, bytes).map_err(|reason| unreadable(channel, bytes, reason))
}

/// Decodes the value of a channel in place.
pub(crate) fn decode_channel<S: State>(
    schema: &S::Schema,
    state: &mut S,
    at: usize,
    bytes: &[u8],
) -> Result<(), RunError> {
    let channel = &S::channels(schema)[at];
    read_channel(schema, state, at, bytes).map_err(|reason| unreadable(channel, bytes, reason))
}

fn read_write<S: State>(schema: &S::Schema, at: usize, overwrite: bool, bytes: &[u8]) -> Result<S::Write, String> {
    let (kind, body) = split(bytes)?;
    if kind == BINCODE {
        let mut from = bincode::Deserializer::from_slice(body, options().with_limit(body.len() as u64));
        return S::decode_write(schema, at, overwrite, &mut from).map_err(|error| error.to_string());
    }
    S::decode_write(schema, at, overwrite, &mut value_deserializer(body)).map_err(|error| error.to_string())
}

fn read_channel<S: State>(schema: &S::Schema, state: &mut S, at: usize, bytes: &[u8]) -> Result<(), String> {
    let (kind, body) = split(bytes)?;
    if kind == BINCODE {
        let mut from = bincode::Deserializer::from_slice(body, options().with_limit(body.len() as u64));
        return state.decode_channel(schema, at, &mut from).map_err(|error| error.to_string());
    }
    state.decode_channel(schema, at, &mut value_deserializer(body)).map_err(|error| error.to_string())
}

fn options() -> impl Options {
    bincode::DefaultOptions::new()
}

fn split(bytes: &[u8]) -> Result<(u8, &[u8]), String> {
    let short = || "the stored value is cut short".to_owned();
    let (&kind, rest) = bytes.split_first().ok_or_else(short)?;
    let (&name, rest) = rest.get(4..).and_then(<[u8]>::split_first).ok_or_else(short)?;
    let body = rest.get(name as usize..).ok_or_else(short)?;
    Ok((kind, body))
}

fn type_name(bytes: &[u8]) -> &[u8] {
    bytes.get(6..6 + bytes.get(5).map_or(0, |len| *len as usize)).unwrap_or_default()
}

fn codec(channel: &Channel, reason: String) -> RunError {
    RunError::Codec { what: format!("channel `{}`", channel.name()), reason }
}

fn unreadable(channel: &Channel, bytes: &[u8], reason: String) -> RunError {
    let (stored, reason) = (String::from_utf8_lossy(type_name(bytes)), channel.told(reason));
    codec(channel, format!("stored as `{stored}`, cannot be read as `{}`: {reason}", channel.type_name()))
}
