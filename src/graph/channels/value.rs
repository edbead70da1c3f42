//! User values as bytes: a small header (codec, schema version, type name), then named MessagePack or bincode.

use bincode::Options;

use super::channel::{Channel, Codec};
use super::state::State;
use crate::graph::run::error::RunError;

const MESSAGE_PACK: u8 = 1;
const BINCODE: u8 = 2;

/// The largest value a store is given, in bytes.
pub(crate) const VALUE_LIMIT: usize = 64 << 20;

fn header(channel: &Channel) -> Vec<u8> {
    let name = channel.type_name().as_bytes();
    let name = &name[..name.len().min(255)];
    let mut out = Vec::with_capacity(name.len() + 64);
    out.push(match channel.value_codec() {
        Codec::MessagePack => MESSAGE_PACK,
        Codec::Bincode => BINCODE,
    });
    out.extend(channel.schema_version().to_le_bytes());
    out.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
    out.extend(name);
    out
}

/// Encodes the value a write carries.
pub(crate) fn encode_write<S: State>(schema: &S::Schema, write: &S::Write) -> Result<Vec<u8>, RunError> {
    let channel = &S::channels(schema)[S::channel_of(write)];
    let mut out = header(channel);
    let done = match channel.value_codec() {
        Codec::MessagePack => {
            let mut to = rmp_serde::Serializer::new(&mut out).with_struct_map();
            S::encode_write(schema, write, &mut to).map_err(|e| e.to_string())
        }
        Codec::Bincode => {
            let mut to = bincode::Serializer::new(&mut out, options());
            S::encode_write(schema, write, &mut to).map_err(|e| e.to_string())
        }
    };
    finish(channel, done, out)
}

/// Encodes the value of a channel.
pub(crate) fn encode_channel<S: State>(schema: &S::Schema, state: &S, at: usize) -> Result<Vec<u8>, RunError> {
    let channel = &S::channels(schema)[at];
    let mut out = header(channel);
    let done = match channel.value_codec() {
        Codec::MessagePack => {
            let mut to = rmp_serde::Serializer::new(&mut out).with_struct_map();
            state.encode_channel(schema, at, &mut to).map_err(|e| e.to_string())
        }
        Codec::Bincode => {
            let mut to = bincode::Serializer::new(&mut out, options());
            state.encode_channel(schema, at, &mut to).map_err(|e| e.to_string())
        }
    };
    finish(channel, done, out)
}

fn finish(channel: &Channel, done: Result<(), String>, out: Vec<u8>) -> Result<Vec<u8>, RunError> {
    done.map_err(|reason| codec(channel, reason))?;
    if out.len() > VALUE_LIMIT {
        return Err(codec(channel, format!("{} bytes are more than the limit of {VALUE_LIMIT}", out.len())));
    }
    Ok(out)
}

/// Decodes a write to a channel.
pub(crate) fn decode_write<S: State>(
    schema: &S::Schema,
    at: usize,
    overwrite: bool,
    bytes: &[u8],
) -> Result<S::Write, RunError> {
    let channel = &S::channels(schema)[at];
    let (kind, body) = split(channel, bytes)?;
    match kind {
        BINCODE => {
            let mut from = bincode::Deserializer::from_slice(body, options().with_limit(limit(body)));
            S::decode_write(schema, at, overwrite, &mut from).map_err(|e| unreadable(channel, bytes, e.to_string()))
        }
        _ => {
            let mut from = rmp_serde::Deserializer::new(body);
            S::decode_write(schema, at, overwrite, &mut from).map_err(|e| unreadable(channel, bytes, e.to_string()))
        }
    }
}

/// Decodes the value of a channel in place.
pub(crate) fn decode_channel<S: State>(
    schema: &S::Schema,
    state: &mut S,
    at: usize,
    bytes: &[u8],
) -> Result<(), RunError> {
    let channel = &S::channels(schema)[at];
    let (kind, body) = split(channel, bytes)?;
    match kind {
        BINCODE => {
            let mut from = bincode::Deserializer::from_slice(body, options().with_limit(limit(body)));
            state.decode_channel(schema, at, &mut from).map_err(|e| unreadable(channel, bytes, e.to_string()))
        }
        _ => {
            let mut from = rmp_serde::Deserializer::new(body);
            state.decode_channel(schema, at, &mut from).map_err(|e| unreadable(channel, bytes, e.to_string()))
        }
    }
}

fn options() -> impl Options {
    bincode::DefaultOptions::new()
}

fn limit(body: &[u8]) -> u64 {
    body.len() as u64
}

fn split<'a>(channel: &Channel, bytes: &'a [u8]) -> Result<(u8, &'a [u8]), RunError> {
    let short = || codec(channel, "the stored value is cut short".into());
    let (&kind, rest) = bytes.split_first().ok_or_else(short)?;
    let (&name, rest) = rest.get(4..).and_then(<[u8]>::split_first).ok_or_else(short)?;
    let body = rest.get(name as usize..).ok_or_else(short)?;
    Ok((kind, body))
}

fn codec(channel: &Channel, reason: String) -> RunError {
    RunError::Codec { what: format!("channel `{}`", channel.name()), reason }
}

fn unreadable(channel: &Channel, bytes: &[u8], reason: String) -> RunError {
    let stored = bytes.get(6..6 + bytes.get(5).map_or(0, |len| *len as usize)).unwrap_or_default();
    let stored = String::from_utf8_lossy(stored);
    codec(channel, format!("stored as `{stored}`, cannot be read as `{}`: {reason}", channel.type_name()))
}
