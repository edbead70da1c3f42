//! Tests of a whole graph, from its input to its end, and crash tests, which cut a run at every commit in turn and resume it;
//! each must end with the same result.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use superstep_base::time::system_time;

use super::script::{EffectCall, Script, Test};
use crate::checkpoint::{
    CheckpointId, Checkpointer, EffectKind, EffectRecord, FailingCheckpointer, Key, MemoryCheckpointer, Order,
    ThreadId, decode_record,
};
use crate::graph::error::RunError;
use crate::graph::interrupt::Question;
use crate::graph::node::NodeId;
use crate::graph::records::clock;
use crate::graph::state::{Canon, State, Storage, Writes, value};
use crate::graph::thread::request::Request;
use crate::graph::thread::{Outcome, Status, Thread};
use crate::graph::view::DebugState;

/// The result of a run of a whole graph.
#[non_exhaustive]
pub struct TestRun<S: State, N, C = ()> {
    /// The state at its end, or at a question without a scripted answer.
    pub state: Arc<S>,
    /// Questions without a scripted answer.
    pub asks: Vec<Question>,
    /// The effects, in order.
    pub effects: Vec<EffectCall>,
    /// The time when it ended.
    pub ended_at: SystemTime,
    /// The thread of the run, `test`, in an in-memory store unless another was given: for its history, diffs and replays.
    pub thread: Thread<S, N, C>,
}

impl<S: State, N, C> fmt::Debug for TestRun<S, N, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Ran");
        shown
            .field("state", &DebugState(&*self.state))
            .field("asks", &self.asks.len())
            .field("effects", &self.effects)
            .finish()
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Test<S, N, C> {
    /// Runs the graph from this input, through all scripted answers and waits.
    ///
    /// # Errors
    /// The error of the run.
    pub async fn run(&self, input: impl Into<Writes<S>>) -> Result<TestRun<S, N, C>, RunError> {
        self.run_on(Arc::new(MemoryCheckpointer::new()), input).await
    }

    /// The same in a store of your own, which has no thread `test` yet.
    ///
    /// # Errors
    /// The error of the run.
    pub async fn run_on(
        &self,
        store: Arc<dyn Checkpointer>,
        input: impl Into<Writes<S>>,
    ) -> Result<TestRun<S, N, C>, RunError> {
        let script = self.script();
        let thread = self.thread(store, &script);
        let end = run_to_end(&thread, Some(input.into()), &script).await?;
        let (asks, ended_at) = (end.questions().to_vec(), system_time(thread.core.environment.host.now()));
        Ok(TestRun { state: Arc::clone(end.state()), asks, effects: script.calls(), ended_at, thread })
    }

    pub(super) fn thread(&self, store: Arc<dyn Checkpointer>, script: &Arc<Script>) -> Thread<S, N, C> {
        let graph = self.graph.clone().with_shared_checkpointer(store);
        let mut thread = graph.thread_with("test", Arc::clone(&self.context));
        thread.core.environment.host = self.host(script);
        thread.core.environment.stage = Some(Arc::clone(script) as _);
        thread
    }
}

/// Runs until nothing is left to do, or a question has no answer.
pub(crate) async fn run_to_end<S: State, N: NodeId, C: Send + Sync + 'static>(
    thread: &Thread<S, N, C>,
    input: Option<Writes<S>>,
    script: &Script,
) -> Result<Outcome<S>, RunError> {
    let mut outcome = match input {
        Some(input) => thread.invoke(input).await?,
        None => thread.proceed().await?,
    };
    loop {
        outcome = match outcome {
            Outcome::Interrupted(questions) => {
                let answers: Vec<_> = questions.iter().filter_map(|question| script.answer(question)).collect();
                if answers.is_empty() {
                    return Ok(Outcome::Interrupted(questions));
                }
                thread.run(Request::answers(answers)).await?
            }
            Outcome::Waiting { until, .. } | Outcome::AwaitingSignal { until: Some(until), .. } => {
                script.wait_until(clock::millis(until));
                thread.proceed().await?
            }
            Outcome::Stopped(_) => thread.proceed().await?,
            other => return Ok(other),
        };
    }
}

/// Resumes a thread whose process was cut, as a new process would.
pub(crate) async fn resume<S: State, N: NodeId, C: Send + Sync + 'static>(
    thread: &Thread<S, N, C>,
    input: Writes<S>,
    script: &Script,
) -> Result<Outcome<S>, RunError> {
    if thread.state().await?.is_none() {
        return run_to_end(thread, Some(input), script).await;
    }
    if let Status::Interrupted { questions } = thread.status().await? {
        let answers: Vec<_> = questions.iter().filter_map(|question| script.answer(question)).collect();
        if !answers.is_empty() {
            thread.run(Request::answers(answers)).await?;
        }
    }
    run_to_end(thread, None, script).await
}

/// A difference between a run that was cut and the undisturbed one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CutError {
    /// It failed.
    #[error("cut at commit {commit}{}: {error}", ack_note(*.lost))]
    Failed {
        /// The commit that was cut, from 1.
        commit: u64,
        /// True if it was stored, and only the acknowledgement was lost.
        lost: bool,
        /// The error; of the undisturbed run, if `commit` is 0.
        error: Box<RunError>,
    },
    /// A channel ended with another value.
    #[error("cut at commit {commit}{}: channel `{channel}` ended as {cut}, undisturbed as {undisturbed}", ack_note(*.lost))]
    OtherEnd {
        /// The commit that was cut, from 1.
        commit: u64,
        /// True if it was stored, and only the acknowledgement was lost.
        lost: bool,
        /// The channel.
        channel: String,
        /// Its value after the cut, as JSON.
        cut: String,
        /// Its value in the undisturbed run, as JSON.
        undisturbed: String,
    },
    /// Other effects happened: with other keys or arguments, or one with the identity of another task.
    #[error("cut at commit {commit}{}: other effects: {cut:?}, undisturbed {undisturbed:?}", ack_note(*.lost))]
    OtherEffects {
        /// The commit that was cut, from 1.
        commit: u64,
        /// True if it was stored, and only the acknowledgement was lost.
        lost: bool,
        /// Keys and arguments after the cut.
        cut: Vec<(String, String)>,
        /// Keys and arguments of the undisturbed run.
        undisturbed: Vec<(String, String)>,
    },
}

fn ack_note(lost: bool) -> &'static str {
    if lost { " (stored, not acknowledged)" } else { "" }
}

struct EndState {
    channels: Vec<(String, Option<Canon>)>,
    effects: BTreeSet<EffectIdentity>,
}

/// The idempotency key, key and arguments of an effect.
type EffectIdentity = (String, String, String);

impl EndState {
    fn effects(&self) -> Vec<(String, String)> {
        let mut effects: Vec<_> =
            self.effects.iter().map(|(_, key, arguments)| (key.clone(), arguments.clone())).collect();
        effects.sort();
        effects
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Test<S, N, C> {
    /// Runs the graph once undisturbed, then twice for each of its commits, which fails as in a crash: before it is stored,
    /// and after. Each time the run is resumed as by a new process. The end must be the same, and so must be the effects,
    /// each with its idempotency key. Returns the number of commits.
    ///
    /// # Errors
    /// [`CutError`] for the first cut with another end.
    pub async fn cut_everywhere(&self, input: impl Into<Writes<S>>) -> Result<u64, CutError> {
        let input: Writes<S> = input.into();
        let script = self.script();
        let whole = Arc::new(FailingCheckpointer::new(Arc::new(MemoryCheckpointer::new()), u64::MAX));
        let thread = self.thread(Arc::clone(&whole) as Arc<dyn Checkpointer>, &script);
        let ended = run_to_end(&thread, Some(input.clone()), &script).await;
        let undisturbed = self.end(ended, &script).map_err(|error| cut_error(0, false, error))?;
        let commits = whole.commits();
        for commit in 1..=commits {
            for lost in [false, true] {
                let cut = self.cut_at(commit, lost, &input).await.map_err(|error| cut_error(commit, lost, error))?;
                compare(commit, lost, &cut, &undisturbed)?;
            }
        }
        Ok(commits)
    }

    async fn cut_at(&self, commit: u64, lost: bool, input: &Writes<S>) -> Result<EndState, RunError> {
        let (script, store) = (self.script(), Arc::new(MemoryCheckpointer::new()));
        let inner = Arc::clone(&store) as Arc<dyn Checkpointer>;
        let failing = if lost { FailingCheckpointer::losing_ack } else { FailingCheckpointer::new };
        let dying = self.thread(Arc::new(failing(inner, commit)), &script);
        let _cut = run_to_end(&dying, Some(input.clone()), &script).await;
        drop(dying);
        script.restart();
        let (kept, before) = (stored_effects(&store).await?, script.calls().len());
        let thread = self.thread(store, &script);
        let ended = resume(&thread, input.clone(), &script).await;
        let end = self.end(ended, &script)?;
        let again = script.calls().into_iter().skip(before).find(|call| kept.contains(&call.idempotency));
        again.map_or(Ok(end), |call| Err(RunError::EffectTwice { node: "(after the cut)".into(), key: call.key }))
    }

    fn end(&self, ended: Result<Outcome<S>, RunError>, script: &Script) -> Result<EndState, RunError> {
        let (state, schema) = (Arc::clone(ended?.state()), self.graph.schema());
        let mut channels = vec![];
        for (at, channel) in S::channels(schema).iter().enumerate() {
            if channel.storage() == Storage::Never {
                continue;
            }
            let set = state.is_set(schema, at);
            let value = set.then(|| value::canon_channel::<S>(schema, &state, at)).transpose()?;
            channels.push((channel.name().to_owned(), value));
        }
        let order = |call: EffectCall| (call.idempotency, call.key, call.arguments);
        Ok(EndState { channels, effects: script.calls().into_iter().map(order).collect() })
    }
}

/// Returns the idempotency keys of the stored effects.
async fn stored_effects(store: &MemoryCheckpointer) -> Result<BTreeSet<String>, RunError> {
    let thread = ThreadId::from("test");
    let at = |id| Key::Effect { checkpoint: CheckpointId(id), task: 0, key: String::new() };
    let found = store.scan(&thread, at(0)..=at(u64::MAX), Order::Ascending, usize::MAX).await?;
    let read = |(key, bytes): (Key, Vec<u8>)| decode_record::<EffectRecord>(&thread, key, &bytes);
    let records: Vec<EffectRecord> = found.into_iter().map(read).collect::<Result<_, _>>()?;
    let done = records.into_iter().filter(|record| record.kind == EffectKind::Effect);
    Ok(done.map(|record| record.idempotency).collect())
}

fn cut_error(commit: u64, lost: bool, error: RunError) -> CutError {
    CutError::Failed { commit, lost, error: Box::new(error) }
}

fn compare(commit: u64, lost: bool, cut: &EndState, undisturbed: &EndState) -> Result<(), CutError> {
    for ((channel, now), (_, was)) in cut.channels.iter().zip(&undisturbed.channels) {
        if now != was {
            let text = |value: &Option<Canon>| {
                value.as_ref().map_or_else(|| "nothing".into(), |value| value.json().to_string())
            };
            let (channel, cut, undisturbed) = (channel.clone(), text(now), text(was));
            return Err(CutError::OtherEnd { commit, lost, channel, cut, undisturbed });
        }
    }
    if cut.effects() != undisturbed.effects() {
        let (cut, undisturbed) = (cut.effects(), undisturbed.effects());
        return Err(CutError::OtherEffects { commit, lost, cut, undisturbed });
    }
    Ok(())
}
