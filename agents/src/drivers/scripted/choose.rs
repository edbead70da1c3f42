//! Selects the scenario turn for a request, by the log of used turns and their results: JSON lines, in memory or in a file
//! that is re-read each time, so that several processes can use it in turn. The last line may be torn by a kill.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use superstep_base::Fnv;
use superstep_base::composed::comparable;
use superstep_base::moved::stored_path;

use super::scenario::{Conditions, Scenario, SessionKind, Turn};
use crate::drivers::{AgentRequest, DriverError, DriverErrorClass, Finished, Session, jsonl};

/// Turn selected for a request.
pub(super) struct ChosenTurn<'a> {
    /// Its index in the scenario, from 0.
    pub(super) number: usize,
    pub(super) turn: &'a Turn,
}

/// Selects a turn and records it in the log.
pub(super) fn turn<'a>(
    scenario: &'a Scenario,
    log: &Log,
    request: &AgentRequest,
) -> Result<ChosenTurn<'a>, DriverError> {
    let number = log.begin(request, |entries| {
        let again = unfinished_turn(entries, request).filter(|number| *number < scenario.turns.len());
        again.or_else(|| next(scenario, entries, request)).ok_or_else(|| no_match_error(scenario, entries, request))
    })?;
    Ok(ChosenTurn { number, turn: &scenario.turns[number] })
}

/// Returns the turn that the same request got before, if it has not ended.
fn unfinished_turn(entries: &[Entry], request: &AgentRequest) -> Option<usize> {
    let is_same = |entry: &&Entry| entry.run == request.place.run && entry.key == request.turn;
    let last = entries.iter().rev().find(is_same).filter(|_| !request.turn.is_empty())?;
    matches!(last.what, EntryKind::Started).then_some(last.turn)
}

/// Returns the first turn that matches and is not used up.
fn next(scenario: &Scenario, entries: &[Entry], request: &AgentRequest) -> Option<usize> {
    let free = |(number, turn): &(usize, &Turn)| turn.times.allow(use_count(entries, *number, request));
    let mut fitting = scenario.turns.iter().enumerate().filter(|(_, turn)| turn.conditions.mismatch(request).is_none());
    fitting.find(free).map(|(number, _)| number)
}

/// Counts the uses of a turn in the run. A turn without a key counts when it starts, others when they end.
fn use_count(entries: &[Entry], number: usize, request: &AgentRequest) -> usize {
    let counts = |entry: &&Entry| match entry.what {
        EntryKind::Started => entry.key.is_empty() || is_open(entries, entry),
        EntryKind::Finished(_) | EntryKind::Failed(_) => !entry.key.is_empty(),
    };
    entries.iter().filter(|entry| entry.turn == number && entry.run == request.place.run).filter(counts).count()
}

/// Returns whether the entry is the last one of a started turn: no other request may get that turn meanwhile.
fn is_open(entries: &[Entry], entry: &Entry) -> bool {
    let last = entries.iter().rev().find(|other| other.run == entry.run && other.key == entry.key);
    last.is_some_and(|last| std::ptr::eq(last, entry))
}

impl Conditions {
    /// Returns the reason why a request does not match.
    fn mismatch(&self, request: &AgentRequest) -> Option<String> {
        let place = &request.place;
        let kind = if request.session == Session::New { SessionKind::New } else { SessionKind::Resumed };
        if let Some(role) = self.role.as_ref().filter(|role| **role != request.role) {
            return Some(format!("is for the {role}"));
        }
        if let Some(task) = self.task.as_ref().filter(|task| **task != place.task) {
            return Some(format!("is for task `{task}`"));
        }
        if let Some(attempt) = self.attempt.filter(|attempt| *attempt != place.attempt) {
            return Some(format!("is for attempt {attempt}"));
        }
        if let Some(session) = self.session.filter(|session| *session != kind) {
            return Some(format!("is for a {session} session"));
        }
        if self.contains.iter().all(|text| request.prompt.contains(text.as_str())) {
            return None;
        }
        // A file of Windows or macOS says the same in other characters.
        let prompt = comparable(&request.prompt);
        let missing = self.contains.iter().find(|text| !prompt.contains(&comparable(text)))?;
        Some(format!("expects `{missing}` in the prompt"))
    }
}

fn no_match_error(scenario: &Scenario, entries: &[Entry], request: &AgentRequest) -> DriverError {
    let asked = match (request.place.task.as_str(), request.place.attempt) {
        ("", _) => request.role.clone(),
        (task, 0) => format!("{}, task `{task}`", request.role),
        (task, attempt) => format!("{}, task `{task}`, attempt {attempt}", request.role),
    };
    let is_near = |turn: &Turn| turn.conditions.role.as_ref().is_none_or(|role| *role == request.role);
    let why = |number: usize, turn: &Turn| match turn.conditions.mismatch(request) {
        Some(why) => why,
        None => match use_count(entries, number, request) {
            1 => "was already used".to_owned(),
            times => format!("was already used {times} times"),
        },
    };
    let near = scenario.turns.iter().enumerate().filter(|(_, turn)| is_near(turn));
    let near: Vec<String> =
        near.map(|(number, turn)| format!("turn {} {}", number + 1, why(number, turn))).take(8).collect();
    let help = match near.is_empty() {
        true => format!("add a turn with `role: {}`", request.role),
        false => near.join("; "),
    };
    DriverError::new(DriverErrorClass::Fatal, format!("no turn of {} fits: {asked}", scenario.file_name())).help(help)
}

impl Log {
    /// Records the result of a turn. A cancelled turn is not recorded, like one whose process was killed: it will be
    /// repeated.
    pub(super) fn record_end(
        &self,
        chosen: &ChosenTurn<'_>,
        request: &AgentRequest,
        ended: &Result<Finished, DriverError>,
    ) -> Result<(), DriverError> {
        let what = match ended {
            Ok(finished) => EntryKind::Finished(finished.clone()),
            Err(error) if error.class == DriverErrorClass::Cancelled => return Ok(()),
            Err(error) => EntryKind::Failed(error.class),
        };
        self.append(&mut self.lock(), Entry::of(request, chosen.number, what))
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    /// The run.
    run: String,
    /// Key of the request; empty if it had none.
    key: String,
    /// Index of the scenario turn it got, from 0.
    turn: usize,
    what: EntryKind,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EntryKind {
    #[serde(rename = "begun")]
    Started,
    Finished(Finished),
    Failed(DriverErrorClass),
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
        hash.mix(stored_path(whole).as_os_str().as_encoded_bytes());
        let stem = scenario.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = format!("{stem}-{:08x}.jsonl", hash.finish() & 0xffff_ffff);
        Self { file: Some(folder.join(name)), entries: Mutex::default() }
    }

    /// Selects a turn by the entries of the log, and records that it has started.
    fn begin(
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
    pub(super) fn finished_turn(&self, key: &str) -> Result<Option<Finished>, DriverError> {
        let entries = self.read(&self.lock())?;
        let last = entries.into_iter().rev().find(|entry| !key.is_empty() && entry.key == key);
        Ok(last.and_then(|entry| match entry.what {
            EntryKind::Finished(finished) => Some(finished),
            EntryKind::Started | EntryKind::Failed(_) => None,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, stored: &[Entry]) -> Result<Vec<Entry>, DriverError> {
        let Some(file) = &self.file else { return Ok(stored.to_vec()) };
        jsonl::read(file).map_err(|error| log_error(file, &error))
    }

    fn append(&self, stored: &mut Vec<Entry>, entry: Entry) -> Result<(), DriverError> {
        match &self.file {
            None => stored.push(entry),
            Some(file) => write_line(file, &entry).map_err(|error| log_error(file, &error))?,
        }
        Ok(())
    }
}

impl Entry {
    fn of(request: &AgentRequest, turn: usize, what: EntryKind) -> Self {
        Self { run: request.place.run.clone(), key: request.turn.clone(), turn, what }
    }
}

fn write_line(path: &Path, entry: &Entry) -> io::Result<()> {
    let mut file = jsonl::open(path)?;
    jsonl::append(&mut file, entry)?;
    file.sync_data()
}

fn log_error(file: &Path, error: &io::Error) -> DriverError {
    DriverError::new(
        DriverErrorClass::Fatal,
        format!("cannot keep the log of a scenario in {}: {error}", file.display()),
    )
}
