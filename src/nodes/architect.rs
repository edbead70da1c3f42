//! The node that has an agent write a plan. Knows plans, must not know what is done with them.

use std::path::PathBuf;

use super::agents::{AgentSpec, Agents};
use super::folder::{Folder, tampering_message};
use super::prompts::Prompt;
use super::questions::{BudgetReached, SessionRefused};
use super::step::step;
use super::turn::{Answer, NextStep, Turn, TurnOutcome, Turned};
use crate::drivers::{NewLimits, Session, SessionRef, Usage};
use crate::graph::{Ctx, Node, NodeError, NodeExt, NodeId, State, WithOptions, Writes};
use crate::plan::{Issue, PlanProposal};

/// A plan to be written.
#[derive(Clone, Debug)]
pub struct ArchitectJob {
    /// The agent that writes it.
    pub agent: AgentSpec,
    /// The folder that the plan is about.
    pub directory: PathBuf,
    /// The issue that the plan is for.
    pub issue: Issue,
    /// The previous plan.
    pub former: Option<String>,
    /// Problems of the plan before, and remarks on it.
    pub issues: Vec<String>,
    /// The session of the previous plan.
    pub session: Option<SessionRef>,
}

/// Result of writing a plan.
#[derive(Clone, Debug)]
pub struct Architected {
    /// The submitted plan; none if it is missing or unreadable.
    pub proposal: Option<PlanProposal>,
    /// The plan as markdown, or the problems for its author.
    pub markdown: Result<String, Vec<String>>,
    /// The session, to resume.
    pub session: Option<SessionRef>,
    /// The usage of the turns.
    pub usage: Usage,
    /// Model that a person chose because the server refused the session; none: no person was asked, or none was chosen.
    pub model: Option<String>,
    /// The limits of the run that a person set.
    pub raised: NewLimits,
    /// True if a person ended the run instead.
    pub is_aborted: bool,
}

/// Returns a node that has an agent read the folder and write a plan: `job` reads the issue from the state, `done`
/// creates the update from the plan or its problems.
pub fn architect<S, N, C, A, D, E, W>(job: A, done: D) -> WithOptions<impl Node<S, N, C>, S, N, C>
where
    S: State,
    N: NodeId,
    C: Agents,
    A: Fn(&S) -> Result<ArchitectJob, E> + Send + Sync + 'static,
    D: Fn(&S, Architected) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    step(job, perform, done).asks::<SessionRefused>().asks::<BudgetReached>()
}

async fn perform<C: Agents>(job: ArchitectJob, ctx: Ctx<C>) -> Result<Architected, NodeError> {
    let ArchitectJob { agent, directory, issue, former, issues, session } = job;
    let prompt = Prompt::architect(&issue, former.as_deref(), &issues);
    let folder = Folder { directory, apart: vec![] };
    let turn = Turn {
        session: session.map_or(Session::New, Session::Resume),
        ..Turn::new::<PlanProposal>("plan", agent, prompt, &folder)
    };
    let (mut turned, mut model) = take(turn.clone(), &ctx).await?;
    if matches!(turned.answer, Answer::SessionLost) && turned.tampered.is_empty() {
        let before = (turned.usage, turned.raised);
        let mut fresh = Turn { key: "plan/fresh".into(), session: Session::New, ..turn.clone() };
        fresh.agent.model = model.clone().or(fresh.agent.model);
        let (again, chosen) = take(fresh, &ctx).await?;
        (turned, model) = (again.after(before), chosen.or(model));
    }
    if !turned.tampered.is_empty() {
        untampered(&folder, &turn.key, &ctx).await?;
    }
    let proposal = match turned.answer {
        Answer::Given(proposal) => Ok(proposal),
        Answer::Unusable(why) => Err(vec![format!("the architect handed over no plan: {why}")]),
        Answer::SessionLost => Err(vec!["the architect lost a session that had just begun".to_owned()]),
    };
    let rendered = |proposal: &PlanProposal| proposal.render().map_err(|error| vec![error.to_string()]);
    let markdown = proposal.as_ref().map_err(Clone::clone).and_then(rendered);
    let Turned { session, usage, raised, is_aborted, .. } = turned;
    Ok(Architected { markdown, proposal: proposal.ok(), session, usage, model, raised, is_aborted })
}

/// Takes a turn. If the server refuses its session, a person is asked.
async fn take<C: Agents>(turn: Turn, ctx: &Ctx<C>) -> Result<(Turned<PlanProposal>, Option<String>), NodeError> {
    let question = SessionRefused::default();
    let anew = Turn { session: Session::New, ..turn.clone() };
    let fresh = |key: String| {
        let anew = Turn { key, ..anew.clone() };
        async { Ok(anew) }
    };
    let TurnOutcome { mut turned, model, then, .. } =
        turn.take_or_ask::<PlanProposal, C, _, _>(ctx, question, fresh).await?;
    turned.is_aborted |= then == NextStep::Abort;
    Ok((turned, model))
}

/// Fails while git's hooks and configuration differ from those before the turn; the next attempt checks again, after a
/// person has restored them.
async fn untampered<C: Agents>(folder: &Folder, key: &str, ctx: &Ctx<C>) -> Result<(), NodeError> {
    let before = folder.guard(ctx, key).await?;
    let look = |_| async {
        match folder.differs(ctx, &before).await?.as_slice() {
            [] => Ok(()),
            changed => Err(NodeError::permanent(tampering_message("the architect", changed))),
        }
    };
    ctx.effect(format!("{key}/untampered"), &before.digest(), look).await
}
