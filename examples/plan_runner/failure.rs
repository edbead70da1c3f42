//! The failure of `plan_runner`: a message, a help text, an exit code.

use superstep::checkpoint::CheckpointError;
use superstep::prelude::*;

pub(crate) struct Failure {
    text: String,
    help: Option<String>,
    code: u8,
}

impl Failure {
    pub(crate) fn of(text: impl Into<String>) -> Self {
        Self { text: text.into(), help: None, code: 1 }
    }

    pub(crate) fn usage(text: impl Into<String>, help: impl Into<String>) -> Self {
        Self { text: text.into(), help: Some(help.into()), code: 2 }
    }

    /// Prints the failure and returns the exit code.
    pub(crate) fn report(&self) -> u8 {
        eprintln!("error: {}", self.text);
        self.help.iter().for_each(|help| eprintln!(" help: {help}"));
        self.code
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Self { help: error.help(), ..Self::of(error.to_string()) }
    }
}

impl From<CheckpointError> for Failure {
    fn from(error: CheckpointError) -> Self {
        RunError::from(error).into()
    }
}

impl From<CompileError> for Failure {
    fn from(error: CompileError) -> Self {
        Self::of(error.to_string())
    }
}
