//! [`RestateDispatch`]: calls of threads through the ingress of Restate. Knows the handlers' names; must not know stores.

use std::time::SystemTime;

use hyper::Method;
use serde_json::json;
use superstep::checkpoint::{BoxFuture, ThreadId};
use superstep::graph::runner::{Dispatch, DispatchError};

use crate::address::{Address, SERVICE, check_service, encode};
use crate::client::{Call, request};
use crate::error::RestateError;

/// The port of Restate's ingress.
const INGRESS: u16 = 8080;

/// Threads that Restate runs: [`Dispatch`] through its ingress.
#[derive(Clone, Debug)]
pub struct RestateDispatch {
    ingress: Address,
    service: String,
}

impl RestateDispatch {
    /// Returns the dispatch through an ingress, `http://HOST:8080`. The name of the service may follow as a path, where it is not
    /// `superstep`: see [`RestateWorker::service`](crate::RestateWorker::service).
    ///
    /// # Errors
    /// [`RestateError::Address`].
    pub fn new(ingress: &str) -> Result<Self, RestateError> {
        let address = Address::parse(ingress, INGRESS)?;
        let service = if address.path().is_empty() { SERVICE } else { address.path() };
        check_service(service)?;
        Ok(Self { service: service.to_owned(), ingress: address.without_path() })
    }

    /// Sets the name of the service.
    pub(crate) fn of_service(self, service: &str) -> Self {
        Self { service: service.to_owned(), ..self }
    }

    /// Wakes a thread, unless that was done with this key already.
    pub(crate) async fn wake_once(&self, thread: &ThreadId, key: String) -> Result<(), DispatchError> {
        self.send(thread, "turn/send", Some(key)).await
    }

    async fn send(&self, thread: &ThreadId, handler: &str, once: Option<String>) -> Result<(), DispatchError> {
        let path = format!("/{}/{}/{handler}", self.service, encode(thread.as_str()));
        let json = json!({});
        let json = handler.starts_with("turn").then_some(&json);
        let call = Call { once, ..Call::new(Method::POST, path, json) };
        let engine = || format!("Restate at {}", self.ingress);
        match request(&self.ingress, call).await {
            Ok(answer) if answer.is_success => Ok(()),
            Ok(answer) => Err(DispatchError::Refused { engine: engine(), reason: answer.message() }),
            Err(reason) => Err(DispatchError::Unreachable { engine: engine(), reason }),
        }
    }
}

impl Dispatch for RestateDispatch {
    fn wake<'a>(&'a self, thread: &'a ThreadId, at: Option<SystemTime>) -> BoxFuture<'a, Result<(), DispatchError>> {
        let delay = at.and_then(|at| at.duration_since(SystemTime::now()).ok());
        let query = delay.map(|delay| format!("?delay={}ms", delay.as_millis())).unwrap_or_default();
        Box::pin(async move { self.send(thread, &format!("turn/send{query}"), None).await })
    }

    fn cancel<'a>(&'a self, thread: &'a ThreadId) -> BoxFuture<'a, Result<(), DispatchError>> {
        Box::pin(self.send(thread, "cancel/send", None))
    }
}
