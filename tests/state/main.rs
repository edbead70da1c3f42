//! States: the code that the derives generate, the channels of states that are data, and the JSON Schemas of both. Small because it only
//! lists the files.
#![allow(clippy::unwrap_used)]

mod data_state;
pub mod derive;
mod schemas;
