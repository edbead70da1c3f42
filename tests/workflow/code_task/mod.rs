//! Tasks that are executed by attempts, on real repositories, with agents that do what a function says and verifiers that are real
//! commands.

mod attempts;
mod desk;
mod kills;
mod obstacles;
mod persons;
mod random;
mod records;
mod splits;
