//! A letter that is sent only with a person's approval.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::graph::{CompileError, CompiledGraph, Ctx, Interrupt, NodeError, NodeExt, NodeId, State, StateGraph};

/// The letter.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
pub struct Letter {
    /// The recipient.
    pub to: String,
    /// The text.
    pub text: String,
    /// Set once it was sent.
    pub is_sent: bool,
}

/// The nodes of the graph.
#[derive(NodeId)]
pub enum Step {
    /// Writes the letter.
    Write,
    /// Asks for approval, and sends the letter.
    Send,
}

/// The interrupt before a letter is sent; resumes with a `bool`.
#[derive(Interrupt, Clone, Debug, Serialize, Deserialize)]
#[interrupt(resume = bool, name = "send_it")]
pub struct SendIt {
    /// The letter.
    pub text: String,
}

async fn write(letter: Arc<Letter>, _: Ctx) -> Result<LetterUpdate, NodeError> {
    Ok(Letter::update().text(format!("Dear {}, the tide is at nine.", letter.to)))
}

async fn send(letter: Arc<Letter>, ctx: Ctx) -> Result<LetterUpdate, NodeError> {
    let approved = ctx.interrupt(SendIt { text: letter.text.clone() })?;
    Ok(Letter::update().is_sent(approved))
}

/// Returns the graph.
///
/// # Errors
/// Only if the graph is invalid, which is a bug.
pub fn graph() -> Result<CompiledGraph<Letter, Step>, CompileError> {
    StateGraph::new()
        .add_node(Step::Write, write.replayable())
        .add_node(Step::Send, send.asks::<SendIt>().replayable())
        .add_sequence([Step::Write, Step::Send])
        .compile()
}
