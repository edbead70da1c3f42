//! Effects of runs cut at every commit, and of processes killed at every commit and every effect: an acknowledged
//! effect never happens again; one under way happens again with the same idempotency key, unless its probe finds it.

#[cfg(all(unix, feature = "sled"))]
mod kill;
mod shop;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rstest::rstest;
use superstep::checkpoint::{
    CheckpointId, Checkpointer, EffectRecord, FailingCheckpointer, Key, MemoryCheckpointer, Order, decode_record,
};
use superstep::graph::Durability;

use shop::{Shop, World, run};

/// Effects and records at the end of a life.
struct Aftermath {
    /// Set once the thread has started: before that, nothing ties a second life to the first.
    started: bool,
    /// Idempotency keys of the stored effects.
    acknowledged: BTreeSet<String>,
    lines: Vec<String>,
}

impl Aftermath {
    async fn of(store: &dyn Checkpointer, world: &World) -> Self {
        let thread = "t".into();
        let first = Key::Effect { checkpoint: CheckpointId(0), task: 0, key: String::new() };
        let last = Key::Event { checkpoint: CheckpointId(0), number: 0 };
        let records = store.scan(&thread, first..=last, Order::Ascending, usize::MAX).await.unwrap();
        let key = |bytes: &[u8]| decode_record::<EffectRecord>(&thread, "effect", bytes).unwrap().idempotency;
        let started = store.head(&thread).await.unwrap().is_some_and(|head| head.checkpoint.is_some());
        let acknowledged = records.iter().filter(|(key, _)| matches!(key, Key::Effect { .. }));
        Self { started, acknowledged: acknowledged.map(|(_, bytes)| key(bytes)).collect(), lines: world.lines() }
    }

    /// Asserts that the effects after the end of a life are allowed.
    fn assert_fits(&self, after: &[String], at: &str) {
        let before: Vec<[&str; 3]> = self.lines.iter().map(|line| fields(line)).collect();
        let after: Vec<[&str; 3]> = after[before.len()..].iter().map(|line| fields(line)).collect();
        for [what, name, key] in &after {
            assert!(!self.acknowledged.contains(*key), "{at}: {what} {name} though it was acknowledged");
        }
        if !self.started {
            return;
        }
        let mut keys: BTreeMap<&str, &str> = BTreeMap::new();
        for [_, name, key] in before.iter().chain(&after) {
            assert_eq!(keys.entry(name).or_insert(key), key, "{at}: {name} has two idempotency keys");
        }
        let done_before = before.iter().filter(|[what, ..]| *what == "did");
        for [_, name, key] in done_before.filter(|[.., key]| !self.acknowledged.contains(*key)) {
            let probed = after.iter().position(|line| line == &["asked", name, key]);
            let again = after.iter().position(|line| line == &["did", name, key]);
            match name.starts_with("probed") {
                true => assert!(probed.is_some() && again.is_none(), "{at}: {name} was not asked for, or done again"),
                false => assert!(again.is_some(), "{at}: {name} was under way and did not happen again"),
            }
        }
    }
}

/// Splits a line into event, effect and idempotency key.
fn fields(line: &str) -> [&str; 3] {
    let (what, rest) = line.split_once(' ').unwrap();
    let (name, key) = rest.split_once(' ').unwrap();
    [what, name, key]
}

/// Runs the shop undisturbed; asserts that each effect happens exactly once.
async fn undisturbed() -> Shop {
    let world = World::in_memory();
    let end = run(Arc::new(MemoryCheckpointer::new()), &world, Durability::Sync).await.unwrap();
    let did: Vec<String> = world.lines();
    assert!(did.iter().all(|line| line.starts_with("did ")), "{did:?}");
    let names: BTreeSet<&str> = did.iter().map(|line| fields(line)[1]).collect();
    assert_eq!((names.len(), did.len()), (9, 9), "{did:#?}");
    end
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    Refused,
    AckLost,
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn effects_of_a_run_cut_at_any_commit_happen_once(
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
    #[values(Fault::Refused, Fault::AckLost)] fault: Fault,
) {
    let end = undisturbed().await;
    let mut cuts = 0;
    for nth in 1.. {
        let (world, store) = (World::in_memory(), Arc::new(MemoryCheckpointer::new()));
        let failing = match fault {
            Fault::Refused => FailingCheckpointer::new(store.clone(), nth),
            Fault::AckLost => FailingCheckpointer::losing_ack(store.clone(), nth),
        };
        if run(Arc::new(failing), &world, durability).await.is_ok() {
            break;
        }
        cuts += 1;
        let at = format!("{durability:?}, {fault:?} commit {nth}");
        let aftermath = Aftermath::of(&*store, &world).await;
        assert_eq!(run(store, &world, durability).await.unwrap(), end, "{at}");
        aftermath.assert_fits(&world.lines(), &at);
    }
    assert!(cuts > 8, "only {cuts} cuts");
}
