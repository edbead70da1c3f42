//! A registered graph with its types, behind the untyped face of `erased`.

use std::error::Error;
use std::sync::Arc;

use clap::{ArgMatches, Command};
use serde_json::Value;

use super::entry::{Entry, OwnArgs};
use super::erased::{AnyGraph, AnyThread, Format, Read, Writing};
use super::failure::{Failure, Refusal};
use super::reading::Reading;
use super::said::Instead;
use super::shapes::{ChannelLine, GraphLine};
use super::thread::TypedThread;
use crate::checkpoint::{Checkpointer, ThreadId};
use crate::graph::{CompileError, CompiledGraph, NodeId, State, Writes};

pub(crate) struct Typed<S: State, N, C> {
    graph: CompiledGraph<S, N, C>,
    context: Arc<C>,
    own: Option<OwnArgs<S>>,
    about: Option<String>,
    examples: Vec<String>,
    reading: Arc<Reading<S>>,
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Typed<S, N, C> {
    pub(crate) fn new(name: &str, entry: Entry<S, N, C>, context: Arc<C>) -> Result<Self, CompileError> {
        let Entry { graph, own, outcome, deciders, asking, summary, what_if, questions, shows, about, examples } =
            entry;
        let reading = Arc::new(Reading { outcome, deciders, asking, summary, what_if, questions, shows });
        Ok(Self { graph: graph?.named(name), context, own, about, examples, reading })
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Typed<S, N, C> {
    /// Tells apart why a graph's own arguments came to no input.
    fn unread(&self, error: Box<dyn Error + Send + Sync>) -> Result<Read, Failure> {
        let error = match error.downcast::<Instead>() {
            Ok(instead) => return Ok(Read::Instead(instead.0)),
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

    fn own_args(&self, command: Command) -> (Command, Vec<String>) {
        let Some(own) = &self.own else { return (command, vec![]) };
        let before: Vec<String> = command.get_arguments().map(|arg| arg.get_id().to_string()).collect();
        let about = command.get_about().cloned().unwrap_or_default();
        // The description of the type is no help for whoever calls.
        let command = (own.augment)(command).about(about).long_about(None);
        let ids = command.get_arguments().map(|arg| arg.get_id().to_string());
        let ids = ids.filter(|id| !before.contains(id)).collect();
        (command, ids)
    }

    fn examples(&self) -> &[String] {
        &self.examples
    }

    fn input(&self, json: &Value) -> Result<Writing, Failure> {
        Ok(Writing(Box::new(Writes::<S>::from_json(self.graph.schema(), json)?)))
    }

    fn read(&self, matches: &ArgMatches) -> Result<Read, Failure> {
        let Some(own) = &self.own else { return self.input(&Value::Object(serde_json::Map::new())).map(Read::Input) };
        match (own.read)(matches) {
            Ok(writes) => Ok(Read::Input(Writing(Box::new(writes)))),
            Err(error) => self.unread(error),
        }
    }

    fn thread(&self, store: Arc<dyn Checkpointer>, id: ThreadId) -> Arc<dyn AnyThread> {
        let graph = self.graph.clone().with_shared_checkpointer(Arc::clone(&store));
        let thread = graph.thread_with(id.clone(), Arc::clone(&self.context));
        Arc::new(TypedThread { graph, thread, id, store, reading: Arc::clone(&self.reading) })
    }
}
