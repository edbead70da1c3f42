//! Settings of a server. Must not know what is made of them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use superstep::graph::CancellationToken;
use superstep::memory::Store;

use crate::client_input::{InputReader, InputReaders};
use crate::forks::{ForkHook, ForkHooks};
use crate::inspection::replays::LONGEST;
use crate::observer::RunObserver;
use crate::security::settings::Security;
use crate::webhooks::signature::WebhookSecret;

/// The number of runs that are executed at a time, unless it is set.
const JOBS: usize = 16;
/// The time for which the events of a run that has ended are kept, unless it is set.
const KEEP_EVENTS: Duration = Duration::from_secs(3600);

/// Settings of a server.
#[derive(Clone)]
#[must_use = "settings do nothing until a router is made of them"]
pub struct Options {
    pub(crate) jobs: usize,
    pub(crate) observer: Option<Arc<dyn RunObserver>>,
    pub(crate) keep_events: Duration,
    pub(crate) memory: Option<Arc<dyn Store>>,
    pub(crate) stop: CancellationToken,
    pub(crate) end: CancellationToken,
    pub(crate) allows_private_webhooks: bool,
    pub(crate) webhook_secret: Option<WebhookSecret>,
    pub(crate) security: Security,
    pub(crate) has_page: bool,
    pub(crate) readers: InputReaders,
    pub(crate) forks: ForkHooks,
    pub(crate) longest_replay: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            jobs: JOBS,
            observer: None,
            keep_events: KEEP_EVENTS,
            memory: None,
            stop: CancellationToken::new(),
            end: CancellationToken::new(),
            allows_private_webhooks: false,
            webhook_secret: None,
            security: Security::default(),
            has_page: true,
            readers: InputReaders::default(),
            forks: ForkHooks::default(),
            longest_replay: LONGEST,
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

    /// Sets a token that the server cancels once it has [stopped](Self::stop_with) and executes no run any more. A program that mounts the
    /// router waits for it before it ends: else a superstep is cut off, and the next start repeats it.
    pub fn signal_end(mut self, token: CancellationToken) -> Self {
        self.end = token;
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

    /// Sets the reader of the inputs that clients give to a graph, in the place of its channels.
    pub fn read_inputs(mut self, graph: impl Into<String>, reader: impl InputReader) -> Self {
        self.readers.insert(graph.into(), Arc::new(reader));
        self
    }

    /// Sets what is done outside of the store when a thread of a graph is forked.
    pub fn prepare_forks(mut self, graph: impl Into<String>, hook: impl ForkHook) -> Self {
        self.forks.insert(graph.into(), Arc::new(hook));
        self
    }

    /// Sets the time that `verify` and `what-if` of a thread may take; 15 s unless set. What takes longer is done with the command line.
    pub fn longest_replay(mut self, time: Duration) -> Self {
        self.longest_replay = time;
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

    /// Sets whether `/docs`, the page that describes the routes, is served. Default: true.
    pub fn page(mut self, serve: bool) -> Self {
        self.has_page = serve;
        self
    }
}
