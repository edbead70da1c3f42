//! Framing of every row in a persistent store: a row names itself and carries a checksum, so that reads can verify it
//! and a repair can find it in a damaged file without the store's own index.
//!
//! Knows names, parts and checksums. Must not know what the payload is, or where the row is stored.
//!
//! Layout: magic (3 bytes), format, codec, length of the name, name (thread, key), part, parts, commit, length of the
//! payload (numbers in base 128, least digit first), crc32c of all that and the payload, payload.

#[cfg(feature = "_embedded")]
use super::error::CheckpointError;
use super::key::{Key, ThreadId};
#[cfg(feature = "_embedded")]
use super::key_bytes::take_item;
use super::key_bytes::{put_key, put_thread, take_key, take_thread};

const MAGIC: [u8; 3] = [0xe5, b'S', b'R'];
const FORMAT: u8 = 1;
/// Codec of a payload that is stored unchanged.
const PLAIN: u8 = 0;
const CRC_BYTES: usize = 4;

/// A row: a record, or a part of one that is too large for a single row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Envelope<'a> {
    /// Thread and key, encoded by [`name_of`].
    pub(crate) name: &'a [u8],
    /// Index of this part, from zero.
    pub(crate) part: u32,
    /// Number of parts of the record, at least one.
    pub(crate) parts: u32,
    /// Number of the commit that wrote the row; of the rows with one name, the newest is valid.
    pub(crate) commit: u64,
    /// This part of the record.
    pub(crate) payload: &'a [u8],
}

/// Returns the bytes that name a record among all threads.
pub(crate) fn name_of(thread: &ThreadId, key: &Key) -> Vec<u8> {
    let mut name = Vec::with_capacity(thread.as_str().len() + 16);
    put_thread(thread, &mut name);
    put_key(key, &mut name);
    name
}

/// Decodes the thread and key of `name`.
pub(crate) fn split_name(mut name: &[u8]) -> Option<(ThreadId, Key)> {
    let thread = take_thread(&mut name)?;
    let key = take_key(&mut name)?;
    name.is_empty().then_some((thread, key))
}

/// Returns true if the bytes are zeros, as in a part of a file that was allocated and has not been written.
#[cfg(feature = "_embedded")]
pub(crate) fn is_unwritten(bytes: &[u8]) -> bool {
    const ZEROS: [u8; 4096] = [0; 4096];
    bytes.chunks(ZEROS.len()).all(|piece| *piece == ZEROS[..piece.len()])
}

impl<'a> Envelope<'a> {
    /// Encodes the row.
    pub(crate) fn seal(&self) -> Vec<u8> {
        let mut row = Vec::with_capacity(self.name.len() + self.payload.len() + 32);
        row.extend(MAGIC);
        row.extend([FORMAT, PLAIN]);
        put_varint(self.name.len() as u64, &mut row);
        row.extend_from_slice(self.name);
        for number in [u64::from(self.part), u64::from(self.parts), self.commit, self.payload.len() as u64] {
            put_varint(number, &mut row);
        }
        let crc = crc32c::crc32c_append(crc32c::crc32c(&row), self.payload);
        row.extend(crc.to_le_bytes());
        row.extend_from_slice(self.payload);
        row
    }

    /// Returns the positions in `bytes` at which a row may start.
    #[cfg(feature = "_embedded")]
    pub(crate) fn starts(bytes: &[u8]) -> impl DoubleEndedIterator<Item = usize> + '_ {
        memchr::memchr_iter(MAGIC[0], bytes).filter(|&at| bytes[at..].starts_with(&MAGIC))
    }

    /// Returns the length of the encoded row in bytes.
    pub(crate) fn length(&self) -> usize {
        let numbers = [u64::from(self.part), u64::from(self.parts), self.commit, self.payload.len() as u64];
        let fixed = MAGIC.len() + 2 + CRC_BYTES + varint_length(self.name.len() as u64);
        fixed + self.name.len() + numbers.map(varint_length).iter().sum::<usize>() + self.payload.len()
    }

    /// Decodes a row at the start of `bytes`; more bytes may follow.
    ///
    /// # Errors
    /// The reason why it is not a valid row.
    pub(crate) fn decode_prefix(bytes: &'a [u8]) -> Result<Self, Flaw> {
        let mut rest = bytes.strip_prefix(&MAGIC).ok_or(Flaw::Damaged("it does not start like a row"))?;
        check_format(&mut rest)?;
        let row = Self::take_fields(&mut rest).ok_or(Flaw::Damaged("it is cut short"))?;
        let head = &bytes[..bytes.len() - rest.len() - CRC_BYTES - row.payload.len()];
        let stored = &bytes[head.len()..head.len() + CRC_BYTES];
        if crc32c::crc32c_append(crc32c::crc32c(head), row.payload).to_le_bytes() != stored {
            return Err(Flaw::Damaged("its checksum does not match"));
        }
        Ok(row)
    }

    /// Decodes name and commit of a row without verifying it; used for damaged rows, so neither can be trusted.
    #[cfg(feature = "_embedded")]
    pub(crate) fn decode_header_unchecked(bytes: &'a [u8]) -> Option<(&'a [u8], u64)> {
        let mut rest = bytes.strip_prefix(&MAGIC)?;
        check_format(&mut rest).ok()?;
        let length = usize::try_from(take_varint(&mut rest)?).ok()?;
        let name = take(&mut rest, length)?;
        take_varint(&mut rest)?; // part
        take_varint(&mut rest)?; // parts
        Some((name, take_varint(&mut rest)?))
    }

    /// Decodes the row that was found under `name`.
    ///
    /// # Errors
    /// [`CheckpointError::Damaged`] or [`CheckpointError::Format`], naming thread and key.
    #[cfg(feature = "_embedded")]
    pub(crate) fn open(name: &[u8], part: u32, bytes: &'a [u8]) -> Result<Self, CheckpointError> {
        let row = Self::decode_prefix(bytes).map_err(|flaw| flaw.into_error(name))?;
        if row.name != name || row.part != part || row.part >= row.parts {
            return Err(damaged_record(name, "it holds another record"));
        }
        Ok(row)
    }

    fn take_fields(rest: &mut &'a [u8]) -> Option<Self> {
        let name_len = usize::try_from(take_varint(rest)?).ok()?;
        let name = take(rest, name_len)?;
        let part = u32::try_from(take_varint(rest)?).ok()?;
        let parts = u32::try_from(take_varint(rest)?).ok()?;
        let commit = take_varint(rest)?;
        let length = usize::try_from(take_varint(rest)?).ok()?;
        take(rest, CRC_BYTES)?;
        let payload = take(rest, length)?;
        Some(Self { name, part, parts, commit, payload })
    }
}

/// Reason why bytes are not a valid row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    Damaged(&'static str),
    /// Written by a later release.
    Newer(u8),
}

#[cfg(feature = "_embedded")]
impl Flaw {
    fn into_error(self, name: &[u8]) -> CheckpointError {
        match self {
            Self::Damaged(reason) => damaged_record(name, reason),
            Self::Newer(found) => {
                CheckpointError::Format { what: describe(name).1, found: found.into(), known: FORMAT.into() }
            }
        }
    }
}

#[cfg(feature = "_embedded")]
pub(crate) fn damaged_record(name: &[u8], reason: &str) -> CheckpointError {
    let (thread, what) = describe(name);
    CheckpointError::Damaged { thread, what, reason: reason.into() }
}

#[cfg(feature = "_embedded")]
fn describe(mut name: &[u8]) -> (String, String) {
    if let Some(item) = take_item(&mut name) {
        return (String::new(), item.to_string());
    }
    match split_name(name) {
        Some((thread, key)) => (thread.to_string(), key.to_string()),
        None => (String::new(), "of unknown name".into()),
    }
}

fn check_format(rest: &mut &[u8]) -> Result<(), Flaw> {
    match take(rest, 2) {
        Some(&[FORMAT, PLAIN]) => Ok(()),
        Some(&[format, _]) if format > FORMAT => Err(Flaw::Newer(format)),
        Some(_) => Err(Flaw::Damaged("its codec is unknown")),
        None => Err(Flaw::Damaged("it is cut short")),
    }
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(count)?;
    *rest = left;
    Some(taken)
}

fn put_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn varint_length(number: u64) -> usize {
    (u64::BITS - number.leading_zeros()).div_ceil(7).max(1) as usize
}

fn take_varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..u64::BITS).step_by(7) {
        let (&byte, left) = rest.split_first()?;
        *rest = left;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::checkpoint::CheckpointId;
    use crate::checkpoint::key_bytes::tests::key;

    fn row<'a>(name: &'a [u8], payload: &'a [u8]) -> Envelope<'a> {
        Envelope { name, part: 0, parts: 1, commit: 300, payload }
    }

    #[test]
    fn overhead_is_small() {
        let name = name_of(&"essay-1".into(), &Key::Checkpoint(CheckpointId(40)));
        assert_eq!(row(&name, b"").seal().len(), 15 + name.len());
    }

    #[test]
    fn damage_names_thread_and_key() {
        let name = name_of(&"essay-1".into(), &Key::Checkpoint(CheckpointId(40)));
        let mut bytes = row(&name, b"text").seal();
        *bytes.last_mut().unwrap() ^= 1;
        let error = Envelope::open(&name, 0, &bytes).unwrap_err();
        insta::assert_snapshot!(error, @"damaged record checkpoint #40 of thread `essay-1`: its checksum does not match");
    }

    #[test]
    fn a_row_of_a_later_release_is_recognized() {
        let name = name_of(&"essay-1".into(), &Key::Head);
        let mut bytes = row(&name, b"text").seal();
        bytes[3] = 2;
        let error = Envelope::open(&name, 0, &bytes).unwrap_err();
        insta::assert_snapshot!(error, @"head has format 2; this release reads up to 1");
    }

    #[test]
    fn a_row_under_another_name_is_refused() {
        let name = name_of(&"a".into(), &Key::Head);
        let bytes = row(&name, b"text").seal();
        assert!(Envelope::open(&name_of(&"b".into(), &Key::Head), 0, &bytes).is_err());
        assert!(Envelope::open(&name, 1, &bytes).is_err());
    }

    proptest! {
        #[test]
        fn rows_can_be_carved_out_of_a_file(thread: String, key in key(), payload: Vec<u8>, after: Vec<u8>, commit: u64) {
            let name = name_of(&thread.as_str().into(), &key);
            let sealed = Envelope { commit, ..row(&name, &payload) };
            let mut bytes = sealed.seal();
            bytes.extend(after);
            let carved = Envelope::decode_prefix(&bytes).unwrap();
            prop_assert_eq!(carved.length(), sealed.seal().len());
            prop_assert_eq!(&carved, &sealed);
            prop_assert_eq!(split_name(carved.name), Some((thread.as_str().into(), key)));
        }

        #[test]
        fn rows_are_found_between_other_bytes(
            pieces in prop::collection::vec(prop_oneof![Just(MAGIC.to_vec()), prop::collection::vec(any::<u8>(), 0..6)], 0..12),
        ) {
            let bytes = pieces.concat();
            let expected: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(&MAGIC)).collect();
            prop_assert_eq!(Envelope::starts(&bytes).collect::<Vec<_>>(), expected.clone());
            let mut back: Vec<_> = Envelope::starts(&bytes).rev().collect();
            back.reverse();
            prop_assert_eq!(back, expected);
        }

        #[test]
        fn zeros_are_unwritten(length in 0_usize..10_000, written: Option<prop::sample::Index>) {
            let mut bytes = vec![0; length];
            let written = written.filter(|_| length > 0).map(|at| at.index(length));
            written.into_iter().for_each(|at| bytes[at] = 7);
            prop_assert_eq!(is_unwritten(&bytes), written.is_none());
        }

        #[test]
        fn no_single_flipped_bit_passes(payload: Vec<u8>, at: prop::sample::Index, bit in 0_u8..8) {
            let name = name_of(&"t".into(), &Key::Shape(7));
            let mut bytes = row(&name, &payload).seal();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert!(Envelope::open(&name, 0, &bytes).is_err());
        }

        #[test]
        fn random_bytes_never_panic(bytes: Vec<u8>) {
            let mut row = MAGIC.to_vec();
            row.extend([FORMAT, PLAIN]);
            row.extend(&bytes);
            prop_assert!(Envelope::decode_prefix(&row).is_err());
            prop_assert!(Envelope::decode_prefix(&bytes).is_err());
        }
    }
}
