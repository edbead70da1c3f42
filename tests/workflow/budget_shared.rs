//! Two parallel tasks share a budget: the later of their answers sets the limit, and none adds to another.

use std::sync::Arc;

use superstep::drivers::{NewLimits, RunLimits};
use superstep::graph::{CompiledGraph, InterruptId};
use superstep::nodes::{AfterBudget, AgentSpec, BudgetReached, BudgetShare, Folder, Prompt, RaisedLimits, Turn};
use superstep::plan::WorkReport;
use superstep::prelude::*;

use crate::agent::Agent;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Letters {
    home: Option<std::path::PathBuf>,
    #[channel(reduce = later)]
    limits: NewLimits,
}

fn later(limits: &mut NewLimits, new: NewLimits) {
    *limits = limits.latest(new);
}

#[derive(NodeId)]
enum Post {
    First,
    Second,
}

async fn written(letters: Arc<Letters>, ctx: Ctx<Arc<Agent>>) -> Result<LettersUpdate, NodeError> {
    let limits = RunLimits::default().tokens(0);
    let home = letters.home.clone().ok_or("no home")?;
    let agent = AgentSpec {
        role: "developer".into(),
        driver: "agent".into(),
        purse: BudgetShare { limits: letters.limits.apply_to(limits), ..BudgetShare::default() },
        home: Some(home.clone()),
        ..AgentSpec::default()
    };
    let folder = Folder { directory: home, apart: vec![] };
    let turn =
        Turn { guard: None, ..Turn::new::<WorkReport>("write", agent, Prompt::new("letter", "Write."), &folder) };
    Ok(Letters::update().limits(turn.take::<WorkReport, _>(&ctx).await?.raised))
}

fn graph() -> CompiledGraph<Letters, Post, Arc<Agent>> {
    let node = || written.replayable().asks::<BudgetReached>();
    StateGraph::new()
        .add_node(Post::First, node())
        .add_node(Post::Second, node())
        .add_edge(START, Post::First)
        .add_edge(START, Post::Second)
        .add_edge(Post::First, END)
        .add_edge(Post::Second, END)
        .compile()
        .unwrap()
}

fn answer(id: InterruptId, tokens: u64) -> Answer {
    Answer::new::<BudgetReached>(&AfterBudget::Raise(RaisedLimits { tokens: Some(tokens), ..RaisedLimits::default() }))
        .to(id)
}

#[tokio::test]
async fn the_later_answer_of_two_tasks_sets_the_limit() {
    let place = tempfile::tempdir().unwrap();
    let graph = graph().with_checkpointer(MemoryCheckpointer::new());
    let thread = graph.thread_with("letters", Arc::new(Agent::willing()));
    let outcome = thread.invoke(Letters::update().home(place.path().to_owned())).await.unwrap();
    let ids: Vec<InterruptId> = outcome.questions().iter().map(|question| question.id()).collect();
    assert_eq!(ids.len(), 2);
    thread.answer(answer(ids[1], 500)).await.unwrap();
    let state = thread.answer(answer(ids[0], 300)).await.unwrap().finished().unwrap();
    assert_eq!(state.limits.tokens.unwrap().limit, 300, "neither 500 nor 800");
    assert!(thread.verify().await.unwrap().agrees());
}
