//! The node that asks a person what becomes of a task that did not pass. Knows the question, not what led to it.

use super::folder::{Base, Folder, Kept};
use super::plan_file::{Adopted, Changed, PlanFile};
use super::questions::{AfterHalt, Halted, PlanChanged};
use super::step::step;
use crate::graph::{Ctx, Node, NodeError, NodeExt, NodeId, State, WithOptions, Writes};
use crate::plan::Plan;

/// A task that did not pass.
#[derive(Clone, Debug)]
pub struct HaltJob {
    /// The question.
    pub question: Halted,
    /// Its work, which is kept in git before the question is asked; none: there is nothing to keep.
    pub kept: Option<Kept>,
    /// Where.
    pub folder: Folder,
    /// Where the task began.
    pub base: Base,
    /// The plan's file, if it has one.
    pub file: Option<PlanFile>,
    /// What becomes of it without anybody being asked.
    pub unattended: Option<AfterHalt>,
}

/// What becomes of the task.
#[derive(Clone, Debug)]
pub struct Halting {
    /// The decision.
    pub decision: AfterHalt,
    /// The plan that holds from now on, if its file had changed.
    pub adopted: Option<Adopted>,
    /// Where the work is kept.
    pub salvaged: Option<String>,
}

/// Returns a node that asks what becomes of a task that did not pass: `job` reads the question from the state, `done` makes
/// the update from the answer. The work is kept in git before; with `skip` it is taken out of the files.
pub fn halt<S, N, C, A, D, E, W>(job: A, done: D) -> WithOptions<impl Node<S, N, C>, S, N, C>
where
    S: State,
    N: NodeId,
    C: Send + Sync + 'static,
    A: Fn(&S) -> Result<HaltJob, E> + Send + Sync + 'static,
    D: Fn(&S, Halting) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    step(job, perform, done).asks::<Halted>().asks::<PlanChanged>()
}

async fn perform<C: Send + Sync + 'static>(mut job: HaltJob, ctx: Ctx<C>) -> Result<Halting, NodeError> {
    let salvaged = match &job.kept {
        Some(kept) => Some(job.folder.keep(&ctx, kept).await?),
        None => None,
    };
    job.question.salvage.clone_from(&salvaged);
    let decision = match &job.unattended {
        Some(decision) => decision.clone(),
        None => decide(&ctx, &job.question)?,
    };
    let adopted = match &job.file {
        Some(file) if decision != AfterHalt::Abort => adopt(file, &ctx).await?,
        _ => None,
    };
    if decision == AfterHalt::Skip {
        job.folder.reset(&ctx, &job.base.tree).await?;
    }
    Ok(Halting { decision, adopted, salvaged })
}

async fn adopt<C: Send + Sync + 'static>(file: &PlanFile, ctx: &Ctx<C>) -> Result<Option<Adopted>, NodeError> {
    let Some(Changed { hash, adopted }) = file.changed(ctx, "plan file").await? else { return Ok(None) };
    let plan = adopted.map_or_else(|| file.plan.clone(), |plan| plan.markdown().to_owned());
    Ok(Some(Adopted { hash, plan }))
}

/// Asks until the answer can be followed.
fn decide<C>(ctx: &Ctx<C>, question: &Halted) -> Result<AfterHalt, NodeError> {
    let mut asked = question.clone();
    loop {
        let decision = ctx.interrupt(asked)?;
        let problem = match &decision {
            AfterHalt::Retry { attempts: 0, .. } => Some("it can be tried once or more often, not 0 times".to_owned()),
            AfterHalt::EditPlan { markdown } => Plan::parse(markdown.as_str()).err().map(|error| error.to_string()),
            _ => None,
        };
        if problem.is_none() {
            return Ok(decision);
        }
        asked = Halted { problem, ..question.clone() };
    }
}
