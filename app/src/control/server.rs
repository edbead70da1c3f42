//! Server for other processes: few connections at a time, each with timeouts, so that none can delay a run. Replies come from
//! the store, and from the active runs. Must not know how a socket is made.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use superstep::graph::CancellationToken;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::active_runs::{ActiveRuns, RunSubscription};
use super::wire::{Greeting, LineReader, REQUEST, Reply, Socket, VERSION, is_ours, request, write_line};
use crate::failure::{Failure, json};
use crate::local::{CANCEL, Local, still_running};
use crate::service::{ThreadRequest, ThreadService};
use crate::shapes::{ThreadReport, present};

/// The maximum number of connections.
const CONNECTIONS: usize = 32;
/// The time limit for a request to arrive.
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// The time for which pending replies delay the end of the process.
const FAREWELL: Duration = Duration::from_secs(2);

/// A task that serves other processes.
pub(crate) struct ControlServer {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl ControlServer {
    pub(super) async fn close(self) {
        self.stop.cancel();
        _ = self.task.await;
    }
}

/// Starts to serve other processes; none if there can be no socket: work continues without.
pub(super) fn serve(local: &Local, live: &Arc<ActiveRuns>, store: &Path) -> Option<ControlServer> {
    let socket = match Socket::listen(store) {
        Ok(socket) => socket,
        Err(error) => {
            tracing::warn!(%error, "no control socket: other processes cannot read this store while it is open");
            return None;
        }
    };
    let responder = Responder { local: local.clone(), live: Arc::clone(live) };
    let stop = CancellationToken::new();
    let task = tokio::spawn(accept(Arc::new(responder), socket, stop.clone()));
    Some(ControlServer { stop, task })
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
    let mut peer = Peer { lines: LineReader::new(read), write };
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
                _ = peer.end(Err(Failure::usage(format!("invalid request: {error}")))).await;
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
    lines: LineReader<OwnedReadHalf>,
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
            () = self.lines.wait_until_gone() => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Sends the last line of a reply.
    async fn end(&mut self, replied: Result<Value, Failure>) -> io::Result<()> {
        write_line(&mut self.write, &replied.map_or_else(Reply::Failed, |reply| Reply::Ok(present(reply)))).await
    }
}

struct Responder {
    pub local: Local,
    pub live: Arc<ActiveRuns>,
}

impl Responder {
    pub(super) async fn call(&self, request: ThreadRequest) -> Result<Value, Failure> {
        match request {
            ThreadRequest::Cancel { thread } => self.cancel(thread).await,
            ThreadRequest::Answer(answer) => {
                let stored = self.local.call(ThreadRequest::Answer(answer)).await;
                self.live.wake();
                stored
            }
            ThreadRequest::Signal(signal) => {
                let sent = self.local.call(ThreadRequest::Signal(signal)).await;
                self.live.wake();
                sent
            }
            ThreadRequest::Status { thread } => self.status(thread).await,
            request => self.local.call(request).await,
        }
    }

    /// Returns the status of a thread with the running tasks of its active run.
    async fn status(&self, thread: String) -> Result<Value, Failure> {
        let followed = self.live.follow(&thread);
        let report = self.local.call(ThreadRequest::Status { thread }).await?;
        let Some(mut followed) = followed else { return Ok(report) };
        followed.catch_up();
        let events: Vec<Value> = followed.before.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let Ok(mut shown) = serde_json::from_value::<ThreadReport>(report.clone()) else { return Ok(report) };
        shown.add_running(events.iter());
        json(&shown)
    }

    async fn cancel(&self, thread: String) -> Result<Value, Failure> {
        let Some(ended) = self.live.cancel(&thread) else {
            return self.local.call(ThreadRequest::Cancel { thread }).await;
        };
        if timeout(CANCEL, ended.cancelled()).await.is_err() {
            return Err(still_running(&thread));
        }
        self.local.call(ThreadRequest::Status { thread }).await
    }

    /// Returns the events of the active run so far, and a stream of the rest; none without a run.
    pub(super) async fn watch(&self, thread: String) -> Result<(Vec<Value>, Option<LiveEvents>), Failure> {
        let Some(mut followed) = self.live.follow(&thread) else {
            self.local.call(ThreadRequest::Watch { thread }).await?;
            return Ok((vec![], None));
        };
        followed.catch_up();
        let events = followed.before.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok((events, Some(LiveEvents(followed))))
    }

    /// Returns the recorded events of a thread, and a stream of those of its active run.
    pub(super) async fn follow(&self, thread: String) -> Result<(Vec<Value>, Option<LiveEvents>), Failure> {
        let followed = self.live.follow(&thread);
        let recorded = self.local.call(ThreadRequest::Events { thread }).await;
        let Some(mut followed) = followed else { return Ok((list(recorded?), None)) };
        let recorded = recorded.map(list).unwrap_or_default(); // a new run may have stored nothing
        followed.catch_up();
        let events =
            join(recorded, followed.before.iter().filter_map(|line| serde_json::from_str(line).ok()).collect());
        Ok((events, Some(LiveEvents(followed))))
    }
}

fn list(value: Value) -> Vec<Value> {
    if let Value::Array(list) = value { list } else { vec![] }
}

/// Merges recorded and live events: an event that is in both is returned once. (So is an event that a cancelled attempt
/// emitted with the same content.)
fn join(recorded: Vec<Value>, live: Vec<Value>) -> Vec<Value> {
    let mut again: HashMap<String, usize> = HashMap::new();
    live.iter().for_each(|event| *again.entry(without_times(event)).or_default() += 1);
    let is_new = |event: &Value| match again.get_mut(&without_times(event)) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    let mut events: Vec<Value> = recorded.into_iter().rev().filter(is_new).collect();
    events.reverse();
    events.extend(live);
    events
}

/// Returns an event without its time, which only live events have.
fn without_times(event: &Value) -> String {
    let mut event = event.clone();
    if let Some(fields) = event.as_object_mut().filter(|fields| fields.get("at").is_some_and(Value::is_number)) {
        fields.remove("at");
    }
    event.to_string()
}

/// The events of a run from now on.
struct LiveEvents(RunSubscription);

impl LiveEvents {
    pub(super) async fn next(&mut self) -> Option<Value> {
        match self.0.rest.recv().await {
            Ok(line) => serde_json::from_str(&line).ok(),
            Err(RecvError::Lagged(count)) => Some(json!({ "kind": "missed", "count": count })),
            Err(RecvError::Closed) => None,
        }
    }
}

impl RunSubscription {
    /// Moves the events that were sent meanwhile to `before`.
    fn catch_up(&mut self) {
        loop {
            match self.rest.try_recv() {
                Ok(line) => self.before.push(line),
                Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::nothing_recorded(&[], &["a"], &["a"])]
    #[case::all_recorded(&["a", "b"], &["a", "b"], &["a", "b"])]
    #[case::an_earlier_attempt(&["start", "asked", "start"], &["start"], &["start", "asked", "start"])]
    #[case::not_yet_recorded(&["a"], &["b"], &["a", "b"])]
    fn recorded_events_are_sent_once(#[case] recorded: &[&str], #[case] live: &[&str], #[case] events: &[&str]) {
        let values = |words: &[&str]| words.iter().map(|word| json!(word)).collect::<Vec<_>>();
        assert_eq!(join(values(recorded), values(live)), values(events));
    }
}
