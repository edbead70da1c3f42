//! Commands that a program adds to its command line. Knows words and threads' states as JSON, no store.

use std::sync::Arc;

use clap::{ArgMatches, Args, Command};
use serde::Serialize;
use serde_json::Value;

use super::failure::Refusal;
use crate::checkpoint::BoxFuture;

/// What a command of a program's own has to say: text for people, JSON for `--json`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    pub(crate) text: String,
    pub(crate) json: Value,
}

impl Said {
    /// Returns lines for people, in which control characters are escaped, and the same for programs.
    ///
    /// # Errors
    /// If the value is no JSON.
    pub fn new(text: impl Into<String>, json: &impl Serialize) -> Result<Self, Refusal> {
        let json =
            serde_json::to_value(json).map_err(|error| Refusal::new(error.to_string()).exit(super::Exit::Failed))?;
        Ok(Self { text: text.into(), json })
    }
}

/// A thread as a command of a program's own finds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Its name.
    pub thread: String,
    /// Its graph.
    pub graph: String,
    /// Its state as JSON.
    pub state: Value,
}

/// A command's arguments, and the function that does it.
pub(crate) struct Own {
    pub command: Command,
    pub perform: Arc<Perform>,
}

type Perform = dyn Fn(&ArgMatches, Found) -> BoxFuture<'static, Result<Said, Refusal>> + Send + Sync;

impl Own {
    pub(crate) fn new<A, F, Fut>(name: &'static str, about: &'static str, perform: F) -> Self
    where
        A: Args + 'static,
        F: Fn(A, Found) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Said, Refusal>> + Send + 'static,
    {
        let thread = clap::Arg::new("thread").value_name("THREAD").required(true).help("The thread's name");
        // The description of the type is no help for whoever calls.
        let command = A::augment_args(Command::new(name).arg(thread)).about(about).long_about(None);
        let perform = move |matches: &ArgMatches, found: Found| -> BoxFuture<'static, Result<Said, Refusal>> {
            match A::from_arg_matches(matches) {
                Ok(args) => Box::pin(perform(args, found)),
                Err(error) => Box::pin(std::future::ready(Err(Refusal::new(error.to_string())))),
            }
        };
        Self { command, perform: Arc::new(perform) }
    }

    pub(crate) fn name(&self) -> &str {
        self.command.get_name()
    }
}
