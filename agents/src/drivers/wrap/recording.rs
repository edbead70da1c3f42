//! Records turns of a driver.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;

use super::cassette::{self, EntryKind, Line, cassette_error};
use super::forward::forward_methods;
use super::request_key::RequestKey;
use crate::drivers::{
    AgentEvent, AgentEvents, AgentRequest, Capabilities, Driver, DriverError, Finished, SessionRef, events, jsonl,
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
    /// [`Fatal`](crate::drivers::ErrorClass::Fatal) if the file cannot be opened.
    pub fn new(driver: D, file: impl AsRef<Path>) -> Result<Self, DriverError> {
        let path = file.as_ref().to_owned();
        let open = || Ok(TapeState { file: jsonl::open(&path)?, next: cassette::next(&path)? });
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
                match inner.next().await.unwrap_or_else(|| Err(DriverError::unfinished(""))) {
                    Ok(AgentEvent::Finished(finished)) => {
                        tape.add(turn, EntryKind::Finished(finished.clone()), true)?;
                        return Ok(finished);
                    }
                    Ok(event) => {
                        tape.add(turn, EntryKind::Event(event.clone()), false)?;
                        sender.tell(event).await;
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
