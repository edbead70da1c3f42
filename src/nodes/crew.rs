//! The usual agents: drivers by their names, made when they are first needed. Knows which drivers there are, and no graph.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::agents::{AgentSpec, Agents};
use super::folder::{Folder, failed};
use crate::checkpoint::BoxFuture;
use crate::drivers::api::{Api, ApiConfig};
use crate::drivers::{CliAgent, Driver, DriverError, DriverName, ErrorClass, Retry, Scripted, SessionStore};
use crate::graph::NodeError;
use crate::workspace::WorkspaceLock;

/// The context of a run whose agents are chosen by name, from a profile: `api`, `cli:codex`, `scripted:FILE`, and drivers of
/// your own. Keys are read from the environment when a driver is made, and are stored nowhere.
#[derive(Default)]
pub struct Crew {
    own: HashMap<String, Arc<dyn Driver>>,
    made: Mutex<HashMap<Which, Arc<dyn Driver>>>,
    /// The work trees that runs of this process work in, by thread and folder.
    held: tokio::sync::Mutex<HashMap<(String, PathBuf), WorkspaceLock>>,
}

/// What tells drivers apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Which {
    driver: String,
    base_url: Option<String>,
    api_key_env: Option<String>,
    home: PathBuf,
}

impl std::fmt::Debug for Crew {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Crew").field("own", &self.own.keys().collect::<Vec<_>>()).finish_non_exhaustive()
    }
}

impl Crew {
    /// Returns a crew of the drivers that come with the library.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a driver of your own, under a name that profiles can use; it comes before one of the library's.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, driver: impl Driver + 'static) -> Self {
        self.own.insert(name.into(), Arc::new(driver));
        self
    }
}

impl Agents for Crew {
    fn driver(&self, agent: &AgentSpec) -> Result<Arc<dyn Driver>, DriverError> {
        if let Some(own) = self.own.get(&agent.driver) {
            return Ok(Arc::clone(own));
        }
        let which = Which {
            driver: agent.driver.clone(),
            base_url: agent.base_url.clone(),
            api_key_env: agent.api_key_env.clone(),
            home: agent.home.clone().unwrap_or_else(|| PathBuf::from(".superstep")),
        };
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = made.get(&which) {
            return Ok(Arc::clone(known));
        }
        let driver = make(&which)?;
        made.insert(which, Arc::clone(&driver));
        Ok(driver)
    }

    fn hold<'a>(&'a self, folder: &'a Folder, thread: &'a str) -> BoxFuture<'a, Result<(), NodeError>> {
        Box::pin(async move {
            let mut held = self.held.lock().await;
            let which = (thread.to_owned(), folder.directory.clone());
            if let Entry::Vacant(free) = held.entry(which) {
                free.insert(folder.open().await?.lock(thread).await.map_err(failed)?);
            }
            Ok(())
        })
    }
}

fn make(which: &Which) -> Result<Arc<dyn Driver>, DriverError> {
    let name: DriverName =
        which.driver.parse().map_err(|error| DriverError::new(ErrorClass::Fatal, format!("{error}")))?;
    match name {
        DriverName::Scripted(file) => scripted(&file, &which.home),
        DriverName::Api { provider } => api(provider, which),
        DriverName::Codex => Ok(patient(CliAgent::codex())),
        DriverName::Claude => Ok(patient(CliAgent::claude())),
    }
}

/// A driver whose turns are tried again after failures that pass, and after short waits.
fn patient(driver: impl Driver + 'static) -> Arc<dyn Driver> {
    Arc::new(Retry::new(driver))
}

fn api(provider: Option<String>, which: &Which) -> Result<Arc<dyn Driver>, DriverError> {
    let config = which.base_url.as_ref().map_or_else(ApiConfig::from_env, ApiConfig::new);
    let config = which.api_key_env.iter().fold(config, ApiConfig::key_from_env);
    let config = provider.into_iter().fold(config, ApiConfig::provider);
    Ok(patient(Api::new(config, SessionStore::new(which.home.join("sessions")))?))
}

fn scripted(file: &Path, home: &Path) -> Result<Arc<dyn Driver>, DriverError> {
    let scenario = Scripted::open(file)
        .map_err(|error| DriverError::new(ErrorClass::Fatal, error.to_string()).help(error.help()))?;
    Ok(patient(scenario.logged_in(home.join("scripted"))))
}
