//! Records turns of a driver in a cassette, and replays them: JSON lines for request, events and end of each turn. A
//! request is compared by its prompts and permissions, not by place, time and key.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, io};

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use superstep_base::Fnv;
use superstep_base::text::first_chars;

use crate::drivers::driver::forward_methods;
use crate::drivers::{
    AgentEvent, AgentEvents, AgentRequest, Capabilities, Driver, DriverError, DriverErrorClass, Finished, Session,
    SessionRef, events, jsonl,
};

/// Runs turns and writes them to a cassette, to be replayed by [`Replaying`](super::Replaying): JSON lines, one for the
/// request, one for each event, one for the end; on disk before the turn starts, and before its end is reported.
///
/// The cassette contains prompts and answers unchanged. Wrap the driver in [`Redacted`](super::Redacted) first if they
/// may contain secrets. An existing cassette is extended.
#[derive(Debug)]
pub struct Recording<D> {
    driver: D,
    tape: Arc<Tape>,
}

#[derive(Debug)]
struct Tape {
    path: PathBuf,
    open: Mutex<TapeState>,
}

#[derive(Debug)]
struct TapeState {
    file: File,
    next: u64,
}

impl<D: Driver> Recording<D> {
    /// Records a driver to a file.
    ///
    /// # Errors
    /// [`Fatal`](crate::drivers::DriverErrorClass::Fatal) if the file cannot be opened.
    pub fn new(driver: D, file: impl AsRef<Path>) -> Result<Self, DriverError> {
        let path = file.as_ref().to_owned();
        let open = || Ok(TapeState { file: jsonl::open(&path)?, next: next_turn(&path)? });
        let open = open().map_err(|error| cassette_error(&path, &error))?;
        Ok(Self { driver, tape: Arc::new(Tape { path, open: Mutex::new(open) }) })
    }
}

impl Tape {
    fn begin(&self, request: &AgentRequest) -> Result<u64, DriverError> {
        let asked = RequestKey::of(request);
        let what = EntryKind::Request { hash: asked.hash(), key: request.turn.clone(), asked };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = open.next;
        open.next += 1;
        self.write(&mut open, &Line { turn, what }, true)?;
        Ok(turn)
    }

    fn add(&self, turn: u64, what: EntryKind, sync: bool) -> Result<(), DriverError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        self.write(&mut open, &Line { turn, what }, sync)
    }

    fn write(&self, open: &mut TapeState, line: &Line, sync: bool) -> Result<(), DriverError> {
        let written =
            jsonl::append(&mut open.file, line).and_then(|()| if sync { open.file.sync_data() } else { Ok(()) });
        written.map_err(|error| cassette_error(&self.path, &error))
    }
}

impl<D: Driver> Driver for Recording<D> {
    forward_methods!();

    fn run(&self, request: AgentRequest) -> AgentEvents {
        let tape = Arc::clone(&self.tape);
        let mut inner = self.driver.run(request.clone());
        events(|sender| async move {
            let turn = tape.begin(&request)?;
            loop {
                match inner.next().await.unwrap_or_else(|| Err(DriverError::no_result(""))) {
                    Ok(AgentEvent::Finished(finished)) => {
                        tape.add(turn, EntryKind::Finished(finished.clone()), true)?;
                        return Ok(finished);
                    }
                    Ok(event) => {
                        tape.add(turn, EntryKind::Event(event.clone()), false)?;
                        sender.send(event).await;
                    }
                    Err(error) => {
                        tape.add(turn, EntryKind::Failed(error.clone()), true)?;
                        return Err(error);
                    }
                }
            }
        })
    }
}

/// Replays turns from a cassette written by [`Recording`](super::Recording). Files are not changed again.
///
/// A request gets the turn with its [key](AgentRequest::turn), if the requests are equal, else the first unused turn
/// with an equal request: role, model, session, system, prompt, submit tool and access. The folder's path, the limits
/// and the place in a run may differ. If there is none, the error names the difference to the expected turn.
#[derive(Clone, Debug)]
pub struct Replaying {
    file: PathBuf,
    turns: Arc<[RecordedTurn]>,
    used: Arc<Mutex<Vec<bool>>>,
}

impl Replaying {
    /// Reads a cassette. Unfinished turns are left out.
    ///
    /// # Errors
    /// [`Fatal`](DriverErrorClass::Fatal) if it cannot be read.
    pub fn open(file: impl AsRef<Path>) -> Result<Self, DriverError> {
        let file = file.as_ref().to_owned();
        std::fs::metadata(&file).map_err(|error| cassette_error(&file, &error))?;
        let turns: Arc<[RecordedTurn]> = read(&file).map_err(|error| cassette_error(&file, &error))?.into();
        let used = Arc::new(Mutex::new(vec![false; turns.len()]));
        Ok(Self { file, turns, used })
    }

    fn choose(&self, request: &AgentRequest) -> Result<usize, DriverError> {
        let asked = RequestKey::of(request);
        let hash = asked.hash();
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let turns = || self.turns.iter().enumerate();
        let is_named = |turn: &RecordedTurn| !request.turn.is_empty() && turn.key == request.turn;
        let named = turns().find(|(_, turn)| is_named(turn) && turn.hash == hash);
        let found = named.or_else(|| turns().find(|(number, turn)| !used[*number] && turn.hash == hash));
        if let Some((number, _)) = found {
            used[number] = true;
            return Ok(number);
        }
        let named = turns().find(|(_, turn)| is_named(turn));
        let near = named.or_else(|| turns().find(|(number, turn)| !used[*number] && turn.asked.role == asked.role));
        let differs = near.and_then(|(number, turn)| Some((number, turn.asked.difference(&asked)?)));
        let why = match differs {
            Some((number, difference)) => format!("of turn {}, {difference}", number + 1),
            None => format!("it has no more turns of {}", asked.role),
        };
        let message = format!("the cassette {} does not match: {why}", self.file.display());
        Err(DriverError::new(DriverErrorClass::Fatal, message)
            .help("record it again, or undo the change of the requests"))
    }
}

impl Driver for Replaying {
    fn name(&self) -> &str {
        "cassette"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { sessions: true, submits: true, tools: true, usage: true, cost: true }
    }

    fn keeps_limits(&self) -> bool {
        true
    }

    fn run(&self, request: AgentRequest) -> AgentEvents {
        let this = self.clone();
        events(|sender| async move {
            let turn = &this.turns[this.choose(&request)?];
            for event in &turn.events {
                if request.cancel.is_cancelled() {
                    return Err(DriverError::new(DriverErrorClass::Cancelled, "the turn was cancelled"));
                }
                sender.send(event.clone()).await;
            }
            turn.end.clone()
        })
    }

    fn finished_turn<'a>(
        &'a self,
        _: Option<&'a SessionRef>,
        turn: &'a str,
    ) -> BoxFuture<'a, Result<Option<Finished>, DriverError>> {
        let mut named = self.turns.iter().rev().filter(|recorded| !turn.is_empty() && recorded.key == turn);
        Box::pin(std::future::ready(Ok(named.find_map(|recorded| recorded.end.clone().ok()))))
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    /// Number of the turn in the cassette; distinguishes parallel turns.
    turn: u64,
    #[serde(flatten)]
    what: EntryKind,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EntryKind {
    Request { hash: String, key: String, asked: RequestKey },
    Event(AgentEvent),
    Finished(Finished),
    Failed(DriverError),
}

/// A recorded turn that has ended.
#[derive(Debug)]
struct RecordedTurn {
    hash: String,
    key: String,
    asked: RequestKey,
    events: Vec<AgentEvent>,
    end: Result<Finished, DriverError>,
}

/// Reads the finished turns, in the order in which they started.
fn read(file: &Path) -> io::Result<Vec<RecordedTurn>> {
    let mut turns = Vec::new();
    for Line { turn, what } in jsonl::read(file)? {
        match what {
            EntryKind::Request { hash, key, asked } => turns.push((turn, hash, key, asked, vec![], None)),
            what => {
                let Some(open) = turns.iter_mut().rev().find(|open| open.0 == turn) else { continue };
                match what {
                    EntryKind::Event(event) => open.4.push(event),
                    EntryKind::Finished(finished) => open.5 = Some(Ok(finished)),
                    EntryKind::Failed(error) => open.5 = Some(Err(error)),
                    EntryKind::Request { .. } => {}
                }
            }
        }
    }
    let whole = |(_, hash, key, asked, events, end)| Some(RecordedTurn { hash, key, asked, events, end: end? });
    Ok(turns.into_iter().filter_map(whole).collect())
}

/// Returns the number of the next turn.
fn next_turn(file: &Path) -> io::Result<u64> {
    let lines: Vec<Line> = jsonl::read(file)?;
    Ok(lines.iter().map(|line| line.turn + 1).max().unwrap_or(0))
}

fn cassette_error(file: &Path, error: &io::Error) -> DriverError {
    DriverError::new(DriverErrorClass::Fatal, format!("cannot use the cassette {}: {error}", file.display()))
}

/// Replacement for the agent's folder.
const FOLDER: &str = "{directory}";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct RequestKey {
    role: String,
    model: Option<String>,
    system: String,
    prompt: String,
    /// Id of the session; `None` for a new one.
    session: Option<String>,
    /// Name, description and schema of the submit tool.
    submit: Option<(String, String, Value)>,
    write: bool,
    shell: Option<Vec<String>>,
}

impl RequestKey {
    fn of(request: &AgentRequest) -> Self {
        let folder = request.directory.display().to_string();
        let anywhere = |text: &str| if folder.len() > 1 { text.replace(&folder, FOLDER) } else { text.to_owned() };
        let session = match &request.session {
            Session::New => None,
            Session::Resume(session) => Some(session.id.clone()),
        };
        let submit = request.submit.as_ref();
        Self {
            role: request.role.clone(),
            model: request.model.clone(),
            system: anywhere(&request.system),
            prompt: anywhere(&request.prompt),
            session,
            submit: submit.map(|tool| (tool.name.clone(), tool.description.clone(), tool.schema.clone())),
            write: request.access.write,
            shell: request.access.shell.as_ref().map(|shell| shell.prefix.clone()),
        }
    }

    /// Returns a hash that is the same on every machine.
    fn hash(&self) -> String {
        let text = serde_json::to_vec(self).unwrap_or_default();
        let half = |seed| {
            let mut hash = Fnv::with_seed(seed);
            hash.mix(&text);
            hash.finish()
        };
        format!("{:016x}{:016x}", half(0), half(1))
    }

    /// Returns the first difference.
    fn difference(&self, asked: &Self) -> Option<Difference> {
        let fields = |of: &Self| match serde_json::to_value(of) {
            Ok(Value::Object(fields)) => fields,
            _ => serde_json::Map::new(),
        };
        let (recorded, asked) = (fields(self), fields(asked));
        let order = ["role", "model", "session", "write", "shell", "submit", "system", "prompt"];
        let differs = |field: &&str| recorded.get(*field) != asked.get(*field);
        let field = order.into_iter().find(differs)?;
        let text = |value: Option<&Value>| match value {
            Some(Value::String(text)) => text.clone(),
            value => value.unwrap_or(&Value::Null).to_string(),
        };
        Some(Difference::of(field, &text(recorded.get(field)), &text(asked.get(field))))
    }
}

/// Difference of two requests.
#[derive(Debug)]
struct Difference {
    field: &'static str,
    line: usize,
    recorded: String,
    asked: String,
}

impl Difference {
    fn of(field: &'static str, recorded: &str, asked: &str) -> Self {
        let same = recorded.lines().zip(asked.lines()).take_while(|(one, other)| one == other).count();
        let line = |text: &str| text.lines().nth(same).map(truncate).unwrap_or_default();
        Self { field, line: same + 1, recorded: line(recorded), asked: line(asked) }
    }
}

fn truncate(line: &str) -> String {
    let short = first_chars(line, 120);
    if short == line { line.to_owned() } else { format!("{short}…") }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, line, recorded, asked } = self;
        write!(f, "`{field}` differs in line {line}: recorded `{recorded}`, asked `{asked}`")
    }
}
