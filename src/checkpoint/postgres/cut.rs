//! Names of threads and keys of records as they are indexed: an index row holds at most 2,704 bytes, so longer ones are cut, and a
//! hash tells those apart that begin alike. Knows bytes only.

use ring::digest::{SHA256, digest};

use crate::checkpoint::{Key, ThreadId, key_bytes};

/// The number of bytes at which a name is cut. Only a cut name has that many in its start.
const START: usize = 2_000;

/// A name in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) start: Vec<u8>,
    /// SHA-256 of all bytes; empty if nothing was cut.
    pub(super) hash: Vec<u8>,
    pub(super) rest: Vec<u8>,
}

impl Cut {
    pub(super) fn new(mut bytes: Vec<u8>) -> Self {
        if bytes.len() < START {
            return Self { start: bytes, hash: vec![], rest: vec![] };
        }
        let hash = digest(&SHA256, &bytes).as_ref().to_vec();
        let rest = bytes.split_off(START);
        Self { start: bytes, hash, rest }
    }

    pub(super) fn key(key: &Key) -> Self {
        Self::new(key_bytes(key))
    }

    pub(super) fn is_long(&self) -> bool {
        !self.hash.is_empty()
    }
}

/// The name of a thread in parts, as statements take it.
#[derive(Clone, Debug)]
pub(super) struct CutName {
    pub(super) length: i32,
    pub(super) cut: Cut,
}

impl CutName {
    pub(super) fn new(thread: &ThreadId) -> Self {
        let name = thread.as_str();
        Self { length: i32::try_from(name.len()).unwrap_or(i32::MAX), cut: Cut::new(name.as_bytes().to_vec()) }
    }
}

/// Returns a text that a column of text can hold: U+0000 as `\0`.
pub(super) fn readable(text: &str) -> String {
    text.replace('\0', "\\0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_names_are_cut() {
        let (short, long) = (Cut::new(vec![7; START - 1]), Cut::new(vec![7; START]));
        assert_eq!((short.is_long(), short.start.len()), (false, START - 1));
        assert_eq!((long.is_long(), long.start.len(), long.rest.len()), (true, START, 0));
        assert_ne!(Cut::new(vec![7; START + 1]).hash, long.hash);
    }
}
