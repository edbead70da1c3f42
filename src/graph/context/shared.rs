//! What all tasks of a run share, those of its subgraphs included.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use tokio::sync::{Mutex as AsyncMutex, Semaphore};
use tokio_util::sync::CancellationToken;

use super::exit::Budgets;
use super::report::Comparison;
use crate::checkpoint::ThreadId;
use crate::graph::error::{NodeError, RunError};
use crate::graph::records::{NodeCache, Outside, Recorder};
use crate::graph::view::Sink;

/// What all tasks of a run share, those of its subgraphs included.
pub(crate) struct Shared<C> {
    pub context: Arc<C>,
    pub thread: Option<ThreadId>,
    pub sink: Option<Sink>,
    pub recorder: Option<Arc<Recorder>>,
    /// Whether questions may be asked: answers have somewhere to go, or nobody wants to answer.
    pub may_ask: bool,
    /// Whether what nodes emit is stored.
    pub records_events: bool,
    /// Whether a log is told of supersteps and tasks.
    pub traced: bool,
    /// Whether polls of bodies are timed: somebody listens to the run or to warnings.
    pub timed: bool,
    pub cancel: Option<CancellationToken>,
    pub drain: Option<CancellationToken>,
    pub cache: Option<Arc<dyn NodeCache>>,
    /// The words that each checkpoint of the run is given.
    pub metadata: Vec<(String, String)>,
    pub limits: Limits,
    pub budgets: Budgets,
    /// As many permits as tasks may run at once, over all levels; none: no limit.
    pub running: Option<Arc<Semaphore>>,
    /// Supersteps taken so far, those of subgraphs included.
    pub spent: AtomicU64,
    /// Without a store: tells the questions of this run from those of others.
    pub birth: OnceLock<u64>,
    /// Where the time and noise come from.
    pub outside: Outside,
    /// What a test puts in the place of the world outside.
    pub stage: Option<Arc<dyn Stage>>,
    /// What the run is compared with, if it is a replay.
    pub replay: Option<Arc<Comparison>>,
    #[cfg_attr(not(feature = "agents"), allow(dead_code, reason = "only workflows keep values"))]
    pub keeps: Keeps,
}

impl<C> Shared<C> {
    /// Milliseconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        self.outside.now()
    }

    pub(crate) fn noise(&self) -> u64 {
        self.outside.noise()
    }

    pub(crate) async fn cancelled(&self) {
        match &self.cancel {
            Some(token) => token.cancelled().await,
            None => std::future::pending().await,
        }
    }
}

/// What limits a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub recursion: u64,
    pub concurrency: usize,
    pub fail_fast: bool,
    pub rerun_unanswered: bool,
    pub only_output: bool,
    pub state_bytes: u64,
}

/// What a test puts in the place of the world outside.
pub(crate) trait Stage: Send + Sync {
    /// The result of an effect: none if it is to happen for real.
    fn result(&self, key: &str, arguments: &str, idempotency: &str) -> Result<Option<Staged<Vec<u8>>>, RunError>;
}

/// What an effect comes to on a stage.
#[cfg_attr(not(feature = "test-util"), allow(dead_code, reason = "only tests set a stage"))]
pub(crate) enum Staged<T> {
    Value(T),
    Fails(NodeError),
}

/// What a run keeps, by name.
#[derive(Default)]
#[cfg_attr(not(feature = "agents"), allow(dead_code, reason = "only workflows keep values"))]
pub(crate) struct Keeps(pub(super) AsyncMutex<HashMap<String, Box<dyn Any + Send>>>);
