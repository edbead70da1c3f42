//! One task's execution beside its body: its input, the records of its failed attempts, stored before the next one or before
//! its error handler starts, so that both hold across processes, and its result in the node cache.

use std::sync::{Arc, PoisonError};

use bincode::Options;
use serde::{Deserialize, Serialize};

use crate::checkpoint::{CheckpointId, FailureRecord, HandledRecord, Key, RowId, TaskRecord, encode_record};
use crate::graph::build::Table;
use crate::graph::context::TaskCtx;
use crate::graph::error::{NodeError, RunError};
use crate::graph::records::cache::prefix;
use crate::graph::records::{NodeCache, Recorder};
use crate::graph::state::{AnyState, AnyWrite, AnyWrites, Mask, Payload};
use crate::graph::superstep::task::note_failure;
use crate::graph::superstep::{FinishedResult, LatestRecord, LazyRecord, Packet, Routing, Starts, Task};

pub(crate) struct Job {
    pub table: Arc<Table>,
    pub state: AnyState,
    pub payload: Option<Arc<dyn Payload>>,
    pub ctx: Arc<TaskCtx>,
    /// First subgraph call of the last attempt in an earlier run.
    pub first_call: u32,
    /// The failure whose handler started in an earlier run: only the handler runs.
    pub handled: Option<HandledRecord>,
    /// Stores its failed attempts, if another one or a handler may follow.
    pub records: Option<AttemptRecords>,
    /// The time before which the first attempt does not start, in milliseconds since 1970.
    pub not_before: Option<u64>,
}

pub(crate) struct AttemptRecords {
    recorder: Arc<Recorder>,
    key: Key,
    /// The record and the starts of the task when its first attempt began.
    before: LazyRecord,
    starts: Starts,
    /// The record that was stored last, for a run that drops the task.
    latest: LatestRecord,
}

impl AttemptRecords {
    /// Takes the place of a task's earlier records in this run.
    pub(crate) fn of(task: &mut Task, recorder: Arc<Recorder>, key: Key) -> Self {
        let latest = LatestRecord::default();
        task.latest = Some(Arc::clone(&latest));
        Self { recorder, key, before: task.record.clone(), starts: task.starts, latest }
    }

    /// Stores the failures so far and when the next attempt starts; waits as the durability requires.
    pub(crate) async fn before_attempt(
        &self,
        failures: &[FailureRecord],
        not_before: u64,
        first_call: u32,
    ) -> Result<(), RunError> {
        let started = failures.len() as u32;
        let record = TaskRecord { wake: Some(not_before), first_call, ..self.after(failures, started) };
        self.store(record).await
    }

    /// Stores the failures so far and the error that the handler is for: from now on only the handler runs.
    pub(crate) async fn before_handler(
        &self,
        mut failures: Vec<FailureRecord>,
        last: FailureRecord,
        error: &NodeError,
    ) -> Result<(), RunError> {
        let shown = Some(last.error.clone());
        failures.push(last);
        let handled = Some(HandledRecord { error: error.to_string() }); // which the handler gets
        let record = self.after(&failures, failures.len() as u32);
        self.store(TaskRecord { error: shown, handled, ..record }).await
    }

    /// Returns the record of the task once so many attempts of this run have started.
    fn after(&self, failures: &[FailureRecord], started: u32) -> TaskRecord {
        let first = self.starts.all;
        let attempts = first + started.saturating_sub(1);
        let mut record = TaskRecord { attempts, attempt: started, ..TaskRecord::clone(&self.before) };
        (first..).zip(failures).for_each(|(attempt, failure)| note_failure(&mut record, attempt, failure.clone()));
        record
    }

    async fn store(&self, record: TaskRecord) -> Result<(), RunError> {
        let bytes = encode_record(&record)?;
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(record);
        Ok(self.recorder.commit(vec![(self.key.clone(), bytes.into())], None).await?)
    }
}

/// A result by names, so that it outlives a change of the graph's indexes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct CachedResult {
    writes: Vec<(String, bool, Vec<u8>)>,
    /// Nodes and sends that the body chose itself; its routers choose anew.
    targets: Vec<String>,
    sends: Vec<(String, Vec<u8>)>,
    /// JSON that routers read beneath the state.
    returned: Option<String>,
}

/// Returns the cache key of a job: the node's name, the graph, the body, and the whole input. None if the node is not cached.
pub(crate) fn cache_key(job: &Job) -> Option<Vec<u8>> {
    let row = job.table.row(job.ctx.at.node);
    job.ctx.shared.environment.cache.as_ref()?;
    let mut key = prefix(&row.name);
    key.extend(job.table.identity.fingerprint.to_le_bytes());
    key.extend(job.table.identity.name.as_bytes());
    key.push(0);
    key.extend(row.execution.cache_key.as_ref()?);
    match &job.payload {
        Some(payload) => {
            key.push(1);
            key.extend(payload.encode().ok()?);
        }
        None => state_key(&job.table, &job.state, row.reads.as_ref(), &mut key)?,
    }
    Some(key)
}

fn state_key(table: &Table, state: &AnyState, reads: Option<&Mask>, key: &mut Vec<u8>) -> Option<()> {
    key.push(0);
    for (at, channel) in table.schema.channels().iter().enumerate() {
        let read = reads.is_none_or(|reads| reads.contains(at));
        if read && table.schema.is_set(state, at) {
            key.extend(channel.name().as_bytes());
            key.push(0);
            key.extend(table.schema.encode_channel(state, at).ok()?);
        }
    }
    Some(())
}

/// Returns the cached result of a job; none if it cannot be read.
pub(crate) fn cached_result(job: &Job) -> Option<FinishedResult> {
    let bytes = job.ctx.shared.environment.cache.as_ref()?.get(&cache_key(job)?, job.ctx.shared.now())?;
    let options = bincode::DefaultOptions::new().with_limit(bytes.len() as u64);
    let found: CachedResult = options.deserialize(&bytes).ok()?;
    found.into_finished(&job.table, (job.ctx.at.checkpoint, job.ctx.at.task))
}

impl CachedResult {
    /// Caches a result for as long as the node's policy says.
    pub(crate) fn keep(
        table: &Table,
        node: u32,
        (cache, now): (&dyn NodeCache, u64),
        key: Vec<u8>,
        finished: &FinishedResult,
    ) {
        let Some(policy) = table.row(node).options.execution.cache else { return };
        let Ok(result) = Self::of(table, finished) else { return };
        let Ok(bytes) = bincode::DefaultOptions::new().serialize(&result) else { return };
        let expires = policy.ttl.map(|ttl| now.saturating_add(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX)));
        cache.put(key, bytes, expires);
    }

    fn of(table: &Table, finished: &FinishedResult) -> Result<Self, RunError> {
        let name = |node: &u32| table.row(*node).name.to_string();
        let write = |write: &AnyWrite| {
            let channel = table.channel(write.channel()).to_owned();
            Ok((channel, write.overwrites(), table.schema.encode_write(write)?))
        };
        let send = |(node, packet): &(u32, Packet)| Ok((name(node), packet.payload.encode()?));
        let (targets, sends) = finished.routing.chosen;
        let sends = finished.routing.sends.iter().take(sends as usize);
        Ok(Self {
            writes: finished.writes.0.iter().map(write).collect::<Result<_, RunError>>()?,
            targets: finished.routing.targets.iter().take(targets as usize).map(name).collect(),
            sends: sends.map(send).collect::<Result<_, RunError>>()?,
            returned: finished.returned.as_ref().and_then(|returned| serde_json::to_string(&**returned).ok()),
        })
    }

    /// Decodes the result; none if the graph has changed too much.
    fn into_finished(self, table: &Table, made_by: (CheckpointId, u32)) -> Option<FinishedResult> {
        let channels = table.schema.channels();
        let mut writes = vec![];
        for (name, overwrite, bytes) in self.writes {
            let at = channels.iter().position(|channel| channel.name() == name)?;
            writes.push(table.schema.decode_write(at, overwrite, &bytes).ok()?);
        }
        let targets: Vec<u32> = self.targets.iter().map(|name| table.node_index(name)).collect::<Option<_>>()?;
        let mut sends = vec![];
        for (name, bytes) in self.sends {
            let node = table.node_index(&name)?;
            let payload: Arc<dyn Payload> = table.row(node).body.payload(&bytes).ok()?;
            let slot = RowId::SENDS + sends.len() as u32;
            sends.push((node, Packet { payload, row: RowId { checkpoint: made_by.0, task: made_by.1, slot } }));
        }
        let returned = self.returned.and_then(|returned| serde_json::from_str(&returned).ok()).map(Arc::new);
        let chosen = (targets.len() as u32, sends.len() as u32);
        Some(FinishedResult {
            writes: AnyWrites(writes),
            routing: Routing { targets, sends, chosen, ..Routing::default() },
            returned,
            cached: true,
            ..FinishedResult::default()
        })
    }
}
