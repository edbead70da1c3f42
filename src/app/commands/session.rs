//! One call of the program, and its output about a thread. Must not know a command.

use std::sync::Arc;

use super::answer_commands::commands;
use super::output::CommandOutput;
use crate::app::advice;
use crate::app::caller::Caller;
use crate::app::control::Control;
use crate::app::failure::Failure;
use crate::app::graphs::Graphs;
use crate::app::shapes::{NextStep, OpenQuestion, ThreadReport};
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
    /// Formats the report of a thread as text and JSON, with its next steps.
    pub(super) fn thread_output(&self, report: ThreadReport, code: u8) -> Result<CommandOutput, Failure> {
        self.noted_output(report, code, "")
    }

    /// The same, with a sentence before the next steps that says what the command did.
    pub(super) fn noted_output(
        &self,
        mut report: ThreadReport,
        code: u8,
        note: &str,
    ) -> Result<CommandOutput, Failure> {
        let thread = report.thread.clone();
        self.add_commands(&thread, &mut report.questions);
        let asks = !report.questions.is_empty() && !report.origin.is_untrusted(); // the questions have commands
        report.advice = if asks { vec![] } else { self.next_steps(&report) };
        let next = advice::after(note, &report.advice);
        let blank = if next.is_empty() { "" } else { "\n" };
        let text = format!("{}{blank}{next}", text::report(&report));
        Ok(CommandOutput { code, ..CommandOutput::new(text, &report)? })
    }

    /// Returns the next steps of a thread, with full commands.
    pub(super) fn next_steps(&self, report: &ThreadReport) -> Vec<NextStep> {
        advice::in_full(advice::next_steps(report), &self.caller, &report.thread)
    }

    /// Adds to each question the commands that answer it.
    pub(super) fn add_commands(&self, thread: &str, questions: &mut [OpenQuestion]) {
        commands(&self.caller, thread, questions, "");
    }
}
