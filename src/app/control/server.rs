//! Connections of other processes, few at a time, each for a short time: none of them can hold up a run. Knows sockets, no
//! store.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::counter::{Counter, Rest};
use super::live::Live;
use super::socket::{Socket, is_ours};
use super::wire::{Greeting, Lines, REQUEST, Reply, VERSION, request, say};
use crate::app::desk::Ask;
use crate::app::failure::Failure;
use crate::app::local::Local;
use crate::graph::CancellationToken;

/// The maximum number of connections.
const CONNECTIONS: usize = 32;
/// The time limit for a request to arrive.
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// The time for which pending replies delay the end of the process.
const FAREWELL: Duration = Duration::from_secs(2);

/// A task that answers other processes.
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

/// Begins to answer other processes; none where no socket can be had: work goes on without.
pub(super) fn serve(local: &Local, live: &Arc<Live>, store: &Path) -> Option<Serving> {
    let socket = match Socket::listen(store) {
        Ok(socket) => socket,
        Err(error) => {
            tracing::warn!(%error, "no control socket: other processes cannot look at this store while it is open");
            return None;
        }
    };
    let counter = Counter {
        local: Local { graphs: Arc::clone(&local.graphs), store: Arc::clone(&local.store) },
        live: Arc::clone(live),
    };
    let stop = CancellationToken::new();
    let task = tokio::spawn(accept(Arc::new(counter), socket, stop.clone()));
    Some(Serving { stop, task })
}

/// Takes connections until it is stopped.
async fn accept(counter: Arc<Counter>, socket: Socket, stop: CancellationToken) {
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = open.join_next() => {}
            accepted = socket.listener.accept() => match accepted {
                Ok((peer, _)) if !is_ours(&peer) => drop(peer),
                Ok((peer, _)) if open.len() >= CONNECTIONS => drop(peer), // it tries again
                Ok((peer, _)) => _ = open.spawn(attend(peer, Arc::clone(&counter), stop.clone())),
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

/// Answers one connection until it ends, or says something wrong, or nothing for too long.
async fn attend(peer: UnixStream, counter: Arc<Counter>, stop: CancellationToken) {
    let (read, write) = peer.into_split();
    let mut peer = Peer { lines: Lines::new(read), write };
    if say(&mut peer.write, &greeting()).await.is_err() {
        return;
    }
    loop {
        let line = tokio::select! {
            biased;
            line = peer.lines.next(REQUEST, REQUEST_TIME) => line,
            () = stop.cancelled() => return,
        };
        let answered = match line {
            Ok(Some(line)) => peer.answer(&line, &counter).await,
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

/// Whoever is connected.
struct Peer {
    lines: Lines<OwnedReadHalf>,
    write: OwnedWriteHalf,
}

impl Peer {
    async fn answer(&mut self, line: &[u8], counter: &Counter) -> io::Result<()> {
        match request(line) {
            Ok(Ask::Follow { thread }) => self.follow(counter.follow(thread).await).await,
            Ok(Ask::Watch { thread }) => self.follow(counter.watch(thread).await).await,
            Ok(ask) => self.end(counter.ask(ask).await).await,
            Err(failure) => self.end(Err(failure)).await,
        }
    }

    /// Tells events until the run has ended or nobody listens.
    async fn follow(&mut self, followed: Result<(Vec<Value>, Option<Rest>), Failure>) -> io::Result<()> {
        let (events, rest) = match followed {
            Ok(followed) => followed,
            Err(failure) => return self.end(Err(failure)).await,
        };
        for event in events {
            say(&mut self.write, &Reply::Event(event)).await?;
        }
        if let Some(mut rest) = rest {
            while let Some(event) = self.while_there(rest.next()).await? {
                say(&mut self.write, &Reply::Event(event)).await?;
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

    /// The last line of a reply.
    async fn end(&mut self, replied: Result<Value, Failure>) -> io::Result<()> {
        say(&mut self.write, &replied.map_or_else(Reply::Failed, Reply::Ok)).await
    }
}
