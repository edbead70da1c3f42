//! Format of fjall 3's journals: batches of rows, each with a checksum. Knows bytes; opens no file, writes nothing.
//!
//! A batch is a start (tag 1, number of entries, sequence number), its entries (tag 2: kind, compression, keyspace,
//! lengths, key, row; tag 4: a cleared keyspace), and an end (tag 3, xxh3 of the entries, magic number). Numbers are
//! least byte first. fjall makes a journal longer than it needs and fills it with zeros.

use std::io::{self, Read};

use xxhash_rust::xxh3::xxh3_64;

use crate::checkpoint::envelope::{Envelope, is_unwritten};

/// Length of a new journal in bytes; most of it takes no space on the disk.
pub(super) const PREALLOCATED: u64 = 64 << 20;
/// Number of bytes read at once.
const PIECE: usize = 4 << 20;
const END_MAGIC: &[u8] = b"FJL\x03";

/// The whole batches at the start of a journal, and what follows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// End of the last whole batch, in bytes from the start.
    pub(super) end: u64,
    /// Number of the newest commit in them; 0 if there is none.
    pub(super) commit: u64,
    /// Smallest sequence number that the batch after them may have.
    pub(super) next: u64,
    pub(super) rest: Rest,
}

/// Bytes after the whole batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// Nothing but zeros.
    Empty,
    /// A batch that was not finished, or is damaged.
    Torn,
    /// The same, and a whole batch after it: a crash does not leave that.
    Followed,
}

/// Reads a journal to its end. Sequence numbers grow, from `next` on; no checksum covers them.
pub(super) fn walk(mut journal: impl Read, next: u64) -> io::Result<Extent> {
    let mut extent = Extent { end: 0, commit: 0, next, rest: Rest::Empty };
    let mut bytes = vec![];
    loop {
        let length = extent.extend(&bytes);
        bytes.drain(..length);
        if is_unwritten(&bytes) {
            bytes.truncate(1); // no batch starts with a zero, so it is enough to remember that there was one
        }
        let read = (&mut journal).take(PIECE.max(bytes.len()) as u64).read_to_end(&mut bytes)?;
        if read == 0 {
            extent.rest = Rest::of(&bytes);
            return Ok(extent);
        }
    }
}

impl Extent {
    /// Adds the whole batches at the start of `bytes`, and returns their length.
    fn extend(&mut self, bytes: &[u8]) -> usize {
        let mut length = 0;
        while let Some(batch) = JournalBatch::parse(&bytes[length..]).filter(|batch| batch.sequence >= self.next) {
            length += batch.length;
            (self.commit, self.next) = (batch.commit.max(self.commit), batch.sequence.saturating_add(1));
        }
        self.end += length as u64;
        length
    }
}

impl Rest {
    fn of(bytes: &[u8]) -> Self {
        if is_unwritten(bytes) {
            return Self::Empty;
        }
        let mut starts = memchr::memchr_iter(JournalBatch::START, bytes);
        let is_followed = starts.any(|at| JournalBatch::parse(&bytes[at..]).is_some());
        if is_followed { Self::Followed } else { Self::Torn }
    }
}

struct JournalBatch {
    length: usize,
    commit: u64,
    sequence: u64,
}

impl JournalBatch {
    const START: u8 = 1;
    const ROW: u8 = 2;
    const END: u8 = 3;
    const CLEARED: u8 = 4;

    /// Reads the batch at the start of `bytes`; `None` if it is not whole.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let [Self::START] = take(&mut rest)? else { return None };
        let count = u32::from_le_bytes(*take(&mut rest)?);
        let sequence = u64::from_le_bytes(*take(&mut rest)?);
        let (entries, mut commit) = (rest, 0);
        for _ in 0..count {
            commit = take_entry(&mut rest)?.max(commit);
        }
        let sum = xxh3_64(&entries[..entries.len() - rest.len()]);
        let [Self::END] = take(&mut rest)? else { return None };
        let is_whole = u64::from_le_bytes(*take(&mut rest)?) == sum && rest.starts_with(END_MAGIC);
        is_whole.then_some(Self { length: bytes.len() - rest.len() + END_MAGIC.len(), commit, sequence })
    }
}

/// Takes an entry and returns the number of the commit that wrote its row; 0 if there is none.
fn take_entry(rest: &mut &[u8]) -> Option<u64> {
    match take(rest)? {
        [JournalBatch::ROW] => {
            take::<10>(rest)?; // kind, compression, keyspace
            let key = u16::from_le_bytes(*take(rest)?);
            take::<4>(rest)?; // length without compression
            let row = u32::from_le_bytes(*take(rest)?);
            take_slice(rest, key.into())?;
            let row = take_slice(rest, usize::try_from(row).ok()?)?;
            Some(Envelope::decode_header_unchecked(row).map_or(0, |(_, commit)| commit))
        }
        [JournalBatch::CLEARED] => take::<8>(rest).map(|_| 0),
        _ => None,
    }
}

pub(super) fn take<'a, const COUNT: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; COUNT]> {
    let (taken, left) = rest.split_first_chunk()?;
    *rest = left;
    Some(taken)
}

fn take_slice<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(count)?;
    *rest = left;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn batch(sequence: u64, rows: &[(&[u8], u64)]) -> Vec<u8> {
        let mut entries = vec![];
        for (key, commit) in rows {
            let row = Envelope { name: key, part: 0, parts: 1, commit: *commit, payload: b"value" }.seal();
            entries.extend([JournalBatch::ROW, 0, 0]);
            entries.extend(1_u64.to_le_bytes());
            entries.extend((key.len() as u16).to_le_bytes());
            entries.extend([(row.len() as u32).to_le_bytes(); 2].concat());
            entries.extend([*key, &row].concat());
        }
        let start = [&[JournalBatch::START][..], &(rows.len() as u32).to_le_bytes(), &sequence.to_le_bytes()].concat();
        [start, entries.clone(), vec![JournalBatch::END], xxh3_64(&entries).to_le_bytes().to_vec(), END_MAGIC.to_vec()]
            .concat()
    }

    fn walked(journal: &[u8]) -> (u64, u64, Rest) {
        let extent = walk(journal, 0).unwrap();
        (extent.end, extent.commit, extent.rest)
    }

    #[test]
    fn a_walk_ends_where_the_batches_do() {
        let (one, two) = (batch(1, &[(b"a", 8), (b"b", 9)]), batch(2, &[(b"c", 10)]));
        let whole = [one.clone(), two.clone()].concat();
        let end = whole.len() as u64;
        assert_eq!(walked(&[]), (0, 0, Rest::Empty));
        assert_eq!(walked(&whole), (end, 10, Rest::Empty));
        assert_eq!(walked(&[whole.clone(), vec![0; 9_000_000]].concat()), (end, 10, Rest::Empty));
        let torn = (one.len() as u64, 9, Rest::Torn);
        assert_eq!(walked(&whole[..whole.len() - 1]), torn);
        assert_eq!(walked(&[&whole[..whole.len() - 30], &[0; 99]].concat()), torn);
    }

    #[test]
    fn a_flipped_bit_before_a_whole_batch_is_no_torn_end() {
        let one = batch(1, &[(b"a", 8)]);
        for at in 0..one.len() {
            let mut damaged = [one.clone(), batch(2, &[(b"c", 10)])].concat();
            damaged[at] ^= 4;
            assert_eq!(walked(&damaged).2, Rest::Followed, "{at}");
        }
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(bytes: Vec<u8>) {
            walked(&bytes);
            walked(&[batch(1, &[(b"a", 1)]), bytes].concat());
        }
    }
}
