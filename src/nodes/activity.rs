//! What nodes tell of agents and commands at work, besides what agents say themselves: messages for people who watch, and for
//! the log of a run. They are emitted inside of effects, so that each is told once.

use std::path::Path;

use serde::Serialize;

use super::prompts::Parts;
use super::turn::Turn;
use super::turn_texts::RecordedTexts;
use crate::graph::Ctx;

/// Something that a node does; its JSON has one key, the kind.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Activity<'a> {
    /// A turn of an agent begins.
    Turn {
        role: &'a str,
        driver: &'a str,
        model: Option<&'a str>,
        task: &'a str,
        /// The number of the phase that it judges as a whole.
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<u32>,
        attempt: u32,
        directory: String,
        /// The part that holds for a whole session, where it is a new one.
        #[serde(skip_serializing_if = "Option::is_none")]
        system: Option<&'a Parts>,
        /// The file that the prompt was made from.
        template: &'a str,
        prompt: &'a Parts,
        /// The folder of the contents to which they refer.
        #[serde(skip_serializing_if = "Option::is_none")]
        contents: Option<&'a Path>,
    },
    /// A command of the plan begins.
    Check { command: &'a str },
    /// It has ended; with the end of its output if it failed.
    Checked {
        command: &'a str,
        code: Option<i32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        output: Option<&'a str>,
    },
    /// Work was committed.
    Commit { id: String, message: &'a str, task: &'a str, attempt: u32 },
}

impl Activity<'_> {
    /// Tells whoever watches, and the store.
    pub(super) async fn tell<C: Send + Sync + 'static>(&self, ctx: &Ctx<C>) {
        ctx.emit_message(self).await;
    }
}

impl Turn {
    /// Returns the message that begins it.
    pub(super) fn begins<'a>(&'a self, texts: &'a RecordedTexts) -> Activity<'a> {
        Activity::Turn {
            role: &self.agent.role,
            driver: &self.agent.driver,
            model: self.agent.model.as_deref(),
            task: &self.task,
            phase: self.phase,
            attempt: self.attempt,
            directory: self.directory.display().to_string(),
            system: texts.system.as_ref(),
            template: self.prompt.name(),
            prompt: &texts.prompt,
            contents: texts.contents.as_deref(),
        }
    }
}
