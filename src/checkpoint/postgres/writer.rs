//! Writes the requests of one thread in their order. Commits are sent together and answered one by one; what became of those whose
//! answers were lost is read from the thread's row before anything is said. Knows sessions and leases; must not know who asks.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::sync::RwLock;
use tokio::time::{Instant, sleep};
use tokio_postgres::Row;

use super::columns::{epoch_in, head_in, millis_in, number_in, owner_in};
use super::cut::{CutName, readable};
use super::fault::{Fault, Patience};
use super::hints::Hints;
use super::leases::{LeaseBook, ServerClock, Ticket};
use super::pool::{LONGEST, Pool, PooledSession};
use super::put::{send_commit, send_post};
use super::query::Query;
use super::requests::Request;
use super::session::{Params, Session};
use super::summaries::refresh_thread;
use crate::checkpoint::{CheckpointError, CheckpointId, Claim, Commit, Lease, LeaseKeeper, LeaseOwner, ThreadId};

/// The writing side of one handle on a store.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) pool: Pool,
    pub(super) book: LeaseBook,
    /// Random number of the handle.
    pub(super) handle: i64,
    /// The owner of its leases.
    pub(super) owner: LeaseOwner,
    pub(super) hints: Arc<Hints>,
    pub(super) clock: ServerClock,
    /// Held for reading while the summary of a thread is made.
    pub(super) refreshing: Arc<RwLock<()>>,
}

/// The outcome of a commit whose answer was lost or was a refusal.
enum Verdict {
    Written,
    Refused(CheckpointError),
    /// Not written, and nothing speaks against it.
    Pending,
}

impl Writer {
    /// Writes requests of a thread: commits and posts, or one of another kind.
    pub(super) async fn write(self: &Arc<Self>, thread: &ThreadId, mut batch: VecDeque<Request>) {
        // Most requests are commits: what others need is boxed, so that a commit does not have room for it moved about.
        match batch.pop_front() {
            Some(Request::Claim { claim, keeper, reply }) => {
                // A lease that nobody waits for any more is released by its drop.
                _ = reply.send(Box::pin(self.claim(thread, claim, keeper)).await);
            }
            Some(Request::Release { ticket, is_left, reply }) => {
                let released = Box::pin(self.release(&ticket, is_left)).await;
                if released.is_ok() {
                    self.refresh(ticket);
                }
                _ = reply.map(|reply| reply.send(released));
            }
            Some(Request::Delete { ticket, reply }) => _ = reply.send(Box::pin(self.delete(&ticket)).await),
            Some(Request::Barrier { reply }) => _ = reply.send(Ok(())),
            Some(first) => {
                batch.push_front(first);
                self.write_commits(thread, batch).await;
            }
            None => {}
        }
    }

    /// Makes the summary of a thread that was released, while the next requests of the thread are written.
    fn refresh(self: &Arc<Self>, ticket: Arc<Ticket>) {
        let Ok(guard) = Arc::clone(&self.refreshing).try_read_owned() else { return };
        let writer = Arc::clone(self);
        tokio::spawn(async move {
            if let Err(error) = Box::pin(refresh_thread(&writer.pool, ticket.id)).await {
                // Whoever lists next makes it.
                tracing::debug!(thread = ticket.thread.as_str(), %error, "the summary of a thread was not made");
            }
            drop(guard);
        });
    }

    async fn write_commits(self: &Arc<Self>, thread: &ThreadId, mut waiting: VecDeque<Request>) {
        let mut patience = Patience::new(Patience::OUTAGE);
        let mut is_in_doubt = false;
        loop {
            fail_lost(&mut waiting);
            let before = waiting.len();
            if before == 0 {
                return;
            }
            let reason = match self.attempt(thread, &mut waiting, &mut is_in_doubt).await {
                Ok(()) => continue,
                Err(Fault::Refused(error)) => {
                    waiting.pop_front().into_iter().for_each(|request| request.fail(error.clone()));
                    continue;
                }
                Err(Fault::Lost(reason) | Fault::Conflict(reason)) => reason,
            };
            if waiting.len() < before {
                patience.reset();
            }
            if let Err(error) = Box::pin(self.pause(&mut patience, &waiting, reason)).await {
                waiting.drain(..).for_each(|request| request.fail(error.clone()));
            }
        }
    }

    /// Waits before the next attempt, or until the lease of the next commit is lost.
    async fn pause(
        &self,
        patience: &mut Patience,
        waiting: &VecDeque<Request>,
        reason: String,
    ) -> Result<(), CheckpointError> {
        tokio::select! {
            waited = patience.wait(&self.pool.server.shown, reason) => waited,
            () = next_loss(waiting) => Ok(()),
        }
    }

    /// Sends all requests, and answers those of which the outcome is known.
    async fn attempt(
        self: &Arc<Self>,
        thread: &ThreadId,
        waiting: &mut VecDeque<Request>,
        is_in_doubt: &mut bool,
    ) -> Result<(), Fault> {
        let session = self.pool.session().await?;
        let answered = self.exchange(&session, thread, waiting, is_in_doubt).await;
        if let Err(Fault::Lost(_)) = &answered {
            *is_in_doubt = true;
            session.discard();
        }
        answered
    }

    async fn exchange(
        self: &Arc<Self>,
        session: &PooledSession,
        thread: &ThreadId,
        waiting: &mut VecDeque<Request>,
        is_in_doubt: &mut bool,
    ) -> Result<(), Fault> {
        if *is_in_doubt {
            Box::pin(self.settle(session, waiting)).await?;
            *is_in_doubt = false;
        }
        let outcomes = tokio::select! {
            outcomes = session.write_at_once(send_all(session, thread, waiting)) => outcomes,
            () = sleep(LONGEST) => return Err(Fault::Lost("the server does not answer".into())),
            () = next_loss(waiting) => return Err(Fault::Lost("the lease ended before the server answered".into())),
        };
        for outcome in outcomes {
            let is_written = outcome?;
            let Some(request) = waiting.front() else { return Ok(()) };
            match (request, is_written) {
                (_, true) => self.acknowledge(waiting.pop_front()),
                (Request::Commit { ticket, commit, .. }, false) => {
                    match Box::pin(judge(session, ticket, commit)).await? {
                        Verdict::Written => self.acknowledge(waiting.pop_front()),
                        Verdict::Refused(error) => return Err(Fault::Refused(error)),
                        Verdict::Pending => return Err(Fault::Conflict("the commit before it was not written".into())),
                    }
                }
                (_, false) => return Err(Fault::Refused(CheckpointError::unknown_thread(thread))),
            }
        }
        Ok(())
    }

    /// Answers a request that was written.
    fn acknowledge(self: &Arc<Self>, request: Option<Request>) {
        match request {
            Some(Request::Commit { ticket, reply, commit }) => {
                ticket.acknowledge(ticket.next_commit());
                if commit.is_last {
                    self.book.remove(&ticket.thread, ticket.epoch);
                    self.hints.send();
                    self.refresh(ticket);
                }
                _ = reply.send(Ok(()));
            }
            Some(Request::Post { reply, .. }) => {
                self.hints.send();
                _ = reply.send(Ok(()));
            }
            _ => {}
        }
    }

    /// Answers the commits at the front that were written although their answers were lost.
    async fn settle(self: &Arc<Self>, session: &Session, waiting: &mut VecDeque<Request>) -> Result<(), Fault> {
        while let Some(Request::Commit { ticket, .. }) = waiting.front() {
            let Some(row) = session.row(Query::Position, &[&ticket.id, &ticket.epoch.cast_signed()]).await? else {
                return Ok(());
            };
            if !is_written(&row, ticket) {
                return Ok(());
            }
            self.acknowledge(waiting.pop_front());
        }
        Ok(())
    }

    async fn claim(
        &self,
        thread: &ThreadId,
        claim: Claim,
        keeper: Arc<dyn LeaseKeeper>,
    ) -> Result<Lease, CheckpointError> {
        let live = self.book.live_ticket(thread);
        if live.is_some_and(|ticket| !claim.takes_over(ticket.engine)) {
            return Err(CheckpointError::ThreadBusy { thread: thread.clone(), owner: self.own().into() });
        }
        let (sent, row) =
            self.pool.run(|session| async move { self.send_claim(&session, thread, claim).await }).await?;
        let epoch = row.get::<_, Option<i64>>("r_epoch").unwrap_or_default().cast_unsigned();
        if !row.get::<_, bool>("r_is_claimed") {
            let owner = owner_in(&row, 4).unwrap_or_else(|| Arc::new(self.own()));
            return Err(CheckpointError::ThreadBusy { thread: thread.clone(), owner });
        }
        let follows = self.book.take_mark(thread, row.get::<_, i64>("r_epoch_before").cast_unsigned());
        self.clock.note(row.get::<_, i64>("r_until_ms").saturating_sub(millis(self.book.time)).cast_unsigned());
        let owner = self.own().until(millis_in(&row, 7));
        let lease = Lease::new(thread.clone(), epoch, Arc::new(owner), follows, keeper)
            .after_cancel(row.get::<_, Option<bool>>("r_is_cancelled").unwrap_or_default());
        let ticket = Ticket::new(thread.clone(), row.get("r_id"), epoch, lease.handle(), self.book.end(sent));
        if sent.elapsed() > self.book.time / 3 {
            // By the clock of this process, much or all of its time is up; somebody else may have the thread by now.
            self.renew(&ticket).await.map_err(|error| busy_instead(error, &self.owner))?;
        }
        let ticket = ticket.claimed_for(claim.engine()).with_head(head_in(&row, 9));
        if let Some(earlier) = self.book.insert(Arc::new(ticket)) {
            earlier.report(earlier.stale(epoch, Some(self.own().into())));
        }
        Ok(lease)
    }

    async fn send_claim(&self, session: &Session, thread: &ThreadId, claim: Claim) -> Result<(Instant, Row), Fault> {
        let CutName { length, cut } = CutName::new(thread);
        let (name, owner, host) = (readable(thread.as_str()), readable(&self.owner.name), readable(&self.owner.host));
        let (pid, time) = (i64::from(self.owner.pid), millis(self.book.time));
        let (takes_over, engine) = (claim == Claim::TakeOver, claim.engine());
        let sent = Instant::now();
        let params: Params<'_> = &[
            &length,
            &cut.start,
            &cut.hash,
            &cut.rest,
            &name,
            &self.handle,
            &owner,
            &host,
            &pid,
            &time,
            &takes_over,
            &engine,
        ];
        let row = session.row(Query::Claim, params).await?;
        row.map(|row| (sent, row)).ok_or_else(|| Fault::Conflict("the claim had no answer".into()))
    }

    /// Renews one lease now.
    pub(super) async fn renew(&self, ticket: &Ticket) -> Result<(), CheckpointError> {
        let (ids, epochs) = (vec![ticket.id], vec![ticket.epoch.cast_signed()]);
        let (ids, epochs, time) = (&ids, &epochs, self.book.time.as_secs_f64() * 1000.0);
        let send = |session: Arc<PooledSession>| async move {
            let sent = Instant::now();
            match session.row(Query::Renew, &[ids, epochs, &time, &self.handle]).await? {
                Some(_) => Ok(sent),
                None => Err(Fault::Refused(stale(&session, ticket).await?)),
            }
        };
        let sent = self.pool.run(send).await?;
        ticket.extend(self.book.end(sent));
        Ok(())
    }

    async fn release(&self, ticket: &Ticket, is_left: bool) -> Result<(), CheckpointError> {
        let (id, epoch) = (ticket.id, ticket.epoch.cast_signed());
        let is_cancelled = is_left && ticket.is_cancelled();
        let send = |session: Arc<PooledSession>| async move {
            session.row(Query::Release, &[&id, &epoch, &is_left, &is_cancelled]).await
        };
        let released = self.pool.run(send).await.map(drop);
        if !is_left {
            self.hints.send();
        }
        released
    }

    async fn delete(&self, ticket: &Ticket) -> Result<(), CheckpointError> {
        ticket.check()?;
        let (id, epoch) = (ticket.id, ticket.epoch.cast_signed());
        let send = |session: Arc<PooledSession>| async move {
            let row = session.row(Query::Delete, &[&id, &epoch]).await?;
            match row.is_some_and(|row| row.get(0)) {
                true => Ok(()),
                false => Err(Fault::Refused(stale(&session, ticket).await?)),
            }
        };
        self.pool.run(send).await
    }

    fn own(&self) -> LeaseOwner {
        self.owner.clone()
    }
}

/// Returns the error of a claim whose lease was lost before anybody had it.
fn busy_instead(error: CheckpointError, own: &LeaseOwner) -> CheckpointError {
    match error {
        CheckpointError::StaleLease { thread, owner, .. } => {
            CheckpointError::ThreadBusy { thread, owner: owner.unwrap_or_else(|| Arc::new(own.clone())) }
        }
        other => other,
    }
}

/// Answers commits whose lease was lost in the meantime.
fn fail_lost(waiting: &mut VecDeque<Request>) {
    for request in std::mem::take(waiting) {
        match &request {
            Request::Commit { ticket, .. } => match ticket.check() {
                Ok(()) => waiting.push_back(request),
                Err(error) => request.fail(error),
            },
            _ => waiting.push_back(request),
        }
    }
}

/// Waits until the lease of the first commit is lost.
async fn next_loss(waiting: &VecDeque<Request>) {
    let ticket = waiting.iter().find_map(|request| match request {
        Request::Commit { ticket, .. } => Some(ticket),
        _ => None,
    });
    match ticket {
        Some(ticket) => _ = ticket.lost().await,
        None => std::future::pending().await,
    }
}

/// Sends requests without waiting for the first of them; returns which were written.
async fn send_all(session: &Session, thread: &ThreadId, waiting: &VecDeque<Request>) -> Vec<Result<bool, Fault>> {
    let numbered = waiting.iter().zip(numbers(waiting));
    join_all(numbered.map(|(request, number)| send(session, thread, request, number))).await
}

/// Returns the numbers of commits in their leases; 0 for other requests.
fn numbers(waiting: &VecDeque<Request>) -> Vec<u64> {
    let mut numbers: Vec<(u64, u64)> = Vec::with_capacity(waiting.len());
    for request in waiting {
        let Request::Commit { ticket, .. } = request else {
            numbers.push((0, 0));
            continue;
        };
        let last = numbers.iter().rev().find(|(epoch, _)| *epoch == ticket.epoch);
        numbers.push((ticket.epoch, last.map_or_else(|| ticket.next_commit(), |(_, last)| last + 1)));
    }
    numbers.into_iter().map(|(_, number)| number).collect()
}

async fn send(session: &Session, thread: &ThreadId, request: &Request, number: u64) -> Result<bool, Fault> {
    match request {
        Request::Commit { ticket, commit, .. } => send_commit(session, ticket, commit, number).await,
        Request::Post { id, records, is_new, .. } => send_post(session, thread, *id, (records, *is_new)).await,
        Request::Claim { .. } | Request::Release { .. } | Request::Delete { .. } | Request::Barrier { .. } => Ok(true),
    }
}

/// Returns whether a thread's row has the next commit of a lease. A row that somebody has claimed since still tells that the last
/// commit released the thread.
fn is_written(row: &Row, ticket: &Ticket) -> bool {
    row.get::<_, bool>("is_released") || (epoch_in(row, 2) == ticket.epoch && number_in(row) >= ticket.next_commit())
}

/// Finds out why a commit was not written.
async fn judge(session: &Session, ticket: &Ticket, commit: &Commit<Vec<u8>>) -> Result<Verdict, Fault> {
    let Some(row) = session.row(Query::Position, &[&ticket.id, &ticket.epoch.cast_signed()]).await? else {
        return Ok(Verdict::Refused(ticket.stale(ticket.epoch, None)));
    };
    if is_written(&row, ticket) {
        return Ok(Verdict::Written);
    }
    let epoch = epoch_in(&row, 2);
    if epoch != ticket.epoch {
        let error = ticket.stale(epoch, owner_in(&row, 3));
        ticket.report(error.clone());
        return Ok(Verdict::Refused(error));
    }
    let found = row.get::<_, Option<i64>>("head").map(|head| CheckpointId(head.cast_unsigned()));
    Ok(commit.check_head(found).map_or_else(Verdict::Refused, |()| Verdict::Pending))
}

/// Returns the error of a lease that the server does not know any more.
async fn stale(session: &Session, ticket: &Ticket) -> Result<CheckpointError, Fault> {
    let row = session.row(Query::Position, &[&ticket.id, &ticket.epoch.cast_signed()]).await?;
    let (epoch, owner) = row.map_or((ticket.epoch, None), |row| (epoch_in(&row, 2), owner_in(&row, 3)));
    Ok(ticket.stale(epoch, owner))
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
