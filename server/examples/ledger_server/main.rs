//! A program whose runs write to a ledger, once for each entry, however often the server is killed: `ledger_server serve`. The variable
//! `LEDGER` names the file. It has some of the graphs of the other example too.

#[path = "../agent_server/graphs.rs"]
#[allow(dead_code, reason = "some of the graphs are used")]
mod graphs;
mod tour;

use std::fs::OpenOptions;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use superstep::prelude::*;
use superstep_app::{App, Register};

/// Entries of a run, which are written one after the other.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(schema)]
struct Entries {
    /// The account that an entry is for.
    label: String,
    /// The number of entries to write.
    entries: u64,
    /// The number of the last entry that was written; 0 in the input of a run.
    number: u64,
    /// The pause before and after each entry, in milliseconds.
    ms: u64,
    /// The entries of all runs of the thread.
    #[channel(append)]
    log: Vec<String>,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Clerk {
    Write,
}

/// Appends a line to the ledger. One write: lines of several processes do not mix.
async fn append(entry: String) -> Result<String, std::io::Error> {
    let path = std::env::var_os("LEDGER").unwrap_or_else(|| "ledger.txt".into());
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(format!("{} {entry}\n", std::process::id()).as_bytes())?;
    Ok(entry)
}

async fn write(state: Arc<Entries>, ctx: Ctx) -> Result<EntriesUpdate, NodeError> {
    let number = state.number + 1;
    let entry = format!("{} {number}", state.label);
    tokio::time::sleep(Duration::from_millis(state.ms)).await;
    let entry = ctx.effect("write", &entry, async |_| append(entry.clone()).await).await?;
    ctx.emit(serde_json::json!({ "number": number })).await;
    tokio::time::sleep(Duration::from_millis(state.ms)).await;
    Ok(Entries::update().number(number).log([entry]))
}

#[derive(Route)]
enum AfterWrite {
    #[to(Clerk::Write)]
    Again,
    #[to(END)]
    Enough,
}

fn after_write(state: &Entries) -> AfterWrite {
    if state.number < state.entries { AfterWrite::Again } else { AfterWrite::Enough }
}

fn ledger() -> Result<CompiledGraph<Entries, Clerk>, CompileError> {
    StateGraph::new()
        .add_node(Clerk::Write, write)
        .add_edge(START, Clerk::Write)
        .add_conditional_edges(Clerk::Write, after_write)
        .compile()
}

fn main() -> ExitCode {
    App::new()
        .about("Runs that write to a ledger")
        .version(env!("CARGO_PKG_VERSION"))
        .graph("ledger", ledger().about("Writes entries, each once"))
        .graph("tour", tour::tour().about("Calls subgraphs, several times"))
        .graph("counter", graphs::counter().about("Counts five steps"))
        .graph("approval", graphs::approval().about("Proposes, asks, and finishes"))
        .graph("slow", graphs::slow().about("Ticks, with a pause before each"))
        .main()
}
