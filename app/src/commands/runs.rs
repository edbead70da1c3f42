//! Commands that run something: `run`, `proceed`, `retry`, and those that a program adds; and `cancel`.

use std::sync::Arc;

use clap::ArgMatches;
use superstep::checkpoint::{Source, ThreadId};
use superstep::graph::{Event, EventKind, RunError, ThreadInfo};

use super::session::{CommandOutput, Session, json_argument, lines};
use crate::advice::next_steps;
use crate::args::{RunArgs, RunModeArgs};
use crate::custom::{CustomCommand, Performer};
use crate::custom_output::{CustomOutput, Next};
use crate::events::{EventBuffer, timed_event_json};
use crate::failure::{Call, Exit, Failure};
use crate::graphs::{AppGraph, ParsedInput};
use crate::local::{Local, answer};
use crate::relocation::locate_to_run;
use crate::service::{AnswerInput, AnswerRequest, ThreadRequest};
use crate::shapes::{ReplacedValue, ThreadReport};
use crate::stops::StopArgs;
use crate::stored::StoredThread;
use crate::terminal::{self, note};
use crate::text::{self, clean};
use crate::threads::{AnyInput, AppThread, RunRequest};
use crate::time;
use crate::watch::{self, View};

impl Session {
    pub(super) async fn run(&self, args: &RunArgs<'_>) -> Result<CommandOutput, Failure> {
        let graph = self.graphs.get(args.graph)?;
        let input = match args.input {
            Some(text) => ParsedInput::Input(graph.input(&json_argument("--input", text)?)?),
            None => graph.parse_args(args.own, args.thread)?,
        };
        let input = match input {
            ParsedInput::Input(input) => input,
            ParsedInput::Instead(instead) => return command_output(instead),
        };
        if args.thread.is_some_and(str::is_empty) {
            return Err(Failure::usage("a thread needs a name, and \"\" is empty"));
        }
        let local = self.store_or_new().await?;
        let name = match args.thread {
            Some(name) => name.to_owned(),
            None => new_name(&local, args.graph).await?,
        };
        let thread = graph.thread(Arc::clone(&local.store), ThreadId::from(name.as_str()));
        let (request, replaced) = match ThreadInfo::read(&*local.store, &ThreadId::from(name.as_str())).await? {
            None => (RunRequest::Input(input), vec![]),
            Some(info) if info.graph != args.graph => return Err(is_there(&info, info.status.as_str())),
            Some(info) => self.next_input(graph, &thread, &info, input).await?,
        };
        let thread = thread.with_stops(&args.stops)?.with_max_supersteps(args.max_supersteps);
        let mut output = self.run_interactive(&thread, &name, request, args.mode).await?;
        if !replaced.is_empty() {
            output.json["replaced"] = crate::failure::json(&replaced)?;
        }
        Ok(output)
    }

    /// Returns the run of a thread that exists, and the values that its input replaces.
    async fn next_input(
        &self,
        graph: &AppGraph,
        thread: &AppThread,
        info: &ThreadInfo,
        input: AnyInput,
    ) -> Result<(RunRequest, Vec<ReplacedValue>), Failure> {
        let report = thread.report().await?;
        let name = &report.thread;
        let is_unused = report.refused && report.next == [INPUT];
        if is_unused {
            return Ok((RunRequest::OtherInput(input), vec![])); // the one before was never applied
        }
        if report.status != "finished" || report.origin.is_untrusted() {
            let failure = is_there(info, &report.status).next(next_steps(&report));
            return Err(failure.with_commands(&self.caller, Some(name)));
        }
        if graph.takes_one_input() {
            let error = format!("thread `{name}` has finished, and a thread of `{}` takes one input", report.graph);
            let failure = Failure::new(error).help("leave out `--thread`, or choose another name for the new run");
            return Err(failure.next(next_steps(&report)).with_commands(&self.caller, Some(name)));
        }
        let replaced = thread.replaced_values(&input).await?;
        if self.view != View::Quiet {
            note(&text::replacements(name, &replaced));
        }
        Ok((RunRequest::Input(input), replaced))
    }

    pub(super) async fn proceed(
        &self,
        name: &str,
        stops: &StopArgs,
        mode: RunModeArgs,
    ) -> Result<CommandOutput, Failure> {
        let local = self.local().await?;
        let thread = local.thread(name).await?.with_stops(stops)?;
        self.run_interactive(&thread, name, RunRequest::Proceed, mode).await
    }

    pub(super) async fn retry(&self, name: &str, mode: RunModeArgs) -> Result<CommandOutput, Failure> {
        let local = self.local().await?;
        let thread = local.thread(name).await?;
        if thread.report().await?.status == "finished" {
            let error = format!("thread `{name}` has finished: it has no unfinished superstep to restart");
            let newest = thread.history(1, None).await?;
            let before =
                newest.first().and_then(|step| step.info.parent).map_or("CHECKPOINT".into(), |id| id.to_string());
            return Err(Failure::new(error).hint(format!(
                "`{{replay --mode live --from {before}}}` runs its last superstep again; `{{history}}` lists the checkpoints"
            )));
        }
        self.run_interactive(&thread, name, RunRequest::Retry, mode).await
    }

    pub(super) async fn cancel(&self, thread: String) -> Result<CommandOutput, Failure> {
        let report: ThreadReport = self.call(ThreadRequest::Cancel { thread: thread.clone() }).await?;
        self.dispatch_cancel(&thread).await?; // afterwards: else the run may have ended before it is looked for
        // It may have come to its end, to a question or to a wait before.
        let was_cut_off = !matches!(report.status.as_str(), "finished" | "interrupted" | "waiting" | "awaiting-signal");
        self.output_with_note(report, 0, if was_cut_off { note_of(Exit::Cancelled) } else { "" })
    }

    /// Runs a thread in this process, or has the engine that was named run it.
    pub(super) fn run_request<'a>(
        &'a self,
        thread: &'a AppThread,
        name: &'a str,
        go: RunRequest,
    ) -> Call<'a, CommandOutput> {
        match self.dispatch {
            Some(_) => Box::pin(self.queue(thread, name, go, true)),
            None => Box::pin(self.follow(thread, name, go)),
        }
    }

    /// Runs a thread, shows its events, and reports its status at the end.
    pub(super) async fn follow(
        &self,
        thread: &AppThread,
        name: &str,
        go: RunRequest,
    ) -> Result<CommandOutput, Failure> {
        let cancel = terminal::cancel_on_signal();
        // From here on, other processes can follow and cancel the run.
        let running = self.control.runs(name, cancel.token.clone());
        locate_to_run(thread, name, self.store.folder()).await?;
        let bound = thread.clone().with_place(self.new_place(thread).await?);
        let mut run = bound.run(go, cancel.token.clone());
        let mut watch = watch::Watch::new(self.view, name, thread.cost().await);
        let mut buffer = EventBuffer::default();
        let mut ticks = tokio::time::interval(watch::TICK);
        let mut boards = tokio::time::interval(watch::BOARD);
        let has_board = self.view.is_tree() && thread.has_board();
        let labels = thread.labels();
        let mut supersteps = SuperstepCounter::default();
        let mut emit = |watch: &mut watch::Watch, event: &Event| {
            if let Some(line) = supersteps.on_event(event) {
                watch.note(&line);
            }
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
        // The buffer holds ends of tasks until they are stored. If the store failed, they may be lost.
        if !matches!(ended, Err(RunError::Checkpoint(_))) {
            buffer.finish().iter().for_each(|event| emit(&mut watch, event));
        }
        watch.end();
        // Ends the event stream of those who follow, before the report is made.
        drop(running);
        let blocking = thread.blocking();
        if self.view != View::Quiet && !thread.never_blocks() {
            note(&text::blocking(&blocking));
        }
        let exit = match ended {
            Ok(exit) => exit,
            Err(error) => {
                // Best effort: the store may be what failed.
                let next = thread.report().await.map(|report| next_steps(&report)).unwrap_or_default();
                return Err(Failure::of_run(error, next).with_commands(&self.caller, Some(name)));
            }
        };
        let report = ThreadReport { blocking, ..thread.report().await? };
        let what = if report.status == "finished" { "" } else { note_of(exit) };
        self.output_with_note(report, exit.code(), what)
    }

    pub(super) async fn custom(
        &self,
        own: &CustomCommand,
        thread: &str,
        matches: &ArgMatches,
    ) -> Result<CommandOutput, Failure> {
        match &own.performer {
            Performer::Alone(perform) => command_output(perform(matches, ()).await?),
            Performer::Found(perform) => {
                let report: ThreadReport = self.call(ThreadRequest::Status { thread: thread.to_owned() }).await?;
                let done = perform(matches, report.into()).await?;
                if done.next == Next::Rest {
                    command_output(done)
                } else {
                    self.run_next(&self.local().await?, thread, done.next).await
                }
            }
            Performer::Stored(perform) => {
                let local = self.local().await?;
                let done = perform(matches, self.stored_thread(&local, thread).await?).await?;
                if done.next == Next::Rest {
                    command_output(done)
                } else {
                    self.run_next(&local, thread, done.next).await
                }
            }
        }
    }

    async fn stored_thread(&self, local: &Local, name: &str) -> Result<StoredThread, Failure> {
        let thread = local.thread(name).await?;
        let found = thread.report().await?.into();
        Ok(StoredThread { found, thread, local: local.clone(), caller: self.caller.clone() })
    }

    /// Resumes or runs a thread after a command.
    async fn run_next(&self, local: &Local, name: &str, next: Next) -> Result<CommandOutput, Failure> {
        let thread = local.thread(name).await?;
        let go = match next {
            Next::Rest => return Ok(CommandOutput::nothing()),
            Next::Answer { to, answer: json, by } => {
                let request = AnswerRequest {
                    thread: name.to_owned(),
                    says: AnswerInput::Json(json),
                    interrupt: Some(to),
                    by,
                    note: None,
                };
                RunRequest::Answer(Box::new(answer(&thread, request).await?))
            }
            Next::Input(values) => {
                let graph = self.graphs.of_thread(name, &local.info(name).await?.graph)?;
                RunRequest::Input(graph.input(&values)?)
            }
        };
        self.run_request(&thread, name, go).await
    }
}

/// The name of the task that applies an input.
const INPUT: &str = "__start__";

/// Returns the error of a name that is taken.
fn is_there(info: &ThreadInfo, standing: &str) -> Failure {
    let error = format!("there is a thread `{}` already, of the graph `{}`: {standing}", info.id, info.graph);
    Failure::new(error).help("leave out `--thread`, or choose another name for the new run")
}

/// Returns the line about a run that was cancelled.
fn note_of(exit: Exit) -> &'static str {
    if exit == Exit::Cancelled { "cancelled; finished work is kept" } else { "" }
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

fn command_output(result: CustomOutput) -> Result<CommandOutput, Failure> {
    Ok(CommandOutput { code: result.code, ..CommandOutput::new(lines(&result.text), &result.json)? })
}

/// A line is shown each time so many supersteps have ended.
const INTERVAL: u64 = 1_000;

/// Counts the supersteps of a run, those of subgraphs included.
#[derive(Debug, Default)]
struct SuperstepCounter(u64);

impl SuperstepCounter {
    /// Counts the superstep that an event ends. Every 1,000 supersteps, returns a line that says where the run is.
    fn on_event(&mut self, event: &Event) -> Option<String> {
        let EventKind::Checkpoint(made) = &event.kind else { return None };
        if made.source != Source::Loop || made.ran.is_empty() {
            return None; // the start of a run, or a branch
        }
        self.0 += 1;
        if !self.0.is_multiple_of(INTERVAL) {
            return None;
        }
        let place =
            |node: &String| clean(&event.nodes().chain([node.as_str()]).collect::<Vec<_>>().join("/")).into_owned();
        let list = |nodes: &[String]| nodes.iter().map(place).collect::<Vec<_>>().join(", ");
        let next = if made.next.is_empty() { "the end".into() } else { list(&made.next) };
        Some(format!(
            "note: {} supersteps in this run; after {} comes {next} (Ctrl-C stops it, `--max-supersteps` limits a run)\n",
            self.0,
            list(&made.ran)
        ))
    }
}
