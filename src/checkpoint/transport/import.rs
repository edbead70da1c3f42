//! A file as a thread of a store: everything is checked before anything is written. Knows the order of the checks; the
//! layout is in `file`, what makes a thread in `checks`.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read};
use std::path::PathBuf;

use serde::Serialize;

use super::checks::{MOST, check};
use super::file::{START, bad, begins, read};
use super::skim::{DEPTH, skim};
use crate::checkpoint::threads::anatomy::Anatomy;
use crate::checkpoint::threads::deposit::deposit;
use crate::checkpoint::time::now;
use crate::checkpoint::{
    AboutRecord, CheckpointError, CheckpointId, Checkpointer, Commit, EffectRecord, EventRecord, ForeignRecord, Head,
    Key, Record, SignalRecord, ThreadId, decode_record, encode_record,
};

/// How a file is imported.
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
    /// Returns the options: under the name that the thread had, at most 1 GiB and four million records.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the thread another name.
    pub fn named(mut self, thread: impl Into<ThreadId>) -> Self {
        self.thread = Some(thread.into());
        self
    }

    /// Sets the most bytes that are read.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets the most records that are taken.
    pub fn max_records(mut self, records: usize) -> Self {
        self.max_records = records;
        self
    }
}

/// What was imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// The thread's name here.
    pub thread: ThreadId,
    /// Its name where it was exported.
    pub was: String,
    /// Its graph's name, if it says so.
    pub graph: Option<String>,
    /// The release that wrote the file.
    pub release: String,
    /// How many checkpoints, those of subgraphs included.
    pub checkpoints: usize,
    /// How many records, checkpoints included.
    pub records: usize,
    /// Secret channels that were left out.
    pub redacted: Vec<String>,
}

impl fmt::Display for Imported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { thread, checkpoints, records, redacted, .. } = self;
        write!(f, "thread `{thread}`: {checkpoints} checkpoints imported, {records} records")?;
        if redacted.is_empty() { Ok(()) } else { write!(f, "\nnot in the file: {}", redacted.join(", ")) }
    }
}

/// Reads a thread from a file that [`export_thread`](super::super::export_thread) wrote, and stores it as a foreign one: it
/// can be read, compared and replayed from its records, and be run only once a person [trusts](super::super::trust) it.
///
/// Size, number of records, lengths of names and depth of values are checked before anything is decoded as a type; then the
/// whole of it: what refers to what, that nothing is missing, that indexes are those of its graph. The thread gets a birth of
/// its own, so ids of its open questions are others than where it came from, and so are the idempotency keys of effects it
/// has yet to run: an answer to the one is none to the other. To move a thread as it is, restore a backup.
///
/// # Errors
/// [`CheckpointError::BadImport`] or [`CheckpointError::Format`] for a file that cannot be taken,
/// [`CheckpointError::ThreadExists`] if the name is taken, [`CheckpointError::TooLarge`] for a name or record over the store's
/// limit, [`CheckpointError::Io`] if the file cannot be read: nothing is written then. If the store fails.
pub async fn import_thread(
    store: &dyn Checkpointer,
    file: impl Read,
    options: &ImportOptions,
) -> Result<Imported, CheckpointError> {
    unpack(file, options)?.stored(store).await
}

/// A thread that was read from a file and checked, and is in no store yet.
#[derive(Clone, Debug)]
pub(crate) struct Unpacked {
    head: Head,
    records: Vec<Record>,
    imported: Imported,
}

/// Reads a thread from a file, with every check that needs no store.
pub(crate) fn unpack(file: impl Read, options: &ImportOptions) -> Result<Unpacked, CheckpointError> {
    let bytes = whole(file, options.max_bytes)?;
    let (header, mut records) = read(&bytes, options.max_records)?;
    drop(bytes);
    let thread = options.thread.clone().unwrap_or_else(|| header.thread.as_str().into());
    if thread.as_str().is_empty() || thread.as_str().len() > Commit::MAX_NAME {
        return Err(bad("the thread's name is empty or too long"));
    }
    records.iter().try_for_each(skimmed)?;
    let anatomy =
        Anatomy::of(&thread, records.iter().map(|(key, bytes)| (key, bytes.as_slice()))).map_err(undecoded)?;
    records.iter().try_for_each(|(key, bytes)| decoded(&thread, key, bytes))?;
    check(&anatomy, &records, CheckpointId(header.head), header.next).map_err(bad)?;
    mark(&mut records, &anatomy, header.graph.as_deref())?;
    let checkpoint = Some(CheckpointId(header.head));
    let birth = RandomState::new().hash_one(now()) & 0xffff_ffff;
    let imported = Imported {
        thread,
        was: header.thread,
        graph: header.graph,
        release: header.release,
        checkpoints: anatomy.checkpoints.len(),
        records: records.len(),
        redacted: header.redacted,
    };
    Ok(Unpacked { head: Head { checkpoint, next: header.next, birth }, records, imported })
}

impl Unpacked {
    /// Returns what the file says of itself.
    #[cfg(feature = "test-util")]
    pub(crate) fn imported(&self) -> &Imported {
        &self.imported
    }

    /// Stores the thread, all of it or nothing.
    pub(crate) async fn stored(self, store: &dyn Checkpointer) -> Result<Imported, CheckpointError> {
        let Self { head, records, imported } = self;
        deposit(store, &imported.thread, head, records).await?;
        Ok(imported)
    }
}

/// Reads the whole file, unless its first bytes say that it is none of ours.
fn whole(mut file: impl Read, max_bytes: u64) -> Result<Vec<u8>, CheckpointError> {
    let mut bytes = vec![];
    let failed = |error: io::Error| CheckpointError::Io {
        what: "read the exported thread".into(),
        path: PathBuf::from("the given file"),
        reason: error.to_string(),
    };
    (&mut file).take(START.min(max_bytes)).read_to_end(&mut bytes).map_err(failed)?;
    if max_bytes >= START {
        begins(&bytes)?;
    }
    let left = max_bytes.saturating_add(1) - bytes.len() as u64;
    file.take(left).read_to_end(&mut bytes).map_err(failed)?;
    let limit = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    if bytes.len() > limit { Err(bad(format!("it has more than {max_bytes} bytes"))) } else { Ok(bytes) }
}

/// Looks over a value before any type is decoded.
fn skimmed((key, bytes): &Record) -> Result<(), CheckpointError> {
    if bytes.len() > Commit::MAX_RECORD {
        return Err(bad(format!("{key} is too large")));
    }
    match key {
        Key::Row(_) | Key::Log { .. } => skim(bytes, DEPTH).map_err(|reason| bad(format!("{key}: {reason}"))),
        _ => Ok(()),
    }
}

/// Decodes what the anatomy does not hold.
fn decoded(thread: &ThreadId, key: &Key, bytes: &[u8]) -> Result<(), CheckpointError> {
    match key {
        Key::Effect { .. } => {
            let effect: EffectRecord = decode_record(thread, key, bytes).map_err(undecoded)?;
            let deep = skim(&effect.value, DEPTH).err().filter(|reason| reason.contains("deeper"));
            deep.map_or(Ok(()), |reason| Err(bad(format!("{key}: {reason}"))))
        }
        Key::Signal { .. } => {
            let signal: SignalRecord = decode_record(thread, key, bytes).map_err(undecoded)?;
            let skimmed =
                if signal.at <= MOST { skim(&signal.value, DEPTH) } else { Err("its time is out of bounds".into()) };
            skimmed.map_err(|reason| bad(format!("{key}: {reason}")))
        }
        Key::Event { .. } => EventRecord::decode(thread, key, bytes).map(drop).map_err(undecoded),
        _ => Ok(()),
    }
}

fn undecoded(error: CheckpointError) -> CheckpointError {
    match error {
        // What the decoder says of it is about types that nobody who has the file knows.
        CheckpointError::Damaged { what, .. } => bad(format!("the record of {what} is not one that superstep writes")),
        other => other,
    }
}

/// Notes that the thread came from elsewhere, whatever the file says of it.
fn mark(records: &mut Vec<Record>, anatomy: &Anatomy, graph: Option<&str>) -> Result<(), CheckpointError> {
    let first = anatomy.checkpoints.values().next().map_or(0, |made| made.record.created_at);
    let unnamed =
        || AboutRecord { graph: graph.unwrap_or_default().to_owned(), created_at: first, ..AboutRecord::default() };
    let foreign = Some(ForeignRecord { imported_at: now(), trusted: false });
    let about = AboutRecord { foreign, ..anatomy.about.clone().unwrap_or_else(unnamed) };
    records.retain(|(key, _)| *key != Key::About);
    records.insert(0, (Key::About, encode_record(&about)?));
    Ok(())
}
