//! The journal of a task, as its body writes it: entries are looked up when the body asks, and made if there are none. Knows no
//! body.
//!
//! The path below which the task writes is the same in every attempt, resume and replay, and distinguishes the tasks of
//! subgraphs.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use superstep_base::text::{first_chars, shorten};

use super::task::{AttemptStop, TaskCtx};
use crate::checkpoint::{CheckpointError, Commit, EffectEnd, EffectKind, EffectRecord, EffectRun};
use crate::graph::error::{NodeError, RunError};
use crate::graph::interrupt::SignalId;
use crate::graph::records::{EFFECTS_LIMIT, Journal, JournalPath, LookupResult, PathTask, SENT};
use crate::graph::state::{Canon, reading, value};

/// The maximum number of bytes of its arguments that an entry shows.
const SHOWN: usize = 2048;

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
    pub(crate) fn set_signal(&mut self, id: &SignalId) {
        self.record.idempotency = id.to_string();
    }

    pub(crate) fn set<T: Serialize + DeserializeOwned>(&mut self, key: &str, value: &T) -> Result<(), RunError> {
        self.record.value = encode_result(key, value)?;
        Ok(())
    }
}

/// Returns a result in the form in which it is stored.
pub(super) fn encode_result<T: Serialize + DeserializeOwned>(key: &str, value: &T) -> Result<Vec<u8>, RunError> {
    let what = || format!("result of effect `{key}`");
    Ok(value::encode_both_ways(what, std::any::type_name::<T>(), value)?)
}

/// The journal's result for an entry that a body requests.
pub(crate) enum JournalLookup {
    Recorded(EffectRecord),
    /// In a replay: how the effect failed.
    Failed(NodeError),
    New(Entry),
}

impl TaskCtx {
    /// Looks an entry up, and checks that the body asks for the same as before.
    pub(crate) async fn begin_entry(
        &self,
        kind: EffectKind,
        key: &str,
        arguments: Result<Canon, RunError>,
    ) -> Result<JournalLookup, RunError> {
        let arguments = arguments?;
        let full = self.entry_key(kind, key);
        // The key is part of the name of a stored record, and stores limit the length of names.
        if full.len() > Commit::MAX_NAME {
            let what = format!("the key `{}…` with the way to its task", first_chars(key, 40));
            let (bytes, limit) = (full.len(), Commit::MAX_NAME);
            return Err(CheckpointError::TooLarge { what, bytes, limit }.into());
        }
        // One key is one entry: a second use in this attempt would silently get the result of the first.
        if !self.state().journal.used.insert(full.clone()) {
            return Err(RunError::EffectTwice { node: self.facts.name.clone(), key: key.to_owned() });
        }
        // The hash decides, not the text, which is cut for people.
        let hash = arguments.hash();
        match self.journal().find(&full) {
            LookupResult::Recorded(record, safe) => {
                if record.arguments != hash {
                    return Err(self.other_arguments(key, record.shown, shorten_arguments(&arguments)));
                }
                // An earlier attempt may not have waited for its commit: the result counts once it is on disk.
                if !safe && kind == EffectKind::Effect {
                    self.journal().secure(self.shared.recorder.as_deref(), full).await?;
                }
                Ok(JournalLookup::Recorded(record))
            }
            // Replays only: nothing may be added, and an effect that failed when it was recorded fails again.
            LookupResult::Missing => {
                if let LookupResult::Recorded(record, _) =
                    self.journal().find(&self.entry_key(EffectKind::Failure, key))
                    && kind == EffectKind::Effect
                    && record.arguments == hash
                {
                    let text: String = self.decode_result(key, &record)?;
                    return Ok(JournalLookup::Failed(text.into()));
                }
                let now = if kind == EffectKind::Effect { shorten_arguments(&arguments) } else { "asked for".into() };
                Err(RunError::NotRecorded { node: self.facts.name.clone(), what: entry_name(kind, key), now })
            }
            LookupResult::New => {
                // A journal is read as a whole when its task resumes, so its length has a limit.
                let count = self.journal().len();
                if count >= EFFECTS_LIMIT {
                    let (from, what) = (self.facts.name.clone(), "the journal of its task");
                    return Err(RunError::TooMany { from, what, count: count + 1, limit: EFFECTS_LIMIT });
                }
                let idempotency = self.idempotency(kind, key, &full);
                Ok(JournalLookup::New(self.entry(kind, full, (hash, shorten_arguments(&arguments)), idempotency)))
            }
        }
    }

    fn entry(&self, kind: EffectKind, key: String, (arguments, shown): (u64, String), idempotency: String) -> Entry {
        let (value, at) = (vec![], self.shared.now());
        let runs = match kind {
            EffectKind::Effect => self.dropped_runs(&key, at),
            EffectKind::Value
            | EffectKind::Time
            | EffectKind::Random
            | EffectKind::Sleep
            | EffectKind::Failure
            | EffectKind::Signal => {
                vec![self.effect_run(at, EffectEnd::Done)]
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

    /// Puts the result on disk, if there is a store. Returns what another attempt has put there meanwhile.
    pub(super) async fn keep(&self, key: &str, entry: Entry) -> Result<Option<EffectRecord>, RunError> {
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
    pub(crate) fn decode_result<T: DeserializeOwned>(&self, key: &str, record: &EffectRecord) -> Result<T, RunError> {
        reading::decode_only(&record.value).map_err(|reason| {
            let what = format!("recorded result of `{key}` of node `{}`", self.facts.name);
            RunError::Codec { what, reason }
        })
    }

    fn other_arguments(&self, key: &str, recorded: String, now: String) -> RunError {
        RunError::NonDeterministic { node: self.facts.name.clone(), key: key.to_owned(), recorded, now }
    }

    /// Ends the task with this error, whatever its body makes of what it gets.
    pub(crate) fn fail_with(&self, error: RunError) -> NodeError {
        let failure = NodeError::permanent(error.to_string());
        self.raise(AttemptStop::Wrong(error));
        failure
    }
}

impl TaskCtx {
    /// The journal of the root graph's task that this one is, or is inside of.
    pub(crate) fn journal(&self) -> &Arc<Journal> {
        let own = || Arc::new(Journal::new(self.at.checkpoint, self.at.task, self.at.step));
        let found = self.scope.journal.journal.as_ref().unwrap_or_else(|| self.journal.get_or_init(own));
        if self.attempt.again || self.attempt.number > 1 {
            found.begin_again();
        }
        found
    }

    /// The journal, if anything of this task has written to it.
    pub(crate) fn written_journal(&self) -> Option<&Arc<Journal>> {
        self.scope.journal.journal.as_ref().or_else(|| self.journal.get())
    }

    /// The key of an entry; within an effect, under the effect's key.
    pub(crate) fn entry_key(&self, kind: EffectKind, key: &str) -> String {
        let path = self.journal_path();
        let scope = self.effect_scope();
        let path = if let Some(scope) = &scope { path.within(scope.path()) } else { path };
        path.entry(kind, key)
    }

    /// Returns the prefix of the keys of this task's own effects.
    pub(crate) fn own_effects(&self) -> String {
        self.journal_path().entry(EffectKind::Effect, "")
    }

    /// A number drawn at random. With a seed it is the task's own, whatever ran before it.
    pub(crate) fn draw_random(&self) -> u64 {
        let scope = self.effect_scope();
        let (within, nth) = match &scope {
            Some(scope) => (scope.path().as_str(), scope.use_count(EffectKind::Random)),
            None => ("", self.state().journal.nth[EffectKind::Random as usize]),
        };
        let place = || {
            format!(
                "{} {} {:x} {} {within}{nth}",
                self.scope.journal.path.as_str(),
                self.at.step,
                self.at.task,
                self.facts.name
            )
        };
        self.shared.environment.host.random_at(place)
    }

    /// Returns the number of entries of a kind without keys of their own that this attempt has used.
    pub(crate) fn nth(&self, kind: EffectKind) -> u32 {
        if let Some(scope) = self.effect_scope() {
            return scope.next(kind);
        }
        let nth = &mut self.state().journal.nth[kind as usize];
        *nth += 1;
        *nth - 1
    }

    /// The path of what a subgraph of this task writes.
    pub(crate) fn path_below(&self, call: u32) -> JournalPath {
        let first = self.state().subgraphs.first_call;
        self.journal_path().subgraph(call.saturating_sub(first))
    }

    /// The path of what this task writes; handlers apart from bodies.
    fn journal_path(&self) -> JournalPath {
        let scope = &self.scope.journal;
        let own = || PathTask {
            round: self.at.version.saturating_sub(scope.base),
            node: &self.facts.first_name,
            sent: self.at.task.checked_sub(SENT),
        };
        let path = if scope.journal.is_some() { scope.path.task(own()) } else { scope.path.clone() };
        if self.facts.handler { path.handler() } else { path }
    }
}

impl TaskCtx {
    /// Returns the number of the attempt over all runs.
    fn nth_attempt(&self) -> u32 {
        self.attempt.earlier + self.attempt.number
    }

    /// The run of an effect that starts with an entry made now, and ends with it.
    fn effect_run(&self, at: u64, end: EffectEnd) -> EffectRun {
        let took = self.shared.now().saturating_sub(at);
        EffectRun { attempt: self.nth_attempt(), before: 0, took, end }
    }

    /// The run of an effect that an earlier attempt started and did not end.
    fn dropped_runs(&self, key: &str, at: u64) -> Vec<EffectRun> {
        let run = |(attempt, started)| EffectRun {
            attempt,
            before: at.saturating_sub(started),
            took: 0,
            end: EffectEnd::Dropped,
        };
        self.journal().stop(key).map(run).into_iter().collect()
    }

    /// Notes that the body of an effect starts.
    pub(super) fn note_start(&self, entry: &Entry) {
        self.journal().start(&entry.key, self.nth_attempt(), self.shared.now());
    }
}

impl Entry {
    /// Adds the run that came to its result.
    pub(super) fn add_run(&mut self, task: &TaskCtx, end: EffectEnd) {
        let run = task.effect_run(self.record.at, end);
        self.record.runs.push(run);
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
fn shorten_arguments(arguments: &Canon) -> String {
    shorten(&arguments.json().to_string(), SHOWN)
}
