//! The work of a connection: reads, writes, and what the server sends unasked. A task of the store's thread does it; whoever has
//! queued a statement can have it written at once, without waiting until that thread wakes. Knows no statements.

use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::task::{Context, Poll, Waker};

use tokio::task::JoinHandle;
use tokio_postgres::{AsyncMessage, Error};

type Polled = Poll<Option<Result<AsyncMessage, Error>>>;
type PollMessage = Box<dyn FnMut(&mut Context<'_>) -> Polled + Send>;
type Listen = Box<dyn Fn(AsyncMessage) + Send>;

/// Drives one connection until it ends or this is dropped.
pub(super) struct Driver {
    work: Arc<Mutex<Work>>,
    task: JoinHandle<()>,
}

struct Work {
    poll_message: PollMessage,
    listen: Listen,
    /// Wakes the task; `None` before its first turn.
    waker: Option<Waker>,
    has_ended: bool,
}

impl Driver {
    /// Starts a task that calls `poll_message`, and `listen` with what the server sends unasked.
    pub(super) fn start(
        poll_message: impl FnMut(&mut Context<'_>) -> Polled + Send + 'static,
        listen: impl Fn(AsyncMessage) + Send + 'static,
    ) -> Self {
        let (poll_message, listen) = (Box::new(poll_message), Box::new(listen));
        let work = Arc::new(Mutex::new(Work { poll_message, listen, waker: None, has_ended: false }));
        let own = Arc::clone(&work);
        let task = tokio::spawn(std::future::poll_fn(move |cx| {
            let mut work = own.lock().unwrap_or_else(PoisonError::into_inner);
            if !work.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                work.waker = Some(cx.waker().clone());
            }
            work.advance(cx)
        }));
        Self { work, task }
    }

    /// Writes what is queued, as far as the connection takes it now. If the task is at it, it does that.
    pub(super) fn write_now(&self) {
        let mut work = match self.work.try_lock() {
            Ok(work) => work,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        // The task's own waker: what happens later on the connection wakes the task.
        if let Some(waker) = work.waker.clone()
            && work.advance(&mut Context::from_waker(&waker)).is_ready()
        {
            waker.wake();
        }
    }
}

impl Work {
    /// Reads and writes until the connection has nothing more to do now; ready once it has ended.
    fn advance(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while !self.has_ended {
            match (self.poll_message)(cx) {
                Poll::Ready(Some(Ok(message))) => (self.listen)(message),
                Poll::Ready(_) => self.has_ended = true,
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(())
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // A server that hangs would hold the task for ever.
        self.task.abort();
    }
}
