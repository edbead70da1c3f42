//! Commands that only read.

use serde_json::{Value, json};

use super::output::CommandOutput;
use super::session::Session;
use crate::app::advice;
use crate::app::args::{Completions, Draw, Events, History, Show, Status, Threads};
use crate::app::failure::Failure;
use crate::app::print::try_print;
use crate::app::service::{ThreadRequest, ThreadsQuery};
use crate::app::shapes::{CheckpointReport, GraphLine, HistoryStep, ThreadLine, ThreadReport};
use crate::app::text::{self, safe_json};
use crate::app::watch::View;

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

    pub(super) async fn status_of(&self, thread: String) -> Result<CommandOutput, Failure> {
        let report: ThreadReport = self.call(ThreadRequest::Status { thread }).await?;
        self.thread_output(report, 0)
    }

    pub(super) async fn history(&self, args: History) -> Result<CommandOutput, Failure> {
        let History { thread, channel, limit, tasks } = args;
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
        shown.tasks.iter_mut().for_each(|task| self.add_commands(&name, &mut task.questions));
        CommandOutput::new(text::shown(&shown), &shown)
    }

    pub(super) async fn events(&self, args: Events) -> Result<CommandOutput, Failure> {
        if args.follow {
            return self.followed(&args.thread).await;
        }
        let events: Vec<Value> = self.call(ThreadRequest::Events { thread: args.thread }).await?;
        CommandOutput::new(text::events(&events), &events)
    }

    /// Prints events as they happen, a line for each.
    async fn followed(&self, thread: &str) -> Result<CommandOutput, Failure> {
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

    pub(super) fn list_graphs(&self) -> Result<CommandOutput, Failure> {
        let lines: Vec<GraphLine> = self.graphs.0.iter().map(|graph| graph.line()).collect();
        CommandOutput::new(text::graphs(&lines), &lines)
    }

    pub(super) async fn draw(&self, args: Draw) -> Result<CommandOutput, Failure> {
        let Draw { name, format, thread, depth } = args;
        let graph = self.graphs.named(&name)?;
        let drawing = match thread {
            None => graph.draw(format, depth),
            Some(thread) => {
                let local = self.store_to_read()?;
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

    pub(super) fn completions(&self, args: &Completions) -> Result<CommandOutput, Failure> {
        let mut script = vec![];
        let mut command = self.command.clone();
        let name = command.get_name().to_owned();
        clap_complete::generate(args.shell, &mut command, name, &mut script);
        let script = String::from_utf8_lossy(&script).into_owned();
        let json = json!({ "shell": args.shell.to_string(), "script": script });
        CommandOutput::new(script, &json)
    }
}
