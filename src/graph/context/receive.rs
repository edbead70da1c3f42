//! How a node receives signals: from the thread's mailbox, each once, in order; and which tasks wait for them.

use std::time::Duration;

use super::ctx::Ctx;
use super::journal::{Entry, JournalLookup, entry_name};
use super::record::PLAIN;
use super::task::{AttemptStop, TaskCtx};
use crate::checkpoint::{EffectKind, ReceiveRecord};
use crate::graph::error::RunError;
use crate::graph::interrupt::{Interrupted, Signal};
use crate::graph::records::{PendingSignal, Recorder};
use crate::graph::state::{Canon, reading};

impl<C: Send + Sync + 'static> Ctx<C> {
    /// Returns the next signal of this type that was sent to the thread, or stops the node until there is one.
    ///
    /// Signals are kept in the thread's mailbox from [`Thread::signal`](crate::graph::Thread::signal) until a task receives
    /// them: each is received once, in the order in which they were sent, by the task that asks first. The node runs again from
    /// its beginning when a signal has come; the n-th call for a type in a task returns the same signal in every attempt,
    /// process and replay. Declare the type on the node with `.receives::<T>()`.
    ///
    /// While a task waits for a signal, the thread's status is
    /// [`AwaitingSignal`](crate::graph::Status::AwaitingSignal); a [`runner`](crate::graph::runner()) resumes it when one has
    /// come.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use superstep::prelude::*;
    /// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Order { cents: u64 }
    /// #[derive(Signal, Serialize, Deserialize)]
    /// struct Paid {
    ///     cents: u64,
    /// }
    /// async fn pay(_: Arc<Order>, ctx: Ctx) -> Result<OrderUpdate, NodeError> {
    ///     let paid: Paid = ctx.receive().await?; // on the node: `.receives::<Paid>()`
    ///     Ok(Order::update().cents(paid.cents))
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Interrupted`] is no failure: pass it on with `?`. A signal that the type does not read fails the node with
    /// [`RunError::MistypedSignal`], and stays in the mailbox. Without a store the node fails.
    pub async fn receive<T: Signal>(&self) -> Result<T, Interrupted> {
        match self.0.receive_signal(None).await {
            Ok(Some(signal)) => Ok(signal),
            Ok(None) => Err(self.0.interrupt_with(AttemptStop::Wrong(RunError::NotRecorded {
                node: self.0.facts.name.clone(),
                what: format!("signal `{}`", T::NAME),
                now: "waited for without an end".into(),
            }))),
            Err(raised) => Err(self.0.interrupt_with(*raised)),
        }
    }

    /// Returns the next signal of this type as [`receive`](Self::receive) does; none if none has come within this time, across
    /// processes. The time counts from the first attempt, and for a signal the time at which it was sent: one that was sent
    /// later stays in the mailbox, also if nobody ran the thread meanwhile. With [`Duration::ZERO`] it returns what is there now.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub async fn receive_within<T: Signal>(&self, time: Duration) -> Result<Option<T>, Interrupted> {
        self.0.receive_signal(Some(time)).await.map_err(|raised| self.0.interrupt_with(*raised))
    }
}

/// A wait for signals of one type.
struct Wait<'a> {
    recorder: &'a Recorder,
    name: &'static str,
    /// The key of the entry, for people.
    key: String,
    /// In milliseconds since 1970.
    until: Option<u64>,
}

impl TaskCtx {
    fn interrupt_with(&self, raised: AttemptStop) -> Interrupted {
        self.raise(raised);
        Interrupted::new()
    }

    async fn receive_signal<T: Signal>(&self, within: Option<Duration>) -> Result<Option<T>, Box<AttemptStop>> {
        if !self.facts.receives.contains_key(T::NAME) {
            let (node, type_name) = (self.facts.name.clone(), std::any::type_name::<T>());
            return Err(boxed_error(RunError::UndeclaredSignal { node, signal: T::NAME, type_name }));
        }
        let key = self.next_key(EffectKind::Signal, T::NAME);
        let mut entry = match self.begin_entry(EffectKind::Signal, &key, Ok(Canon::Nil)).await.map_err(boxed_error)? {
            JournalLookup::Recorded(record) => return self.decode_result(&key, &record).map_err(boxed_error),
            JournalLookup::Failed(_) => {
                let (node, what) = (self.facts.name.clone(), entry_name(EffectKind::Signal, &key));
                return Err(boxed_error(RunError::NotRecorded { node, what, now: String::new() }));
            }
            JournalLookup::New(entry) => entry,
        };
        let Some(recorder) = self.shared.recorder.as_deref() else {
            return Err(boxed_error(RunError::NoCheckpointer { what: "a node that receives signals" }));
        };
        let until = self.until(&key, within).await.map_err(boxed_error)?;
        let wait = Wait { recorder, name: T::NAME, key, until };
        loop {
            let Some((pending, signal)) = self.first::<T>(&wait).await? else { break };
            if let Some(signal) = self.take(&wait, &mut entry, pending, signal).map_err(boxed_error)? {
                return Ok(Some(signal));
            }
        }
        if until.is_none_or(|until| until > self.shared.now()) {
            return Err(Box::new(self.await_signal(T::NAME, until, entry.key())));
        }
        entry.set::<Option<T>>(&wait.key, &None).map_err(boxed_error)?;
        self.note(entry);
        Ok(None)
    }

    /// The key of the next signal or question of a type: they are counted by type.
    pub(crate) fn next_key(&self, kind: EffectKind, name: &str) -> String {
        let place = self.entry_key(kind, name);
        let nth = &mut *self.state();
        let nth = nth.questions.received.entry(place).or_default();
        *nth += 1;
        format!("{name}#{}", *nth - 1)
    }

    /// Until when to wait, as the first attempt noted it.
    async fn until(&self, key: &str, within: Option<Duration>) -> Result<Option<u64>, RunError> {
        let Some(time) = within else { return Ok(None) };
        let length = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let until = || self.shared.now().saturating_add(length);
        self.get_or_record(EffectKind::Sleep, (key, PLAIN), until).await.map(Some)
    }

    /// The first signal of the type that came in time and that no task has.
    async fn first<T: Signal>(&self, wait: &Wait<'_>) -> Result<Option<(PendingSignal, T)>, Box<AttemptStop>> {
        let pending =
            wait.recorder.first_pending(wait.name, wait.until).await.map_err(|error| boxed_error(error.into()))?;
        let Some(pending) = pending else { return Ok(None) };
        match reading::decode::<T>(&pending.record.value) {
            Ok(signal) => Ok(Some((pending, signal))),
            Err(reason) => {
                let (id, signal) = (pending.id, wait.name.to_owned());
                Err(boxed_error(RunError::MistypedSignal { id: Some(id), signal, reason }))
            }
        }
    }

    /// Takes a signal, unless another task was faster.
    fn take<T: Signal>(
        &self,
        wait: &Wait<'_>,
        entry: &mut Entry,
        pending: PendingSignal,
        signal: T,
    ) -> Result<Option<T>, RunError> {
        let signal = Some(signal);
        entry.set(&wait.key, &signal)?;
        entry.set_signal(&pending.id);
        let journal = self.journal();
        let took = wait.recorder.take_pending(pending.id, journal.checkpoint(), || {
            self.note(entry.clone());
            journal.take_riders()
        })?;
        Ok(signal.filter(|_| took))
    }

    /// The task waits for a signal.
    fn await_signal(&self, name: &str, until: Option<u64>, entry: &str) -> AttemptStop {
        let (node, namespace) = (self.facts.name.to_string(), self.scope.names.to_vec());
        let mut state = self.state();
        state.note_wake(until);
        let (name, entry) = (name.to_owned(), entry.to_owned());
        state.waits.receives.push(ReceiveRecord { name: name.clone(), node, namespace, until, entry });
        AttemptStop::Signal(name)
    }
}

fn boxed_error(error: RunError) -> Box<AttemptStop> {
    Box::new(AttemptStop::Wrong(error))
}
