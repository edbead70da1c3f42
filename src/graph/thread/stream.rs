//! A run or a replay as a stream of its events. It goes on only while the stream is read: a slow reader slows it.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures::Stream;
use tokio::sync::mpsc;

use super::handle::Thread;
use super::outcome::Outcome;
use super::request::Request;
use crate::checkpoint::ThreadId;
use crate::graph::channels::state::State;
use crate::graph::define::node::{Boxed, NodeId};
use crate::graph::replay::Replayed;
use crate::graph::run::error::RunError;
use crate::graph::run::event::{Event, Mode, Sink};

/// How many events may wait for the reader.
const BUFFER: usize = 64;

/// What tells events, and what it comes to in the end.
struct Told<T> {
    events: mpsc::Receiver<Event>,
    run: Option<Boxed<'static, Result<T, RunError>>>,
    end: Option<Result<T, RunError>>,
}

impl<T: Unpin> Told<T> {
    fn new(
        modes: Vec<Mode>,
        subgraphs: bool,
        thread: Option<ThreadId>,
        run: impl FnOnce(Sink) -> Boxed<'static, Result<T, RunError>>,
    ) -> Self {
        let (sender, events) = mpsc::channel(BUFFER);
        Self { events, run: Some(run(Sink::new(sender, modes, subgraphs, thread))), end: None }
    }

    async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|cx| self.poll(cx)).await
    }

    async fn finish(mut self) -> Result<T, RunError> {
        while self.next().await.is_some() {}
        match self.end.take() {
            Some(end) => end,
            None => Err(RunError::InvalidConfig { what: "the run was dropped".into() }),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        loop {
            // Pending need not mean empty: tokio also says so to a reader that has taken many events in a row.
            let waiting = self.events.poll_recv(cx);
            if let Poll::Ready(Some(event)) = waiting {
                return Poll::Ready(Some(event));
            }
            let Some(run) = &mut self.run else { return waiting };
            match run.as_mut().poll(cx) {
                Poll::Ready(end) => {
                    self.end = Some(end);
                    self.run = None;
                    self.events.close();
                }
                Poll::Pending => {
                    return match self.events.poll_recv(cx) {
                        Poll::Ready(Some(event)) => Poll::Ready(Some(event)),
                        _ => Poll::Pending,
                    };
                }
            }
        }
    }
}

/// The events of a run, in order, and its outcome. Dropping it cancels the run; the thread can go on later.
#[must_use = "a run goes on only while its stream is read"]
pub struct RunStream<S>(Told<Outcome<S>>);

impl<S> std::fmt::Debug for RunStream<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunStream").field("running", &self.0.run.is_some()).finish_non_exhaustive()
    }
}

impl<S: State> RunStream<S> {
    pub(crate) fn new<N: NodeId, C: Send + Sync + 'static>(
        thread: Thread<S, N, C>,
        request: Request<S, N>,
        modes: Vec<Mode>,
        subgraphs: bool,
    ) -> Self {
        let run = async move |thread: Thread<S, N, C>, sink| thread.perform(request, Some(sink)).await;
        Self(Told::new(modes, subgraphs, thread.id.clone(), |sink| Box::pin(run(thread, sink))))
    }

    /// Returns the next event; none once the run has ended.
    pub async fn next(&mut self) -> Option<Event> {
        self.0.next().await
    }

    /// Runs to the end, leaving out what events are left, and returns the outcome.
    ///
    /// # Errors
    /// Whatever the run failed with.
    pub async fn outcome(self) -> Result<Outcome<S>, RunError> {
        self.0.finish().await
    }
}

impl<S> Stream for RunStream<S>
where
    Outcome<S>: Unpin,
{
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.0.poll(cx)
    }
}

/// The events of a replay, in order, and what it came to. Dropping it ends the replay.
#[must_use = "a replay goes on only while its stream is read"]
pub struct ReplayStream<S: State>(Told<Replayed<S>>);

impl<S: State> std::fmt::Debug for ReplayStream<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReplayStream").field("running", &self.0.run.is_some()).finish_non_exhaustive()
    }
}

impl<S: State> ReplayStream<S> {
    pub(crate) fn new(
        modes: Vec<Mode>,
        subgraphs: bool,
        thread: Option<ThreadId>,
        run: impl FnOnce(Sink) -> Boxed<'static, Result<Replayed<S>, RunError>>,
    ) -> Self {
        Self(Told::new(modes, subgraphs, thread, run))
    }

    /// Returns the next event; none once the replay has ended.
    pub async fn next(&mut self) -> Option<Event> {
        self.0.next().await
    }

    /// Replays to the end, leaving out what events are left, and returns what it came to.
    ///
    /// # Errors
    /// If there is no store, it cannot be read, or a value in it does not fit its channel; whatever a live replay failed with.
    pub async fn finish(self) -> Result<Replayed<S>, RunError> {
        self.0.finish().await
    }
}

impl<S: State> Stream for ReplayStream<S> {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.0.poll(cx)
    }
}
