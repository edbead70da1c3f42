//! The events of a replay as a stream.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures::Stream;

use crate::checkpoint::ThreadId;
use crate::graph::context::{Verified, WhatIf};
use crate::graph::error::RunError;
use crate::graph::state::{Boxed, State};
use crate::graph::thread::{EventStream, Outcome};
use crate::graph::view::{Event, Mode, Sink};

/// The result of a replay.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Replayed<S: State> {
    /// The recorded events were emitted.
    Recorded {
        /// Number of supersteps.
        supersteps: u64,
    },
    /// The thread was compared with the current graph.
    Verified(Verified),
    /// The thread was run over its records with the current graph.
    WhatIf(Box<WhatIf>),
    /// The thread ran from the checkpoint, with this outcome.
    Live(Outcome<S>),
}

/// The events of a replay, in order, and its result. Dropping it ends the replay.
#[must_use = "a replay goes on only while its stream is read"]
pub struct ReplayStream<S: State>(EventStream<Replayed<S>>);

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
        Self(EventStream::new(modes, subgraphs, thread, run))
    }

    /// Returns the next event; `None` once the replay has ended.
    pub async fn next(&mut self) -> Option<Event> {
        self.0.next().await
    }

    /// Replays to the end without yielding the remaining events, and returns the result.
    ///
    /// # Errors
    /// If there is no store, it cannot be read, or a value in it does not fit its channel; any error of a live replay.
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
