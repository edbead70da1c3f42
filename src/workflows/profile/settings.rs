//! A profile and its defaults. Plain data; it goes into the state of a run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::api::Api;
use super::choices::{OnExhausted, PlanContext, RetrySession, Role, Tracker};
use super::phased::Phased;
use crate::drivers::{DriverName, Limits, Price, RetrySettings, RunLimits};
use crate::plan::TaskProgress;

/// How a workflow of coding agents is run.
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
    /// What it is called; the name of its file unless it says otherwise.
    pub name: String,
    /// The driver of each agent that has none of its own; `api`.
    pub driver: DriverName,
    /// The model of each agent that has none of its own; none: the driver's choice.
    pub model: Option<String>,
    /// What differs for a role.
    pub agents: BTreeMap<Role, AgentSettings>,
    /// The repository, from the current directory; that directory itself.
    pub working_dir: PathBuf,
    /// How many attempts a task gets, the first included; 5.
    pub max_task_review_iterations: u32,
    /// How many attempts a plan without task headings gets; none: as many as a task.
    pub max_review_iterations: Option<u32>,
    /// How often a plan goes back to the architect before a person is asked; 3.
    pub max_plan_revisions: u32,
    /// Where issues come from.
    pub tracker: Tracker,
    /// The folder for plans that are kept in the repository; `docs/plans`.
    pub plan_dir: PathBuf,
    /// Whether a plan that the architect wrote is committed with the first task; no.
    pub plan_in_repo: bool,
    /// How much of the plan a developer's prompt holds.
    pub plan_context: PlanContext,
    /// What happens when a task has used up its attempts.
    pub on_exhausted: OnExhausted,
    /// In which session a developer tries again.
    pub retry_session: RetrySession,
    /// The reviews of each attempt, by kind; `general`. At least one.
    pub review_types: Vec<String>,
    /// Whether all work is reviewed once more at the end; yes. Its result is reported and blocks nothing.
    pub final_review: bool,
    /// How long a verify command may take; ten minutes.
    pub verify_timeout: Duration,
    /// How much a turn of an agent may use.
    pub limits: TurnLimits,
    /// How failures of a model's service are met that may pass.
    pub retry: RetrySettings,
    /// How much the whole run may use: the table `[budget]`. Once it is reached, a person is asked.
    pub budget: RunLimits,
    /// What tokens cost, by model, where no server tells: the tables `[prices."MODEL"]`.
    pub prices: BTreeMap<String, Price>,
    /// Which servers the `api` drivers talk to.
    pub api: Api,
    /// What agents may do besides reading and editing.
    pub tools: Tools,
    /// How the phases of a plan are executed.
    pub phased: Phased,
}

/// What differs for a role: the table `[agents.ROLE]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentSettings {
    /// Its driver.
    pub driver: Option<DriverName>,
    /// Its model.
    pub model: Option<String>,
}

/// What an agent of a role runs on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AgentProfile {
    /// Its driver.
    pub driver: DriverName,
    /// Its model; none: the driver's choice.
    pub model: Option<String>,
}

/// What agents may do besides reading and editing: the table `[tools]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Tools {
    /// Whether they may run shell commands; no.
    pub shell: bool,
    /// The program and its arguments to put before each command, such as a sandbox; nothing.
    pub command_prefix: Vec<String>,
    /// Variables of the environment that checks, and agents that are programs, get besides the usual ones; none.
    pub pass: Vec<String>,
}

/// How much one turn of an agent may use: the table `[limits]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnLimits {
    /// Requests to the model; 200.
    pub requests: u32,
    /// Tokens; none: no limit.
    pub tokens: Option<u64>,
    /// Millionths of a dollar; none: no limit. The file says dollars.
    pub cost: Option<u64>,
    /// Time for the whole turn; one hour.
    pub wall: Duration,
    /// Time without a sign of life; ten minutes.
    pub idle: Duration,
}

impl Profile {
    /// How often a plan goes back to the architect unless the profile says otherwise.
    pub const MAX_PLAN_REVISIONS: u32 = 3;

    /// Returns the driver and model of a role: its own, or those of the profile.
    pub fn agent(&self, role: Role) -> AgentProfile {
        let own = self.agents.get(&role).or_else(|| self.agents.get(&role.fallback()?)).cloned().unwrap_or_default();
        AgentProfile {
            driver: own.driver.unwrap_or_else(|| self.driver.clone()),
            model: own.model.or_else(|| self.model.clone()),
        }
    }

    /// Returns what the tokens of a role's model cost, if the profile says.
    pub fn price(&self, role: Role) -> Option<Price> {
        self.agent(role).model.and_then(|model| self.prices.get(&model).copied())
    }

    /// Returns a sentence for each model whose cost cannot be known, or only from its server: nothing holds limits of cost
    /// then.
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

    /// Returns how many attempts each task of a plan gets, the first included.
    pub fn attempts(&self, has_task_headings: bool) -> u32 {
        let whole_plan = self.max_review_iterations.filter(|_| !has_task_headings);
        whole_plan.unwrap_or(self.max_task_review_iterations)
    }
}

/// Why the cost of an agent without a price is not known.
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
