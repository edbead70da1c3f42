//! A profile and its defaults, with the settings of phased execution and of the servers of the `api` drivers. Plain data,
//! stored in the state of a run: it names the environment variables that hold keys, and holds no key.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use superstep::drivers::{DriverKind, DriverName, Limits, Price, RetrySettings, RunLimits, Shell};
use superstep::plan::TaskProgress;
use superstep::workspace::{Furnishings, RepositoryOrigin};

use super::choices::{OnExhausted, OnSubtaskFailure, PlanContext, RetrySession, Role, Tracker};
use super::commit_template::CommitTemplate;
use super::table::{Table, set_if_some};

/// The configuration of a workflow with coding agents.
///
/// ```
/// use superstep_workflows::{Profile, Role};
/// let profile = Profile::parse("driver = \"api\"\nmodel = \"m\"\n\n[agents.reviewer]\nmodel = \"n\"\n", "tides.toml")?;
/// assert_eq!(profile.max_task_review_iterations, 5);
/// assert_eq!(profile.agent(Role::Reviewer).model.as_deref(), Some("n"));
/// let error = Profile::parse("modle = \"m\"\n", "tides.toml").unwrap_err();
/// assert_eq!(error.to_string(), "tides.toml:1: modle: this key is unknown; did you mean `model`?");
/// # Ok::<(), superstep_workflows::ProfileError>(())
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
    pub phased: PhasedSettings,
    /// The template of commit messages. Default: `feat({issue}): {title} (task {task})`.
    #[serde(default = "CommitTemplate::of_old_runs", skip_serializing_if = "CommitTemplate::is_of_old_runs")]
    pub commit_template: CommitTemplate,
    /// The repository that the run was started with; no key of a profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<RepositoryOrigin>,
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
    let why = match agent.driver.kind() {
        DriverKind::Program(program) if !program.reports_cost => "reports tokens and no cost",
        DriverKind::Api(_) if has_limit => {
            "has a cost only if its server reports one; otherwise the cost limit has no effect"
        }
        DriverKind::Api(_) | DriverKind::Program(_) | DriverKind::Scripted(_) => return None,
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
            phased: PhasedSettings::default(),
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

/// The settings of phased execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PhasedSettings {
    /// Set to execute a plan with dependencies phase by phase: `enable_phased_execution`. Default: true.
    pub enabled: bool,
    /// The maximum number of parallel subtasks: `max_parallel`. Default: 4.
    pub max_parallel: u32,
    /// The number of attempts at a phase before a person decides: `max_phase_attempts`. Default: 2.
    pub max_attempts: u32,
    /// The effect of a failed subtask on the others: `on_subtask_failure`.
    pub on_failure: OnSubtaskFailure,
    /// Set to fail a subtask that changes undeclared files: `strict_files`. Default: false.
    pub strict_files: bool,
    /// Set to review each subtask before its phase: `subtask_review`. Default: false.
    pub subtask_review: bool,
    /// The part of the plan in a subtask's prompt: `plan_context`. Default: the whole plan.
    pub plan_context: PlanContext,
    /// The preparation of a subtask's worktree.
    pub worktree: WorktreeSettings,
}

/// The preparation of a subtask's worktree: the table `[worktree]`. Nothing of it is committed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorktreeSettings {
    /// Commands to run in it, in order.
    pub setup: Vec<String>,
    /// Files to copy into it from the repository's folder, and files to link: `copy` and `link`.
    #[serde(flatten)]
    pub furnishings: Furnishings,
}

impl PhasedSettings {
    /// The default maximum number of parallel subtasks.
    pub const MAX_PARALLEL: u32 = 4;

    /// Takes the settings from the table of a profile.
    pub(super) fn take(&mut self, table: &mut Table<'_>) {
        set_if_some(&mut self.enabled, table.flag("enable_phased_execution"));
        set_if_some(&mut self.max_parallel, table.count("max_parallel"));
        set_if_some(&mut self.max_attempts, table.count("max_phase_attempts"));
        set_if_some(&mut self.on_failure, table.choice("on_subtask_failure"));
        set_if_some(&mut self.strict_files, table.flag("strict_files"));
        set_if_some(&mut self.subtask_review, table.flag("subtask_review"));
        let Some(mut worktree) = table.table("worktree") else { return };
        set_if_some(&mut self.worktree.setup, worktree.texts("setup").map(|(_, texts)| texts));
        let Furnishings { copy, link } = &mut self.worktree.furnishings;
        for (key, list) in [("copy", copy), ("link", link)] {
            let paths = worktree.texts(key).map(|(_, texts)| texts.into_iter().map(Into::into).collect());
            set_if_some(list, paths);
        }
        worktree.end();
    }
}

impl Default for PhasedSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            max_parallel: Self::MAX_PARALLEL,
            max_attempts: 2,
            on_failure: OnSubtaskFailure::default(),
            strict_files: false,
            subtask_review: false,
            plan_context: PlanContext::Full,
            worktree: WorktreeSettings::default(),
        }
    }
}

/// A server, and the name of the environment variable with its key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Endpoint {
    /// The base address, without a trailing slash; `/chat/completions` is appended.
    pub base_url: Option<String>,
    /// The environment variable that holds the key.
    pub api_key_env: Option<String>,
}

/// The tables `[api]` and `[api.PROVIDER]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Api {
    /// For the driver `api`.
    pub default: Endpoint,
    /// For the drivers `api:PROVIDER`, by provider.
    pub providers: BTreeMap<String, Endpoint>,
}

impl Api {
    /// The environment variable with the address if `[api]` sets none.
    pub const BASE_URL_ENV: &'static str = "OPENAI_BASE_URL";

    /// The environment variable with the key if `[api]` sets no other.
    pub const KEY_ENV: &'static str = "OPENAI_API_KEY";

    /// Returns the server of `api`, or of `api:PROVIDER`. A provider never uses the key [of the
    /// default](Self::KEY_ENV), which would be sent to a third party.
    pub fn endpoint(&self, provider: Option<&str>) -> Option<Endpoint> {
        let Some(provider) = provider else {
            let key = self.default.api_key_env.clone().unwrap_or_else(|| Self::KEY_ENV.to_owned());
            return Some(Endpoint { base_url: self.default.base_url.clone(), api_key_env: Some(key) });
        };
        self.providers.get(provider).cloned()
    }
}

/// Returns an address without trailing slashes.
///
/// # Errors
///
/// The problem, without the address, which may hold a password.
pub(super) fn base_url(text: &str) -> Result<String, &'static str> {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let Some(rest) = rest else { return Err("is not a URL that starts with `http://` or `https://`") };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.contains('@') {
        return Err(
            "contains a user name or password; remove it, and set `api_key_env` to the name of the variable with the key",
        );
    }
    if host.is_empty() || !has_port(host) || text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
        return Err("is not the URL of a server");
    }
    if text.contains(['?', '#']) {
        return Err("has a `?` or `#`; `/chat/completions` is appended to it");
    }
    Ok(text.trim_end_matches('/').to_owned())
}

/// True for a host without a port or with a numeric one.
fn has_port(host: &str) -> bool {
    let after_address = host.rsplit_once(']').map_or(host, |(_, after)| after);
    let is_bracketed = host.starts_with('[') == host.contains(']');
    let port = after_address.split_once(':');
    let is_named = host.starts_with('[') || !port.map_or(host, |(name, _)| name).is_empty();
    is_bracketed && is_named && port.is_none_or(|(_, port)| port.parse::<u16>().is_ok())
}

/// True if a text may be the name of an environment variable.
pub(super) fn is_env_name(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(is_word)
}
