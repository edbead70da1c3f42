//! Runs that are cut at each commit in turn: the store rejects it, or stores it and loses the acknowledgement.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rstest::rstest;
use serde_json::Value;
use superstep::checkpoint::{FailingCheckpointer, MemoryCheckpointer};
use superstep::graph::Durability;

use crate::bodies::{CACHED, Journal};
use crate::drive::{Life, Past, World, logged};
use crate::graphs::{Feature, SEEDS, draw};

/// Failure of a commit and of all commits after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Refused,
    AckLost,
}

impl Fault {
    fn at(self, nth: u64, world: &World) -> World {
        let store = Arc::clone(&world.store);
        let store = match self {
            Self::Refused => FailingCheckpointer::new(store, nth),
            Self::AckLost => FailingCheckpointer::losing_ack(store, nth),
        };
        World { store: Arc::new(store), ..world.clone() }
    }

    /// After a lost acknowledgement the store is the same as after the next rejected commit: a sample is enough.
    fn seeds(self) -> std::iter::StepBy<std::ops::Range<u64>> {
        SEEDS.step_by(if self == Self::Refused { 1 } else { 4 })
    }
}

fn life(seed: u64, world: World, durability: Durability) -> Life {
    Life::new(seed, world, durability, Journal::default())
}

fn memory() -> World {
    World::new(MemoryCheckpointer::new())
}

/// The final state of a thread, its history, and the state of its subgraph.
type RunResult = (Value, Past, Option<Value>);

async fn undisturbed(seed: u64, durability: Durability) -> RunResult {
    let mut life = life(seed, memory(), durability);
    let end = life.run_through(|_, _| ()).await.unwrap();
    (end, life.past().await, life.subgraph_state().await)
}

/// Tasks that may not run again: their result is stored, or their handler has started.
async fn done(first: &Life, second: &Life, durability: Durability) -> BTreeSet<String> {
    let mut done = second.acknowledged().await;
    if durability == Durability::Sync {
        done.extend(first.handled(first.journal.started()));
    }
    done
}

#[test]
fn the_drawn_graphs_have_every_feature() {
    let mut counts: BTreeMap<Feature, usize> = BTreeMap::new();
    for feature in SEEDS.flat_map(|seed| draw(seed).features) {
        *counts.entry(feature).or_default() += 1;
    }
    assert!(counts.len() == 20 && counts.values().all(|&count| count > 1), "{counts:?}");
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn every_task_of_an_undisturbed_run_is_logged_once(#[values(0, 1, 2, 3, 4, 5, 6, 7)] seed: u64) {
    let (end, ..) = undisturbed(seed, Durability::Sync).await;
    let log = end["log"].as_array().unwrap().iter().filter_map(Value::as_str);
    let log: Vec<&str> = log.filter(|task| !task.starts_with(CACHED)).collect();
    assert_eq!(log.iter().collect::<BTreeSet<_>>().len(), log.len(), "{log:#?}");
    assert!(logged(&end).len() > 4);
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn a_run_cut_at_any_commit_ends_as_an_undisturbed_one(
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
    #[values(Fault::Refused, Fault::AckLost)] fault: Fault,
) {
    let mut cuts = 0;
    for seed in fault.seeds() {
        let (end, past, inside) = undisturbed(seed, durability).await;
        for nth in 1.. {
            let world = memory();
            let mut first = life(seed, fault.at(nth, &world), durability);
            if first.run_through(|_, _| ()).await.is_ok() {
                break;
            }
            cuts += 1;
            let mut second = life(seed, world, durability);
            let done = done(&first, &second, durability).await;
            let at = format!("seed {seed}, cut at commit {nth}, {durability:?}");
            assert_eq!(second.run_through(|_, _| ()).await.unwrap(), end, "{at}");
            assert_eq!(second.subgraph_state().await, inside, "{at}");
            let again: BTreeSet<String> =
                second.journal.started().into_iter().filter(|task| done.contains(task)).collect();
            assert!(again.is_empty(), "{at}: ran again though acknowledged: {again:#?}");
            if durability == Durability::Exit || nth % 3 > 0 {
                continue; // the past is long to read
            }
            let replayed = second.past().await;
            assert_eq!(replayed.ancestors(), past.ancestors(), "{at}");
            if durability == Durability::Sync {
                replayed.assert_holds(&first.stored);
            }
        }
    }
    assert!(cuts > 40, "only {cuts} cuts");
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn a_thread_cut_after_every_commit_ends_as_an_undisturbed_one(
    #[values(Durability::Sync, Durability::Async)] durability: Durability,
    #[values(Fault::Refused, Fault::AckLost)] fault: Fault,
) {
    for seed in SEEDS.step_by(2) {
        let (end, past, inside) = undisturbed(seed, durability).await;
        let world = memory();
        let mut lives = 0;
        let last = loop {
            lives += 1;
            assert!(lives < 1000, "seed {seed} makes no progress");
            let mut life = life(seed, fault.at(2, &world), durability);
            if let Ok(last) = life.run_through(|_, _| ()).await {
                break last;
            }
        };
        assert_eq!(last, end, "seed {seed}");
        let reader = life(seed, world, durability);
        assert_eq!(reader.subgraph_state().await, inside, "seed {seed}");
        assert_eq!(reader.past().await.ancestors(), past.ancestors(), "seed {seed}");
    }
}
