//! A run as a stream of its events. The run goes on only while the stream is read: a slow reader slows it.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::mpsc;

use super::handle::Thread;
use super::outcome::Outcome;
use super::request::Request;
use crate::graph::channels::state::State;
use crate::graph::define::node::{Boxed, NodeId};
use crate::graph::run::error::RunError;
use crate::graph::run::event::{Event, Mode, Sink};

/// How many events may wait for the reader.
const BUFFER: usize = 64;

/// The events of a run, in order, and its outcome. Dropping it cancels the run; the thread can go on later.
#[must_use = "a run goes on only while its stream is read"]
pub struct RunStream<S> {
    events: mpsc::Receiver<Event>,
    run: Option<Boxed<'static, Result<Outcome<S>, RunError>>>,
    outcome: Option<Result<Outcome<S>, RunError>>,
}

impl<S> std::fmt::Debug for RunStream<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunStream").field("running", &self.run.is_some()).finish_non_exhaustive()
    }
}

impl<S: State> RunStream<S> {
    pub(crate) fn new<N: NodeId, C: Send + Sync + 'static>(
        thread: Thread<S, N, C>,
        request: Request<S, N>,
        modes: Vec<Mode>,
        subgraphs: bool,
    ) -> Self {
        let (sender, events) = mpsc::channel(BUFFER);
        let sink = Sink::new(sender, modes, subgraphs, thread.id.clone());
        let run = Box::pin(async move { thread.perform(request, Some(sink)).await });
        Self { events, run: Some(run), outcome: None }
    }

    /// Returns the next event; none once the run has ended.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Runs to the end, leaving out what events are left, and returns the outcome.
    ///
    /// # Errors
    /// Whatever the run failed with.
    pub async fn outcome(mut self) -> Result<Outcome<S>, RunError> {
        while self.next().await.is_some() {}
        match self.outcome.take() {
            Some(outcome) => outcome,
            None => Err(RunError::InvalidConfig { what: "the run was dropped".into() }),
        }
    }
}

impl<S> Stream for RunStream<S>
where
    Outcome<S>: Unpin,
{
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let this = &mut *self;
        loop {
            // Pending need not mean empty: tokio also says so to a reader that has taken many events in a row.
            let waiting = this.events.poll_recv(cx);
            if let Poll::Ready(Some(event)) = waiting {
                return Poll::Ready(Some(event));
            }
            let Some(run) = &mut this.run else { return waiting };
            match run.as_mut().poll(cx) {
                Poll::Ready(outcome) => {
                    this.outcome = Some(outcome);
                    this.run = None;
                    this.events.close();
                }
                Poll::Pending => {
                    return match this.events.poll_recv(cx) {
                        Poll::Ready(Some(event)) => Poll::Ready(Some(event)),
                        _ => Poll::Pending,
                    };
                }
            }
        }
    }
}
