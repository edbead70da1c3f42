//! Imports a file as a thread of a store: everything is checked before anything is written. Knows the order of the
//! checks; the layout is in `file`, the rules for a valid thread are in `checks`.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::Read;
use std::path::Path;

use serde::Serialize;
use superstep_base::time::now;

use super::check_msgpack::check_msgpack;
use super::checks::{MOST, check};
use super::facts::Facts;
use super::file::{START, bad_import, check_start, parse_file};
use crate::checkpoint::codec::DECODE_DEPTH;
use crate::checkpoint::threads::insert::insert_thread;
use crate::checkpoint::threads::marks::encode_imported;
use crate::checkpoint::{
    AboutRecord, CheckpointError, CheckpointId, Checkpointer, Commit, EffectRecord, EventRecord, Key, Record,
    SignalRecord, ThreadHead, ThreadId, decode_record,
};

/// Options of an import.
#[derive(Clone, Debug)]
#[must_use]
pub struct ImportOptions {
    thread: Option<ThreadId>,
    max_bytes: u64,
    max_records: usize,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self { thread: None, max_bytes: 1 << 30, max_records: 4_000_000 }
    }
}

impl ImportOptions {
    /// Returns the defaults: the original name, at most 1 GiB and four million records.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets another name for the thread.
    pub fn with_name(mut self, thread: impl Into<ThreadId>) -> Self {
        self.thread = Some(thread.into());
        self
    }

    /// Sets the maximum number of bytes read.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets the maximum number of records.
    pub fn max_records(mut self, records: usize) -> Self {
        self.max_records = records;
        self
    }
}

/// Result of an import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ImportReport {
    /// Name of the thread in this store.
    pub thread: ThreadId,
    /// Name in the original store.
    pub was: String,
    /// Name of its graph, if known.
    pub graph: Option<String>,
    /// Release that wrote the file.
    pub release: String,
    /// Number of checkpoints, those of subgraphs included.
    pub checkpoints: usize,
    /// Number of records, checkpoints included.
    pub records: usize,
    /// Secret channels that were left out.
    pub redacted: Vec<String>,
}

impl fmt::Display for ImportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { thread, checkpoints, records, redacted, .. } = self;
        write!(f, "thread `{thread}`: {checkpoints} checkpoints imported, {records} records")?;
        if redacted.is_empty() { Ok(()) } else { write!(f, "\nnot in the file: {}", redacted.join(", ")) }
    }
}

/// Reads a thread from a file that [`export_thread`](super::super::export_thread) wrote, and stores it as an imported
/// one: it can be read, compared and replayed from its records, but run only once a person
/// [trusts](super::super::trust) it.
///
/// Size, number of records, lengths of names and depth of values are checked before any value is decoded as a type;
/// then the whole: references, missing records, indexes. Meanwhile the records are in memory, and while the file is read
/// the file too. The thread gets a new birth id, so the ids of its pending
/// questions and the idempotency keys of effects it has yet to run differ from the original's: an answer to one is not
/// an answer to the other. To move a thread unchanged, restore a backup.
///
/// # Errors
/// [`CheckpointError::BadImport`] or [`CheckpointError::Format`] for an invalid file, [`CheckpointError::ThreadExists`]
/// if the name is taken, [`CheckpointError::TooLarge`] for a name or record over the store's limit,
/// [`CheckpointError::Io`] if the file cannot be read: nothing is written then. If the store fails.
pub async fn import_thread(
    store: &dyn Checkpointer,
    file: impl Read,
    options: &ImportOptions,
) -> Result<ImportReport, CheckpointError> {
    ThreadArchive::read(file, options)?.store_in(store).await
}

/// A thread that was read from a file and checked, but is in no store yet.
#[derive(Clone, Debug)]
pub struct ThreadArchive {
    head: ThreadHead,
    records: Vec<Record>,
    imported: ImportReport,
}

impl ThreadArchive {
    /// Returns what an import of it reports.
    pub fn report(&self) -> &ImportReport {
        &self.imported
    }

    /// Reads and checks a file as [`import_thread`] does, and stores nothing.
    ///
    /// # Errors
    /// Those of [`import_thread`] that need no store.
    pub fn read(file: impl Read, options: &ImportOptions) -> Result<Self, CheckpointError> {
        let bytes = read_all(file, options.max_bytes)?;
        let (header, mut records) = parse_file(&bytes, options.max_records)?;
        drop(bytes);
        let thread = options.thread.clone().unwrap_or_else(|| header.thread.as_str().into());
        if thread.as_str().is_empty() || thread.as_str().len() > Commit::MAX_NAME {
            return Err(bad_import("the thread's name is empty or too long"));
        }
        records.iter().try_for_each(check_value)?;
        let facts =
            Facts::of(&thread, records.iter().map(|(key, bytes)| (key, bytes.as_slice()))).map_err(decode_error)?;
        records.iter().try_for_each(|(key, bytes)| check_decodes(&thread, key, bytes))?;
        check(&thread, &facts, &records, (CheckpointId(header.head), header.next)).map_err(bad_import)?;
        mark_as_imported(&mut records, &facts, header.graph.as_deref())?;
        let checkpoint = Some(CheckpointId(header.head));
        let birth = RandomState::new().hash_one(now()) & 0xffff_ffff;
        let imported = ImportReport {
            thread,
            was: header.thread,
            graph: header.graph,
            release: header.release,
            checkpoints: facts.checkpoints.len(),
            records: records.len(),
            redacted: header.redacted,
        };
        Ok(Self { head: ThreadHead { checkpoint, next: header.next, birth }, records, imported })
    }

    /// Returns the thread's name, its graph, the release that wrote the file, and what was left out.
    pub fn about(&self) -> &ImportReport {
        &self.imported
    }

    /// Stores the thread, completely or not at all.
    ///
    /// # Errors
    /// [`CheckpointError::ThreadExists`] if the name is taken, and those of the store.
    pub async fn store_in(self, store: &dyn Checkpointer) -> Result<ImportReport, CheckpointError> {
        let Self { head, records, imported } = self;
        insert_thread(store, &imported.thread, head, records).await?;
        Ok(imported)
    }
}

/// Reads the whole file, unless its first bytes show that it is not an exported thread.
fn read_all(mut file: impl Read, max_bytes: u64) -> Result<Vec<u8>, CheckpointError> {
    let mut bytes = vec![];
    let failed = |error| CheckpointError::io("read the exported thread", Path::new("the given file"), error);
    (&mut file).take(START.min(max_bytes)).read_to_end(&mut bytes).map_err(failed)?;
    if max_bytes >= START {
        check_start(&bytes)?;
    }
    let left = max_bytes.saturating_add(1) - bytes.len() as u64;
    file.take(left).read_to_end(&mut bytes).map_err(failed)?;
    let limit = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    if bytes.len() > limit { Err(bad_import(format!("it has more than {max_bytes} bytes"))) } else { Ok(bytes) }
}

/// Checks a value before any type is decoded.
fn check_value((key, bytes): &Record) -> Result<(), CheckpointError> {
    if bytes.len() > Commit::MAX_RECORD {
        return Err(bad_import(format!("{key} is too large")));
    }
    match key {
        Key::Row(_) | Key::Log { .. } => {
            check_msgpack(bytes, DECODE_DEPTH).map_err(|reason| bad_import(format!("{key}: {reason}")))
        }
        _ => Ok(()),
    }
}

/// Decodes the records that are not part of [`Facts`].
fn check_decodes(thread: &ThreadId, key: &Key, bytes: &[u8]) -> Result<(), CheckpointError> {
    match key {
        Key::Effect { .. } => {
            let effect: EffectRecord = decode_record(thread, key, bytes).map_err(decode_error)?;
            let deep = check_msgpack(&effect.value, DECODE_DEPTH).err().filter(|reason| reason.contains("deeper"));
            deep.map_or(Ok(()), |reason| Err(bad_import(format!("{key}: {reason}"))))
        }
        Key::Signal { .. } => {
            let signal: SignalRecord = decode_record(thread, key, bytes).map_err(decode_error)?;
            let checked = if signal.at <= MOST {
                check_msgpack(&signal.value, DECODE_DEPTH)
            } else {
                Err("its time is out of bounds".into())
            };
            checked.map_err(|reason| bad_import(format!("{key}: {reason}")))
        }
        Key::Event { .. } => EventRecord::decode(thread, key, bytes).map(drop).map_err(decode_error),
        _ => Ok(()),
    }
}

fn decode_error(error: CheckpointError) -> CheckpointError {
    match error {
        // The decoder's message names internal types, which do not help the owner of the file.
        CheckpointError::Damaged { what, .. } => {
            bad_import(format!("the record of {what} is not one that superstep writes"))
        }
        other => other,
    }
}

/// Marks the thread as imported, whatever the file claims.
fn mark_as_imported(records: &mut Vec<Record>, facts: &Facts, graph: Option<&str>) -> Result<(), CheckpointError> {
    let first = facts.checkpoints.values().next().map_or(0, |made| made.created_at);
    let unnamed =
        || AboutRecord { graph: graph.unwrap_or_default().to_owned(), created_at: first, ..AboutRecord::default() };
    let about = encode_imported(facts.about.clone().unwrap_or_else(unnamed))?;
    records.retain(|(key, _)| *key != Key::About);
    records.insert(0, about);
    Ok(())
}
