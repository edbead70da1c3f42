//! Encodes the engine's records and the user's values, and decodes them.
//!
//! Knows the two encodings and their limits. Must not know where the bytes are stored, or what they mean. Neither
//! encoding detects a flipped bit: checksums are up to the store.

use std::cell::Cell;
use std::fmt::Display;

use bincode::Options;
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::Value;
use superstep_base::panics::{catch_panic, serialize_panicked};

use super::depth::DepthLimited;
use super::error::CheckpointError;
use super::key::ThreadId;
use super::message_pack::ValueDeserializer;

/// Newest format of engine records; written by this release.
pub const FORMAT: u8 = 7;

/// Number of lists and optional values that records of formats 1 to 6 may lack at their end.
const MISSING_LISTS: [usize; 6] = [7, 6, 5, 3, 2, 1];

/// Maximum nesting of arrays and maps in a user's value when it is written; as in `serde_json`.
const ENCODE_DEPTH: usize = 128;

/// Maximum nesting when reading, where a variant with fields counts twice. Every written value must stay readable.
pub(super) const DECODE_DEPTH: usize = 4 * ENCODE_DEPTH;

/// Encodes an engine record: one byte of format, then bincode.
///
/// # Errors
/// [`CheckpointError::Codec`] if the type cannot be encoded this way (`flatten`, untagged enums).
pub fn encode_record<T: Serialize>(record: &T) -> Result<Vec<u8>, CheckpointError> {
    let mut bytes = Vec::with_capacity(64);
    bytes.push(FORMAT);
    bincode_options().serialize_into(&mut bytes, record).map_err(|error| codec("record", &error))?;
    Ok(bytes)
}

/// Encodes a changed record in the format that it is stored in: what later formats added stays unknown.
///
/// # Errors
/// As [`encode_record`].
pub(crate) fn encode_again<T: Serialize>(stored: &[u8], record: &T) -> Result<Vec<u8>, CheckpointError> {
    let mut bytes = encode_record(record)?;
    if let (Some(format), Some(stored)) = (bytes.first_mut(), stored.first()) {
        *format = *stored;
    }
    Ok(bytes)
}

/// Decodes an engine record; `thread` and `what` name it in errors.
///
/// # Errors
/// [`CheckpointError::Format`] if a later release wrote it, [`CheckpointError::Damaged`] if it cannot be read.
pub fn decode_record<T: DeserializeOwned>(
    thread: &ThreadId,
    what: impl Display,
    bytes: &[u8],
) -> Result<T, CheckpointError> {
    match bytes.split_first() {
        Some((&FORMAT, body)) => {
            decode_body(body).map_err(|error| CheckpointError::damaged_record(thread, what, error))
        }
        Some((&found, _)) if found > FORMAT => Err(newer(what, found)),
        Some((&found, body)) => match usize::from(found).checked_sub(1).and_then(|at| MISSING_LISTS.get(at)) {
            Some(&lists) => {
                decode_older(body, lists).map_err(|error| CheckpointError::damaged_record(thread, what, error))
            }
            None => Err(CheckpointError::damaged_record(thread, what, "it has format 0")),
        },
        None => Err(CheckpointError::damaged_record(thread, what, "it is empty")),
    }
}

/// Appends a user's value to `bytes` as named MessagePack; `what` names it in errors.
///
/// # Errors
/// [`CheckpointError::Codec`] if serialization fails, [`CheckpointError::TooDeep`] if it nests deeper than can be read
/// back.
pub(crate) fn encode_value<T: Serialize + ?Sized>(
    what: impl FnOnce() -> String,
    value: &T,
    bytes: &mut Vec<u8>,
) -> Result<(), CheckpointError> {
    let exceeded = Cell::new(false);
    let shallow = DepthLimited { value, levels: ENCODE_DEPTH, exceeded: &exceeded };
    let done = catch_panic(|| shallow.serialize(&mut rmp_serde::Serializer::new(bytes).with_struct_map()));
    match done {
        _ if exceeded.get() => Err(CheckpointError::TooDeep { what: what(), limit: ENCODE_DEPTH }),
        Err(panic) => Err(codec(&what(), &serialize_panicked(panic))),
        Ok(Err(error)) => Err(codec(&what(), &error)),
        Ok(Ok(())) => Ok(()),
    }
}

/// Returns a reader of a user's value.
pub(crate) fn value_deserializer(bytes: &[u8]) -> ValueDeserializer<'_> {
    ValueDeserializer::new(bytes, DECODE_DEPTH)
}

/// Reads JSON as a value of a type.
///
/// # Errors
/// The reason why it is none.
pub(crate) fn decode_json<T: DeserializeOwned>(json: &Value) -> Result<T, String> {
    read_json(json, |from| T::deserialize(from))
}

/// Gives a reader JSON in the form in which other values are stored, so that no type is compiled for both.
///
/// # Errors
/// As [`decode_json`].
pub(crate) fn read_json<T>(
    json: &Value,
    read: impl FnOnce(&mut ValueDeserializer<'_>) -> Result<T, rmp_serde::decode::Error>,
) -> Result<T, String> {
    let bytes = rmp_serde::to_vec(&JsonValue(json)).map_err(|error| error.to_string())?;
    // serde's name for the null of JSON.
    let reason =
        |error: rmp_serde::decode::Error| error.to_string().replace("invalid type: unit value", "invalid type: null");
    read(&mut value_deserializer(&bytes).with_json()).map_err(reason)
}

/// JSON with plain numbers, however `serde_json` keeps them.
struct JsonValue<'a>(&'a Value);

impl Serialize for JsonValue<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Null => out.serialize_unit(),
            Value::Bool(value) => out.serialize_bool(*value),
            Value::String(text) => out.serialize_str(text),
            Value::Array(items) => out.collect_seq(items.iter().map(JsonValue)),
            Value::Object(fields) => out.collect_map(fields.iter().map(|(name, value)| (name, JsonValue(value)))),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => out.serialize_u64(number),
                (None, Some(number)) => out.serialize_i64(number),
                (None, None) => out.serialize_f64(number.as_f64().unwrap_or(f64::NAN)),
            },
        }
    }
}

fn decode_body<T: DeserializeOwned>(body: &[u8]) -> bincode::Result<T> {
    bincode_options().with_limit(body.len() as u64).deserialize(body)
}

/// Decodes a record of an older format; up to `lists` lists that were added at its end since are empty.
fn decode_older<T: DeserializeOwned>(body: &[u8], lists: usize) -> bincode::Result<T> {
    const EMPTY_LIST: u8 = 0;
    let with = |lists: usize| decode_body(&[body, &vec![EMPTY_LIST; lists]].concat());
    decode_body(body).or_else(|error| (1..=lists).find_map(|lists| with(lists).ok()).ok_or(error))
}

fn bincode_options() -> impl Options {
    bincode::DefaultOptions::new().with_varint_encoding().with_little_endian().reject_trailing_bytes()
}

fn codec(what: &str, reason: &dyn Display) -> CheckpointError {
    CheckpointError::Codec { what: what.into(), reason: reason.to_string() }
}

fn newer(what: impl Display, found: u8) -> CheckpointError {
    CheckpointError::Format { what: what.to_string(), found: found.into(), known: FORMAT.into() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;

    fn encode_value<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, CheckpointError> {
        let mut bytes = vec![];
        super::encode_value(|| "value".into(), value, &mut bytes).map(|()| bytes)
    }

    fn decode_value<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, rmp_serde::decode::Error> {
        T::deserialize(&mut value_deserializer(bytes))
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Old {
        name: String,
        rounds: u32,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct New {
        rounds: u64,
        name: String,
        #[serde(default)]
        notes: Vec<String>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Nested {
        inner: Vec<Nested>,
    }

    fn nested(depth: usize) -> Nested {
        (0..depth).fold(Nested { inner: vec![] }, |inner, _| Nested { inner: vec![inner] })
    }

    fn thread() -> ThreadId {
        "essay-1".into()
    }

    #[test]
    fn record_of_a_newer_release_is_named() {
        let error = decode_record::<u64>(&thread(), "checkpoint #4", &[FORMAT + 1, 7]).unwrap_err();
        assert_eq!(error.to_string(), "checkpoint #4 has format 8; this release reads up to 7");
    }

    #[rstest::rstest]
    #[case::empty(&[])]
    #[case::format_zero(&[0, 1])]
    #[case::cut(&[FORMAT, 251])]
    #[case::trailing(&[FORMAT, 1, 1])]
    fn unreadable_record_is_damaged(#[case] bytes: &[u8]) {
        let error = decode_record::<u64>(&thread(), "checkpoint #4", bytes).unwrap_err();
        assert!(error.to_string().starts_with("damaged record checkpoint #4 of thread `essay-1`"), "{error}");
    }

    #[test]
    fn record_that_claims_a_huge_length_is_refused() {
        let mut bytes = vec![FORMAT, 253];
        bytes.extend(u64::MAX.to_le_bytes());
        assert!(decode_record::<String>(&thread(), "head", &bytes).is_err());
        assert!(decode_record::<Vec<u64>>(&thread(), "head", &bytes).is_err());
    }

    #[test]
    fn value_survives_a_changed_struct() {
        let bytes = encode_value(&Old { name: "tides".into(), rounds: 3 }).unwrap();
        let new: New = decode_value(&bytes).unwrap();
        assert_eq!(new, New { rounds: 3, name: "tides".into(), notes: vec![] });
    }

    #[test]
    fn hostile_depth_is_an_error_and_not_a_stack_overflow() {
        let bytes = vec![0x91; 2_000_000];
        assert!(decode_value::<serde_json::Value>(&bytes).is_err());
        assert!(encode_value(&nested(1_000)).is_err());
    }

    proptest! {
        #[test]
        fn records_round_trip(record: (u64, Option<String>, Vec<(u32, bool)>)) {
            let bytes = encode_record(&record).unwrap();
            prop_assert_eq!(decode_record::<(u64, Option<String>, Vec<(u32, bool)>)>(&thread(), "x", &bytes).unwrap(), record);
        }

        #[test]
        fn values_round_trip(value: BTreeMap<String, (i64, Vec<u8>)>) {
            let bytes = encode_value(&value).unwrap();
            prop_assert_eq!(decode_value::<BTreeMap<String, (i64, Vec<u8>)>>(&bytes).unwrap(), value);
        }

        #[test]
        fn whatever_encodes_decodes(depth in 0_usize..200) {
            if let Ok(bytes) = encode_value(&nested(depth)) {
                prop_assert_eq!(decode_value::<Nested>(&bytes).unwrap(), nested(depth));
            }
        }

        #[test]
        fn json_round_trips(text: String, number: i64, flag: bool) {
            let value = json!({ "a": [text, number, { "b": flag, "c": null }] });
            let bytes = encode_value(&value).unwrap();
            prop_assert_eq!(decode_value::<serde_json::Value>(&bytes).unwrap(), value);
        }

        #[test]
        fn random_bytes_never_panic(bytes: Vec<u8>) {
            let _ = decode_value::<serde_json::Value>(&bytes);
            let _ = decode_value::<New>(&bytes);
            let _ = decode_record::<(u64, Option<String>, Vec<(u32, bool)>)>(&thread(), "x", &bytes);
        }
    }
}
