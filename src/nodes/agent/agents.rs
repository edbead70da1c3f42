//! Specification of agents, the trait by which nodes get their drivers, and [`Crew`], which has them by name and creates
//! each when first needed. Must not know a graph.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use superstep_base::moved::{present_path, text};

use crate::decide::Rules;
use crate::drivers::api::{ApiConfig, ApiDriver, Message};
use crate::drivers::{
    CliAgent, Driver, DriverError, DriverErrorClass, DriverKind, DriverName, Limits, Price, Retry, RetrySettings,
    RunLimits, Scripted, SessionStore, Usage,
};
use crate::graph::reducers::Keyed;
use crate::verifiers::{DynVerifier, Verifier, VerifierRegistry};

/// An agent for the turns of a role. Plain data without keys, so that it can be part of a graph's state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSpec {
    /// The role: `developer`.
    pub role: String,
    /// The driver's name: `api`, `cli:codex`.
    pub driver: String,
    /// The model; none: the driver's own choice.
    #[serde(default)]
    pub model: Option<String>,
    /// The address of the driver's service; none: the environment has it.
    #[serde(default)]
    pub base_url: Option<String>,
    /// The environment variable that holds the service's key; none: the driver's usual one.
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// The folder in which its driver keeps sessions; none: `.superstep` in the current folder.
    #[serde(default)]
    pub home: Option<std::path::PathBuf>,
    /// A command that wraps a program that is the agent: a sandbox and its arguments. Agents whose tools are ours have
    /// it in their [`Access`](crate::drivers::Access).
    #[serde(default)]
    pub command_prefix: Vec<String>,
    /// Variables of the environment that a program which is the agent gets besides the usual ones.
    #[serde(default)]
    pub pass: Vec<String>,
    /// The limits of one of its turns.
    #[serde(default, with = "limits")]
    pub limits: Limits,
    /// The retries of failures of its service that may pass.
    #[serde(default)]
    pub retry: RetrySettings,
    /// The price of its model's tokens, where its driver does not report the cost of a turn.
    #[serde(default)]
    pub price: Option<Price>,
    /// The limits of this agent together with all other agents of the run.
    #[serde(default)]
    pub purse: BudgetShare,
}

impl AgentSpec {
    /// Returns the home of the agent, or the folder that is used without one.
    pub(super) fn home(&self) -> &Path {
        self.home.as_deref().unwrap_or(Path::new(".superstep"))
    }

    /// Returns the folder for diffs that are too long for a prompt.
    pub(in crate::nodes) fn long_diffs(&self) -> PathBuf {
        self.home().join("diffs")
    }
}

/// The share of an agent in the budget of its run. All turns of a thread are in one ledger, a file in the `ledgers`
/// folder of the agent's `home`, also those in subgraphs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BudgetShare {
    /// The limits of the run.
    pub limits: RunLimits,
    /// The usage that the state has: the ledger counts at least as much.
    pub spent: Usage,
}

/// Context of a run with agents. Drivers hold keys and processes, so they are in the context and never stored.
pub trait Agents: Send + Sync + 'static {
    /// Returns the driver of an agent.
    ///
    /// # Errors
    /// If there is no such driver, or it cannot be made: a key that is missing.
    fn driver(&self, agent: &AgentSpec) -> Result<Arc<dyn Driver>, DriverError>;

    /// Returns the code verifier with this id. Default: one of the built-in ones.
    fn verifier(&self, id: &str) -> Option<DynVerifier> {
        VerifierRegistry::built_in().get(id)
    }

    /// Returns the rules that decide on tasks. Default: the standard ones.
    fn rules(&self) -> Rules {
        Rules::standard()
    }
}

/// Uses one driver for every agent.
impl<D: Driver + 'static> Agents for Arc<D> {
    fn driver(&self, _: &AgentSpec) -> Result<Arc<dyn Driver>, DriverError> {
        Ok(Arc::<D>::clone(self))
    }
}

/// Limits as stored: times in milliseconds.
mod limits {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::drivers::Limits;

    #[derive(Serialize, Deserialize)]
    struct StoredLimits {
        requests: u32,
        tokens: Option<u64>,
        cost: Option<u64>,
        wall_ms: u64,
        idle_ms: u64,
    }

    pub(in crate::nodes) fn serialize<S: Serializer>(limits: &Limits, serializer: S) -> Result<S::Ok, S::Error> {
        let &Limits { requests, tokens, cost, wall, idle, .. } = limits;
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        StoredLimits { requests, tokens, cost, wall_ms: millis(wall), idle_ms: millis(idle) }.serialize(serializer)
    }

    pub(in crate::nodes) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Limits, D::Error> {
        let StoredLimits { requests, tokens, cost, wall_ms, idle_ms } = StoredLimits::deserialize(deserializer)?;
        let millis = Duration::from_millis;
        Ok(Limits { requests, tokens, cost, wall: millis(wall_ms), idle: millis(idle_ms) })
    }
}

const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Context of a run whose agents are chosen by name, from a profile: `api`, `cli:codex`, `scripted:FILE`, and drivers
/// of your own. Keys are read from the environment when a driver is created, and never stored.
pub struct Crew {
    own: HashMap<String, Arc<dyn Driver>>,
    verifiers: VerifierRegistry,
    rules: Rules,
    made: Mutex<HashMap<DriverKey, Arc<dyn Driver>>>,
}

impl Default for Crew {
    fn default() -> Self {
        Self {
            own: HashMap::new(),
            verifiers: VerifierRegistry::built_in(),
            rules: Rules::standard(),
            made: Mutex::default(),
        }
    }
}

/// The key that distinguishes drivers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct DriverKey {
    driver: String,
    base_url: Option<String>,
    api_key_env: Option<String>,
    home: PathBuf,
    prefix: Vec<String>,
    retry: RetrySettings,
    pass: Vec<String>,
}

impl std::fmt::Debug for Crew {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Crew").field("own", &self.own.keys().collect::<Vec<_>>()).finish_non_exhaustive()
    }
}

impl Crew {
    /// Returns a crew of the built-in drivers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a driver under a name that profiles can use; it takes precedence over a built-in one.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, driver: impl Driver + 'static) -> Self {
        self.own.insert(name.into(), Arc::new(driver));
        self
    }

    /// Adds a verifier under the id of its entry in `verifiers.yml`; it takes precedence over a built-in one.
    #[must_use]
    pub fn with_verifier(mut self, id: impl Into<String>, verifier: impl Verifier) -> Self {
        self.verifiers = self.verifiers.with(id, verifier);
        self
    }

    /// Sets the rules that decide on tasks.
    #[must_use]
    pub fn with_rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }
}

impl Agents for Crew {
    fn driver(&self, agent: &AgentSpec) -> Result<Arc<dyn Driver>, DriverError> {
        if let Some(own) = self.own.get(&agent.driver) {
            return Ok(Arc::clone(own));
        }
        let key = DriverKey {
            driver: agent.driver.clone(),
            base_url: agent.base_url.clone(),
            api_key_env: agent.api_key_env.clone(),
            home: present_path(agent.home.as_deref().unwrap_or(Path::new(".superstep"))),
            prefix: agent.command_prefix.iter().map(|word| text(word).into_owned()).collect(),
            retry: agent.retry,
            pass: agent.pass.clone(),
        };
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = made.get(&key) {
            return Ok(Arc::clone(known));
        }
        let driver = make_driver(&key)?;
        made.insert(key, Arc::clone(&driver));
        Ok(driver)
    }

    fn verifier(&self, id: &str) -> Option<DynVerifier> {
        self.verifiers.get(id)
    }

    fn rules(&self) -> Rules {
        self.rules.clone()
    }
}

fn make_driver(key: &DriverKey) -> Result<Arc<dyn Driver>, DriverError> {
    let name: DriverName =
        key.driver.parse().map_err(|error| DriverError::new(DriverErrorClass::Fatal, format!("{error}")))?;
    match name.kind() {
        DriverKind::Scripted(file) => scripted_driver(file, key),
        DriverKind::Api(provider) => api_driver(provider, key),
        DriverKind::Program(known) => Ok(program_driver(CliAgent::new(known), key)),
    }
}

/// Wraps a driver so that transient failures are retried, after short waits.
fn with_retries(driver: impl Driver + 'static, key: &DriverKey) -> Arc<dyn Driver> {
    let RetrySettings { attempts, wait, .. } = key.retry;
    Arc::new(Retry::new(driver).attempts(attempts).backoff(wait, LONGEST_WAIT.max(wait)))
}

fn program_driver(agent: CliAgent, key: &DriverKey) -> Arc<dyn Driver> {
    with_retries(agent.run_in(&key.prefix).pass_env(&key.pass).with_store(sessions(key)), key)
}

fn sessions(key: &DriverKey) -> SessionStore {
    SessionStore::new(key.home.join("sessions"))
}

fn api_driver(provider: Option<&str>, key: &DriverKey) -> Result<Arc<dyn Driver>, DriverError> {
    let config = key.base_url.as_ref().map_or_else(ApiConfig::from_env, ApiConfig::new);
    let config = key.api_key_env.iter().fold(config, ApiConfig::key_from_env);
    let config = provider.into_iter().fold(config, ApiConfig::provider);
    Ok(with_retries(ApiDriver::new(config, sessions(key))?, key))
}

fn scripted_driver(file: &Path, key: &DriverKey) -> Result<Arc<dyn Driver>, DriverError> {
    let scenario = Scripted::open(present_path(file))
        .map_err(|error| DriverError::new(DriverErrorClass::Fatal, error.to_string()).help(error.help()))?;
    Ok(with_retries(scenario.logged_in(key.home.join("scripted")), key))
}

/// Messages of model servers in states are merged by id, as `#[channel(messages)]` does.
impl Keyed for Message {
    fn id(&self) -> &str {
        &self.id
    }

    fn set_id(&mut self, id: String) {
        self.id = id;
    }
}
