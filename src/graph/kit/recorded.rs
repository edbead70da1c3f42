//! What effects came to in a thread that has run, as the script of a test.

use super::script::Test;
use crate::checkpoint::{CheckpointId, EffectKind, EffectRecord, Key, Order, decode_record};
use crate::graph::channels::state::State;
use crate::graph::define::node::NodeId;
use crate::graph::run::error::RunError;
use crate::graph::thread::handle::Thread;

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
            if let Some(own) = own_key(&key).filter(|_| record.kind == EffectKind::Effect) {
                effects.push(((checkpoint, task, record.order), own.to_owned(), record.value));
            }
        }
        effects.sort_by_key(|(at, ..)| *at);
        for (_, key, value) in effects {
            self.came_to(key, value);
        }
        Ok(self)
    }
}

/// The key that a body gave an effect, without its place: segments for each subgraph on the way down, a mark for handlers.
fn own_key(full: &str) -> Option<&str> {
    let mut rest = full;
    while rest.starts_with(|first: char| first.is_ascii_digit()) {
        rest = rest.splitn(4, '/').nth(3)?;
    }
    rest.strip_prefix('!').unwrap_or(rest).strip_prefix("e:")
}

#[cfg(test)]
mod tests {
    use super::own_key;

    #[rstest::rstest]
    #[case("e:pay", Some("pay"))]
    #[case("!e:pay/1", Some("pay/1"))]
    #[case("0/1f/inner/e:0/1/2/e:pay", Some("0/1/2/e:pay"))]
    #[case("0/1/e:x/2/0/y.1/!e:pay", Some("pay"))]
    #[case("v:pay", None)]
    fn the_key_of_a_body_is_found_behind_its_place(#[case] full: &str, #[case] own: Option<&str>) {
        assert_eq!(own_key(full), own);
    }
}
