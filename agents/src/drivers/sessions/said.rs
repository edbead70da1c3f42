//! The messages of a session, and the last of them. Knows messages as JSON with a role; no file.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::read::Told;

/// The messages of a conversation, as the JSON they were stored as.
#[derive(Default)]
pub(in crate::drivers) struct Said {
    /// All of them, with commas between.
    pub(in crate::drivers) joined: String,
    /// From the assistant's last message on.
    pub(in crate::drivers) tail: Vec<Box<RawValue>>,
}

impl Said {
    /// Takes a message up.
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

    pub(super) fn take(&mut self, told: Told) {
        if let Told::Message(message, _) = told {
            self.push(message);
        }
    }

    /// What was said later comes behind.
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
    serde_json::from_str::<Role>(message.get()).is_ok_and(|said| said.role == "assistant")
}
