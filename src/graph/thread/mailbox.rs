//! The mailbox of a thread: sending signals to it, reading and clearing it. Needs no lease to send: a run may hold the thread.

use super::handle::{Thread, ThreadCore};
use crate::checkpoint::{CheckpointError, CheckpointId, Claim, Commit, SignalRecord, encode_record};
use crate::graph::error::RunError;
use crate::graph::interrupt::signal::untyped_json;
use crate::graph::interrupt::{SentSignal, Signal, SignalId, SignalRequest};
use crate::graph::node::NodeId;
use crate::graph::records::mailbox::{check_key, pending_signals};
use crate::graph::records::{KeyedSignal, PendingSignal, Reader, SIGNAL_BYTES, SIGNALS_LIMIT};
use crate::graph::state::stored_value::short_name;
use crate::graph::state::{Boxed, State};

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    /// Sends a signal to the thread; it is on disk when this returns. Nothing runs.
    ///
    /// The signal stays in the thread's mailbox, in the order of sending, until a node
    /// [receives](crate::graph::Ctx::receive) one of its type. A thread accepts signals at any time: during a run, in
    /// this task or another, while it sleeps or waits for an answer, after it failed or finished (a later run may
    /// receive them). A running thread receives it at its next `receive`, or when its superstep would end waiting for
    /// it; a thread that waits resumes by [`proceed`](Self::proceed), or by a [`runner`](crate::graph::runner()) at its
    /// next look at the store (see [`waker`](crate::graph::Runner::waker)).
    ///
    /// A mailbox holds up to 1,000 signals of up to 1 MiB.
    ///
    /// # Errors
    /// [`RunError::UnknownThread`], [`RunError::UnknownSignal`] if no node declares it, [`RunError::MistypedSignal`],
    /// [`RunError::MailboxFull`], [`RunError::NoCheckpointer`], [`RunError::Foreign`]; if the store fails. Nothing is
    /// sent on an error.
    pub async fn signal<T: Signal>(&self, signal: T) -> Result<SignalId, RunError> {
        self.core.send(SignalRequest::new(&signal)).await
    }

    /// Sends a signal as [`signal`](Self::signal) does, once for each key: a second one with the same name and key is
    /// not sent, and the id of the first is returned; see [`SignalRequest::key`].
    ///
    /// ```
    /// # use superstep::graph::{NodeId, State};
    /// # use superstep::prelude::*;
    /// # #[derive(Signal, Serialize, Deserialize)] struct Paid { cents: u64 }
    /// # async fn example<S: State, N: NodeId>(thread: Thread<S, N, ()>) -> Result<(), RunError> {
    /// let first = thread.signal_with_key(Paid { cents: 500 }, "invoice 7").await?;
    /// assert_eq!(thread.signal_with_key(Paid { cents: 500 }, "invoice 7").await?, first); // a webhook that was repeated
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`signal`](Self::signal).
    pub async fn signal_with_key<T: Signal>(&self, signal: T, key: impl Into<String>) -> Result<SignalId, RunError> {
        self.core.send(SignalRequest::new(&signal).key(key)).await
    }

    /// Sends a signal as [`signal`](Self::signal) does: as JSON, with the sender's name; see [`SignalRequest`].
    ///
    /// # Errors
    /// As [`signal`](Self::signal).
    pub async fn send(&self, request: SignalRequest) -> Result<SignalId, RunError> {
        self.core.send(request).await
    }

    /// Returns the signals that no task has received yet, in the order of sending.
    ///
    /// # Errors
    /// [`RunError::UnknownThread`]; if there is no store, or it cannot be read.
    pub async fn mailbox(&self) -> Result<Vec<SentSignal>, RunError> {
        self.core.mailbox().await
    }

    /// Removes a signal that no task has received.
    ///
    /// # Errors
    /// [`RunError::NoSuchSignal`]; [`CheckpointError::ThreadBusy`] while a run holds the thread, which may be receiving it; if
    /// the store fails.
    pub async fn discard_signal(&self, id: SignalId) -> Result<(), RunError> {
        self.core.discard_signal(id).await
    }
}

impl ThreadCore {
    pub(crate) fn send(&self, request: SignalRequest) -> Boxed<'_, Result<SignalId, RunError>> {
        Box::pin(async move {
            let (reader, _) = self.reader_to_post("a signal").await?;
            let key = request.key.clone();
            let record = self.check_signal(request)?;
            let Some(key) = key else { return self.post(&reader, record, None).await };
            check_key(&key)?;
            self.post_keyed(&reader, record, key).await
        })
    }

    /// Returns the reader and the newest checkpoint of a thread to which `what` is posted. Needs no lease.
    pub(super) async fn reader_to_post(&self, what: &'static str) -> Result<(Reader, CheckpointId), RunError> {
        self.check_whole(what)?;
        let (reader, head) = self.known(what).await?;
        let checkpoint = head.checkpoint.ok_or_else(|| self.empty_input_error())?;
        self.check_trusted().await?;
        Ok((reader, checkpoint))
    }

    /// Sends a signal unless one was sent with its key. Of several senders, the first one's is stored.
    async fn post_keyed(&self, reader: &Reader, record: SignalRecord, key: String) -> Result<SignalId, RunError> {
        loop {
            let sent = KeyedSignal::find(&*reader.store, &reader.thread, &record.name, key.clone()).await?;
            if let Some(first) = sent.signal {
                return Ok(first);
            }
            match self.post(reader, record.clone(), Some(sent)).await {
                Err(RunError::Checkpoint(CheckpointError::RecordExists { .. })) => {} // another sender was faster
                posted => return posted,
            }
        }
    }

    async fn post(
        &self,
        reader: &Reader,
        record: SignalRecord,
        keyed: Option<KeyedSignal>,
    ) -> Result<SignalId, RunError> {
        let before = pending_signals(&*reader.store, &reader.thread).await?;
        if before.len() >= SIGNALS_LIMIT {
            return Err(RunError::MailboxFull { thread: reader.thread.clone(), limit: SIGNALS_LIMIT });
        }
        let after = before.last().map_or(0, |last| last.id.order + 1);
        let id = SignalId { order: after.max(record.at), id: self.environment.host.random() };
        let mut records = vec![(id.key(), encode_record(&record)?)];
        if let Some(keyed) = keyed {
            records.push(keyed.record(&record.name, id, record.at)?);
        }
        reader.store.post_new(&reader.thread, records).await?;
        Ok(id)
    }

    pub(crate) fn mailbox(&self) -> Boxed<'_, Result<Vec<SentSignal>, RunError>> {
        Box::pin(async move {
            let (reader, _) = self.known("a mailbox").await?;
            let pending_signals = pending_signals(&*reader.store, &reader.thread).await?;
            Ok(pending_signals.into_iter().map(|pending| self.sent_signal(pending)).collect())
        })
    }

    pub(crate) fn discard_signal(&self, id: SignalId) -> Boxed<'_, Result<(), RunError>> {
        Box::pin(async move {
            self.check_whole("a mailbox")?;
            let (reader, _) = self.known("a mailbox").await?;
            let lease = reader.store.claim(&reader.thread, Claim::IfFree).await?;
            let Some(head) = reader.store.head(&reader.thread).await? else { return Err(self.empty_input_error()) };
            let found = reader.store.get(&reader.thread, vec![id.key()]).await?;
            if id.is_keyed() || found.iter().all(Option::is_none) {
                return Err(RunError::NoSuchSignal { thread: reader.thread, id });
            }
            let moved = Commit::new(reader.thread.clone(), lease.epoch(), head.checkpoint, head);
            Ok(reader.store.commit(Commit { deletes: vec![id.key()], ..moved }).await?)
        })
    }

    /// Checks a signal's type and size and returns its record.
    fn check_signal(&self, request: SignalRequest) -> Result<SignalRecord, RunError> {
        let bytes = request.bytes.clone()?;
        let SignalRequest { name, .. } = &request;
        let Some(receives) = self.graph.table.declared_signal(name) else {
            let declared = self.graph.table.signals().into_iter().map(|name| format!("`{name}`")).collect();
            return Err(RunError::UnknownSignal { signal: name.clone(), declared });
        };
        let mistyped = |reason| {
            let reason = format!("`{}` is {}: {reason}", short_name(receives.type_name), (receives.shape)());
            RunError::MistypedSignal { id: None, signal: name.clone(), reason }
        };
        let value = (receives.take)(&request, bytes).map_err(mistyped)?;
        if value.len() > SIGNAL_BYTES {
            let (what, bytes, limit) = (format!("signal `{name}`"), value.len(), SIGNAL_BYTES);
            return Err(CheckpointError::TooLarge { what, bytes, limit }.into());
        }
        let SignalRequest { name, by, note, .. } = request;
        Ok(SignalRecord { name, value, by, at: self.now(), note })
    }

    fn sent_signal(&self, pending: PendingSignal) -> SentSignal {
        let PendingSignal { id, record: SignalRecord { name, value, by, at, note } } = pending;
        let show =
            self.graph.table.declared_signal(&name).map_or(untyped_json as fn(&[u8]) -> _, |receives| receives.show);
        SentSignal { id, value: show(&value), name, by, at, note }
    }
}
