//! Must not compile: an upgrade that makes something else than the field, or of something else than a value.
use serde::{Deserialize, Serialize};
use superstep::graph::State;

#[derive(State, Clone, Default, Serialize, Deserialize)]
struct Draft {
    #[channel(version = 2, upgrade = wrong_type)]
    wrong_type: String,
    #[channel(version = 2, upgrade = wrong_arguments)]
    wrong_arguments: String,
    #[channel(version = 2, upgrade = no_result)]
    no_result: String,
}

fn wrong_type(_: serde_json::Value, _: u32) -> Result<u32, String> {
    Ok(1)
}

fn wrong_arguments(_: String) -> Result<String, String> {
    Ok(String::new())
}

fn no_result(_: serde_json::Value, _: u32) -> String {
    String::new()
}

fn main() {}
