//! Several processes on one store in PostgreSQL, which are killed, frozen and cut off while they run threads. Each execution of an
//! effect is counted outside of the store: what was acknowledged is never executed again, nothing acknowledged is lost, and every
//! thread ends as it would have ended undisturbed.
//!
//! `SUPERSTEP_KILLS=100` disturbs each team a hundred times, `SUPERSTEP_SEED=7` draws others. Small because it only lists the files.

mod fleet;
mod graphs;
mod judge;
mod ledger;
mod proxy;
#[path = "../../support/restate.rs"]
mod restate;
mod scenarios;
#[path = "../../support/postgres.rs"]
mod server;
mod team;
