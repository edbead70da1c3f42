//! Inspects a run's history, changes a state in it, continues from there, and compares the two branches.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use superstep::prelude::*;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Essay {
    topic: String,
    #[channel(append)]
    notes: Vec<String>,
    text: String,
}

#[derive(NodeId)]
enum Step {
    Plan,
    Research,
    Write,
}

async fn plan(_: Arc<Essay>, _: Ctx) -> Result<EssayUpdate, NodeError> {
    Ok(Essay::update().topic("tides"))
}
async fn research(essay: Arc<Essay>, _: Ctx) -> Result<EssayUpdate, NodeError> {
    Ok(Essay::update().notes([format!("{} are regular", essay.topic)]))
}
async fn write(essay: Arc<Essay>, _: Ctx) -> Result<EssayUpdate, NodeError> {
    Ok(Essay::update().text(format!("On {}: {}.", essay.topic, essay.notes.join(", "))))
}

fn graph() -> Result<CompiledGraph<Essay, Step>, CompileError> {
    StateGraph::new()
        .add_node(Step::Plan, plan)
        .add_node(Step::Research, research)
        .add_node(Step::Write, write)
        .add_sequence([Step::Plan, Step::Research, Step::Write])
        .compile()
}

/// Prints every channel that differs.
fn print_diff(old: &Essay, new: &Essay) -> Result<(), serde_json::Error> {
    let (old, new) = (serde_json::to_value(old)?, serde_json::to_value(new)?);
    for (channel, value) in new.as_object().into_iter().flatten().filter(|(channel, value)| old[channel] != **value) {
        println!("  {channel}:\n    - {}\n    + {value}", old[channel]);
    }
    Ok(())
}

async fn run() -> Result<(), Box<dyn Error>> {
    let thread = graph()?.with_checkpointer(MemoryCheckpointer::new()).thread("essay");
    let first = thread.invoke(Essay::update()).await?;

    let steps = thread.history().await?.all().await?;
    println!("newest first:");
    for StateSnapshot { id, step, next, .. } in &steps {
        println!(
            "  checkpoint {id}, step {step}, next: {}",
            if next.is_empty() { "nothing".into() } else { next.join(", ") }
        );
    }

    let before = steps.iter().find(|step| step.next == ["Research"]).ok_or("no checkpoint before `Research`")?;
    let fork = thread.clone().at(before.id).update_state(Essay::update().topic("moons")).await?;
    println!("another topic at checkpoint {} makes checkpoint {}", before.id, fork.checkpoint);
    let second = thread.proceed().await?;

    println!("the branches differ in");
    print_diff(first.state(), second.state())?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Err(error) = run().await else { return ExitCode::SUCCESS };
    eprintln!("error: {error}");
    if let Some(help) = error.downcast_ref::<RunError>().and_then(RunError::help) {
        eprintln!(" help: {help}");
    }
    ExitCode::FAILURE
}
