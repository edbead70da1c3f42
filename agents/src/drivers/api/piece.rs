//! Pieces of an answer as they arrive, with keys removed, and their transcript, which is sent as events.

use serde::{Deserialize, Serialize};
use superstep_base::text::end;

use super::config::{KeyFilter, KeyStreamFilter};
use super::reply::ReplyPiece;
use crate::drivers::{AgentEvent, Sender};

/// Piece of an answer that is still arriving. As JSON: `{"text": "Hel"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    /// Output text.
    Text(String),
    /// Reasoning text, which is no part of the message.
    Thinking(String),
}

/// Removes keys from the pieces of one answer, also from pieces that split a key.
pub(super) struct PieceFilter {
    text: KeyStreamFilter,
    thinking: KeyStreamFilter,
}

impl PieceFilter {
    pub(super) fn new(keys: &KeyFilter) -> Self {
        let filter = || KeyStreamFilter::new(keys.clone());
        Self { text: filter(), thinking: filter() }
    }

    /// Returns what can be shown after a chunk.
    pub(super) fn push(&mut self, piece: &ReplyPiece) -> Vec<Piece> {
        pieces(self.thinking.push(&piece.thinking), self.text.push(&piece.text))
    }

    /// Returns what was held back.
    pub(super) fn finish(&mut self) -> Vec<Piece> {
        pieces(self.thinking.finish(), self.text.finish())
    }
}

fn pieces(thinking: String, text: String) -> Vec<Piece> {
    let mut pieces = vec![];
    if !thinking.is_empty() {
        pieces.push(Piece::Thinking(thinking));
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    pieces
}

/// Number of bytes at the end of a transcript that an error carries.
const MAX_BYTES: usize = 4000;

/// Appends to a transcript and keeps its end.
pub(super) fn append_bounded(transcript: &mut String, text: &str) {
    transcript.push_str(text);
    let kept = end(transcript, MAX_BYTES).len();
    transcript.drain(..transcript.len() - kept);
}

/// Output of one request, sent as events while it arrives.
pub(super) struct Transcript {
    sender: Sender,
    filter: PieceFilter,
    pub(super) text: String,
}

impl Transcript {
    pub(super) fn new(key_filter: &KeyFilter, sender: Sender) -> Self {
        Self { sender, filter: PieceFilter::new(key_filter), text: String::new() }
    }

    pub(super) async fn push(&mut self, piece: ReplyPiece) {
        let shown = self.filter.push(&piece);
        self.send(shown).await;
    }

    pub(super) async fn finish(&mut self) {
        let shown = self.filter.finish();
        self.send(shown).await;
    }

    async fn send(&mut self, pieces: Vec<Piece>) {
        for piece in pieces {
            let event = match piece {
                Piece::Thinking(text) => AgentEvent::Thinking(text),
                Piece::Text(text) => {
                    append_bounded(&mut self.text, &text);
                    AgentEvent::Text(text)
                }
            };
            self.sender.send(event).await;
        }
    }
}
