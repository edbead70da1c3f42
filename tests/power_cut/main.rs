//! The program that `cut.py` cuts the power of: it writes a thread and prints acknowledged checkpoints, or reads it and
//! prints its content. Knows nothing of cuts. `cargo test` does not run it; see `CONTRIBUTING.md`.
#![allow(clippy::unwrap_used, reason = "the exit code reports a failure")]

use std::io::Write;
use std::sync::Arc;

use superstep::checkpoint::{CheckpointId, Checkpointer, EffectRecord, FjallCheckpointer, Key, Order, decode_record};
use superstep::graph::{EventKind, Mode, Request};
use superstep::prelude::*;

/// The values that the tasks of three supersteps write: two in parallel, then one alone.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Tape {
    bytes: u64,
    #[channel(add)]
    rounds: u64,
    value: Vec<u8>,
    #[channel(append)]
    log: Vec<String>,
}

#[derive(NodeId)]
enum Step {
    Left,
    Right,
    Join,
}
#[derive(Route)]
enum After {
    #[to(Step::Left, Step::Right)]
    More,
    #[to(END)]
    Done,
}

type Made = Result<TapeUpdate, NodeError>;

/// Returns bytes that depend on their position and round.
fn value(bytes: u64, round: u64) -> Vec<u8> {
    (0..bytes).map(|at| (at.wrapping_mul(2_654_435_761).wrapping_add(round * 97) >> 7) as u8).collect()
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
        std::process::exit(3);
    }
}

/// Performs an effect, which is a line for `cut.py`: one when it happens and one when it is acknowledged.
async fn act(ctx: &Ctx, name: &str, round: u64) -> Result<String, NodeError> {
    let deed = |key: String| async move {
        say(&format!("did {key}"));
        Ok::<_, NodeError>(key)
    };
    let key = ctx.effect(name, &round, deed).await?;
    say(&format!("effect {key}"));
    Ok(format!("{name} {round}"))
}

async fn left(tape: Arc<Tape>, ctx: Ctx) -> Made {
    Ok(Tape::update().log([act(&ctx, "left", tape.rounds).await?]))
}
async fn right(tape: Arc<Tape>, ctx: Ctx) -> Made {
    Ok(Tape::update().log([act(&ctx, "right", tape.rounds).await?]))
}
async fn join(tape: Arc<Tape>, _: Ctx) -> Made {
    let round = tape.rounds;
    Ok(Tape::update().rounds(1_u64).value(value(tape.bytes, round + 1)).log([format!("join {round}")]))
}
fn after(tape: &Tape) -> After {
    if tape.rounds < 100_000 { After::More } else { After::Done }
}

fn graph() -> CompiledGraph<Tape, Step> {
    StateGraph::new()
        .add_node(Step::Left, left)
        .add_node(Step::Right, right)
        .add_node(Step::Join, join)
        .add_edge(START, [Step::Left, Step::Right])
        .add_edge([Step::Left, Step::Right], Step::Join)
        .add_conditional_edges(Step::Join, after)
        .compile()
        .unwrap()
}

async fn write(store: Arc<dyn Checkpointer>, bytes: u64) {
    let thread = graph().with_shared_checkpointer(store).thread("t");
    let request = match thread.state().await.unwrap() {
        None => Request::input(Tape::update().bytes(bytes).log(["begun"])),
        Some(_) => Request::proceed(),
    };
    let mut events = thread.stream(request, [Mode::Checkpoints]);
    while let Some(event) = events.next().await {
        if let EventKind::Checkpoint(made) = event.kind {
            say(&format!("ack {} {}", made.id.unwrap().0, made.step));
        }
    }
    let outcome = events.outcome().await;
    say(&format!("outcome {}", outcome.map_or_else(|error| error.to_string(), |_| "ended".into())));
}

/// Prints the content of the store, and its errors.
async fn read(store: Arc<dyn Checkpointer>) {
    let first = Key::Effect { checkpoint: CheckpointId(0), task: 0, key: String::new() };
    let last = Key::Event { checkpoint: CheckpointId(0), number: 0 };
    for (key, bytes) in store.scan(&"t".into(), first..=last, Order::Ascending, usize::MAX).await.unwrap() {
        if let Key::Effect { .. } = key {
            let record: EffectRecord = decode_record(&"t".into(), key, &bytes).unwrap();
            say(&format!("effect {}", record.idempotency));
        }
    }
    let thread = graph().with_shared_checkpointer(store).thread("t");
    let mut history = thread.history().await.unwrap();
    while let Some(made) = history.next().await {
        let made = made.unwrap();
        let tape = &made.values;
        if tape.rounds > 0 && tape.value != value(tape.bytes, tape.rounds) {
            say(&format!("wrong value in checkpoint {}", made.id));
        }
        let expected = |at: usize| match at.checked_sub(1) {
            None => "begun".to_owned(),
            Some(at) => format!("{} {}", ["left", "right", "join"][at % 3], at / 3),
        };
        if tape.log.iter().enumerate().any(|(at, entry)| *entry != expected(at)) {
            say(&format!("wrong log in checkpoint {}", made.id));
        }
        let log_of_step = |step: i64| usize::try_from(step + 1).map_or(0, |ends| 1 + ends / 2 * 3 + ends % 2 * 2);
        if tape.log.len() != log_of_step(made.step - 1) {
            say(&format!("checkpoint {} of step {} has {} entries", made.id, made.step, tape.log.len()));
        }
        say(&format!("have {} {}", made.id.0, made.step));
    }
}

/// Opens the store at a path, which is of fjall if `fjall:` stands before it.
fn open(path: &str) -> Arc<dyn Checkpointer> {
    match path.strip_prefix("fjall:") {
        Some(path) => Arc::new(FjallCheckpointer::open(path).unwrap()),
        None => Arc::new(SledCheckpointer::open(path).unwrap()),
    }
}

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [what, path, bytes] = args.as_slice() else {
        say("usage: power_cut write|read STORE BYTES; it is for `cut.py`");
        return;
    };
    let store = open(path);
    match what.as_str() {
        "write" => write(store, bytes.parse().unwrap()).await,
        _ => read(store).await,
    }
}
