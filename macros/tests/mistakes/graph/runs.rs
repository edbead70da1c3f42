//! What a run is not given, and a context that has no default.

use superstep::prelude::*;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Draft {
    text: String,
}

#[derive(NodeId)]
enum Step {
    Write,
}

struct Deps {
    model: String,
}

fn given_a_state(graph: CompiledGraph<Draft, Step>) {
    let _ = graph.invoke(Draft::default());
    let _ = graph.thread("t").update_state(Draft::default());
}

fn without_a_context(graph: CompiledGraph<Draft, Step, Deps>) {
    let _ = graph.thread("t");
    let _ = graph.invoke(Draft::update());
}

fn main() {}
