//! Commands that run something: `run`, `proceed`, `retry`; and `cancel`.

use std::sync::Arc;

use super::custom::command_output;
use super::json_input;
use super::output::CommandOutput;
use super::session::Session;
use crate::app::args::{InteractiveArg, RunArgs, StopArgs};
use crate::app::erased::{AnyThread, ParsedInput, RunRequest};
use crate::app::event_buffer::EventBuffer;
use crate::app::event_json::timed_event_json;
use crate::app::exit::Exit;
use crate::app::failure::Failure;
use crate::app::local::Local;
use crate::app::service::ThreadRequest;
use crate::app::shapes::ThreadReport;
use crate::app::{signal, time, watch};
use crate::checkpoint::ThreadId;
use crate::graph::{Event, RunError, ThreadInfo};

impl Session {
    pub(super) async fn run(&self, args: &RunArgs<'_>) -> Result<CommandOutput, Failure> {
        let graph = self.graphs.named(args.graph)?;
        let input = match args.input {
            Some(text) => ParsedInput::Input(graph.input(&json_input::json("--input", text)?)?),
            None => graph.read(args.own)?,
        };
        let input = match input {
            ParsedInput::Input(input) => input,
            ParsedInput::Instead(instead) => return command_output(instead),
        };
        if args.thread.is_some_and(str::is_empty) {
            return Err(Failure::usage("a thread needs a name: \"\" is none"));
        }
        let local = self.store_or_new()?;
        let name = match args.thread {
            Some(name) => self.unused_name(&local, name).await?,
            None => new_name(&local, args.graph).await?,
        };
        let thread = graph.thread(Arc::clone(&local.store), ThreadId::from(name.as_str())).with_stops(&args.stops)?;
        self.run_interactive(&*thread, &name, RunRequest::Input(input), args.interaction).await
    }

    /// Fails if a thread has this name.
    async fn unused_name(&self, local: &Local, name: &str) -> Result<String, Failure> {
        let Some(info) = ThreadInfo::read(&*local.store, &ThreadId::from(name)).await? else { return Ok(name.into()) };
        let standing = info.standing;
        Err(Failure::new(format!("there is a thread `{name}` already, of the graph `{}`: {standing}", info.graph))
            .hint("answer it with `{resume}`, go on with `{proceed}`, or leave out `--thread`")
            .with_commands(&self.caller, Some(name)))
    }

    pub(super) async fn proceed(
        &self,
        name: &str,
        stops: &StopArgs,
        interaction: InteractiveArg,
    ) -> Result<CommandOutput, Failure> {
        let local = self.local()?;
        let thread = local.thread(name).await?.with_stops(stops)?;
        self.run_interactive(&*thread, name, RunRequest::Proceed, interaction).await
    }

    pub(super) async fn retry(&self, name: &str, interaction: InteractiveArg) -> Result<CommandOutput, Failure> {
        let local = self.local()?;
        let thread = local.thread(name).await?;
        if thread.report().await?.status == "finished" {
            let error = format!("thread `{name}` has finished: it has no unfinished superstep to begin anew");
            return Err(Failure::new(error).hint(
                "`{replay --mode live --from CHECKPOINT}` runs it again from a checkpoint; `{history}` lists them",
            ));
        }
        self.run_interactive(&*thread, name, RunRequest::Retry, interaction).await
    }

    pub(super) async fn cancel(&self, thread: String) -> Result<CommandOutput, Failure> {
        let report: ThreadReport = self.call(ThreadRequest::Cancel { thread: thread.clone() }).await?;
        let exit = match report.status.as_str() {
            "finished" => Exit::Finished, // it was faster
            "interrupted" => Exit::Asking,
            "waiting" | "awaiting-signal" => Exit::Waiting,
            _ => Exit::Cancelled,
        };
        let mut output = self.thread_output(report, exit.code())?;
        output.text.push_str(&self.next_help(exit, &thread));
        Ok(output)
    }

    /// Runs a thread, shows its events, and reports its status at the end.
    pub(super) async fn follow(
        &self,
        thread: &dyn AnyThread,
        name: &str,
        go: RunRequest,
    ) -> Result<CommandOutput, Failure> {
        let cancel = signal::cancel_on_signal();
        let running = self.control.runs(name, cancel.token.clone());
        let mut run = thread.run(go, cancel.token.clone())?;
        let mut watch = watch::Watch::new(self.view, name);
        let mut buffer = EventBuffer::default();
        let mut ticks = tokio::time::interval(watch::TICK);
        let mut boards = tokio::time::interval(watch::BOARD);
        let has_board = self.view.is_tree() && thread.has_board();
        let labels = thread.labels();
        let emit = |watch: &mut watch::Watch, event: &Event| {
            let Some(json) = timed_event_json(event, &labels) else { return };
            running.record(&json);
            watch.on_event(&json);
        };
        loop {
            tokio::select! {
                event = run.next() => match event {
                    Some(event) => buffer.push(event).iter().for_each(|event| emit(&mut watch, event)),
                    None => break,
                },
                _ = ticks.tick() => watch.tick(cancel.token.is_cancelled()),
                _ = boards.tick(), if has_board => {
                    // A run that has stored nothing has no board.
                    let board = thread.report().await.map(|report| report.board);
                    board.into_iter().for_each(|board| watch.post(board));
                }
            }
        }
        let ended = run.end().await;
        if !matches!(ended, Err(RunError::Checkpoint(_))) {
            buffer.finish().iter().for_each(|event| emit(&mut watch, event));
        }
        watch.end();
        drop(running);
        let exit = match ended {
            Ok(exit) => exit,
            Err(error) => {
                let broke = matches!(error, RunError::Node { .. } | RunError::Panicked { .. });
                let failure = Failure::from(error);
                let anew = broke && is_only_task(thread).await;
                let failure = if anew { failure.hint("mend the cause, then `{retry}`") } else { failure };
                return Err(failure.with_commands(&self.caller, Some(name)));
            }
        };
        let report = thread.report().await?;
        let is_over = report.status == "finished" || !report.questions.is_empty();
        let mut output = self.thread_output(report, exit.code())?;
        if !is_over {
            output.text.push_str(&self.next_help(exit, name));
        }
        Ok(output)
    }

    /// Returns the next step after a run that neither finished nor interrupted.
    fn next_help(&self, exit: Exit, name: &str) -> String {
        let go_on = self.caller.thread_command("proceed", name);
        match exit {
            Exit::Cancelled => format!("\ncancelled; what is done is kept. Go on with\n  {go_on}\n"),
            Exit::Halted => format!("\nto go on\n  {go_on}\n"),
            Exit::Waiting => format!("\nonce the time or the signal has come, go on with\n  {go_on}\n"),
            Exit::Finished | Exit::Failed | Exit::Asking | Exit::Rejected | Exit::Unverified => String::new(),
        }
    }
}

/// Returns true if restarting the failed superstep would lose nothing: no results of siblings, no answers.
async fn is_only_task(thread: &dyn AnyThread) -> bool {
    let shown = thread.show(None).await;
    shown.is_ok_and(|shown| matches!(&shown.tasks[..], [task] if task.answers.is_empty()))
}

/// Returns a new name that sorts by time: the graph's, and milliseconds in base 36.
async fn new_name(local: &Local, graph: &str) -> Result<String, Failure> {
    let mut number = time::now();
    loop {
        let name = format!("{graph}-{}", letters(number));
        if local.store.head(&ThreadId::from(name.as_str())).await?.is_none() {
            return Ok(name);
        }
        number += 1;
    }
}

fn letters(mut number: u64) -> String {
    let mut digits = vec![];
    while number > 0 {
        digits.extend(char::from_digit((number % 36) as u32, 36));
        number /= 36;
    }
    digits.iter().rev().collect()
}
