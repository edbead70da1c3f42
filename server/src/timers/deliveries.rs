//! Webhooks that are sent until their target accepts them, for a day. A server claims one by moving its timer to the time at which
//! another may try, should this one die, and moves it on while the request is under way.

use std::sync::Arc;
use std::time::Duration;

use superstep::checkpoint::ItemWrite;
use superstep_base::time::now;
use tokio::time::sleep;

use crate::error::ApiResult;
use crate::records::delivery::DeliveryRecord;
use crate::records::items::{Record, StoredRecord};
use crate::records::time::time_text;
use crate::records::timer::Timer;
use crate::server::Server;

/// Time after which another server may try, in milliseconds: it is short, as the receiver waits that long after a kill.
const CLAIM: u64 = 6_000;
/// The interval at which a claim is renewed.
const RENEWAL: Duration = Duration::from_secs(2);
/// Time for which it is tried, in milliseconds.
const DAY: u64 = 86_400_000;

/// Sends a webhook in a task of its own, if this server is the first to claim it.
pub(super) async fn deliver(server: &Arc<Server>, timer: &StoredRecord<Timer>) -> ApiResult<()> {
    let is_due = |delivery: &DeliveryRecord| delivery.due == timer.record.at;
    let Some(found) = server.records.due_record(timer, is_due).await? else { return Ok(()) };
    let Some(permit) = server.webhooks.permit() else { return Ok(()) }; // it stays due until another attempt has ended
    let (attempts, due) = (found.record.attempts + 1, now() + CLAIM);
    let claimed = DeliveryRecord { attempts, due, ..found.record.clone() };
    server.records.write(moves(&found, Some(&claimed))).await?;
    let server = Arc::clone(server);
    tokio::spawn(async move {
        attempt(&server, claimed).await;
        drop(permit);
        server.has_timer.notify_one();
    });
    Ok(())
}

async fn attempt(server: &Server, claimed: DeliveryRecord) {
    let mut body = claimed.body.clone();
    body["webhook_sent_at"] = time_text(now()).into();
    let sent = tokio::select! {
        sent = server.webhooks.send(&claimed.url, body.to_string()) => sent,
        reason = keep_claim(server, &claimed) => Err(reason),
    };
    let next = match &sent {
        Ok(()) => None,
        Err(reason) => {
            tracing::warn!(run = %claimed.run, attempt = claimed.attempts, reason, "a webhook was not accepted");
            retry(&claimed)
        }
    };
    if let Err(error) = settle(server, &claimed, next).await {
        tracing::warn!(run = %claimed.run, %error, "the attempt to send a webhook was not recorded: it is repeated");
    }
}

/// Renews the claim of a webhook until it is lost; returns the reason for which it is.
async fn keep_claim(server: &Server, claimed: &DeliveryRecord) -> String {
    loop {
        sleep(RENEWAL).await;
        let renewed = DeliveryRecord { due: now() + CLAIM, ..claimed.clone() };
        match settle(server, claimed, Some(renewed)).await {
            Ok(true) => {}
            Ok(false) => return "another server has claimed it".into(),
            Err(error) => tracing::warn!(run = %claimed.run, %error, "the claim of a webhook was not renewed"),
        }
    }
}

/// Stores what comes after an attempt, unless another server has claimed the webhook since; returns whether it did.
async fn settle(server: &Server, claimed: &DeliveryRecord, next: Option<DeliveryRecord>) -> ApiResult<bool> {
    let key = claimed.key();
    let changed = server.records.change::<DeliveryRecord, ()>(&key, |found| {
        // Each claim counts one attempt more.
        let found = found.filter(|found| found.record.attempts == claimed.attempts)?;
        Some((moves(&found, next.as_ref()), ()))
    });
    Ok(changed.await?.is_some())
}

/// Returns a webhook for its next attempt: 1, 4, 16 s and so on after the one before; `None` after a day.
fn retry(failed: &DeliveryRecord) -> Option<DeliveryRecord> {
    let pause = 4_u64.saturating_pow(failed.attempts.saturating_sub(1)).saturating_mul(1000);
    let due = now().saturating_add(pause);
    if due.saturating_sub(failed.created_at) <= DAY {
        return Some(DeliveryRecord { due, ..failed.clone() });
    }
    tracing::error!(run = %failed.run, attempts = failed.attempts, "a webhook is given up: its target has not accepted it for a day");
    None
}

/// Returns the writes that put a webhook in the place of another, its timer included.
fn moves(old: &StoredRecord<DeliveryRecord>, new: Option<&DeliveryRecord>) -> Vec<ItemWrite> {
    let written = new.map_or_else(|| old.remove(), |new| old.replace(new));
    let timers = Timer::replace(Some(&old.record.timer()), new.map(DeliveryRecord::timer).as_ref());
    [written].into_iter().chain(timers).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn pauses_grow_four_times_until_a_day_is_over() {
        let start = now();
        let mut failed = DeliveryRecord {
            run: Uuid::nil(),
            url: String::new(),
            body: Value::Null,
            created_at: start,
            attempts: 1,
            due: 0,
        };
        let mut pauses = vec![];
        while let Some(next) = retry(&failed) {
            pauses.push((next.due - now()).div_ceil(1000));
            let passed: u64 = pauses.iter().sum();
            failed = DeliveryRecord { attempts: next.attempts + 1, created_at: now() - passed * 1000, ..next };
        }
        assert_eq!(pauses, [1, 4, 16, 64, 256, 1024, 4096, 16384]);
    }
}
