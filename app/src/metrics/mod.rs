//! `runner --metrics`: what a runner does, as numbers for Prometheus. Nothing is global: a program that embeds the library has no
//! recorder of ours.
//!
//! | file | what it knows |
//! |---|---|
//! | `histogram` | counts of durations by size |
//! | `numbers` | the numbers of a runner by graph, and how its turns change them |
//! | `page` | the names, units and explanations of the numbers; their text |
//! | `listener` | the requests that get the text |
//!
//! Small because it only lists the folder.

mod histogram;
mod listener;
mod numbers;
mod page;

pub(crate) use listener::serve;
pub(crate) use numbers::RunnerMetrics;
