//! Commands that a program adds to its command line. Must not know a store.

use std::sync::Arc;

use clap::{Arg, ArgMatches, Args, Command};
use superstep::checkpoint::BoxFuture;

use super::custom_output::CustomOutput;
use super::failure::Refusal;
use super::stored::{StoredThread, ThreadSummary};

/// The commands and hooks that a program adds to its command line.
#[derive(Default)]
pub(crate) struct Additions {
    pub commands: Vec<CustomCommand>,
    /// Pairs of a word and the name of the graph that it runs.
    pub shorthands: Vec<(String, String)>,
    /// The first words of all commands in the order of the help, each with the heading of its group.
    pub words: Vec<(String, Option<String>)>,
    /// The heading of the commands that are added next.
    pub heading: Option<String>,
}

impl Additions {
    /// Lists a command in the help, once for each first word.
    pub(crate) fn list(&mut self, path: &str) {
        let word = first(path);
        if !self.words.iter().any(|(known, _)| known == word) {
            self.words.push((word.to_owned(), self.heading.clone()));
        }
    }

    /// Returns the command of these words.
    pub(crate) fn find_command(&self, path: &str) -> Option<&CustomCommand> {
        self.commands.iter().find(|own| own.path == path)
    }

    /// Returns the graph that a shorthand runs.
    pub(crate) fn shorthand(&self, word: &str) -> Option<&str> {
        self.shorthands.iter().find(|(known, _)| known == word).map(|(_, graph)| graph.as_str())
    }

    /// Returns true if a command of these words would be ambiguous.
    pub(crate) fn collides(&self, path: &str) -> bool {
        let word = first(path);
        let is_alone = word == path;
        let is_same =
            |own: &CustomCommand| own.path == path || own.path == word || (is_alone && first(own.path) == word);
        self.commands.iter().any(is_same) || (is_alone && self.shorthand(word).is_some())
    }
}

pub(crate) fn first(path: &str) -> &str {
    path.split(' ').next().unwrap_or(path)
}

/// A command's words and arguments, and the function that performs it.
pub(crate) struct CustomCommand {
    /// One word or two.
    pub path: &'static str,
    pub command: Command,
    pub performer: Performer,
}

/// Function of parsed arguments and a subject.
pub(crate) type Perform<T> = dyn Fn(&ArgMatches, T) -> BoxFuture<'static, Result<CustomOutput, Refusal>> + Send + Sync;

/// Function of a command, by its subject.
pub(crate) enum Performer {
    /// No thread.
    Alone(Arc<Perform<()>>),
    /// A thread, whichever process runs it.
    Found(Arc<Perform<ThreadSummary>>),
    /// A thread in a store that this process holds.
    Stored(Arc<Perform<StoredThread>>),
}

impl CustomCommand {
    pub(crate) fn new<A: Args>(path: &'static str, about: &'static str, performer: Performer) -> Self {
        let name = path.rsplit(' ').next().unwrap_or(path);
        let thread = Arg::new("thread").value_name("THREAD").required(true).help("The thread's name");
        let command = match &performer {
            Performer::Alone(_) => Command::new(name),
            Performer::Found(_) | Performer::Stored(_) => Command::new(name).arg(thread),
        };
        // The doc comment of the type is no help text.
        let command = A::augment_args(command).about(about).long_about(None);
        Self { path, command, performer }
    }
}

/// Wraps a function so that it takes parsed arguments.
pub(crate) fn with_args<A, T, F, Fut>(perform: F) -> Arc<Perform<T>>
where
    A: Args + 'static,
    T: Send + 'static,
    F: Fn(A, T) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<CustomOutput, Refusal>> + Send + 'static,
{
    Arc::new(move |matches: &ArgMatches, subject: T| -> BoxFuture<'static, Result<CustomOutput, Refusal>> {
        match A::from_arg_matches(matches) {
            Ok(args) => Box::pin(perform(args, subject)),
            Err(error) => Box::pin(std::future::ready(Err(Refusal::new(error.to_string())))),
        }
    })
}
