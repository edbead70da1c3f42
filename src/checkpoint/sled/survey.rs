//! Checks sled's log before sled opens it. Knows the files, and the number of the newest acknowledged commit; writes
//! nothing.
//!
//! sled takes damage in its newest segments for the torn end of its log and overwrites all that follows; in older
//! segments it skips to the next one. Both happen silently. So a store is opened only if its log is intact up to the
//! newest acknowledged commit: a damaged one is not modified, so that it can be repaired.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::segment::{HEADER, Header, Message, ROOM, SEGMENT, SegmentEnd, SegmentExtent, messages, number_of, walk};
use crate::checkpoint::CheckpointError;
use crate::checkpoint::embedded::files::{self, damaged_store, io_at};
use crate::checkpoint::embedded::rows::STORE;
use crate::checkpoint::envelope::{Envelope, is_unwritten};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Number of bytes of a newest segment that are read first.
const PIECE: usize = 1 << 20;
/// Start of the names of snapshots.
const SNAPSHOT: &str = "snap.";

/// Checks that the log of a store is intact up to the newest acknowledged commit, if that is known.
///
/// # Errors
/// [`CheckpointError::DamagedStore`] if it is not; [`CheckpointError::Io`] if it cannot be read.
pub(super) fn check(store: &Path, acknowledged: Option<u64>) -> Result<()> {
    let path = store.join("db");
    if acknowledged.is_none() && !path.exists() {
        return Ok(());
    }
    let since = newest_snapshot(store)?;
    let file = match files::open_to_read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(damaged_store(store, "its file `db` is missing"));
        }
        opened => io_at(&path, "open the file", opened)?,
    };
    let mut log = Log { file, buffer: vec![], since: since / SEGMENT as u64 };
    match log.check(acknowledged) {
        Ok(()) => Ok(()),
        Err(SurveyError::Flaw(flaw)) => Err(damaged_store(store, &flaw)),
        Err(SurveyError::Io(error)) => io_at(&path, "read the file", Err(error)),
    }
}

/// Reads the log of a store, message by message in the order of writing, and returns its file. `take` gets a segment,
/// its offset in the file, and one of its messages, and returns `None` if it cannot read that. The log must be intact
/// up to the newest acknowledged commit.
///
/// # Errors
/// As [`check`].
pub(super) fn replay(
    store: &Path,
    acknowledged: Option<u64>,
    mut take: impl FnMut(&[u8], u64, &Message) -> Option<()>,
) -> Result<File> {
    check(store, acknowledged)?;
    let path = store.join("db");
    let file = io_at(&path, "open the file", files::open_to_read(&path))?;
    let mut log = Log { file, buffer: vec![], since: newest_snapshot(store)? / SEGMENT as u64 };
    match log.replay(&mut take) {
        Ok(()) => Ok(log.file),
        Err(SurveyError::Flaw(flaw)) => Err(damaged_store(store, &flaw)),
        Err(SurveyError::Io(error)) => io_at(&path, "read the file", Err(error)),
    }
}

/// Checks that a store without a commit marker is empty: otherwise nothing shows whether its log is complete.
///
/// # Errors
/// [`CheckpointError::DamagedStore`] if it holds anything; [`CheckpointError::Io`] if it cannot be read.
pub(super) fn check_empty(store: &Path) -> Result<()> {
    let path = store.join("db");
    let file = match files::open_to_read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => io_at(&path, "open the file", opened)?,
    };
    match io_at(&path, "read the file", Log { file, buffer: vec![], since: 0 }.holds_records())? {
        true => Err(damaged_store(
            store,
            "its file `tip` is missing or empty, so whether its newest commits are there is unknown",
        )),
        false => Ok(()),
    }
}

/// Returns the log position of the newest snapshot: sled replays only what follows.
fn newest_snapshot(store: &Path) -> Result<u64> {
    let position = |path: &PathBuf| u64::from_str_radix(path.file_name()?.to_str()?.strip_prefix(SNAPSHOT)?, 16).ok();
    Ok(snapshots(store)?.iter().filter_map(position).max().unwrap_or(0))
}

/// Returns the snapshots in a directory, unfinished ones too.
pub(super) fn snapshots(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = vec![];
    for entry in io_at(directory, "list the files", fs::read_dir(directory))? {
        let entry = io_at(directory, "list the files", entry)?;
        if entry.file_name().to_string_lossy().starts_with(SNAPSHOT) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

enum SurveyError {
    Io(io::Error),
    /// Description of the damage.
    Flaw(String),
}

impl From<io::Error> for SurveyError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn unreadable(at: u64) -> SurveyError {
    SurveyError::Flaw(format!("its log cannot be read at byte {at}"))
}

/// Segments by number, with their offsets in the file.
#[derive(Default)]
struct SegmentMap {
    /// Segments covered by the snapshot; sled does not replay them.
    covered: BTreeMap<u64, u64>,
    /// Segments that were on disk before the newest ones were started.
    older: BTreeMap<u64, u64>,
    /// Segments of which one contains the end of the log.
    newest: BTreeMap<u64, u64>,
    /// Number of the first of the newest segments.
    tail: u64,
}

/// Intact part of a segment.
struct IntactSegment {
    bytes: Vec<u8>,
    walk: SegmentExtent,
}

struct Log {
    file: File,
    /// Memory for the next segment.
    buffer: Vec<u8>,
    /// First segment that sled replays.
    since: u64,
}

impl Log {
    fn check(&mut self, acknowledged: Option<u64>) -> std::result::Result<(), SurveyError> {
        let places = self.locate_segments()?;
        // The log was on disk up to a position in segment `tail`, so that segment has to be there.
        let is_gap = !places.newest.contains_key(&places.tail);
        if is_gap && places.newest.len() + places.older.len() > 0 {
            return Err(SurveyError::Flaw("a part of its log is missing".into()));
        }
        let (end, ends_at) = self.read_tail(&places)?;
        // The commit is usually in the newest segments. The older ones are checked for damage all the same.
        let mut missing = acknowledged.filter(|&commit| !end.iter().rev().any(|whole| whole.holds(commit)));
        for (&number, &at) in &places.older {
            let whole = self.read_segment(number, at)?;
            if whole.walk.end == SegmentEnd::Broken {
                return Err(unreadable(at + whole.walk.to as u64));
            }
            missing = missing.filter(|&commit| !whole.holds(commit));
            self.buffer = whole.bytes;
        }
        // If nothing was written since the snapshot, a segment that it covers has the commit.
        missing.map_or(Ok(()), |commit| self.check_covered(&places, commit, ends_at))
    }

    fn replay(
        &mut self,
        take: &mut impl FnMut(&[u8], u64, &Message) -> Option<()>,
    ) -> std::result::Result<(), SurveyError> {
        let places = self.locate_segments()?;
        let (end, _) = self.read_tail(&places)?;
        for (&number, &at) in places.covered.iter().chain(&places.older) {
            let whole = self.read_segment(number, at)?;
            if whole.walk.end == SegmentEnd::Broken {
                return Err(unreadable(at + whole.walk.to as u64));
            }
            whole.for_each_message(number, at, take)?;
        }
        // These are cut at the end of the log: nothing after it was acknowledged.
        for ((&number, &at), whole) in places.newest.iter().zip(end) {
            whole.for_each_message(number, at, take)?;
        }
        Ok(())
    }

    /// Checks that a segment covered by the snapshot contains the commit: nothing may have been written since.
    fn check_covered(&mut self, places: &SegmentMap, commit: u64, end: u64) -> std::result::Result<(), SurveyError> {
        for (&number, &at) in places.covered.iter().rev() {
            if self.read_segment(number, at)?.holds(commit) {
                return Ok(());
            }
        }
        let flaw = format!("its log ends at byte {end}, before the newest acknowledged commit");
        Err(SurveyError::Flaw(flaw))
    }

    /// Returns whether the log contains any row besides the store's own record.
    fn holds_records(&mut self) -> io::Result<bool> {
        for at in (0..self.file.metadata()?.len()).step_by(SEGMENT) {
            let bytes = self.read_bytes(at, SEGMENT)?;
            let is_record = |at| Envelope::decode_prefix(&bytes[at..]).is_ok_and(|row| row.name != STORE);
            if Envelope::starts(&bytes).any(is_record) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn locate_segments(&mut self) -> std::result::Result<SegmentMap, SurveyError> {
        let mut places = SegmentMap { tail: self.since, ..SegmentMap::default() };
        let length = self.file.metadata()?.len();
        for at in (0..length).step_by(SEGMENT).take_while(|at| length - at >= HEADER as u64) {
            let Some(header) = self.read_header(at)? else { continue };
            let number = header.begin / SEGMENT as u64;
            if number < self.since {
                places.covered.insert(number, at);
                continue;
            }
            // Everything before a stable position was on disk, so damage there is not a torn end.
            places.tail = places.tail.max(header.stable / SEGMENT as u64);
            if places.older.insert(number, at).is_some() {
                return Err(SurveyError::Flaw(format!(
                    "two parts of its log claim one place, the second at byte {at}"
                )));
            }
        }
        // Only the segments from here on may end in a torn write.
        places.newest = places.older.split_off(&places.tail);
        Ok(places)
    }

    /// Reads the header of a segment; `None` if sled does not need the segment: it is covered by the snapshot, or still
    /// all zero.
    fn read_header(&mut self, at: u64) -> std::result::Result<Option<Header>, SurveyError> {
        let start = self.read_bytes(at, 128)?;
        let header = start.first_chunk().and_then(Header::parse);
        let is_needed = || start.iter().any(|&byte| byte != 0) && number_of(&start).is_none_or(|at| at >= self.since);
        match header {
            None if is_needed() => Err(unreadable(at)),
            header => Ok(header),
        }
    }

    /// Reads the newest segments up to the end of the log; returns them with the offset of that end in the file.
    fn read_tail(&mut self, places: &SegmentMap) -> io::Result<(Vec<IntactSegment>, u64)> {
        let mut end: Vec<IntactSegment> = vec![];
        let mut batch: Option<(usize, usize, u64)> = None;
        let mut ends_at = 0;
        for (number, (&found, &at)) in (places.tail..).zip(&places.newest) {
            // The log ends where a number is missing.
            if number != found {
                break;
            }
            let whole = self.read_newest(number, at)?;
            let position = number * SEGMENT as u64 + whole.walk.to as u64;
            // A batch that ends before this position is complete.
            batch = batch.filter(|(.., last)| position <= *last);
            batch = whole.walk.batch.map(|(to, last)| (end.len(), to, last)).or(batch);
            let is_last = whole.walk.end == SegmentEnd::Broken;
            ends_at = at + whole.walk.to as u64;
            end.push(whole);
            if is_last {
                break;
            }
        }
        if let Some((segment, to, _)) = batch {
            end.truncate(segment + 1); // an incomplete batch does not count
            end[segment].walk.to = to;
        }
        Ok((end, ends_at))
    }

    fn read_segment(&mut self, number: u64, at: u64) -> io::Result<IntactSegment> {
        let bytes = self.read_bytes(at, SEGMENT)?;
        Ok(IntactSegment { walk: walk(&bytes, number), bytes })
    }

    /// Reads a segment that may contain the end of the log: most of it may be zeros, which take longer to read than all else.
    fn read_newest(&mut self, number: u64, at: u64) -> io::Result<IntactSegment> {
        let mut bytes = self.read_bytes(at, PIECE)?;
        loop {
            let walk = walk(&bytes, number);
            let rest = bytes.get(walk.to..).unwrap_or_default();
            let is_end = rest.len() >= ROOM && is_unwritten(rest);
            if is_end || self.read_on(&mut bytes, at)? == 0 {
                return Ok(IntactSegment { walk, bytes });
            }
        }
    }

    /// Reads as much of a segment again as was read before; returns the number of bytes.
    fn read_on(&mut self, bytes: &mut Vec<u8>, at: u64) -> io::Result<usize> {
        let length = bytes.len().min(SEGMENT - bytes.len());
        bytes.reserve_exact(length);
        self.file.seek(SeekFrom::Start(at + bytes.len() as u64))?;
        (&self.file).take(length as u64).read_to_end(bytes)
    }

    fn read_bytes(&mut self, at: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = std::mem::take(&mut self.buffer);
        bytes.clear();
        bytes.reserve_exact(length);
        self.file.seek(SeekFrom::Start(at))?;
        (&self.file).take(length as u64).read_to_end(&mut bytes).map(|_| bytes)
    }
}

impl IntactSegment {
    fn for_each_message(
        &self,
        number: u64,
        at: u64,
        take: &mut impl FnMut(&[u8], u64, &Message) -> Option<()>,
    ) -> std::result::Result<(), SurveyError> {
        messages(&self.bytes, number, self.walk.to).try_for_each(|message| {
            take(&self.bytes, at, &message).ok_or_else(|| unreadable(at + message.body.start as u64))
        })
    }

    /// Returns whether it contains a row of this commit or a later one; the newest rows are last.
    fn holds(&self, commit: u64) -> bool {
        let bytes = &self.bytes[..self.walk.to];
        Envelope::starts(bytes)
            .rev()
            .any(|at| Envelope::decode_prefix(&bytes[at..]).is_ok_and(|row| row.commit >= commit))
    }
}
