//! The graphs of a program, by name, each with what the program says of it.

use std::error::Error;
use std::sync::Arc;

use clap::{ArgMatches, Command};
use serde_json::Value;
use superstep::checkpoint::{Checkpointer, ThreadId};
use superstep::graph::{AnyGraph, AnyThread, Graphs, NodeId, RunError, State};

use super::custom_output::{CustomOutput, Instead};
use super::entry::{CompileProblems, Entry, Registration};
use super::failure::{Failure, Refusal};
use super::settings::GraphSettings;
#[cfg(feature = "server")]
use super::settings::Labels;
use super::shapes::{ChannelLine, GraphLine};
use super::threads::{AnyInput, AppThread, Format};

/// A graph with what the program says of it.
pub(crate) struct AppGraph {
    pub graph: AnyGraph,
    registration: Registration,
    settings: Arc<GraphSettings>,
}

/// The result of reading a graph's own arguments.
pub(crate) enum ParsedInput {
    Input(AnyInput),
    /// Prints this instead of running.
    Instead(CustomOutput),
}

impl AppGraph {
    pub(crate) fn new<S: State, N: NodeId, C: Send + Sync + 'static>(
        name: &str,
        entry: Entry<S, N, C>,
        context: Arc<C>,
    ) -> Result<Self, CompileProblems> {
        let graph = AnyGraph::with(entry.graph?.named(name), context);
        Ok(Self::of(graph, entry.registration))
    }

    pub(crate) fn of(graph: AnyGraph, mut registration: Registration) -> Self {
        let settings = Arc::new(std::mem::take(&mut registration.settings));
        let graph = std::mem::take(&mut registration.forms).into_iter().fold(graph, AnyGraph::with_form);
        let graph = registration.about.iter().fold(graph, |graph, about| graph.with_about(about.as_str()));
        let graph = if registration.answered_by_people { graph.answered_by_people() } else { graph };
        let graph = registration.context.into_iter().fold(graph, AnyGraph::with_context_reader);
        Self { graph, registration, settings }
    }

    pub(crate) fn name(&self) -> &str {
        self.graph.name()
    }

    /// Returns the settings of the graph's threads.
    #[cfg(feature = "server")]
    pub(crate) fn settings(&self) -> &GraphSettings {
        &self.settings
    }

    /// Returns the labels of its tasks.
    #[cfg(feature = "server")]
    pub(crate) fn labels(&self) -> Labels {
        self.settings.presentation.labels.clone()
    }

    pub(crate) fn line(&self) -> GraphLine {
        let channel = |name: &str, type_name: &str| ChannelLine { name: name.into(), type_name: type_name.into() };
        GraphLine {
            graph: self.name().to_owned(),
            about: self.registration.about.clone(),
            nodes: self.graph.nodes().map(str::to_owned).collect(),
            channels: self.graph.channels().iter().map(|of| channel(of.name(), of.type_name())).collect(),
            questions: self.graph.questions().into_iter().map(|(name, _)| name.to_owned()).collect(),
            signals: self.graph.signals().map(str::to_owned).collect(),
            fingerprint: format!("{:016x}", self.graph.fingerprint()),
        }
    }

    pub(crate) fn draw(&self, format: Format, depth: usize) -> String {
        match format {
            Format::Mermaid => self.graph.mermaid(depth),
            Format::Dot => self.graph.dot(depth),
            Format::Ascii => self.graph.ascii(depth),
        }
    }

    /// Adds the graph's own arguments to the command that runs it; returns their ids.
    pub(crate) fn graph_args(&self, command: Command) -> (Command, Vec<String>) {
        let Some(own) = &self.registration.own else { return (command, vec![]) };
        let before: Vec<String> = command.get_arguments().map(|arg| arg.get_id().to_string()).collect();
        let about = command.get_about().cloned().unwrap_or_default();
        // The doc comment of the type is no help text.
        let command = (own.augment)(command).about(about).long_about(None);
        let ids = command.get_arguments().map(|arg| arg.get_id().to_string());
        let ids = ids.filter(|id| !before.contains(id)).collect();
        (command, ids)
    }

    /// Returns examples of arguments of `run`, for its help.
    pub(crate) fn examples(&self) -> &[String] {
        &self.registration.examples
    }

    /// Returns true if a finished thread takes no further input.
    pub(crate) fn takes_one_input(&self) -> bool {
        self.registration.one_input
    }

    /// Returns true if clients of a server give the graph's own arguments.
    #[cfg(feature = "server")]
    pub(crate) fn takes_client_args(&self) -> bool {
        self.registration.args_from_clients && self.registration.own.is_some()
    }

    /// Converts JSON to input.
    pub(crate) fn input(&self, json: &Value) -> Result<AnyInput, Failure> {
        Ok(self.graph.input(json)?)
    }

    /// Converts the graph's own arguments to input.
    pub(crate) fn parse_args(&self, matches: &ArgMatches, thread: Option<&str>) -> Result<ParsedInput, Failure> {
        let Some(own) = &self.registration.own else {
            return self.input(&Value::Object(serde_json::Map::new())).map(ParsedInput::Input);
        };
        (own.read)(matches, thread).map(ParsedInput::Input).or_else(|error| self.input_error(error))
    }

    /// Converts the error of a graph's own arguments: output, refusal, or wrong usage.
    fn input_error(&self, error: Box<dyn Error + Send + Sync>) -> Result<ParsedInput, Failure> {
        let error = match error.downcast::<Instead>() {
            Ok(instead) => return Ok(ParsedInput::Instead(instead.0)),
            Err(error) => error,
        };
        Err(match error.downcast::<Refusal>() {
            Ok(refusal) => refusal.into(),
            Err(error) => Failure::usage(format!("invalid input for `{}`", self.name())).because(&*error),
        })
    }

    pub(crate) fn thread(&self, store: Arc<dyn Checkpointer>, id: ThreadId) -> AppThread {
        let graph = self.graph.clone().with_shared_checkpointer(Arc::clone(&store));
        self.thread_of(graph.thread(id.clone()), store, id)
    }

    /// Returns a thread of the graph whose handle is made already.
    pub(crate) fn thread_of(&self, thread: AnyThread, store: Arc<dyn Checkpointer>, id: ThreadId) -> AppThread {
        AppThread { graph: self.graph.clone(), thread, id, store, settings: Arc::clone(&self.settings) }
    }
}

/// The graphs of a program, by name.
#[derive(Default)]
pub(crate) struct AppGraphs(pub Vec<AppGraph>);

impl AppGraphs {
    /// Returns the graphs as a host takes them, over a store.
    pub(crate) fn with_store(&self, store: &Arc<dyn Checkpointer>) -> Graphs {
        let graphs: Graphs = self.0.iter().map(|graph| graph.graph.clone()).collect();
        graphs.with_shared_checkpointer(Arc::clone(store))
    }

    /// Returns the graphs of these names as a host takes them, or all if none is named.
    pub(crate) fn named_over(&self, names: &[String], store: &Arc<dyn Checkpointer>) -> Result<Graphs, Failure> {
        if names.is_empty() {
            return Ok(self.with_store(store));
        }
        let found = names.iter().map(|name| Ok(self.get(name)?.graph.clone()));
        let graphs: Graphs = found.collect::<Result<Vec<_>, Failure>>()?.into_iter().collect();
        Ok(graphs.with_shared_checkpointer(Arc::clone(store)))
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.0.iter().map(AppGraph::name).collect()
    }

    pub(crate) fn find(&self, name: &str) -> Option<&AppGraph> {
        self.0.iter().find(|graph| graph.name() == name)
    }

    /// Returns a graph by name, or an error with near names.
    pub(crate) fn get(&self, name: &str) -> Result<&AppGraph, Failure> {
        self.find(name).ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &str) -> Failure {
        let error = RunError::unknown_graph(name, None, self.names());
        let help = error.help().filter(|_| !self.0.is_empty()).unwrap_or_else(|| "this program has no graphs".into());
        Failure::usage(error.to_string()).help(help)
    }

    /// Returns the graph of a stored thread.
    pub(crate) fn of_thread(&self, thread: &str, graph: &str) -> Result<&AppGraph, Failure> {
        let foreign = || {
            let help = format!("use the program that has it; this one has {}", self.names().join(", "));
            Failure::new(format!("thread `{thread}` belongs to the graph `{graph}`, which this program does not have"))
                .help(help)
        };
        self.find(graph).ok_or_else(foreign)
    }
}
