//! Queries on the state for jobs, updates and routers. Pure.

use std::path::PathBuf;

use super::state::{CodeTaskState, Settings, Start, TaskOutcome};
use crate::Role;
use crate::agent::{Circumstances, agent};
use superstep::drivers::RunLimits;
use superstep::graph::NodeError;
use superstep::nodes::{AgentSpec, Base, Brief, BriefTask, Folder};
use superstep::spec::{Constraint, Policy, TaskSpec};

impl CodeTaskState {
    pub(super) fn spec(&self) -> Result<&TaskSpec, NodeError> {
        self.spec.as_ref().ok_or_else(|| NodeError::permanent("there is no task: give one with `--task FILE`"))
    }

    pub(super) fn start(&self) -> Result<&Start, NodeError> {
        self.start.as_ref().ok_or_else(|| NodeError::permanent("the folder was not prepared before the task started"))
    }

    /// Returns the position of the work, with the files from before the task and the commits of people.
    pub(super) fn base(&self) -> Result<Base, NodeError> {
        let start = self.start()?;
        let tree = start.with_commits.clone().unwrap_or_else(|| start.base.tree.clone());
        Ok(Base { tree, ..self.position()? })
    }

    /// Returns the position of the work: its start, or its last commit.
    pub(super) fn position(&self) -> Result<Base, NodeError> {
        let start = &self.start()?.base;
        Ok(self.attempt.base.clone().unwrap_or_else(|| start.clone()))
    }

    /// Returns whether it is the root task, not a child.
    pub(super) fn is_first(&self) -> bool {
        self.place.path.is_empty()
    }

    pub(super) fn is_done(&self) -> bool {
        self.outcome == Some(TaskOutcome::Done)
    }

    /// Returns the number of the next attempt.
    pub(super) fn number(&self) -> u32 {
        self.attempt.number + 1
    }

    pub(super) fn policy(&self) -> Policy {
        self.spec.as_ref().map(|spec| spec.policy.clone()).unwrap_or_default()
    }

    /// Returns the user's checkout, without files that are not part of the work.
    pub(super) fn checkout(&self) -> Folder {
        self.settings.checkout()
    }

    /// Returns the folder of sessions, ledgers and contents.
    pub(super) fn home(&self) -> PathBuf {
        self.settings.repository.join(".superstep")
    }

    pub(super) fn long_diffs(&self) -> PathBuf {
        self.home().join("diffs")
    }

    /// Returns the folder of its children's worktrees.
    pub(super) fn worktrees(&self) -> PathBuf {
        let own = self.spec.as_ref().map(|spec| format!("below-{}", spec.id)).unwrap_or_default();
        self.home().join("worktrees").join(super::records::run_name(self)).join(own)
    }

    /// Returns the effective limits of the run.
    pub(super) fn budget(&self) -> RunLimits {
        self.place.raised.latest(self.raised).apply_to(self.settings.profile.budget)
    }

    pub(super) fn agent(&self, role: Role) -> AgentSpec {
        let (home, models) = (self.home(), Default::default());
        let mut spent = self.place.spent;
        spent += self.usage;
        let at = Circumstances { home: &home, models: &models, spent, budget: self.budget() };
        agent(&self.settings.profile, role, &at)
    }

    /// Returns the agent that does the work, with the task's settings.
    pub(super) fn developer(&self) -> Result<AgentSpec, NodeError> {
        let options = &self.spec()?.do_agent;
        let mut agent = self.agent(Role::Developer);
        if let Some(driver) = options.driver.clone().filter(|driver| *driver != agent.driver) {
            // The address, the key and the model belong to another server.
            agent = AgentSpec { driver, base_url: None, api_key_env: None, model: None, ..agent };
        }
        agent.model = options.model.clone().or(agent.model);
        if let Some(most) = options.max_turns {
            agent.limits.requests = most.min(agent.limits.requests);
        }
        Ok(agent)
    }

    /// Returns the task for its agent's prompt.
    pub(super) fn brief(&self) -> Result<Brief, NodeError> {
        let spec = self.spec()?;
        let code_task = BriefTask {
            depth: self.place.depth,
            constraints: spec.constraints.iter().map(constraint).collect(),
            related: relation_lines(spec),
            origin: super::splitting::origin(self),
        };
        Ok(Brief {
            id: spec.id.to_string(),
            title: spec.title.clone(),
            position: 1,
            total: 1,
            section: spec.goal().into(),
            acceptance: spec.acceptance.clone(),
            verify: commands(self),
            code_task: Some(code_task),
            ..Brief::default()
        })
    }
}

/// Returns the configured commands of verifiers.
fn commands(state: &CodeTaskState) -> Vec<String> {
    let entries = state.settings.run.verifiers.entries.iter().filter(|entry| !entry.skipped);
    entries.filter_map(|entry| entry.config.command.clone()).collect()
}

pub(super) fn constraint(constraint: &Constraint) -> String {
    match &constraint.name {
        Some(name) => format!("{name}: {}", constraint.text),
        None => constraint.text.clone(),
    }
}

fn relation_lines(spec: &TaskSpec) -> Vec<String> {
    let relationships = &spec.relationships;
    let parent = relationships.parent_id.as_ref().map(|id| match &relationships.parent_snapshot {
        Some(text) => format!("part of {id}: {text}"),
        None => format!("part of {id}"),
    });
    let next = relationships.next_tasks.iter().map(|task| format!("comes next: {}", task.title));
    parent.into_iter().chain(next).collect()
}

impl Settings {
    /// Returns the user's checkout, without files that are not part of the work.
    pub(super) fn checkout(&self) -> Folder {
        let apart = self.apart.iter().cloned().chain([self.records.clone()]).collect();
        Folder { directory: self.repository.clone(), apart }
    }
}
