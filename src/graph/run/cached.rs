//! Task results in the node cache: encoded results by encoded input.

use std::sync::Arc;

use bincode::Options;
use serde::{Deserialize, Serialize};

use super::job::Job;
use crate::checkpoint::{CheckpointId, RowId};
use crate::graph::build::Table;
use crate::graph::error::RunError;
use crate::graph::records::NodeCache;
use crate::graph::records::cache::prefix;
use crate::graph::state::{AnyState, AnyWrite, AnyWrites, Mask, Payload};
use crate::graph::superstep::{Finished, Packet, Routing};

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
pub(crate) fn key(job: &Job) -> Option<Vec<u8>> {
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
pub(crate) fn find(job: &Job) -> Option<Finished> {
    let bytes = job.ctx.shared.environment.cache.as_ref()?.get(&key(job)?, job.ctx.shared.now())?;
    let options = bincode::DefaultOptions::new().with_limit(bytes.len() as u64);
    let found: CachedResult = options.deserialize(&bytes).ok()?;
    found.revive(&job.table, (job.ctx.at.checkpoint, job.ctx.at.task))
}

impl CachedResult {
    /// Caches a result for as long as the node's policy says.
    pub(crate) fn keep(
        table: &Table,
        node: u32,
        (cache, now): (&dyn NodeCache, u64),
        key: Vec<u8>,
        finished: &Finished,
    ) {
        let Some(policy) = table.row(node).options.execution.cache else { return };
        let Ok(result) = Self::of(table, finished) else { return };
        let Ok(bytes) = bincode::DefaultOptions::new().serialize(&result) else { return };
        let expires = policy.ttl.map(|ttl| now.saturating_add(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX)));
        cache.put(key, bytes, expires);
    }

    fn of(table: &Table, finished: &Finished) -> Result<Self, RunError> {
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
    fn revive(self, table: &Table, made_by: (CheckpointId, u32)) -> Option<Finished> {
        let channels = table.schema.channels();
        let mut writes = vec![];
        for (name, overwrite, bytes) in self.writes {
            let at = channels.iter().position(|channel| channel.name() == name)?;
            writes.push(table.schema.decode_write(at, overwrite, &bytes).ok()?);
        }
        let targets: Vec<u32> = self.targets.iter().map(|name| table.named(name)).collect::<Option<_>>()?;
        let mut sends = vec![];
        for (name, bytes) in self.sends {
            let node = table.named(&name)?;
            let payload: Arc<dyn Payload> = table.row(node).body.payload(&bytes).ok()?;
            let slot = RowId::SENDS + sends.len() as u32;
            sends.push((node, Packet { payload, row: RowId { checkpoint: made_by.0, task: made_by.1, slot } }));
        }
        let returned = self.returned.and_then(|returned| serde_json::from_str(&returned).ok()).map(Arc::new);
        let chosen = (targets.len() as u32, sends.len() as u32);
        Some(Finished {
            writes: AnyWrites(writes),
            routing: Routing { targets, sends, chosen, ..Routing::default() },
            returned,
            cached: true,
            ..Finished::default()
        })
    }
}
