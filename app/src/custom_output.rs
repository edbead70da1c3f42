//! [`CustomOutput`]: the result of a command that a program adds. Must not know a store.

use serde::Serialize;
use serde_json::Value;

use super::failure::{Exit, Refusal};

/// The output of a command of a program's own: text for people, JSON for `--json`. Or the next action of its thread,
/// whose result the app prints, as after `resume` and `run`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CustomOutput {
    pub(crate) text: String,
    pub(crate) json: Value,
    pub(crate) next: Next,
    /// The exit code, if nothing comes next.
    pub(crate) code: u8,
}

/// The next action of a command's thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Next {
    #[default]
    Rest,
    /// Resumes with an answer.
    Answer { to: String, answer: Value, by: Option<String> },
    /// Runs with an input: values of some channels.
    Input(Value),
}

impl CustomOutput {
    /// Returns lines for people, in which control characters are escaped, and the same as JSON.
    ///
    /// # Errors
    /// If the value is no JSON.
    pub fn new(text: impl Into<String>, json: &impl Serialize) -> Result<Self, Refusal> {
        Ok(Self { text: text.into(), json: to_json(json)?, ..Self::default() })
    }

    /// Answers the pending interrupt `to` of the thread and resumes it, with a live view and the run's exit code.
    ///
    /// # Errors
    /// If the value is no JSON.
    pub fn answer(to: impl Into<String>, json: &impl Serialize) -> Result<Self, Refusal> {
        Ok(Self::then(Next::Answer { to: to.into(), answer: to_json(json)?, by: None }))
    }

    /// Runs the thread with an input, an object with values of some channels: starts a new thread, or continues a
    /// finished one. The exit code is that of the run.
    ///
    /// # Errors
    /// If the value is no JSON.
    pub fn input(json: &impl Serialize) -> Result<Self, Refusal> {
        Ok(Self::then(Next::Input(to_json(json)?)))
    }

    /// Signs an answer with the name of a person.
    #[must_use]
    pub fn by(mut self, name: impl Into<String>) -> Self {
        if let Next::Answer { by, .. } = &mut self.next {
            *by = Some(name.into());
        }
        self
    }

    /// Sets the exit code, which is 0 otherwise. After an answer or an input it is that of the run.
    #[must_use]
    pub fn exit(mut self, exit: Exit) -> Self {
        self.code = exit.code();
        self
    }

    fn then(next: Next) -> Self {
        Self { next, ..Self::default() }
    }
}

/// Output in place of a run: the error of graph arguments that ask for something else, such as `--dry-run`. It is
/// printed, and nothing is stored. See [`Entry::args`](super::Entry::args).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("there is nothing to run")]
pub struct Instead(pub CustomOutput);

fn to_json(value: &impl Serialize) -> Result<Value, Refusal> {
    serde_json::to_value(value).map_err(|error| Refusal::new(error.to_string()).exit(Exit::Failed))
}
