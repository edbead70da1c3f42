//! One call of the program: its dispatch to a command, its JSON arguments, and its output.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use superstep_base::files;

use crate::advice::{self, Caller};
use crate::args::{AnswerVerb, DebugVerb, Invocation, KeepVerb, LookVerb, RunVerb, StoreArgs, StoreVerb, Verb};
use crate::control::Control;
use crate::dispatch::DispatchAddress;
use crate::failure::{Failure, json};
use crate::graphs::AppGraphs;
use crate::service::AnswerInput;
use crate::shapes::{NextStep, OpenQuestion, ThreadReport};
use crate::store::StoreLocation;
use crate::text::{self, clean};
use crate::watch::View;

pub(crate) struct Session {
    pub graphs: Arc<AppGraphs>,
    pub caller: Caller,
    pub store: StoreLocation,
    /// Set if nothing may be written to the store.
    pub read_only: bool,
    /// The engine whose workers run threads, in place of this process.
    pub dispatch: Option<DispatchAddress>,
    /// The way in which runs are shown.
    pub view: View,
    /// The command line itself, for completions.
    pub command: clap::Command,
    /// The requests that other processes may send.
    pub control: Control,
}

impl Session {
    pub(crate) async fn perform(&self, invocation: Invocation<'_>) -> Result<CommandOutput, Failure> {
        if self.store == StoreLocation::Memory
            && !matches!(invocation, Invocation::Do(Verb::Run(RunVerb::Serve(_) | RunVerb::Mcp(_))))
        {
            return Err(Failure::usage("a store in memory ends with its process, so only `serve` has one")
                .help("name a directory: `--store PATH`"));
        }
        let output = match invocation {
            Invocation::Run(args) => self.run(&args).await,
            Invocation::Do(verb) => self.verb(verb).await,
            Invocation::CustomCommand(own, thread, matches) => self.custom(own, thread, matches).await,
        };
        self.control.close().await;
        output
    }

    async fn verb(&self, verb: Verb) -> Result<CommandOutput, Failure> {
        match verb {
            Verb::Run(verb) => self.run_verb(verb).await,
            Verb::Answer(verb) => self.answer_verb(verb).await,
            Verb::Look(verb) => self.look_verb(verb).await,
            Verb::Debug(verb) => self.debug_verb(verb).await,
            Verb::Keep(verb) => self.keep_verb(verb).await,
        }
    }

    async fn run_verb(&self, verb: RunVerb) -> Result<CommandOutput, Failure> {
        match verb {
            RunVerb::Proceed(args) => self.proceed(&args.on.thread, &args.stops, args.mode).await,
            RunVerb::Retry(args) => self.retry(&args.on.thread, args.mode).await,
            RunVerb::Cancel(args) => self.cancel(args.on.thread).await,
            RunVerb::Runner(args) => self.runner(*args).await,
            RunVerb::Serve(args) => self.serve(args).await,
            RunVerb::Keys(args) => self.keys(&args),
            RunVerb::Mcp(args) => self.mcp(args).await,
        }
    }

    async fn answer_verb(&self, verb: AnswerVerb) -> Result<CommandOutput, Failure> {
        match verb {
            AnswerVerb::Approve(args) => self.decide(args.into()).await,
            AnswerVerb::Reject(args) => self.decide(args.into()).await,
            AnswerVerb::Revise(args) => self.decide(args.into()).await,
            AnswerVerb::Edit(args) => self.edit(args).await,
            AnswerVerb::Resume(args) => self.resume(args).await,
            AnswerVerb::Dismiss(args) => self.answer_question(args.thread, AnswerInput::Cancel, args.to).await,
            AnswerVerb::Signal(args) => self.signal(args).await,
        }
    }

    async fn look_verb(&self, verb: LookVerb) -> Result<CommandOutput, Failure> {
        match verb {
            LookVerb::Threads(args) => self.threads(args).await,
            LookVerb::Status(args) => self.status(args).await,
            LookVerb::Watch(args) => self.watch(args.thread).await,
            LookVerb::Log(args) => self.log(args).await,
            LookVerb::Show(args) => self.show(args).await,
            LookVerb::History(args) => self.history(args).await,
            LookVerb::Events(args) => self.events(args).await,
            LookVerb::Workers(_) => self.workers().await,
            LookVerb::Graphs(_) => self.list_graphs(),
            LookVerb::Graph(args) => self.draw(args).await,
            LookVerb::Completions(args) => self.completions(&args),
        }
    }

    async fn debug_verb(&self, verb: DebugVerb) -> Result<CommandOutput, Failure> {
        match verb {
            DebugVerb::Diff(args) => self.diff(&args).await,
            DebugVerb::Replay(args) => self.replay(&args).await,
            DebugVerb::Fork(args) => self.fork(args).await,
            DebugVerb::Update(args) => self.update(args).await,
        }
    }

    async fn keep_verb(&self, verb: KeepVerb) -> Result<CommandOutput, Failure> {
        match verb {
            KeepVerb::Tag(args) => self.tag(args).await,
            KeepVerb::Gc(args) => self.gc(args).await,
            KeepVerb::Delete(args) => self.delete(args).await,
            KeepVerb::Export(args) => self.export(args).await,
            KeepVerb::Import(args) => self.import(args).await,
            KeepVerb::Trust(args) => self.trust(args).await,
            KeepVerb::Repair(args) => self.repair(args).await,
            KeepVerb::CopyStore(args) => self.copy_store(&args).await,
            KeepVerb::Store(StoreArgs { verb: StoreVerb::Migrate(args) }) => self.migrate(&args).await,
        }
    }

    /// Formats the report of a thread as text and JSON, with its next steps.
    pub(super) fn thread_output(&self, report: ThreadReport, code: u8) -> Result<CommandOutput, Failure> {
        self.output_with_note(report, code, "")
    }

    /// The same, with a sentence before the next steps that says what the command did.
    pub(super) fn output_with_note(
        &self,
        mut report: ThreadReport,
        code: u8,
        note: &str,
    ) -> Result<CommandOutput, Failure> {
        let thread = report.thread.clone();
        self.add_commands(&thread, &mut report.questions);
        let asks = !report.questions.is_empty() && !report.origin.is_untrusted(); // the questions have commands
        report.advice = if asks { vec![] } else { self.next_steps(&report) };
        let next = advice::after(note, &report.advice);
        let blank = if next.is_empty() { "" } else { "\n" };
        let text = format!("{}{blank}{next}", text::report(&report));
        Ok(CommandOutput { code, ..CommandOutput::new(text, &report)? })
    }

    /// Returns the next steps of a thread, with full commands.
    pub(super) fn next_steps(&self, report: &ThreadReport) -> Vec<NextStep> {
        advice::in_full(advice::next_steps(report), &self.caller, &report.thread)
    }

    /// Adds to each question the commands that answer it.
    pub(super) fn add_commands(&self, thread: &str, questions: &mut [OpenQuestion]) {
        advice::commands(&self.caller, thread, questions, "");
    }
}

/// The output of a command.
pub(crate) struct CommandOutput {
    pub text: String,
    pub json: Value,
    pub code: u8,
}

impl CommandOutput {
    /// All has been said.
    pub(super) fn nothing() -> Self {
        Self { text: String::new(), json: Value::Null, code: 0 }
    }

    pub(super) fn new(text: impl Into<String>, json: &impl Serialize) -> Result<Self, Failure> {
        Ok(Self { text: text.into(), json: self::json(json)?, code: 0 })
    }
}

/// Escapes the lines of a report.
pub(super) fn lines(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", clean(line))).collect()
}

/// Reads the value of an option: JSON, `@FILE`, or `@-` for standard input.
pub(super) fn json_argument(option: &str, given: &str) -> Result<Value, Failure> {
    let text = match given.strip_prefix('@') {
        Some("-") => files::read_bounded(io::stdin()).and_then(files::as_text),
        Some(path) => files::text(Path::new(path)).map_err(with_pipe_hint),
        None => return parse_json(option, given),
    };
    match text {
        Ok(text) => parse_json(&format!("{option} {given}"), &text),
        Err(error) => Err(Failure::usage(format!("{option} {given}: {error}"))),
    }
}

fn with_pipe_hint(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::InvalidInput => io::Error::new(ErrorKind::InvalidInput, format!("{error}; use @- to read a pipe")),
        _ => error,
    }
}

fn parse_json(what: &str, text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| {
        let help = "give JSON, with quotes around text, and quote it for the shell: '{\"topic\": \"tides\"}' or '\"text\"'; \
                    or @FILE that holds it";
        Failure::usage(format!("{what} is not JSON: {error}")).help(help)
    })
}
