//! The whole command line of a program: the commands that every program has, those that it adds, the options of all, and
//! what was parsed.

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
#[cfg(feature = "otel")]
use superstep_server::{TraceExporter, TraceExporterError};

use super::answers::{Approve, DismissArgs, EditArgs, Reject, Resume, Revise, Signal};
use super::checkpoints::{DeleteArgs, DiffArgs, ForkArgs, GcArgs, Replay, Tag, Update};
use super::keys::KeysArgs;
use super::mcp::McpArgs;
use super::reads::{
    CompletionsArgs, Draw, EventsArgs, Graphs, HistoryArgs, Log, Show, Status, Threads, WatchArgs, WorkersArgs,
};
use super::runs::{self, CancelArgs, ProceedArgs, Retry, RunArgs};
use super::serve::ServeArgs;
use super::stores::{CopyStoreArgs, ExportArgs, ImportArgs, RepairArgs, Runner, StoreArgs, TrustArgs};
use crate::custom::{Additions, CustomCommand, first};
use crate::dispatch::DispatchAddress;
use crate::graphs::AppGraph;
use crate::store::StoreLocation;
#[cfg(feature = "otel")]
use crate::terminal::start_traces;
use crate::terminal::{Level, start_log};
#[cfg(feature = "server")]
use crate::terminal::{LogFormat, start_json_log};

const AFTER: &str = "\
A first run, from two processes:
  {bin} run {graph} --thread first
  {bin} status first

Exit codes:
  0 finished, 10 waits for a person, 11 halted or stopped by a budget, 12 rejected,
  13 cancelled, 14 waits for a time or a signal, 2 invalid usage, 1 any other error";

/// A heading of the help, and the commands under it.
type Group = (String, Vec<Command>);

/// Returns the command line of a program with these graphs.
pub(crate) fn command(bin: &str, version: &str, about: &str, graphs: &[AppGraph], added: &Additions) -> Command {
    let groups = groups(bin, graphs, added);
    let command = Command::new(bin.to_owned())
        .version(version.to_owned())
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommand_value_name("COMMAND")
        .max_term_width(100)
        .help_template(help_template(&groups));
    let command = Globals::augment_args(command).subcommands(groups.into_iter().flat_map(|(_, commands)| commands));
    let command = command.about(about.to_owned()).long_about(None).after_help(AFTER);
    let graph = graphs.first().map_or("GRAPH", |graph| graph.name()).to_owned();
    with_program_name(command, bin, &graph)
}

/// Returns all commands in the groups of the help: those of every program, then those that this one adds.
fn groups(bin: &str, graphs: &[AppGraph], added: &Additions) -> Vec<Group> {
    let none = || Command::new("");
    let standard = [
        ("Run", RunVerb::augment_subcommands(none().subcommand(runs::run(graphs)))),
        ("Answer", AnswerVerb::augment_subcommands(none())),
        ("Look", LookVerb::augment_subcommands(none())),
        ("Debug", DebugVerb::augment_subcommands(none())),
        ("Keep", KeepVerb::augment_subcommands(none())),
    ];
    let group = |(heading, all): (&str, Command)| (heading.to_owned(), all.get_subcommands().cloned().collect());
    let mut groups: Vec<Group> = standard.into_iter().map(group).collect();
    for (word, heading) in &added.words {
        let heading = heading.clone().unwrap_or_else(|| format!("Commands of {bin}"));
        let command = added_command(word, graphs, added);
        match groups.iter_mut().find(|(known, _)| *known == heading) {
            Some((_, commands)) => commands.push(command),
            None => groups.push((heading, vec![command])),
        }
    }
    groups
}

/// Returns the template of the help: clap lists commands in one group only.
fn help_template(groups: &[Group]) -> String {
    let names = groups.iter().flat_map(|(_, commands)| commands).map(|command| command.get_name().len());
    let width = names.max().unwrap_or_default();
    let line = |command: &Command| {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        format!("  {:width$}  {about}\n", command.get_name())
    };
    let list = |(heading, commands): &Group| format!("{heading}:\n{}\n", commands.iter().map(line).collect::<String>());
    let lists: String = groups.iter().map(list).collect();
    format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{lists}Options:\n{{options}}{{after-help}}")
}

/// Inserts the program's name into all examples.
fn with_program_name(command: Command, bin: &str, graph: &str) -> Command {
    let after = command.get_after_help().map(ToString::to_string);
    let command = match after {
        Some(text) => command.after_help(text.replace("{bin}", bin).replace("{graph}", graph)),
        None => command,
    };
    command.mut_subcommands(|inner| with_program_name(inner, bin, graph))
}

/// Reads the matches of [`command`].
pub(crate) fn invocation<'a>(
    matches: &'a ArgMatches,
    added: &'a Additions,
) -> Result<(Globals, Invocation<'a>), clap::Error> {
    let globals = Globals::from_arg_matches(matches)?;
    let invocation = match matches.subcommand() {
        Some(("run", run)) => Invocation::Run(RunArgs::of(run)?),
        Some((word, inner)) if let Some(invocation) = added_invocation(word, inner, added) => invocation,
        _ => Invocation::Do(Verb::from_arg_matches(matches)?),
    };
    Ok((globals, invocation))
}

/// The parsed command line.
pub(crate) enum Invocation<'a> {
    Run(RunArgs<'a>),
    Do(Verb),
    /// A command that the program adds, with its thread, if it takes one.
    CustomCommand(&'a CustomCommand, &'a str, &'a ArgMatches),
}

/// The commands, but for `run`, which is made from the registered graphs. The help lists each in the group of its enum.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum Verb {
    #[command(flatten)]
    Run(RunVerb),
    #[command(flatten)]
    Answer(AnswerVerb),
    #[command(flatten)]
    Look(LookVerb),
    #[command(flatten)]
    Debug(DebugVerb),
    #[command(flatten)]
    Keep(KeepVerb),
}

/// Commands that run threads.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum RunVerb {
    Proceed(ProceedArgs),
    Retry(Retry),
    Cancel(CancelArgs),
    Runner(Box<Runner>),
    Serve(ServeArgs),
    Keys(KeysArgs),
    Mcp(McpArgs),
}

/// Commands that answer a thread.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum AnswerVerb {
    Approve(Approve),
    Reject(Reject),
    Revise(Revise),
    Edit(EditArgs),
    Resume(Resume),
    Dismiss(DismissArgs),
    Signal(Signal),
}

/// Commands that show threads and graphs.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum LookVerb {
    Threads(Threads),
    Status(Status),
    Watch(WatchArgs),
    Log(Log),
    Show(Show),
    History(HistoryArgs),
    Events(EventsArgs),
    Workers(WorkersArgs),
    Graphs(Graphs),
    Graph(Draw),
    Completions(CompletionsArgs),
}

/// Commands that compare, replay and rewrite the past of a thread.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum DebugVerb {
    Diff(DiffArgs),
    Replay(Replay),
    Fork(ForkArgs),
    Update(Update),
}

/// Commands that keep, remove and move stored threads.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum KeepVerb {
    Tag(Tag),
    Gc(GcArgs),
    Delete(DeleteArgs),
    Export(ExportArgs),
    Import(ImportArgs),
    Trust(TrustArgs),
    Repair(RepairArgs),
    CopyStore(CopyStoreArgs),
    Store(StoreArgs),
}

/// Returns true if every program has a command of that name.
pub(crate) fn is_taken(name: &str) -> bool {
    let every = Verb::augment_subcommands(Command::new("any"));
    let is_there = every.get_subcommands().any(|command| command.get_name() == name);
    is_there || ["run", "help"].contains(&name)
}

/// The options that every command has.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    #[arg(long, global = true, value_name = "PATH", env = "SUPERSTEP_STORE", default_value = ".superstep/store")]
    #[arg(hide_env_values = true, value_parser = OsStringValueParser::new().map(StoreLocation::from))]
    #[arg(help = StoreLocation::help())]
    pub store: StoreLocation,

    /// Threads are run by workers that this engine calls: `restate:http://HOST:8080`, Restate's ingress
    #[arg(long, global = true, value_name = "ENGINE", env = "SUPERSTEP_DISPATCH", hide_env_values = true)]
    #[arg(value_parser = DispatchAddress::parse)]
    pub dispatch: Option<DispatchAddress>,

    /// Only read the store; write nothing to it
    #[arg(long, global = true)]
    pub read_only: bool,

    /// Print JSON, also for errors on standard error
    #[arg(long, global = true)]
    pub json: bool,

    /// Log to standard error; LEVEL: error, warn, info
    #[arg(hide_possible_values = true)]
    #[arg(long, global = true, value_name = "LEVEL", env = "SUPERSTEP_LOG", hide_env_values = true)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "info")]
    pub log: Option<Level>,

    /// Form of the log; json: an object in each line, with the ids of requests
    #[cfg(feature = "server")]
    #[arg(long, global = true, value_name = "FORMAT", requires = "log", default_value = "text", hide = true)]
    pub log_format: LogFormat,
}

impl Globals {
    /// Starts the log, if there is to be one.
    pub(crate) fn start_log(&self) {
        let Some(level) = self.log else { return };
        #[cfg(feature = "server")]
        if self.log_format == LogFormat::Json {
            return start_json_log(level);
        }
        start_log(level);
    }

    /// Starts the log, if there is to be one, and traces, if the environment names a collector.
    #[cfg(feature = "otel")]
    pub(crate) fn start_telemetry(&self) -> Result<Option<TraceExporter>, TraceExporterError> {
        let traces = TraceExporter::from_env()?;
        match &traces {
            Some(traces) => start_traces(traces, self.log.map(|level| (level, self.log_format))),
            None => self.start_log(),
        }
        Ok(traces)
    }
}

/// Returns a command that a program adds: one of its own, a shorthand of a graph, or a group of commands.
fn added_command(word: &str, graphs: &[AppGraph], added: &Additions) -> Command {
    if let Some(own) = added.find_command(word) {
        return own.command.clone();
    }
    let inner: Vec<&CustomCommand> = added.commands.iter().filter(|own| first(own.path) == word).collect();
    let named = added.shorthand(word).and_then(|name| graphs.iter().find(|graph| graph.name() == name));
    let group = match named {
        Some(graph) => runs::shorthand(graph, word, !inner.is_empty()),
        None => group(word, &inner),
    };
    group.disable_help_subcommand(true).subcommands(inner.into_iter().map(|own| own.command.clone()))
}

/// Returns a command that only groups others.
fn group(word: &str, inner: &[&CustomCommand]) -> Command {
    let names: Vec<&str> = inner.iter().map(|own| own.command.get_name()).collect();
    Command::new(word.to_owned())
        .about(format!("Commands: {}", names.join(", ")))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand_value_name("COMMAND")
}

/// Returns the invocation, if it is one of these commands.
fn added_invocation<'a>(word: &'a str, given: &'a ArgMatches, added: &'a Additions) -> Option<Invocation<'a>> {
    let (path, leaf) = match given.subcommand() {
        Some((second, leaf)) => (format!("{word} {second}"), leaf),
        None => (word.to_owned(), given),
    };
    match (added.find_command(&path), added.shorthand(word)) {
        (Some(own), _) => {
            let thread = leaf.try_get_one::<String>("thread").ok().flatten().map(String::as_str);
            Some(Invocation::CustomCommand(own, thread.unwrap_or_default(), leaf))
        }
        (None, Some(graph)) => Some(Invocation::Run(RunArgs::from_matches(graph, given))),
        (None, None) => None,
    }
}
