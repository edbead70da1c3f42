//! [`Crew`]: drivers by name, created when first needed. Knows the available drivers, must not know a graph.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use superstep_base::moved::{here, text};

use super::agents::{AgentSpec, Agents};
use crate::decide::Rules;
use crate::drivers::api::{Api, ApiConfig};
use crate::drivers::{
    CliAgent, Driver, DriverError, DriverName, ErrorClass, Retry, RetrySettings, Scripted, SessionStore,
};
use crate::verifiers::{DynVerifier, Verifier, VerifierRegistry};

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
            home: here(agent.home.as_deref().unwrap_or(Path::new(".superstep"))),
            prefix: agent.command_prefix.iter().map(|word| text(word).into_owned()).collect(),
            retry: agent.retry,
            pass: agent.pass.clone(),
        };
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = made.get(&key) {
            return Ok(Arc::clone(known));
        }
        let driver = make(&key)?;
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

fn make(key: &DriverKey) -> Result<Arc<dyn Driver>, DriverError> {
    let name: DriverName =
        key.driver.parse().map_err(|error| DriverError::new(ErrorClass::Fatal, format!("{error}")))?;
    match name {
        DriverName::Scripted(file) => scripted(&file, key),
        DriverName::Api { provider } => api(provider, key),
        DriverName::Codex => Ok(program(CliAgent::codex(), key)),
        DriverName::Claude => Ok(program(CliAgent::claude(), key)),
    }
}

/// Wraps a driver so that transient failures are retried, after short waits.
fn patient(driver: impl Driver + 'static, key: &DriverKey) -> Arc<dyn Driver> {
    let RetrySettings { attempts, wait, .. } = key.retry;
    Arc::new(Retry::new(driver).attempts(attempts).backoff(wait, LONGEST_WAIT.max(wait)))
}

fn program(agent: CliAgent, key: &DriverKey) -> Arc<dyn Driver> {
    patient(agent.behind(&key.prefix).passing(&key.pass).keeping(sessions(key)), key)
}

fn sessions(key: &DriverKey) -> SessionStore {
    SessionStore::new(key.home.join("sessions"))
}

fn api(provider: Option<String>, key: &DriverKey) -> Result<Arc<dyn Driver>, DriverError> {
    let config = key.base_url.as_ref().map_or_else(ApiConfig::from_env, ApiConfig::new);
    let config = key.api_key_env.iter().fold(config, ApiConfig::key_from_env);
    let config = provider.into_iter().fold(config, ApiConfig::provider);
    Ok(patient(Api::new(config, sessions(key))?, key))
}

fn scripted(file: &Path, key: &DriverKey) -> Result<Arc<dyn Driver>, DriverError> {
    let scenario = Scripted::open(here(file))
        .map_err(|error| DriverError::new(ErrorClass::Fatal, error.to_string()).help(error.help()))?;
    Ok(patient(scenario.logged_in(key.home.join("scripted")), key))
}
