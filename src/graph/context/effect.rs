//! Side effects that happen once: their results are on disk before they are used. Knows the journal, not what an effect does.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ctx::Ctx;
use super::effect_scope;
use super::lazy::Lazy;
use super::shared::Staged;
use super::task::{Raised, TaskCtx};
use crate::checkpoint::{CheckpointError, Commit, EffectEnd, EffectKind, EffectRecord};
use crate::graph::error::{NodeError, RunError};
use crate::graph::interrupt::{Interrupted, SignalId};
use crate::graph::records::{EFFECTS_LIMIT, Found};
use crate::graph::state::{Boxed, Canon, reading, value};

/// The maximum number of bytes of its arguments that an entry shows.
const SHOWN: usize = 2048;

/// The body or the probe of an effect, which takes the idempotency key. It has no type of its own: the compiler suggests a
/// missing `.await` only where it knows the whole type of a future, and a closure's is open until the function around it is
/// checked.
type Call<'a, T> = Box<dyn FnOnce(String) -> Boxed<'a, Result<T, NodeError>> + Send + 'a>;

/// A side effect that is about to happen, unless it has happened: await it. Made by [`Ctx::effect`].
#[must_use = "an effect happens when it is awaited"]
pub struct Effect<'a, C, T>(Lazy<'a, NewEffect<'a, C, T>, Result<T, NodeError>>);

/// An effect that was not polled yet.
struct NewEffect<'a, C, T> {
    ctx: &'a Ctx<C>,
    key: String,
    arguments: Result<Canon, RunError>,
    body: Call<'a, T>,
    probe: Option<Call<'a, Option<T>>>,
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
        let key = key.into();
        let arguments = Canon::of(|| format!("arguments of effect `{key}`"), arguments).map_err(RunError::from);
        Effect(Lazy::New(NewEffect { ctx: self, key, arguments, body: called(body), probe: None }))
    }
}

/// Returns the call without the types of its closure, future and error.
fn called<'a, F, Fut, T, E>(call: F) -> Call<'a, T>
where
    F: FnOnce(String) -> Fut + Send + 'a,
    Fut: Future<Output = Result<T, E>> + Send + 'a,
    E: Into<NodeError>,
{
    Box::new(|key| {
        let result = call(key);
        Box::pin(async move { result.await.map_err(E::into) })
    })
}

impl<'a, C, T> Effect<'a, C, T> {
    /// Asks the world whether the effect has happened, when it may have: the task ran before, and no record tells. It gets
    /// the idempotency key; what it finds counts as the result, and the effect is not done again.
    pub fn probe<P, Fut, E>(self, probe: P) -> Self
    where
        P: FnOnce(String) -> Fut + Send + 'a,
        Fut: Future<Output = Result<Option<T>, E>> + Send + 'a,
        E: Into<NodeError>,
    {
        Self(self.0.set(|new| new.probe = Some(called(probe))))
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
            let Self { ctx, key, arguments, body, probe } = self;
            let task = &*ctx.0;
            let found = task.begin_entry(EffectKind::Effect, &key, arguments).await;
            let mut entry = match found.map_err(|wrong| task.wrong(wrong))? {
                JournalLookup::Recorded(record) => return task.taken(&key, &record).map_err(|wrong| task.wrong(wrong)),
                JournalLookup::Failed(error) => return Err(error),
                JournalLookup::New(entry) => entry,
            };
            let kept = task.journal().plan_kept(task.shared.recorder.as_deref()).await;
            kept.map_err(|error| task.wrong(error.into()))?;
            let idempotency = entry.record.idempotency.clone();
            let mut result = match task.staged(&key, &entry)? {
                Some(Staged::Fails(error)) => return Err(task.failed(&key, &entry, error)),
                Some(Staged::Value(value)) => Some((value, EffectEnd::Done)),
                None => None,
            };
            if let Some(probe) = probe.filter(|_| result.is_none() && task.journal().has_started()) {
                let asked = task.in_effect((&key, "?"), async { probe(idempotency.clone()).await }).await;
                result = asked??.map(|found| (found, EffectEnd::Found));
            }
            let (result, end) = match result {
                Some(known) => known,
                None => {
                    task.starts(&entry);
                    let ended = task.in_effect((&key, ""), async { body(idempotency).await }).await;
                    task.journal().stop(&entry.key);
                    match ended? {
                        Ok(result) => (result, EffectEnd::Done),
                        Err(error) => return Err(task.failed(&key, &entry, error)),
                    }
                }
            };
            entry.ends(task, end);
            entry.set(&key, &result).map_err(|wrong| task.wrong(wrong))?;
            match task.keep(&key, entry).await.map_err(|wrong| task.wrong(wrong))? {
                None => Ok(result),
                Some(first) => task.taken(&key, &first).map_err(|wrong| task.wrong(wrong)),
            }
        })
    }
}

/// An entry that is not in the journal yet.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(super) key: String,
    pub(super) record: EffectRecord,
}

impl Entry {
    /// The key of the entry in the journal.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Notes which signal the entry holds.
    pub(crate) fn of_signal(&mut self, id: &SignalId) {
        self.record.idempotency = id.to_string();
    }

    pub(crate) fn set<T: Serialize + DeserializeOwned>(&mut self, key: &str, value: &T) -> Result<(), RunError> {
        let what = || format!("result of effect `{key}`");
        self.record.value = value::encode_both_ways(what, std::any::type_name::<T>(), value)?;
        Ok(())
    }
}

/// The journal's result for an entry that a body requests.
pub(crate) enum JournalLookup {
    Recorded(EffectRecord),
    /// In a replay: how the effect failed.
    Failed(NodeError),
    New(Entry),
}

impl TaskCtx {
    /// Runs an effect's body, or its probe, in a scope of its own. What a body returns after it has asked or started to wait does
    /// not count: it runs again.
    async fn in_effect<T>(&self, (key, part): (&str, &str), body: impl Future<Output = T>) -> Result<T, Interrupted> {
        let scope = self.new_effect_scope(key, part);
        let result = effect_scope::within(Arc::clone(&scope), body).await;
        if scope.has_stopped() { Err(Interrupted::new()) } else { Ok(result) }
    }

    /// Looks an entry up, and checks that the body asks for the same as before.
    pub(crate) async fn begin_entry(
        &self,
        kind: EffectKind,
        key: &str,
        arguments: Result<Canon, RunError>,
    ) -> Result<JournalLookup, RunError> {
        let arguments = arguments?;
        let full = self.entry_key(kind, key);
        if full.len() > Commit::MAX_NAME {
            let what = format!("the key `{}…` with the way to its task", key.chars().take(40).collect::<String>());
            let (bytes, limit) = (full.len(), Commit::MAX_NAME);
            return Err(CheckpointError::TooLarge { what, bytes, limit }.into());
        }
        if !self.state().journal.used.insert(full.clone()) {
            return Err(RunError::EffectTwice { node: self.facts.name.clone(), key: key.to_owned() });
        }
        let hash = arguments.hash();
        match self.journal().find(&full) {
            Found::Recorded(record, safe) => {
                if record.arguments != hash {
                    return Err(self.other_arguments(key, record.shown, shown(&arguments)));
                }
                if !safe && kind == EffectKind::Effect {
                    self.journal().secure(self.shared.recorder.as_deref(), full).await?;
                }
                Ok(JournalLookup::Recorded(record))
            }
            Found::Missing => {
                if let Found::Recorded(record, _) = self.journal().find(&self.entry_key(EffectKind::Failure, key))
                    && kind == EffectKind::Effect
                    && record.arguments == hash
                {
                    let text: String = self.taken(key, &record)?;
                    return Ok(JournalLookup::Failed(text.into()));
                }
                let now = if kind == EffectKind::Effect { shown(&arguments) } else { "asked for".into() };
                Err(RunError::NotRecorded { node: self.facts.name.clone(), what: entry_name(kind, key), now })
            }
            Found::New => {
                let count = self.journal().len();
                if count >= EFFECTS_LIMIT {
                    let (from, what) = (self.facts.name.clone(), "the journal of its task");
                    return Err(RunError::TooMany { from, what, count: count + 1, limit: EFFECTS_LIMIT });
                }
                let idempotency = self.idempotency(kind, key, &full);
                Ok(JournalLookup::New(self.entry(kind, full, (hash, shown(&arguments)), idempotency)))
            }
        }
    }

    /// Returns the result of an effect that a test has set.
    fn staged<T: DeserializeOwned>(&self, key: &str, entry: &Entry) -> Result<Option<Staged<T>>, NodeError> {
        let Some(stage) = &self.shared.environment.stage else { return Ok(None) };
        let record = &entry.record;
        let staged = stage.result(key, &record.shown, &record.idempotency).map_err(|wrong| self.wrong(wrong))?;
        let read = |bytes: Vec<u8>| {
            reading::decode_only(&bytes).map_err(|reason| {
                let what = format!("result that the test gives effect `{key}`");
                self.wrong(RunError::Codec { what, reason })
            })
        };
        match staged {
            Some(Staged::Value(bytes)) => Ok(Some(Staged::Value(read(bytes)?))),
            Some(Staged::Fails(error)) => Ok(Some(Staged::Fails(error))),
            None => Ok(None),
        }
    }

    fn entry(&self, kind: EffectKind, key: String, (arguments, shown): (u64, String), idempotency: String) -> Entry {
        let (value, at) = (vec![], self.shared.now());
        let runs = match kind {
            EffectKind::Effect => self.dropped(&key, at),
            EffectKind::Value
            | EffectKind::Time
            | EffectKind::Random
            | EffectKind::Sleep
            | EffectKind::Failure
            | EffectKind::Signal => {
                vec![self.run(at, EffectEnd::Done)]
            }
        };
        Entry { key, record: EffectRecord { kind, order: 0, arguments, shown, idempotency, value, at, runs } }
    }

    /// The same in every attempt, process and fork that goes on with the task; another in every other task, and in each of
    /// several branches that go on after it asked. What failed before they parted keeps its key: it may have happened.
    fn idempotency(&self, kind: EffectKind, key: &str, full: &str) -> String {
        if kind == EffectKind::Effect
            && let Some(before) = self.journal().failed_as(&self.entry_key(EffectKind::Failure, key))
        {
            return before;
        }
        let hash = Canon::Text(full.to_owned()).hash();
        format!("{:08x}-{}-{hash:016x}", self.birth(), self.journal().origin())
    }

    /// Notes how an effect failed, for replays: an attempt does it again.
    fn failed(&self, key: &str, entry: &Entry, error: NodeError) -> NodeError {
        let record = EffectRecord { kind: EffectKind::Failure, ..entry.record.clone() };
        let mut failure = Entry { key: self.entry_key(EffectKind::Failure, key), record };
        failure.ends(self, EffectEnd::Failed);
        if failure.set(key, &error.to_string()).is_ok() {
            self.journal().note_failure(&entry.key, failure.key, failure.record);
        }
        error
    }

    /// Puts the result on disk, if there is a store. Returns what another attempt has put there meanwhile.
    async fn keep(&self, key: &str, entry: Entry) -> Result<Option<EffectRecord>, RunError> {
        let (recorder, arguments, now) =
            (self.shared.recorder.as_deref(), entry.record.arguments, entry.record.shown.clone());
        match self.journal().keep(recorder, entry.key, entry.record).await? {
            Some(first) if first.arguments != arguments => Err(self.other_arguments(key, first.shown, now)),
            first => Ok(first),
        }
    }

    /// Adds an entry that rides on the task's commit. Returns what another attempt has noted there meanwhile.
    pub(crate) fn note(&self, entry: Entry) -> Option<EffectRecord> {
        self.journal().note(entry.key, entry.record)
    }

    /// Reads a recorded result.
    pub(crate) fn taken<T: DeserializeOwned>(&self, key: &str, record: &EffectRecord) -> Result<T, RunError> {
        reading::decode_only(&record.value).map_err(|reason| {
            let what = format!("recorded result of `{key}` of node `{}`", self.facts.name);
            RunError::Codec { what, reason }
        })
    }

    fn other_arguments(&self, key: &str, recorded: String, now: String) -> RunError {
        RunError::NonDeterministic { node: self.facts.name.clone(), key: key.to_owned(), recorded, now }
    }

    /// Ends the task with this error, whatever its body makes of what it gets.
    pub(crate) fn wrong(&self, error: RunError) -> NodeError {
        let failure = NodeError::permanent(error.to_string());
        self.raise(Raised::Wrong(error));
        failure
    }
}

/// Returns the name of an entry for people.
pub(crate) fn entry_name(kind: EffectKind, key: &str) -> String {
    let nth = || key.parse::<u32>().map_or_else(|_| key.to_owned(), |at| (at + 1).to_string());
    match kind {
        EffectKind::Effect => format!("effect `{key}`"),
        EffectKind::Failure => format!("failure of effect `{key}`"),
        EffectKind::Value => format!("recorded value `{key}`"),
        EffectKind::Time => format!("time {} of `ctx.now()`", nth()),
        EffectKind::Random => format!("number {} of `ctx.random()`", nth()),
        EffectKind::Sleep => format!("wait {}", nth()),
        EffectKind::Signal => format!("signal `{key}`"),
    }
}

/// The arguments as a person reads them.
fn shown(arguments: &Canon) -> String {
    let mut text = arguments.json().to_string();
    if text.len() > SHOWN {
        let cut = (0..=SHOWN).rev().find(|&at| text.is_char_boundary(at)).unwrap_or_default();
        text.truncate(cut);
        text.push('…');
    }
    text
}
