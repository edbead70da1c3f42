//! A method as a node.

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

#[derive(Clone)]
struct Model;

impl Model {
    async fn write(&self, _: Arc<Draft>, _: Ctx) -> Result<DraftUpdate, NodeError> {
        Ok(Draft::update())
    }
}

fn main() {
    let _ = StateGraph::<Draft, Step>::new().add_node(Step::Write, Model::write);
    // what the note says:
    let model = Arc::new(Model);
    let _ = StateGraph::<Draft, Step>::new().add_node(Step::Write, move |draft, ctx| {
        let model = Arc::clone(&model);
        async move { model.write(draft, ctx).await }
    });
}
