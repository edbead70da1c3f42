//! `watch` and `log`: the events of a thread for people, live and afterwards.

use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use super::output::CommandOutput;
use super::session::Session;
use crate::app::args::Log;
use crate::app::failure::Failure;
use crate::app::print::try_print;
use crate::app::service::ThreadRequest;
use crate::app::shapes::{HistoryStep, ThreadReport};
use crate::app::text::{self, Details, Part, safe_json};
use crate::app::watch::{self, View};

impl Session {
    /// Shows the run of a thread in another process until it ends.
    pub(super) async fn watch(&self, thread: String) -> Result<CommandOutput, Failure> {
        let report: ThreadReport = self.call(ThreadRequest::Status { thread: thread.clone() }).await?;
        if report.status != "running" {
            return self.status_of(thread).await;
        }
        self.watched(&thread).await?;
        if self.view == View::Quiet {
            return Ok(CommandOutput::nothing()); // the events were lines
        }
        self.status_of(thread).await
    }

    async fn watched(&self, thread: &str) -> Result<(), Failure> {
        let watch = Mutex::new(watch::Watch::new(self.view, thread, 0));
        let shown = || watch.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sink = |event: Value| {
            if self.view == View::Quiet {
                return try_print(&format!("{}\n", safe_json(&event.to_string())));
            }
            shown().on_event(&event);
            true
        };
        let listening = self.follow_events(ThreadRequest::Watch { thread: thread.to_owned() }, &mut sink);
        tokio::pin!(listening);
        let mut ticks = tokio::time::interval(watch::TICK);
        let mut boards = tokio::time::interval(watch::BOARD);
        let ended = loop {
            tokio::select! {
                ended = &mut listening => break ended,
                _ = ticks.tick() => shown().tick(false),
                _ = boards.tick(), if self.view.is_tree() => {
                    let board = self.call::<ThreadReport>(ThreadRequest::Status { thread: thread.to_owned() }).await.map(|report| report.board);
                    board.into_iter().for_each(|board| shown().post(board));
                }
            }
        };
        shown().end();
        ended
    }

    /// Prints all events of a thread, or those of one task.
    pub(super) async fn log(&self, args: Log) -> Result<CommandOutput, Failure> {
        let Log { thread, task, attempt } = args;
        let events: Vec<Value> = self.call(ThreadRequest::Events { thread: thread.clone() }).await?;
        let part = Part { task, attempt };
        let events = text::part(events, &part);
        if events.is_empty() {
            return Err(nothing(&thread, &part));
        }
        let history = ThreadRequest::History { thread, channel: None, limit: None, tasks: true };
        let steps: Vec<HistoryStep> = self.call(history).await?;
        CommandOutput::new(text::story(&events, Details::of(&steps)), &events)
    }
}

fn nothing(thread: &str, part: &Part) -> Failure {
    let task = part.task.as_ref().map(|task| format!(" on task {task}")).unwrap_or_default();
    let attempt = part.attempt.map(|attempt| format!(" in attempt {attempt}")).unwrap_or_default();
    Failure::new(format!("thread `{thread}` has no work{task}{attempt}")).hint("`{log}` tells all there is")
}
