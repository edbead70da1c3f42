//! User values as bytes: a small header (codec, schema version, type name), then named MessagePack or bincode. The way back
//! is in `reading`.

use bincode::Options;
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::canon::Canon;
use super::channel::{Channel, Codec};
use super::reading::{decode, decode_channel, decode_write};
use super::state::State;
use crate::checkpoint::panics::{caught, caught_as, serialize_panicked};
use crate::checkpoint::{CheckpointError, encode_value};
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

/// Whether a value was stored under this type name.
pub(crate) fn is_named(bytes: &[u8], type_name: &str) -> bool {
    Held::of(bytes).is_ok_and(|held| held.type_name == type_name)
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

/// Debug and test builds read every value they write, so that a type whose two ways do not agree is found at once.
pub(crate) fn reread<T>(what: impl Fn() -> String, read: Result<T, String>) -> Result<(), RunError> {
    let differs = |reason| RunError::Codec { what: what(), reason: format!("it cannot be read back: {reason}") };
    read.map(drop).map_err(differs)
}

/// The value a write carries, to be serialized.
pub(super) struct Written<'a, S: State>(pub(super) &'a S::Schema, pub(super) &'a S::Write);

impl<S: State> Serialize for Written<'_, S> {
    fn serialize<E: Serializer>(&self, out: E) -> Result<E::Ok, E::Error> {
        S::encode_write(self.0, self.1, out)
    }
}

/// The value of a channel, to be serialized.
pub(super) struct Valued<'a, S: State>(pub(super) &'a S::Schema, pub(super) &'a S, pub(super) usize);

impl<S: State> Serialize for Valued<'_, S> {
    fn serialize<E: Serializer>(&self, out: E) -> Result<E::Ok, E::Error> {
        self.1.encode_channel(self.0, self.2, out)
    }
}

/// Encodes the value a write carries.
pub(crate) fn encode_write<S: State>(schema: &S::Schema, write: &S::Write) -> Result<Vec<u8>, RunError> {
    let at = S::channel_of(write);
    let channel = &S::channels(schema)[at];
    let type_name = if S::overwrites(write) { channel.type_name() } else { channel.write_type() };
    let bytes = encode_in(channel, type_name, &Written::<S>(schema, write))?;
    if cfg!(debug_assertions) {
        let read = decode_write::<S>(schema, at, S::overwrites(write), &bytes);
        reread(|| format!("channel `{}`", channel.name()), read.map_err(|misread| misread.reason))?;
    }
    Ok(bytes)
}

/// Encodes the value of a channel.
pub(crate) fn encode_channel<S: State>(schema: &S::Schema, state: &S, at: usize) -> Result<Vec<u8>, RunError> {
    let channel = &S::channels(schema)[at];
    let bytes = encode_in(channel, channel.type_name(), &Valued(schema, state, at))?;
    if cfg!(debug_assertions) {
        let read = decode_channel::<S>(schema, &mut S::empty(schema), at, &bytes);
        reread(|| format!("channel `{}`", channel.name()), read.map_err(|misread| misread.reason))?;
    }
    Ok(bytes)
}

fn encode_in(channel: &Channel, type_name: &str, value: &impl Serialize) -> Result<Vec<u8>, RunError> {
    let refused = |error| match error {
        CheckpointError::Codec { reason, .. } => codec(channel, channel.told(reason)),
        other => other.into(),
    };
    let what = || format!("channel `{}`", channel.name());
    let version = channel.schema_version();
    match channel.value_codec() {
        Codec::MessagePack => {
            let mut out = header(MESSAGE_PACK, version, type_name);
            encode_value(what, value, &mut out).map_err(refused)?;
            check_size(what, &out)?;
            Ok(out)
        }
        Codec::Bincode => {
            let mut out = header(BINCODE, version, type_name);
            let mut serialize = || value.serialize(&mut bincode::Serializer::new(&mut out, options()));
            let done = caught_as(|| serialize().map_err(|error| error.to_string()), serialize_panicked);
            done.map_err(|reason| codec(channel, channel.told(reason)))?;
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
    Ok(Canon::of(what, &Valued(schema, state, at))?)
}

/// A value that is in no channel, in canonical form.
pub(crate) fn canon(bytes: &[u8]) -> Result<Canon, RunError> {
    let unreadable = |reason| RunError::Codec { what: "a stored value".into(), reason };
    let held = Held::of(bytes).map_err(unreadable)?;
    Canon::read(held.body).map_err(|error| unreadable(error.to_string()))
}

/// A value as JSON; null if it cannot be.
pub(crate) fn json_of<T: Serialize + ?Sized>(value: &T) -> Value {
    caught(|| serde_json::to_value(value).unwrap_or_default()).unwrap_or_default()
}

fn codec(channel: &Channel, reason: String) -> RunError {
    RunError::Codec { what: format!("channel `{}`", channel.name()), reason }
}

/// How numbers and vectors of them are written.
pub(super) fn options() -> impl Options {
    bincode::DefaultOptions::new()
}

/// A stored value: what its header says, and the value itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held<'a> {
    pub codec: Codec,
    pub version: u32,
    pub type_name: &'a str,
    pub body: &'a [u8],
}

impl<'a> Held<'a> {
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
