//! Lists of targets of two types: an array has one type, a tuple takes any mix.

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

async fn write(_: Arc<Draft>, _: Ctx) -> Result<DraftUpdate, NodeError> {
    Ok(Draft::update())
}

fn main() {
    let _ = StateGraph::<Draft, Step>::new().add_node(Step::Write, write.goes_to([Step::Review, END]));
    let _ = StateGraph::<Draft, Step>::new().add_edge(Step::Write, [Step::Review, END]);
    let _ = StateGraph::<Draft, Step>::new().add_node(Step::Write, write.goes_to((Step::Review, END)));
    let _ = StateGraph::<Draft, Step>::new().add_edge(Step::Write, (Step::Review, END));
}
