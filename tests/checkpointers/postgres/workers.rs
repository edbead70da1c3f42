//! The list of workers.

use std::time::Duration;

use superstep::checkpoint::{CheckpointError, Checkpointer, PostgresCheckpointer};

use crate::server::new_store;

async fn store(address: &str, name: &str) -> PostgresCheckpointer {
    let builder = PostgresCheckpointer::builder(address).owner(name).lease(Duration::from_secs(2)).pool(2);
    builder.connect().await.unwrap()
}

#[tokio::test]
async fn a_name_belongs_to_one_live_worker() {
    let Some(address) = new_store() else { return };
    let (first, again, second) =
        (store(&address, "w1").await, store(&address, "w1").await, store(&address, "w2").await);
    let entry = first.join_workers(vec!["a".into(), "b".into()], "1.2.0".into()).await.unwrap();
    let taken = again.join_workers(vec![], "1.2.0".into()).await.unwrap_err();
    assert!(
        matches!(&taken, CheckpointError::WorkerExists { name, pid, .. } if name == "w1" && *pid == std::process::id()),
        "{taken}"
    );
    let other = second.join_workers(vec!["a".into()], "1.3.0".into()).await.unwrap();

    let workers = again.workers().await.unwrap();
    let shown: Vec<_> = workers.iter().map(|worker| (&*worker.name, &*worker.version, worker.graphs.len())).collect();
    assert_eq!(shown, [("w1", "1.2.0", 2), ("w2", "1.3.0", 1)]);
    let lease = first.claim(&"t".into(), superstep::checkpoint::Claim::IfFree).await.unwrap();
    let since = workers[0].since;
    let held = loop {
        let seen = again.workers().await.unwrap().remove(0);
        if seen.threads > 0 {
            break seen; // the next sign of life says so
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!((held.threads, held.since), (1, since));
    assert!(held.last_seen > workers[0].last_seen);
    drop(lease);

    entry.leave().await;
    assert_eq!(again.workers().await.unwrap().len(), 1);
    let entry = again.join_workers(vec![], "1.2.0".into()).await.unwrap();
    entry.leave().await;
    other.leave().await;
    assert_eq!(again.workers().await.unwrap(), []);
}

#[tokio::test]
async fn the_name_of_a_dead_worker_can_be_taken() {
    let Some(address) = new_store() else { return };
    let first = store(&address, "w1").await;
    let entry = first.join_workers(vec![], "1".into()).await.unwrap();
    std::mem::forget(entry); // as if its process was killed
    drop(first);
    let second = store(&address, "w1").await;
    let entry = loop {
        match second.join_workers(vec![], "2".into()).await {
            Ok(entry) => break entry,
            Err(CheckpointError::WorkerExists { .. }) => tokio::time::sleep(Duration::from_millis(50)).await,
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(second.workers().await.unwrap()[0].version, "2");
    entry.leave().await;
}
