//! Drawn graphs whose history is garbage-collected between lives, or moved to another store: the rest loads, resumes
//! and ends as an undisturbed run.

use std::sync::Arc;

use rstest::rstest;
use superstep::checkpoint::{
    CheckpointError, ExportOptions, FailingCheckpointer, ImportOptions, MemoryCheckpointer, Retention, export_thread,
    gc, import_thread, trust,
};
use superstep::graph::Durability;

use crate::bodies::Journal;
use crate::drive::{Life, World};
use crate::graphs::SEEDS;

fn life(seed: u64, world: World, durability: Durability) -> Life {
    Life::new(seed, world, durability, Journal::default())
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn a_thread_collected_after_a_crash_ends_as_an_undisturbed_one(
    #[values(Durability::Sync, Durability::Exit)] durability: Durability,
) {
    let (mut cuts, mut removed) = (0, 0);
    for seed in SEEDS {
        let mut whole = life(seed, World::new(MemoryCheckpointer::new()), durability);
        let end = whole.run_through(|_, _| ()).await.unwrap();
        let inside = whole.subgraph_state().await;
        for nth in (1..).step_by(3) {
            let world = World::new(MemoryCheckpointer::new());
            let failing = FailingCheckpointer::new(Arc::clone(&world.store), nth);
            let mut first = life(seed, World { store: Arc::new(failing), ..world.clone() }, durability);
            if first.run_through(|_, _| ()).await.is_ok() {
                break;
            }
            let policy = Retention::new().keep_last(1).keep_unfinished(false);
            if let Ok(swept) = gc(&*world.store, &"t".into(), &policy).await {
                removed += swept.records;
            }
            cuts += 1;
            let mut second = life(seed, world, durability);
            let at = format!("seed {seed}, cut at commit {nth}, {durability:?}");
            second.past().await; // all that is left can be read
            assert_eq!(second.run_through(|_, _| ()).await.unwrap(), end, "{at}");
            assert_eq!(second.subgraph_state().await, inside, "{at}");
            second.past().await;
        }
    }
    assert!(cuts > 40 && removed > 40, "only {cuts} cuts and {removed} records removed");
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn a_thread_exported_after_a_crash_ends_as_an_undisturbed_one(
    #[values(Durability::Sync, Durability::Exit)] durability: Durability,
) {
    let mut moved = 0;
    for seed in SEEDS {
        let mut whole = life(seed, World::new(MemoryCheckpointer::new()), durability);
        let end = whole.run_through(|_, _| ()).await.unwrap();
        let inside = whole.subgraph_state().await;
        for nth in (1..).step_by(3) {
            let world = World::new(MemoryCheckpointer::new());
            let failing = FailingCheckpointer::new(Arc::clone(&world.store), nth);
            let mut first = life(seed, World { store: Arc::new(failing), ..world.clone() }, durability);
            let ended = first.run_through(|_, _| ()).await.is_ok();
            let at = format!("seed {seed}, cut at commit {nth}, {durability:?}");
            let mut file = vec![];
            match export_thread(&*world.store, &"t".into(), &ExportOptions::new(), &mut file).await {
                Err(CheckpointError::UnknownThread { .. } | CheckpointError::BadImport { .. }) => continue,
                exported => exported.unwrap(),
            };
            let elsewhere = World { store: Arc::new(MemoryCheckpointer::new()), ..world.clone() };
            let imported = import_thread(&*elsewhere.store, &file[..], &ImportOptions::new()).await;
            imported.unwrap_or_else(|error| panic!("{at}: {error}"));
            trust(&*elsewhere.store, &"t".into()).await.unwrap();
            moved += 1;
            let mut second = life(seed, elsewhere, durability);
            assert_eq!(second.past().await.ancestors(), life(seed, world, durability).past().await.ancestors(), "{at}");
            assert_eq!(second.run_through(|_, _| ()).await.unwrap(), end, "{at}");
            assert_eq!(second.subgraph_state().await, inside, "{at}");
            if ended {
                break;
            }
        }
    }
    assert!(moved > 40, "only {moved} threads moved");
}

#[cfg(feature = "sled")]
#[tokio::test(start_paused = true)]
async fn a_repair_of_an_undamaged_store_loses_nothing() {
    use superstep::checkpoint::SledCheckpointer;
    for seed in SEEDS {
        let directory = tempfile::tempdir().unwrap();
        let (path, to) = (directory.path().join("store"), directory.path().join("repaired"));
        let world = World::new(SledCheckpointer::open(&path).unwrap());
        let failing = World { store: Arc::new(FailingCheckpointer::new(Arc::clone(&world.store), 9)), ..world.clone() };
        let cut = life(seed, failing, Durability::Sync).run_through(|_, _| ()).await.is_err();
        let mut second = life(seed, world, Durability::Sync);
        let end = second.run_through(|_, _| ()).await.unwrap();
        let (past, inside) = (second.past().await, second.subgraph_state().await);
        drop(second);
        let report = SledCheckpointer::repair(&path, &to).await.unwrap();
        assert!(report.is_whole(), "seed {seed}, cut: {cut}\n{report}");
        let third = life(seed, World::new(SledCheckpointer::open(&to).unwrap()), Durability::Sync);
        assert_eq!(third.past().await.ancestors(), past.ancestors(), "seed {seed}");
        assert_eq!(third.past().await.ancestors()[0].1, &end, "seed {seed}");
        assert_eq!(third.subgraph_state().await, inside, "seed {seed}");
    }
}
