//! Scans files for rows and keeps the newest version of each record. Knows envelopes; must not know what a record is.
//!
//! The files also contain rows of deleted records. Deletions are recorded in rows of their own, named by a thread
//! without a key: an empty payload means that the whole thread was deleted, else it lists the deleted keys.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use crate::checkpoint::envelope::{Envelope, split_name};
use crate::checkpoint::key_bytes::{ITEM, take_item, take_key, take_thread};
use crate::checkpoint::{CheckpointId, ItemKey, Key, ThreadId};

/// Bytes of a file read at once, and the overlap of two such pieces: more than the longest row.
const PIECE: usize = 4 << 20;
const SHARED: usize = 64 << 10;

/// Location of a row.
#[derive(Clone, Copy, Debug)]
struct RowLocation {
    file: usize,
    at: u64,
    length: usize,
}

/// Newest version of a record, as far as it was found.
#[derive(Clone, Debug, Default)]
pub(super) struct Version {
    /// The commit that wrote it.
    pub(super) commit: u64,
    parts: u32,
    locations: BTreeMap<u32, RowLocation>,
    /// Commit of a later version that was found but cannot be read; 0 if there is none.
    newer: u64,
}

/// Contents of the scanned files.
#[derive(Debug, Default)]
pub(super) struct Scan {
    files: Vec<(PathBuf, File)>,
    pub(super) bytes: u64,
    pub(super) rows: u64,
    /// Number of places that start like a row but cannot be read.
    pub(super) broken: u64,
    /// Newest commit of any row.
    pub(super) newest: u64,
    pub(super) threads: HashMap<ThreadId, BTreeMap<Key, Version>>,
    deletions: HashMap<ThreadId, (u64, HashMap<Key, u64>)>,
    pub(super) items: BTreeMap<ItemKey, Version>,
    deleted_items: HashMap<ItemKey, u64>,
}

impl Scan {
    /// Reads all rows of some files.
    ///
    /// # Errors
    /// If one cannot be read.
    pub(super) fn from(files: Vec<(PathBuf, File)>) -> Result<Self, (PathBuf, io::Error)> {
        let mut scan = Self { files, ..Self::default() };
        for file in 0..scan.files.len() {
            scan.read_file(file).map_err(|error| (scan.files[file].0.clone(), error))?;
        }
        scan.drop_deleted();
        Ok(scan)
    }

    fn read_file(&mut self, file: usize) -> io::Result<()> {
        let mut from = self.files[file].1.try_clone()?;
        let (mut start, mut next) = (0, 0);
        loop {
            from.seek(SeekFrom::Start(start))?;
            let mut piece = Vec::new();
            (&from).take((PIECE + SHARED) as u64).read_to_end(&mut piece)?;
            let is_last = piece.len() < PIECE + SHARED;
            self.bytes += piece.len().min(PIECE) as u64;
            for at in Envelope::starts(&piece).take_while(|at| is_last || *at < PIECE) {
                if start + at as u64 >= next
                    && let Some(length) =
                        self.add_row(&piece[at..], RowLocation { file, at: start + at as u64, length: 0 })
                {
                    next = start + (at + length) as u64;
                }
            }
            if is_last {
                return Ok(());
            }
            start += PIECE as u64;
        }
    }

    /// Adds the row at the start of `bytes`; returns its length.
    fn add_row(&mut self, bytes: &[u8], place: RowLocation) -> Option<usize> {
        let Ok(row) = Envelope::decode_prefix(bytes) else {
            self.broken += 1;
            if let Some((name, commit)) = Envelope::decode_header_unchecked(bytes)
                && let Some(version) = self.version(name)
            {
                version.newer = version.newer.max(commit);
            }
            return None;
        };
        let length = row.length();
        self.rows += 1;
        self.newest = self.newest.max(row.commit);
        match self.version(row.name) {
            Some(version) => version.add(&row, RowLocation { length, ..place }),
            None => self.note_deletion(&row),
        }
        Some(length)
    }

    /// Returns what was found of the record or item of this name; `None` if it is the name of neither.
    fn version(&mut self, name: &[u8]) -> Option<&mut Version> {
        if let Some((thread, key)) = split_name(name) {
            return Some(self.threads.entry(thread).or_default().entry(key).or_default());
        }
        let mut rest = name;
        let item = take_item(&mut rest).filter(|_| rest.is_empty())?;
        Some(self.items.entry(item).or_default())
    }

    fn note_deletion(&mut self, row: &Envelope<'_>) {
        let (mut name, mut rest) = (row.name, row.payload);
        if name == [ITEM] {
            while let Some(item) = take_item(&mut rest) {
                let last = self.deleted_items.entry(item).or_default();
                *last = row.commit.max(*last);
            }
            return;
        }
        let Some(thread) = take_thread(&mut name).filter(|_| name.is_empty()) else { return };
        let (whole, keys) = self.deletions.entry(thread).or_default();
        if row.payload.is_empty() {
            *whole = row.commit.max(*whole);
        }
        while let Some(key) = take_key(&mut rest) {
            let last = keys.entry(key).or_default();
            *last = row.commit.max(*last);
        }
    }

    /// Returns whether a deletion lists the checkpoint.
    pub(super) fn was_deleted(&self, thread: &ThreadId, id: CheckpointId) -> bool {
        self.deletions.get(thread).is_some_and(|(_, keys)| keys.contains_key(&Key::Checkpoint(id)))
    }

    /// Returns whether the newest version of the thread's head is not the one of its newest commit. Signals are posted
    /// without a head.
    pub(super) fn is_head_outdated(&self, thread: &ThreadId) -> bool {
        let versions = self.threads.get(thread).into_iter().flatten();
        let newest = versions.clone().filter(|(key, _)| !matches!(key, Key::Signal { .. }));
        let newest = newest.map(|(_, version)| version.commit.max(version.newer)).max();
        let head = versions.filter(|(key, version)| **key == Key::Head && version.is_whole());
        head.map(|(_, version)| version.commit).max() < newest
    }

    /// Drops versions older than the deletion of their record, and unreadable versions that are no newer than it or
    /// have an impossible commit number.
    fn drop_deleted(&mut self) {
        let newest = self.newest;
        for (thread, versions) in &mut self.threads {
            let deletions = self.deletions.get(thread);
            versions.retain(|key, version| {
                version.outlives(deletions.map_or(0, |(whole, keys)| *keys.get(key).unwrap_or(&0).max(whole)), newest)
            });
        }
        let deleted = &self.deleted_items;
        self.items.retain(|item, version| version.outlives(*deleted.get(item).unwrap_or(&0), newest));
        self.threads.retain(|_, versions| !versions.is_empty());
    }

    /// Returns the bytes of a record; `None` if a part of its newest version is missing.
    pub(super) fn record(&self, version: &Version) -> io::Result<Option<Vec<u8>>> {
        if !version.is_whole() {
            return Ok(None);
        }
        let mut record = vec![];
        for place in version.locations.values() {
            let mut file = &self.files[place.file].1;
            file.seek(SeekFrom::Start(place.at))?;
            let mut bytes = vec![0; place.length];
            file.read_exact(&mut bytes)?;
            let Ok(row) = Envelope::decode_prefix(&bytes) else { return Ok(None) };
            record.extend_from_slice(row.payload);
        }
        Ok(Some(record))
    }
}

impl Version {
    fn add(&mut self, row: &Envelope<'_>, place: RowLocation) {
        if row.commit < self.commit {
            return;
        }
        if row.commit > self.commit {
            (self.commit, self.parts, self.locations) = (row.commit, row.parts, BTreeMap::new());
        }
        self.parts = row.parts;
        self.locations.insert(row.part, place);
    }

    /// Forgets what is no newer than commit `last`, which deleted it, and returns whether anything is left.
    fn outlives(&mut self, last: u64, newest: u64) -> bool {
        self.newer = if self.newer > newest || self.newer <= last { 0 } else { self.newer };
        if self.commit <= last {
            (self.locations, self.parts) = (BTreeMap::new(), 0);
        }
        self.newer > 0 || !self.locations.is_empty()
    }

    fn is_whole(&self) -> bool {
        self.parts > 0 && self.locations.len() == self.parts as usize && self.newer <= self.commit
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::checkpoint::envelope::name_of;

    #[rstest::rstest]
    #[case::with_the_newest_commit(2, false)]
    #[case::of_an_older_commit(1, true)]
    fn a_head_is_as_new_as_the_newest_record(#[case] head: u64, #[case] is_outdated: bool) {
        let thread = ThreadId::from("tides");
        let row = |key: Key, commit| {
            Envelope { name: &name_of(&thread, &key), part: 0, parts: 1, commit, payload: b"text" }.seal()
        };
        let signal = Key::Signal { order: 1, id: 1 };
        let rows = [row(Key::Head, head), row(Key::Checkpoint(CheckpointId(1)), 2), row(signal, 3)].concat();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        fs::write(&path, rows).unwrap();
        let scan = Scan::from(vec![(path.clone(), File::open(path).unwrap())]).unwrap();
        assert_eq!(scan.is_head_outdated(&thread), is_outdated);
    }
}
