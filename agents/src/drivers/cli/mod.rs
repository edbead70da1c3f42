//! Drivers `cli:codex` and `cli:claude`: coding agents that are programs, run for each turn and read while they write.
//! Each dialect has a file; the common code is in `agent` and `turn`.

mod agent;
mod claude;
mod codex;
mod dialect;
mod failure;
mod prompt;
mod scratch;
mod strict;
mod turn;

pub use agent::CliAgent;
