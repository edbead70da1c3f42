//! Commands that answer a question.

use super::given;
use super::output::CommandOutput;
use super::session::Session;
use crate::app::{
    args::{AnswerTo, Decision, Resume, StopArgs},
    decide::Verdict,
    desk::{AnswerAsk, Ask, Saying},
    erased::Go,
    failure::Failure,
    local::answer,
    shapes::Stand,
};

impl Session {
    pub(super) async fn resume(&self, args: Resume) -> Result<CommandOutput, Failure> {
        let Resume { thread, answer, to } = args;
        let Some(text) = answer else {
            return if to.record_only || to.interrupt.is_some() {
                Err(Failure::usage("there is no answer to store").help("add `--answer JSON`"))
            } else {
                self.proceed(&thread, &StopArgs::default(), to.talk).await
            };
        };
        self.answered(thread, Saying::Json(given::json("--answer", &text)?), to).await
    }

    pub(super) async fn decided(&self, decision: Decision) -> Result<CommandOutput, Failure> {
        let Decision { thread, verdict, feedback, to } = decision;
        let says = match verdict {
            Verdict::Approve => Saying::Approve,
            Verdict::Reject => Saying::Reject(feedback),
            Verdict::Revise => Saying::Revise(feedback.unwrap_or_default()),
        };
        self.answered(thread, says, to).await
    }

    pub(super) async fn answered(&self, thread: String, says: Saying, to: AnswerTo) -> Result<CommandOutput, Failure> {
        let AnswerTo { interrupt, by, note, record_only, talk } = to;
        let ask = AnswerAsk { thread: thread.clone(), says, interrupt, by, note };
        if record_only {
            let stand: Stand = self.ask(Ask::Answer(ask)).await?;
            let mut output = self.stands(stand, 0)?;
            output
                .text
                .push_str(&format!("\nthe answer is stored. Go on with\n  {}\n", self.caller.on("proceed", &thread)));
            return Ok(output);
        }
        let local = self.answering()?;
        let found = local.thread(&thread).await?;
        let answer = answer(&*found, ask).await?;
        self.converse(&*found, &thread, Go::Answer(Box::new(answer)), talk).await
    }
}
