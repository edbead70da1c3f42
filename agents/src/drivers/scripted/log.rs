//! Log of used turns and their results: JSON lines, in memory or in a file that is re-read each time, so that several
//! processes can use it in turn. The last line may be torn by a kill.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use superstep_base::Fnv;
use superstep_base::moved::stored;

use crate::drivers::{AgentRequest, DriverError, ErrorClass, Finished, jsonl};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    /// The run.
    pub(super) run: String,
    /// Key of the request; empty if it had none.
    pub(super) key: String,
    /// Index of the scenario turn it got, from 0.
    pub(super) turn: usize,
    pub(super) what: EntryKind,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EntryKind {
    #[serde(rename = "begun")]
    Started,
    Finished(Finished),
    Failed(ErrorClass),
}

#[derive(Debug, Default)]
pub(super) struct Log {
    file: Option<PathBuf>,
    /// All entries, if there is no file.
    entries: Mutex<Vec<Entry>>,
}

impl Log {
    /// Returns a log in a file whose name also distinguishes scenarios of the same name in different folders.
    pub(super) fn in_folder(folder: &Path, scenario: &Path) -> Self {
        let mut hash = Fnv::new();
        let whole = scenario.canonicalize().unwrap_or_else(|_| scenario.to_owned());
        hash.mix(stored(whole).as_os_str().as_encoded_bytes());
        let stem = scenario.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = format!("{stem}-{:08x}.jsonl", hash.finish() & 0xffff_ffff);
        Self { file: Some(folder.join(name)), entries: Mutex::default() }
    }

    /// Selects a turn by the entries of the log, and records that it has started.
    pub(super) fn begin(
        &self,
        request: &AgentRequest,
        choose: impl FnOnce(&[Entry]) -> Result<usize, DriverError>,
    ) -> Result<usize, DriverError> {
        let mut stored = self.lock();
        let entries = self.read(&stored)?;
        let turn = choose(&entries)?;
        self.append(&mut stored, Entry::of(request, turn, EntryKind::Started))?;
        Ok(turn)
    }

    /// Returns the result of the turn with this key, if it has ended.
    pub(super) fn finished(&self, key: &str) -> Result<Option<Finished>, DriverError> {
        let entries = self.read(&self.lock())?;
        let last = entries.into_iter().rev().find(|entry| !key.is_empty() && entry.key == key);
        Ok(last.and_then(|entry| match entry.what {
            EntryKind::Finished(finished) => Some(finished),
            EntryKind::Started | EntryKind::Failed(_) => None,
        }))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, stored: &[Entry]) -> Result<Vec<Entry>, DriverError> {
        let Some(file) = &self.file else { return Ok(stored.to_vec()) };
        jsonl::read(file).map_err(|error| log_error(file, &error))
    }

    pub(super) fn append(&self, stored: &mut Vec<Entry>, entry: Entry) -> Result<(), DriverError> {
        match &self.file {
            None => stored.push(entry),
            Some(file) => write_line(file, &entry).map_err(|error| log_error(file, &error))?,
        }
        Ok(())
    }
}

impl Entry {
    pub(super) fn of(request: &AgentRequest, turn: usize, what: EntryKind) -> Self {
        Self { run: request.place.run.clone(), key: request.turn.clone(), turn, what }
    }
}

fn write_line(path: &Path, entry: &Entry) -> io::Result<()> {
    let mut file = jsonl::open(path)?;
    jsonl::append(&mut file, entry)?;
    file.sync_data()
}

fn log_error(file: &Path, error: &io::Error) -> DriverError {
    DriverError::new(ErrorClass::Fatal, format!("cannot keep the log of a scenario in {}: {error}", file.display()))
}
