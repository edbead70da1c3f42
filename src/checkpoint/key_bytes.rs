//! Encodes keys as bytes that sort like the keys, for checkpointers whose backend only knows bytes.
//!
//! Knows every variant of [`Key`]. Must not know who stores the bytes. Three properties hold: within a thread the order
//! of the bytes is the order of the keys; no key is a prefix of another; and no key contains the byte 0xFF (a store
//! that seeks a predecessor by appending 0xFF bytes, as sled does, relies on that). The encoding is part of the store
//! format: it changes only together with [`FORMAT`](super::FORMAT).
//!
//! ```
//! use superstep::checkpoint::{CheckpointId, Key, key_bytes, key_from_bytes};
//!
//! let (first, second) = (Key::Checkpoint(CheckpointId(1)), Key::Checkpoint(CheckpointId(300)));
//! assert!(key_bytes(&first) < key_bytes(&second));
//! assert_eq!(key_from_bytes(&key_bytes(&second)), Some(second));
//! ```
//!
//! A number is its count of base-128 digits, then the digits, greatest first. A text ends with 0 0; a zero in it is 0
//! 1.

#[cfg(feature = "_embedded")]
use super::key::ItemKey;
use super::key::{CheckpointId, Key, RowId, ThreadId};

mod tag {
    pub(super) const HEAD: u8 = 1;
    pub(super) const ABOUT: u8 = 2;
    pub(super) const TAG: u8 = 3;
    pub(super) const SHAPE: u8 = 4;
    pub(super) const CHECKPOINT: u8 = 5;
    pub(super) const NESTED: u8 = 6;
    pub(super) const TASK: u8 = 7;
    pub(super) const CHILD: u8 = 8;
    pub(super) const ROW: u8 = 9;
    pub(super) const LOG: u8 = 10;
    pub(super) const EFFECT: u8 = 11;
    pub(super) const EVENT: u8 = 12;
    pub(super) const SIGNAL: u8 = 13;
}

/// Encodes a key.
pub fn key_bytes(key: &Key) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_key(key, &mut bytes);
    bytes
}

/// Decodes a key that [`key_bytes()`] encoded; `None` if the bytes are not a key.
pub fn key_from_bytes(mut bytes: &[u8]) -> Option<Key> {
    take_key(&mut bytes).filter(|_| bytes.is_empty())
}

/// Appends the name of a thread: its length, then its bytes, so that keys of different threads never interleave.
pub(crate) fn put_thread(thread: &ThreadId, out: &mut Vec<u8>) {
    put_number(thread.as_str().len() as u64, out);
    out.extend_from_slice(thread.as_str().as_bytes());
}

/// Takes the name of a thread from the front of `bytes`.
pub(crate) fn take_thread(bytes: &mut &[u8]) -> Option<ThreadId> {
    let length = usize::try_from(take_number(bytes)?).ok()?;
    let (name, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(ThreadId::from(std::str::from_utf8(name).ok()?))
}

/// First byte of the names of items: no name of a thread begins with it, as that would be too long.
#[cfg(feature = "_embedded")]
pub(super) const ITEM: u8 = 0x7e;

/// Appends the name of an item; the names are ordered like items.
#[cfg(feature = "_embedded")]
pub(super) fn put_item(item: &ItemKey, out: &mut Vec<u8>) {
    out.push(ITEM);
    put_text(&item.namespace, out);
    put_text(&item.key, out);
}

/// Takes the name of an item from the front of `bytes`.
#[cfg(feature = "_embedded")]
pub(super) fn take_item(bytes: &mut &[u8]) -> Option<ItemKey> {
    *bytes = bytes.strip_prefix(&[ITEM])?;
    Some(ItemKey::new(take_text(bytes)?, take_text(bytes)?))
}

/// Appends a key. In a store with all threads in one table, the name of the thread precedes it ([`put_thread`]).
pub(crate) fn put_key(key: &Key, out: &mut Vec<u8>) {
    match key {
        Key::Head => out.push(tag::HEAD),
        Key::About => out.push(tag::ABOUT),
        Key::Tag(name) => {
            out.push(tag::TAG);
            put_text(name, out);
        }
        Key::Shape(fingerprint) => put_numbers(tag::SHAPE, [*fingerprint], out),
        Key::Checkpoint(id) => put_numbers(tag::CHECKPOINT, [id.0], out),
        Key::Nested(id) => put_numbers(tag::NESTED, [id.0], out),
        Key::Task { checkpoint, task } => put_numbers(tag::TASK, [checkpoint.0, u64::from(*task)], out),
        Key::Child { checkpoint, task, call } => {
            put_numbers(tag::CHILD, [checkpoint.0, u64::from(*task), u64::from(*call)], out);
        }
        Key::Row(row) => put_numbers(tag::ROW, row_numbers(row), out),
        Key::Log { channel, row } => {
            out.push(tag::LOG);
            put_text(channel, out);
            put_row(row, out);
        }
        Key::Effect { checkpoint, task, key } => {
            put_numbers(tag::EFFECT, [checkpoint.0, u64::from(*task)], out);
            put_text(key, out);
        }
        Key::Event { checkpoint, number } => put_numbers(tag::EVENT, [checkpoint.0, *number], out),
        Key::Signal { order, id } => put_numbers(tag::SIGNAL, [*order, *id], out),
    }
}

/// Takes a key from the front of `bytes`; `None` if there is no key.
pub(crate) fn take_key(bytes: &mut &[u8]) -> Option<Key> {
    let (&tag, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(match tag {
        tag::HEAD => Key::Head,
        tag::ABOUT => Key::About,
        tag::TAG => Key::Tag(take_text(bytes)?),
        tag::SHAPE => Key::Shape(take_number(bytes)?),
        tag::CHECKPOINT => Key::Checkpoint(take_checkpoint(bytes)?),
        tag::NESTED => Key::Nested(take_checkpoint(bytes)?),
        tag::TASK => Key::Task { checkpoint: take_checkpoint(bytes)?, task: take_u32(bytes)? },
        tag::CHILD => {
            Key::Child { checkpoint: take_checkpoint(bytes)?, task: take_u32(bytes)?, call: take_u32(bytes)? }
        }
        tag::ROW => Key::Row(take_row(bytes)?),
        tag::LOG => Key::Log { channel: take_text(bytes)?, row: take_row(bytes)? },
        tag::EFFECT => {
            Key::Effect { checkpoint: take_checkpoint(bytes)?, task: take_u32(bytes)?, key: take_text(bytes)? }
        }
        tag::EVENT => Key::Event { checkpoint: take_checkpoint(bytes)?, number: take_number(bytes)? },
        tag::SIGNAL => Key::Signal { order: take_number(bytes)?, id: take_number(bytes)? },
        _ => return None,
    })
}

/// Appends a number so that greater numbers sort later.
pub(crate) fn put_number(number: u64, out: &mut Vec<u8>) {
    let digits = (u64::BITS - number.leading_zeros()).div_ceil(7);
    out.push(digits as u8);
    out.extend((0..digits).rev().map(|digit| (number >> (7 * digit)) as u8 & 0x7f));
}

/// Takes a number from the front of `bytes`.
pub(crate) fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let (&count, rest) = bytes.split_first()?;
    let (digits, rest) = rest.split_at_checked(usize::from(count))?;
    *bytes = rest;
    digits.iter().try_fold(0_u64, |number, &digit| Some(number.checked_mul(128)? | u64::from(digit)))
}

fn put_numbers<const N: usize>(tag: u8, numbers: [u64; N], out: &mut Vec<u8>) {
    out.push(tag);
    put_all(numbers, out);
}

fn put_all<const N: usize>(numbers: [u64; N], out: &mut Vec<u8>) {
    for number in numbers {
        put_number(number, out);
    }
}

fn row_numbers(row: &RowId) -> [u64; 3] {
    [row.checkpoint.0, u64::from(row.task), u64::from(row.slot)]
}

/// Appends the position of a value.
pub(super) fn put_row(row: &RowId, out: &mut Vec<u8>) {
    put_all(row_numbers(row), out);
}

/// Takes the position of a value from the front of `bytes`.
pub(super) fn take_row(bytes: &mut &[u8]) -> Option<RowId> {
    Some(RowId { checkpoint: take_checkpoint(bytes)?, task: take_u32(bytes)?, slot: take_u32(bytes)? })
}

fn take_checkpoint(bytes: &mut &[u8]) -> Option<CheckpointId> {
    take_number(bytes).map(CheckpointId)
}

fn take_u32(bytes: &mut &[u8]) -> Option<u32> {
    u32::try_from(take_number(bytes)?).ok()
}

fn put_text(text: &str, out: &mut Vec<u8>) {
    for &byte in text.as_bytes() {
        out.push(byte);
        if byte == 0 {
            out.push(1);
        }
    }
    out.extend([0, 0]);
}

fn take_text(bytes: &mut &[u8]) -> Option<String> {
    let mut text = Vec::new();
    loop {
        let (byte, rest) = match **bytes {
            [0, 0, ref rest @ ..] => {
                *bytes = rest;
                return String::from_utf8(text).ok();
            }
            [0, 1, ref rest @ ..] => (0, rest),
            [0, ..] | [] => return None,
            [byte, ref rest @ ..] => (byte, rest),
        };
        text.push(byte);
        *bytes = rest;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number() -> impl Strategy<Value = u64> {
        prop_oneof![0_u64..4, 120_u64..140, Just(u64::MAX), any::<u64>()]
    }

    fn small() -> impl Strategy<Value = u32> {
        prop_oneof![0_u32..4, Just(RowId::REDUCED), Just(RowId::ANSWERS), any::<u32>()]
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof!["[a-b\0\u{1}]{0,4}", any::<String>()]
    }

    fn row() -> impl Strategy<Value = RowId> {
        (number(), small(), small()).prop_map(|(id, task, slot)| RowId { checkpoint: CheckpointId(id), task, slot })
    }

    pub(crate) fn key() -> impl Strategy<Value = Key> {
        prop_oneof![
            Just(Key::Head),
            Just(Key::About),
            text().prop_map(Key::Tag),
            number().prop_map(Key::Shape),
            number().prop_map(|id| Key::Checkpoint(CheckpointId(id))),
            number().prop_map(|id| Key::Nested(CheckpointId(id))),
            (number(), small()).prop_map(|(id, task)| Key::Task { checkpoint: CheckpointId(id), task }),
            (number(), small(), small()).prop_map(|(id, task, call)| Key::Child {
                checkpoint: CheckpointId(id),
                task,
                call
            }),
            row().prop_map(Key::Row),
            (text(), row()).prop_map(|(channel, row)| Key::Log { channel, row }),
            (number(), small(), text()).prop_map(|(id, task, key)| Key::Effect {
                checkpoint: CheckpointId(id),
                task,
                key
            }),
            (number(), number()).prop_map(|(id, number)| Key::Event { checkpoint: CheckpointId(id), number }),
            (number(), number()).prop_map(|(order, id)| Key::Signal { order, id }),
        ]
    }

    fn bytes_of(key: &Key) -> Vec<u8> {
        let mut out = Vec::new();
        put_key(key, &mut out);
        out
    }

    proptest! {
        #[test]
        fn keys_round_trip_and_leave_the_rest(key in key(), rest: Vec<u8>) {
            let mut bytes = bytes_of(&key);
            bytes.extend(&rest);
            let mut left = &bytes[..];
            prop_assert_eq!(take_key(&mut left), Some(key));
            prop_assert_eq!(left, rest);
        }

        #[test]
        fn whole_keys_round_trip(key in key(), rest in proptest::collection::vec(any::<u8>(), 1..4)) {
            let bytes = key_bytes(&key);
            prop_assert_eq!(key_from_bytes(&[&bytes[..], &rest].concat()), None);
            prop_assert_eq!(key_from_bytes(&bytes), Some(key));
        }

        #[test]
        fn bytes_sort_as_keys_do(a in key(), b in key()) {
            prop_assert_eq!(bytes_of(&a).cmp(&bytes_of(&b)), a.cmp(&b));
        }

        #[test]
        fn no_key_begins_another_and_none_holds_ff(a in key(), b in key()) {
            prop_assert!(a == b || !bytes_of(&b).starts_with(&bytes_of(&a)));
            prop_assert!(!bytes_of(&a).contains(&0xff));
        }

        #[test]
        fn threads_sort_by_length_and_name(a in text(), b in text()) {
            let bytes = |name: &str| { let mut out = Vec::new(); put_thread(&name.into(), &mut out); out };
            prop_assert_eq!(bytes(&a).cmp(&bytes(&b)), (a.len(), &a).cmp(&(b.len(), &b)));
            prop_assert_eq!(take_thread(&mut &bytes(&a)[..]), Some(a.as_str().into()));
        }

        #[test]
        fn random_bytes_never_panic(bytes: Vec<u8>) {
            let _ = take_key(&mut &bytes[..]);
            let _ = take_thread(&mut &bytes[..]);
        }
    }
}
