//! [`ApiDriver`]: the settings of the driver; its turns are in `turn`. Knows no message.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::config::ApiConfig;
use super::http::Http;
use super::turn::{self, Parts, run_blocking};
use crate::drivers::tools::ToolLimits;
use crate::drivers::{
    AgentEvents, AgentRequest, Capabilities, Driver, DriverError, Finished, SessionRef, SessionStore, events,
};

/// Driver for a model behind OpenAI's chat completions.
///
/// ```no_run
/// # use superstep_agents as superstep;
/// # async fn run() -> Result<(), superstep::drivers::DriverError> {
/// use superstep::drivers::api::{ApiConfig, ApiDriver};
/// use superstep::drivers::{AgentRequest, DriverExt, SessionStore};
///
/// let api = ApiDriver::new(ApiConfig::from_env(), SessionStore::new("runs.sessions"))?;
/// let mut request = AgentRequest::new("reviewer", "What does this program do?", ".");
/// request.model = Some("gpt-5".to_owned());
/// println!("{}", api.finish(request, |_| ()).await?.text);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ApiDriver {
    name: Arc<str>,
    parts: Arc<Parts>,
}

impl ApiDriver {
    /// Returns the driver for a server; it keeps its sessions in a store.
    ///
    /// # Errors
    /// [`DriverErrorClass::Fatal`](crate::drivers::DriverErrorClass::Fatal) if the base URL is invalid, or the system's root
    /// certificates cannot be read; [`DriverErrorClass::Auth`](crate::drivers::DriverErrorClass::Auth) if the key is malformed.
    pub fn new(config: ApiConfig, store: SessionStore) -> Result<Self, DriverError> {
        let name = config.provider.as_ref().map_or_else(|| "api".to_owned(), |name| format!("api:{name}"));
        let parts = Parts { http: Http::new(&config)?, store, price: config.price, tools: ToolLimits::default() };
        Ok(Self { name: name.into(), parts: Arc::new(parts) })
    }

    /// Sets the limits of its tools.
    #[must_use]
    pub fn tool_limits(self, tools: ToolLimits) -> Self {
        let Parts { http, store, price, .. } = &*self.parts;
        let parts = Parts { http: http.clone(), store: store.clone(), price: *price, tools };
        Self { parts: Arc::new(parts), ..self }
    }
}

impl Driver for ApiDriver {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { sessions: true, submits: true, tools: true, usage: true, cost: self.parts.price.is_some() }
    }

    fn continues(&self) -> bool {
        true
    }

    fn keeps_limits(&self) -> bool {
        true
    }

    fn run(&self, request: AgentRequest) -> AgentEvents {
        let parts = Arc::clone(&self.parts);
        events(|sender| turn::run_turn(parts, request, sender))
    }

    fn finished_turn<'a>(
        &'a self,
        session: Option<&'a SessionRef>,
        turn: &'a str,
    ) -> BoxFuture<'a, Result<Option<Finished>, DriverError>> {
        let (store, session, turn) = (self.parts.store.clone(), session.cloned(), turn.to_owned());
        Box::pin(async move { run_blocking(move || store.finished_turn(session.as_ref(), &turn)).await })
    }
}
