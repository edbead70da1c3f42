//! Closures that give away or lend what they captured: a node runs more than once.

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
    let name = String::from("tides");
    let _ = StateGraph::<Draft, Step>::new().add_node(Step::Write, move |_: Arc<Draft>, _: Ctx| async move {
        Ok::<_, NodeError>(Draft::update().text(name))
    });
    let lent = String::from("tides");
    let _ = StateGraph::<Draft, Step>::new()
        .add_node(Step::Write, |_: Arc<Draft>, _: Ctx| async { Ok::<_, NodeError>(Draft::update().text(&*lent)) });
}
