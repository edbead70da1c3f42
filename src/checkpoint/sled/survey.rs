//! A look at sled's log before sled gets to see it. Knows the files, and the number of the newest acknowledged commit;
//! writes nothing.
//!
//! sled takes damage in its newest segments for the torn end of its log and overwrites all that follows; in older segments
//! it goes on with the next one. Both without a word. So nothing is opened unless the log is whole up to the newest
//! acknowledged commit: a damaged one stays as it is, for whoever wants to save what can be read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::{fs, io};

use super::disk::broken;
use super::files::{self, io_at};
use super::rows::STORE;
use super::segment::{End, HEADER, Header, Message, SEGMENT, Walk, messages, number_of, walk};
use crate::checkpoint::{CheckpointError, envelope::Envelope};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Checks that the log of a store is whole up to the newest acknowledged commit, if one is known of.
///
/// # Errors
/// [`CheckpointError::DamagedStore`] if it is not; [`CheckpointError::Io`] if it cannot be read.
pub(super) fn check(store: &Path, acknowledged: Option<u64>) -> Result<()> {
    let path = store.join("db");
    if acknowledged.is_none() && !path.exists() {
        return Ok(());
    }
    let since = newest_snapshot(store)?;
    let file = match files::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(broken(store, "its file `db` is missing")),
        opened => io_at(&path, "open the file", opened)?,
    };
    let mut log = Log { file, since: since / SEGMENT as u64 };
    match log.check(acknowledged) {
        Ok(()) => Ok(()),
        Err(Trouble::Flaw(flaw)) => Err(broken(store, &flaw)),
        Err(Trouble::Io(error)) => io_at(&path, "read the file", Err(error)),
    }
}

/// Reads the whole log of a store, message by message in the order in which they were written, and returns its file. `take`
/// gets a segment, where in the file it is, and a message of it, and says none of one that cannot be read. The log must be
/// whole up to the newest acknowledged commit.
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
    let file = io_at(&path, "open the file", files::read(&path))?;
    let mut log = Log { file, since: newest_snapshot(store)? / SEGMENT as u64 };
    match log.replay(&mut take) {
        Ok(()) => Ok(log.file),
        Err(Trouble::Flaw(flaw)) => Err(broken(store, &flaw)),
        Err(Trouble::Io(error)) => io_at(&path, "read the file", Err(error)),
    }
}

/// Checks that a store whose witness is gone holds nothing yet: whether its log is whole cannot be told.
///
/// # Errors
/// [`CheckpointError::DamagedStore`] if it holds anything; [`CheckpointError::Io`] if it cannot be read.
pub(super) fn check_empty(store: &Path) -> Result<()> {
    let path = store.join("db");
    let file = match files::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => io_at(&path, "open the file", opened)?,
    };
    match io_at(&path, "read the file", Log { file, since: 0 }.holds_records())? {
        true => {
            Err(broken(store, "its file `tip` is missing or empty, so whether its newest commits are there is unknown"))
        }
        false => Ok(()),
    }
}

/// Returns up to where in the log sled has taken note of everything, elsewhere: it replays only what follows.
fn newest_snapshot(store: &Path) -> Result<u64> {
    let mut newest = 0;
    for entry in io_at(store, "list the files", fs::read_dir(store))? {
        let name = io_at(store, "list the files", entry)?.file_name();
        let position = name.to_str().and_then(|name| name.strip_prefix("snap."));
        newest = position.and_then(|hex| u64::from_str_radix(hex, 16).ok()).unwrap_or(0).max(newest);
    }
    Ok(newest)
}

enum Trouble {
    Io(io::Error),
    /// A damaged place, in words.
    Flaw(String),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn unreadable(at: u64) -> Trouble {
    Trouble::Flaw(format!("its log cannot be read at byte {at}"))
}

/// Segments by their number in the log, with their places in the file.
#[derive(Default)]
struct Places {
    /// sled does not replay these.
    noted: BTreeMap<u64, u64>,
    /// They were on disk before the newest were begun.
    older: BTreeMap<u64, u64>,
    /// The log ends in one of these.
    newest: BTreeMap<u64, u64>,
    /// The first of them.
    tail: u64,
}

/// The part of a segment that is whole.
struct Whole {
    bytes: Vec<u8>,
    walk: Walk,
}

/// sled's log.
struct Log {
    file: File,
    /// The first segment that sled replays.
    since: u64,
}

impl Log {
    fn check(&mut self, acknowledged: Option<u64>) -> std::result::Result<(), Trouble> {
        let places = self.places()?;
        let is_gap = !places.newest.contains_key(&places.tail);
        if is_gap && places.newest.len() + places.older.len() > 0 {
            return Err(Trouble::Flaw("a part of its log is missing".into()));
        }
        let mut is_there = false;
        for (&number, &at) in &places.older {
            let whole = self.read(number, at)?;
            if whole.walk.end == End::Broken {
                return Err(unreadable(at + whole.walk.to as u64));
            }
            is_there = is_there || acknowledged.is_some_and(|number| whole.holds(number));
        }
        let (end, at) = self.tail(&places)?;
        match acknowledged {
            Some(number) if !is_there && !end.iter().rev().any(|whole| whole.holds(number)) => {
                self.check_noted(&places, number, at)
            }
            _ => Ok(()),
        }
    }

    fn replay(
        &mut self,
        take: &mut impl FnMut(&[u8], u64, &Message) -> Option<()>,
    ) -> std::result::Result<(), Trouble> {
        let places = self.places()?;
        let (end, _) = self.tail(&places)?;
        for (&number, &at) in places.noted.iter().chain(&places.older) {
            let whole = self.read(number, at)?;
            if whole.walk.end == End::Broken {
                return Err(unreadable(at + whole.walk.to as u64));
            }
            whole.tell(number, at, take)?;
        }
        for ((&number, &at), whole) in places.newest.iter().zip(end) {
            whole.tell(number, at, take)?;
        }
        Ok(())
    }

    /// Checks that a commit stands in what sled has taken note of: whoever opened the store last may have written nothing.
    fn check_noted(&mut self, places: &Places, commit: u64, end: u64) -> std::result::Result<(), Trouble> {
        for (&number, &at) in places.noted.iter().rev() {
            if self.read(number, at)?.holds(commit) {
                return Ok(());
            }
        }
        let flaw = format!("its log ends at byte {end}, before the newest acknowledged commit");
        Err(Trouble::Flaw(flaw))
    }

    /// Returns whether any row but the store's own was ever written.
    fn holds_records(&mut self) -> io::Result<bool> {
        for at in (0..self.file.metadata()?.len()).step_by(SEGMENT) {
            let bytes = self.bytes(at, SEGMENT)?;
            let is_record = |at| Envelope::carve(&bytes[at..]).is_ok_and(|row| row.name != STORE);
            if Envelope::starts(&bytes).any(is_record) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn places(&mut self) -> std::result::Result<Places, Trouble> {
        let mut places = Places { tail: self.since, ..Places::default() };
        let length = self.file.metadata()?.len();
        for at in (0..length).step_by(SEGMENT).take_while(|at| length - at >= HEADER as u64) {
            let Some(header) = self.header(at)? else { continue };
            let number = header.begin / SEGMENT as u64;
            if number < self.since {
                places.noted.insert(number, at);
                continue;
            }
            places.tail = places.tail.max(header.stable / SEGMENT as u64);
            if places.older.insert(number, at).is_some() {
                return Err(Trouble::Flaw(format!("two parts of its log claim one place, the second at byte {at}")));
            }
        }
        places.newest = places.older.split_off(&places.tail);
        Ok(places)
    }

    /// Reads the header of a segment; none if sled does not need the segment any more, or not yet: then it is all zero.
    fn header(&mut self, at: u64) -> std::result::Result<Option<Header>, Trouble> {
        let start = self.bytes(at, 128)?;
        let header = start.first_chunk().and_then(Header::read);
        let is_needed = || start.iter().any(|&byte| byte != 0) && number_of(&start).is_none_or(|at| at >= self.since);
        match header {
            None if is_needed() => Err(unreadable(at)),
            header => Ok(header),
        }
    }

    /// Reads the newest segments up to where the log ends, and says where in the file that is.
    fn tail(&mut self, places: &Places) -> io::Result<(Vec<Whole>, u64)> {
        let mut end: Vec<Whole> = vec![];
        let mut batch: Option<(usize, usize, u64)> = None;
        let mut ends_at = 0;
        for (number, (&found, &at)) in (places.tail..).zip(&places.newest) {
            if number != found {
                break;
            }
            let whole = self.read(number, at)?;
            let position = number * SEGMENT as u64 + whole.walk.to as u64;
            batch = batch.filter(|(.., last)| position <= *last);
            batch = whole.walk.batch.map(|(to, last)| (end.len(), to, last)).or(batch);
            let is_last = whole.walk.end == End::Broken;
            ends_at = at + whole.walk.to as u64;
            end.push(whole);
            if is_last {
                break;
            }
        }
        if let Some((segment, to, _)) = batch {
            end.truncate(segment + 1); // a batch that is not whole does not count
            end[segment].walk.to = to;
        }
        Ok((end, ends_at))
    }

    fn read(&mut self, number: u64, at: u64) -> io::Result<Whole> {
        let bytes = self.bytes(at, SEGMENT)?;
        Ok(Whole { walk: walk(&bytes, number), bytes })
    }

    fn bytes(&mut self, at: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(length);
        self.file.seek(SeekFrom::Start(at))?;
        (&self.file).take(length as u64).read_to_end(&mut bytes).map(|_| bytes)
    }
}

impl Whole {
    fn tell(
        &self,
        number: u64,
        at: u64,
        take: &mut impl FnMut(&[u8], u64, &Message) -> Option<()>,
    ) -> std::result::Result<(), Trouble> {
        messages(&self.bytes, number, self.walk.to).try_for_each(|message| {
            take(&self.bytes, at, &message).ok_or_else(|| unreadable(at + message.body.start as u64))
        })
    }

    /// Returns whether it holds a row of this commit or of a later one; the newest stand last.
    fn holds(&self, commit: u64) -> bool {
        let bytes = &self.bytes[..self.walk.to];
        Envelope::starts(bytes).rev().any(|at| Envelope::carve(&bytes[at..]).is_ok_and(|row| row.commit >= commit))
    }
}
