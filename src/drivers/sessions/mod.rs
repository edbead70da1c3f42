//! What was said in sessions, kept in files for drivers whose models remember nothing: one folder for a session, one file of JSON
//! lines for a turn. Knows messages as JSON with a role; must not know what they mean or who carries them.
//!
//! A turn's file names the turn it follows, so two turns that follow the same one do not see each other. Each line is on disk
//! before anything depends on it; the last one may be cut by a crash and is then as if it had never been written.

mod file;
mod name;
mod read;

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::error::{DriverError, ErrorClass};
use super::event::{Finished, Usage};
use super::request::{Session, SessionRef};
pub(super) use file::TurnLog;
use name::name_of;
use read::{Told, read};

/// How many turns may follow one another.
const LONGEST: usize = 10_000;

/// A folder of sessions.
#[derive(Clone, Debug)]
pub struct SessionStore {
    directory: PathBuf,
}

/// The first line of a turn's file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Header {
    session: String,
    turn: String,
    /// The turn it follows.
    parent: Option<String>,
    role: String,
    model: Option<String>,
    /// How many messages the turn opens with; written with this line, all or none.
    opening: usize,
}

/// A line of a turn's file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Turn(Header),
    Message {
        message: Box<RawValue>,
        /// What it took to get it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// What a request took whose answer is not kept.
    Spent(Usage),
    Ended(Finished),
}

/// Which turn is opened.
pub(super) struct Opening<'a> {
    pub(super) session: &'a Session,
    pub(super) turn: &'a str,
    pub(super) role: &'a str,
    pub(super) model: Option<&'a str>,
}

/// An open turn.
pub(super) struct OpenTurn {
    /// How to go on after it.
    pub(super) at: SessionRef,
    /// Where it is written.
    pub(super) log: TurnLog,
    /// All that was said, in this turn and those before it.
    pub(super) said: Said,
    /// Where in `said` this turn begins, in bytes.
    pub(super) begins: usize,
    /// What this turn has used.
    pub(super) usage: Usage,
    /// What it came to, if it has ended.
    pub(super) ended: Option<Finished>,
    /// Whether it had begun before.
    pub(super) goes_on: bool,
}

/// The messages of a conversation, as the JSON they were stored as.
#[derive(Default)]
pub(super) struct Said {
    /// All of them, with commas between.
    pub(super) joined: String,
    /// From the assistant's last message on.
    pub(super) tail: Vec<Box<RawValue>>,
}

impl SessionStore {
    /// Returns the store in a folder, which is made (for its owner alone) with the first turn.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Removes a session with all its turns; one that is not there is no mistake.
    ///
    /// # Errors
    /// If its folder cannot be removed.
    pub fn forget(&self, session: &str) -> io::Result<()> {
        match std::fs::remove_dir_all(self.folder(session)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn folder(&self, session: &str) -> PathBuf {
        self.directory.join(name_of(session))
    }

    fn path(&self, session: &str, turn: &str) -> PathBuf {
        self.folder(session).join(format!("{}.jsonl", name_of(turn)))
    }

    /// Returns what a turn came to that has ended.
    pub(super) fn ended(&self, session: Option<&SessionRef>, turn: &str) -> Result<Option<Finished>, DriverError> {
        let session = session.map_or(turn, |session| &session.id);
        if turn.is_empty() {
            return Ok(None);
        }
        let mut ended = None;
        let known = read(&self.path(session, turn), |told| {
            if let Told::Ended(finished) = told {
                ended = Some(finished);
            }
        })?;
        Ok(ended.filter(|_| known.header.is_some_and(|header| header.turn == turn)))
    }

    /// Keeps what a turn came to of which nothing else is kept here, for an agent that remembers by itself what was said. A turn
    /// without a key is not kept. May block.
    pub(super) fn keep(&self, asked: &Opening<'_>, finished: Finished) -> Result<(), DriverError> {
        if asked.turn.is_empty() {
            return Ok(());
        }
        let turn = asked.turn.to_owned();
        let (session, parent) = match asked.session {
            Session::New => (turn.clone(), None),
            Session::Resume(before) => (before.id.clone(), Some(before.turn.clone())),
        };
        self.make_folder(&session).map_err(|error| unusable(&self.directory, &error))?;
        let log = TurnLog::open(&self.path(&session, &turn))?;
        log.cut(0)?;
        let (role, model) = (asked.role.to_owned(), asked.model.map(str::to_owned));
        log.begin(&[Line::Turn(Header { session, turn, parent, role, model, opening: 0 }), Line::Ended(finished)])
    }

    /// Opens a turn: the one that was begun under this key, or a new one that begins with the messages `opening` makes from
    /// the tail of what was said before.
    pub(super) fn open(
        &self,
        asked: &Opening<'_>,
        opening: impl FnOnce(&Said) -> Vec<serde_json::Value>,
    ) -> Result<OpenTurn, DriverError> {
        let turn = if asked.turn.is_empty() { fresh() } else { asked.turn.to_owned() };
        let (session, parent) = match asked.session {
            Session::New => (turn.clone(), None),
            Session::Resume(before) => (before.id.clone(), Some(before.turn.clone())),
        };
        let mut said = Said::default();
        if let Some(parent) = &parent {
            self.past(&session, parent, &turn, &mut said)?;
        }
        let path = self.path(&session, &turn);
        self.make_folder(&session).map_err(|error| unusable(&self.directory, &error))?;
        let log = TurnLog::open(&path)?;
        let header = Header {
            role: asked.role.to_owned(),
            model: asked.model.map(str::to_owned),
            opening: 0,
            session: session.clone(),
            turn: turn.clone(),
            parent,
        };
        let mut open = OpenTurn {
            at: SessionRef { id: session, turn },
            log,
            begins: said.joined.len(),
            said,
            usage: Usage::default(),
            ended: None,
            goes_on: true,
        };
        if !open.take_up(&path, &header)? {
            open.goes_on = false;
            let opening = opening(&open.said);
            open.begin(header, &opening)?;
        }
        Ok(open)
    }

    /// Reads what was said in a turn and those before it.
    fn past(&self, session: &str, last: &str, asked: &str, said: &mut Said) -> Result<(), DriverError> {
        let (mut line, mut next) = (Vec::new(), Some(last.to_owned()));
        while let Some(turn) = next {
            let path = self.path(session, &turn);
            let known = read(&path, |_| ())?;
            let Some(header) = known.header.filter(|header| header.turn == turn && header.session == session) else {
                return Err(lost(session, &turn));
            };
            if line.len() >= LONGEST || turn == asked {
                return Err(lost(session, &turn).help("the turns of this session go in a circle"));
            }
            next = header.parent;
            line.push(path);
        }
        for path in line.iter().rev() {
            read(path, |told| said.take(told))?;
        }
        Ok(())
    }

    fn make_folder(&self, session: &str) -> io::Result<()> {
        let folder = self.folder(session);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        file::sync_folder(&self.directory)
    }
}

impl OpenTurn {
    /// Takes up a turn that was begun before; returns false if there is none, or none that had got as far as its opening.
    fn take_up(&mut self, path: &Path, asked: &Header) -> Result<bool, DriverError> {
        let (mut own, mut usage, mut ended, mut count) = (Said::default(), Usage::default(), None, 0);
        let known = read(path, |told| {
            match &told {
                Told::Message(_, used) => {
                    count += 1;
                    usage += used.unwrap_or_default();
                }
                Told::Spent(used) => usage += *used,
                Told::Ended(finished) => ended = Some(finished.clone()),
            }
            own.take(told);
        })?;
        let Some(header) = known.header.filter(|header| count >= header.opening) else { return Ok(false) };
        if (&header.turn, &header.parent) != (&asked.turn, &asked.parent) {
            let message = format!("the turn `{}` was begun after another one", asked.turn);
            return Err(DriverError::new(ErrorClass::Fatal, message).help("give each turn a key of its own"));
        }
        self.log.cut(known.whole)?;
        (self.usage, self.ended) = (usage, ended);
        self.said.append(own);
        Ok(true)
    }

    /// Writes the head of a new turn.
    fn begin(&mut self, header: Header, opening: &[serde_json::Value]) -> Result<(), DriverError> {
        self.log.cut(0)?;
        let mut lines = vec![Line::Turn(Header { opening: opening.len(), ..header })];
        for message in opening {
            let message = serde_json::value::to_raw_value(message).map_err(|error| file::unwritable(&error.into()))?;
            self.said.take(Told::Message(message.clone(), None));
            lines.push(Line::Message { message, usage: None });
        }
        self.log.begin(&lines)
    }
}

impl Said {
    /// Takes a message up.
    pub(super) fn push(&mut self, message: Box<RawValue>) {
        if !self.joined.is_empty() {
            self.joined.push(',');
        }
        self.joined.push_str(message.get());
        if is_assistant(&message) {
            self.tail.clear();
            self.tail.push(message);
        } else if !self.tail.is_empty() {
            self.tail.push(message);
        }
    }

    fn take(&mut self, told: Told) {
        if let Told::Message(message, _) = told {
            self.push(message);
        }
    }

    /// What was said later comes behind.
    fn append(&mut self, later: Self) {
        if !self.joined.is_empty() && !later.joined.is_empty() {
            self.joined.push(',');
        }
        self.joined.push_str(&later.joined);
        self.tail = later.tail;
    }
}

fn is_assistant(message: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct Role {
        role: String,
    }
    serde_json::from_str::<Role>(message.get()).is_ok_and(|said| said.role == "assistant")
}

fn lost(session: &str, turn: &str) -> DriverError {
    DriverError::new(ErrorClass::SessionLost, format!("the session `{session}` has no turn `{turn}` to go on from"))
        .help("begin a new session")
}

fn unusable(directory: &Path, error: &io::Error) -> DriverError {
    let message = format!("sessions cannot be kept in {}: {error}", directory.display());
    DriverError::new(ErrorClass::Fatal, message)
}

/// A key for a turn that was given none.
fn fresh() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("{nanos:x}-{:x}-{count:x}", std::process::id())
}
