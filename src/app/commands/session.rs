//! One call of the program, and what it says of a thread. Must not know any command.

use std::path::PathBuf;
use std::sync::Arc;

use super::output::CommandOutput;
use super::replies::commands;
use crate::app::{
    caller::Caller,
    control::Control,
    failure::Failure,
    graphs::Graphs,
    shapes::{Asked, Stand},
    text,
    watch::View,
};

/// One call of the program.
pub(crate) struct Session {
    pub graphs: Arc<Graphs>,
    pub caller: Caller,
    pub store: PathBuf,
    /// Set if nothing may be written to the store.
    pub read_only: bool,
    /// The way in which runs are shown.
    pub view: View,
    /// The command line itself, for completions.
    pub command: clap::Command,
    /// The requests that other processes may send.
    pub control: Control,
}

impl Session {
    /// A thread as it stands, as text and JSON.
    pub(super) fn stands(&self, mut stand: Stand, code: u8) -> Result<CommandOutput, Failure> {
        let thread = stand.thread.clone();
        self.add_commands(&thread, &mut stand.questions);
        let mut text = text::stand(&stand);
        if stand.origin.is_untrusted() {
            let trust = self.caller.on("trust", &stand.thread);
            text.push_str(&format!("\nto let it run, if you trust who made it and what it holds\n  {trust}\n"));
        }
        Ok(CommandOutput { code, ..CommandOutput::new(text, &stand)? })
    }

    /// Adds to each question the commands that answer it.
    pub(super) fn add_commands(&self, thread: &str, questions: &mut [Asked]) {
        commands(&self.caller, thread, questions, "");
    }
}
