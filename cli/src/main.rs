//! The binary `superstep`.
//!
//! So far it says what it is; the commands over registered graphs come with the `app` room.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line speaks")]

use std::process::ExitCode;

const HELP: &str = "\
superstep: typed-state graphs with durable checkpoints

usage: superstep [--help | --version]

There are no commands yet. To run a graph from the command line now:
  cargo run --example plan_runner -- --help
";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (None | Some("--help" | "-h"), None) => print!("{HELP}"),
        (Some("--version" | "-V"), None) => println!("superstep {}", env!("CARGO_PKG_VERSION")),
        (Some(other), _) => {
            eprintln!("error: unknown argument `{other}`\n help: `superstep --help` shows what there is");
            return ExitCode::from(2);
        }
        (None, Some(_)) => return ExitCode::from(2),
    }
    ExitCode::SUCCESS
}
