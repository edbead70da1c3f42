//! The node that has a plan written. Knows what a plan is, not what becomes of it.

use std::path::PathBuf;

use super::agents::{AgentSpec, Agents};
use super::folder::{Folder, tampering_message};
use super::prompts::Prompt;
use super::questions::{BudgetReached, SessionRefused};
use super::step::step;
use super::turn::{Answer, Taken, Then, Turn, Turned};
use crate::drivers::{NewLimits, Session, SessionRef, Usage};
use crate::graph::{Ctx, Node, NodeError, NodeExt, NodeId, State, WithOptions, Writes};
use crate::plan::{Issue, PlanProposal};

/// A plan to be written.
#[derive(Clone, Debug)]
pub struct ArchitectJob {
    /// The agent that writes it.
    pub agent: AgentSpec,
    /// The folder it is about.
    pub directory: PathBuf,
    /// The issue that the plan is for.
    pub issue: Issue,
    /// The plan before.
    pub former: Option<String>,
    /// Problems of the plan before, and remarks on it.
    pub issues: Vec<String>,
    /// The session in which the plan before was written.
    pub session: Option<SessionRef>,
}

/// A plan that was written.
#[derive(Clone, Debug)]
pub struct Architected {
    /// The plan as it was handed over; none if nothing was that can be read.
    pub proposal: Option<PlanProposal>,
    /// The plan as markdown; or why none can be made of it, for whoever wrote it.
    pub markdown: Result<String, Vec<String>>,
    /// The session, to go on in.
    pub session: Option<SessionRef>,
    /// The usage of the turns.
    pub usage: Usage,
    /// The model that a person chose because the server refused the session; none: they were not asked, or chose none.
    pub model: Option<String>,
    /// The limits of the run that a person set.
    pub raised: NewLimits,
    /// True if a person ended the run instead.
    pub is_aborted: bool,
}

/// Returns a node that has an agent read the folder and write a plan: `job` reads from the state what for, `done` makes the
/// update from the plan, or from why there is none.
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
    let Taken { mut turned, model, then, .. } = turn.take_or_ask::<PlanProposal, C, _, _>(ctx, question, fresh).await?;
    turned.is_aborted |= then == Then::Abort;
    Ok((turned, model))
}

/// Fails as long as git's hooks and configuration are not what they were before the turn: an attempt after a person has put
/// them right looks again.
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
