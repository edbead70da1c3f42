//! Conversations stored in files, for drivers whose models are stateless: one folder per session, one file per turn, and
//! the order of the turns. Knows messages as JSON with a role; must not know their meaning or transport.
//!
//! A turn's file names the previous turn, so two turns that follow the same one do not see each other.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use superstep_base::Fnv;

use super::session_file::{Entry, Header, Line, TurnLog, read, store_error, sync_folder, write_error};
use super::{DriverError, DriverErrorClass, Finished, Session, SessionRef, Usage};

/// Maximum number of turns in a session.
const MAX_TURNS: usize = 10_000;

/// Folder of sessions.
#[derive(Clone, Debug)]
pub struct SessionStore {
    directory: PathBuf,
}

impl SessionStore {
    /// Returns the store in a folder, which is created (with access for its owner only) with the first turn.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Removes a session with all its turns, if it exists.
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

    /// Returns the result of a finished turn.
    pub(super) fn finished_turn(
        &self,
        session: Option<&SessionRef>,
        turn: &str,
    ) -> Result<Option<Finished>, DriverError> {
        let session = session.map_or(turn, |session| &session.id);
        if turn.is_empty() {
            return Ok(None);
        }
        let mut ended = None;
        let state = read(&self.path(session, turn), |entry| {
            if let Entry::Ended(finished) = entry {
                ended = Some(finished);
            }
        })?;
        Ok(ended.filter(|_| state.header.is_some_and(|header| header.turn == turn)))
    }

    /// Stores only the result of a turn, for an agent that stores its conversations itself. A turn without a key is not
    /// stored. May block.
    pub(super) fn store_result(&self, request: &TurnRequest<'_>, finished: Finished) -> Result<(), DriverError> {
        if request.turn.is_empty() {
            return Ok(());
        }
        let turn = request.turn.to_owned();
        let (session, parent) = request.origin(&turn);
        self.make_folder(&session).map_err(|error| store_error(&self.directory, &error))?;
        let log = TurnLog::open(&self.path(&session, &turn))?;
        log.cut(0)?;
        let (role, model) = (request.role.to_owned(), request.model.map(str::to_owned));
        log.begin(&[Line::Turn(Header { session, turn, parent, role, model, opening: 0 }), Line::Ended(finished)])
    }

    /// Opens a turn: an existing one with this key, or a new one with the initial messages that `opening` returns for
    /// the earlier ones.
    pub(super) fn open(
        &self,
        request: &TurnRequest<'_>,
        opening: impl FnOnce(&Messages) -> Vec<Value>,
    ) -> Result<OpenTurn, DriverError> {
        // A turn without a key gets a unique one, so that it never resumes another turn.
        let turn = if request.turn.is_empty() { generate_key() } else { request.turn.to_owned() };
        let (session, parent) = request.origin(&turn);
        let mut messages = Messages::default();
        // `opening` depends on the earlier messages, so they are read first.
        if let Some(parent) = &parent {
            self.load_history(&session, parent, &turn, &mut messages)?;
        }
        let path = self.path(&session, &turn);
        self.make_folder(&session).map_err(|error| store_error(&self.directory, &error))?;
        // Locks the file: only one process at a time runs the turn.
        let log = TurnLog::open(&path)?;
        let header = Header {
            role: request.role.to_owned(),
            model: request.model.map(str::to_owned),
            opening: 0,
            session: session.clone(),
            turn: turn.clone(),
            parent,
        };
        let mut open = OpenTurn {
            at: SessionRef { id: session, turn },
            log,
            begins: messages.joined.len(),
            messages,
            usage: Usage::default(),
            ended: None,
            is_resumed: true,
        };
        // The file is new, or a kill left its first lines incomplete: the turn starts from the beginning.
        if !open.resume(&path, &header)? {
            open.is_resumed = false;
            let opening = opening(&open.messages);
            open.begin(header, &opening)?;
        }
        Ok(open)
    }

    /// Reads the messages of a turn and of those before it.
    fn load_history(
        &self,
        session: &str,
        last: &str,
        current: &str,
        messages: &mut Messages,
    ) -> Result<(), DriverError> {
        let (mut line, mut next) = (Vec::new(), Some(last.to_owned()));
        while let Some(turn) = next {
            let path = self.path(session, &turn);
            let state = read(&path, |_| ())?;
            let Some(header) = state.header.filter(|header| header.turn == turn && header.session == session) else {
                return Err(missing_turn(session, &turn));
            };
            if line.len() >= MAX_TURNS || turn == current {
                return Err(missing_turn(session, &turn).help("the turns of this session form a cycle"));
            }
            next = header.parent;
            line.push(path);
        }
        for path in line.iter().rev() {
            read(path, |entry| messages.take(entry))?;
        }
        Ok(())
    }

    fn make_folder(&self, session: &str) -> io::Result<()> {
        let folder = self.folder(session);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        sync_folder(&self.directory)
    }
}

fn missing_turn(session: &str, turn: &str) -> DriverError {
    DriverError::new(
        DriverErrorClass::SessionLost,
        format!("the session `{session}` has no turn `{turn}` to resume from"),
    )
    .help("start a new session")
}

/// Returns a unique key for a turn without one.
fn generate_key() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("{nanos:x}-{:x}-{count:x}", std::process::id())
}

/// Identification of the turn to open.
pub(super) struct TurnRequest<'a> {
    pub(super) session: &'a Session,
    pub(super) turn: &'a str,
    pub(super) role: &'a str,
    pub(super) model: Option<&'a str>,
}

impl TurnRequest<'_> {
    /// Returns the session of the turn with this key, and the turn before it.
    fn origin(&self, turn: &str) -> (String, Option<String>) {
        match self.session {
            Session::New => (turn.to_owned(), None),
            Session::Resume(before) => (before.id.clone(), Some(before.turn.clone())),
        }
    }
}

pub(super) struct OpenTurn {
    /// Reference for resuming the session after it.
    pub(super) at: SessionRef,
    /// File of the turn.
    pub(super) log: TurnLog,
    /// All messages, of this turn and those before it.
    pub(super) messages: Messages,
    /// Offset in [`Messages::joined`] at which this turn starts, in bytes.
    pub(super) begins: usize,
    /// Usage of this turn.
    pub(super) usage: Usage,
    /// Its result, if it has ended.
    pub(super) ended: Option<Finished>,
    /// Set if it was started before.
    pub(super) is_resumed: bool,
}

impl OpenTurn {
    /// Resumes an existing turn; returns false if there is none, or its first lines are incomplete.
    fn resume(&mut self, path: &Path, expected: &Header) -> Result<bool, DriverError> {
        let (mut own, mut usage, mut ended, mut count) = (Messages::default(), Usage::default(), None, 0);
        let state = read(path, |entry| {
            match &entry {
                Entry::Message(_, used) => {
                    count += 1;
                    usage += used.unwrap_or_default();
                }
                Entry::Spent(used) => usage += *used,
                Entry::Ended(finished) => ended = Some(finished.clone()),
            }
            own.take(entry);
        })?;
        let Some(header) = state.header.filter(|header| count >= header.opening) else { return Ok(false) };
        if (&header.turn, &header.parent) != (&expected.turn, &expected.parent) {
            let message = format!("the turn `{}` was started after another one", expected.turn);
            return Err(DriverError::new(DriverErrorClass::Fatal, message).help("give each turn a different key"));
        }
        self.log.cut(state.whole)?;
        (self.usage, self.ended) = (usage, ended);
        self.messages.append(own);
        Ok(true)
    }

    /// Writes the first lines of a new turn.
    fn begin(&mut self, header: Header, opening: &[Value]) -> Result<(), DriverError> {
        self.log.cut(0)?;
        let mut lines = vec![Line::Turn(Header { opening: opening.len(), ..header })];
        for message in opening {
            let message = to_raw_value(message).map_err(|error| write_error(&error.into()))?;
            self.messages.take(Entry::Message(message.clone(), None));
            lines.push(Line::Message { message, usage: None });
        }
        self.log.begin(&lines)
    }
}

/// Messages of a conversation, as stored JSON.
#[derive(Default)]
pub(super) struct Messages {
    /// All messages, joined by commas.
    pub(super) joined: String,
    /// The assistant's last message and all that follow it.
    pub(super) tail: Vec<Box<RawValue>>,
}

impl Messages {
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

    fn take(&mut self, entry: Entry) {
        if let Entry::Message(message, _) = entry {
            self.push(message);
        }
    }

    /// Appends later messages.
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
    serde_json::from_str::<Role>(message.get()).is_ok_and(|message| message.role == "assistant")
}

/// Length of the longest name that contains its key unchanged.
const LONGEST_NAME: usize = 120;

/// Returns a file name for a key: unique, also on case-insensitive file systems.
fn name_of(key: &str) -> String {
    let mut name = String::with_capacity(key.len());
    for (nth, byte) in key.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            b'.' if nth > 0 => name.push('.'),
            other => name.push_str(&format!("%{other:02x}")),
        }
    }
    match name.len() {
        0 => "%".to_owned(),
        1..=LONGEST_NAME => name,
        _ => {
            let hash = |seed| {
                let mut hash = Fnv::with_seed(seed);
                hash.mix(key.as_bytes());
                hash.finish()
            };
            format!("{}%{:016x}{:016x}", &name[..LONGEST_NAME - 40], hash(0), hash(1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("essay-1", "essay-1")]
    #[case("", "%")]
    #[case("..", "%2e.")]
    #[case("a/../b", "a%2f..%2fb")]
    #[case("A", "%41")]
    #[case("ü\0", "%c3%bc%00")]
    fn a_name_is_safe(#[case] key: &str, #[case] name: &str) {
        assert_eq!(name_of(key), name);
    }

    #[test]
    fn long_keys_have_names_of_their_own() {
        let (one, other) = (name_of(&"ä/".repeat(500)), name_of(&"ä/".repeat(501)));
        assert!(one.len() < 200 && one != other, "{one} {other}");
    }
}
