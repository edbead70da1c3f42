//! Servers that are killed, and several servers of one store: nothing that was acknowledged is lost, and nothing happens twice.
//!
//! | file | what it knows |
//! |---|---|
//! | `site` | a store, the processes that serve it, and the ledger that their runs write to |
//! | `script` | what a client does with a thread, drawn at random, and what must have become of it |
//! | `kills` | a server that is killed at any moment |
//! | `numbers` | the events of runs whose server is killed |
//! | `subgraphs` | the same of runs with subgraphs |
//! | `two_servers` | two servers of one store |
//!
//! `SUPERSTEP_KILLS=100` plays a hundred rounds, `SUPERSTEP_SEED=7` begins with another one. Small because it only lists the folder.

mod kills;
mod numbers;
mod script;
mod site;
mod subgraphs;
mod two_servers;
