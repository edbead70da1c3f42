//! Builds the agent of a role for nodes from a profile, and adds up what agents use.

use std::collections::BTreeMap;
use std::path::Path;

use superstep::drivers::{DriverName, NewLimits, RunLimits, Usage};
use superstep::nodes::{AgentSpec, BudgetShare};

use super::{AgentProfile, Endpoint, Profile, Role};

/// The parts of a run that an agent depends on.
pub(crate) struct Circumstances<'a> {
    /// The folder of sessions, ledgers and contents.
    pub home: &'a Path,
    /// The models that a person chose instead of the profile's.
    pub models: &'a BTreeMap<Role, String>,
    /// The usage of the run so far.
    pub spent: Usage,
    /// The limits of the run.
    pub budget: RunLimits,
}

pub(crate) fn agent(profile: &Profile, role: Role, at: &Circumstances<'_>) -> AgentSpec {
    let AgentProfile { driver, model } = profile.agent(role);
    let model = at.models.get(&role).cloned().or(model);
    let endpoint = match &driver {
        DriverName::Api { provider } => profile.api.endpoint(provider.as_deref()),
        _ => None,
    };
    let Endpoint { base_url, api_key_env } = endpoint.unwrap_or_default();
    AgentSpec {
        price: profile.price(role),
        purse: BudgetShare { limits: at.budget, spent: at.spent },
        role: role.name().to_owned(),
        driver: driver.to_string(),
        model,
        base_url,
        api_key_env,
        home: Some(at.home.to_owned()),
        command_prefix: profile.tools.command_prefix.clone(),
        limits: (&profile.limits).into(),
        retry: profile.retry,
        pass: profile.tools.pass.clone(),
    }
}

/// Adds the usage of roles.
pub(crate) fn add_up(all: &mut BTreeMap<Role, Usage>, more: BTreeMap<Role, Usage>) {
    more.into_iter().for_each(|(role, usage)| *all.entry(role).or_default() += usage);
}

/// Replaces each limit that has a new value.
pub(crate) fn later(limits: &mut NewLimits, new: NewLimits) {
    *limits = limits.latest(new);
}
