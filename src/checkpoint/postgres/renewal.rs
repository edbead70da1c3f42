//! The background work of a handle: renews all its leases in one statement, and reports those that were lost, or that end before
//! they can be renewed. Has a connection of its own, so that no commit keeps it waiting. Knows leases; must not know who holds them.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout_at};

use super::fault::Fault;
use super::leases::Ticket;
use super::query::Query;
use super::session::Session;
use super::writer::{Writer, epoch_in, owner_in};
use crate::checkpoint::CheckpointError;

/// The pause before another attempt to renew.
const PAUSE: Duration = Duration::from_millis(100);
/// The time between two removals of old posts.
const FORGET: Duration = Duration::from_secs(600);

/// Renews leases for as long as the handle is open, and delivers requests to their holders.
pub(super) async fn renew_all(writer: Arc<Writer>) {
    let pause = writer.book.time / 3;
    let (woken, wake) = (Arc::new(Notify::new()), Instant::now());
    let mut renewal = Renewal { writer, session: None, woken, failure: None, forgotten: wake };
    loop {
        let start = Instant::now();
        renewal.until_renewed().await;
        renewal.clean_up().await;
        while let Ok(()) = timeout_at(start + pause, renewal.woken.notified()).await {
            renewal.deliver_requests().await;
        }
    }
}

struct Renewal {
    writer: Arc<Writer>,
    session: Option<Session>,
    /// Set when the server sends a notification.
    woken: Arc<Notify>,
    /// The reason of the last attempt that failed.
    failure: Option<String>,
    forgotten: Instant,
}

impl Renewal {
    /// Renews all leases; those that cannot be renewed in time are lost.
    async fn until_renewed(&mut self) {
        loop {
            let live = self.writer.book.live();
            let first_end = live.iter().map(|ticket| ticket.end()).min();
            let first_end = first_end.unwrap_or_else(|| Instant::now() + self.writer.book.time);
            match timeout_at(first_end, self.attempt(&live)).await {
                Ok(Ok(())) => return self.failure = None,
                Ok(Err(Fault::Lost(reason) | Fault::Conflict(reason))) => self.fail(reason),
                Ok(Err(Fault::Refused(error))) => self.fail(error.to_string()),
                Err(_) => self.fail("the server does not answer".into()),
            }
            self.report_ended(&live);
            sleep(PAUSE).await;
        }
    }

    fn fail(&mut self, reason: String) {
        if self.failure.is_none() {
            tracing::warn!(store = %self.writer.pool.server.shown, "leases cannot be renewed: {reason}");
        }
        (self.session, self.failure) = (None, Some(reason));
    }

    async fn attempt(&mut self, live: &[Arc<Ticket>]) -> Result<(), Fault> {
        let (writer, sent) = (Arc::clone(&self.writer), Instant::now());
        let session = self.session().await?;
        let ids: Vec<i64> = live.iter().map(|ticket| ticket.id).collect();
        let epochs: Vec<i64> = live.iter().map(|ticket| ticket.epoch.cast_signed()).collect();
        let time = writer.book.time.as_secs_f64() * 1000.0;
        let renewed = session.rows(Query::Renew, &[&ids, &epochs, &time, &writer.handle]).await?;
        let renewed: HashSet<i64> = renewed.iter().map(|row| row.get(0)).collect();
        let (renewed, lost): (Vec<_>, Vec<_>) = live.iter().partition(|ticket| renewed.contains(&ticket.id));
        renewed.iter().for_each(|ticket| ticket.extend(writer.book.end(sent)));
        report_lost(session, &lost).await?;
        deliver(session, live).await
    }

    /// Returns the session, which also listens; a new one if the last has ended.
    async fn session(&mut self) -> Result<&Session, Fault> {
        let session = match self.session.take() {
            Some(session) if !session.is_closed() => session,
            _ => {
                let woken = Arc::clone(&self.woken);
                self.writer.pool.server.listen(move || woken.notify_one()).await?
            }
        };
        Ok(self.session.insert(session))
    }

    async fn deliver_requests(&mut self) {
        let live = self.writer.book.live();
        let Some(session) = &self.session else { return };
        if let Err(Fault::Lost(reason) | Fault::Conflict(reason)) = deliver(session, &live).await {
            self.fail(reason);
        }
    }

    /// Reports the leases whose time is up.
    fn report_ended(&self, live: &[Arc<Ticket>]) {
        let now = Instant::now();
        for ticket in live.iter().filter(|ticket| ticket.end() <= now) {
            let reason = self.failure.clone().unwrap_or_default();
            let reason = format!("the lease on thread `{}` ended before it could be renewed: {reason}", ticket.thread);
            ticket.report(CheckpointError::Outage { store: self.writer.pool.server.shown.clone(), reason });
        }
    }

    async fn clean_up(&mut self) {
        self.writer.pool.trim();
        if self.forgotten.elapsed() < FORGET {
            return;
        }
        self.forgotten = Instant::now();
        if let Some(session) = &self.session {
            _ = session.rows(Query::ForgetPosts, &[]).await;
        }
    }
}

/// Passes requests to the holders of leases.
async fn deliver(session: &Session, live: &[Arc<Ticket>]) -> Result<(), Fault> {
    let ids: Vec<i64> = live.iter().map(|ticket| ticket.id).collect();
    for row in session.rows(Query::Requests, &[&ids]).await? {
        let (id, epoch) = (row.get::<_, i64>(0), epoch_in(&row, 1));
        let holder = live.iter().find(|ticket| (ticket.id, ticket.epoch) == (id, epoch));
        let request = row.get::<_, &str>(2).parse().ok();
        holder.zip(request).into_iter().for_each(|(ticket, request)| ticket.deliver(request));
    }
    Ok(())
}

/// Reports leases that the server did not renew, and who has claimed their threads.
async fn report_lost(session: &Session, lost: &[&Arc<Ticket>]) -> Result<(), Fault> {
    if lost.is_empty() {
        return Ok(());
    }
    let ids: Vec<i64> = lost.iter().map(|ticket| ticket.id).collect();
    let rows = session.rows(Query::Leases, &[&ids]).await?;
    for ticket in lost {
        let row = rows.iter().find(|row| row.get::<_, i64>(0) == ticket.id);
        let (epoch, owner) = row.map_or((ticket.epoch, None), |row| (epoch_in(row, 1), owner_in(row, 2)));
        ticket.report(ticket.stale(epoch, owner));
    }
    Ok(())
}
