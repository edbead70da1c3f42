//! One call of the program, and its output about a thread. Must not know a command.

use std::sync::Arc;

use super::answer_commands::commands;
use super::output::CommandOutput;
use crate::app::caller::Caller;
use crate::app::control::Control;
use crate::app::failure::Failure;
use crate::app::graphs::Graphs;
use crate::app::shapes::{OpenQuestion, ThreadReport};
use crate::app::store_location::StoreLocation;
use crate::app::text;
use crate::app::watch::View;

pub(crate) struct Session {
    pub graphs: Arc<Graphs>,
    pub caller: Caller,
    pub store: StoreLocation,
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
    /// Formats the report of a thread as text and JSON.
    pub(super) fn thread_output(&self, mut report: ThreadReport, code: u8) -> Result<CommandOutput, Failure> {
        let thread = report.thread.clone();
        self.add_commands(&thread, &mut report.questions);
        let mut text = text::report(&report);
        if report.origin.is_untrusted() {
            let trust = self.caller.thread_command("trust", &report.thread);
            text.push_str(&format!("\nto let it run, if you trust who made it and what it holds\n  {trust}\n"));
        }
        Ok(CommandOutput { code, ..CommandOutput::new(text, &report)? })
    }

    /// Adds to each question the commands that answer it.
    pub(super) fn add_commands(&self, thread: &str, questions: &mut [OpenQuestion]) {
        commands(&self.caller, thread, questions, "");
    }
}
