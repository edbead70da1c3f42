//! The nodes around the children of a task: a model proposes them and code checks the proposal; their results are merged, in
//! order. Must not know the criteria, nor the children's tasks.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::worktree::sweep;
use crate::drivers::{NewLimits, Usage};
use crate::graph::{Ctx, NodeError};
use crate::nodes::agent::{AgentAnswer, AgentSpec, Agents, Submit, Turn};
use crate::nodes::git::{Folder, failed, reset_on_top, thread};
use crate::nodes::job::{Context, Job, job};
use crate::nodes::prompts::Prompt;
use crate::spec::SplitProposal;
use crate::workspace::{BranchPositions, TreeId, WorkspaceError};

/// Creates the prompt for a split, given the problems of the previous proposal.
pub(crate) type SplitPrompt = dyn Fn(&[String]) -> Prompt + Send + Sync;

/// Returns the problems of a proposal.
pub(crate) type SplitCheck = dyn Fn(&SplitProposal) -> Vec<String> + Send + Sync;

job! {
    /// A task to be split by an agent. An invalid proposal is asked for once more, with its problems.
    #[derive(Clone)]
    pub struct SplitJob {
        /// The folder.
        folder: Folder,
        /// The task's id.
        task: String,
        /// Creates the prompt, given the problems of the previous proposal.
        prompt: Arc<SplitPrompt>,
        /// Returns the problems of a proposal; empty if it is valid.
        check: Arc<SplitCheck>,
        ..
        /// The agent that proposes the children; none: nobody is asked.
        agent: Option<AgentSpec>,
    }
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

impl<C: Agents> Job<C> for SplitJob {
    type Output = SplitTask;

    async fn perform(self, ctx: &Ctx<C>) -> Result<SplitTask, NodeError> {
        let (usage, raised) = (Usage::default(), NewLimits::default());
        let mut split = SplitTask { proposal: None, refused: vec![], usage, raised, tampered: vec![] };
        let Some(agent) = &self.agent else { return Ok(split) };
        for key in ["split", "split/again"] {
            let prompt = (self.prompt)(&split.refused);
            let turn = Turn::new::<SplitProposal>(key, agent.clone(), prompt, &self.folder);
            let turn = Turn { task: self.task.clone(), is_optional: true, ..turn };
            let turned = turn.take::<SplitProposal, C>(ctx).await?;
            split.usage += turned.usage;
            split.raised = turned.raised.latest(split.raised);
            if !turned.tampered.is_empty() {
                return Ok(SplitTask { tampered: turned.tampered, ..split });
            }
            match turned.answer {
                AgentAnswer::Given(proposal) => {
                    split.refused = (self.check)(&proposal);
                    if split.refused.is_empty() {
                        split.proposal = Some(proposal);
                        break;
                    }
                }
                AgentAnswer::Unusable(why) => {
                    split.refused = vec![why];
                    break;
                }
                AgentAnswer::SessionLost => break,
            }
        }
        Ok(split)
    }
}

job! {
    /// Children to merge: their changes are applied to the files, one after the other.
    ///
    /// Its node fails if git fails.
    #[derive(Clone, Debug)]
    pub struct ChildrenJob {
        /// The work tree that gets the result.
        folder: Folder,
        /// Its files.
        tree: TreeId,
        /// The position that these files belong to: commits that people made on top of it since stay in the work tree.
        at: BranchPositions,
        ..
        /// The results, in order.
        works: Vec<ChildWork>,
        /// Folder of the children's worktrees, which is removed; none: they worked in the work tree itself.
        worktrees: Option<PathBuf>,
    }
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

impl<C: Context> Job<C> for ChildrenJob {
    type Output = JoinedChildren;

    async fn perform(self, ctx: &Ctx<C>) -> Result<JoinedChildren, NodeError> {
        let arguments = (&self.tree, &self.works, &self.worktrees);
        ctx.effect("join", &arguments, |_| self.join(ctx)).await
    }
}

impl ChildrenJob {
    async fn join<C: Context>(&self, ctx: &Ctx<C>) -> Result<JoinedChildren, NodeError> {
        let workspace = self.folder.hold(ctx).await?;
        let mut joined = JoinedChildren { tree: self.tree.clone(), conflicts: vec![] };
        for work in &self.works {
            match workspace.apply_change(&work.from, &joined.tree, &work.tree).await {
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
