//! The texts of a turn: read from contents before a request, stored as contents for the journal, and read back from
//! there. Knows prompts; must not know drivers.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::contents::{ContentError, Contents};
use super::prompts::Parts;
use super::turn::Turn;
use crate::drivers::Session;
use crate::graph::NodeError;
use crate::process::Redactor;

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
    fn contents(&self) -> Contents {
        let home = self.agent.home.as_deref().unwrap_or(Path::new(".superstep"));
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
                let parts = parts.redacted(&redactor);
                if has_place { parts.stored(&contents) } else { parts.literal() }
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
pub(crate) fn read_texts(message: &mut Value) {
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
