//! Tasks that are executed by attempts, in real repositories, with agents that are functions and verifiers that are
//! real commands.

mod attempts;
pub(crate) mod desk;
mod kills;
mod obstacles;
mod persons;
mod random;
mod records;
mod splits;
