//! Streams the model's output as events, with keys removed.

use super::key::{KeyFilter, KeyStreamFilter};
use super::reply::Piece;
use crate::drivers::{AgentEvent, Sender};

/// Number of bytes at the end of a transcript that an error carries.
const MAX_BYTES: usize = 4000;

/// Appends to a transcript and keeps its end.
pub(super) fn append_bounded(transcript: &mut String, text: &str) {
    transcript.push_str(text);
    let beyond = transcript.len().saturating_sub(MAX_BYTES);
    let cut = (beyond..).find(|at| transcript.is_char_boundary(*at)).unwrap_or(0);
    transcript.drain(..cut);
}

/// Output of one request, sent as events while it arrives.
pub(super) struct Transcript {
    sender: Sender,
    text_filter: KeyStreamFilter,
    thinking_filter: KeyStreamFilter,
    pub(super) text: String,
}

impl Transcript {
    pub(super) fn new(key_filter: &KeyFilter, sender: Sender) -> Self {
        let filter = || KeyStreamFilter::new(key_filter.clone());
        Self { sender, text_filter: filter(), thinking_filter: filter(), text: String::new() }
    }

    pub(super) async fn push(&mut self, piece: Piece) {
        let (thinking, text) = (self.thinking_filter.push(&piece.thinking), self.text_filter.push(&piece.text));
        self.send(thinking, text).await;
    }

    pub(super) async fn finish(&mut self) {
        let (thinking, text) = (self.thinking_filter.finish(), self.text_filter.finish());
        self.send(thinking, text).await;
    }

    async fn send(&mut self, thinking: String, text: String) {
        if !thinking.is_empty() {
            self.sender.tell(AgentEvent::Thinking(thinking)).await;
        }
        if !text.is_empty() {
            append_bounded(&mut self.text, &text);
            self.sender.tell(AgentEvent::Text(text)).await;
        }
    }
}
