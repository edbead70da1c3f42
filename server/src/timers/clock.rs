//! Looks at the timers in their order, and does what is due. Knows no kind of it.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use superstep::checkpoint::Order;
use superstep_base::time::now;
use tokio::time::sleep;

use super::deliveries::deliver;
use super::expiry::expire;
use crate::crons::due::create_due_run;
use crate::error::ApiResult;
use crate::records::items::{Record, StoredRecord};
use crate::records::timer::{Timer, TimerKind};
use crate::runs::schedule::execute;
use crate::server::Server;

/// The longest pause: another server may have set a timer meanwhile.
const PAUSE: Duration = Duration::from_secs(1);
/// The number of timers that are looked at at once.
const PAGE: usize = 64;

/// Does what is due until the server stops.
pub(crate) async fn run_timers(server: Arc<Server>) {
    if let Err(error) = server.make_orders().await {
        tracing::warn!(%error, "the orders of threads could not be made: the first list tries again");
    }
    loop {
        let pause = match do_due(&server).await {
            Ok(pause) => pause,
            Err(error) => {
                tracing::warn!(%error, "the timers cannot be read");
                PAUSE
            }
        };
        tokio::select! {
            () = server.stop.cancelled() => return,
            () = server.has_timer.notified() => {}
            () = sleep(pause) => {}
        }
    }
}

/// Does what is due now, and returns the time until the next timer. One that fails holds up no other, and is tried again.
async fn do_due(server: &Arc<Server>) -> ApiResult<Duration> {
    let mut after: Option<String> = None;
    loop {
        let timers = server.records.scan::<Timer>("", after.as_deref(), (Order::Ascending, PAGE)).await?;
        for timer in &timers {
            let wait = timer.record.at.saturating_sub(now());
            if wait > 0 {
                return Ok(Duration::from_millis(wait).min(PAUSE));
            }
            match act(server, timer).await {
                Err(error) if error.status == StatusCode::CONFLICT => {} // another server was first
                Err(error) => tracing::warn!(timer = ?timer.record, %error, "what is due could not be done"),
                Ok(()) => {}
            }
        }
        if timers.len() < PAGE {
            return Ok(PAUSE);
        }
        after = timers.last().map(|last| last.record.key());
    }
}

async fn act(server: &Arc<Server>, timer: &StoredRecord<Timer>) -> ApiResult<()> {
    match timer.record.kind {
        TimerKind::Cron => create_due_run(server, timer).await,
        TimerKind::Delivery => deliver(server, timer).await,
        TimerKind::Thread => expire(server, timer).await,
        TimerKind::Run => {
            if let Some(run) = server.records.enqueue_delayed(timer).await? {
                execute(server, &run.thread);
                server.created.send_replace(());
            }
            Ok(())
        }
    }
}
