//! What all tasks of a run share, those of its subgraphs included: limits, budgets, listeners; and the reasons for which a run
//! stops. `run/tick` counts supersteps, `permits` tasks.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::{Serialize, Serializer};
use tokio::sync::{Mutex as AsyncMutex, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::logged_secrets::LoggedSecrets;
use super::memory::LongTermMemory;
use super::stragglers::Stragglers;
use super::verify_result::Comparison;
use crate::checkpoint::ThreadId;
use crate::graph::error::{NodeError, RunError};
use crate::graph::records::{Host, NodeCache, Recorder};
use crate::graph::view::Sink;

/// The context of a run, without its type.
pub(crate) type AnyContext = Arc<dyn Any + Send + Sync>;

/// The part of a run that all its tasks share, those of its subgraphs included.
pub(crate) struct RunShared {
    pub context: AnyContext,
    pub thread: Option<ThreadId>,
    pub recorder: Option<Arc<Recorder>>,
    pub events: EventOptions,
    pub cancellation: Cancellation,
    /// The metadata of each checkpoint of the run.
    pub metadata: Vec<(String, String)>,
    pub limits: Limits,
    pub budget: BudgetUse,
    pub environment: Environment,
    /// Replays only: the recorded run.
    pub replay: Option<Arc<Comparison>>,
    pub stragglers: Stragglers,
}

/// The listeners of a run.
#[derive(Default)]
pub(crate) struct EventOptions {
    pub sink: Option<Sink>,
    /// Set if custom events are stored.
    pub recorded: bool,
    /// Set if a `tracing` subscriber takes spans.
    pub traced: bool,
    /// The values that are hidden in logged errors.
    pub secrets: Arc<LoggedSecrets>,
    /// Set if polls of bodies are timed: there is a sink, or a subscriber for warnings.
    pub timed: bool,
}

/// The tokens that stop a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cancellation {
    /// Stops at once.
    pub cancel: Option<CancellationToken>,
    /// Stops after the superstep under way.
    pub drain: Option<CancellationToken>,
}

/// The budgets of a run and what it has used of them.
#[derive(Debug)]
pub(crate) struct BudgetUse {
    pub limits: Budgets,
    /// A permit for each task that may run at once, over all levels; none: no limit.
    pub running: Option<Arc<Semaphore>>,
    /// Supersteps so far, those of subgraphs included.
    pub spent: AtomicU64,
}

/// The world outside a run, and the values that it keeps while it lasts.
#[derive(Default)]
pub(crate) struct Environment {
    /// Clock and random numbers.
    pub host: Host,
    /// Replaces effects in tests.
    pub stage: Option<Arc<dyn Stage>>,
    pub cache: Option<Arc<dyn NodeCache>>,
    pub memory: LongTermMemory,
    /// Without a store: distinguishes the questions of this run from those of others.
    pub birth: OnceLock<u64>,
    #[cfg_attr(not(feature = "agents"), allow(dead_code, reason = "only workflows keep values"))]
    pub keeps: RunValues,
}

impl RunShared {
    /// Milliseconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        self.environment.host.now()
    }

    pub(crate) fn random(&self) -> u64 {
        self.environment.host.random()
    }

    /// Waits until the run must stop at once: it was cancelled, here or elsewhere, or its lease was lost.
    pub(crate) async fn wait_for_cancel(&self) {
        let here = async {
            match &self.cancellation.cancel {
                Some(token) => token.cancelled().await,
                None => std::future::pending().await,
            }
        };
        let Some(recorder) = &self.recorder else { return here.await };
        tokio::select! {
            () = here => {}
            () = recorder.lease().cancel().cancelled() => {}
            _ = recorder.lease().lost() => {}
        }
    }

    /// Checks that the run may still write its thread: no superstep starts under a lease that was lost.
    pub(crate) fn check_lease(&self) -> Result<(), RunError> {
        self.recorder.as_ref().map_or(Ok(()), |recorder| Ok(recorder.lease().check()?))
    }

    /// Returns true if the run was cancelled, here or elsewhere.
    pub(crate) fn is_cancelled(&self) -> bool {
        is_cancelled(self.cancellation.cancel.as_ref())
            || self.recorder.as_ref().is_some_and(|recorder| recorder.lease().is_cancelled())
    }

    /// Returns true if the run stops after its superstep.
    pub(crate) fn is_draining(&self) -> bool {
        is_cancelled(self.cancellation.drain.as_ref())
            || self.recorder.as_ref().is_some_and(|recorder| recorder.lease().is_draining())
    }
}

fn is_cancelled(token: Option<&CancellationToken>) -> bool {
    token.is_some_and(CancellationToken::is_cancelled)
}

/// A replacement for effects in tests.
pub(crate) trait Stage: Send + Sync {
    /// The result of an effect: none if it is to happen for real.
    fn result(&self, key: &str, arguments: &str, idempotency: &str) -> Result<Option<StagedResult<Vec<u8>>>, RunError>;
}

/// The result of an effect in a test.
#[cfg_attr(not(feature = "test-util"), allow(dead_code, reason = "only tests set a stage"))]
pub(crate) enum StagedResult<T> {
    Value(T),
    Fails(NodeError),
}

/// The values that a run keeps, by name.
#[derive(Default)]
#[cfg_attr(not(feature = "agents"), allow(dead_code, reason = "only workflows keep values"))]
pub(crate) struct RunValues(pub(super) AsyncMutex<HashMap<String, Box<dyn Any + Send>>>);

/// The limits of a run, and what a failure or an update does to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The number of supersteps.
    pub recursion: u64,
    /// The number of tasks that run at once; 0: no limit.
    pub concurrency: usize,
    pub fail_fast: bool,
    pub rerun_unanswered: bool,
    pub only_output: bool,
    pub state_bytes: u64,
    /// Set if nodes may ask questions: answers can be stored, or the graph is allowed to lose them.
    pub may_ask: bool,
}

/// The reason why a run stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Finished,
    Interrupted,
    /// Tasks sleep, at least until this time in milliseconds since 1970.
    Waiting(u64),
    /// Tasks wait for signals, the first of them until this time, if any.
    Awaiting(Option<u64>),
    /// At a breakpoint.
    Stopped,
    Cancelled,
    Drained,
    Budget(Budget),
}

/// The budget that a run used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Budget {
    /// So many supersteps.
    Supersteps(u64),
    /// So much time since the run began.
    #[serde(rename = "wall_ms")]
    WallTime(#[serde(serialize_with = "write_millis")] Duration),
}

fn write_millis<W: Serializer>(time: &Duration, out: W) -> Result<W::Ok, W::Error> {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).serialize(out)
}

/// The limits that end a run in an orderly way before its graph does.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Budgets {
    pub supersteps: Option<u64>,
    pub until: Option<(Instant, Duration)>,
}
