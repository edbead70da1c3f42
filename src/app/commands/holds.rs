//! Who holds the store: this process, or another one, which is asked then.

use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use tokio::time::sleep;

use super::session::Session;
use crate::app::{
    control::{Reached, reach},
    desk::{Ask, Desk, Tell},
    failure::Failure,
    local::{Access, Local, Opening},
};

/// The time that a command which needs the store waits for one that only reads: those end soon.
const PATIENCE: Duration = Duration::from_secs(1);
/// The time that a reading command waits for others of its kind, which serve no requests.
const QUEUE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(10);

const NEEDED: &str = "this command needs the store for itself: wait for that process, end it, or name another store with \
                      `--store PATH`";
const ANSWERS: &str = "to go on needs the store: wait for that process, or end it; `--record-only` gives it the answer to \
                       store";
const SILENT: &str =
    "that process does not answer others: wait for it, end it, or name another store with `--store PATH`";

impl Session {
    /// This process, holding a store that must be there; other processes may ask it from now on.
    pub(super) fn local(&self) -> Result<Local, Failure> {
        self.held(NEEDED, || Local::open(&self.graphs, &self.store, self.access(Access::Write)))
    }

    /// The same, only to look at it.
    pub(super) fn looking(&self) -> Result<Local, Failure> {
        self.held(NEEDED, || Local::open(&self.graphs, &self.store, self.access(Access::Look)))
    }

    /// The same, to remove something.
    pub(super) fn removing(&self) -> Result<Local, Failure> {
        self.held(NEEDED, || Local::open(&self.graphs, &self.store, self.access(Access::Remove)))
    }

    fn access(&self, wanted: Access) -> Access {
        if self.read_only { Access::ReadOnly } else { wanted }
    }

    /// The same, to answer and go on.
    pub(super) fn answering(&self) -> Result<Local, Failure> {
        self.held(ANSWERS, || Local::open(&self.graphs, &self.store, self.access(Access::Write)))
    }

    /// The same, with a store that may be new.
    pub(super) fn created(&self) -> Result<Local, Failure> {
        if self.read_only {
            return self.local();
        }
        self.held(NEEDED, || Local::create(&self.graphs, &self.store))
    }

    /// Closes the store before the command is over.
    pub(super) async fn let_go(&self, local: Local) {
        drop(local);
        self.control.close().await;
    }

    fn held(&self, help: &str, open: impl Fn() -> Result<Opening, Failure>) -> Result<Local, Failure> {
        let began = Instant::now();
        loop {
            match open()? {
                Opening::Open(local) => {
                    if !self.read_only {
                        self.control.serve(&local, &self.store);
                    }
                    return Ok(local);
                }
                Opening::Held(failure) if began.elapsed() >= PATIENCE => {
                    return Err(failure.help(help));
                }
                Opening::Held(_) => std::thread::sleep(PAUSE), // nothing else runs here yet
            }
        }
    }

    /// Whoever holds the store.
    async fn desk(&self, began: Instant) -> Result<Box<dyn Desk>, Failure> {
        loop {
            let held = match Local::open(&self.graphs, &self.store, self.access(Access::Look))? {
                Opening::Open(local) => return Ok(Box::new(local)),
                Opening::Held(failure) => failure,
            };
            match reach(&self.store).await {
                Ok(Reached::Desk(desk)) => return Ok(Box::new(desk)),
                Ok(Reached::Nobody) if began.elapsed() < QUEUE => sleep(PAUSE).await,
                Ok(Reached::Nobody) => {
                    return Err(held.help(SILENT));
                }
                Err(why) => {
                    let causes = [vec![why.error], why.causes].concat();
                    return Err(Failure {
                        causes,
                        help: why.help.or_else(|| Some(SILENT.into())),
                        ..Failure::new(held.error)
                    });
                }
            }
        }
    }

    /// Asks whoever holds the store.
    pub(super) async fn ask<T: DeserializeOwned>(&self, ask: Ask) -> Result<T, Failure> {
        let began = Instant::now();
        let reply = loop {
            let desk = self.desk(began).await?;
            match desk.ask(ask.clone()).await {
                Ok(reply) => break reply,
                // It ended just now; what only looks is asked again.
                Err(_)
                    if desk.has_left()
                        && !matches!(ask, Ask::Answer(_) | Ask::Signal(_) | Ask::Discard { .. })
                        && began.elapsed() < QUEUE => {}
                Err(failure) => return Err(failure),
            }
        };
        serde_json::from_value(reply).map_err(|error| Failure::new(format!("the reply makes no sense: {error}")))
    }

    /// Tells what happens in a thread for as long as a process runs it.
    pub(super) async fn listen(&self, ask: Ask, tell: Tell<'_>) -> Result<(), Failure> {
        self.desk(Instant::now()).await?.follow(ask, tell).await
    }
}
