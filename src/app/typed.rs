//! A typed graph behind [`AnyGraph`].

use std::error::Error;
use std::sync::Arc;

use clap::{ArgMatches, Command};
use serde_json::Value;

use super::custom_output::Instead;
use super::entry::{Entry, GraphArgs, Uncompiled};
use super::erased::{AnyGraph, AnyThread, ErasedWrites, Format, ParsedInput};
use super::failure::{Failure, Refusal};
use super::settings::GraphSettings;
use super::shapes::{ChannelLine, GraphLine};
use super::thread::TypedThread;
use crate::checkpoint::{Checkpointer, ThreadId};
use crate::graph::{CompiledGraph, NodeId, State, Writes};

pub(crate) struct Typed<S: State, N, C> {
    graph: CompiledGraph<S, N, C>,
    context: Arc<C>,
    own: Option<GraphArgs<S>>,
    about: Option<String>,
    examples: Vec<String>,
    one_input: bool,
    settings: Arc<GraphSettings<S>>,
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Typed<S, N, C> {
    pub(crate) fn new(name: &str, entry: Entry<S, N, C>, context: Arc<C>) -> Result<Self, Uncompiled> {
        let Entry {
            graph,
            own,
            outcome,
            deciders,
            asking,
            summary,
            what_if,
            forks,
            questions,
            presentation,
            about,
            examples,
            one_input,
        } = entry;
        let settings =
            Arc::new(GraphSettings { outcome, deciders, asking, summary, what_if, forks, questions, presentation });
        Ok(Self { graph: graph?.named(name), context, own, about, examples, one_input, settings })
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Typed<S, N, C> {
    /// Converts the error of a graph's own arguments: output, refusal, or wrong usage.
    fn input_error(&self, error: Box<dyn Error + Send + Sync>) -> Result<ParsedInput, Failure> {
        let error = match error.downcast::<Instead>() {
            Ok(instead) => return Ok(ParsedInput::Instead(instead.0)),
            Err(error) => error,
        };
        Err(match error.downcast::<Refusal>() {
            Ok(refusal) => refusal.into(),
            Err(error) => Failure::usage(format!("there is no input for `{}`", self.graph.name())).because(&*error),
        })
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> AnyGraph for Typed<S, N, C> {
    fn name(&self) -> &str {
        self.graph.name()
    }

    fn line(&self) -> GraphLine {
        let channels = S::channels(self.graph.schema()).iter();
        let channel = |name: &str, type_name: &str| ChannelLine { name: name.into(), type_name: type_name.into() };
        GraphLine {
            graph: self.graph.name().to_owned(),
            about: self.about.clone(),
            nodes: self.graph.nodes().map(str::to_owned).collect(),
            channels: channels.map(|of| channel(of.name(), of.type_name())).collect(),
            questions: self.graph.questions().into_iter().map(|(name, _)| name.to_owned()).collect(),
            signals: self.graph.signals().map(str::to_owned).collect(),
            fingerprint: format!("{:016x}", self.graph.fingerprint()),
        }
    }

    fn has_breakpoints(&self) -> bool {
        self.graph.has_breakpoints()
    }

    fn fingerprint(&self) -> u64 {
        self.graph.fingerprint()
    }

    fn draw(&self, format: Format, depth: usize) -> String {
        match format {
            Format::Mermaid => self.graph.mermaid(depth),
            Format::Dot => self.graph.dot(depth),
            Format::Ascii => self.graph.ascii(depth),
        }
    }

    fn graph_args(&self, command: Command) -> (Command, Vec<String>) {
        let Some(own) = &self.own else { return (command, vec![]) };
        let before: Vec<String> = command.get_arguments().map(|arg| arg.get_id().to_string()).collect();
        let about = command.get_about().cloned().unwrap_or_default();
        // The doc comment of the type is no help text.
        let command = (own.augment)(command).about(about).long_about(None);
        let ids = command.get_arguments().map(|arg| arg.get_id().to_string());
        let ids = ids.filter(|id| !before.contains(id)).collect();
        (command, ids)
    }

    fn examples(&self) -> &[String] {
        &self.examples
    }

    fn input(&self, json: &Value) -> Result<ErasedWrites, Failure> {
        Ok(ErasedWrites(Box::new(Writes::<S>::from_json(self.graph.schema(), json)?)))
    }

    fn read(&self, matches: &ArgMatches, thread: Option<&str>) -> Result<ParsedInput, Failure> {
        let Some(own) = &self.own else {
            return self.input(&Value::Object(serde_json::Map::new())).map(ParsedInput::Input);
        };
        match (own.read)(matches, thread) {
            Ok(writes) => Ok(ParsedInput::Input(ErasedWrites(Box::new(writes)))),
            Err(error) => self.input_error(error),
        }
    }

    fn takes_one_input(&self) -> bool {
        self.one_input
    }

    fn thread(&self, store: Arc<dyn Checkpointer>, id: ThreadId) -> Arc<dyn AnyThread> {
        let graph = self.graph.clone().with_shared_checkpointer(Arc::clone(&store));
        let thread = graph.thread_with(id.clone(), Arc::clone(&self.context));
        Arc::new(TypedThread { graph, thread, id, store, settings: Arc::clone(&self.settings) })
    }
}
