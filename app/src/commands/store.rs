//! Access to the store: opened by this process, or through the process that holds it.

use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use tokio::time::sleep;

use super::session::Session;
use crate::control::{HolderConnection, reach};
use crate::failure::Failure;
use crate::local::{Access, Local, OpenedStore};
use crate::service::{EventSink, ThreadRequest, ThreadService};
use crate::store::OwnerSettings;
use crate::store::{StoreDirectory, StoreLocation};

/// The time that a command which needs the store waits for one that only reads: those end soon.
const PATIENCE: Duration = Duration::from_secs(1);
/// The time that a reading command waits for others of its kind, which serve no requests.
const QUEUE: Duration = Duration::from_secs(5);
/// The time that a command which must not write waits for a command that writes while it opens the store. Whoever holds it
/// longer is named at once.
const GLANCE: Duration = Duration::from_millis(200);
const PAUSE: Duration = Duration::from_millis(10);

const NEEDED: &str = "this command needs the store for itself: wait for that process, end it, or name another store with \
                      `--store PATH`";
const ANSWERS: &str = "to go on needs the store: wait for that process, or end it; `--record-only` gives it the answer to \
                       store";
const SILENT: &str =
    "that process does not serve others: wait for it, end it, or use another store with `--store PATH`";

impl Session {
    /// Opens an existing store; from then on, other processes can send requests to this one.
    pub(super) async fn local(&self) -> Result<Local, Failure> {
        self.open_store(NEEDED, self.access(Access::Write)).await
    }

    /// Opens the store to read it.
    pub(super) async fn store_to_read(&self) -> Result<Local, Failure> {
        self.open_store(NEEDED, self.access(Access::Look)).await
    }

    /// Opens the store to remove something.
    pub(super) async fn store_to_clean(&self) -> Result<Local, Failure> {
        self.open_store(NEEDED, self.access(Access::Remove)).await
    }

    fn access(&self, wanted: Access) -> Access {
        if self.read_only { Access::ReadOnly } else { wanted }
    }

    /// Opens the store to answer a question and resume.
    pub(super) async fn store_to_answer(&self) -> Result<Local, Failure> {
        self.open_store(ANSWERS, self.access(Access::Write)).await
    }

    /// Opens the store, or creates it.
    pub(super) async fn store_or_new(&self) -> Result<Local, Failure> {
        self.open_store(NEEDED, self.access(Access::Create)).await
    }

    /// The same for a runner with a name and leases of its own.
    pub(super) async fn store_of_runner(&self, owner: OwnerSettings) -> Result<Local, Failure> {
        self.open_location(&self.store.used_by(owner), NEEDED, self.access(Access::Create)).await
    }

    /// Returns the directory of the store; `command` needs one.
    pub(super) fn store_directory(&self, command: &str) -> Result<&StoreDirectory, Failure> {
        self.store.directory().ok_or_else(|| {
            let error = format!("`{command}` is for a store in a directory, and this one is a database");
            Failure::usage(error).help("use the tools of the database")
        })
    }

    /// Closes the store before the command ends.
    pub(super) async fn close_store(&self, local: Local) {
        drop(local);
        self.control.close().await;
    }

    /// Returns the time to wait for another process, if it does not answer.
    fn patience(&self, usual: Duration) -> Duration {
        if self.read_only { GLANCE } else { usual }
    }

    async fn open_store(&self, help: &str, access: Access) -> Result<Local, Failure> {
        self.open_location(&self.store, help, access).await
    }

    async fn open_location(&self, store: &StoreLocation, help: &str, access: Access) -> Result<Local, Failure> {
        let began = Instant::now();
        loop {
            match Local::open(&self.graphs, store, access).await? {
                OpenedStore::Open(local) => {
                    if let Some(folder) = self.store.folder().filter(|_| !self.read_only) {
                        self.control.serve(&local, folder);
                    }
                    return Ok(local);
                }
                OpenedStore::Locked(failure) if began.elapsed() >= self.patience(PATIENCE) => {
                    return Err(failure.help(help));
                }
                OpenedStore::Locked(_) => sleep(PAUSE).await,
            }
        }
    }

    /// Returns the service of this process, or of the process that holds the store.
    async fn service(&self, began: Instant) -> Result<Box<dyn ThreadService>, Failure> {
        loop {
            let locked = match Local::open(&self.graphs, &self.store, self.access(Access::Look)).await? {
                OpenedStore::Open(local) => return Ok(Box::new(local)),
                OpenedStore::Locked(failure) => failure,
            };
            match reach(self.store.folder()).await {
                Ok(HolderConnection::ThreadService(service)) => return Ok(Box::new(service)),
                Ok(HolderConnection::Nobody) if began.elapsed() < self.patience(QUEUE) => sleep(PAUSE).await,
                Ok(HolderConnection::Nobody) => {
                    return Err(locked.help(SILENT));
                }
                Err(why) => {
                    let causes = [vec![why.error], why.causes].concat();
                    return Err(Failure {
                        causes,
                        help: why.help.or_else(|| Some(SILENT.into())),
                        ..Failure::new(locked.error)
                    });
                }
            }
        }
    }

    /// Sends a request to the process that holds the store.
    pub(super) async fn call<T: DeserializeOwned>(&self, request: ThreadRequest) -> Result<T, Failure> {
        let began = Instant::now();
        let reply = loop {
            let service = self.service(began).await?;
            match service.call(request.clone()).await {
                Ok(reply) => break reply,
                // The other process ended just now; requests that only read are repeated.
                Err(_)
                    if service.is_disconnected()
                        && !matches!(
                            request,
                            ThreadRequest::Answer(_) | ThreadRequest::Signal(_) | ThreadRequest::Discard { .. }
                        )
                        && began.elapsed() < QUEUE => {}
                Err(failure) => return Err(failure),
            }
        };
        serde_json::from_value(reply).map_err(|error| Failure::new(format!("the reply is invalid: {error}")))
    }

    /// Streams the events of a thread while a process runs it.
    pub(super) async fn follow_events(&self, request: ThreadRequest, sink: EventSink<'_>) -> Result<(), Failure> {
        self.service(Instant::now()).await?.follow(request, sink).await
    }
}
