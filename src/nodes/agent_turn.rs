//! Turns of agents, read back from the journal of their task. Knows the messages that `request` records there, and the
//! folder of contents; runs no agent.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::turn_texts::read_texts;
use crate::drivers::{AgentEvent, Finished};
use crate::graph::{JournalEffect, TaskJournal};

/// A turn of an agent as recorded in the journal of its task.
///
/// Turns are recorded in every thread with a store. Long texts of a prompt are files in the folder
/// [`Contents`](super::Contents), each stored once; the journal has their hashes, and this type reads them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AgentTurn {
    /// Time of its start, in milliseconds since 1970.
    pub at: u64,
    /// The request, and its agent.
    pub asked: AskedOfAgent,
    /// The tools it called, in order.
    pub calls: Vec<AgentCall>,
    /// The result; none if the turn failed or was killed.
    pub finished: Option<Finished>,
}

/// A request to an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AskedOfAgent {
    /// Its role: `developer`.
    pub role: String,
    /// The name of its driver.
    pub driver: String,
    /// The model; none: the driver's own choice.
    pub model: Option<String>,
    /// The task's number in the plan; empty if the turn belongs to none.
    pub task: String,
    /// The number of the attempt at that task, from 1; 0 if there is none.
    pub attempt: u32,
    /// The folder it worked in.
    pub directory: String,
    /// The part that holds for the whole session, where a session started.
    #[serde(default)]
    pub system: Option<String>,
    /// Name of the prompt's template.
    pub template: String,
    /// The prompt as sent, without keys; a content that cannot be read is replaced by its hash and the path of its
    /// file.
    pub prompt: String,
}

/// A tool that an agent called.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AgentCall {
    /// Time of the call, in milliseconds since 1970.
    pub at: u64,
    /// The tool.
    pub name: String,
    /// The arguments of the call.
    pub arguments: Value,
    /// True for a success, and the answer, cut where it is long; none if the turn ended before.
    pub result: Option<(bool, String)>,
}

/// The message that starts a turn.
#[derive(Deserialize)]
struct StartMessage {
    turn: AskedOfAgent,
}

/// Parses the message that starts a turn.
fn request_of(message: &Value) -> Option<AskedOfAgent> {
    message.get("turn")?;
    let mut message = message.clone();
    read_texts(&mut message);
    StartMessage::deserialize(message).ok().map(|start_message| start_message.turn)
}

impl AgentTurn {
    /// Returns the turns in a task's journal, in order.
    ///
    /// ```
    /// # use superstep::graph::TaskSnapshot;
    /// # use superstep::nodes::AgentTurn;
    /// # use superstep::prelude::*;
    /// # async fn example(task: &TaskSnapshot) -> Result<(), RunError> {
    /// for turn in AgentTurn::all(&task.journal().await?) {
    ///     println!("{}\n{} calls of tools", turn.asked.prompt, turn.calls.len());
    /// }
    /// # Ok(()) }
    /// ```
    pub fn all(journal: &TaskJournal) -> Vec<Self> {
        journal.effects().flat_map(|(_, effect)| Self::of(effect)).collect()
    }

    /// Returns the turns of an effect: more than one if it was repeated.
    pub fn of(effect: &JournalEffect) -> Vec<Self> {
        let (mut turns, mut ids): (Vec<Self>, Vec<String>) = (vec![], vec![]);
        for message in &effect.messages {
            if let Some(asked) = request_of(&message.value) {
                turns.push(Self { at: message.at, asked, calls: vec![], finished: None });
                ids.clear();
            }
            let (Some(turn), Ok(event)) = (turns.last_mut(), AgentEvent::deserialize(&message.value)) else { continue };
            match event {
                AgentEvent::ToolCall { id, name, arguments } => {
                    turn.calls.push(AgentCall { at: message.at, name, arguments, result: None });
                    ids.push(id);
                }
                AgentEvent::ToolResult { id, ok, text } => {
                    let call = ids.iter().rposition(|known| *known == id).and_then(|at| turn.calls.get_mut(at));
                    call.into_iter().for_each(|call| call.result = Some((ok, text.clone())));
                }
                AgentEvent::Finished(finished) => turn.finished = Some(finished),
                AgentEvent::Started(_)
                | AgentEvent::Text(_)
                | AgentEvent::Thinking(_)
                | AgentEvent::Usage(_)
                | AgentEvent::Notice(_) => {}
            }
        }
        turns
    }
}
