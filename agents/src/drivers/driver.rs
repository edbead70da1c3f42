//! Trait of all drivers, the channel on which they send events, and the methods that a wrapper forwards. Knows no driver.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_recursion::async_recursion as boxed;
use futures::Stream;
use futures::future::BoxFuture;
use tokio::sync::mpsc;

use super::error::DriverError;
use super::event::{AgentEvent, Finished};
use super::request::{AgentRequest, SessionRef};

/// Capabilities of a driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Set if a session can be resumed, also by another process.
    pub sessions: bool,
    /// Set if it offers the submit tool to the model; otherwise the answer is requested as JSON in the text.
    pub submits: bool,
    /// Set if it respects [`Access`](super::Access); otherwise the agent behind it has its own tools.
    pub tools: bool,
    /// Set if it reports tokens.
    pub usage: bool,
    /// Set if it reports costs.
    pub cost: bool,
}

/// A model or coding agent that runs turns.
pub trait Driver: Send + Sync {
    /// Returns the name by which it is selected: `api`, `cli:codex`.
    fn name(&self) -> &str;

    /// Returns its capabilities.
    fn capabilities(&self) -> Capabilities;

    /// Starts a turn. Its events end with exactly one [`AgentEvent::Finished`], or with an error. Nothing happens
    /// before the first event is polled; dropping the stream ends the turn, with every process it started.
    fn run(&self, request: AgentRequest) -> AgentEvents;

    /// Returns the result of a finished turn, by its [key](AgentRequest::turn), if the driver knows it: a caller that
    /// was killed before it stored the result calls this instead of running the turn again.
    fn finished_turn<'a>(
        &'a self,
        session: Option<&'a SessionRef>,
        turn: &'a str,
    ) -> BoxFuture<'a, Result<Option<Finished>, DriverError>> {
        let _ = (session, turn);
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Returns whether a repeated turn with the same key resumes where it was, and includes its earlier usage.
    fn continues(&self) -> bool {
        false
    }

    /// Returns whether it enforces limits of tokens and cost itself, as far as it reports them. Turns of other drivers
    /// are stopped by the caller, at the first report beyond a limit.
    fn keeps_limits(&self) -> bool {
        false
    }

    /// Returns whether it enforces a cost limit although it reports costs only at the end of a turn.
    fn bounds_cost(&self) -> bool {
        false
    }
}

impl<D: Driver + ?Sized> Driver for Arc<D> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }

    fn run(&self, request: AgentRequest) -> AgentEvents {
        (**self).run(request)
    }

    fn finished_turn<'a>(
        &'a self,
        session: Option<&'a SessionRef>,
        turn: &'a str,
    ) -> BoxFuture<'a, Result<Option<Finished>, DriverError>> {
        (**self).finished_turn(session, turn)
    }

    fn continues(&self) -> bool {
        (**self).continues()
    }

    fn keeps_limits(&self) -> bool {
        (**self).keeps_limits()
    }

    fn bounds_cost(&self) -> bool {
        (**self).bounds_cost()
    }
}

/// Extension methods for every driver.
pub trait DriverExt: Driver {
    /// Runs a turn to its end; `on_event` gets every event before the last.
    fn finish(
        &self,
        request: AgentRequest,
        mut on_event: impl FnMut(&AgentEvent) + Send,
    ) -> impl Future<Output = Result<Finished, DriverError>> + Send {
        let mut events = self.run(request);
        async move {
            while let Some(event) = events.next().await {
                match event? {
                    AgentEvent::Finished(finished) => return Ok(finished),
                    event => on_event(&event),
                }
            }
            Err(DriverError::no_result(""))
        }
    }
}

impl<D: Driver + ?Sized> DriverExt for D {}

/// Event stream of one turn.
pub struct AgentEvents {
    inbox: mpsc::Receiver<AgentEvent>,
    turn: Option<BoxFuture<'static, Result<Finished, DriverError>>>,
}

impl std::fmt::Debug for AgentEvents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentEvents").field("ended", &self.turn.is_none()).finish_non_exhaustive()
    }
}

impl AgentEvents {
    /// Returns the next event.
    #[boxed]
    pub async fn next(&mut self) -> Option<Result<AgentEvent, DriverError>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl Stream for AgentEvents {
    type Item = Result<AgentEvent, DriverError>;

    /// Sends buffered events before the result of the turn.
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let ended = match &mut this.turn {
            None => return Poll::Ready(None),
            Some(turn) => turn.as_mut().poll(cx),
        };
        if let Poll::Ready(Some(event)) = this.inbox.poll_recv(cx) {
            if let Poll::Ready(ended) = ended {
                this.turn = Some(Box::pin(std::future::ready(ended)));
                cx.waker().wake_by_ref();
            }
            return Poll::Ready(Some(Ok(event)));
        }
        let Poll::Ready(ended) = ended else { return Poll::Pending };
        this.turn = None;
        Poll::Ready(Some(ended.map(AgentEvent::Finished)))
    }
}

/// Sends the events of a turn.
#[derive(Clone, Debug)]
pub struct Sender(mpsc::Sender<AgentEvent>);

impl Sender {
    /// Sends an event; waits while the buffer is full.
    #[boxed]
    pub async fn send(&self, event: AgentEvent) {
        // The receiver is gone: the turn is about to be dropped.
        let _ = self.0.send(event).await;
    }
}

/// Builds an event stream from a future that runs a turn and sends events: for implementations of [`Driver`]. The
/// future is polled while the stream is read, and dropped with it.
pub fn events<F>(turn: impl FnOnce(Sender) -> F) -> AgentEvents
where
    F: Future<Output = Result<Finished, DriverError>> + Send + 'static,
{
    let (outbox, inbox) = mpsc::channel(64);
    AgentEvents { inbox, turn: Some(Box::pin(turn(Sender(outbox)))) }
}

/// Implements the methods that a wrapper forwards to its field `driver` unchanged.
macro_rules! forward_methods {
    () => {
        forward_methods!(all but finished_turn);

        fn finished_turn<'a>(
            &'a self,
            session: Option<&'a SessionRef>,
            turn: &'a str,
        ) -> BoxFuture<'a, Result<Option<Finished>, DriverError>> {
            self.driver.finished_turn(session, turn)
        }
    };
    (all but finished_turn) => {
        fn name(&self) -> &str {
            self.driver.name()
        }

        fn capabilities(&self) -> Capabilities {
            self.driver.capabilities()
        }

        fn continues(&self) -> bool {
            self.driver.continues()
        }

        fn keeps_limits(&self) -> bool {
            self.driver.keeps_limits()
        }

        fn bounds_cost(&self) -> bool {
            self.driver.bounds_cost()
        }
    };
}

pub(super) use forward_methods;
