//! A run or a replay as a stream of its events. It advances only while the stream is read: a slow reader slows it down.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::Stream;
use tokio::sync::mpsc;

use super::handle::{Thread, ThreadCore};
use super::outcome::Outcome;
use super::request::{AnyRequest, Request};
use crate::checkpoint::ThreadId;
use crate::graph::context::SecretValues;
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::state::{Boxed, State};
use crate::graph::view::{Event, Mode, Sink};

/// The number of events that may wait for the reader.
const BUFFER: usize = 64;

/// A stream of events, and the result at its end.
pub(crate) struct EventStream<T> {
    events: mpsc::Receiver<Event>,
    pub run: Option<Boxed<'static, Result<T, RunError>>>,
    end: Option<Result<T, RunError>>,
}

impl<T: Unpin> EventStream<T> {
    pub(crate) fn new(
        modes: Vec<Mode>,
        subgraphs: bool,
        thread: Option<ThreadId>,
        run: impl FnOnce(Sink) -> Boxed<'static, Result<T, RunError>>,
    ) -> Self {
        let (sender, events) = mpsc::channel(BUFFER);
        Self { events, run: Some(run(Sink::new(sender, modes, subgraphs, thread))), end: None }
    }

    pub(crate) async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|cx| self.poll(cx)).await
    }

    pub(crate) async fn finish(mut self) -> Result<T, RunError> {
        while self.next().await.is_some() {}
        match self.end.take() {
            Some(end) => end,
            None => Err(RunError::InvalidConfig { what: "the run was dropped".into() }),
        }
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        loop {
            // Pending does not mean empty: tokio's cooperative budget returns it to a reader that has taken many events
            // in a row.
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

/// The events of a run, in order, and its outcome. Dropping it cancels the run; the thread can be resumed later.
#[must_use = "a run advances only while its stream is read"]
pub struct RunStream<S>(EventStream<Outcome<S>>, SecretValues);

impl<S> std::fmt::Debug for RunStream<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunStream").field("running", &self.0.run.is_some()).finish_non_exhaustive()
    }
}

impl<S: State> RunStream<S> {
    pub(crate) fn new(mut thread: ThreadCore, request: AnyRequest, modes: Vec<Mode>, subgraphs: bool) -> Self {
        let secrets = SecretValues::default();
        thread.environment.secrets = Some(Arc::clone(&secrets.0));
        let run = async move |thread: ThreadCore, sink| Ok(thread.run_to(request, Some(sink)).await?.typed());
        Self(EventStream::new(modes, subgraphs, thread.id.clone(), |sink| Box::pin(run(thread, sink))), secrets)
    }

    /// Returns the next event; none once the run has ended.
    pub async fn next(&mut self) -> Option<Event> {
        self.0.next().await
    }

    /// Returns the values of the secret channels of the run and its subgraphs, and those to come: nodes may have copied them into
    /// their events and errors.
    pub fn secrets(&self) -> SecretValues {
        self.1.clone()
    }

    /// Runs to the end, dropping the remaining events, and returns the outcome.
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

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    /// Runs a request and yields its events as they happen. The run advances only while the stream is read; dropping it
    /// cancels the run, which can be resumed later. LangGraph: `stream`.
    ///
    /// ```
    /// # use superstep::graph::{NodeId, State, Writes};
    /// # use superstep::prelude::*;
    /// # async fn example<S: State, N: NodeId>(thread: Thread<S, N, ()>, input: Writes<S>) -> Result<Outcome<S>, RunError> {
    /// let mut run = thread.stream(Request::input(input), [Mode::Updates]);
    /// while let Some(event) = run.next().await {
    ///     if let EventKind::Update { writes, .. } = &event.kind { println!("{:?}: {}", event.node(), writes.json()) }
    /// }
    /// run.outcome().await
    /// # }
    /// ```
    pub fn stream(&self, request: Request<S, N>, modes: impl IntoIterator<Item = Mode>) -> RunStream<S>
    where
        N: 'static,
    {
        RunStream::new(self.core.clone(), request.into(), modes.into_iter().collect(), false)
    }

    /// Runs a request and yields its events, including those of subgraphs.
    pub fn stream_deep(&self, request: Request<S, N>, modes: impl IntoIterator<Item = Mode>) -> RunStream<S>
    where
        N: 'static,
    {
        RunStream::new(self.core.clone(), request.into(), modes.into_iter().collect(), true)
    }
}
