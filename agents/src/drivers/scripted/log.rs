//! Which turns were had, and what they came to: JSON lines, in memory or in a file that is read anew each time, so that
//! several processes, one after the other, share it. The last line may be torn: its process was killed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use superstep_base::Fnv;

use crate::drivers::{AgentRequest, DriverError, ErrorClass, Finished, jsonl};

/// A line of the log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    /// The run.
    pub(super) run: String,
    /// The request's key; empty if it had none.
    pub(super) key: String,
    /// Which turn of the scenario it got, from 0.
    pub(super) turn: usize,
    pub(super) what: What,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum What {
    Begun,
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
    /// The name tells apart scenarios of the same name in different folders.
    pub(super) fn in_folder(folder: &Path, scenario: &Path) -> Self {
        let mut hash = Fnv::new();
        let whole = scenario.canonicalize().unwrap_or_else(|_| scenario.to_owned());
        hash.mix(whole.as_os_str().as_encoded_bytes());
        let stem = scenario.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = format!("{stem}-{:08x}.jsonl", hash.finish() & 0xffff_ffff);
        Self { file: Some(folder.join(name)), entries: Mutex::default() }
    }

    /// Chooses a turn by what is in the log, and notes that it has begun.
    pub(super) fn begin(
        &self,
        request: &AgentRequest,
        choose: impl FnOnce(&[Entry]) -> Result<usize, DriverError>,
    ) -> Result<usize, DriverError> {
        let mut held = self.held();
        let entries = self.read(&held)?;
        let turn = choose(&entries)?;
        self.append(&mut held, Entry::of(request, turn, What::Begun))?;
        Ok(turn)
    }

    /// What the turn of this key came to, if it has ended.
    pub(super) fn finished(&self, key: &str) -> Result<Option<Finished>, DriverError> {
        let entries = self.read(&self.held())?;
        let last = entries.into_iter().rev().find(|entry| !key.is_empty() && entry.key == key);
        Ok(last.and_then(|entry| match entry.what {
            What::Finished(finished) => Some(finished),
            What::Begun | What::Failed(_) => None,
        }))
    }

    pub(super) fn held(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, held: &[Entry]) -> Result<Vec<Entry>, DriverError> {
        let Some(file) = &self.file else { return Ok(held.to_vec()) };
        jsonl::read(file).map_err(|error| unkept(file, &error))
    }

    pub(super) fn append(&self, held: &mut Vec<Entry>, entry: Entry) -> Result<(), DriverError> {
        match &self.file {
            None => held.push(entry),
            Some(file) => write_line(file, &entry).map_err(|error| unkept(file, &error))?,
        }
        Ok(())
    }
}

impl Entry {
    pub(super) fn of(request: &AgentRequest, turn: usize, what: What) -> Self {
        Self { run: request.place.run.clone(), key: request.turn.clone(), turn, what }
    }
}

fn write_line(path: &Path, entry: &Entry) -> io::Result<()> {
    let mut file = jsonl::open(path)?;
    jsonl::append(&mut file, entry)?;
    file.sync_data()
}

fn unkept(file: &Path, error: &io::Error) -> DriverError {
    DriverError::new(ErrorClass::Fatal, format!("cannot keep the log of a scenario in {}: {error}", file.display()))
}
