//! Format of sled 0.34's log: segments with a header, filled with messages. Knows bytes and checksums; opens no file,
//! writes nothing, and does not interpret messages.

use std::ops::Range;

/// Size of a segment in bytes, fixed when a store is created: smaller ones lost data in one of eight power cuts.
pub(super) const SEGMENT: usize = 8 << 20;
/// Size of a segment's header in bytes.
pub(super) const HEADER: usize = 20;
/// Minimum space for a message at the end of a segment.
pub(super) const ROOM: usize = 32;

/// Header of a segment. Positions in the log only grow, independent of the offset in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Position of the segment in the log.
    pub(super) begin: u64,
    /// Position up to which the log was on disk when the segment was started.
    pub(super) stable: u64,
}

impl Header {
    /// Reads a header; `None` if its checksum is wrong.
    pub(super) fn parse(bytes: &[u8; HEADER]) -> Option<Self> {
        let (crc, rest) = bytes.split_first_chunk()?;
        let (begin, rest) = rest.split_first_chunk()?;
        let (stable, _) = rest.split_first_chunk()?;
        // Before anything is on disk, sled stores -1.
        let position = |bytes: &[u8; 8]| u64::try_from(i64::from_le_bytes(*bytes) ^ i64::MAX).unwrap_or(0);
        let is_whole = crc32fast::hash(&bytes[4..]) == !u32::from_le_bytes(*crc);
        is_whole.then(|| Self { begin: position(begin), stable: position(stable) })
    }
}

/// Reason why a segment has no more messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SegmentEnd {
    /// The segment is full.
    Full,
    /// The next bytes are not one of its messages: the end of the log, or damage.
    Broken,
}

/// Extent of the intact messages of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentExtent {
    /// End of the last message, from the start of the segment.
    pub(super) to: usize,
    pub(super) end: SegmentEnd,
    /// Start of an incomplete batch, and the position in the log of its last message.
    pub(super) batch: Option<(usize, u64)>,
}

/// Walks over the messages of segment `number` of the log. An incomplete batch may continue in the next segment.
pub(super) fn walk(segment: &[u8], number: u64) -> SegmentExtent {
    let begin = number * SEGMENT as u64;
    let mut walk = SegmentExtent { to: HEADER, end: SegmentEnd::Full, batch: None };
    while walk.to <= SEGMENT - ROOM {
        let Some(message) = Message::parse_verified(segment, walk.to, number) else {
            walk.end = SegmentEnd::Broken;
            break;
        };
        if message.kind == Message::CAP {
            break;
        }
        if let Some(last) = message.batch_to(segment) {
            walk.batch = Some((walk.to, last));
        }
        walk.to = message.body.end;
        walk.batch = walk.batch.filter(|(_, last)| begin + walk.to as u64 <= *last);
    }
    walk
}

/// Returns the messages of a segment up to `to`.
pub(super) fn messages(segment: &[u8], number: u64, to: usize) -> impl Iterator<Item = Message> {
    let mut at = HEADER;
    std::iter::from_fn(move || {
        let message = if at < to { Message::parse_verified(segment, at, number)? } else { return None };
        at = message.body.end;
        (message.kind != Message::CAP).then_some(message)
    })
}

/// Returns the segment number stored in the first message after a header.
pub(super) fn number_of(start: &[u8]) -> Option<u64> {
    Message::parse(start, HEADER).map(|(message, ..)| message.number)
}

/// A message of a segment.
pub(super) struct Message {
    kind: u8,
    number: u64,
    /// Page that it changes.
    pub(super) page: u64,
    /// Range of its content, from the start of the segment.
    pub(super) body: Range<usize>,
}

/// Kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Ignored here.
    Other,
    /// A page was freed.
    Free,
    /// A page with the names of the trees.
    Meta,
    /// A full page.
    Node,
    /// A change of a page.
    Link,
}

impl Message {
    /// Returns its kind; `None` if its content is in another file.
    pub(super) fn kind(&self) -> Option<Kind> {
        match self.kind {
            4 => Some(Kind::Free),
            6 => Some(Kind::Meta),
            8 => Some(Kind::Node),
            10 => Some(Kind::Link),
            7 | 9 | 11 => None,
            _ => Some(Kind::Other),
        }
    }

    const CAP: u8 = 2;
    const BATCH: u8 = 3;
    const KINDS: Range<u8> = 1..12;

    /// Reads the message at `at`; `None` if its checksum is wrong or it belongs to another segment.
    fn parse_verified(segment: &[u8], at: usize, number: u64) -> Option<Self> {
        let (message, head, crc) = Self::parse(segment, at)?;
        let mut hash = crc32fast::Hasher::new();
        hash.update(segment.get(message.body.clone())?);
        hash.update(&segment[head]);
        (message.number == number && hash.finalize() == !crc).then_some(message)
    }

    /// Parses a message; returns it with the range of its header, and its checksum.
    fn parse(segment: &[u8], at: usize) -> Option<(Self, Range<usize>, u32)> {
        let (crc, mut rest) = segment.get(at..)?.split_first_chunk()?;
        let kind = *rest.split_off_first()?;
        let length = usize::try_from(take_number(&mut rest)?).ok()?;
        let number = take_number(&mut rest)?;
        let page = take_number(&mut rest)?;
        let start = segment.len() - rest.len();
        let body = start..start.checked_add(length)?;
        let is_possible = Self::KINDS.contains(&kind) && body.end <= SEGMENT;
        is_possible.then(|| (Self { kind, number, page, body }, at + 4..start, u32::from_le_bytes(*crc)))
    }

    fn batch_to(&self, segment: &[u8]) -> Option<u64> {
        let last = segment.get(self.body.clone())?.first_chunk()?;
        (self.kind == Self::BATCH).then(|| u64::from_le_bytes(*last))
    }
}

/// Takes a number of one to nine bytes in sled's encoding.
pub(super) fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let first = *rest.split_off_first()?;
    let mut next = || rest.split_off_first().copied().map(u64::from);
    Some(match first {
        0..=240 => first.into(),
        241..=248 => 240 + 256 * (u64::from(first) - 241) + next()?,
        249 => 2288 + 256 * next()? + next()?,
        250..=255 => (0..u32::from(first) - 247).try_fold(0, |sum, byte| Some(sum | next()? << (8 * byte)))?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(kind: u8, number: u8, body: &[u8]) -> Vec<u8> {
        let head = [&[kind, u8::try_from(body.len()).unwrap(), number, 7], body].concat();
        let mut hash = crc32fast::Hasher::new();
        hash.update(body);
        hash.update(&head[..4]);
        [&(!hash.finalize()).to_le_bytes()[..], &head].concat()
    }

    fn segment(messages: &[Vec<u8>]) -> Vec<u8> {
        [vec![0; HEADER], messages.concat()].concat()
    }

    #[test]
    fn a_walk_ends_where_the_log_does() {
        let bytes = segment(&[message(8, 3, b"page"), message(10, 3, b"link"), message(10, 2, b"an older one")]);
        assert_eq!(walk(&bytes, 3), SegmentExtent { to: 44, end: SegmentEnd::Broken, batch: None });
        assert_eq!(number_of(&bytes), Some(3));
    }

    #[test]
    fn a_batch_that_is_not_whole_stays_open() {
        let last = (SEGMENT as u64 + 60).to_le_bytes();
        let bytes = segment(&[message(8, 1, b"page"), message(3, 1, &last), message(10, 1, b"link")]);
        assert_eq!(
            walk(&bytes, 1),
            SegmentExtent { to: 60, end: SegmentEnd::Broken, batch: Some((32, SEGMENT as u64 + 60)) }
        );
        let whole = [bytes, message(10, 1, b"")].concat();
        assert_eq!(walk(&whole, 1), SegmentExtent { to: 68, end: SegmentEnd::Broken, batch: None });
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(bytes: Vec<u8>, number in 0_u64..3) {
            walk(&bytes, number);
            walk(&segment(std::slice::from_ref(&bytes)), number);
            number_of(&bytes);
        }
    }
}
