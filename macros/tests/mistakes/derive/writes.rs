//! Must not compile: writes that do not fit their channel, and a state without what its trait asks for.
use serde::{Deserialize, Serialize};
use superstep_macros::State;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Draft {
    approved: bool,
    #[channel(add)]
    rounds: u32,
}

#[derive(State, Clone)]
struct Bare {
    #[channel(add)]
    rounds: Vec<u32>,
    #[channel(reduce = longest, write = u8)]
    text: String,
}

fn longest(_: &mut String, _: String) {}

fn main() {
    let _ = Draft::update().txt("typo");
    let _ = Draft::update().approved("yes");
    let _ = Draft::update().rounds("one");
}
