//! What effects came to in a thread that has run, as the script of a test.

use super::script::Test;
use crate::checkpoint::{CheckpointId, EffectKind, EffectRecord, Key, Order, decode_record};
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::records::EntryKey;
use crate::graph::state::State;
use crate::graph::thread::Thread;

impl<S: State, N: NodeId, C: Send + Sync + 'static> Test<S, N, C> {
    /// Lets effects come to what they came to in a thread that has run: the n-th under a key to what the n-th under it did
    /// there. So a run that was real once is repeated without the world outside.
    ///
    /// # Errors
    /// [`RunError::NoCheckpointer`] if the thread is not stored; what reading its store fails with.
    pub async fn effects_of<B: Send + Sync + 'static>(mut self, thread: &Thread<S, N, B>) -> Result<Self, RunError> {
        let (Some(store), Some(id)) = (&thread.graph.store, &thread.id) else {
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
            self.came_to(key, value);
        }
        Ok(self)
    }
}
