//! The script of a test, written or taken from a recorded thread, and the effects that the test observed. Runs nothing.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::checkpoint::{CheckpointId, EffectKind, EffectRecord, Key, Order, decode_record};
use crate::graph::build::CompiledGraph;
use crate::graph::context::{Stage, StagedResult};
use crate::graph::error::{ErrorClass, NodeError, RunError};
use crate::graph::interrupt::{Answer, Interrupt, InterruptId, Question};
use crate::graph::node::NodeId;
use crate::graph::records::{EntryKey, Host, clock};
use crate::graph::state::{State, value};
use crate::graph::thread::Thread;

/// Default start time of tests: 2030-01-01, in seconds since 1970.
const DEFAULT_START: u64 = 1_893_456_000;

type Results = Vec<ScriptedResult>;

#[derive(Clone)]
enum ScriptedResult {
    Value(Vec<u8>),
    Fails {
        class: ErrorClass,
        message: String,
    },
    /// The test's result could not be encoded.
    Unfit(RunError),
}

/// A test of a graph: its script, and methods to run it. Made by [`CompiledGraph::test`].
#[must_use]
pub struct Test<S: State, N, C = ()> {
    pub(super) graph: CompiledGraph<S, N, C>,
    pub(super) context: Arc<C>,
    answers: BTreeMap<&'static str, Vec<Answer>>,
    effects: BTreeMap<String, Results>,
    real: bool,
    begins: u64,
    seed: u64,
}

impl<S: State, N, C> std::fmt::Debug for Test<S, N, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Test").field("graph", &self.graph).finish_non_exhaustive()
    }
}

/// An effect call observed by a test.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EffectCall {
    /// Its key.
    pub key: String,
    /// Its arguments, as JSON; long ones are cut.
    pub arguments: String,
    /// Its idempotency key.
    pub idempotency: String,
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> CompiledGraph<S, N, C> {
    /// Returns a test of the graph, with the default context. See [`kit`](crate::graph::kit).
    pub fn test(&self) -> Test<S, N, C>
    where
        C: Default,
    {
        self.test_with(C::default())
    }

    /// Returns a test of the graph with a context.
    pub fn test_with(&self, context: impl Into<Arc<C>>) -> Test<S, N, C> {
        let (answers, effects) = (BTreeMap::new(), BTreeMap::new());
        let (graph, context) = (self.clone(), context.into());
        Test { graph, context, answers, effects, real: false, begins: DEFAULT_START * 1000, seed: 0 }
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Test<S, N, C> {
    /// Adds an answer: the n-th answer added is for the n-th question of this type.
    pub fn answer<I: Interrupt>(mut self, answer: I::Resume) -> Self {
        self.answers.entry(I::NAME).or_default().push(Answer::new::<I>(&answer));
        self
    }

    /// Adds a result of the effects with this key: the n-th effect gets the n-th result; the last one repeats. An effect
    /// that is repeated with its idempotency key, because a crash lost its record, gets the result it had. An effect
    /// without a result fails the test.
    pub fn effect(mut self, key: impl Into<String>, result: impl Serialize) -> Self {
        let key = key.into();
        let bytes = value::encode(|| format!("result of effect `{key}`"), "scripted", &result);
        self.add(key, bytes.map_or_else(|error| ScriptedResult::Unfit(error.into()), ScriptedResult::Value));
        self
    }

    /// Adds a failure in place of a result: `.effect_fails("charge", NodeError::transient("timeout")).effect("charge",
    /// "r-1")` is an effect that succeeds on its retry. The failure has the error's class and text.
    ///
    /// In [`cut_everywhere`](Self::cut_everywhere), an effect that failed before a crash fails again in the same way
    /// afterwards: a new process starts its retries over.
    pub fn effect_fails(mut self, key: impl Into<String>, error: impl Into<NodeError>) -> Self {
        let error = error.into();
        self.add(key.into(), ScriptedResult::Fails { class: error.class(), message: error.to_string() });
        self
    }

    fn add_recorded(&mut self, key: String, bytes: Vec<u8>) {
        self.add(key, ScriptedResult::Value(bytes));
    }

    fn add(&mut self, key: String, result: ScriptedResult) {
        self.effects.entry(key).or_default().push(result);
    }

    /// Runs effects without a scripted result for real.
    pub fn real_effects(mut self) -> Self {
        self.real = true;
        self
    }

    /// Sets the start time of the test. The clock is fixed, except that waits advance it.
    pub fn begins_at(mut self, time: SystemTime) -> Self {
        self.begins = clock::millis(time);
        self
    }

    /// Sets the seed of random numbers and ids.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    pub(super) fn script(&self) -> Arc<Script> {
        let left = self.effects.iter().map(|(key, results)| (key.clone(), (results.clone(), 0))).collect();
        let inner = Inner { effects: left, ..Inner::default() };
        let (now, real) = (Arc::new(AtomicU64::new(self.begins)), self.real);
        Arc::new(Script { answers: self.answers.clone(), real, now, inner: Mutex::new(inner) })
    }

    /// Returns the script's clock, and random numbers from the seed.
    pub(super) fn host(&self, script: &Script) -> Host {
        let now = Arc::clone(&script.now);
        let clock = move || UNIX_EPOCH + Duration::from_millis(now.load(Ordering::SeqCst));
        let seed = Some(Arc::new(AtomicU64::new(self.seed)));
        Host { clock: Some(Arc::new(clock)), store: None, seed, first: Some(self.seed) }
    }
}

pub(crate) struct Script {
    answers: BTreeMap<&'static str, Vec<Answer>>,
    real: bool,
    now: Arc<AtomicU64>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Results by key, and the number used.
    effects: BTreeMap<String, (Results, usize)>,
    /// The results that each effect got, by idempotency key.
    histories: HashMap<String, EffectResults>,
    /// Index of the answer that each question got.
    assigned: HashMap<InterruptId, usize>,
    used: BTreeMap<String, usize>,
    calls: Vec<EffectCall>,
}

/// The results of one effect: failures, and then a success.
#[derive(Default)]
struct EffectResults {
    results: Vec<usize>,
    /// Number of the failures that this process has seen.
    seen: usize,
}

impl Inner {
    /// Returns the result of an effect: the previous one if it is repeated, else the next one of its key.
    fn result(&mut self, key: &str, idempotency: String) -> Option<ScriptedResult> {
        let (results, used) = self.effects.get_mut(key)?;
        let history = self.histories.entry(idempotency).or_default();
        let at = match history.results.get(history.seen) {
            Some(&before) => before,
            None => {
                let next = (*used).min(results.len() - 1);
                *used += 1;
                history.results.push(next);
                next
            }
        };
        let result = results[at].clone();
        if matches!(result, ScriptedResult::Fails { .. }) {
            history.seen += 1;
        }
        Some(result)
    }
}

impl Script {
    /// Simulates a new process, in which effects that had failed fail again in the same way.
    pub(super) fn restart(&self) {
        self.lock().histories.values_mut().for_each(|history| history.seen = 0);
    }

    /// Returns the answer to a question, the same each time.
    pub(super) fn answer(&self, question: &Question) -> Option<Answer> {
        let answers = self.answers.get(question.name())?;
        let mut inner = self.lock();
        let Inner { assigned, used, .. } = &mut *inner;
        let at = *assigned.entry(question.id()).or_insert_with(|| {
            let next = used.entry(question.name().to_owned()).or_default();
            *next += 1;
            *next - 1
        });
        answers.get(at).map(|answer| answer.clone().to(question.id()))
    }

    pub(super) fn wait_until(&self, time: u64) {
        self.now.fetch_max(time, Ordering::SeqCst);
    }

    pub(super) fn calls(&self) -> Vec<EffectCall> {
        self.lock().calls.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stage for Script {
    fn result(&self, key: &str, arguments: &str, idempotency: &str) -> Result<Option<StagedResult<Vec<u8>>>, RunError> {
        let mut inner = self.lock();
        let (key, arguments, idempotency) = (key.to_owned(), arguments.to_owned(), idempotency.to_owned());
        inner.calls.push(EffectCall { key: key.clone(), arguments, idempotency: idempotency.clone() });
        match inner.result(&key, idempotency) {
            Some(ScriptedResult::Value(bytes)) => Ok(Some(StagedResult::Value(bytes))),
            Some(ScriptedResult::Fails { class, message }) => {
                Ok(Some(StagedResult::Fails(NodeError::of_class(class, message))))
            }
            Some(ScriptedResult::Unfit(error)) => Err(error),
            None if self.real => Ok(None),
            None => {
                let what = format!(
                    "the test has no result for effect `{key}`: add `.effect(\"{key}\", ..)` or `.real_effects()`"
                );
                Err(RunError::InvalidConfig { what })
            }
        }
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Test<S, N, C> {
    /// Uses the effect results of a recorded thread: the n-th effect with a key gets the n-th recorded result. This repeats
    /// a real run without its side effects.
    ///
    /// # Errors
    /// [`RunError::NoCheckpointer`] if the thread is not stored; if its store cannot be read.
    pub async fn effects_of<B: Send + Sync + 'static>(mut self, thread: &Thread<S, N, B>) -> Result<Self, RunError> {
        let Some((store, id)) = thread.core.stored_in() else {
            return Err(RunError::NoCheckpointer { what: "reading recorded effects" });
        };
        let at = |id| Key::Effect { checkpoint: CheckpointId(id), task: 0, key: String::new() };
        let found = store.scan(id, at(0)..=at(u64::MAX), Order::Ascending, usize::MAX).await?;
        let mut effects = vec![];
        for (key, bytes) in found {
            let record: EffectRecord = decode_record(id, &key, &bytes)?;
            let Key::Effect { checkpoint, task, key } = key else { continue };
            let own = EntryKey::parse(&key).filter(|own| own.is_own() && record.kind == EffectKind::Effect);
            if let Some(own) = own {
                effects.push(((checkpoint, task, record.order), own.key, record.value));
            }
        }
        effects.sort_by_key(|(at, ..)| *at);
        for (_, key, value) in effects {
            self.add_recorded(key, value);
        }
        Ok(self)
    }
}
