//! From files to rows: every place that a whole row stands at, the newest version of each. Knows envelopes; must not know
//! what a record is.
//!
//! Rows of records that were deleted stand in the files as well. What was deleted is noted in rows of its own, which name a
//! thread and no key: with nothing in them the whole thread is gone, else the keys that they hold.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use crate::checkpoint::envelope::{Envelope, split_name};
use crate::checkpoint::key_bytes::{take_key, take_thread};
use crate::checkpoint::{CheckpointId, Key, ThreadId};

/// How much of a file is in memory at once, and how much more than the longest row two such pieces share.
const PIECE: usize = 4 << 20;
const SHARED: usize = 64 << 10;

/// Where a row stands.
#[derive(Clone, Copy, Debug)]
struct Place {
    file: usize,
    at: u64,
    length: usize,
}

/// The newest version of a record, as far as it was found.
#[derive(Clone, Debug, Default)]
pub(super) struct Version {
    /// The commit that wrote it.
    pub(super) commit: u64,
    parts: u32,
    places: BTreeMap<u32, Place>,
    /// A later version left a trace that cannot be read.
    newer: u64,
}

/// What was found in the files.
#[derive(Debug, Default)]
pub(in crate::checkpoint) struct Carved {
    files: Vec<(PathBuf, File)>,
    pub(in crate::checkpoint) bytes: u64,
    pub(in crate::checkpoint) rows: u64,
    /// Places where a row begins that cannot be read.
    pub(in crate::checkpoint) broken: u64,
    /// The newest commit of any row.
    pub(in crate::checkpoint) newest: u64,
    pub(super) threads: HashMap<ThreadId, BTreeMap<Key, Version>>,
    gone: HashMap<ThreadId, (u64, HashMap<Key, u64>)>,
}

impl Carved {
    /// Reads files from end to end.
    ///
    /// # Errors
    /// If one cannot be read.
    pub(in crate::checkpoint) fn from(files: Vec<(PathBuf, File)>) -> Result<Self, (PathBuf, io::Error)> {
        let mut carved = Self { files, ..Self::default() };
        for file in 0..carved.files.len() {
            carved.read(file).map_err(|error| (carved.files[file].0.clone(), error))?;
        }
        carved.forget_gone();
        Ok(carved)
    }

    fn read(&mut self, file: usize) -> io::Result<()> {
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
                    && let Some(length) = self.row(&piece[at..], Place { file, at: start + at as u64, length: 0 })
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

    /// Takes the row at the front of `bytes`; returns its length.
    fn row(&mut self, bytes: &[u8], place: Place) -> Option<usize> {
        let Ok(row) = Envelope::carve(bytes) else {
            self.broken += 1;
            if let Some((name, commit)) = Envelope::glimpse(bytes)
                && let Some((thread, key)) = split_name(name)
            {
                let version = self.threads.entry(thread).or_default().entry(key).or_default();
                version.newer = version.newer.max(commit);
            }
            return None;
        };
        let length = row.length();
        self.rows += 1;
        self.newest = self.newest.max(row.commit);
        match split_name(row.name) {
            Some((thread, key)) => {
                let version = self.threads.entry(thread).or_default().entry(key).or_default();
                version.add(&row, Place { length, ..place });
            }
            None => self.note_gone(&row),
        }
        Some(length)
    }

    fn note_gone(&mut self, row: &Envelope<'_>) {
        let mut name = row.name;
        let Some(thread) = take_thread(&mut name).filter(|_| name.is_empty()) else { return };
        let (whole, keys) = self.gone.entry(thread).or_default();
        if row.payload.is_empty() {
            *whole = row.commit.max(*whole);
        }
        let mut rest = row.payload;
        while let Some(key) = take_key(&mut rest) {
            let last = keys.entry(key).or_default();
            *last = row.commit.max(*last);
        }
    }

    /// Whether a checkpoint is among what was deleted last.
    pub(super) fn was_deleted(&self, thread: &ThreadId, id: CheckpointId) -> bool {
        self.gone.get(thread).is_some_and(|(_, keys)| keys.contains_key(&Key::Checkpoint(id)))
    }

    /// Drops what was deleted after it was written, and traces that tell nothing.
    fn forget_gone(&mut self) {
        let newest = self.newest;
        for (thread, versions) in &mut self.threads {
            let gone = self.gone.get(thread);
            versions.retain(|key, version| {
                let last = gone.map_or(0, |(whole, keys)| *keys.get(key).unwrap_or(&0).max(whole));
                version.newer = if version.newer > newest || version.newer <= last { 0 } else { version.newer };
                if version.commit <= last {
                    (version.places, version.parts) = (BTreeMap::new(), 0);
                }
                version.newer > 0 || !version.places.is_empty()
            });
        }
        self.threads.retain(|_, versions| !versions.is_empty());
    }

    /// Returns a record whole; none if a part of its newest version is missing.
    pub(super) fn record(&self, version: &Version) -> io::Result<Option<Vec<u8>>> {
        if !version.is_whole() {
            return Ok(None);
        }
        let mut record = vec![];
        for place in version.places.values() {
            let mut file = &self.files[place.file].1;
            file.seek(SeekFrom::Start(place.at))?;
            let mut bytes = vec![0; place.length];
            file.read_exact(&mut bytes)?;
            let Ok(row) = Envelope::carve(&bytes) else { return Ok(None) };
            record.extend_from_slice(row.payload);
        }
        Ok(Some(record))
    }
}

impl Version {
    fn add(&mut self, row: &Envelope<'_>, place: Place) {
        if row.commit < self.commit {
            return;
        }
        if row.commit > self.commit {
            (self.commit, self.parts, self.places) = (row.commit, row.parts, BTreeMap::new());
        }
        self.parts = row.parts;
        self.places.insert(row.part, place);
    }

    fn is_whole(&self) -> bool {
        self.parts > 0 && self.places.len() == self.parts as usize && self.newer <= self.commit
    }
}
