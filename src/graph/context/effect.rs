//! Side effects that happen once: their results are on disk before they are used. Knows the journal, not what an effect does.
//!
//! The body does not run once the effect is recorded, so whatever it asks, records or draws is counted in a scope of its own,
//! under the effect's key, apart from what the node does beside it.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ctx::Ctx;
use super::journal::{Entry, JournalLookup, encode_result};
use super::lazy::Lazy;
use super::shared::StagedResult;
use super::task::TaskCtx;
use crate::checkpoint::{EffectEnd, EffectKind, EffectRecord};
use crate::graph::error::{NodeError, RunError};
use crate::graph::interrupt::Interrupted;
use crate::graph::records::JournalPath;
use crate::graph::state::{Boxed, Canon, reading};

/// The body or the probe of an effect, which takes the idempotency key. It has no type of its own: the compiler suggests a
/// missing `.await` only where it knows the whole type of a future, and a closure's is open until the function around it is
/// checked.
type Call<'a, R> = Box<dyn FnOnce(String) -> Boxed<'a, Result<R, NodeError>> + Send + 'a>;

/// A result in the form in which it is stored.
type EncodedResult = Result<Vec<u8>, RunError>;

/// A side effect that is about to happen, unless it has happened: await it. Made by [`Ctx::effect`].
#[must_use = "an effect happens when it is awaited"]
pub struct Effect<'a, C, T>(Lazy<'a, NewEffect<'a, C, T>, Result<T, NodeError>>);

/// An effect that was not polled yet.
struct NewEffect<'a, C, T> {
    ctx: &'a Ctx<C>,
    key: String,
    arguments: Result<Canon, RunError>,
    calls: Calls<'a>,
    result: Slot<T>,
}

/// The calls of an effect, without the type of its result.
struct Calls<'a> {
    body: Call<'a, EncodedResult>,
    probe: Option<Call<'a, Option<EncodedResult>>>,
}

/// The result of an effect that was done or found in this attempt, for its caller.
struct Slot<T>(Arc<Mutex<Option<T>>>);

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Serialize + DeserializeOwned> Slot<T> {
    /// Puts the result in, and returns the form in which it is stored.
    fn fill(&self, key: &str, result: T) -> EncodedResult {
        let encoded = encode_result(key, &result);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        encoded
    }

    fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<C, T> std::fmt::Debug for Effect<'_, C, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.settings() {
            Some(new) => write!(f, "Effect({} of {:?})", new.key, new.ctx),
            None => f.write_str("Effect(started)"),
        }
    }
}

impl<C: Send + Sync + 'static> Ctx<C> {
    /// Does something in the world outside once: a payment, a mail, a call of a model, a commit.
    ///
    /// The result is on disk before it is returned. An effect whose record is there is never done again, whatever happens to
    /// its task: retries, resumes, [`retry`](crate::graph::Thread::retry), crashes; its result is given back. One that
    /// was killed before that is done again with the same idempotency key, which `body` gets; a [`probe`](Effect::probe) can
    /// ask the world first. One that returned an error is done again by the next attempt. Of two that end under one key, since
    /// an attempt left one behind, the first to end counts, and both get its result.
    ///
    /// What the body asks, records, draws or waits for through the context is kept under the effect's key: it may interrupt, and
    /// runs again from its beginning when the answer is there. It cannot call a subgraph. What it spawns counts as the node's.
    ///
    /// Answers to an old checkpoint begin a branch of their own: what its tasks had done until they asked is not done again,
    /// what they do from there on has keys of its own.
    ///
    /// The key is unique within the task, and names the effect for people; `arguments` are what it depends on: if they are
    /// others than those recorded, the task fails with [`RunError::NonDeterministic`], for its result would be one to another
    /// question. They are stored and shown, so put no secrets there. Costs one commit, which effects under way at the same
    /// time share. Without a store the journal lives as long as the run. With durability
    /// [`Exit`](crate::graph::Durability::Exit) a killed run is lost as a whole, and its effects with it.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use superstep::prelude::*;
    /// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Order { cents: u64, receipt: String }
    /// # async fn charge(cents: u64, idempotency_key: &str) -> Result<String, std::io::Error> { Ok(String::new()) }
    /// # async fn charged(idempotency_key: &str) -> Result<Option<String>, std::io::Error> { Ok(None) }
    /// async fn pay(order: Arc<Order>, ctx: Ctx) -> Result<OrderUpdate, NodeError> {
    ///     let cents = order.cents;
    ///     let receipt: String = ctx
    ///         .effect("charge", &cents, |key| async move { charge(cents, &key).await })
    ///         .probe(|key| async move { charged(&key).await }) // optional
    ///         .await?;
    ///     Ok(Order::update().receipt(receipt))
    /// }
    /// ```
    ///
    /// # Errors
    /// What `body` or the probe returned. A key that is used twice by one attempt, other arguments, a value that cannot be
    /// stored, and a store that fails end the task, whatever its body makes of the error.
    pub fn effect<'a, F, Fut, T, E>(
        &'a self,
        key: impl Into<String>,
        arguments: &(impl Serialize + ?Sized),
        body: F,
    ) -> Effect<'a, C, T>
    where
        F: FnOnce(String) -> Fut + Send + 'a,
        Fut: Future<Output = Result<T, E>> + Send + 'a,
        T: Serialize + DeserializeOwned + Send + 'a,
        E: Into<NodeError>,
    {
        let (key, result) = (key.into(), Slot(Arc::default()));
        let arguments = Canon::of(|| format!("arguments of effect `{key}`"), arguments).map_err(RunError::from);
        let (slot, name) = (result.clone(), key.clone());
        let body = erase_call(body, move |value| slot.fill(&name, value));
        Effect(Lazy::New(NewEffect { ctx: self, key, arguments, calls: Calls { body, probe: None }, result }))
    }
}

/// Returns the call without the types of its closure, future, result and error.
fn erase_call<'a, F, Fut, T, E, R>(call: F, encode: impl FnOnce(T) -> R + Send + 'a) -> Call<'a, R>
where
    F: FnOnce(String) -> Fut + Send + 'a,
    Fut: Future<Output = Result<T, E>> + Send + 'a,
    E: Into<NodeError>,
{
    Box::new(|key| {
        let result = call(key);
        Box::pin(async move { result.await.map(encode).map_err(E::into) })
    })
}

impl<'a, C, T> Effect<'a, C, T>
where
    T: Serialize + DeserializeOwned + Send + 'a,
{
    /// Probes whether the effect has happened, when it may have: the task ran before, and nothing is recorded. It gets
    /// the idempotency key; what it finds counts as the result, and the effect is not done again.
    pub fn probe<P, Fut, E>(self, probe: P) -> Self
    where
        P: FnOnce(String) -> Fut + Send + 'a,
        Fut: Future<Output = Result<Option<T>, E>> + Send + 'a,
        E: Into<NodeError>,
    {
        Self(self.0.set(|new| {
            let (slot, name) = (new.result.clone(), new.key.clone());
            let encode = move |found: Option<T>| found.map(|value| slot.fill(&name, value));
            new.calls.probe = Some(erase_call(probe, encode));
        }))
    }
}

impl<'a, C, T> Effect<'a, C, T>
where
    C: Send + Sync + 'static,
    T: Serialize + DeserializeOwned + Send + 'a,
{
    /// Returns the effect as a boxed future.
    pub fn into_future(self) -> Boxed<'a, Result<T, NodeError>> {
        Box::pin(self)
    }
}

impl<'a, C, T> Future for Effect<'a, C, T>
where
    C: Send + Sync + 'static,
    T: Serialize + DeserializeOwned + Send + 'a,
{
    type Output = Result<T, NodeError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll(cx, NewEffect::run, || Err(NodeError::permanent("an effect was polled after its end")))
    }
}

impl<'a, C, T> NewEffect<'a, C, T>
where
    C: Send + Sync + 'static,
    T: Serialize + DeserializeOwned + Send + 'a,
{
    fn run(self) -> Boxed<'a, Result<T, NodeError>> {
        Box::pin(async move {
            let Self { ctx, key, arguments, calls, result } = self;
            let task = &*ctx.0;
            let fill = |bytes: &[u8]| Ok(result.fill(&key, reading::decode_only(bytes)?));
            let recorded = task.do_once(&key, arguments, calls, &fill).await?;
            match (recorded, result.take()) {
                (None, Some(result)) => Ok(result),
                (Some(record), _) => task.decode_result(&key, &record).map_err(|wrong| task.fail_with(wrong)),
                (None, None) => Err(NodeError::permanent("an effect has no result")),
            }
        })
    }
}

/// Reads a result that a test gives.
type FillFn<'a> = &'a (dyn Fn(&[u8]) -> Result<EncodedResult, String> + Send + Sync);

impl TaskCtx {
    /// Does an effect, unless it has happened. Returns its record if another attempt made it; else the result is in the slot of
    /// the caller.
    fn do_once<'a, 'c: 'a>(
        &'a self,
        key: &'a str,
        arguments: Result<Canon, RunError>,
        calls: Calls<'c>,
        fill: FillFn<'a>,
    ) -> Boxed<'a, Result<Option<EffectRecord>, NodeError>> {
        Box::pin(async move {
            let found = self.begin_entry(EffectKind::Effect, key, arguments).await;
            let mut entry = match found.map_err(|wrong| self.fail_with(wrong))? {
                JournalLookup::Recorded(record) => return Ok(Some(record)),
                JournalLookup::Failed(error) => return Err(error),
                JournalLookup::New(entry) => entry,
            };
            let kept = self.journal().plan_kept(self.shared.recorder.as_deref()).await;
            kept.map_err(|error| self.fail_with(error.into()))?;
            let (result, end) = self.result_of(key, &entry, calls, fill).await?;
            entry.add_run(self, end);
            entry.record.value = result.map_err(|wrong| self.fail_with(wrong))?;
            self.keep(key, entry).await.map_err(|wrong| self.fail_with(wrong))
        })
    }

    /// Returns the result that a test has set, that the probe finds, or that of the body.
    async fn result_of(
        &self,
        key: &str,
        entry: &Entry,
        calls: Calls<'_>,
        fill: FillFn<'_>,
    ) -> Result<(EncodedResult, EffectEnd), NodeError> {
        match self.staged_result(key, entry, fill)? {
            Some(StagedResult::Fails(error)) => return Err(self.record_failure(key, entry, error)),
            Some(StagedResult::Value(result)) => return Ok((result, EffectEnd::Done)),
            None => {}
        }
        let idempotency = entry.record.idempotency.clone();
        if let Some(probe) = calls.probe.filter(|_| self.journal().has_started()) {
            let asked = self.in_effect((key, "?"), async { probe(idempotency.clone()).await }).await;
            if let Some(found) = asked?? {
                return Ok((found, EffectEnd::Found));
            }
        }
        self.note_start(entry);
        let ended = self.in_effect((key, ""), async { (calls.body)(idempotency).await }).await;
        self.journal().stop(&entry.key);
        ended?.map(|result| (result, EffectEnd::Done)).map_err(|error| self.record_failure(key, entry, error))
    }
}

impl TaskCtx {
    /// Runs an effect's body, or its probe, in a scope of its own. What a body returns after it has asked or started to wait does
    /// not count: it runs again.
    async fn in_effect<T>(&self, (key, part): (&str, &str), body: impl Future<Output = T>) -> Result<T, Interrupted> {
        let scope = self.new_effect_scope(key, part);
        let result = CURRENT.scope(Arc::clone(&scope), body).await;
        if scope.has_stopped() { Err(Interrupted::new()) } else { Ok(result) }
    }

    /// Returns the result of an effect that a test has set.
    fn staged_result(
        &self,
        key: &str,
        entry: &Entry,
        fill: FillFn<'_>,
    ) -> Result<Option<StagedResult<EncodedResult>>, NodeError> {
        let Some(stage) = &self.shared.environment.stage else { return Ok(None) };
        let record = &entry.record;
        let staged = stage.result(key, &record.shown, &record.idempotency).map_err(|wrong| self.fail_with(wrong))?;
        let unreadable = |reason| {
            let what = format!("result that the test gives effect `{key}`");
            self.fail_with(RunError::Codec { what, reason })
        };
        Ok(match staged {
            Some(StagedResult::Value(bytes)) => Some(StagedResult::Value(fill(&bytes).map_err(unreadable)?)),
            Some(StagedResult::Fails(error)) => Some(StagedResult::Fails(error)),
            None => None,
        })
    }

    /// Notes how an effect failed, for replays: an attempt does it again.
    fn record_failure(&self, key: &str, entry: &Entry, error: NodeError) -> NodeError {
        let record = EffectRecord { kind: EffectKind::Failure, ..entry.record.clone() };
        let mut failure = Entry { key: self.entry_key(EffectKind::Failure, key), record };
        failure.add_run(self, EffectEnd::Failed);
        if failure.set(key, &error.to_string()).is_ok() {
            self.journal().note_failure(&entry.key, failure.key, failure.record);
        }
        error
    }
}

tokio::task_local! {
    static CURRENT: Arc<EffectScope>;
}

/// The body, or the probe, of an effect that is running.
#[derive(Debug)]
pub(crate) struct EffectScope {
    /// The address of the task's context: an effect may run other graphs, which have tasks of their own.
    task: usize,
    key: String,
    /// The keys of the effects on the way down, the way journals and askers name them.
    path: JournalPath,
    outer: Option<Arc<EffectScope>>,
    asked: AtomicU32,
    drawn: [AtomicU32; EffectKind::COUNT],
    /// Set once the body has interrupted or started to wait: its result does not count.
    stopped: AtomicBool,
}

impl EffectScope {
    fn is_of(&self, task: &TaskCtx) -> bool {
        self.task == address(task)
    }

    /// Returns the key of the effect.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Returns the keys of the effects on the way down.
    pub(crate) fn path(&self) -> &JournalPath {
        &self.path
    }

    /// Returns the keys of the effects on the way down, as their bodies gave them.
    pub(crate) fn keys(&self) -> Vec<String> {
        let outer = self.outer.as_ref().filter(|outer| outer.task == self.task);
        outer.map(|outer| outer.keys()).unwrap_or_default().into_iter().chain([self.key.clone()]).collect()
    }

    /// Returns how many questions were asked here before this one.
    pub(crate) fn next_question(&self) -> u32 {
        self.asked.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns how many entries of a kind were used here.
    pub(crate) fn use_count(&self, kind: EffectKind) -> u32 {
        self.drawn[kind as usize].load(Ordering::Relaxed)
    }

    /// Returns the number of the next entry of a kind.
    pub(crate) fn next(&self, kind: EffectKind) -> u32 {
        self.drawn[kind as usize].fetch_add(1, Ordering::Relaxed)
    }

    /// Marks the body, and those of the effects around it, as stopped.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.outer.iter().filter(|outer| outer.task == self.task).for_each(|outer| outer.stop());
    }

    fn has_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

impl TaskCtx {
    /// Returns the effect of this task whose body is being polled.
    pub(crate) fn effect_scope(&self) -> Option<Arc<EffectScope>> {
        let mut scope = CURRENT.try_with(Arc::clone).ok();
        while let Some(inner) = scope.take_if(|scope| !scope.is_of(self)) {
            scope.clone_from(&inner.outer);
        }
        scope
    }

    /// Makes the scope of an effect under this key. `part` tells a probe from a body.
    fn new_effect_scope(&self, key: &str, part: &str) -> Arc<EffectScope> {
        let outer = CURRENT.try_with(Arc::clone).ok();
        let path = self.effect_scope().map(|scope| scope.path.clone()).unwrap_or_default().effect(key, part);
        Arc::new(EffectScope {
            task: address(self),
            key: key.to_owned(),
            path,
            outer,
            asked: AtomicU32::default(),
            drawn: Default::default(),
            stopped: AtomicBool::default(),
        })
    }
}

fn address(task: &TaskCtx) -> usize {
    std::ptr::from_ref(task) as usize
}
