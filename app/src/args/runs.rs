//! Arguments of the commands that run something: `run`, `proceed`, `retry`, `cancel`.

use clap::{Arg, ArgAction, ArgMatches, Args, Command};

use crate::graphs::AppGraph;
use crate::shapes::GraphLine;
use crate::stops::StopArgs;

const INPUT: &str = "superstep-input";
const THREAD: &str = "superstep-thread";
const INTERACTIVE: &str = "superstep-interactive";
const QUEUE: &str = "superstep-queue";
const WAIT: &str = "superstep-wait";
const MAX_SUPERSTEPS: &str = "superstep-max-supersteps";
const MAX_HELP: &str = "Stop after this many supersteps, including those of subgraphs; `proceed` resumes the thread";
const ASKS: &str = "Ask pending questions at the prompt and read the answers from standard input";

const QUEUES: &str = "Only store the request, and print the thread's name: a runner of the store takes it from there";
const WAITS: &str = "With --queue: wait until the runner is done with it, and exit as if it had run here";

const NAME: &str = "The thread's name: a new one, or that of a finished thread, which continues from its state with the input \
                    [default: the graph's name and the time]";

const RUN: &str = "\
Example:
  {bin} run {graph} --thread first
  {bin} run {graph} --help";

/// Returns the command `run` with a subcommand for each graph.
pub(super) fn run(graphs: &[AppGraph]) -> Command {
    let command = Command::new("run")
        .about("Run a graph in a new thread until it finishes, asks a question or fails")
        .long_about(
            "Starts a thread of a graph and runs it until it finishes, asks a question or fails. Every step is stored: \
             another process can answer, resume or inspect it. With the name of a finished thread, continues from its state \
             with the new input, and prints the values that the input replaces.",
        )
        .after_help(RUN)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand_value_name("GRAPH")
        .subcommand_help_heading("Graphs")
        .disable_help_subcommand(true);
    let graphs = graphs.iter().map(|graph| of_graph(graph, graph.name(), &format!("run {}", graph.name())));
    command.subcommands(graphs)
}

/// Returns a command that is the same as `run` with a graph; `is_group` if it has subcommands too.
pub(super) fn shorthand(graph: &AppGraph, word: &str, is_group: bool) -> Command {
    let command = of_graph(graph, word, word);
    if is_group { command.args_conflicts_with_subcommands(true).subcommand_negates_reqs(true) } else { command }
}

/// Returns the command `name` that runs a graph; `call` is how examples call it.
fn of_graph(graph: &AppGraph, name: &str, call: &str) -> Command {
    let line = graph.line();
    let about = line.about.clone().unwrap_or_else(|| format!("Nodes: {}", line.nodes.join(", ")));
    let input = Arg::new(INPUT)
        .long("input")
        .value_name("JSON|@FILE")
        .help("The input: a JSON object with a key for each channel, or @FILE to read it from a file");
    let thread = Arg::new(THREAD).long("thread").value_name("ID").help(NAME);
    let (command, own) = graph.graph_args(Command::new(name.to_owned()).about(about));
    let own_names = own.iter().fold(command, |command, id| command.mut_arg(id, |arg| arg.conflicts_with(INPUT)));
    let after = format!("{}{}", channels(&line, own.is_empty()), examples(call, graph.examples()));
    own_names
        .arg(input)
        .arg(thread)
        .args(StopArgs::of_run())
        .arg(max_supersteps())
        .arg(Arg::new(INTERACTIVE).long("interactive").action(ArgAction::SetTrue).help(ASKS))
        .arg(Arg::new(QUEUE).long("queue").action(ArgAction::SetTrue).help(QUEUES).conflicts_with(INTERACTIVE))
        .arg(Arg::new(WAIT).long("wait").action(ArgAction::SetTrue).help(WAITS).requires(QUEUE))
        .after_help(after)
}

fn max_supersteps() -> Arg {
    let number = clap::value_parser!(u64).range(1..);
    Arg::new(MAX_SUPERSTEPS).long("max-supersteps").value_name("N").value_parser(number).help(MAX_HELP)
}

/// Returns the help of `--input`; a graph with arguments of its own is rarely started with it.
fn channels(line: &GraphLine, are_needed: bool) -> String {
    if !are_needed {
        return "`graphs` lists the channels of `--input`.\n\n".into();
    }
    let channels = line.channels.iter().map(|channel| format!("  {}: {}\n", channel.name, channel.type_name));
    format!("Channels:\n{}\n", channels.collect::<String>())
}

fn examples(call: &str, given: &[String]) -> String {
    let line = |arguments: &str| format!("\n  {{bin}} {call} {arguments}");
    match given {
        [] => format!("Example:{}", line("--thread first")),
        [one] => format!("Example:{}", line(one)),
        several => format!("Examples:{}", several.iter().map(|one| line(one)).collect::<String>()),
    }
}

/// The arguments of `run`.
pub(crate) struct RunArgs<'a> {
    pub graph: &'a str,
    pub input: Option<&'a str>,
    pub thread: Option<&'a str>,
    pub mode: RunModeArgs,
    pub stops: StopArgs,
    pub max_supersteps: Option<u64>,
    /// The source of the graph's own arguments.
    pub own: &'a ArgMatches,
}

impl<'a> RunArgs<'a> {
    pub(super) fn of(run: &'a ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (graph, own) = run.subcommand().ok_or_else(missing)?;
        Ok(Self::from_matches(graph, own))
    }

    /// Reads the arguments of a graph's command.
    pub(super) fn from_matches(graph: &'a str, own: &'a ArgMatches) -> Self {
        let text = |id: &str| own.get_one::<String>(id).map(String::as_str);
        let mode = RunModeArgs {
            interactive: own.get_flag(INTERACTIVE),
            queue: own.get_flag(QUEUE),
            wait: own.get_flag(WAIT),
        };
        let (stops, max_supersteps) = (StopArgs::from_matches(own), own.get_one(MAX_SUPERSTEPS).copied());
        Self { graph, input: text(INPUT), thread: text(THREAD), mode, stops, max_supersteps, own }
    }
}

/// The way in which a command runs a thread.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct RunModeArgs {
    #[arg(long, help = ASKS)]
    pub interactive: bool,

    #[arg(long, help = QUEUES, conflicts_with = "interactive")]
    pub queue: bool,

    #[arg(long, help = WAITS, requires = "queue")]
    pub wait: bool,
}

/// A command that takes nothing but a thread.
#[derive(Args, Clone, Debug)]
pub(crate) struct ThreadArg {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,
}

/// Resume a thread that was cancelled, killed, failed or stopped
///
/// Resumes a thread that was cancelled or killed, failed, stopped at a breakpoint, or waited for a time that has come. Tasks
/// whose results are stored do not run again.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  {bin} proceed first\n  {bin} proceed first --no-stops")]
pub(crate) struct ProceedArgs {
    #[command(flatten)]
    pub on: ThreadArg,

    #[command(flatten)]
    pub stops: StopArgs,

    #[command(flatten)]
    pub mode: RunModeArgs,
}

/// Restart the unfinished superstep of a thread
///
/// Discards the results of the unfinished superstep, including answers, and runs all its tasks again. To run only the failed
/// tasks again, use `proceed`. For a thread that has finished, see `replay --mode live`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  {bin} retry first")]
pub(crate) struct Retry {
    #[command(flatten)]
    pub on: ThreadArg,

    #[command(flatten)]
    pub mode: RunModeArgs,
}

/// Cancel the run of a thread in another process
///
/// Cancels the run of a thread, in whichever process of the store it is, and waits until it has stopped: then the exit code is 0,
/// and that of the run is 13. If nobody runs the thread, it is 1. The results of finished tasks are kept; interrupted tasks run
/// again after `proceed`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  {bin} cancel first")]
pub(crate) struct CancelArgs {
    #[command(flatten)]
    pub on: ThreadArg,
}
