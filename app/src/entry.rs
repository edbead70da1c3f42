//! Registration of a graph: input arguments, exit codes, texts and answers of its questions. The last place that knows its
//! types.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{ArgMatches, Args, Command};
use serde::de::DeserializeOwned;
use superstep::checkpoint::BoxFuture;
use superstep::graph::document::GraphSpecError;
use superstep::graph::view::TaskSnapshot;
use superstep::graph::{
    AnyState, CompileError, CompiledGraph, ContextReader, DataState, HumanQuestion, Name, NodeId, QuestionForm, State,
    Writes,
};

use super::custom_output::CustomOutput;
use super::failure::{Exit, Refusal};
use super::settings::{ForkPoint, ForkWrites, GraphSettings, of_fork, of_state};
use super::threads::AnyInput;

type InputReader =
    Arc<dyn Fn(&ArgMatches, Option<&str>) -> Result<AnyInput, Box<dyn Error + Send + Sync>> + Send + Sync>;

/// Command-line arguments of a graph.
pub(crate) struct GraphArgs {
    pub augment: fn(Command) -> Command,
    pub read: InputReader,
}

/// The problems of a graph that does not compile, each with its help.
#[derive(Debug)]
pub(crate) struct CompileProblems(pub Vec<String>);

/// Reads what a policy would change from the last state and the values.
type PolicyWhatIf<S> = fn(&S, &[(String, String)]) -> Result<CustomOutput, Refusal>;

/// A graph with its command-line settings. Made from a [`CompiledGraph`] by the methods of [`Register`].
#[must_use = "give it to `App::graph`"]
pub struct Entry<S: State, N, C = ()> {
    pub(crate) graph: Result<CompiledGraph<S, N, C>, CompileProblems>,
    pub(crate) registration: Registration,
}

/// A graph's settings for the command line.
#[derive(Default)]
pub(crate) struct Registration {
    pub own: Option<GraphArgs>,
    pub about: Option<String>,
    pub examples: Vec<String>,
    pub one_input: bool,
    /// Set if clients of a server give the arguments of `run GRAPH`.
    #[cfg_attr(not(feature = "server"), allow(dead_code, reason = "the program has no server"))]
    pub args_from_clients: bool,
    pub forms: Vec<QuestionForm>,
    pub context: Option<ContextReader>,
    pub answered_by_people: bool,
    pub settings: GraphSettings,
}

impl<S: State, N, C> std::fmt::Debug for Entry<S, N, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry").field("graph", &self.graph).finish_non_exhaustive()
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Entry<S, N, C> {
    /// Describes the graph in a sentence.
    pub fn about(mut self, text: impl Into<String>) -> Self {
        self.registration.about = Some(text.into());
        self
    }

    /// Adds an example to the help of `run GRAPH`: the arguments, without program and graph. Default: `--thread first`.
    pub fn example(mut self, arguments: impl Into<String>) -> Self {
        self.registration.examples.push(arguments.into());
        self
    }

    /// Keeps the questions of the graph from clients that start its runs by themselves, such as coding agents over MCP: only people
    /// answer. Default: only questions whose terms name approvers are kept from them.
    pub fn answered_by_people(mut self) -> Self {
        self.registration.answered_by_people = true;
        self
    }

    /// Lets clients of a server give the context of a run as JSON. Other runs have the context of [`App::graph`](crate::App::graph).
    pub fn context_from_json(mut self) -> Self
    where
        C: DeserializeOwned,
    {
        self.registration.context = Some(ContextReader::of::<C>());
        self
    }

    /// Refuses another input for a finished thread: its state is one piece of work, from beginning to end. Default: the
    /// input continues the thread from its state.
    pub fn takes_one_input(mut self) -> Self {
        self.registration.one_input = true;
        self
    }

    /// Adds arguments to `run GRAPH` beside `--input` and builds the input from them. An error is wrong usage, exit
    /// code 2, unless it is a [`Refusal`](super::Refusal) with another code; an [`Instead`](super::Instead) is printed
    /// in place of a run.
    ///
    /// ```
    /// # use superstep_app::{App, Register};
    /// # use superstep::prelude::*;
    /// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Draft { topic: String }
    /// # #[derive(NodeId)] enum Step { Write }
    /// # async fn write(_: std::sync::Arc<Draft>, _: Ctx) -> Result<(), NodeError> { Ok(()) }
    /// # fn graph() -> Result<CompiledGraph<Draft, Step>, CompileError> {
    /// #     StateGraph::new().add_node(Step::Write, write).add_sequence([Step::Write]).compile()
    /// # }
    /// #[derive(clap::Args)]
    /// struct About {
    ///     /// What the essay is about.
    ///     topic: String,
    /// }
    /// fn input(args: About) -> Result<DraftUpdate, std::convert::Infallible> {
    ///     Ok(Draft::update().topic(args.topic))
    /// }
    /// # fn example() -> App {
    /// App::new().graph("essay", graph().args(input))
    /// # }
    /// ```
    pub fn args<A, W, E>(self, input: fn(A) -> Result<W, E>) -> Self
    where
        A: Args + 'static,
        W: Into<Writes<S>> + 'static,
        E: Into<Box<dyn Error + Send + Sync>> + 'static,
    {
        self.with_args(move |args, _| input(args))
    }

    /// As [`args`](Self::args), for an input that depends on the name of the thread, if `--thread` gives one.
    pub fn args_of_thread<A, W, E>(self, input: fn(A, Option<&str>) -> Result<W, E>) -> Self
    where
        A: Args + 'static,
        W: Into<Writes<S>> + 'static,
        E: Into<Box<dyn Error + Send + Sync>> + 'static,
    {
        self.with_args(input)
    }

    fn with_args<A, W, E>(mut self, input: impl Fn(A, Option<&str>) -> Result<W, E> + Send + Sync + 'static) -> Self
    where
        A: Args + 'static,
        W: Into<Writes<S>> + 'static,
        E: Into<Box<dyn Error + Send + Sync>> + 'static,
    {
        let read = move |matches: &ArgMatches, thread: Option<&str>| {
            let args = A::from_arg_matches(matches)?;
            input(args, thread).map(|input| input.into().erase()).map_err(Into::into)
        };
        self.registration.own = Some(GraphArgs { augment: A::augment_args, read: Arc::new(read) });
        self
    }

    /// Lets clients of a server give the [arguments](Self::args) of `run GRAPH` as fields of the input, named as the options with `_`
    /// for `-`. An input that names a channel which is no argument is one of channels. Default: inputs are of channels.
    pub fn args_from_clients(mut self) -> Self {
        self.registration.args_from_clients = true;
        self
    }

    /// Maps the state of a finished run to an exit code, for example for rejected work. Default: [`Exit::Finished`].
    pub fn outcome(mut self, means: fn(&S) -> Exit) -> Self {
        self.registration.settings.outcome = Some(of_state(means));
        self
    }

    /// Formats a state as lines for people. Default: each channel. Control characters are escaped.
    pub fn summary(mut self, summary: fn(&S) -> String) -> Self {
        self.registration.settings.summary = Some(of_state(summary));
        self
    }

    /// Supports `replay --mode what-if --override-policy KEY=VALUE`: `what_if` gets the last state and
    /// the values.
    pub fn what_if(mut self, what_if: PolicyWhatIf<S>) -> Self {
        let of_any = move |state: &AnyState, values: &[(String, String)]| Some(what_if(state.downcast_ref()?, values));
        self.registration.settings.what_if = Some(Arc::new(of_any));
        self
    }

    /// Sets what a fork writes that the command line makes, with `fork`, `update --at` or a live replay: for example a place
    /// of its own for what it does outside of the store.
    pub fn forks(mut self, writes: fn(ForkPoint<S>) -> BoxFuture<'static, Result<ForkWrites, Refusal>>) -> Self {
        self.registration.settings.forks = Some(of_fork(writes));
        self
    }

    /// Merges stored progress of subgraphs into the state that `status` shows: `progress` gets the state, which has the
    /// results of finished tasks already, and the tasks of the current superstep, each with the state of its subgraph.
    pub fn progress(mut self, progress: fn(&mut S, &[TaskSnapshot])) -> Self {
        self.registration.settings.presentation.merge_with(progress);
        self
    }

    /// Adds lines above the running tasks of a live view, computed from the state every second.
    pub fn board(mut self, lines: fn(&S) -> Vec<String>) -> Self {
        self.registration.settings.presentation.board = Some(of_state(lines));
        self
    }

    /// Names the git repository that a thread works in: what is kept for the thread there is removed with it.
    pub fn repository(mut self, of: fn(&S) -> PathBuf) -> Self {
        self.registration.settings.presentation.repository = Some(of_state(of));
        self
    }

    /// Names a commit of a thread's work, by which its repository is recognized after it was moved; none: the work has not
    /// begun.
    pub fn commit(mut self, of: fn(&S) -> Option<String>) -> Self {
        self.registration.settings.presentation.commit = Some(of_state(of));
        self
    }

    /// Names the repository that a thread was started with, by which it is recognized before its work has begun.
    #[cfg(feature = "agents")]
    pub fn origin(mut self, of: fn(&S) -> Option<superstep::workspace::RepositoryOrigin>) -> Self {
        self.registration.settings.presentation.origin = Some(of_state(of));
        self
    }

    /// Labels each task that is started with a `T`, and the tasks of its subgraphs: `task 2a`.
    pub fn labels<T: 'static>(mut self, label: fn(&T) -> String) -> Self {
        self.registration.settings.presentation.labels.add(label);
        self
    }

    /// Hides the ends of these nodes, and of nodes of these names in subgraphs, from a live view, unless they fail or ask:
    /// steps that say nothing to a person. With `--log` they are shown.
    pub fn hides(mut self, nodes: &[&'static str]) -> Self {
        self.registration.settings.presentation.labels.hide(nodes);
        self
    }

    /// Returns the cost so far from a state, in millionths of a dollar: a live view adds what agents use from then on.
    pub fn cost(mut self, cost: fn(&S) -> u64) -> Self {
        self.registration.settings.presentation.cost = Some(of_state(cost));
        self
    }

    /// Prints no warning about nodes that block their thread: for nodes that are known not to, and only seem to on a busy
    /// machine.
    pub fn never_blocks(mut self) -> Self {
        self.registration.settings.presentation.never_blocks = true;
        self
    }

    /// Declares how people see and answer a question: its text, what `approve`, `reject`, `revise` and `edit` answer, the check
    /// of an answer, and the exit code of a run that stops at it. Without it a question is shown field by field and answered
    /// with JSON; one that takes a `bool` is approved or rejected.
    pub fn question<Q: HumanQuestion<S>>(mut self) -> Self {
        self.registration.forms.push(QuestionForm::of::<S, Q>());
        self
    }
}

/// The argument of [`App::graph`](super::App::graph): a graph, compiled or with the problems that kept it from
/// compiling, bare or with its settings for the command line.
pub trait Register: Sized {
    /// The graph's state.
    type State: State;
    /// The graph's node ids.
    type Node: NodeId;
    /// The context of its runs.
    type Context: Send + Sync + 'static;

    /// Returns the graph's entry.
    fn entry(self) -> Entry<Self::State, Self::Node, Self::Context>;

    /// As [`Entry::about`].
    fn about(self, text: impl Into<String>) -> Entry<Self::State, Self::Node, Self::Context> {
        self.entry().about(text)
    }

    /// As [`Entry::args`].
    fn args<A, W, E>(self, input: fn(A) -> Result<W, E>) -> Entry<Self::State, Self::Node, Self::Context>
    where
        A: Args + 'static,
        W: Into<Writes<Self::State>> + 'static,
        E: Into<Box<dyn Error + Send + Sync>> + 'static,
    {
        self.entry().args(input)
    }

    /// As [`Entry::outcome`].
    fn outcome(self, means: fn(&Self::State) -> Exit) -> Entry<Self::State, Self::Node, Self::Context> {
        self.entry().outcome(means)
    }

    /// As [`Entry::answered_by_people`].
    fn answered_by_people(self) -> Entry<Self::State, Self::Node, Self::Context> {
        self.entry().answered_by_people()
    }

    /// As [`Entry::question`].
    fn question<Q: HumanQuestion<Self::State>>(self) -> Entry<Self::State, Self::Node, Self::Context> {
        self.entry().question::<Q>()
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Register for Entry<S, N, C> {
    type State = S;
    type Node = N;
    type Context = C;

    fn entry(self) -> Self {
        self
    }
}

fn plain<S: State, N, C>(graph: Result<CompiledGraph<S, N, C>, CompileProblems>) -> Entry<S, N, C> {
    Entry { graph, registration: Registration::default() }
}

fn with_help(problem: impl std::fmt::Display, help: &str) -> String {
    format!("{problem} (help: {help})")
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Register for Result<CompiledGraph<S, N, C>, CompileError> {
    type State = S;
    type Node = N;
    type Context = C;

    fn entry(self) -> Entry<S, N, C> {
        let problems = |error: CompileError| error.problems().iter().map(|it| with_help(it, &it.help())).collect();
        plain(self.map_err(|error| CompileProblems(problems(error))))
    }
}

/// A graph that is a document: [`GraphSpec::compile`](superstep::graph::GraphSpec::compile).
impl<C: Send + Sync + 'static> Register for Result<CompiledGraph<DataState, Name, C>, GraphSpecError> {
    type State = DataState;
    type Node = Name;
    type Context = C;

    fn entry(self) -> Entry<DataState, Name, C> {
        let problems = |error: GraphSpecError| error.problems().iter().map(|it| with_help(it, &it.help())).collect();
        plain(self.map_err(|error| CompileProblems(problems(error))))
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Register for CompiledGraph<S, N, C> {
    type State = S;
    type Node = N;
    type Context = C;

    fn entry(self) -> Entry<S, N, C> {
        plain(Ok(self))
    }
}
