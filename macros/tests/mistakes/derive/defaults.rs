//! Must not compile: a second `Default` of a state, and a default that does not fit its field.
use serde::{Deserialize, Serialize};
use superstep::graph::State;

#[derive(State, Clone, Default, Serialize, Deserialize)]
struct Twice {
    #[channel(default = 5)]
    attempts: u32,
}

#[derive(State, Clone, Serialize, Deserialize)]
struct OtherType {
    #[channel(default = "five")]
    attempts: u32,
    notes: Vec<String>,
}

fn main() {}
