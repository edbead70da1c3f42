//! Recorded effect results of a thread, as the script of a test.

use super::script::Test;
use crate::checkpoint::{CheckpointId, EffectKind, EffectRecord, Key, Order, decode_record};
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::records::EntryKey;
use crate::graph::state::State;
use crate::graph::thread::Thread;

impl<S: State, N: NodeId, C: Send + Sync + 'static> Test<S, N, C> {
    /// Uses the effect results of a recorded thread: the n-th effect with a key gets the n-th recorded result. This repeats
    /// a real run without its side effects.
    ///
    /// # Errors
    /// [`RunError::NoCheckpointer`] if the thread is not stored; if its store cannot be read.
    pub async fn effects_of<B: Send + Sync + 'static>(mut self, thread: &Thread<S, N, B>) -> Result<Self, RunError> {
        let (Some(store), Some(id)) = (&thread.core.graph.store, &thread.core.id) else {
            return Err(RunError::NoCheckpointer { what: "reading recorded effects" });
        };
        let at = |id| Key::Effect { checkpoint: CheckpointId(id), task: 0, key: String::new() };
        let found = store.scan(id, at(0)..=at(u64::MAX), Order::Ascending, usize::MAX).await?;
        let mut effects = vec![];
        for (key, bytes) in found {
            let record: EffectRecord = decode_record(id, &key, &bytes)?;
            let Key::Effect { checkpoint, task, key } = key else { continue };
            let own = EntryKey::read(&key).filter(|own| own.is_own() && record.kind == EffectKind::Effect);
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
