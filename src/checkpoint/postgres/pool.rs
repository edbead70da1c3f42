//! The connections of a store: made when needed, up to a number, and closed when nobody has used them for a while. Knows sessions;
//! must not know what they execute. It is small enough to be ours: a pool of someone else would not know when a session is in
//! doubt, and would bring its own clock and settings.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::fault::{Fault, Patience};
use super::query::Query;
use super::session::{Server, Session};
use crate::checkpoint::CheckpointError;

/// The time after which an unused connection is closed.
const IDLE: Duration = Duration::from_secs(60);

/// The longest time for a statement.
pub(super) const LONGEST: Duration = Duration::from_secs(120);

/// The connections of a store.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) server: Arc<Server>,
    slots: Arc<Semaphore>,
    idle: Arc<IdleSessions>,
}

#[derive(Default)]
struct IdleSessions(Mutex<Vec<(Session, Instant)>>);

impl std::fmt::Debug for IdleSessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} sessions", self.lock().len())
    }
}

impl IdleSessions {
    fn lock(&self) -> MutexGuard<'_, Vec<(Session, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the session that was used last.
    fn pop(&self) -> Option<Session> {
        let mut idle = self.lock();
        idle.retain(|(session, _)| !session.is_closed());
        idle.pop().map(|(session, _)| session)
    }
}

impl Pool {
    pub(super) fn new(server: Arc<Server>, size: usize) -> Self {
        Self { server, slots: Arc::new(Semaphore::new(size)), idle: Arc::default() }
    }

    /// Takes a session that was made to look at the server.
    pub(super) fn adopt(&self, session: Session) {
        self.idle.lock().push((session, Instant::now()));
    }

    /// Returns a session that is the caller's until it is dropped. Waits while all are in use.
    pub(super) async fn session(&self) -> Result<PooledSession, Fault> {
        let permit = Arc::clone(&self.slots).acquire_owned().await;
        let permit = permit.map_err(|_| Fault::Lost("the store is closed".into()))?;
        let session = match self.idle.pop() {
            Some(session) => session,
            None => Box::pin(self.server.connect()).await?, // boxed, as it is large and rare
        };
        Ok(PooledSession {
            session: Some(session),
            is_discarded: AtomicBool::new(false),
            idle: Arc::clone(&self.idle),
            _permit: permit,
        })
    }

    /// Executes statements that may be repeated, until they succeed or the server cannot be reached for long.
    pub(super) async fn run<T, F>(&self, work: impl Fn(Arc<PooledSession>) -> F) -> Result<T, CheckpointError>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        let mut patience = Patience::new(Patience::OUTAGE);
        loop {
            let reason = match self.attempt(&work).await {
                Ok(found) => return Ok(found),
                Err(Fault::Refused(error)) => return Err(error),
                Err(Fault::Lost(reason) | Fault::Conflict(reason)) => reason,
            };
            patience.wait(&self.server.shown, reason).await?;
        }
    }

    /// Executes a statement that may be repeated, as [`run`](Self::run) does.
    pub(super) async fn rows(&self, query: Query, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, CheckpointError> {
        self.run(|session: Arc<PooledSession>| async move { session.rows(query, params).await }).await
    }

    async fn attempt<T, F>(&self, work: &impl Fn(Arc<PooledSession>) -> F) -> Result<T, Fault>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        let session = Arc::new(self.session().await?);
        let found = timeout(LONGEST, work(Arc::clone(&session))).await;
        let found = found.unwrap_or_else(|_| Err(Fault::Lost("the server does not answer".into())));
        if let Err(Fault::Lost(_)) = &found {
            session.discard();
        }
        found
    }

    /// Closes connections that nobody has used for a while.
    pub(super) fn trim(&self) {
        self.idle.lock().retain(|(session, since)| !session.is_closed() && since.elapsed() < IDLE);
    }
}

/// A session of the pool.
pub(super) struct PooledSession {
    session: Option<Session>,
    is_discarded: AtomicBool,
    idle: Arc<IdleSessions>,
    _permit: OwnedSemaphorePermit,
}

impl PooledSession {
    /// Has the connection closed instead of used again: what it still executes is not known.
    pub(super) fn discard(&self) {
        self.is_discarded.store(true, Ordering::Release);
    }
}

impl Deref for PooledSession {
    type Target = Session;

    #[allow(clippy::expect_used, reason = "only `drop` takes the session, and nothing uses it after that")]
    fn deref(&self) -> &Session {
        self.session.as_ref().expect("a session until it is dropped")
    }
}

impl Drop for PooledSession {
    fn drop(&mut self) {
        let is_usable = |session: &Session| !session.is_closed() && !self.is_discarded.load(Ordering::Acquire);
        if let Some(session) = self.session.take().filter(is_usable) {
            self.idle.lock().push((session, Instant::now()));
        }
    }
}
