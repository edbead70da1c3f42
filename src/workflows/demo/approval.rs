//! A letter that is sent only if a person agrees.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::graph::{CompileError, CompiledGraph, Ctx, Interrupt, NodeError, NodeExt, NodeId, State, StateGraph};

/// The letter.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
pub struct Letter {
    /// Whom it is for.
    pub to: String,
    /// What it says.
    pub text: String,
    /// Whether it was sent.
    pub is_sent: bool,
}

/// The steps.
#[derive(NodeId)]
pub enum Step {
    /// Writes it.
    Write,
    /// Asks, and sends it.
    Send,
}

/// The question whether a letter may be sent: answered by a `bool`.
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
/// None that a test would not find.
pub fn graph() -> Result<CompiledGraph<Letter, Step>, CompileError> {
    StateGraph::new()
        .add_node(Step::Write, write.replayable())
        .add_node(Step::Send, send.asks::<SendIt>().replayable())
        .add_sequence([Step::Write, Step::Send])
        .compile()
}
