//! One handle on a store: its requests, the thread of this process on which all of its work is done, and its end. That thread has
//! a runtime of its own, so that leases are renewed while bodies of nodes block every thread of the caller's. Knows all parts of the
//! store; must not know the address.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Waker};
use std::thread::JoinHandle;
use std::time::Duration;

use futures::future::join_all;
use tokio::runtime::{Builder, Handle as RuntimeHandle};
use tokio::sync::oneshot;

use super::query::Query;
use super::requests::{Reply, Request, Requests};
use super::writer::Writer;
use crate::checkpoint::{BoxFuture, CheckpointError, Claim, Commit, Lease, LeaseKeeper, Receipt, Record, ThreadId};

type Result<T> = std::result::Result<T, CheckpointError>;

/// The longest time for which the end of a handle waits for its last requests.
const LAST_REQUESTS: Duration = Duration::from_secs(2);

/// The thread on which the work of a handle is done.
pub(super) struct Background {
    pub(super) runtime: RuntimeHandle,
    stop: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
}

impl fmt::Debug for Background {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Background")
    }
}

impl Background {
    pub(super) fn start() -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(CheckpointError::backend)?;
        let (handle, (stop, stopped)) = (runtime.handle().clone(), oneshot::channel());
        let body = move || {
            _ = runtime.block_on(stopped);
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("superstep-store".into()).spawn(body);
        let thread = thread.map_err(CheckpointError::backend)?;
        Ok(Self { runtime: handle, stop: Mutex::new(Some((stop, thread))) })
    }

    /// Executes work on the thread; it ends also if the caller does not wait for it.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        self.runtime.spawn(work).await.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(closed()),
        })
    }

    /// Ends the thread. What it still does is dropped.
    pub(super) fn stop(&self) {
        let stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((stop, thread)) = stop {
            _ = stop.send(());
            // Its last act may be to drop the handle itself.
            if thread.thread().id() != std::thread::current().id() {
                _ = thread.join();
            }
        }
    }
}

pub(super) fn closed() -> CheckpointError {
    CheckpointError::Poisoned { reason: "it is closed".into() }
}

/// The part of a handle that its leases share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) writer: Arc<Writer>,
    pub(super) requests: Arc<Requests>,
    pub(super) background: Background,
}

impl Shared {
    /// Queues a request of a thread.
    pub(super) fn push(&self, thread: &ThreadId, request: Request) {
        if self.requests.push(thread, request) {
            self.background.runtime.spawn(self.write_requests(thread.clone()));
        }
    }

    /// Queues a commit. If nothing of the thread is being written, its statement is sent by the caller: to wake the thread of this
    /// store first would take as long as much of the rest. That thread takes over at the first wait.
    fn push_commit(&self, thread: &ThreadId, request: Request) {
        if self.requests.push(thread, request) {
            let mut writing = Box::pin(self.write_requests(thread.clone()));
            let guard = self.background.runtime.enter();
            let is_waiting = writing.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending();
            drop(guard);
            if is_waiting {
                self.background.runtime.spawn(writing);
            }
        }
    }

    /// Writes the requests of a thread until there are none.
    fn write_requests(&self, thread: ThreadId) -> impl Future<Output = ()> + use<> {
        let (writer, requests) = (Arc::clone(&self.writer), Arc::clone(&self.requests));
        async move {
            while let Some(batch) = requests.take(&thread) {
                writer.write(&thread, batch).await;
            }
        }
    }

    /// Queues a request, and waits for its answer.
    pub(super) async fn ask<T>(&self, thread: &ThreadId, request: impl FnOnce(Reply<T>) -> Request) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        self.push(thread, request(reply));
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    pub(super) async fn claim(self: Arc<Self>, thread: ThreadId, claim: Claim) -> Result<Lease> {
        let keeper = Arc::clone(&self) as Arc<dyn LeaseKeeper>;
        self.ask(&thread, |reply| Request::Claim { claim, keeper, reply }).await
    }

    pub(super) fn commit(&self, commit: Commit) -> Receipt {
        let ticket = self.writer.book.find(&commit.thread, commit.epoch);
        let (ticket, commit) = match ticket.and_then(|ticket| commit.encode().map(|commit| (ticket, commit))) {
            Ok(checked) => checked,
            Err(error) => return Receipt::ready(Err(error)),
        };
        ticket.take_head();
        ticket.set_ending(commit.is_last);
        let (reply, answer) = oneshot::channel();
        let thread = commit.thread.clone();
        self.push_commit(&thread, Request::Commit { ticket, commit, reply });
        Receipt::waiting(answer)
    }

    pub(super) fn post(&self, thread: &ThreadId, records: Vec<Record>, id: [u8; 16], is_new: bool) -> Receipt {
        if let Err(error) = Commit::check_posted(thread, &records) {
            return Receipt::ready(Err(error));
        }
        let (reply, answer) = oneshot::channel();
        self.push(thread, Request::Post { id, records, is_new, reply });
        Receipt::waiting(answer)
    }

    /// Waits until the requests of a thread that are queued now are written.
    pub(super) async fn settle(&self, thread: &ThreadId) -> Result<()> {
        match self.requests.is_busy(thread) {
            true => self.ask(thread, |reply| Request::Barrier { reply }).await,
            false => Ok(()),
        }
    }

    fn free<'a>(&'a self, thread: &'a ThreadId, epoch: u64, is_left: bool) -> BoxFuture<'a, Result<()>> {
        let ticket = self.writer.book.remove(thread, epoch);
        Box::pin(async move {
            let Some(ticket) = ticket else { return Ok(()) };
            self.ask(thread, |reply| Request::Release { ticket, is_left, reply: Some(reply) }).await
        })
    }

    /// Waits until threads that were freed through this handle are free in the store.
    pub(super) async fn settle_released(&self) -> Result<()> {
        let is_held = |thread: &ThreadId| self.writer.book.live_ticket(thread).is_some();
        let threads: Vec<ThreadId> = self.requests.threads().into_iter().filter(|thread| !is_held(thread)).collect();
        let settled = join_all(threads.iter().map(|thread| self.settle(thread))).await;
        settled.into_iter().collect()
    }

    /// Sends the hint that is still to be sent, since a command may end as soon as its request is stored.
    async fn send_last_hint(&self) {
        let Writer { pool, hints, .. } = &*self.writer;
        if hints.is_unsent() {
            _ = pool.rows(Query::Hint, &[&pool.server.channel]).await;
        }
    }

    /// Frees all threads, waits for what is queued, and ends the background thread.
    pub(super) async fn end(&self) -> Result<()> {
        for ticket in self.writer.book.all() {
            self.release_dropped(&ticket.thread, ticket.epoch);
        }
        let threads = self.requests.threads();
        let settled = join_all(threads.iter().map(|thread| self.settle(thread))).await;
        self.send_last_hint().await;
        drop(self.writer.refreshing.write().await);
        settled.into_iter().collect()
    }

    /// Ends the handle within a bounded time, on the caller's thread.
    pub(super) fn end_now(self: &Arc<Self>) {
        let (done, ended) = std::sync::mpsc::channel();
        let shared = Arc::clone(self);
        self.background.runtime.spawn(async move {
            _ = shared.end().await;
            drop(shared);
            _ = done.send(());
        });
        _ = ended.recv_timeout(LAST_REQUESTS);
        self.background.stop();
    }
}

impl LeaseKeeper for Shared {
    fn release<'a>(&'a self, thread: &'a ThreadId, epoch: u64) -> BoxFuture<'a, Result<()>> {
        self.free(thread, epoch, false)
    }

    fn leave<'a>(&'a self, thread: &'a ThreadId, epoch: u64) -> BoxFuture<'a, Result<()>> {
        self.free(thread, epoch, true)
    }

    fn release_dropped(&self, thread: &ThreadId, epoch: u64) {
        if let Some(ticket) = self.writer.book.remove(thread, epoch) {
            self.push(thread, Request::Release { ticket, is_left: false, reply: None });
        }
    }

    fn renew<'a>(&'a self, thread: &'a ThreadId, epoch: u64) -> BoxFuture<'a, Result<()>> {
        let found = self.writer.book.find(thread, epoch);
        let writer = Arc::clone(&self.writer);
        Box::pin(async move {
            let ticket = found?;
            self.background.run(async move { writer.renew(&ticket).await }).await
        })
    }

    fn mark_end(&self, thread: &ThreadId, epoch: u64) {
        self.writer.book.mark_end(thread, epoch);
    }
}
