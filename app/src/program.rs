//! [`App`]: the graphs of a program as a command line.

use std::any::Any;
use std::ffi::{OsStr, OsString};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::ArgMatches;
use clap::parser::ValueSource;
#[cfg(feature = "otel")]
use superstep_server::TraceExporter;
use tokio::runtime::Runtime;

use super::advice::Caller;
use super::args::{self, Globals, Invocation};
use super::commands::Session;
use super::control::Control;
use super::custom::{Additions, CustomCommand, Performer, first, with_args};
use super::custom_output::CustomOutput;
use super::entry::{CompileProblems, Entry, Register};
use super::failure::{Failure, Refusal};
use super::graphs::{AppGraph, AppGraphs};
use super::store::StoreLocation;
use super::stored::{StoredThread, ThreadSummary};
use super::terminal::{self, page, print, print_failure, print_json, show_help, take_write_error};
use super::watch::View;

/// The graphs of a program as a command line: run them, answer their questions from any process, inspect each step.
///
/// ```no_run
/// # use superstep_app::{App, Register};
/// # use superstep::prelude::*;
/// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Draft { topic: String }
/// # #[derive(NodeId)] enum Step { Write }
/// # async fn write(_: std::sync::Arc<Draft>, _: Ctx) -> Result<(), NodeError> { Ok(()) }
/// # fn essay() -> Result<CompiledGraph<Draft, Step>, CompileError> {
/// #     StateGraph::new().add_node(Step::Write, write).add_sequence([Step::Write]).compile()
/// # }
/// fn main() -> std::process::ExitCode {
///     App::new().graph("essay", essay().about("Writes an essay.")).main()
/// }
/// ```
#[derive(Default)]
#[must_use = "a command line does nothing until `main` is called"]
pub struct App {
    graphs: AppGraphs,
    about: Option<String>,
    version: Option<String>,
    added: Additions,
    errors: Vec<Failure>,
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("graphs", &self.graphs.names()).finish_non_exhaustive()
    }
}

impl App {
    /// Returns a command line without graphs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Describes the program in a sentence.
    pub fn about(mut self, text: impl Into<String>) -> Self {
        self.about = Some(text.into());
        self
    }

    /// Sets the version that `--version` prints: `env!("CARGO_PKG_VERSION")`.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Adds a graph under a name, which `run` takes and threads store. Each process creates the default context.
    pub fn graph<G>(self, name: impl Into<String>, graph: G) -> Self
    where
        G: Register<Context: Default>,
    {
        self.graph_with(name, graph, G::Context::default())
    }

    /// Adds a graph with a context: clients, settings.
    pub fn graph_with<G: Register>(
        mut self,
        name: impl Into<String>,
        graph: G,
        context: impl Into<Arc<G::Context>>,
    ) -> Self {
        let name = name.into();
        if self.graphs.find(&name).is_some() {
            self.errors.push(Failure::new(format!("two graphs are named `{name}`")).help("give each a different name"));
            return self;
        }
        let entry: Entry<G::State, G::Node, G::Context> = graph.entry();
        match AppGraph::new(&name, entry, context.into()) {
            Ok(graph) => self.graphs.0.push(graph),
            Err(CompileProblems(causes)) => {
                self.errors.push(Failure { causes, ..Failure::new(format!("graph `{name}` does not compile")) });
            }
        }
        self
    }

    /// Adds a command about a thread: `NAME THREAD`, with its own arguments. `perform` gets them with the thread's
    /// graph and state, also while another process runs it. A name of two words, `task show`, is a command of a group.
    ///
    /// Its result is printed, or resumes the thread: see [`CustomOutput::answer`] and [`CustomOutput::input`].
    ///
    /// ```
    /// # use superstep_app::{App, CustomOutput, Refusal, ThreadSummary};
    /// /// What `words` takes.
    /// #[derive(clap::Args)]
    /// struct Words {
    ///     /// Count each word once
    ///     #[arg(long)]
    ///     unique: bool,
    /// }
    /// async fn words(args: Words, found: ThreadSummary) -> Result<CustomOutput, Refusal> {
    ///     let text = found.state["text"].as_str().ok_or_else(|| Refusal::new("this thread has no text"))?;
    ///     let mut words: Vec<&str> = text.split_whitespace().collect();
    ///     if args.unique {
    ///         words.sort();
    ///         words.dedup();
    ///     }
    ///     CustomOutput::new(format!("{} words\n", words.len()), &words.len())
    /// }
    /// # fn example() -> App {
    /// App::new().command("words", "Count the words of a thread", words)
    /// # }
    /// ```
    pub fn command<A, F, Fut>(mut self, name: &'static str, about: &'static str, perform: F) -> Self
    where
        A: clap::Args + 'static,
        F: Fn(A, ThreadSummary) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<CustomOutput, Refusal>> + Send + 'static,
    {
        self.add(CustomCommand::new::<A>(name, about, Performer::Found(with_args(perform))));
        self
    }

    /// Adds a command about no thread: `NAME`, or two words, with its own arguments.
    pub fn plain_command<A, F, Fut>(mut self, name: &'static str, about: &'static str, perform: F) -> Self
    where
        A: clap::Args + 'static,
        F: Fn(A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<CustomOutput, Refusal>> + Send + 'static,
    {
        let perform = move |args: A, ()| perform(args);
        self.add(CustomCommand::new::<A>(name, about, Performer::Alone(with_args(perform))));
        self
    }

    /// Adds a command about a thread, as [`command`](Self::command) does, that can read its history or copy it. It
    /// needs the store for itself.
    pub fn store_command<A, F, Fut>(mut self, name: &'static str, about: &'static str, perform: F) -> Self
    where
        A: clap::Args + 'static,
        F: Fn(A, StoredThread) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<CustomOutput, Refusal>> + Send + 'static,
    {
        self.add(CustomCommand::new::<A>(name, about, Performer::Stored(with_args(perform))));
        self
    }

    /// Adds a shorthand for `run GRAPH`. Commands of the group `name` can be added beside it.
    pub fn shorthand(mut self, name: impl Into<String>, graph: impl Into<String>) -> Self {
        let (name, graph) = (name.into(), graph.into());
        if self.graphs.find(&graph).is_none() {
            let help = "add the graph before the command that runs it";
            self.errors.push(Failure::new(format!("there is no graph `{graph}` for `{name}` to run")).help(help));
        } else if args::is_taken(&name)
            || self.added.find_command(&name).is_some()
            || self.added.shorthand(&name).is_some()
        {
            self.errors.push(name_taken(&name));
        } else {
            self.added.list(&name);
            self.added.shorthands.push((name, graph));
        }
        self
    }

    /// Lists the commands that are added after this under a heading of the help, as clap's `next_help_heading` does for
    /// options: one of its own, or one that every program has, such as `Look`.
    pub fn next_help_heading(mut self, heading: impl Into<String>) -> Self {
        self.added.heading = Some(heading.into());
        self
    }

    fn add(&mut self, own: CustomCommand) {
        match args::is_taken(first(own.path)) || self.added.collides(own.path) {
            true => self.errors.push(name_taken(own.path)),
            false => {
                self.added.list(own.path);
                self.added.commands.push(own);
            }
        }
    }

    /// Performs the command of the process's arguments and returns the exit code: 0 finished, 10 waiting for a person,
    /// 11 halted or stopped by a budget, 12 rejected, 13 cancelled, 14 waiting for a time, 2 wrong usage, 1 other errors.
    ///
    /// A panic is reported once, as an error; with `RUST_BACKTRACE` and without `--json`, its location too.
    #[must_use = "return it from `main`"]
    pub fn main(self) -> ExitCode {
        let args: Vec<OsString> = std::env::args_os().collect();
        let json = wants_json(&args);
        let traces = std::env::var_os("RUST_BACKTRACE").is_some_and(|set| set != "0");
        if json || !traces {
            std::panic::set_hook(Box::new(|_| {}));
        }
        let done = catch_unwind(AssertUnwindSafe(|| self.run_with(args)));
        done.unwrap_or_else(|panic| {
            print_failure(&panic_failure(&*panic), json);
            1
        })
        .into()
    }

    /// Runs with given arguments; the first is the program's name. Returns the exit code.
    pub fn run_with(self, args: impl IntoIterator<Item = impl Into<OsString>>) -> u8 {
        let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
        let json = wants_json(&args);
        let call = self.call(&with_help_option(args));
        let call = call.and_then(|code| take_write_error().map_or(Ok(code), Err));
        call.unwrap_or_else(|failure| {
            print_failure(&failure, json);
            failure.code
        })
    }

    fn call(self, args: &[OsString]) -> Result<u8, Failure> {
        if let Some(failure) = self.errors.into_iter().next() {
            return Err(failure);
        }
        let call = args.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let bin = Path::new(&call).file_stem().map_or("superstep".into(), |name| name.to_string_lossy().into_owned());
        let about = self.about.unwrap_or_else(|| "Runs graphs, answers their questions, inspects every step".into());
        let version = self.version.unwrap_or_else(|| "0.0.0".into());
        let command = args::command(&bin, &version, &about, &self.graphs.0, &self.added);
        let matches = match command.clone().try_get_matches_from(args) {
            Ok(matches) => matches,
            Err(error) => return parse_error(&error, &self.graphs, args),
        };
        let (globals, invocation) = args::invocation(&matches, &self.added).map_err(usage_error)?;
        let caller = Caller { bin: call, store: given_store(&matches, &globals) };
        let thread = thread_of(&matches).map(str::to_owned);
        let graphs = Arc::new(self.graphs);
        let view = View::for_options(globals.json, globals.log.is_some());
        if !globals.json && args.iter().any(|arg| has_password(arg)) {
            terminal::note(VISIBLE_PASSWORD);
        }
        let control = Control::default();
        let session = Session {
            graphs,
            caller: caller.clone(),
            store: globals.store.clone(),
            read_only: globals.read_only,
            dispatch: globals.dispatch.clone(),
            view,
            command,
            control,
        };
        perform(&session, invocation, &globals).map_err(|failure| failure.with_commands(&caller, thread.as_deref()))
    }
}

/// Returns whether a word of a command line is the address of a store with a password in it.
fn has_password(word: &OsStr) -> bool {
    let word = word.to_string_lossy();
    let address = word.strip_prefix("--store=").unwrap_or(&word);
    StoreLocation::from(OsString::from(address)).has_password()
}

const VISIBLE_PASSWORD: &str = "warning: while this command runs, `ps` shows the password in the address; give the address without \
                                it, and the password in PGPASSWORD or ~/.pgpass, or the whole address in SUPERSTEP_STORE\n";

fn name_taken(name: &str) -> Failure {
    Failure::new(format!("two commands are named `{name}`")).help("rename one of them")
}

/// Rewrites `help run` to `run --help`.
fn with_help_option(mut args: Vec<OsString>) -> Vec<OsString> {
    if args.get(1).is_some_and(|word| word == "help") {
        args.remove(1);
        args.push("--help".into());
    }
    args
}

fn wants_json(args: &[OsString]) -> bool {
    args.iter().any(|arg| arg == "--json")
}

/// Converts a panic outside of nodes, routers and reducers, which the engine did not catch.
fn panic_failure(panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    Failure::new(format!("the program panicked: {}", text.unwrap_or_default()))
        .help("set RUST_BACKTRACE=1 to see where, and leave out --json")
}

fn perform(session: &Session, invocation: Invocation<'_>, globals: &Globals) -> Result<u8, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new("cannot start the runtime").because(&error))?;
    let output = run_on(&runtime, session.perform(invocation), globals)?;
    match output.json {
        serde_json::Value::Null => {}
        json if globals.json => print_json(&json),
        _ => page(&output.text),
    }
    Ok(output.code)
}

/// Runs a command with its log.
#[cfg(not(feature = "otel"))]
fn run_on<T>(runtime: &Runtime, command: impl Future<Output = T>, globals: &Globals) -> T {
    globals.start_log();
    runtime.block_on(command)
}

/// Runs a command with its log and its traces, which are exported before the runtime that sends them ends.
#[cfg(feature = "otel")]
fn run_on<T>(
    runtime: &Runtime,
    command: impl Future<Output = Result<T, Failure>>,
    globals: &Globals,
) -> Result<T, Failure> {
    let started = {
        let _entered = runtime.enter();
        globals.start_telemetry()
    };
    let traces = started.map_err(|error| {
        let failure = Failure::usage(error.to_string());
        failure.help("correct the variables that begin with `OTEL_`, or set OTEL_SDK_DISABLED=true")
    })?;
    let output = runtime.block_on(command);
    if let Some(Err(error)) = traces.map(TraceExporter::shutdown) {
        tracing::warn!(%error, "the last spans were lost");
    }
    output
}

/// Handles a parse error; help and versions are no failures.
fn parse_error(error: &clap::Error, graphs: &AppGraphs, args: &[OsString]) -> Result<u8, Failure> {
    use clap::error::ErrorKind;
    if !error.use_stderr() {
        print(&error.render().to_string());
        return Ok(0);
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        show_help(&error.render().to_string());
        return Ok(2);
    }
    if error.kind() == ErrorKind::InvalidSubcommand
        && args.get(1).is_some_and(|word| word == "run")
        && let Some(clap::error::ContextValue::String(name)) = error.get(clap::error::ContextKind::InvalidSubcommand)
    {
        graphs.get(name)?;
    }
    Err(usage_error(error.render()))
}

/// Converts an error of clap: its first paragraph is the message, the rest is help.
fn usage_error(rendered: impl std::fmt::Display) -> Failure {
    let text = rendered.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim();
    let (error, help) = text.split_once("\n\n").unwrap_or((text, ""));
    let failure = Failure::usage(error);
    if help.is_empty() { failure } else { failure.help(help) }
}

fn given_store(matches: &ArgMatches, globals: &Globals) -> Option<std::path::PathBuf> {
    let given = leaf(matches).value_source("store") == Some(ValueSource::CommandLine);
    given.then(|| globals.store.argument())
}

/// Returns the matches of the innermost command.
fn leaf(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, inner)| leaf(inner))
}

fn thread_of(matches: &ArgMatches) -> Option<&str> {
    leaf(matches).try_get_one::<String>("thread").ok().flatten().map(String::as_str)
}
