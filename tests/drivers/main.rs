//! Drivers and what they stand on, through the public API: real child programs, real files, no model.
#![cfg(all(feature = "agents", unix))]
#![allow(clippy::unwrap_used)]

mod kit;
mod process;
mod scripted;
mod tools;
mod words;
