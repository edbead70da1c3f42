//! A future that is made of its settings when it is polled first. What is only turned into a future by `.await` is none for
//! the compiler, which then does not suggest the `.await` where it is missing.

use std::task::{Context, Poll};

use crate::graph::state::Boxed;

pub(super) enum Lazy<'a, S, T> {
    New(S),
    Running(Boxed<'a, T>),
    Ended,
}

// The settings are not pinned: they are moved into the future that is made of them.
impl<S, T> Unpin for Lazy<'_, S, T> {}

impl<'a, S, T> Lazy<'a, S, T> {
    /// Returns the settings, until the first poll.
    pub(super) fn settings(&self) -> Option<&S> {
        match self {
            Self::New(settings) => Some(settings),
            Self::Running(_) | Self::Ended => None,
        }
    }

    /// Changes the settings, until the first poll.
    pub(super) fn set(mut self, change: impl FnOnce(&mut S)) -> Self {
        if let Self::New(settings) = &mut self {
            change(settings);
        }
        self
    }

    /// Polls the future, which `start` makes. Once it has ended, each poll returns `again`.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        start: impl FnOnce(S) -> Boxed<'a, T>,
        again: impl FnOnce() -> T,
    ) -> Poll<T> {
        let mut running = match std::mem::replace(self, Self::Ended) {
            Self::New(settings) => start(settings),
            Self::Running(running) => running,
            Self::Ended => return Poll::Ready(again()),
        };
        let polled = running.as_mut().poll(cx);
        if polled.is_pending() {
            *self = Self::Running(running);
        }
        polled
    }
}
