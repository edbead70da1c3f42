//! Settings of a server, and the router that is made of them.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use superstep::checkpoint::Checkpointer;
use superstep::graph::{CancellationToken, Graphs};
use superstep::memory::Store;
use tokio::net::TcpListener;
use tokio::time::sleep;

use crate::activity::watch_others;
use crate::expiry::remove_expired_items;
use crate::observer::RunObserver;
use crate::routes::routes;
use crate::runs::log::write_all;
use crate::runs::schedule::execute_all;
use crate::security::connections::Connections;
use crate::security::settings::Security;
use crate::server::Server;
use crate::timers::clock::run_timers;
use crate::webhooks::signature::WebhookSecret;

/// The number of runs that are executed at a time, unless it is set.
const JOBS: usize = 16;
/// The time for which the events of a run that has ended are kept, unless it is set.
const KEEP_EVENTS: Duration = Duration::from_secs(3600);
/// The time that open connections have to end once no run is executed any more.
const FAREWELL: Duration = Duration::from_secs(5);

/// Settings of a server.
#[derive(Clone)]
#[must_use = "settings do nothing until a router is made of them"]
pub struct Options {
    pub(crate) jobs: usize,
    pub(crate) observer: Option<Arc<dyn RunObserver>>,
    pub(crate) keep_events: Duration,
    pub(crate) memory: Option<Arc<dyn Store>>,
    pub(crate) stop: CancellationToken,
    pub(crate) allows_private_webhooks: bool,
    pub(crate) webhook_secret: Option<WebhookSecret>,
    pub(crate) security: Security,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            jobs: JOBS,
            observer: None,
            keep_events: KEEP_EVENTS,
            memory: None,
            stop: CancellationToken::new(),
            allows_private_webhooks: false,
            webhook_secret: None,
            security: Security::default(),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("jobs", &self.jobs).finish_non_exhaustive()
    }
}

impl Options {
    /// Sets the number of runs that are executed at a time; the others wait.
    pub fn jobs(mut self, runs: usize) -> Self {
        self.jobs = runs.max(1);
        self
    }

    /// Sets the time for which the events of a run that has ended are kept for readers that come back; an hour unless set.
    pub fn keep_events_for(mut self, time: Duration) -> Self {
        self.keep_events = time;
        self
    }

    /// Sets a token that stops the server: runs stop at the end of their superstep, and another server or the next start goes on.
    pub fn stop_with(mut self, token: CancellationToken) -> Self {
        self.stop = token;
        self
    }

    /// Sets the listener of the runs that are executed.
    pub fn observed_by(mut self, observer: impl RunObserver) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Sets the long-term store of all graphs and of the routes below `/store`; the one that the graphs were given, or the one over
    /// the store of their threads, unless set. One that [embeds](superstep::memory::CheckpointerStore::with_embed) searches by meaning.
    pub fn memory(mut self, store: Arc<dyn Store>) -> Self {
        self.memory = Some(store);
        self
    }

    /// Sets whether webhooks may be sent to loopback, private and other addresses that are not public. Default: false.
    pub fn allow_private_webhooks(mut self, allow: bool) -> Self {
        self.allows_private_webhooks = allow;
        self
    }

    /// Sets the secret with which webhooks are signed: the header `superstep-signature: t=TIME,v1=HEX` has the time of the request
    /// in seconds since 1970, and the HMAC-SHA256 of `TIME.BODY`. Without a secret there is no such header.
    pub fn webhook_secret(mut self, secret: impl Into<String>) -> Self {
        self.webhook_secret = Some(WebhookSecret(secret.into()));
        self
    }

    /// Returns the routes over graphs whose threads are in `store`, to be served or mounted in a program's own router. Runs are
    /// executed by a task that begins now.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn router(self, graphs: Graphs, store: Arc<dyn Checkpointer>) -> Router {
        self.start(graphs, store).0
    }

    /// Serves the routes over graphs on a listener until the server [stops](Self::stop_with): runs then stop at the end of their
    /// superstep, and streams end with an event that says so.
    ///
    /// # Errors
    /// If connections cannot be accepted.
    pub async fn serve(self, graphs: Graphs, store: Arc<dyn Checkpointer>, listener: TcpListener) -> io::Result<()> {
        let limits = self.security.limits;
        let (router, server) = self.start(graphs, store);
        let closing = server.closing.clone();
        tokio::select! {
            served = Connections::new(router, limits, closing.clone()).serve(listener) => served,
            () = async { closing.cancelled().await; sleep(FAREWELL).await } => Ok(()),
        }
    }

    /// Serves the graphs as tools of the Model Context Protocol on standard input and output, until the input ends or the server
    /// [stops](Self::stop_with): runs then stop at the end of their superstep, and go on when something serves the store again.
    ///
    /// # Errors
    /// If the client does not speak the protocol.
    #[cfg(feature = "mcp")]
    pub async fn serve_stdio(self, graphs: Graphs, store: Arc<dyn Checkpointer>) -> io::Result<()> {
        let (_, server) = self.start(graphs, store);
        crate::mcp::serve_stdio(&server).await
    }

    fn start(self, graphs: Graphs, store: Arc<dyn Checkpointer>) -> (Router, Arc<Server>) {
        let server = Arc::new(Server::new(graphs, store, self));
        tokio::spawn(execute_all(Arc::clone(&server)));
        tokio::spawn(write_all(Arc::clone(&server)));
        tokio::spawn(watch_others(Arc::clone(&server)));
        tokio::spawn(remove_expired_items(Arc::clone(&server)));
        tokio::spawn(run_timers(Arc::clone(&server)));
        (routes(Arc::clone(&server)), server)
    }
}
