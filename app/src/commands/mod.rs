//! The commands: from parsed arguments to text, JSON and an exit code.
//!
//! | file | what it knows |
//! |---|---|
//! | `session`, `store` | one call of the program; its store, here or in the process that holds it |
//! | `runs`, `interactive`, `queue`, `answers` | the commands that run a thread; questions asked on the terminal; requests for a runner; answers, signals |
//! | `reads`, `replays`, `edits` | the commands about a thread and its history |
//! | `page_file` | a run as one file that a browser shows |
//! | `transfer`, `migrate`, `runner`, `restate`, `retention` | the commands about stores; a runner that Restate calls; what one removes by itself |
//! | `serve`, `keys`, `mcp` | the graphs over HTTP; the keys of their clients; as tools of a coding agent |
//! | `agent_config`, `browser` | the configuration of a coding agent; the browser of this machine |
//! | `client_input` | arguments of a graph as the fields of a client's input |
//! | `fork_hook` | what a graph does outside of the store for the forks of clients |
//!
//! Small because it only lists the folder.

#[cfg(feature = "server")]
mod agent_config;
mod answers;
#[cfg(feature = "server")]
mod browser;
#[cfg(feature = "server")]
mod client_input;
mod edits;
#[cfg(feature = "server")]
mod fork_hook;
mod interactive;
mod keys;
mod mcp;
mod migrate;
mod page_file;
mod queue;
mod reads;
mod replays;
mod restate;
mod retention;
mod runner;
mod runs;
mod serve;
mod session;
mod store;
mod transfer;

pub(crate) use session::Session;
