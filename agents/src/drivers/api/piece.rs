//! Pieces of an answer as they arrive, with keys removed. Knows no listener.

use serde::{Deserialize, Serialize};

use super::key::{KeyFilter, KeyStreamFilter};
use super::reply::ReplyPiece;

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
