//! The node that asks a person about a plan. It knows neither where they sit nor what follows from the answer.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::graph::{Ctx, Interrupt, Node, NodeError, NodeExt, NodeId, State, WithOptions, Writes};
use crate::plan::{Decision, Plan};

/// The question whether a plan may be executed: what a person needs to see to answer it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovePlan {
    /// The plan's title.
    pub title: Option<String>,
    /// Its goal.
    pub goal: Option<String>,
    /// Its tasks in order, each as `Task 3: title`.
    pub tasks: Vec<String>,
    /// What its author probably did not mean.
    pub warnings: Vec<String>,
}

impl Interrupt for ApprovePlan {
    type Resume = Decision;
    const NAME: &'static str = "approve_plan";
}

impl ApprovePlan {
    /// Returns the question about a plan.
    pub fn of(plan: &Plan) -> Self {
        Self {
            title: plan.title().map(str::to_owned),
            goal: plan.goal().map(str::to_owned),
            tasks: plan.tasks().map(|task| task.to_string()).collect(),
            warnings: plan.warnings().iter().map(ToString::to_string).collect(),
        }
    }
}

/// Returns a node that stops the run with a question about a plan, and goes on with the [`Decision`] that answers it: `ask`
/// makes the question from the state, `decided` the update from the answer. Answer it with
/// `thread.resume::<ApprovePlan>(Decision::approve())`.
///
/// The node fails with whatever `ask` fails with.
pub fn human_approval<S, N, C, A, D, E, W>(ask: A, decided: D) -> WithOptions<impl Node<S, N, C>, S, N, C>
where
    S: State,
    N: NodeId,
    C: Send + Sync + 'static,
    A: Fn(&S) -> Result<ApprovePlan, E> + Send + Sync + 'static,
    D: Fn(Decision) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    let node = move |state: Arc<S>, ctx: Ctx<C>| {
        let question = ask(&state).map_err(E::into);
        let answer = question.and_then(|question| Ok(ctx.interrupt(question)?));
        std::future::ready(answer.map(|decision| decided(decision).into()))
    };
    node.asks::<ApprovePlan>()
}
