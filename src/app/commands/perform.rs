//! Dispatch of an invocation to its command.

use super::output::CommandOutput;
use super::session::Session;
use crate::app::args::{Invocation, Verb};
use crate::app::failure::Failure;
use crate::app::service::AnswerInput;

impl Session {
    pub(crate) async fn perform(&self, invocation: Invocation<'_>) -> Result<CommandOutput, Failure> {
        let output = match invocation {
            Invocation::Run(args) => self.run(&args).await,
            Invocation::Do(verb) => self.verb(verb).await,
            Invocation::CustomCommand(own, thread, matches) => self.custom(own, thread, matches).await,
        };
        self.control.close().await;
        output
    }

    async fn verb(&self, verb: Verb) -> Result<CommandOutput, Failure> {
        match verb {
            Verb::Resume(args) => self.resume(args).await,
            Verb::Proceed(args) => self.proceed(&args.on.thread, &args.stops, args.interaction).await,
            Verb::Retry(args) => self.retry(&args.on.thread, args.interaction).await,
            Verb::Approve(args) => self.decide(args.into()).await,
            Verb::Reject(args) => self.decide(args.into()).await,
            Verb::Revise(args) => self.decide(args.into()).await,
            Verb::Edit(args) => self.edit(args).await,
            Verb::Dismiss(args) => self.answer_question(args.thread, AnswerInput::Cancel, args.to).await,
            Verb::Signal(args) => self.signal(args).await,
            Verb::Cancel(args) => self.cancel(args.on.thread).await,
            Verb::Threads(args) => self.threads(args).await,
            Verb::Status(args) => self.status(args).await,
            Verb::History(args) => self.history(args).await,
            Verb::Show(args) => self.show(args).await,
            Verb::Diff(args) => self.diff(&args).await,
            Verb::Replay(args) => self.replay(&args).await,
            Verb::Tag(args) => self.tag(args).await,
            Verb::Gc(args) => self.gc(args).await,
            Verb::Runner(args) => self.runner(args).await,
            Verb::Export(args) => self.export(args).await,
            Verb::Import(args) => self.import(args).await,
            Verb::Trust(args) => self.trust(args).await,
            Verb::Repair(args) => self.repair(args).await,
            Verb::CopyStore(args) => self.copy_store(&args).await,
            Verb::Events(args) => self.events(args).await,
            Verb::Watch(args) => self.watch(args.thread).await,
            Verb::Log(args) => self.log(args).await,
            Verb::Update(args) => self.update(args).await,
            Verb::Fork(args) => self.fork(args).await,
            Verb::Delete(args) => self.delete(args).await,
            Verb::Graphs(_) => self.list_graphs(),
            Verb::Graph(args) => self.draw(args).await,
            Verb::Completions(args) => self.completions(&args),
        }
    }
}
