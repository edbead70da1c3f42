//! A cron whose date has come: its run is created in one write with its next date, so that of several servers one creates it.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::Value;
use superstep::checkpoint::ItemWrite;
use superstep_base::time::now;

use super::schedule::next_date;
use crate::error::ApiResult;
use crate::records::cron::CronRecord;
use crate::records::items::{StoredRecord, put};
use crate::records::timer::Timer;
use crate::runs::creation::Reader;
use crate::server::Server;

/// Creates the run of a cron whose date has come. Dates that were missed meanwhile are left out.
pub(crate) async fn create_due_run(server: &Arc<Server>, timer: &StoredRecord<Timer>) -> ApiResult<()> {
    let is_due = |cron: &CronRecord| cron.next == Some(timer.record.at);
    let Some(cron) = server.records.due_record(timer, is_due).await? else { return Ok(()) };
    let moved = CronRecord { next: next_date(&cron.record, now()), ..cron.record.clone() };
    let mut writes = vec![cron.replace(&moved), timer.remove()];
    writes.extend(moved.timer().as_ref().map(put));
    let created = create_run(server, &cron.record, writes.clone()).await;
    let Err(error) = created else { return Ok(()) };
    match error.status {
        StatusCode::NOT_FOUND if cron.record.thread.is_some() => {
            tracing::info!(cron = %cron.record.cron, "the thread of a cron is gone, and the cron with it");
            writes = vec![cron.remove(), timer.remove()];
        }
        StatusCode::SERVICE_UNAVAILABLE => return Err(error),
        // Another server has created it; if not, the timer is still there.
        StatusCode::CONFLICT if cron.record.payload["multitask_strategy"] != "reject" => return Ok(()),
        // The thread has a run already, or the request does not fit the graph any more.
        _ => tracing::warn!(cron = %cron.record.cron, %error, "a cron did not create its run"),
    }
    Ok(server.records.write(writes).await?)
}

async fn create_run(server: &Arc<Server>, cron: &CronRecord, writes: Vec<ItemWrite>) -> ApiResult<()> {
    let request = request(cron);
    server.create_run_with(cron.thread.as_deref(), request, Reader::OfEvents, writes).await.map(drop)
}

/// Returns the request for the runs of a cron, with its id in their metadata.
fn request(cron: &CronRecord) -> Value {
    let mut request = cron.payload.clone();
    let mut metadata = cron.metadata.clone();
    metadata.insert("cron_id".into(), cron.cron.to_string().into());
    if let Some(fields) = request.as_object_mut() {
        fields.insert("metadata".into(), metadata.into());
        fields.insert("on_completion".into(), if cron.keeps_threads { "keep" } else { "delete" }.into());
    }
    request
}
