//! The node that asks a person about a task: one that was given up, one that a verifier leaves to a person, and one whose run has
//! used up its budget.

use super::questions::{AfterGivingUp, DecideTask, GaveUp, WrittenOverride};
use crate::drivers::NewLimits;
use crate::graph::{Ctx, Node, NodeError, NodeExt, NodeId, State, WithOptions, Writes};
use crate::nodes::agents::{AgentSpec, Agents};
use crate::nodes::purse::{self, Answered, Spent};
use crate::nodes::questions::BudgetReached;
use crate::nodes::step::step;

/// A question to be asked.
#[derive(Clone, Debug)]
pub struct AskJob {
    /// The question.
    pub question: GaveUp,
    /// The reason for it.
    pub asking: Asking,
}

/// The reason for which a person is asked.
#[derive(Clone, Debug)]
pub enum Asking {
    /// The task was given up.
    GaveUp,
    /// A verifier leaves the decision to a person.
    Decide,
    /// The budget of the run is used up, of which this agent has its share.
    Budget(Box<AgentSpec>),
}

/// A person's answer.
#[derive(Clone, Debug)]
pub enum Reply {
    /// About the task.
    Task(AfterGivingUp),
    /// The run may use more.
    Raised(NewLimits),
}

/// Returns a node that asks: `job` reads the question from the state, `done` makes the update from the answer. An answer that
/// cannot be followed is asked for again, with the reason.
pub fn ask<S, N, C, A, D, E, W>(job: A, done: D) -> WithOptions<impl Node<S, N, C>, S, N, C>
where
    S: State,
    N: NodeId,
    C: Agents,
    A: Fn(&S) -> Result<AskJob, E> + Send + Sync + 'static,
    D: Fn(&S, Reply) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    step(job, perform, done).asks::<GaveUp>().asks::<DecideTask>().asks::<BudgetReached>()
}

async fn perform<C: Agents>(mut job: AskJob, ctx: Ctx<C>) -> Result<Reply, NodeError> {
    if let Asking::Budget(agent) = &job.asking {
        let account = purse::account(&ctx, "budget/account", agent).await?;
        let spent = Spent { agent, task: &job.question.task, key: "budget", account };
        let problem_of = |given: &WrittenOverride| job.question.problem_of_override(given);
        return Ok(match purse::asked(&ctx, spent, problem_of).await? {
            Answered::Raised(limits) => Reply::Raised(limits),
            Answered::Aborted => Reply::Task(AfterGivingUp::Abort),
            Answered::Overridden(given) => Reply::Task(AfterGivingUp::Override(given)),
        });
    }
    loop {
        let reply = match job.asking {
            Asking::Decide => ctx.interrupt(DecideTask { about: job.question.clone() })?,
            Asking::GaveUp | Asking::Budget(_) => ctx.interrupt(job.question.clone())?,
        };
        match job.question.problem_of(&reply) {
            None => return Ok(Reply::Task(reply)),
            problem => job.question.problem = problem,
        }
    }
}
