//! Keeps what a driver says.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;

use super::asked::Asked;
use super::cassette::{self, Line, What, unkept};
use super::passes_on::passes_on;
use crate::drivers::{
    AgentEvent, AgentEvents, AgentRequest, Capabilities, Driver, DriverError, Finished, SessionRef, events, jsonl,
};

/// Carries turns out and writes them to a cassette, to be given again by [`Replaying`](super::Replaying): JSON lines, one
/// for what was asked, one for each event, one for the end; on disk before the turn begins, and before its end is told.
///
/// The cassette holds prompts and answers as they are. Put [`Redacted`](super::Redacted) inside where they may hold secrets.
/// An existing cassette is added to.
#[derive(Debug)]
pub struct Recording<D> {
    driver: D,
    tape: Arc<Tape>,
}

#[derive(Debug)]
struct Tape {
    path: PathBuf,
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
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
        let open = || Ok(Open { file: jsonl::open(&path)?, next: cassette::next(&path)? });
        let open = open().map_err(|error| unkept(&path, &error))?;
        Ok(Self { driver, tape: Arc::new(Tape { path, open: Mutex::new(open) }) })
    }
}

impl Tape {
    fn begin(&self, request: &AgentRequest) -> Result<u64, DriverError> {
        let asked = Asked::of(request);
        let what = What::Request { hash: asked.hash(), key: request.turn.clone(), asked };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = open.next;
        open.next += 1;
        self.write(&mut open, &Line { turn, what }, true)?;
        Ok(turn)
    }

    fn add(&self, turn: u64, what: What, sync: bool) -> Result<(), DriverError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        self.write(&mut open, &Line { turn, what }, sync)
    }

    fn write(&self, open: &mut Open, line: &Line, sync: bool) -> Result<(), DriverError> {
        let written =
            jsonl::append(&mut open.file, line).and_then(|()| if sync { open.file.sync_data() } else { Ok(()) });
        written.map_err(|error| unkept(&self.path, &error))
    }
}

impl<D: Driver> Driver for Recording<D> {
    passes_on!();

    fn run(&self, request: AgentRequest) -> AgentEvents {
        let tape = Arc::clone(&self.tape);
        let mut inner = self.driver.run(request.clone());
        events(|tell| async move {
            let turn = tape.begin(&request)?;
            loop {
                match inner.next().await.unwrap_or_else(|| Err(DriverError::unfinished(""))) {
                    Ok(AgentEvent::Finished(finished)) => {
                        tape.add(turn, What::Finished(finished.clone()), true)?;
                        return Ok(finished);
                    }
                    Ok(event) => {
                        tape.add(turn, What::Event(event.clone()), false)?;
                        tell.tell(event).await;
                    }
                    Err(error) => {
                        tape.add(turn, What::Failed(error.clone()), true)?;
                        return Err(error);
                    }
                }
            }
        })
    }
}
