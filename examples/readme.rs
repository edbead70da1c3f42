//! A letter that is sent if you approve it: the program of the README, on few lines.
#![cfg_attr(rustfmt, rustfmt_skip)]

use std::{process::ExitCode, sync::Arc};
use superstep::prelude::*; use superstep_app::App;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Letter { text: String, sent: bool }
#[derive(NodeId)]
enum Step { Write, Send }
#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool)]
struct Approve(String);

async fn write(_: Arc<Letter>, _: Ctx) -> Result<LetterUpdate, NodeError> {
    Ok(Letter::update().text("The tide is at nine."))
}
async fn send(letter: Arc<Letter>, ctx: Ctx) -> Result<LetterUpdate, NodeError> {
    let sent = ctx.interrupt(Approve(letter.text.clone()))?; // stops here until somebody has answered
    Ok(Letter::update().sent(sent))
}
fn main() -> ExitCode {
    let graph = StateGraph::new()
        .add_node(Step::Write, write)
        .add_node(Step::Send, send.asks::<Approve>())
        .add_sequence([Step::Write, Step::Send]).compile();
    App::new().graph("letter", graph).main()
}
