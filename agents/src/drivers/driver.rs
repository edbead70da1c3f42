//! The trait that all drivers share, and the channel by which they tell what happens. Knows no driver.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::Stream;
use futures::future::BoxFuture;
use tokio::sync::mpsc;

use super::error::DriverError;
use super::event::{AgentEvent, Finished};
use super::request::{AgentRequest, SessionRef};

/// What a driver can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether a session can be gone on with, also by another process.
    pub sessions: bool,
    /// Whether it offers the submit tool to the model; otherwise the answer is asked for as JSON in the text.
    pub submits: bool,
    /// Whether it keeps to [`Access`](super::Access); otherwise the agent behind it has tools of its own.
    pub tools: bool,
    /// Whether it tells tokens.
    pub usage: bool,
    /// Whether it tells costs.
    pub cost: bool,
}

/// A model or coding agent that carries out turns.
pub trait Driver: Send + Sync {
    /// Returns the name it is chosen by: `api`, `cli:codex`.
    fn name(&self) -> &str;

    /// Returns what it can do.
    fn capabilities(&self) -> Capabilities;

    /// Begins a turn. Its events end with exactly one [`AgentEvent::Finished`], or with an error. Nothing happens before the
    /// first is read; dropping them ends the turn, with every process it started.
    fn run(&self, request: AgentRequest) -> AgentEvents;

    /// Returns what a turn came to that has ended, by its [key](AgentRequest::turn), if the driver knows: a caller that
    /// was killed before it could note the result asks this instead of running the turn again.
    fn ended<'a>(
        &'a self,
        session: Option<&'a SessionRef>,
        turn: &'a str,
    ) -> BoxFuture<'a, Result<Option<Finished>, DriverError>> {
        let _ = (session, turn);
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Returns whether a turn that is run again under its name goes on where it was, and counts what it used before.
    fn continues(&self) -> bool {
        false
    }

    /// Returns whether it ends turns at their limits of tokens and cost by itself, as far as it reports them. Turns of other
    /// drivers are ended from outside, at the first report beyond a limit.
    fn keeps_limits(&self) -> bool {
        false
    }

    /// Returns whether it ends turns at a cost that it reports at their ends only.
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

    fn ended<'a>(
        &'a self,
        session: Option<&'a SessionRef>,
        turn: &'a str,
    ) -> BoxFuture<'a, Result<Option<Finished>, DriverError>> {
        (**self).ended(session, turn)
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

/// What every driver can do besides.
pub trait DriverExt: Driver {
    /// Carries a turn out to its end; `heard` gets every event before it.
    fn finish(
        &self,
        request: AgentRequest,
        mut heard: impl FnMut(&AgentEvent) + Send,
    ) -> impl Future<Output = Result<Finished, DriverError>> + Send {
        let mut events = self.run(request);
        async move {
            while let Some(event) = events.next().await {
                match event? {
                    AgentEvent::Finished(finished) => return Ok(finished),
                    event => heard(&event),
                }
            }
            Err(DriverError::unfinished(""))
        }
    }
}

impl<D: Driver + ?Sized> DriverExt for D {}

/// The events of one turn.
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
    pub async fn next(&mut self) -> Option<Result<AgentEvent, DriverError>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl Stream for AgentEvents {
    type Item = Result<AgentEvent, DriverError>;

    /// Events that the turn told come before what it came to.
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

/// How a driver tells what happens in a turn.
#[derive(Clone, Debug)]
pub struct Sender(mpsc::Sender<AgentEvent>);

impl Sender {
    /// Tells an event; waits while nobody reads.
    pub async fn tell(&self, event: AgentEvent) {
        // Nobody listens any more: the turn is about to be dropped.
        let _ = self.0.send(event).await;
    }
}

/// Makes the events of a turn from a future that carries it out and tells what happens: for those who write drivers. The
/// future runs while the events are read, and is dropped with them.
pub fn events<F>(turn: impl FnOnce(Sender) -> F) -> AgentEvents
where
    F: Future<Output = Result<Finished, DriverError>> + Send + 'static,
{
    let (outbox, inbox) = mpsc::channel(64);
    AgentEvents { inbox, turn: Some(Box::pin(turn(Sender(outbox)))) }
}
