//! Nodes whose futures are not `Send`.

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

async fn holds_an_rc(_: Arc<Draft>, ctx: Ctx) -> Result<DraftUpdate, NodeError> {
    let text = std::rc::Rc::new(String::from("tides"));
    ctx.now().await?;
    Ok(Draft::update().text(&**text))
}

fn main() {
    let _ = StateGraph::<Draft, Step>::new().add_node(Step::Write, holds_an_rc);
    let _ = StateGraph::<Draft, Step>::new().add_node(Step::Write, holds_an_rc.replayable());
}
