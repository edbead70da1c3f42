//! The graphs of a program, by name.

use superstep_base::near::near;

use super::erased::AnyGraph;
use super::failure::Failure;

#[derive(Default)]
pub(crate) struct Graphs(pub Vec<Box<dyn AnyGraph>>);

impl Graphs {
    pub(crate) fn names(&self) -> Vec<&str> {
        self.0.iter().map(|graph| graph.name()).collect()
    }

    pub(crate) fn find(&self, name: &str) -> Option<&dyn AnyGraph> {
        self.0.iter().map(|graph| &**graph).find(|graph| graph.name() == name)
    }

    /// Returns a graph by name, or an error with near names.
    pub(crate) fn named(&self, name: &str) -> Result<&dyn AnyGraph, Failure> {
        self.find(name).ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &str) -> Failure {
        let names = self.names();
        let help = match near(name, names.iter().copied()).first() {
            Some(meant) => format!("did you mean `{meant}`? the graphs are {}", names.join(", ")),
            None if names.is_empty() => "this program has no graphs".into(),
            None => format!("the graphs are {}", names.join(", ")),
        };
        Failure::usage(format!("there is no graph `{name}`")).help(help)
    }

    /// Returns the graph of a stored thread.
    pub(crate) fn of_thread(&self, thread: &str, graph: &str) -> Result<&dyn AnyGraph, Failure> {
        let foreign = || {
            let help = format!("use the program that has it; this one has {}", self.names().join(", "));
            Failure::new(format!("thread `{thread}` belongs to the graph `{graph}`, which this program does not have"))
                .help(help)
        };
        self.find(graph).ok_or_else(foreign)
    }
}
