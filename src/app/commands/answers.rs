//! Commands that answer a question.

use super::json_input;
use super::output::CommandOutput;
use super::session::Session;
use crate::app::args::{AnswerTo, Decision, Resume, StopArgs};
use crate::app::erased::RunRequest;
use crate::app::failure::Failure;
use crate::app::local::answer;
use crate::app::service::{AnswerInput, AnswerRequest, ThreadRequest};
use crate::app::shapes::ThreadReport;

impl Session {
    pub(super) async fn resume(&self, args: Resume) -> Result<CommandOutput, Failure> {
        let Resume { thread, answer, to } = args;
        let Some(text) = answer else {
            return if to.record_only || to.interrupt.is_some() {
                Err(Failure::usage("there is no answer to store").help("add `--answer JSON`"))
            } else {
                self.proceed(&thread, &StopArgs::default(), to.interaction).await
            };
        };
        self.answer_question(thread, AnswerInput::Json(json_input::json("--answer", &text)?), to).await
    }

    pub(super) async fn decide(&self, decision: Decision) -> Result<CommandOutput, Failure> {
        let Decision { thread, reply, to } = decision;
        self.answer_question(thread, AnswerInput::Reply(reply), to).await
    }

    pub(super) async fn answer_question(
        &self,
        thread: String,
        says: AnswerInput,
        to: AnswerTo,
    ) -> Result<CommandOutput, Failure> {
        let AnswerTo { interrupt, by, note, record_only, interaction } = to;
        let request = AnswerRequest { thread: thread.clone(), says, interrupt, by, note };
        if record_only {
            let report: ThreadReport = self.call(ThreadRequest::Answer(request)).await?;
            return self.noted_output(report, 0, "the answer is stored");
        }
        let local = self.store_to_answer()?;
        let found = local.thread(&thread).await?;
        let answer = answer(&*found, request).await?;
        self.run_interactive(&*found, &thread, RunRequest::Answer(Box::new(answer)), interaction).await
    }
}
