//! [`SessionStore`]: where the files of sessions are, and which turns a turn follows.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use super::file::{TurnLog, sync_folder};
use super::line::{Header, Line};
use super::name::name_of;
use super::read::{Told, read};
use super::said::Said;
use super::turn::{OpenTurn, Opening};
use super::unusable::unusable;
use crate::drivers::{DriverError, ErrorClass, Finished, Session, SessionRef, Usage};

/// How many turns may follow one another.
const LONGEST: usize = 10_000;

/// A folder of sessions.
#[derive(Clone, Debug)]
pub struct SessionStore {
    directory: PathBuf,
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
        let known = read(&self.path(session, turn), |told| {
            if let Told::Ended(finished) = told {
                ended = Some(finished);
            }
        })?;
        Ok(ended.filter(|_| known.header.is_some_and(|header| header.turn == turn)))
    }

    /// Keeps what a turn came to of which nothing else is kept here, for an agent that remembers by itself what was said. A turn
    /// without a key is not kept. May block.
    pub(in crate::drivers) fn keep(&self, asked: &Opening<'_>, finished: Finished) -> Result<(), DriverError> {
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
    pub(in crate::drivers) fn open(
        &self,
        asked: &Opening<'_>,
        opening: impl FnOnce(&Said) -> Vec<Value>,
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
        sync_folder(&self.directory)
    }
}

fn lost(session: &str, turn: &str) -> DriverError {
    DriverError::new(ErrorClass::SessionLost, format!("the session `{session}` has no turn `{turn}` to go on from"))
        .help("begin a new session")
}

/// A key for a turn that was given none.
fn fresh() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("{nanos:x}-{:x}-{count:x}", std::process::id())
}
