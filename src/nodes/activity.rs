//! Messages about agents and commands at work, besides those that agents emit, for live views and the log of a run.
//! They are emitted inside of effects, so that each is emitted once.

use std::path::Path;

use serde::Serialize;

use super::prompts::Parts;
use super::turn::Turn;
use super::turn_texts::RecordedTexts;
use crate::graph::Ctx;

/// An activity of a node; its JSON has one key, the kind.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Activity<'a> {
    /// Start of an agent's turn.
    Turn {
        role: &'a str,
        driver: &'a str,
        model: Option<&'a str>,
        task: &'a str,
        /// Number of the phase that is reviewed as a whole.
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<u32>,
        attempt: u32,
        /// Title of the task; empty if the turn belongs to none.
        #[serde(skip_serializing_if = "str::is_empty")]
        title: &'a str,
        /// Position of the task among all tasks, from 1; 0 if there is only one.
        #[serde(skip_serializing_if = "is_zero")]
        position: usize,
        /// The number of tasks; 0 if there is only one.
        #[serde(skip_serializing_if = "is_zero")]
        total: usize,
        directory: String,
        /// The part that holds for a whole session, where it is a new one.
        #[serde(skip_serializing_if = "Option::is_none")]
        system: Option<&'a Parts>,
        /// Name of the prompt's template.
        template: &'a str,
        prompt: &'a Parts,
        /// Folder of the contents that the prompts refer to.
        #[serde(skip_serializing_if = "Option::is_none")]
        contents: Option<&'a Path>,
    },
    /// Start of a command of the plan.
    Check { command: &'a str },
    /// End of a command; with the end of its output if it failed.
    Checked {
        command: &'a str,
        code: Option<i32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        output: Option<&'a str>,
    },
    /// A commit of work.
    Commit {
        id: String,
        message: &'a str,
        task: &'a str,
        attempt: u32,
        /// Output of git and of its hooks.
        #[serde(skip_serializing_if = "String::is_empty")]
        output: String,
    },
    /// A notice for a person.
    Notice(String),
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Activity<'_> {
    /// Emits the message to the event stream and the journal.
    pub(super) async fn emit<C: Send + Sync + 'static>(&self, ctx: &Ctx<C>) {
        ctx.emit_message(self).await;
    }
}

impl Turn {
    /// Returns the message that starts the turn.
    pub(super) fn start_message<'a>(&'a self, texts: &'a RecordedTexts) -> Activity<'a> {
        Activity::Turn {
            role: &self.agent.role,
            driver: &self.agent.driver,
            model: self.agent.model.as_deref(),
            task: &self.task,
            phase: self.phase,
            attempt: self.attempt,
            title: &self.about.title,
            position: self.about.position,
            total: self.about.total,
            directory: self.directory.display().to_string(),
            system: texts.system.as_ref(),
            template: self.prompt.name(),
            prompt: &texts.prompt,
            contents: texts.contents.as_deref(),
        }
    }
}
