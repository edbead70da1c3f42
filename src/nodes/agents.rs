//! Specification of agents, and the trait by which nodes get their drivers. Knows no driver.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::decide::Rules;
use crate::drivers::{Driver, DriverError, Limits, Price, RetrySettings, RunLimits, Usage};
use crate::verifiers::{DynVerifier, VerifierRegistry};

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
    pub purse: Purse,
}

/// The share of an agent in the budget of its run. All turns of a thread are in one ledger, a file in the `ledgers`
/// folder of the agent's [`home`](AgentSpec::home), also those in subgraphs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Purse {
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
    struct Stored {
        requests: u32,
        tokens: Option<u64>,
        cost: Option<u64>,
        wall_ms: u64,
        idle_ms: u64,
    }

    pub(super) fn serialize<S: Serializer>(limits: &Limits, serializer: S) -> Result<S::Ok, S::Error> {
        let &Limits { requests, tokens, cost, wall, idle } = limits;
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Stored { requests, tokens, cost, wall_ms: millis(wall), idle_ms: millis(idle) }.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Limits, D::Error> {
        let Stored { requests, tokens, cost, wall_ms, idle_ms } = Stored::deserialize(deserializer)?;
        let millis = Duration::from_millis;
        Ok(Limits { requests, tokens, cost, wall: millis(wall_ms), idle: millis(idle_ms) })
    }
}
