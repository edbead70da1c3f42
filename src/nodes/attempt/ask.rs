//! The node that asks a person about a task: one that failed for good, one that a verifier leaves to a person, or one
//! whose run has used up its budget.

use super::task_questions::{AfterGivingUp, DecideTask, GaveUp, WrittenOverride};
use crate::drivers::NewLimits;
use crate::graph::{Ctx, Node, NodeError, NodeExt, NodeId, State, WithOptions, Writes};
use crate::nodes::agents::{AgentSpec, Agents};
use crate::nodes::budget::{self, BudgetAnswer, Spent};
use crate::nodes::questions::BudgetReached;
use crate::nodes::step::step;

/// A question to ask.
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
    /// The budget of the run, of which this agent has a share, is used up.
    Budget(Box<AgentSpec>),
}

/// An answer of a person.
#[derive(Clone, Debug)]
pub enum Reply {
    /// An answer about the task.
    Task(AfterGivingUp),
    /// New limits of the run.
    Raised(NewLimits),
}

/// Returns a node that asks: `job` reads the question from the state, `done` creates the update from the answer. An
/// invalid answer is asked for again, with the reason.
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
        let account = budget::account(&ctx, "budget/account", agent).await?;
        let spent = Spent { agent, task: &job.question.task, key: "budget", account };
        let problem_of = |given: &WrittenOverride| job.question.problem_of_override(given);
        return Ok(match budget::asked(&ctx, spent, problem_of).await? {
            BudgetAnswer::Raised(limits) => Reply::Raised(limits),
            BudgetAnswer::Aborted => Reply::Task(AfterGivingUp::Abort),
            BudgetAnswer::Overridden(given) => Reply::Task(AfterGivingUp::Override(given)),
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
