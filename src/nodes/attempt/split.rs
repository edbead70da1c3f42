//! The node that has a task split: a model proposes children, code checks the proposal. Knows turns, must not know the
//! criteria.

use std::sync::Arc;

use crate::drivers::{NewLimits, Usage};
use crate::graph::{Ctx, Node, NodeError, NodeId, State, Writes};
use crate::nodes::agents::{AgentSpec, Agents};
use crate::nodes::folder::Folder;
use crate::nodes::prompts::Prompt;
use crate::nodes::step::step;
use crate::nodes::submit::Submit;
use crate::nodes::turn::{Answer, Turn};
use crate::spec::SplitProposal;

/// Creates the prompt for a split, given the problems of the previous proposal.
pub type SplitPrompt = dyn Fn(&[String]) -> Prompt + Send + Sync;

/// Returns the problems of a proposal.
pub type SplitCheck = dyn Fn(&SplitProposal) -> Vec<String> + Send + Sync;

/// A task to be split.
#[derive(Clone)]
pub struct SplitJob {
    /// The agent that proposes the children; none: nobody is asked.
    pub agent: Option<AgentSpec>,
    /// The folder.
    pub folder: Folder,
    /// The task's id.
    pub task: String,
    /// Creates the prompt, given the problems of the previous proposal.
    pub prompt: Arc<SplitPrompt>,
    /// Returns the problems of a proposal; empty if it is valid.
    pub check: Arc<SplitCheck>,
}

impl Submit for SplitProposal {
    const TOOL: &'static str = "submit_split";
    const PURPOSE: &'static str = "Hand over the children that the task is split into. Call it once, at the end.";
}

/// Result of splitting a task.
#[derive(Clone, Debug)]
pub struct SplitTask {
    /// The valid proposal; none: there is none.
    pub proposal: Option<SplitProposal>,
    /// The problems of the proposals.
    pub refused: Vec<String>,
    /// The usage.
    pub usage: Usage,
    /// The limits of the run that a person set.
    pub raised: NewLimits,
    /// Changes of git's hooks and configuration meanwhile; there is no proposal then.
    pub tampered: Vec<String>,
}

/// Returns a node that has a task split: `job` reads the task from the state, `done` creates the update from the
/// proposal. An invalid proposal is asked for once more, with its problems.
pub fn split<S, N, C, A, D, E, W>(job: A, done: D) -> impl Node<S, N, C>
where
    S: State,
    N: NodeId,
    C: Agents,
    A: Fn(&S) -> Result<SplitJob, E> + Send + Sync + 'static,
    D: Fn(&S, SplitTask) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    step(job, perform, done)
}

async fn perform<C: Agents>(job: SplitJob, ctx: Ctx<C>) -> Result<SplitTask, NodeError> {
    let (usage, raised) = (Usage::default(), NewLimits::default());
    let mut split = SplitTask { proposal: None, refused: vec![], usage, raised, tampered: vec![] };
    let Some(agent) = &job.agent else { return Ok(split) };
    for key in ["split", "split/again"] {
        let prompt = (job.prompt)(&split.refused);
        let turn = Turn::new::<SplitProposal>(key, agent.clone(), prompt, &job.folder);
        let turn = Turn { task: job.task.clone(), is_optional: true, ..turn };
        let turned = turn.take::<SplitProposal, C>(&ctx).await?;
        split.usage += turned.usage;
        split.raised = turned.raised.later(split.raised);
        if !turned.tampered.is_empty() {
            return Ok(SplitTask { tampered: turned.tampered, ..split });
        }
        match turned.answer {
            Answer::Given(proposal) => {
                split.refused = (job.check)(&proposal);
                if split.refused.is_empty() {
                    split.proposal = Some(proposal);
                    break;
                }
            }
            Answer::Unusable(why) => {
                split.refused = vec![why];
                break;
            }
            Answer::SessionLost => break,
        }
    }
    Ok(split)
}
