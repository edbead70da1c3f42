//! Commands that a program adds to its command line: their words, and the functions that perform them. Knows no store.

use std::sync::Arc;

use clap::{Arg, ArgMatches, Args, Command};

use super::failure::Refusal;
use super::said::Said;
use super::stored::{Found, StoredThread};
use crate::checkpoint::BoxFuture;

/// The commands and hooks that a program adds to its command line.
#[derive(Default)]
pub(crate) struct Added {
    /// The commands, each by its words.
    pub own: Vec<Own>,
    /// The words that run a graph, and the graph's name.
    pub shorthands: Vec<(String, String)>,
}

impl Added {
    /// Returns the command of these words.
    pub(crate) fn named(&self, path: &str) -> Option<&Own> {
        self.own.iter().find(|own| own.path == path)
    }

    /// Returns the graph that a word runs.
    pub(crate) fn shorthand(&self, word: &str) -> Option<&str> {
        self.shorthands.iter().find(|(known, _)| known == word).map(|(_, graph)| graph.as_str())
    }

    /// Returns whether a command of these words would be taken for another one.
    pub(crate) fn collides(&self, path: &str) -> bool {
        let word = first(path);
        let is_alone = word == path;
        let is_same = |own: &Own| own.path == path || own.path == word || (is_alone && first(own.path) == word);
        self.own.iter().any(is_same) || (is_alone && self.shorthand(word).is_some())
    }
}

/// Returns the first of several words.
pub(crate) fn first(path: &str) -> &str {
    path.split(' ').next().unwrap_or(path)
}

/// A command's words and arguments, and the function that performs it.
pub(crate) struct Own {
    /// One word or two.
    pub path: &'static str,
    pub command: Command,
    pub performer: Performer,
}

/// A function over parsed arguments and a subject.
pub(crate) type Perform<T> = dyn Fn(&ArgMatches, T) -> BoxFuture<'static, Result<Said, Refusal>> + Send + Sync;

/// The function of a command, by its subject.
pub(crate) enum Performer {
    /// About no thread.
    Alone(Arc<Perform<()>>),
    /// About a thread, whichever process runs it.
    Found(Arc<Perform<Found>>),
    /// About a thread in a store that this process holds.
    Stored(Arc<Perform<StoredThread>>),
}

impl Own {
    pub(crate) fn new<A: Args>(path: &'static str, about: &'static str, performer: Performer) -> Self {
        let name = path.rsplit(' ').next().unwrap_or(path);
        let thread = Arg::new("thread").value_name("THREAD").required(true).help("The thread's name");
        let command = match &performer {
            Performer::Alone(_) => Command::new(name),
            Performer::Found(_) | Performer::Stored(_) => Command::new(name).arg(thread),
        };
        // The description of the type is no help for whoever calls.
        let command = A::augment_args(command).about(about).long_about(None);
        Self { path, command, performer }
    }
}

/// Reads the arguments of a function from what was parsed.
pub(crate) fn reading<A, T, F, Fut>(perform: F) -> Arc<Perform<T>>
where
    A: Args + 'static,
    T: Send + 'static,
    F: Fn(A, T) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Said, Refusal>> + Send + 'static,
{
    Arc::new(move |matches: &ArgMatches, subject: T| -> BoxFuture<'static, Result<Said, Refusal>> {
        match A::from_arg_matches(matches) {
            Ok(args) => Box::pin(perform(args, subject)),
            Err(error) => Box::pin(std::future::ready(Err(Refusal::new(error.to_string())))),
        }
    })
}
