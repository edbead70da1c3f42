//! Types without a JSON Schema where one is asked for.

use superstep::prelude::*;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Hint(String);

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(schema)]
struct Draft {
    topic: String,
    hint: Hint,
    #[channel(append)]
    hints: Vec<Hint>,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = Hint, schema)]
struct Approve;

fn main() {}
