//! Closures whose error type nothing names.

use std::sync::Arc;

use superstep::prelude::*;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Draft {
    text: String,
}

#[derive(NodeId)]
enum Step {
    Write,
    Review,
}

fn main() {
    let _ = StateGraph::<Draft, Step>::new()
        .add_node(Step::Write, |draft: Arc<Draft>, _: Ctx| async move { Ok(Draft::update().text(&*draft.text)) });
}
