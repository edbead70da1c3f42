//! What a model says, told while it says it, without keys.

use super::key::{Hide, HidePieces};
use super::reply::Piece;
use crate::drivers::{AgentEvent, Sender};

/// How much of what was said is kept for an error, in bytes.
const KEPT: usize = 4000;

/// Keeps the end of what was said.
pub(super) fn append_bounded(transcript: &mut String, said: &str) {
    transcript.push_str(said);
    let beyond = transcript.len().saturating_sub(KEPT);
    let cut = (beyond..).find(|at| transcript.is_char_boundary(*at)).unwrap_or(0);
    transcript.drain(..cut);
}

/// Tells what the model says while it says it.
pub(super) struct Heard {
    tell: Sender,
    text: HidePieces,
    thinking: HidePieces,
    pub(super) said: String,
}

impl Heard {
    pub(super) fn new(hide: &Hide, tell: Sender) -> Self {
        let pieces = || HidePieces::new(hide.clone());
        Self { tell, text: pieces(), thinking: pieces(), said: String::new() }
    }

    pub(super) async fn hear(&mut self, piece: Piece) {
        let (thinking, text) = (self.thinking.push(&piece.thinking), self.text.push(&piece.text));
        self.say(thinking, text).await;
    }

    pub(super) async fn finish(&mut self) {
        let (thinking, text) = (self.thinking.finish(), self.text.finish());
        self.say(thinking, text).await;
    }

    async fn say(&mut self, thinking: String, text: String) {
        if !thinking.is_empty() {
            self.tell.tell(AgentEvent::Thinking(thinking)).await;
        }
        if !text.is_empty() {
            append_bounded(&mut self.said, &text);
            self.tell.tell(AgentEvent::Text(text)).await;
        }
    }
}
