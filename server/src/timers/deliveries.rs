//! Webhooks that are sent until their target accepts them, for a day. A server claims one by moving its timer to the time at which
//! another may try, should this one die.

use std::sync::Arc;

use superstep::checkpoint::ItemWrite;
use superstep_base::time::now;

use crate::error::ApiResult;
use crate::records::delivery::DeliveryRecord;
use crate::records::items::{Record, StoredRecord};
use crate::records::time::time_text;
use crate::records::timer::Timer;
use crate::server::Server;

/// Time after which another server may try, in milliseconds: longer than a request may take.
const CLAIM: u64 = 60_000;
/// Time for which it is tried, in milliseconds.
const DAY: u64 = 86_400_000;

/// Sends a webhook in a task of its own, if this server is the first to claim it.
pub(super) async fn deliver(server: &Arc<Server>, timer: &StoredRecord<Timer>) -> ApiResult<()> {
    let found = server.records.get::<DeliveryRecord>(&timer.record.of).await?;
    let Some(found) = found.filter(|found| found.record.due == timer.record.at) else {
        return Ok(server.records.write(vec![timer.remove()]).await?);
    };
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
    let sent = server.webhooks.send(&claimed.url, body.to_string()).await;
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

/// Stores the result of an attempt, unless another server has claimed the webhook since.
async fn settle(server: &Server, claimed: &DeliveryRecord, next: Option<DeliveryRecord>) -> ApiResult<()> {
    let key = claimed.key();
    let changed = server.records.change::<DeliveryRecord, ()>(&key, |found| {
        let found = found.filter(|found| found.record.due == claimed.due)?;
        Some((moves(&found, next.as_ref()), ()))
    });
    Ok(changed.await.map(drop)?)
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
