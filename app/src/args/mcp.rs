//! Arguments of `mcp`.
//!
//! Small because a client that starts the program needs few settings.

use clap::{Args, ValueEnum};

/// Serve the graphs to one coding agent, as tools over standard input and output
///
/// The Model Context Protocol: each graph is a tool that starts a durable run and returns its thread at once; others wait for it,
/// answer its questions and cancel it. Agents start this command themselves; `--install` says how. Runs go on after the agent's
/// session when something serves the store again. `serve` has the same tools under /mcp, for any number of agents.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  {bin} mcp --install claude
  {bin} mcp --install codex --write
  {bin} mcp --install claude --url http://127.0.0.1:2024/mcp --write")]
#[cfg_attr(not(feature = "server"), allow(dead_code, reason = "the program has no server"))]
pub(crate) struct McpArgs {
    /// Print the configuration of an agent in which it finds this program
    #[arg(long, value_name = "AGENT")]
    pub install: Option<AgentProgram>,

    /// Write the configuration: `.mcp.json` in this folder for claude, `config.toml` in the folder of codex
    #[arg(long, requires = "install")]
    pub write: bool,

    /// The address of a server that runs already, in the place of a program that the agent starts
    #[arg(long, value_name = "URL", requires = "install")]
    pub url: Option<String>,

    /// Maximum number of runs that are executed at once
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub jobs: usize,
}

/// A coding agent whose configuration is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AgentProgram {
    Claude,
    Codex,
}
