//! [`Remote`]: the thread service of another process, which holds the store.

use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use serde_json::Value;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Mutex;

use super::wire::{Greeting, LineReader, REQUEST, Reply, Request, VERSION, connect, write_line};
use crate::failure::{Call, Failure};
use crate::service::{EventSink, ThreadRequest, ThreadService};

/// The time limit of the first line.
const GREETING: Duration = Duration::from_secs(2);
/// The time limit of a reply.
const REPLY: Duration = Duration::from_secs(60);
/// The time limit between events.
const SILENCE: Duration = Duration::from_secs(u32::MAX as u64);

/// A connection to the process that holds the store.
pub(crate) struct Remote {
    pid: u32,
    is_gone: AtomicBool,
    connection: Mutex<Connection>,
}

struct Connection {
    read: LineReader<OwnedReadHalf>,
    write: OwnedWriteHalf,
}

impl Remote {
    /// Connects to the process that holds the store; none if it does not listen.
    pub(super) async fn connect(store: &Path) -> Result<Option<Self>, Failure> {
        let peer = match connect(store).await {
            Ok(peer) => peer,
            Err(error) if is_absence(&error) => return Ok(None),
            Err(error) => {
                return Err(Failure::new("cannot connect to the process that holds the store").because(&error));
            }
        };
        let (read, write) = peer.into_split();
        let mut read = LineReader::new(read);
        match read.read_reply::<Greeting>(GREETING).await {
            Ok(Some(Greeting { superstep: VERSION, pid })) => Ok(Some(Self {
                pid,
                is_gone: AtomicBool::new(false),
                connection: Mutex::new(Connection { read, write }),
            })),
            Ok(Some(Greeting { superstep, pid })) => {
                let error = format!(
                    "process {pid} holds the store and speaks version {superstep} of the protocol, not {VERSION}"
                );
                Err(Failure::new(error).help("use its release, or wait until it ends"))
            }
            Ok(None) => Ok(None), // it just ended
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(Failure::new("the process that holds the store does not answer").because(&error)),
        }
    }

    fn gone_error(&self) -> Failure {
        self.is_gone.store(true, Relaxed);
        let error = format!("process {}, which holds the store, ended before it replied", self.pid);
        Failure::new(error).hint("`{status}` shows its present status")
    }

    fn silent_error(&self, error: &io::Error) -> Failure {
        if is_absence(error) {
            return self.gone_error();
        }
        Failure::new(format!("process {}, which holds the store, does not reply", self.pid)).because(error)
    }
}

impl Connection {
    async fn send(&mut self, request: &ThreadRequest) -> Result<(), Failure> {
        let request = Request { version: VERSION, request };
        let size = serde_json::to_vec(&request).map_or(0, |text| text.len());
        if size > REQUEST {
            let error = format!("{size} bytes are too many for a request to another process; the limit is {REQUEST}");
            return Err(Failure::new(error).help("wait until the process that holds the store has ended"));
        }
        _ = write_line(&mut self.write, &request).await; // a peer that refuses it sends the reason, which is read next
        Ok(())
    }
}

impl ThreadService for Remote {
    fn call(&self, request: ThreadRequest) -> Call<'_, Value> {
        Box::pin(async move {
            let mut connection = self.connection.lock().await;
            connection.send(&request).await?;
            match connection.read.read_reply(REPLY).await {
                Ok(Some(Reply::Ok(value))) => Ok(value),
                Ok(Some(Reply::Failed(failure))) => Err(failure),
                Ok(Some(Reply::Event(_)) | None) => Err(self.gone_error()),
                Err(error) => Err(self.silent_error(&error)),
            }
        })
    }

    fn is_disconnected(&self) -> bool {
        self.is_gone.load(Relaxed)
    }

    fn follow<'a>(&'a self, request: ThreadRequest, sink: EventSink<'a>) -> Call<'a, ()> {
        Box::pin(async move {
            let mut connection = self.connection.lock().await;
            connection.send(&request).await?;
            loop {
                match connection.read.read_reply(SILENCE).await {
                    Ok(Some(Reply::Event(event))) => {
                        if !sink(event) {
                            return Ok(()); // nobody reads any more
                        }
                    }
                    Ok(Some(Reply::Ok(_))) => return Ok(()),
                    Ok(Some(Reply::Failed(failure))) => return Err(failure),
                    Ok(None) => return Err(self.gone_error()),
                    Err(error) => return Err(self.silent_error(&error)),
                }
            }
        })
    }
}

/// Returns true if no process listens: not yet, no longer, or its queue is full.
fn is_absence(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, NotFound, WouldBlock};
    matches!(error.kind(), NotFound | ConnectionRefused | ConnectionReset | BrokenPipe | WouldBlock)
}
