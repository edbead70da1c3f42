//! Messages of a session. Knows messages as JSON with a role; no file.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::read::Entry;

/// Messages of a conversation, as stored JSON.
#[derive(Default)]
pub(in crate::drivers) struct Messages {
    /// All messages, joined by commas.
    pub(in crate::drivers) joined: String,
    /// The assistant's last message and all that follow it.
    pub(in crate::drivers) tail: Vec<Box<RawValue>>,
}

impl Messages {
    pub(in crate::drivers) fn push(&mut self, message: Box<RawValue>) {
        if !self.joined.is_empty() {
            self.joined.push(',');
        }
        self.joined.push_str(message.get());
        if is_assistant(&message) {
            self.tail.clear();
            self.tail.push(message);
        } else if !self.tail.is_empty() {
            self.tail.push(message);
        }
    }

    pub(super) fn take(&mut self, entry: Entry) {
        if let Entry::Message(message, _) = entry {
            self.push(message);
        }
    }

    /// Appends later messages.
    pub(super) fn append(&mut self, later: Self) {
        if !self.joined.is_empty() && !later.joined.is_empty() {
            self.joined.push(',');
        }
        self.joined.push_str(&later.joined);
        self.tail = later.tail;
    }
}

fn is_assistant(message: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct Role {
        role: String,
    }
    serde_json::from_str::<Role>(message.get()).is_ok_and(|message| message.role == "assistant")
}
