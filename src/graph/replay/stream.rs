//! The events of a replay as a stream.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures::Stream;

use crate::checkpoint::ThreadId;
use crate::graph::context::{Verified, WhatIf};
use crate::graph::error::RunError;
use crate::graph::state::{Boxed, State};
use crate::graph::thread::{Outcome, Told};
use crate::graph::view::{Event, Mode, Sink};

/// What a replay came to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Replayed<S: State> {
    /// The events were told again.
    Recorded {
        /// How many supersteps there were.
        supersteps: u64,
    },
    /// It was compared.
    Verified(Verified),
    /// It was run again over what was recorded.
    WhatIf(Box<WhatIf>),
    /// It ran, and ended so.
    Live(Outcome<S>),
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
