//! Stop for a person, exit, resume in a second process: `approval ask`, then `approval yes` or `approval no`. A second
//! argument names the store.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use superstep::prelude::*;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Letter {
    to: String,
    text: String,
    is_sent: bool,
}

#[derive(NodeId)]
enum Step {
    Write,
    Send,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool, name = "send_it")]
struct SendIt {
    text: String,
}

async fn write(letter: Arc<Letter>, _: Ctx) -> Result<LetterUpdate, NodeError> {
    Ok(Letter::update().text(format!("Dear {}, the tide is at nine.", letter.to)))
}
async fn send(letter: Arc<Letter>, ctx: Ctx) -> Result<LetterUpdate, NodeError> {
    let approved = ctx.interrupt(SendIt { text: letter.text.clone() })?;
    Ok(Letter::update().is_sent(approved))
}

fn graph() -> Result<CompiledGraph<Letter, Step>, CompileError> {
    StateGraph::new()
        .add_node(Step::Write, write)
        .add_node(Step::Send, send.asks::<SendIt>())
        .add_sequence([Step::Write, Step::Send])
        .compile()
}

async fn run(word: &str, store: &str) -> Result<(), Box<dyn Error>> {
    let request = match word {
        "ask" => Request::input(Letter::update().to("Ada")),
        "yes" | "no" => Request::answers([Answer::new::<SendIt>(&(word == "yes"))]),
        _ => return Err("usage: approval ask|yes|no [STORE]".into()),
    };
    let thread = graph()?.with_checkpointer(SledCheckpointer::open(store).map_err(RunError::from)?).thread("letter");
    let outcome = thread.run(request).await?;
    for asked in outcome.questions().iter().filter_map(|question| question.payload::<SendIt>()) {
        println!("send \"{}\"? answer with `approval yes` or `approval no`", asked.text);
    }
    if let Some(letter) = outcome.finished() {
        println!("{}: {}", if letter.is_sent { "sent" } else { "kept" }, letter.text);
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let (word, store) = (words.next().unwrap_or_default(), words.next());
    let Err(error) = run(&word, store.as_deref().unwrap_or("approval.sled")).await else { return ExitCode::SUCCESS };
    eprintln!("error: {error}");
    if let Some(help) = error.downcast_ref::<RunError>().and_then(RunError::help) {
        eprintln!(" help: {help}");
    }
    ExitCode::FAILURE
}
