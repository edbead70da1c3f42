//! User values as bytes: a small header (codec, schema version, type name), then named MessagePack or bincode. The way back
//! is in `reading`.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::canon::Canon;
use super::channel::{Channel, Codec};
use super::channels::State;
use super::held::{BINCODE, Held, MESSAGE_PACK, options};
use super::reading::{decode, decode_channel, decode_write};
use super::serialized::{Valued, Written};
use super::value_error::ValueError;
use crate::checkpoint::panics::{caught, caught_as, serialize_panicked};
use crate::checkpoint::{CheckpointError, encode_value};

/// The largest value a store is given, in bytes.
pub(crate) const VALUE_LIMIT: usize = 64 << 20;

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
) -> Result<Vec<u8>, ValueError> {
    let mut out = header(MESSAGE_PACK, 1, type_name);
    encode_value(&what, value, &mut out)?;
    check_size(what, &out)?;
    Ok(out)
}

/// Whether a value was stored under this type name.
pub(crate) fn is_named(bytes: &[u8], type_name: &str) -> bool {
    Held::of(bytes).is_ok_and(|held| held.type_name == type_name)
}

/// The same, of a type that is read back too.
pub(crate) fn encode_both_ways<T: Serialize + DeserializeOwned>(
    what: impl Fn() -> String,
    type_name: &str,
    value: &T,
) -> Result<Vec<u8>, ValueError> {
    let bytes = encode(&what, type_name, value)?;
    if cfg!(debug_assertions) {
        reread(what, decode::<T>(&bytes))?;
    }
    Ok(bytes)
}

/// Debug and test builds read every value they write, so that a type whose two ways do not agree is found at once.
pub(crate) fn reread<T>(what: impl Fn() -> String, read: Result<T, String>) -> Result<(), ValueError> {
    let differs = |reason| CheckpointError::Codec { what: what(), reason: format!("it cannot be read back: {reason}") };
    Ok(read.map(drop).map_err(differs)?)
}

/// Encodes the value a write carries.
pub(crate) fn encode_write<S: State>(schema: &S::Schema, write: &S::Write) -> Result<Vec<u8>, ValueError> {
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
pub(crate) fn encode_channel<S: State>(schema: &S::Schema, state: &S, at: usize) -> Result<Vec<u8>, ValueError> {
    let channel = &S::channels(schema)[at];
    let bytes = encode_in(channel, channel.type_name(), &Valued(schema, state, at))?;
    if cfg!(debug_assertions) {
        let read = decode_channel::<S>(schema, &mut S::empty(schema), at, &bytes);
        reread(|| format!("channel `{}`", channel.name()), read.map_err(|misread| misread.reason))?;
    }
    Ok(bytes)
}

fn encode_in(channel: &Channel, type_name: &str, value: &impl Serialize) -> Result<Vec<u8>, ValueError> {
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
pub(crate) fn canon_write<S: State>(schema: &S::Schema, write: &S::Write) -> Result<Canon, ValueError> {
    let what = || format!("channel `{}`", S::channels(schema)[S::channel_of(write)].name());
    Ok(Canon::of(what, &Written::<S>(schema, write))?)
}

/// The value of a channel, in canonical form.
pub(crate) fn canon_channel<S: State>(schema: &S::Schema, state: &S, at: usize) -> Result<Canon, ValueError> {
    let what = || format!("channel `{}`", S::channels(schema)[at].name());
    Ok(Canon::of(what, &Valued(schema, state, at))?)
}

/// A value that is in no channel, in canonical form.
pub(crate) fn canon(bytes: &[u8]) -> Result<Canon, ValueError> {
    let unreadable = |reason| CheckpointError::Codec { what: "a stored value".into(), reason };
    let held = Held::of(bytes).map_err(unreadable)?;
    Ok(Canon::read(held.body).map_err(|error| unreadable(error.to_string()))?)
}

/// A value as JSON; null if it cannot be.
pub(crate) fn json_of<T: Serialize + ?Sized>(value: &T) -> Value {
    caught(|| serde_json::to_value(value).unwrap_or_default()).unwrap_or_default()
}

fn codec(channel: &Channel, reason: String) -> ValueError {
    CheckpointError::Codec { what: format!("channel `{}`", channel.name()), reason }.into()
}
