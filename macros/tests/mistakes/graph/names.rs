//! Enums that name nodes and outcomes without their derives.

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

enum Plain {
    Write,
}

enum AfterReview {
    Revise,
    Publish,
}

impl Route<Step> for AfterReview {
    fn target(self) -> Target<Step> {
        match self {
            Self::Revise => Step::Write.into(),
            Self::Publish => END.into(),
        }
    }
}

async fn write(_: std::sync::Arc<Draft>, _: Ctx) -> Result<DraftUpdate, NodeError> {
    Ok(Draft::update())
}

fn after_review(_: &Draft) -> AfterReview {
    AfterReview::Publish
}

fn main() {
    let _ = StateGraph::<Draft, Plain>::new().add_node(Plain::Write, write);
    let _ = StateGraph::<Draft, Step>::new().add_conditional_edges(Step::Review, after_review);
}
