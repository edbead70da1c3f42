//! Running one task's body: panics become values, retries wait, timeouts limit, error handlers run. Knows no superstep.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use superstep_base::panics::{self, catch_panic};
use tokio::sync::Notify;
use tokio::time::Instant;
use tracing::{Instrument, Span};

use super::job::{Job, cache_key};
use super::trace;
use crate::checkpoint::FailureRecord;
use crate::graph::build::Table;
use crate::graph::context::{AttemptStop, TaskCtx};
use crate::graph::error::{NodeError, RunError};
use crate::graph::node::{AnyNodeResult, Failure, RetryPolicy, TimedBody};
use crate::graph::state::{AnyState, Boxed, Payload};

/// The end of a body: a result, an error, or a panic's message.
pub(crate) type BodyResult = Result<AnyNodeResult, String>;

pub(crate) struct PerformedTask {
    pub ended: BodyResult,
    pub ctx: Arc<TaskCtx>,
    pub attempts: u32,
    pub details: Option<Box<TaskDetails>>,
}

/// The part of an end that only tasks with options have.
#[derive(Default)]
pub(crate) struct TaskDetails {
    /// The error that a handler took, and whether the failed attempt had used answers.
    pub handled: Option<(Arc<NodeError>, bool)>,
    pub cache_key: Option<Vec<u8>>,
    /// Failures of the attempts before the last.
    pub failures: Vec<FailureRecord>,
}

impl PerformedTask {
    pub(crate) fn without_details(ended: BodyResult, ctx: Arc<TaskCtx>, attempts: u32) -> Self {
        Self { ended, ctx, attempts, details: None }
    }
}

/// A body's future that returns its panic as a value.
pub(crate) type GuardedBody = panics::GuardedFuture<dyn Future<Output = AnyNodeResult> + Send>;

/// Starts a body; a panic of the call itself is caught too.
pub(crate) fn start(
    table: &Table,
    node: u32,
    state: &AnyState,
    payload: Option<&Arc<dyn Payload>>,
    ctx: Arc<TaskCtx>,
) -> GuardedBody {
    let body = &table.row(node).body;
    let span = ctx.shared.events.traced.then(|| trace::task_span(&ctx));
    let entered = span.as_ref().map(Span::enter);
    let timed =
        ctx.shared.events.timed.then(|| (Arc::clone(&ctx.facts.name), Arc::clone(&table.row(node).execution.longest)));
    let started = catch_panic(|| body.start(state, payload, ctx));
    let started = started.map(|body| -> Boxed<'static, AnyNodeResult> {
        match timed {
            Some((node, longest)) => Box::pin(TimedBody { body, node, longest }),
            None => body,
        }
    });
    drop(entered);
    match (started, span) {
        (Ok(future), None) => GuardedBody::new(future),
        (Ok(future), Some(span)) => GuardedBody::new(Box::pin(future.instrument(span))),
        (Err(panic), _) => GuardedBody::new(Box::pin(async move { std::panic::resume_unwind(Box::new(panic)) })),
    }
}

pub(crate) enum Running {
    /// A body without options: usually done after one poll.
    Simple(GuardedBody, Option<Arc<TaskCtx>>, u32),
    Full(panics::GuardedFuture<dyn Future<Output = PerformedTask> + Send>, Option<Arc<TaskCtx>>),
}

impl Running {
    pub(crate) fn begin(job: Job) -> Self {
        let node = job.ctx.at.node;
        if job.table.row(node).execution.simple {
            let ctx = Arc::clone(&job.ctx);
            let attempt = ctx.attempt.number;
            let body = start(&job.table, node, &job.state, job.payload.as_ref(), job.ctx);
            return Self::Simple(body, Some(ctx), attempt);
        }
        let ctx = Arc::clone(&job.ctx);
        Self::full(perform(job), ctx)
    }

    fn full(all: impl Future<Output = PerformedTask> + Send + 'static, ctx: Arc<TaskCtx>) -> Self {
        Self::Full(panics::GuardedFuture::new(Box::pin(all)), Some(ctx))
    }

    /// Starts once the task has its permits.
    pub(crate) fn begin_with_permit(job: Job) -> Self {
        match job.ctx.permits.clone() {
            Some(permits) => {
                let ctx = Arc::clone(&job.ctx);
                Self::full(permits.run(async move { Self::begin(job).await }), ctx)
            }
            None => Self::begin(job),
        }
    }
}

impl Running {
    /// Drops the task before its end.
    pub(crate) fn abandon(&mut self) -> Result<(), String> {
        match self {
            Self::Simple(body, ..) => body.abandon(),
            Self::Full(all, _) => all.abandon(),
        }
    }
}

impl Future for Running {
    type Output = PerformedTask;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            Self::Simple(body, ctx, attempts) => Pin::new(body).poll(cx).map(|ended| {
                let ctx = ctx.take().unwrap_or_else(|| unreachable!("polled after its end"));
                PerformedTask::without_details(ended, ctx, *attempts)
            }),
            Self::Full(all, ctx) => Pin::new(all).poll(cx).map(|ended| {
                let ctx = ctx.take().unwrap_or_else(|| unreachable!("polled after its end"));
                ended.unwrap_or_else(|panic| PerformedTask::without_details(Err(panic), ctx, 1))
            }),
        }
    }
}

/// Runs a body with options.
async fn perform(job: Job) -> PerformedTask {
    let mut details = TaskDetails { cache_key: cache_key(&job), ..TaskDetails::default() };
    let performed = run_with_handler(job, &mut details).await;
    PerformedTask { details: Some(Box::new(details)), ..performed }
}

/// Runs the attempts, then the error handler if they failed.
async fn run_with_handler(job: Job, details: &mut TaskDetails) -> PerformedTask {
    let performed = match &job.handled {
        Some(before) => {
            PerformedTask::without_details(Ok(Err(NodeError::permanent(before.error.clone()))), Arc::clone(&job.ctx), 0)
        }
        None => attempts(&job, &mut details.failures).await,
    };
    let row = job.table.row(job.ctx.at.node);
    let asked = performed.ctx.progress.attempt_stop().is_some();
    let failed = matches!(performed.ended, Ok(Err(_)) | Err(_)) && !asked;
    let Some(handler) = row.options.on_error.clone().filter(|_| failed) else { return performed };
    let error = match performed.ended {
        Ok(Err(error)) => Arc::new(error),
        Err(panic) => Arc::new(NodeError::permanent(format!("panicked: {panic}"))),
        Ok(Ok(_)) => return performed,
    };
    if job.handled.is_none() {
        performed.ctx.end();
    }
    if let Some(records) = job.records.as_ref().filter(|_| job.handled.is_none())
        && let Err(refused) =
            records.before_handler(details.failures.clone(), failure_of(&job.ctx, &error), &error).await
    {
        return not_stored(&performed.ctx, performed.attempts, refused);
    }
    let answered = performed.ctx.answered();
    let ctx = performed.ctx.for_attempt(performed.attempts, Some(&row.handler), None);
    let failure = Failure { node: Arc::clone(&row.name), error: Arc::clone(&error) };
    let (state, inner) = (job.state.clone(), Arc::clone(&ctx));
    let span = if ctx.shared.events.traced { trace::task_span(&ctx) } else { Span::none() };
    let ended = GuardedBody::new(Box::pin(async move { handler(&state, failure, inner).await }.instrument(span))).await;
    details.handled = Some((error, answered));
    PerformedTask::without_details(ended, ctx, performed.attempts)
}

/// Runs attempts until one succeeds, interrupts, or no retry policy applies.
async fn attempts(job: &Job, failures: &mut Vec<FailureRecord>) -> PerformedTask {
    let options = &job.table.row(job.ctx.at.node).options;
    let (mut tried, mut called, mut ctx) = (0, job.first_call, Arc::clone(&job.ctx));
    if let Some(left) = job.not_before.and_then(|time| time.checked_sub(ctx.shared.now())) {
        let longest = options.execution.retry.iter().map(RetryPolicy::longest_delay).max();
        pause(Duration::from_millis(left).min(longest.unwrap_or_default())).await; // the clock may have been set back
    }
    loop {
        tried += 1;
        let beat = options.execution.idle_timeout.map(|_| Arc::new(Notify::new()));
        ctx = ctx.for_attempt(tried, None, beat.clone());
        ctx.progress.calls.store(called, Ordering::Relaxed);
        ctx.state().subgraphs.first_call = called;
        let body = start(&job.table, ctx.at.node, &job.state, job.payload.as_ref(), Arc::clone(&ctx));
        let ended = run_with_timeouts(body, options.execution.timeout, options.execution.idle_timeout.zip(beat)).await;
        let Ok(Err(error)) = &ended else { return PerformedTask::without_details(ended, ctx, tried) };
        if ctx.progress.attempt_stop().is_some() {
            return PerformedTask::without_details(ended, ctx, tried);
        }
        let policy = match catch_panic(|| options.execution.retry.iter().find(|policy| policy.fits(error))) {
            Ok(policy) => policy,
            Err(panic) => {
                let message = format!("its retry policy, asked about `{error}`: {panic}");
                return PerformedTask::without_details(Err(message), ctx, tried);
            }
        };
        let Some(policy) = policy.filter(|policy| tried < policy.max_attempts) else {
            return PerformedTask::without_details(ended, ctx, tried);
        };
        failures.push(failure_of(&ctx, error));
        trace::retry(&ctx, error);
        called = ctx.call_count();
        ctx.end();
        let delay = policy.delay(tried + 1);
        if let Err(refused) = store_pause(job, &ctx, failures, delay).await {
            return not_stored(&ctx, tried, refused);
        }
        pause(delay).await;
    }
}

/// Returns the record of a failure that the task's context has had.
fn failure_of(ctx: &TaskCtx, error: &NodeError) -> FailureRecord {
    FailureRecord { error: ctx.shared.events.secrets.hide(error), at: ctx.shared.now() }
}

/// The end of a task after an attempt whose failure the store refused. That attempt has ended, so the task needs another
/// context.
fn not_stored(ended: &TaskCtx, attempts: u32, refused: RunError) -> PerformedTask {
    let ctx = ended.for_attempt(attempts, None, None);
    ctx.raise(AttemptStop::Wrong(refused));
    PerformedTask::without_details(Ok(Err(NodeError::permanent("its failure could not be stored"))), ctx, attempts)
}

/// Stores when the next attempt starts. A pause of less than a millisecond has no such time.
async fn store_pause(job: &Job, ctx: &TaskCtx, failures: &[FailureRecord], delay: Duration) -> Result<(), RunError> {
    let length = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
    let Some(records) = job.records.as_ref().filter(|_| length > 0) else { return Ok(()) };
    let not_before = ctx.shared.now().saturating_add(length);
    records.before_attempt(failures, not_before, ctx.call_count()).await
}

#[derive(Debug, thiserror::Error)]
#[error("did not end within its `.timeout(..)` of {} ms", .0.as_millis())]
struct TimedOut(Duration);

#[derive(Debug, thiserror::Error)]
#[error("was idle for longer than its `.idle_timeout(..)` of {} ms", .0.as_millis())]
struct IdleTimeoutError(Duration);

async fn run_with_timeouts(
    mut body: GuardedBody,
    run: Option<Duration>,
    idle: Option<(Duration, Arc<Notify>)>,
) -> BodyResult {
    let began = Instant::now();
    loop {
        let beat = async {
            match &idle {
                Some((_, beat)) => beat.notified().await,
                None => std::future::pending().await,
            }
        };
        let silence = async {
            match &idle {
                Some((limit, _)) => tokio::time::sleep(*limit).await,
                None => std::future::pending().await,
            }
        };
        let end = async {
            match run {
                Some(limit) => tokio::time::sleep_until(began + limit).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            ended = &mut body => return ended,
            () = end => {
                body.abandon()?;
                return Ok(Err(NodeError::transient(TimedOut(run.unwrap_or_default()))));
            }
            () = beat => {}
            () = silence => {
                let limit = idle.map(|(limit, _)| limit).unwrap_or_default();
                body.abandon()?;
                return Ok(Err(NodeError::transient(IdleTimeoutError(limit))));
            }
        }
    }
}

/// Sleeps. For no time it only yields, because a timer takes a millisecond at least.
async fn pause(time: Duration) {
    if time.is_zero() {
        tokio::task::yield_now().await;
    } else {
        tokio::time::sleep(time).await;
    }
}
