//! The end of a run: the state of its thread at that moment is stored with it, so that lists need not read it. Knows the engine's
//! threads; the writes are in `queue`.

use axum::http::StatusCode;
use serde_json::Value;
use superstep::checkpoint::{ItemWrite, ListedThread, ThreadId};
use superstep::graph::ThreadInfo;

use super::queue::{RunEnd, RunEnding};
use crate::error::ApiResult;
use crate::records::assistant::default_id;
use crate::records::run::{RunRecord, RunStatus};
use crate::records::thread::{StateMark, ThreadRecord};
use crate::server::Server;

impl Server {
    /// Writes the end of a run, and takes it off the queue of its thread. A run that has ended already stays as it is. Returns false
    /// for a run that is to be removed instead: nothing is written.
    pub(crate) async fn end_run(&self, run: &RunRecord, end: RunEnd, writes: Vec<ItemWrite>) -> ApiResult<bool> {
        let status = end.0;
        let ending = RunEnding { writes, ..self.ending(run, end).await? };
        let may_end = |run: &RunRecord| !run.status.has_ended() && !run.is_rolled_back;
        let has_ended = self.records.end_run(run, ending, may_end).await?;
        self.count_end(run, status, has_ended);
        self.has_timer.notify_one();
        Ok(has_ended || !self.records.run(&run.thread, run.run).await?.record.is_rolled_back)
    }

    /// Ends a run that nobody has begun; returns whether there was one.
    pub(crate) async fn end_pending(&self, run: &RunRecord, end: RunEnd) -> ApiResult<bool> {
        let status = end.0;
        let ending = self.ending(run, end).await?;
        let has_ended = self.records.end_run(run, ending, |run| run.status == RunStatus::Pending).await?;
        self.count_end(run, status, has_ended);
        self.has_timer.notify_one();
        if has_ended && self.thread_record(&run.thread).await?.record.is_temporary {
            self.remove_thread(&run.thread).await?;
        }
        Ok(has_ended)
    }

    fn count_end(&self, run: &RunRecord, status: RunStatus, has_ended: bool) {
        if has_ended {
            self.metrics.count_end(&run.graph, status);
        }
    }

    async fn ending(&self, run: &RunRecord, end: RunEnd) -> ApiResult<RunEnding> {
        let has_webhook = run.request.get("webhook").is_some_and(|webhook| !webhook.is_null());
        let values = if has_webhook { readable(self.values(&run.thread).await)? } else { None };
        let state = readable(self.state_mark(&run.thread).await)?.flatten();
        Ok(RunEnding { end, state, values: values.unwrap_or_default(), writes: vec![] })
    }

    /// Returns the state of a thread without its values; `None` before its first run.
    async fn state_mark(&self, thread: &str) -> ApiResult<Option<StateMark>> {
        let found = ThreadInfo::read(&*self.records.0, &ThreadId::from(thread)).await?;
        let seen_at = self.records.time();
        Ok(found.map(|found| StateMark { is_busy: false, ..StateMark::of(&found, seen_at) }))
    }

    /// Returns whether a thread without a run has nodes left to run because the server left it so: its run was cancelled, its state
    /// was written, or it is a copy. It can go on by itself again once something has come since, such as an answer.
    pub(super) async fn was_left(&self, listed: &ListedThread) -> ApiResult<bool> {
        let found = self.records.get::<ThreadRecord>(&ThreadRecord::key_of(listed.id.as_str())).await?;
        let thread = found.map(|found| found.record).filter(|thread| thread.queue.is_empty());
        let seen_at = thread.and_then(|thread| thread.state).map(|state| state.seen_at);
        Ok(seen_at.zip(listed.due).is_some_and(|(seen_at, due)| due <= seen_at))
    }

    /// Gives a thread that has not run the graph that its metadata name, so that its state can be written.
    ///
    /// # Errors
    /// 404 for an unknown thread or graph.
    pub(crate) async fn give_graph(&self, thread: &str) -> ApiResult<()> {
        let record = self.thread_record(thread).await?.record;
        let named = record.metadata.get("graph_id").and_then(Value::as_str);
        let Some(name) = named.filter(|_| record.graph.is_none()) else { return Ok(()) };
        self.graphs.get(name)?;
        let key = ThreadRecord::key_of(thread);
        let changed = self.records.change::<ThreadRecord, ()>(&key, |found| {
            let found = found.filter(|found| found.record.graph.is_none())?;
            let mut record = ThreadRecord { graph: Some(name.to_owned()), ..found.record.clone() };
            record.metadata.insert("assistant_id".into(), default_id(name).to_string().into());
            Some((vec![found.replace(&record)], ()))
        });
        Ok(changed.await.map(drop)?)
    }

    /// Stores the state of a thread that has changed without a run.
    pub(crate) async fn mark_state(&self, thread: &str) -> ApiResult<()> {
        let state = self.state_mark(thread).await?;
        let key = ThreadRecord::key_of(thread);
        let changed = self.records.change::<ThreadRecord, ()>(&key, |found| {
            let found = found?;
            let record = ThreadRecord { state, ..found.record.clone() };
            Some((vec![found.replace(&record)], ()))
        });
        Ok(changed.await.map(drop)?)
    }
}

/// Returns what could be read of a thread: a run ends although its thread is damaged, but not while the store cannot be reached.
fn readable<T>(found: ApiResult<T>) -> ApiResult<Option<T>> {
    match found {
        Err(error) if error.status != StatusCode::SERVICE_UNAVAILABLE => {
            tracing::warn!(%error, "the state of a thread at the end of a run cannot be read");
            Ok(None)
        }
        found => found.map(Some),
    }
}
