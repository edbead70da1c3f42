//! The virtual object that a thread is to Restate: its handlers, and when the next call is. Must not know how Restate reaches them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use restate_sdk::context::RequestTarget;
use restate_sdk::discovery::ServiceName;
use restate_sdk::endpoint::{self, ContextInternal};
use restate_sdk::prelude::*;
use restate_sdk::serde::{Deserialize as FromBytes, InputMetadata, PayloadMetadata, Serialize as IntoBytes};
use restate_sdk::service::macro_support::{ServiceBoxFuture, service_definition};
use restate_sdk::service::{Discoverable, Service};
use serde::{Deserialize, Serialize};
use superstep::checkpoint::ThreadId;
use superstep::graph::runner::{EngineWorker, NextCall};

/// Restate's name in a store: workers of the same engine take over each other's leases.
pub(crate) const ENGINE: &str = "restate";

/// A call may take as long as a turn does: no time without a word is too long.
const PATIENCE: Duration = Duration::from_secs(365 * 24 * 3600);
/// The first and the longest pause after a call that failed: a worker that died is replaced within the longest.
const RETRY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));
/// After so many attempts, a quarter of an hour or more, a call ends. Workers look for lost calls, so the thread is called again
/// as soon as its store can be reached.
const ATTEMPTS: u64 = 900;
/// The time for which Restate shows calls that have ended.
const RETENTION: Duration = Duration::from_secs(3600);
/// The longest pause before a thread is tried again that somebody else runs.
const BUSY: Duration = Duration::from_secs(5);
/// The longest pause before a thread is tried again that this worker cannot run.
const ELSEWHERE: Duration = Duration::from_secs(60);

/// The handlers of a thread.
pub(crate) struct Threads {
    pub(crate) worker: Arc<EngineWorker>,
    pub(crate) service: String,
}

/// The input of a call; empty for whoever calls from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct TurnCall {
    /// The number of calls in vain before this one.
    tries: u32,
}

/// The end of a turn, as Restate keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct TurnDone {
    /// The time until the next call, in milliseconds; none: whoever stores something calls.
    next: Option<u64>,
    tries: u32,
}

impl IntoBytes for TurnCall {
    type Error = serde_json::Error;

    fn serialize(&self) -> Result<Bytes, Self::Error> {
        serde_json::to_vec(self).map(Bytes::from)
    }
}

impl FromBytes for TurnCall {
    type Error = serde_json::Error;

    fn deserialize(bytes: &mut Bytes) -> Result<Self, Self::Error> {
        if bytes.is_empty() { Ok(Self::default()) } else { serde_json::from_slice(bytes) }
    }
}

impl PayloadMetadata for TurnCall {
    fn input_metadata() -> InputMetadata {
        InputMetadata { accept_content_type: "*/*", is_required: false }
    }
}

#[restate_sdk::object(client_visibility = "pub(crate)")]
impl Threads {
    /// One turn of the thread. Its end is recorded, so that a call that is repeated afterwards does not run the thread again.
    #[handler]
    async fn turn(&self, ctx: ObjectContext<'_>, call: TurnCall) -> HandlerResult<()> {
        let thread = ThreadId::from(ctx.key());
        let worker = Arc::clone(&self.worker);
        let turn = move || async move {
            let next = worker.turn(&thread).await?;
            if let NextCall::Elsewhere(reason) = &next {
                tracing::warn!(thread = thread.as_str(), reason, "the thread cannot run on this worker");
            }
            Ok(Json(after(&next, call)))
        };
        let Json(TurnDone { next, tries }) = ctx.run(turn).name("turn").await?;
        if let Some(millis) = next {
            let target = RequestTarget::object(&self.service, ctx.key(), "turn");
            let next: Request<'_, TurnCall, ()> = ctx.request(target, TurnCall { tries });
            next.send_after(Duration::from_millis(millis));
        }
        Ok(())
    }

    /// Cancels the run of the thread.
    #[handler]
    async fn cancel(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<()> {
        Ok(self.worker.cancel(&ThreadId::from(ctx.key())).await?)
    }
}

/// Returns when the thread is called again after a turn.
fn after(next: &NextCall, call: TurnCall) -> TurnDone {
    let doubled = |longest: Duration| {
        let pause = Duration::from_millis(250).saturating_mul(2_u32.saturating_pow(call.tries)).min(longest);
        TurnDone { next: Some(millis(pause)), tries: call.tries.saturating_add(1) }
    };
    match next {
        NextCall::After(time) => TurnDone { next: Some(millis(*time)), tries: 0 },
        NextCall::Busy(_) => doubled(BUSY),
        NextCall::Elsewhere(_) => doubled(ELSEWHERE),
        _ => TurnDone { next: None, tries: 0 },
    }
}

/// Returns a time in milliseconds, rounded up: a call that is too early is in vain.
fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

impl Threads {
    /// Returns the definition of the service, with its timeouts and retries.
    pub(crate) fn definition(self) -> ServiceDefinition {
        let (first, longest) = RETRY;
        let options = ServiceOptions::new()
            .inactivity_timeout(PATIENCE)
            .abort_timeout(PATIENCE)
            .journal_retention(RETENTION)
            .idempotency_retention(RETENTION)
            .retry_policy_initial_interval(first)
            .retry_policy_exponentiation_factor(2.0)
            .retry_policy_max_interval(longest)
            .retry_policy_max_attempts(ATTEMPTS)
            .retry_policy_kill_on_max_attempts();
        let mut about = <Self as Discoverable>::discover();
        if let Ok(name) = ServiceName::try_from(self.service.as_str()) {
            about.name = name; // it was checked before
        }
        service_definition(NamedThreads(Arc::new(self)), about).options(options)
    }
}

/// The handlers under a name of their own: the macro knows only one name.
struct NamedThreads(Arc<Threads>);

impl Service for NamedThreads {
    type Future = ServiceBoxFuture;

    fn handle(&self, ctx: ContextInternal) -> Self::Future {
        let threads = Arc::clone(&self.0);
        Box::pin(async move {
            let ended = match ctx.handler_name() {
                "turn" => {
                    let (call, about) = ctx.input().await;
                    threads.turn((&ctx, about).into(), call).await
                }
                "cancel" => {
                    let ((), about) = ctx.input().await;
                    threads.cancel((&ctx, about).into()).await
                }
                other => return Err(endpoint::Error::unknown_handler(ctx.service_name(), other)),
            };
            ctx.handle_handler_result(ended);
            ctx.end();
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_cannot_run_is_called_less_and_less_often() {
        let next = NextCall::Elsewhere("no such graph".into());
        let mut call = TurnCall::default();
        let mut pauses = vec![];
        for _ in 0..10 {
            let done = after(&next, call);
            pauses.extend(done.next);
            call.tries = done.tries;
        }
        assert_eq!(pauses, [250, 500, 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000]);
        let done = after(&NextCall::After(Duration::from_micros(1500)), call);
        assert_eq!(done, TurnDone { next: Some(2), tries: 0 });
        assert_eq!(after(&NextCall::WhenWoken, call), TurnDone { next: None, tries: 0 });
    }

    #[test]
    fn a_call_from_outside_needs_no_input() {
        for text in ["", "{}", r#"{"tries":0,"more":1}"#] {
            assert_eq!(
                <TurnCall as FromBytes>::deserialize(&mut Bytes::from(text)).ok(),
                Some(TurnCall::default()),
                "{text}"
            );
        }
    }
}
