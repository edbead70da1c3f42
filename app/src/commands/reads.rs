//! Commands that only read, also while another process runs the thread: lists, states, events, live and afterwards.

use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use superstep::checkpoint::StoreWorker;

use super::session::{CommandOutput, Session};
use crate::advice;
use crate::args::{CompletionsArgs, Draw, EventsArgs, HistoryArgs, Log, Show, Status, Threads};
use crate::failure::Failure;
use crate::service::{ThreadRequest, ThreadsQuery};
use crate::shapes::{CheckpointReport, GraphLine, HistoryStep, ThreadLine, ThreadReport};
use crate::terminal::try_print;
use crate::text::{self, Details, StoryPart, safe_json};
use crate::watch::{self, View};

impl Session {
    pub(super) async fn threads(&self, args: Threads) -> Result<CommandOutput, Failure> {
        let Threads { status, waiting, prefix, graph, metadata, since, before, limit, after } = args;
        let status = status.map(|word| word.as_str().to_owned());
        let asked = ThreadsQuery { status, waiting, prefix, graph, metadata, since, before, limit, after };
        let mut lines: Vec<ThreadLine> = self.call(ThreadRequest::Threads(asked)).await?;
        for line in &mut lines {
            let ThreadLine { thread, questions, .. } = line;
            self.add_commands(thread, questions);
        }
        CommandOutput::new(if waiting { text::waiting(&lines) } else { text::threads(&lines) }, &lines)
    }

    pub(super) async fn status(&self, args: Status) -> Result<CommandOutput, Failure> {
        self.status_of(args.thread).await
    }

    async fn status_of(&self, thread: String) -> Result<CommandOutput, Failure> {
        let report: ThreadReport = self.call(ThreadRequest::Status { thread }).await?;
        self.thread_output(report, 0)
    }

    pub(super) async fn history(&self, args: HistoryArgs) -> Result<CommandOutput, Failure> {
        let HistoryArgs { thread, channel, limit, tasks } = args;
        let name = thread.clone();
        let mut steps: Vec<HistoryStep> = self.call(ThreadRequest::History { thread, channel, limit, tasks }).await?;
        for task in steps.iter_mut().filter_map(|step| step.tasks.as_mut()).flatten() {
            self.add_commands(&name, &mut task.questions);
        }
        let report: Option<ThreadReport> = self.call(ThreadRequest::Status { thread: name }).await.ok();
        let next = report.map(|report| advice::lines(&self.next_steps(&report))).unwrap_or_default();
        CommandOutput::new(format!("{}\n{next}", text::history(&steps)), &steps)
    }

    pub(super) async fn show(&self, args: Show) -> Result<CommandOutput, Failure> {
        let Show { thread, at, task } = args;
        let mut shown: CheckpointReport = self.call(ThreadRequest::Show { thread, at, task }).await?;
        let name = shown.thread.clone();
        shown.snapshot.tasks.iter_mut().for_each(|task| self.add_commands(&name, &mut task.questions));
        CommandOutput::new(text::format_checkpoint(&shown), &shown)
    }

    pub(super) async fn events(&self, args: EventsArgs) -> Result<CommandOutput, Failure> {
        if args.follow {
            return self.print_events(&args.thread).await;
        }
        let events: Vec<Value> = self.call(ThreadRequest::Events { thread: args.thread }).await?;
        CommandOutput::new(text::events(&events), &events)
    }

    /// Prints events as they happen, a line for each.
    async fn print_events(&self, thread: &str) -> Result<CommandOutput, Failure> {
        let json = self.view == View::Quiet;
        let mut sink = |event: Value| {
            if json {
                try_print(&format!("{}\n", safe_json(&event.to_string())))
            } else {
                try_print(&text::events(&[event]))
            }
        };
        self.follow_events(ThreadRequest::Follow { thread: thread.to_owned() }, &mut sink).await?;
        CommandOutput::new("", &Value::Null)
    }

    pub(super) async fn workers(&self) -> Result<CommandOutput, Failure> {
        if self.store.folder().is_some() {
            let workers: [StoreWorker; 0] = [];
            return CommandOutput::new(
                "no workers: a store in a directory is used by one process at a time\n",
                &workers,
            );
        }
        let workers = self.store_to_read().await?.store.workers().await?;
        CommandOutput::new(text::workers(&workers), &workers)
    }

    pub(super) fn list_graphs(&self) -> Result<CommandOutput, Failure> {
        let lines: Vec<GraphLine> = self.graphs.0.iter().map(|graph| graph.line()).collect();
        CommandOutput::new(text::graphs(&lines), &lines)
    }

    pub(super) async fn draw(&self, args: Draw) -> Result<CommandOutput, Failure> {
        let Draw { name, format, thread, depth } = args;
        let graph = self.graphs.get(&name)?;
        let drawing = match thread {
            None => graph.draw(format, depth),
            Some(thread) => {
                let local = self.store_to_read().await?;
                let info = local.info(&thread).await?;
                if info.graph != name {
                    let error = format!("thread `{thread}` belongs to the graph `{}`, not to `{name}`", info.graph);
                    return Err(Failure::usage(error));
                }
                local.thread(&thread).await?.draw(format, depth).await?
            }
        };
        let json = json!({ "graph": name, "drawing": drawing });
        CommandOutput::new(drawing, &json)
    }

    pub(super) fn completions(&self, args: &CompletionsArgs) -> Result<CommandOutput, Failure> {
        let mut script = vec![];
        let mut command = self.command.clone();
        let name = command.get_name().to_owned();
        clap_complete::generate(args.shell, &mut command, name, &mut script);
        let script = String::from_utf8_lossy(&script).into_owned();
        let json = json!({ "shell": args.shell.to_string(), "script": script });
        CommandOutput::new(script, &json)
    }

    /// Shows the run of a thread in another process until it ends.
    pub(super) async fn watch(&self, thread: String) -> Result<CommandOutput, Failure> {
        let report: ThreadReport = self.call(ThreadRequest::Status { thread: thread.clone() }).await?;
        if report.status != "running" {
            return self.status_of(thread).await;
        }
        self.show_live(&thread).await?;
        if self.view == View::Quiet {
            return Ok(CommandOutput::nothing()); // the events were lines
        }
        self.status_of(thread).await
    }

    pub(super) async fn show_live(&self, thread: &str) -> Result<(), Failure> {
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
        let part = StoryPart { task, attempt };
        let events = text::part(events, &part);
        if events.is_empty() {
            return Err(nothing(&thread, &part));
        }
        let history = ThreadRequest::History { thread, channel: None, limit: None, tasks: true };
        let steps: Vec<HistoryStep> = self.call(history).await?;
        CommandOutput::new(text::story(&events, Details::of(&steps)), &events)
    }
}

fn nothing(thread: &str, part: &StoryPart) -> Failure {
    let task = part.task.as_ref().map(|task| format!(" on task {task}")).unwrap_or_default();
    let attempt = part.attempt.map(|attempt| format!(" in attempt {attempt}")).unwrap_or_default();
    Failure::new(format!("thread `{thread}` has no work{task}{attempt}")).hint("`{log}` prints everything")
}
