//! Verification: findings read from the output of commands, their fingerprints, and decisions made from them.
#![cfg(feature = "agents")]
#![allow(clippy::unwrap_used)]

mod attempts;
mod clusters;
mod decide;
mod findings;
mod fingerprints;
mod merge;
mod outputs;
mod reports;
mod secrets;
mod shapes;
mod spec;
mod split;
mod what_if;
