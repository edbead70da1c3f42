//! The nodes around the children of a task: a model proposes them and code checks the proposal; their results are merged, in
//! order. Must not know the criteria, nor the children's tasks.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::worktree::sweep;
use crate::drivers::{NewLimits, Usage};
use crate::graph::{Ctx, Node, NodeError, NodeId, State, Writes};
use crate::nodes::agent::{AgentSpec, Agents, Answer, Submit, Turn};
use crate::nodes::git::{Folder, failed, reset_on_top, thread};
use crate::nodes::prompts::Prompt;
use crate::nodes::step::step;
use crate::spec::SplitProposal;
use crate::workspace::{Standing, TreeId, WorkspaceError};

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
    step(job, propose, done)
}

async fn propose<C: Agents>(job: SplitJob, ctx: Ctx<C>) -> Result<SplitTask, NodeError> {
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

/// Children to merge.
#[derive(Clone, Debug)]
pub struct ChildrenJob {
    /// The work tree that gets the result.
    pub folder: Folder,
    /// Its files.
    pub tree: TreeId,
    /// The position that these files belong to: commits that people made on top of it since stay in the work tree.
    pub at: Standing,
    /// The results, in order.
    pub works: Vec<ChildWork>,
    /// Folder of the children's worktrees, which is removed; none: they worked in the work tree itself.
    pub worktrees: Option<PathBuf>,
}

/// The result of a child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildWork {
    /// Its id.
    pub id: String,
    /// Its files at the start.
    pub from: TreeId,
    /// Its files.
    pub tree: TreeId,
}

/// Result of merging children.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinedChildren {
    /// The files.
    pub tree: TreeId,
    /// Children whose changes conflict with earlier ones, each with the files; their changes are left out.
    pub conflicts: Vec<(String, Vec<String>)>,
}

/// Returns a node that applies the changes of children to the files, one after the other: `job` reads them from the
/// state, `done` creates the update from the files.
///
/// The node fails if git fails.
pub fn join_children<S, N, C, A, D, E, W>(job: A, done: D) -> impl Node<S, N, C>
where
    S: State,
    N: NodeId,
    C: Send + Sync + 'static,
    A: Fn(&S) -> Result<ChildrenJob, E> + Send + Sync + 'static,
    D: Fn(&S, JoinedChildren) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    step(job, join_works, done)
}

async fn join_works<C: Send + Sync + 'static>(job: ChildrenJob, ctx: Ctx<C>) -> Result<JoinedChildren, NodeError> {
    let arguments = (&job.tree, &job.works, &job.worktrees);
    ctx.effect("join", &arguments, |_| job.join(&ctx)).await
}

impl ChildrenJob {
    async fn join<C: Send + Sync + 'static>(&self, ctx: &Ctx<C>) -> Result<JoinedChildren, NodeError> {
        let workspace = self.folder.hold(ctx).await?;
        let mut joined = JoinedChildren { tree: self.tree.clone(), conflicts: vec![] };
        for work in &self.works {
            match workspace.carried(&work.from, &joined.tree, &work.tree).await {
                Ok(tree) => joined.tree = tree,
                Err(WorkspaceError::Conflict { files }) => joined.conflicts.push((work.id.clone(), files)),
                Err(error) => return Err(failed(error)),
            }
        }
        reset_on_top(&thread(ctx), &workspace, &self.at, &joined.tree).await.map_err(failed)?;
        if let Some(worktrees) = &self.worktrees {
            sweep(&self.folder, worktrees, ctx).await?;
        }
        Ok(joined)
    }
}
