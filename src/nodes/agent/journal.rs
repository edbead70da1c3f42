//! A turn of an agent on record: its texts are read from contents, journalled as contents, and read back with the whole
//! turn; its events are in a transcript, and records of earlier attempts are put back if it changes them. Runs no agent.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::turn::Turn;
use crate::drivers::tools::marked_records;
use crate::drivers::{AgentEvent, Finished, Session};
use crate::graph::NodeError;
use crate::graph::view::{JournalEffect, TaskJournal};
use crate::nodes::events::Activity;
use crate::nodes::prompts::{ContentError, Contents, Parts};
use crate::process::Redactor;

/// A turn of an agent as recorded in the journal of its task.
///
/// Turns are recorded in every thread with a store. Long texts of a prompt are files in the folder
/// [`Contents`](crate::nodes::Contents), each stored once; the journal has their hashes, and this type reads them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AgentTurn {
    /// Time of its start, in milliseconds since 1970.
    pub at: u64,
    /// The request, and its agent.
    pub asked: AgentTurnRequest,
    /// The tools it called, in order.
    pub calls: Vec<AgentCall>,
    /// The result; none if the turn failed or was killed.
    pub finished: Option<Finished>,
}

/// A request to an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AgentTurnRequest {
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
    turn: AgentTurnRequest,
}

/// Parses the message that starts a turn.
fn request_of(message: &Value) -> Option<AgentTurnRequest> {
    message.get("turn")?;
    let mut message = message.clone();
    resolve_texts(&mut message);
    StartMessage::deserialize(message).ok().map(|start_message| start_message.turn)
}

impl AgentTurn {
    /// Returns the turns in a task's journal, in order.
    ///
    /// ```
    /// # use superstep::graph::view::TaskSnapshot;
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

/// The texts as sent.
pub(super) struct Texts {
    pub(super) system: String,
    pub(super) prompt: String,
}

/// The texts as journalled: long ones by their hashes, and without the keys of this process.
pub(super) struct RecordedTexts {
    /// None unless the session is new.
    pub(super) system: Option<Parts>,
    pub(super) prompt: Parts,
    /// Folder of the contents; none if there is no reference.
    pub(super) contents: Option<PathBuf>,
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

    fn contents(&self) -> Contents {
        let home = self.agent.home();
        Contents::at(std::path::absolute(home).unwrap_or_else(|_| home.to_owned()))
    }

    /// Returns the texts with every content read.
    pub(super) async fn texts(&self) -> Result<Texts, NodeError> {
        let (contents, system, prompt) = (self.contents(), self.system.clone(), self.prompt.clone());
        let read = move || Ok(Texts { system: system.resolve(&contents)?, prompt: prompt.resolve(&contents)? });
        blocking(read).await?.map_err(unreadable)
    }

    /// Stores the long texts if `is_stored`, and returns the texts for the journal. Without a home for the agent, the
    /// journal has the full texts.
    pub(super) async fn recorded_texts(&self, is_stored: bool) -> Result<RecordedTexts, NodeError> {
        let contents = self.contents();
        let has_place = is_stored && self.agent.home.is_some();
        let system = matches!(self.session, Session::New).then(|| self.system.parts().clone());
        let prompt = self.prompt.parts().clone();
        let record = move || {
            let redactor = Redactor::keys();
            let recorded = |parts: Parts| {
                let parts = parts.without_secrets(&redactor);
                if has_place { parts.store(&contents) } else { parts.literal() }
            };
            let (system, prompt) = (system.map(recorded), recorded(prompt));
            let has_contents = prompt.has_contents() || system.as_ref().is_some_and(Parts::has_contents);
            RecordedTexts { system, prompt, contents: has_contents.then(|| contents.folder().to_owned()) }
        };
        blocking(record).await
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, NodeError> {
    tokio::task::spawn_blocking(work).await.map_err(NodeError::permanent)
}

fn unreadable(error: ContentError) -> NodeError {
    let help = error.help();
    NodeError::permanent(format!("{error} (help: {help})"))
}

/// Replaces references to contents by their texts in a message that starts a turn; one that cannot be read is replaced
/// by its hash and the reason. Leaves other messages unchanged. Blocks.
pub fn resolve_texts(message: &mut Value) {
    let Some(turn) = message.get_mut("turn").and_then(Value::as_object_mut) else { return };
    let Some(folder) = turn.get("contents").and_then(Value::as_str) else { return };
    let contents = Contents::of_folder(folder);
    for field in ["system", "prompt"] {
        let Some(value) = turn.get_mut(field).filter(|value| value.is_array()) else { continue };
        if let Ok(parts) = Parts::deserialize(&*value) {
            *value = parts.readable(&contents).into();
        }
    }
}

/// A file with the events of an agent, for people and other programs. Nothing depends on it: the journal is
/// authoritative.
pub(super) struct Transcript(Option<(File, Redactor)>);

impl Transcript {
    /// Opens the file for appending. If it cannot be opened, a warning is logged and nothing is written.
    pub(super) fn open(path: Option<&Path>) -> Self {
        let opened = path.and_then(|path| {
            let file = open_append(&superstep_base::moved::present_path(path));
            file.inspect_err(|error| tracing::warn!(path = %path.display(), %error, "cannot open the transcript, so none is written")).ok()
        });
        Self(opened.map(|file| (file, Redactor::keys())))
    }

    /// Adds an event, without the keys of this process.
    pub(super) fn add(&mut self, event: &impl Serialize) {
        let Some((file, redactor)) = &mut self.0 else { return };
        let Ok(line) = serde_json::to_string(event) else { return };
        if let Err(error) = writeln!(file, "{}", redactor.redact(&line)) {
            tracing::warn!(%error, "cannot write an event to the transcript");
        }
    }
}

fn open_append(path: &Path) -> std::io::Result<File> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    OpenOptions::new().create(true).append(true).open(path)
}

/// Names of the files of a record. `transcript`s grow while an agent works.
const FILES: [&str; 3] = ["decision.json", "verifier_outputs.json", "spec.md"];
/// Depth of the folders below that of the records: attempts of children of children.
const DEEPEST: usize = 12;

/// The content of complete records, while an agent works: programs of agents can write where their tools cannot.
#[derive(Debug, Default)]
pub(super) struct RecordCopy(BTreeMap<PathBuf, Vec<u8>>);

impl RecordCopy {
    /// Reads the records in the folders of agents.
    pub(super) fn of(roots: &[&Path]) -> Self {
        let mut copy = Self::default();
        for folder in roots.iter().flat_map(|root| marked_records(root)) {
            copy.add(&folder, 0);
        }
        copy
    }

    fn add(&mut self, folder: &Path, depth: usize) {
        if folder.join(FILES[0]).is_file() {
            let files = FILES.iter().map(|name| folder.join(name));
            self.0.extend(files.filter_map(|file| Some((file.clone(), fs::read(file).ok()?))));
        }
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        if depth < DEEPEST {
            folders.for_each(|entry| self.add(&entry.path(), depth + 1));
        }
    }

    /// Puts back what was changed or removed; returns a notice for each file.
    pub(super) fn put_back(&self) -> Vec<String> {
        let changed = self.0.iter().filter(|(file, content)| fs::read(file).ok().as_ref() != Some(content));
        changed.map(|(file, content)| notice(file, &superstep_base::files::replace(file, content))).collect()
    }
}

fn notice(file: &Path, written: &std::io::Result<()>) -> String {
    let file = file.display();
    match written {
        Ok(()) => format!("the record {file} was changed while an agent worked, and was put back"),
        Err(error) => format!("the record {file} was changed while an agent worked, and cannot be put back: {error}"),
    }
}
