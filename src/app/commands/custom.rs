//! Commands that a program adds, and the runs that they start.

use clap::ArgMatches;

use super::output::CommandOutput;
use super::retention::lines;
use super::session::Session;
use crate::app::custom::{CustomCommand, Performer};
use crate::app::custom_output::{Next, Said};
use crate::app::erased::RunRequest;
use crate::app::failure::Failure;
use crate::app::local::{Local, answer};
use crate::app::service::{AnswerInput, AnswerRequest, ThreadRequest};
use crate::app::shapes::ThreadReport;
use crate::app::stored::StoredThread;

impl Session {
    pub(super) async fn custom(
        &self,
        own: &CustomCommand,
        thread: &str,
        matches: &ArgMatches,
    ) -> Result<CommandOutput, Failure> {
        match &own.performer {
            Performer::Alone(perform) => command_output(perform(matches, ()).await?),
            Performer::Found(perform) => {
                let report: ThreadReport = self.call(ThreadRequest::Status { thread: thread.to_owned() }).await?;
                let done = perform(matches, report.into()).await?;
                if done.next == Next::Rest {
                    command_output(done)
                } else {
                    self.next(&self.local()?, thread, done.next).await
                }
            }
            Performer::Stored(perform) => {
                let local = self.local()?;
                let done = perform(matches, self.stored(&local, thread).await?).await?;
                if done.next == Next::Rest { command_output(done) } else { self.next(&local, thread, done.next).await }
            }
        }
    }

    async fn stored(&self, local: &Local, name: &str) -> Result<StoredThread, Failure> {
        let thread = local.thread(name).await?;
        let found = thread.report().await?.into();
        Ok(StoredThread { found, thread, local: local.clone(), caller: self.caller.clone() })
    }

    /// Resumes or runs a thread after a command.
    async fn next(&self, local: &Local, name: &str, next: Next) -> Result<CommandOutput, Failure> {
        let thread = local.thread(name).await?;
        let go = match next {
            Next::Rest => return Ok(CommandOutput::nothing()),
            Next::Answer { to, answer: json, by } => {
                let request = AnswerRequest {
                    thread: name.to_owned(),
                    says: AnswerInput::Json(json),
                    interrupt: Some(to),
                    by,
                    note: None,
                };
                RunRequest::Answer(Box::new(answer(&*thread, request).await?))
            }
            Next::Input(values) => {
                let graph = self.graphs.of_thread(name, &local.info(name).await?.graph)?;
                RunRequest::Input(graph.input(&values)?)
            }
        };
        self.follow(&*thread, name, go).await
    }
}

pub(super) fn command_output(result: Said) -> Result<CommandOutput, Failure> {
    Ok(CommandOutput { code: result.code, ..CommandOutput::new(lines(&result.text), &result.json)? })
}
