//! Server for other processes: few connections at a time, each with timeouts, so that none can delay a run. Knows
//! sockets, must not know a store.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::active_runs::ActiveRuns;
use super::responder::{LiveEvents, Responder};
use super::socket::{Socket, is_ours};
use super::wire::{Greeting, Lines, REQUEST, Reply, VERSION, request, write_line};
use crate::app::failure::Failure;
use crate::app::local::Local;
use crate::app::relocation::present;
use crate::app::service::ThreadRequest;
use crate::graph::CancellationToken;

/// The maximum number of connections.
const CONNECTIONS: usize = 32;
/// The time limit for a request to arrive.
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// The time for which pending replies delay the end of the process.
const FAREWELL: Duration = Duration::from_secs(2);

/// A task that serves other processes.
pub(crate) struct Serving {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Serving {
    pub(super) async fn close(self) {
        self.stop.cancel();
        _ = self.task.await;
    }
}

/// Starts to serve other processes; none if there can be no socket: work continues without.
pub(super) fn serve(local: &Local, live: &Arc<ActiveRuns>, store: &Path) -> Option<Serving> {
    let socket = match Socket::listen(store) {
        Ok(socket) => socket,
        Err(error) => {
            tracing::warn!(%error, "no control socket: other processes cannot look at this store while it is open");
            return None;
        }
    };
    let responder = Responder { local: local.clone(), live: Arc::clone(live) };
    let stop = CancellationToken::new();
    let task = tokio::spawn(accept(Arc::new(responder), socket, stop.clone()));
    Some(Serving { stop, task })
}

/// Accepts connections until stopped.
async fn accept(responder: Arc<Responder>, socket: Socket, stop: CancellationToken) {
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = open.join_next() => {}
            accepted = socket.listener.accept() => match accepted {
                Ok((peer, _)) if !is_ours(&peer) => drop(peer),
                Ok((peer, _)) if open.len() >= CONNECTIONS => drop(peer), // it tries again
                Ok((peer, _)) => _ = open.spawn(attend(peer, Arc::clone(&responder), stop.clone())),
                Err(_) => sleep(Duration::from_millis(50)).await, // too many open files: some will be closed
            },
        }
    }
    drop(socket);
    let all = async { while open.join_next().await.is_some() {} };
    if timeout(FAREWELL, all).await.is_err() {
        open.shutdown().await;
    }
}

fn greeting() -> Greeting {
    Greeting { superstep: VERSION, pid: std::process::id() }
}

/// Serves one connection until it ends, sends an invalid line, or is silent for too long.
async fn attend(peer: UnixStream, responder: Arc<Responder>, stop: CancellationToken) {
    let (read, write) = peer.into_split();
    let mut peer = Peer { lines: Lines::new(read), write };
    if write_line(&mut peer.write, &greeting()).await.is_err() {
        return;
    }
    loop {
        let line = tokio::select! {
            biased;
            line = peer.lines.next(REQUEST, REQUEST_TIME) => line,
            () = stop.cancelled() => return,
        };
        let answered = match line {
            Ok(Some(line)) => peer.answer(&line, &responder).await,
            Ok(None) => return,
            Err(error) => {
                _ = peer.end(Err(Failure::usage(format!("no request: {error}")))).await;
                return;
            }
        };
        if answered.is_err() {
            return;
        }
    }
}

/// A connected process.
struct Peer {
    lines: Lines<OwnedReadHalf>,
    write: OwnedWriteHalf,
}

impl Peer {
    async fn answer(&mut self, line: &[u8], responder: &Responder) -> io::Result<()> {
        match request(line) {
            Ok(ThreadRequest::Follow { thread }) => self.follow(responder.follow(thread).await).await,
            Ok(ThreadRequest::Watch { thread }) => self.follow(responder.watch(thread).await).await,
            Ok(request) => self.end(responder.call(request).await).await,
            Err(failure) => self.end(Err(failure)).await,
        }
    }

    /// Sends events until the run has ended or the peer is gone.
    async fn follow(&mut self, followed: Result<(Vec<Value>, Option<LiveEvents>), Failure>) -> io::Result<()> {
        let (events, rest) = match followed {
            Ok(followed) => followed,
            Err(failure) => return self.end(Err(failure)).await,
        };
        for event in events {
            write_line(&mut self.write, &Reply::Event(present(event))).await?;
        }
        if let Some(mut rest) = rest {
            while let Some(event) = self.while_there(rest.next()).await? {
                write_line(&mut self.write, &Reply::Event(present(event))).await?;
            }
        }
        self.end(Ok(Value::Null)).await
    }

    async fn while_there<T>(&mut self, next: impl Future<Output = T>) -> io::Result<T> {
        tokio::select! {
            next = next => Ok(next),
            () = self.lines.gone() => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Sends the last line of a reply.
    async fn end(&mut self, replied: Result<Value, Failure>) -> io::Result<()> {
        write_line(&mut self.write, &replied.map_or_else(Reply::Failed, |reply| Reply::Ok(present(reply)))).await
    }
}
