//! A program whose graphs LangGraph's clients are tried with: `agent_server serve`. It has all other commands of an `App` too.
//!
//! Small because the graphs are in files of their own.

mod chat;
mod graphs;

use std::process::ExitCode;

use superstep_app::{App, Register};

fn main() -> ExitCode {
    App::new()
        .about("Graphs that clients of the server are tried with")
        .version(env!("CARGO_PKG_VERSION"))
        .graph("counter", graphs::counter().about("Counts five steps"))
        .graph("chat_echo", chat::chat_echo().about("Repeats the last message").entry().context_from_json())
        .graph("approval", graphs::approval().about("Proposes, asks, and finishes"))
        .graph("parallel", graphs::parallel().about("Squares numbers in parallel"))
        .graph("slow", graphs::slow().about("Ticks, with a pause before each"))
        .graph("fails", graphs::fails().about("Fails in its second node"))
        .graph("nested", graphs::nested().about("Has a subgraph"))
        .main()
}
