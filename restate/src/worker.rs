//! [`RestateWorker`]: serves threads to Restate, registers itself, looks for lost calls and for workers that died, and hands over
//! when it stops.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use restate_sdk::endpoint::Endpoint;
use restate_sdk::service::ServiceDefinition;
use superstep::checkpoint::Checkpointer;
use superstep::graph::runner::EngineWorker;
use superstep::graph::{CancellationToken, Graphs, Runner, runner};
use tokio::net::TcpListener;
use tokio::time::{interval, sleep};

use crate::address::{Address, SERVICE, check_service};
use crate::admin::Admin;
use crate::dispatch::RestateDispatch;
use crate::error::RestateError;
use crate::notices::Notices;
use crate::object::{ENGINE, Threads};
use crate::peers::Peers;
use crate::server::serve;

/// The interval at which a worker looks for lost calls.
const LOST: Duration = Duration::from_secs(30);
/// A call for the same lost thread is made once in this time.
const AGAIN: Duration = Duration::from_secs(60);
/// The pause before another attempt to register.
const PAUSE: Duration = Duration::from_millis(500);

/// Returns an endpoint with the threads of these graphs, for a service of your own: `HttpServer::new(endpoint(graphs, store)?)`.
///
/// It needs no address of Restate, so it does not look for lost calls: [`RestateWorker`] does.
///
/// # Errors
/// [`RestateError::Run`].
pub fn endpoint(graphs: Graphs, store: Arc<dyn Checkpointer>) -> Result<Endpoint, RestateError> {
    Ok(RestateWorker::new(runner(graphs.with_shared_checkpointer(store)))?.endpoint())
}

/// A worker that Restate calls.
#[derive(Debug)]
#[must_use = "a worker does nothing until `run`"]
pub struct RestateWorker {
    worker: Arc<EngineWorker>,
    service: String,
    listen: String,
    advertised: Option<Address>,
    admin: Option<Admin>,
    ingress: Option<RestateDispatch>,
    notices: Notices,
}

impl RestateWorker {
    /// Returns a worker that runs the threads of a runner's graphs, with its settings and hooks.
    ///
    /// # Errors
    /// [`RestateError::Run`] if a graph has no store.
    pub fn new(runner: Runner) -> Result<Self, RestateError> {
        Ok(Self {
            worker: Arc::new(runner.called_by(ENGINE)?),
            service: SERVICE.to_owned(),
            listen: "127.0.0.1:9080".into(),
            advertised: None,
            admin: None,
            ingress: None,
            notices: Notices::default(),
        })
    }

    /// Sets the name of the service in Restate, `superstep` unless set: for several stores that share a Restate.
    ///
    /// # Errors
    /// [`RestateError::Address`] for a name that Restate does not accept.
    pub fn service(mut self, name: &str) -> Result<Self, RestateError> {
        check_service(name)?;
        self.service = name.to_owned();
        Ok(self)
    }

    /// Sets the address on which Restate reaches the worker, `127.0.0.1:9080` unless set.
    pub fn listen(mut self, address: impl Into<String>) -> Self {
        self.listen = address.into();
        self
    }

    /// Sets the address that Restate is told, where it is not the one on which the worker listens: that of a load balancer, for
    /// example.
    ///
    /// # Errors
    /// [`RestateError::Address`].
    pub fn advertise(mut self, url: &str) -> Result<Self, RestateError> {
        self.advertised = Some(Address::parse(url, 80)?);
        Ok(self)
    }

    /// Sets the address of Restate's admin API, at which the worker registers itself, and by which it takes over the calls of
    /// workers that died.
    ///
    /// # Errors
    /// [`RestateError::Address`].
    pub fn admin(mut self, url: &str) -> Result<Self, RestateError> {
        self.admin = Some(Admin::new(url)?);
        Ok(self)
    }

    /// Sets the address of Restate's ingress, for calls that were lost; the one that Restate advertises unless set.
    ///
    /// # Errors
    /// [`RestateError::Address`].
    pub fn ingress(mut self, url: &str) -> Result<Self, RestateError> {
        self.ingress = Some(RestateDispatch::new(url)?);
        Ok(self)
    }

    /// Calls a function with a line for people when the worker serves, cannot be registered yet, or takes over the calls of another;
    /// unless set, the lines are logged as warnings.
    pub fn on_notice(mut self, notice: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.notices = Notices::new(notice);
        self
    }

    /// Returns the service, to be bound to an endpoint beside services of your own.
    pub fn definition(&self) -> ServiceDefinition {
        Threads { worker: Arc::clone(&self.worker), service: self.service.clone() }.definition()
    }

    /// Returns an endpoint with the service.
    pub fn endpoint(&self) -> Endpoint {
        Endpoint::builder().bind(self.definition()).build()
    }

    /// Serves until the token is cancelled. Then current runs stop after their supersteps, within the grace time of the runner, and
    /// other workers continue.
    ///
    /// # Errors
    /// [`RestateError::Listen`], [`RestateError::Register`].
    pub async fn run(self, stop: CancellationToken) -> Result<(), RestateError> {
        let failed = |source| RestateError::Listen { address: self.listen.clone(), source };
        let listener = TcpListener::bind(&self.listen).await.map_err(failed)?;
        let own = self.own_address(listener.local_addr().map_err(failed)?)?;
        let (closing, ended) = (CancellationToken::new(), CancellationToken::new());
        let serving = tokio::spawn(serve(listener, self.endpoint(), closing.clone(), ended.clone()));
        self.notices.send(&format!("serving threads to Restate at {own}"));
        let (service, notices) = (self.service.clone(), self.notices.clone());
        let peers = self.admin.clone().map(|admin| Peers { admin, service, own, notices });
        let worked = match &peers {
            Some(peers) => self.register(peers, &stop).await,
            None => Ok(()),
        };
        if worked.is_ok() {
            tokio::select! {
                () = stop.cancelled() => {}
                () = self.look_for_lost_calls() => {}
                () = watch(peers.as_ref()) => {}
            }
        }
        if let Some(peers) = &peers {
            peers.hand_over().await;
        }
        closing.cancel();
        self.worker.stop().await;
        ended.cancel();
        _ = serving.await;
        worked
    }

    /// Returns the address that Restate is told.
    fn own_address(&self, local: SocketAddr) -> Result<Address, RestateError> {
        if let Some(address) = &self.advertised {
            return Ok(address.clone());
        }
        if self.admin.is_some() && local.ip().is_unspecified() {
            let reason = "Restate cannot call it: set the address that it is told as well";
            return Err(RestateError::Address { address: self.listen.clone(), reason });
        }
        Address::parse(&format!("http://{local}"), 80)
    }

    /// Registers the worker, as soon as Restate can be reached.
    async fn register(&self, peers: &Peers, stop: &CancellationToken) -> Result<(), RestateError> {
        let mut is_told = false;
        loop {
            let Err(error) = peers.admin.register(&peers.own).await else { return Ok(()) };
            if !is_told {
                self.notices.send(&format!("{error}; it is tried again"));
                is_told = true;
            }
            tokio::select! {
                () = stop.cancelled() => return Err(error),
                () = sleep(PAUSE) => {}
            }
        }
    }

    /// Wakes, from time to time, threads whose call was lost. Never ends.
    async fn look_for_lost_calls(&self) {
        let mut ticks = interval(LOST);
        loop {
            ticks.tick().await;
            let Some(ingress) = self.find_ingress().await else { continue };
            if let Err(error) = wake_lost(&self.worker, &ingress).await {
                tracing::warn!(error, "lost calls were not looked for");
            }
        }
    }

    async fn find_ingress(&self) -> Option<RestateDispatch> {
        let found = match (&self.ingress, &self.admin) {
            (Some(ingress), _) => Some(ingress.clone()),
            (None, Some(admin)) => admin.ingress().await.and_then(|url| RestateDispatch::new(&url).ok()),
            (None, None) => None,
        };
        found.map(|ingress| ingress.of_service(&self.service))
    }
}

/// Watches the other workers; without an admin API it waits for ever.
async fn watch(peers: Option<&Peers>) {
    match peers {
        Some(peers) => peers.watch().await,
        None => std::future::pending().await,
    }
}

/// Wakes the threads that can be resumed and that nobody runs. A thread that waits for its call is woken once more, which does
/// nothing.
async fn wake_lost(worker: &EngineWorker, ingress: &RestateDispatch) -> Result<(), String> {
    let period = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / AGAIN.as_secs();
    for thread in worker.lost().await.map_err(|error| error.to_string())? {
        ingress.wake_once(&thread, format!("lost-{period}")).await.map_err(|error| error.to_string())?;
    }
    Ok(())
}
