//! Streams the model's output as events, with keys removed.

use super::key::KeyFilter;
use super::piece::{Piece, PieceFilter};
use super::reply::ReplyPiece;
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
            self.sender.tell(event).await;
        }
    }
}
