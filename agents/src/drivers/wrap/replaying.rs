//! Replays recorded turns.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;

use super::cassette::{self, RecordedTurn, cassette_error};
use super::request_key::RequestKey;
use crate::drivers::{
    AgentEvents, AgentRequest, Capabilities, Driver, DriverError, ErrorClass, Finished, SessionRef, events,
};

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
    /// [`Fatal`](ErrorClass::Fatal) if it cannot be read.
    pub fn open(file: impl AsRef<Path>) -> Result<Self, DriverError> {
        let file = file.as_ref().to_owned();
        std::fs::metadata(&file).map_err(|error| cassette_error(&file, &error))?;
        let turns: Arc<[RecordedTurn]> = cassette::read(&file).map_err(|error| cassette_error(&file, &error))?.into();
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
        let message = format!("the cassette {} does not fit: {why}", self.file.display());
        Err(DriverError::new(ErrorClass::Fatal, message).help("record it anew, or undo what changed the requests"))
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
                    return Err(DriverError::new(ErrorClass::Cancelled, "the turn was cancelled"));
                }
                sender.tell(event.clone()).await;
            }
            turn.end.clone()
        })
    }

    fn ended<'a>(
        &'a self,
        _: Option<&'a SessionRef>,
        turn: &'a str,
    ) -> BoxFuture<'a, Result<Option<Finished>, DriverError>> {
        let mut named = self.turns.iter().rev().filter(|recorded| !turn.is_empty() && recorded.key == turn);
        Box::pin(std::future::ready(Ok(named.find_map(|recorded| recorded.end.clone().ok()))))
    }
}
