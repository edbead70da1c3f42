//! The background work of a handle: renews all its leases in one statement, and reports those that were lost, or that end before
//! they can be renewed. Has a connection of its own, so that no commit keeps it waiting. Knows leases; must not know who holds them.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

use super::columns::{epoch_in, owner_in};
use super::fault::Fault;
use super::leases::{LeaseBook, Ticket};
use super::listing::send_hint;
use super::query::Query;
use super::session::Session;
use super::writer::Writer;
use crate::checkpoint::CheckpointError;

/// The pause before another attempt to renew.
const PAUSE: Duration = Duration::from_millis(100);
/// The pause between two hints, in which more are gathered; the longer one is for a handle that has many to send.
const GATHER: [Duration; 2] = [Duration::from_millis(4), Duration::from_millis(16)];
/// The number of hints in a pause beyond which there are many.
const FEW: u64 = 2;
/// The longest time for what no lease needs.
const SHORT: Duration = Duration::from_millis(300);
/// The time between two removals of old posts.
const FORGET: Duration = Duration::from_secs(600);

/// Renews leases for as long as the handle is open, delivers requests to their holders, and passes hints on.
pub(super) async fn renew_all(writer: Arc<Writer>) {
    let pause = writer.book.time / 3;
    let forgotten = Instant::now();
    let mut renewal = Renewal { writer, session: None, woken: Arc::default(), failure: None, forgotten };
    loop {
        let start = Instant::now();
        renewal.until_renewed().await;
        renewal.clean_up().await;
        renewal.rest(start + pause).await;
    }
}

struct Renewal {
    writer: Arc<Writer>,
    session: Option<Session>,
    /// Set when somebody has sent a request.
    woken: Arc<Notify>,
    /// The reason of the last attempt that failed.
    failure: Option<String>,
    forgotten: Instant,
}

impl Renewal {
    /// Waits until the next renewal, or a request; sends the hints that come meanwhile, many of them as one.
    async fn rest(&mut self, end: Instant) {
        let hints = Arc::clone(&self.writer.hints);
        if hints.is_unsent() {
            hints.wanted.notify_one(); // the connection was lost as it was to be sent
        }
        loop {
            tokio::select! {
                () = sleep_until(end) => return,
                () = self.woken.notified() => return,
                () = hints.wanted.notified() => {}
            }
            let channel = &self.writer.pool.server.channel;
            let Some(session) = &self.session else { return };
            let count = hints.count();
            if !matches!(timeout(SHORT, send_hint(session, channel)).await, Ok(Ok(()))) {
                self.session = None;
                return;
            }
            hints.note_sent(count);
            sleep(GATHER[0]).await;
            if hints.count() > count + FEW {
                sleep(GATHER[1]).await;
            }
        }
    }

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
        report_lost(session, &writer.book, &lost).await?;
        deliver(session, live).await
    }

    /// Returns the session, which also listens; a new one if the last has ended.
    async fn session(&mut self) -> Result<&Session, Fault> {
        let session = match self.session.take() {
            Some(session) if !session.is_closed() => session,
            _ => {
                let (woken, hints) = (Arc::clone(&self.woken), Arc::clone(&self.writer.hints));
                let wake = move |text: &str| match text {
                    "" => hints.arrive(),
                    _ => woken.notify_one(),
                };
                let session = self.writer.pool.server.listen(wake).await?;
                // Something may have come while nobody listened.
                self.writer.hints.arrive();
                session
            }
        };
        Ok(self.session.insert(session))
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
        let Some(session) = &self.session else { return };
        if timeout(SHORT, session.rows(Query::ForgetPosts, &[])).await.is_err() {
            self.session = None;
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

/// Reports leases that the server did not renew, and who has claimed their threads. What became of a lease that ends with its last
/// commit, the writer finds out.
async fn report_lost(session: &Session, book: &LeaseBook, lost: &[&Arc<Ticket>]) -> Result<(), Fault> {
    if lost.is_empty() {
        return Ok(());
    }
    let ids: Vec<i64> = lost.iter().map(|ticket| ticket.id).collect();
    let rows = session.rows(Query::Leases, &[&ids]).await?;
    for ticket in lost.iter().filter(|ticket| book.is_held(ticket)) {
        let row = rows.iter().find(|row| row.get::<_, i64>(0) == ticket.id);
        let (epoch, owner) = row.map_or((ticket.epoch, None), |row| (epoch_in(row, 1), owner_in(row, 2)));
        ticket.report(ticket.stale(epoch, owner));
    }
    Ok(())
}
