//! The format of sled 0.34's log: segments with a header, filled with messages. Knows bytes and checksums; opens no file,
//! writes nothing, and does not know what a message says.

use std::ops::Range;

/// The size of a segment in bytes, fixed when a store is created: smaller ones lost data in one power cut of eight.
pub(super) const SEGMENT: usize = 8 << 20;
/// The size of a segment's header in bytes.
pub(super) const HEADER: usize = 20;
/// No message begins nearer to the end of its segment.
const ROOM: usize = 32;

/// The first bytes of a segment. Positions in the log grow for ever, whatever place in the file they are at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Where in the log the segment begins.
    pub(super) begin: u64,
    /// Up to where the log was on disk when the segment was begun.
    pub(super) stable: u64,
}

impl Header {
    /// Reads a header; none if it is not whole.
    pub(super) fn read(bytes: &[u8; HEADER]) -> Option<Self> {
        let (crc, rest) = bytes.split_first_chunk()?;
        let (begin, rest) = rest.split_first_chunk()?;
        let (stable, _) = rest.split_first_chunk()?;
        // Before anything is on disk, sled says -1.
        let position = |bytes: &[u8; 8]| u64::try_from(i64::from_le_bytes(*bytes) ^ i64::MAX).unwrap_or(0);
        let is_whole = crc32fast::hash(&bytes[4..]) == !u32::from_le_bytes(*crc);
        is_whole.then(|| Self { begin: position(begin), stable: position(stable) })
    }
}

/// Why no more messages follow in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It is full.
    Full,
    /// What follows is no message of it: the end of the log, or damage.
    Broken,
}

/// The messages of one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Walk {
    /// Where the last message ends, from the beginning of the segment.
    pub(super) to: usize,
    pub(super) end: End,
    /// A batch that has begun: where, and the position in the log of its last message.
    pub(super) batch: Option<(usize, u64)>,
}

/// Walks over the messages of a segment, which is the `number`-th of the log. An open batch may go on in the next one.
pub(super) fn walk(segment: &[u8], number: u64) -> Walk {
    let begin = number * SEGMENT as u64;
    let mut walk = Walk { to: HEADER, end: End::Full, batch: None };
    while walk.to <= SEGMENT - ROOM {
        let Some(message) = Message::read(segment, walk.to, number) else {
            walk.end = End::Broken;
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

/// Returns the messages of a segment up to where `walk` ended.
pub(super) fn messages(segment: &[u8], number: u64, to: usize) -> impl Iterator<Item = Message> {
    let mut at = HEADER;
    std::iter::from_fn(move || {
        let message = if at < to { Message::read(segment, at, number)? } else { return None };
        at = message.body.end;
        (message.kind != Message::CAP).then_some(message)
    })
}

/// Returns the number of the segment to which the first message after a header says it belongs.
pub(super) fn number_of(start: &[u8]) -> Option<u64> {
    Message::parse(start, HEADER).map(|(message, ..)| message.number)
}

/// One message of a segment.
pub(super) struct Message {
    kind: u8,
    number: u64,
    /// The page that it is about.
    pub(super) page: u64,
    /// Where its content is, from the beginning of the segment.
    pub(super) body: Range<usize>,
}

/// The meaning of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing that is read here.
    Other,
    /// A page is there no more.
    Free,
    /// A page that names the trees.
    Meta,
    /// A page, whole.
    Node,
    /// A change of a page.
    Link,
}

impl Message {
    /// Returns what it means; none if its content is in another file.
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

    /// Reads the message at `at`; none if it is not whole, or of another segment.
    fn read(segment: &[u8], at: usize, number: u64) -> Option<Self> {
        let (message, head, crc) = Self::parse(segment, at)?;
        let mut hash = crc32fast::Hasher::new();
        hash.update(segment.get(message.body.clone())?);
        hash.update(&segment[head]);
        (message.number == number && hash.finalize() == !crc).then_some(message)
    }

    /// Returns a message, where what stands before its body is, and its checksum.
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

/// Takes a number of one to nine bytes, as sled writes them, off the front.
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
        assert_eq!(walk(&bytes, 3), Walk { to: 44, end: End::Broken, batch: None });
        assert_eq!(number_of(&bytes), Some(3));
    }

    #[test]
    fn a_batch_that_is_not_whole_stays_open() {
        let last = (SEGMENT as u64 + 60).to_le_bytes();
        let bytes = segment(&[message(8, 1, b"page"), message(3, 1, &last), message(10, 1, b"link")]);
        assert_eq!(walk(&bytes, 1), Walk { to: 60, end: End::Broken, batch: Some((32, SEGMENT as u64 + 60)) });
        let whole = [bytes, message(10, 1, b"")].concat();
        assert_eq!(walk(&whole, 1), Walk { to: 68, end: End::Broken, batch: None });
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
