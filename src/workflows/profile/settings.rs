//! A profile and its defaults. Plain data, stored in the state of a run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::api::Api;
use super::choices::{OnExhausted, PlanContext, RetrySession, Role, Tracker};
use super::commit_template::CommitTemplate;
use super::phased::Phased;
use crate::drivers::{DriverName, Limits, Price, RetrySettings, RunLimits, Shell};
use crate::plan::TaskProgress;
use crate::workspace::Origin;

/// The configuration of a workflow with coding agents.
///
/// ```
/// use superstep::workflows::{Profile, Role};
/// let profile = Profile::parse("driver = \"api\"\nmodel = \"m\"\n\n[agents.reviewer]\nmodel = \"n\"\n", "tides.toml")?;
/// assert_eq!(profile.max_task_review_iterations, 5);
/// assert_eq!(profile.agent(Role::Reviewer).model.as_deref(), Some("n"));
/// let error = Profile::parse("modle = \"m\"\n", "tides.toml").unwrap_err();
/// assert_eq!(error.to_string(), "tides.toml:1: modle: this key is unknown; did you mean `model`?");
/// # Ok::<(), superstep::workflows::ProfileError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// The name. Default: the stem of the file.
    pub name: String,
    /// The driver of each agent without its own. Default: `api`.
    pub driver: DriverName,
    /// The model of each agent without its own; `None`: the driver's default.
    pub model: Option<String>,
    /// Settings by role.
    pub agents: BTreeMap<Role, AgentSettings>,
    /// The repository, relative to the current directory. Default: that directory itself.
    pub working_dir: PathBuf,
    /// The maximum number of attempts at a task, including the first. Default: 5.
    pub max_task_review_iterations: u32,
    /// The maximum number of attempts at a plan without task headings; `None`: as for a task.
    pub max_review_iterations: Option<u32>,
    /// The number of revisions of a plan before a person decides. Default: 3.
    pub max_plan_revisions: u32,
    /// The source of issues.
    pub tracker: Tracker,
    /// The folder for plans in the repository. Default: `docs/plans`.
    pub plan_dir: PathBuf,
    /// Set to commit the architect's plan with the first task. Default: false.
    pub plan_in_repo: bool,
    /// The part of the plan in a developer's prompt.
    pub plan_context: PlanContext,
    /// The action when a task has used up its attempts.
    pub on_exhausted: OnExhausted,
    /// The session of a retry.
    pub retry_session: RetrySession,
    /// The kinds of reviews of each attempt, at least one. Default: `general`.
    pub review_types: Vec<String>,
    /// Set to leave the checkout on the branch of the work at the end, or to false to have it go back to where it was.
    /// Default: it stays, and on the command line it goes back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stay_on_branch: Option<bool>,
    /// Set to review all work at the end. Default: true. The result is only reported.
    pub final_review: bool,
    /// The time limit of a verify command. Default: ten minutes.
    pub verify_timeout: Duration,
    /// The limits of an agent's turn.
    pub limits: TurnLimits,
    /// The retries after transient failures of a model's server.
    pub retry: RetrySettings,
    /// The limits of the whole run: the table `[budget]`. When one is reached, a person decides.
    pub budget: RunLimits,
    /// The prices of models whose server reports none: the tables `[prices."MODEL"]`.
    pub prices: BTreeMap<String, Price>,
    /// The servers of the `api` drivers.
    pub api: Api,
    /// The permissions of agents beyond reading and editing.
    pub tools: Tools,
    /// The settings of phased execution.
    pub phased: Phased,
    /// The template of commit messages. Default: `feat({issue}): {title} (task {task})`.
    #[serde(default = "CommitTemplate::of_old_runs", skip_serializing_if = "CommitTemplate::is_of_old_runs")]
    pub commit_template: CommitTemplate,
    /// The repository that the run was started with; no key of a profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// The settings of a role: the table `[agents.ROLE]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentSettings {
    /// Its driver.
    pub driver: Option<DriverName>,
    /// Its model.
    pub model: Option<String>,
}

/// The driver and model of a role.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AgentProfile {
    /// Its driver.
    pub driver: DriverName,
    /// The model; `None`: the driver's default.
    pub model: Option<String>,
}

/// The permissions of agents beyond reading and editing: the table `[tools]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Tools {
    /// Set to allow shell commands. Default: false.
    pub shell: bool,
    /// The program and arguments to prefix each command with, such as a sandbox. Default: none.
    pub command_prefix: Vec<String>,
    /// Additional environment variables of checks and of agents that are programs. Default: none.
    pub pass: Vec<String>,
    /// The maximum time of a shell command of an agent behind `api`, and CPU time of each of its processes; `None`: ten
    /// minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_timeout: Option<Duration>,
}

impl Tools {
    /// Returns the shell that agents get, if they may run commands.
    pub(crate) fn shell(&self) -> Option<Shell> {
        self.shell.then(|| Shell { prefix: self.command_prefix.clone(), timeout: self.command_timeout })
    }
}

/// The limits of an agent's turn: the table `[limits]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnLimits {
    /// Requests to the model. Default: 200.
    pub requests: u32,
    /// Tokens; `None`: no limit.
    pub tokens: Option<u64>,
    /// Millionths of a dollar, in the file dollars; `None`: no limit.
    pub cost: Option<u64>,
    /// Time for the whole turn. Default: one hour.
    pub wall: Duration,
    /// Time without activity. Default: ten minutes.
    pub idle: Duration,
}

impl Profile {
    /// The default number of revisions of a plan.
    pub const MAX_PLAN_REVISIONS: u32 = 3;

    /// Returns the driver and model of a role: its own, or those of the profile.
    pub fn agent(&self, role: Role) -> AgentProfile {
        let own = self.agents.get(&role).or_else(|| self.agents.get(&role.fallback()?)).cloned().unwrap_or_default();
        AgentProfile {
            driver: own.driver.unwrap_or_else(|| self.driver.clone()),
            model: own.model.or_else(|| self.model.clone()),
        }
    }

    /// Returns the price of a role's model, if the profile sets one.
    pub fn price(&self, role: Role) -> Option<Price> {
        self.agent(role).model.and_then(|model| self.prices.get(&model).copied())
    }

    /// Returns a message for each model whose cost is unknown or only reported by its server: limits of cost may then
    /// not apply.
    pub fn unknown_costs(&self) -> Vec<String> {
        let has_limit = self.budget.cost.is_some() || self.limits.cost.is_some();
        let mut agents: Vec<(AgentProfile, Vec<&str>)> = vec![];
        for role in Role::ALL.into_iter().filter(|role| self.price(*role).is_none()) {
            let agent = self.agent(role);
            match agents.iter_mut().find(|(known, _)| *known == agent) {
                Some((_, roles)) => roles.push(role.name()),
                None => agents.push((agent, vec![role.name()])),
            }
        }
        agents.iter().filter_map(|(agent, roles)| unknown_cost(agent, &roles.join(", "), has_limit)).collect()
    }

    /// Returns the maximum number of attempts at a task of a plan, including the first.
    pub fn attempts(&self, has_task_headings: bool) -> u32 {
        let whole_plan = self.max_review_iterations.filter(|_| !has_task_headings);
        whole_plan.unwrap_or(self.max_task_review_iterations)
    }
}

/// Returns the message for an agent without a price.
fn unknown_cost(agent: &AgentProfile, roles: &str, has_limit: bool) -> Option<String> {
    let why = match agent.driver {
        DriverName::Codex => "reports tokens and no cost",
        DriverName::Api { .. } if has_limit => "has a cost only if its server reports one, else no limit of cost holds",
        DriverName::Api { .. } | DriverName::Claude | DriverName::Scripted(_) => return None,
    };
    let help = match &agent.model {
        Some(model) => format!("`[prices.\"{model}\"]`"),
        None => "a `model` and its `[prices.\"MODEL\"]`".to_owned(),
    };
    Some(format!("{} ({roles}) {why}; add {help} to the profile", agent.driver))
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            name: "default".to_owned(),
            driver: DriverName::Api { provider: None },
            model: None,
            agents: BTreeMap::new(),
            working_dir: PathBuf::from("."),
            max_task_review_iterations: TaskProgress::MAX_TASK_REVIEW_ITERATIONS,
            max_review_iterations: None,
            max_plan_revisions: Self::MAX_PLAN_REVISIONS,
            tracker: Tracker::default(),
            plan_dir: PathBuf::from("docs/plans"),
            plan_in_repo: false,
            stay_on_branch: None,
            plan_context: PlanContext::default(),
            on_exhausted: OnExhausted::default(),
            retry_session: RetrySession::default(),
            review_types: vec!["general".to_owned()],
            final_review: true,
            verify_timeout: Duration::from_secs(600),
            limits: TurnLimits::default(),
            retry: RetrySettings::default(),
            budget: RunLimits::default(),
            prices: BTreeMap::new(),
            api: Api::default(),
            tools: Tools::default(),
            phased: Phased::default(),
            commit_template: CommitTemplate::default(),
            origin: None,
        }
    }
}

impl Default for TurnLimits {
    fn default() -> Self {
        let Limits { requests, tokens, cost, wall, idle } = Limits::default();
        Self { requests, tokens, cost, wall, idle }
    }
}

impl From<&TurnLimits> for Limits {
    fn from(limits: &TurnLimits) -> Self {
        let TurnLimits { requests, tokens, cost, wall, idle } = limits.clone();
        Self { requests, tokens, cost, wall, idle }
    }
}
