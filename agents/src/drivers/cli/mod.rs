//! Drivers `cli:codex` and `cli:claude`: coding agents that are programs, run for each turn and read while they write.
//! Each program has a file; the common code is in `agent` and `turn`.
//!
//! | file | what it knows |
//! |---|---|
//! | `agent` | settings, and running a program for a turn |
//! | `dialect` | a program, and the trait by which it is spoken with |
//! | `claude`, `codex` | what one program needs: arguments, output format, schemas |
//! | `input` | the prompt, and the walk over a schema |
//! | `turn` | the state of a turn, and its result |
//! | `failure` | classes of error texts |
//!
//! Small because it only lists the folder.

mod agent;
mod claude;
mod codex;
mod dialect;
mod failure;
mod input;
mod turn;

pub use agent::CliAgent;
pub(super) use claude::CLAUDE;
pub(super) use codex::CODEX;
pub use dialect::AgentProgram;
