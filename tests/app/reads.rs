//! The number of reads that listing threads takes.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use superstep::checkpoint::{
    BoxFuture, CheckpointError, Checkpointer, Claim, Commit, Key, Lease, LeaseOwner, Order, Receipt, Record, ThreadHead,
};
use superstep::graph::ThreadInfo;
use superstep::prelude::*;

/// Counts the reads of a store.
#[derive(Debug, Default)]
struct Counting {
    inner: MemoryCheckpointer,
    reads: AtomicUsize,
}

impl Counting {
    fn inner(&self) -> &MemoryCheckpointer {
        self.reads.fetch_add(1, Ordering::SeqCst);
        &self.inner
    }
}

type Reply<'a, T> = BoxFuture<'a, Result<T, CheckpointError>>;

impl Checkpointer for Counting {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> Reply<'_, Lease> {
        self.inner.claim(thread, claim)
    }
    fn commit(&self, commit: Commit) -> Receipt {
        self.inner.commit(commit)
    }
    fn head(&self, thread: &ThreadId) -> Reply<'_, Option<ThreadHead>> {
        self.inner().head(thread)
    }
    fn get(&self, thread: &ThreadId, keys: Vec<Key>) -> Reply<'_, Vec<Option<Vec<u8>>>> {
        assert!(!keys.iter().any(|key| matches!(key, Key::Row(_) | Key::Log { .. })), "a list reads no state");
        self.inner().get(thread, keys)
    }
    fn scan(&self, id: &ThreadId, range: RangeInclusive<Key>, order: Order, limit: usize) -> Reply<'_, Vec<Record>> {
        self.inner().scan(id, range, order, limit)
    }
    fn threads(&self, after: Option<&ThreadId>, limit: usize) -> Reply<'_, Vec<ThreadId>> {
        self.inner().threads(after, limit)
    }
    fn delete_thread(&self, lease: &Lease) -> Reply<'_, ()> {
        self.inner.delete_thread(lease)
    }
    fn owner(&self, thread: &ThreadId) -> Reply<'_, Option<Arc<LeaseOwner>>> {
        self.inner.owner(thread)
    }
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Empty {
    nothing: u8,
}

#[derive(NodeId)]
enum Step {
    First,
    Last,
}

async fn step(_: Arc<Empty>, _: Ctx) -> Result<(), NodeError> {
    Ok(())
}

#[rstest::rstest]
#[case::finished(u64::MAX, 2)]
#[case::unfinished(1, 3)]
#[tokio::test]
async fn a_listed_thread_takes_few_reads(#[case] supersteps: u64, #[case] reads: usize) {
    let store = Arc::new(Counting::default());
    let graph = StateGraph::new().add_node(Step::First, step).add_node(Step::Last, step);
    let graph =
        graph.add_sequence([Step::First, Step::Last]).compile().unwrap().with_shared_checkpointer(store.clone());
    for name in ["a", "b", "c"] {
        let _ = graph.thread(name).max_supersteps(supersteps).invoke(Empty::update()).await;
    }
    store.reads.store(0, Ordering::SeqCst);
    assert_eq!(ThreadInfo::all(&*store).await.unwrap().len(), 3);
    // The names, and the shape of the graph, which the threads share.
    assert_eq!(store.reads.load(Ordering::SeqCst), 2 + 3 * reads);
}
