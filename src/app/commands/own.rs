//! Commands that a program adds, and what their threads do next.

use std::sync::Arc;

use clap::ArgMatches;

use super::keeps::lines;
use super::output::CommandOutput;
use super::session::Session;
use crate::app::{
    desk::{AnswerAsk, Ask, Saying},
    erased::Go,
    failure::Failure,
    local::{Local, answer},
    own::{Own, Performer},
    said::{Next, Said},
    shapes::Stand,
    stored::StoredThread,
};

impl Session {
    pub(super) async fn own(&self, own: &Own, thread: &str, matches: &ArgMatches) -> Result<CommandOutput, Failure> {
        match &own.performer {
            Performer::Alone(perform) => said(perform(matches, ()).await?),
            Performer::Found(perform) => {
                let stand: Stand = self.ask(Ask::Status { thread: thread.to_owned() }).await?;
                let done = perform(matches, stand.into()).await?;
                if done.next == Next::Rest { said(done) } else { self.next(&self.local()?, thread, done.next).await }
            }
            Performer::Stored(perform) => {
                let local = self.local()?;
                let done = perform(matches, self.stored(&local, thread).await?).await?;
                if done.next == Next::Rest { said(done) } else { self.next(&local, thread, done.next).await }
            }
        }
    }

    async fn stored(&self, local: &Local, name: &str) -> Result<StoredThread, Failure> {
        let thread = local.thread(name).await?;
        let found = thread.stand().await?.into();
        let local = Local { graphs: Arc::clone(&local.graphs), store: Arc::clone(&local.store) };
        Ok(StoredThread { found, thread, local, caller: self.caller.clone() })
    }

    /// Resumes or runs a thread as a command wants it.
    async fn next(&self, local: &Local, name: &str, next: Next) -> Result<CommandOutput, Failure> {
        let thread = local.thread(name).await?;
        let go = match next {
            Next::Rest => return Ok(CommandOutput::nothing()),
            Next::Answer { to, answer: json, by } => {
                let ask = AnswerAsk {
                    thread: name.to_owned(),
                    says: Saying::Json(json),
                    interrupt: Some(to),
                    by,
                    note: None,
                };
                Go::Answer(Box::new(answer(&*thread, ask).await?))
            }
            Next::Input(values) => {
                let graph = self.graphs.of_thread(name, &local.info(name).await?.graph)?;
                Go::Input(graph.input(&values)?)
            }
        };
        self.follow(&*thread, name, go).await
    }
}

/// Prints what a command has to say.
pub(super) fn said(said: Said) -> Result<CommandOutput, Failure> {
    Ok(CommandOutput { code: said.code, ..CommandOutput::new(lines(&said.text), &said.json)? })
}
