//! Encodes user values: a small header (codec, schema version, type name), then named MessagePack or bincode. `reading`
//! decodes them.

use std::any::{Any, type_name};
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use superstep_base::panics::{catch_panic, catch_panic_as, serialize_panicked};

use super::canon::Canon;
use super::channel::{Channel, Codec};
use super::channels::State;
use super::reading::{ChannelValue, WriteValue, decode, decode_channel, decode_write};
use super::stored_value::{BINCODE, MESSAGE_PACK, StoredValue, options, short_name};
use crate::checkpoint::{CheckpointError, encode_value};

/// The payload of a send: any serializable value.
pub trait Payload: Any + Send + Sync {
    /// Encodes the payload for a store: with the name of its type, as named MessagePack.
    ///
    /// # Errors
    /// If the value cannot be serialized, nests deeper than 128, or is larger than 64 MiB.
    fn encode(&self) -> Result<Vec<u8>, ValueError>;

    /// Returns the payload as JSON; null if it cannot be converted.
    fn json(&self) -> Value;
}

impl<T: Any + Send + Sync + Serialize> Payload for T {
    fn encode(&self) -> Result<Vec<u8>, ValueError> {
        encode(|| format!("payload `{}`", short_name(type_name::<T>())), type_name::<T>(), self)
    }

    fn json(&self) -> Value {
        catch_panic(|| serde_json::to_value(self).unwrap_or_default()).unwrap_or_default()
    }
}

/// A boxed future.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The error of a value that cannot be stored: its type does not serialize or does not read back its own output, or the
/// value nests too deeply or is too large.
#[derive(Clone, Debug, thiserror::Error)]
#[error(transparent)]
pub struct ValueError(#[from] pub(crate) CheckpointError);

impl ValueError {
    /// Returns the suggested fix.
    pub fn help(&self) -> Option<&str> {
        self.0.help()
    }
}

/// Size limit of a stored value, in bytes.
const VALUE_LIMIT: usize = 64 << 20;

/// Size in bytes from which an encoded value keeps the buffer that it was written to, instead of being copied out of it.
const LARGE: usize = 4096;

thread_local! {
    /// The buffer in which values of this thread are encoded.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Returns what is written to a buffer. A small value takes no more memory than its bytes.
fn in_buffer<E>(write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<Vec<u8>, E> {
    // A new one if there is none to reuse, as where a value encodes another one.
    let mut buffer = BUFFER.try_with(Cell::take).unwrap_or_default();
    buffer.clear();
    let written = write(&mut buffer);
    if buffer.len() >= LARGE {
        return written.map(|()| buffer);
    }
    let written = written.map(|()| buffer.as_slice().to_vec());
    let _ = BUFFER.try_with(|free| free.set(buffer));
    written
}

fn put_header(codec: u8, version: u32, type_name: &str, out: &mut Vec<u8>) {
    let name = type_name.as_bytes();
    let name = &name[..name.len().min(255)];
    let [a, b, c, d] = version.to_le_bytes();
    out.extend_from_slice(&[codec, a, b, c, d, u8::try_from(name.len()).unwrap_or(u8::MAX)]);
    out.extend_from_slice(name);
}

/// Encodes a value that belongs to no channel: a payload, question or answer. `what` names it in errors.
pub(crate) fn encode<T: Serialize + ?Sized>(
    what: impl Fn() -> String,
    type_name: &str,
    value: &T,
) -> Result<Vec<u8>, ValueError> {
    in_buffer(|out| {
        put_header(MESSAGE_PACK, 1, type_name, out);
        encode_value(&what, value, out)?;
        Ok(check_size(what, out)?)
    })
}

pub(crate) fn is_named(bytes: &[u8], type_name: &str) -> bool {
    StoredValue::of(bytes).is_ok_and(|raw| raw.type_name == type_name)
}

/// Encodes a value of a type that is decoded too.
pub(crate) fn encode_both_ways<T: Serialize + DeserializeOwned>(
    what: impl Fn() -> String,
    type_name: &str,
    value: &T,
) -> Result<Vec<u8>, ValueError> {
    let bytes = encode(&what, type_name, value)?;
    if cfg!(debug_assertions) {
        check_decoded(what, decode::<T>(&bytes))?;
    }
    Ok(bytes)
}

/// Returns an error if a value that was just encoded cannot be decoded. Debug and test builds check every value.
pub(crate) fn check_decoded<T>(what: impl Fn() -> String, read: Result<T, String>) -> Result<(), ValueError> {
    let differs = |reason| CheckpointError::Codec { what: what(), reason: format!("it cannot be read back: {reason}") };
    Ok(read.map(drop).map_err(differs)?)
}

pub(crate) fn encode_write<S: State>(schema: &S::Schema, write: &S::Write) -> Result<Vec<u8>, ValueError> {
    let at = S::channel_of(write);
    let channel = &S::channels(schema)[at];
    let type_name = if S::overwrites(write) { channel.type_name() } else { channel.write_type() };
    let bytes = encode_in(channel, type_name, &WriteValue::<S>(schema, write))?;
    if cfg!(debug_assertions) {
        let read = decode_write::<S>(schema, at, S::overwrites(write), &bytes);
        check_decoded(|| format!("channel `{}`", channel.name()), read.map_err(|misread| misread.reason))?;
    }
    Ok(bytes)
}

pub(crate) fn encode_channel<S: State>(schema: &S::Schema, state: &S, at: usize) -> Result<Vec<u8>, ValueError> {
    let channel = &S::channels(schema)[at];
    let bytes = encode_in(channel, channel.type_name(), &ChannelValue(schema, state, at))?;
    if cfg!(debug_assertions) {
        let read = decode_channel::<S>(schema, &mut S::empty(schema), at, &bytes);
        check_decoded(|| format!("channel `{}`", channel.name()), read.map_err(|misread| misread.reason))?;
    }
    Ok(bytes)
}

fn encode_in(channel: &Channel, type_name: &str, value: &impl Serialize) -> Result<Vec<u8>, ValueError> {
    let refused = |error| match error {
        CheckpointError::Codec { reason, .. } => codec(channel, channel.redact(reason)),
        other => other.into(),
    };
    let what = || format!("channel `{}`", channel.name());
    let version = channel.schema_version();
    in_buffer(|out| {
        match channel.value_codec() {
            Codec::MessagePack => {
                put_header(MESSAGE_PACK, version, type_name, out);
                encode_value(what, value, out).map_err(refused)?;
            }
            Codec::Bincode => {
                put_header(BINCODE, version, type_name, out);
                let mut serialize = || value.serialize(&mut bincode::Serializer::new(&mut *out, options()));
                let done = catch_panic_as(|| serialize().map_err(|error| error.to_string()), serialize_panicked);
                done.map_err(|reason| codec(channel, channel.redact(reason)))?;
            }
        }
        Ok(check_size(what, out)?)
    })
}

fn check_size(what: impl Fn() -> String, out: &[u8]) -> Result<(), CheckpointError> {
    if out.len() > VALUE_LIMIT {
        return Err(CheckpointError::TooLarge { what: what(), bytes: out.len(), limit: VALUE_LIMIT });
    }
    Ok(())
}

pub(crate) fn canon_write<S: State>(schema: &S::Schema, write: &S::Write) -> Result<Canon, ValueError> {
    let what = || format!("channel `{}`", S::channels(schema)[S::channel_of(write)].name());
    Ok(Canon::of(what, &WriteValue::<S>(schema, write))?)
}

pub(crate) fn canon_channel<S: State>(schema: &S::Schema, state: &S, at: usize) -> Result<Canon, ValueError> {
    let what = || format!("channel `{}`", S::channels(schema)[at].name());
    Ok(Canon::of(what, &ChannelValue(schema, state, at))?)
}

/// Returns the canonical form of a value that belongs to no channel.
pub(crate) fn canon(bytes: &[u8]) -> Result<Canon, ValueError> {
    let unreadable = |reason| CheckpointError::Codec { what: "a stored value".into(), reason };
    let raw = StoredValue::of(bytes).map_err(unreadable)?;
    Ok(Canon::read(raw.body).map_err(|error| unreadable(error.to_string()))?)
}

fn codec(channel: &Channel, reason: String) -> ValueError {
    CheckpointError::Codec { what: format!("channel `{}`", channel.name()), reason }.into()
}

#[cfg(test)]
mod tests {
    use serde::Serializer;

    use super::*;

    /// Encodes its text by itself while it is encoded, as a type that stores another one may.
    struct Wrapper(String);

    impl Serialize for Wrapper {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let inner = self.0.encode().map_err(serde::ser::Error::custom)?;
            serializer.serialize_bytes(&inner)
        }
    }

    struct Unserializable;

    impl Serialize for Unserializable {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("refused"))
        }
    }

    struct Panics;

    impl Serialize for Panics {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            panic!("a value that panics")
        }
    }

    fn expected_bytes(text: &str) -> Vec<u8> {
        let mut bytes = vec![];
        put_header(MESSAGE_PACK, 1, type_name::<String>(), &mut bytes);
        bytes.extend(rmp_serde::to_vec_named(text).unwrap());
        bytes
    }

    #[test]
    fn a_value_has_only_its_own_bytes() {
        let around = expected_bytes(&"x".repeat(1000)).len() - 1000;
        for length in [0, 1, 100, LARGE - around - 1, LARGE - around, LARGE, 3 * LARGE, 5] {
            let text = "x".repeat(length);
            let bytes = text.encode().unwrap();
            assert_eq!(bytes, expected_bytes(&text));
            assert!(bytes.len() >= LARGE || bytes.capacity() == bytes.len());
            assert!((text.clone(), Unserializable).encode().is_err());
            assert!((text.clone(), Panics).encode().is_err());
            let wrapped = Wrapper(text).encode().unwrap();
            assert!(wrapped.ends_with(&bytes), "{length}");
            assert!(StoredValue::of(&wrapped).is_ok_and(|value| value.type_name == type_name::<Wrapper>()));
        }
    }
}
