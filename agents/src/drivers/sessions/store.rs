//! [`SessionStore`]: location of session files, and the order of turns.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use super::file::{TurnLog, sync_folder};
use super::line::{Header, Line};
use super::messages::Messages;
use super::name::name_of;
use super::read::{Entry, read};
use super::turn::{OpenTurn, TurnRequest};
use super::unusable::unusable;
use crate::drivers::{DriverError, ErrorClass, Finished, Session, SessionRef, Usage};

/// Maximum number of turns in a session.
const LONGEST: usize = 10_000;

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
    pub(in crate::drivers) fn ended(
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
    pub(in crate::drivers) fn store_result(
        &self,
        request: &TurnRequest<'_>,
        finished: Finished,
    ) -> Result<(), DriverError> {
        if request.turn.is_empty() {
            return Ok(());
        }
        let turn = request.turn.to_owned();
        let (session, parent) = match request.session {
            Session::New => (turn.clone(), None),
            Session::Resume(before) => (before.id.clone(), Some(before.turn.clone())),
        };
        self.make_folder(&session).map_err(|error| unusable(&self.directory, &error))?;
        let log = TurnLog::open(&self.path(&session, &turn))?;
        log.cut(0)?;
        let (role, model) = (request.role.to_owned(), request.model.map(str::to_owned));
        log.begin(&[Line::Turn(Header { session, turn, parent, role, model, opening: 0 }), Line::Ended(finished)])
    }

    /// Opens a turn: an existing one with this key, or a new one with the initial messages that `opening` returns for
    /// the earlier ones.
    pub(in crate::drivers) fn open(
        &self,
        request: &TurnRequest<'_>,
        opening: impl FnOnce(&Messages) -> Vec<Value>,
    ) -> Result<OpenTurn, DriverError> {
        let turn = if request.turn.is_empty() { generate_key() } else { request.turn.to_owned() };
        let (session, parent) = match request.session {
            Session::New => (turn.clone(), None),
            Session::Resume(before) => (before.id.clone(), Some(before.turn.clone())),
        };
        let mut messages = Messages::default();
        if let Some(parent) = &parent {
            self.load_history(&session, parent, &turn, &mut messages)?;
        }
        let path = self.path(&session, &turn);
        self.make_folder(&session).map_err(|error| unusable(&self.directory, &error))?;
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
                return Err(lost(session, &turn));
            };
            if line.len() >= LONGEST || turn == current {
                return Err(lost(session, &turn).help("the turns of this session go in a circle"));
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

fn lost(session: &str, turn: &str) -> DriverError {
    DriverError::new(ErrorClass::SessionLost, format!("the session `{session}` has no turn `{turn}` to go on from"))
        .help("begin a new session")
}

/// Returns a unique key for a turn without one.
fn generate_key() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("{nanos:x}-{:x}-{count:x}", std::process::id())
}
