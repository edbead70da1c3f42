//! Leases that end: by the clock of the server, whoever holds them.

use std::time::Duration;

use superstep::checkpoint::{
    CheckpointError, CheckpointId, Checkpointer, Claim, Commit, Key, Lease, LeaseOwner, PostgresCheckpointer,
    ThreadHead,
};

use crate::server;

async fn connect(address: &str, name: &str) -> PostgresCheckpointer {
    PostgresCheckpointer::builder(address).owner(name).lease(Duration::from_secs(30)).connect().await.unwrap()
}

fn commit(lease: &Lease, number: u64) -> Commit {
    let head = ThreadHead { checkpoint: Some(CheckpointId(number)), next: number + 1, birth: 7 };
    let expected = number.checked_sub(1).map(CheckpointId);
    Commit::new(lease.thread().clone(), lease.epoch(), expected, head)
}

/// Lets the leases of a store end now.
fn end_leases(address: &str) {
    let schema = address.rsplit_once('=').unwrap().1;
    let sql = format!("UPDATE {schema}.threads SET lease_until = clock_timestamp() - interval '1 second'");
    server::shared().unwrap().sql(&sql);
}

#[tokio::test]
async fn a_lease_that_has_ended_commits_until_somebody_claims_the_thread() {
    let Some(address) = server::new_store() else { return };
    let (first, second) = (connect(&address, "first").await, connect(&address, "second").await);
    let lease = first.claim(&"t".into(), Claim::IfFree).await.unwrap();
    end_leases(&address);
    first.commit(commit(&lease, 0)).await.unwrap();
    assert_eq!(second.owner(&"t".into()).await.unwrap(), None);
    let next = second.claim(&"t".into(), Claim::IfFree).await.unwrap();
    let error = first.commit(commit(&lease, 1)).await.unwrap_err();
    let CheckpointError::StaleLease { owner: Some(owner), .. } = &error else { panic!("{error}") };
    assert_eq!(owner.name, "second");
    second.commit(commit(&next, 1)).await.unwrap();
    drop(lease);
    second.commit(commit(&next, 2)).await.unwrap();
}

#[tokio::test]
async fn a_lease_that_has_ended_is_renewed_while_nobody_has_claimed_the_thread() {
    let Some(address) = server::new_store() else { return };
    let (first, second) = (connect(&address, "first").await, connect(&address, "second").await);
    let lease = first.claim(&"t".into(), Claim::IfFree).await.unwrap();
    end_leases(&address);
    lease.renew().await.unwrap();
    assert!(matches!(second.claim(&"t".into(), Claim::IfFree).await, Err(CheckpointError::ThreadBusy { .. })));
    end_leases(&address);
    second.claim(&"t".into(), Claim::IfFree).await.unwrap();
    assert!(matches!(lease.renew().await, Err(CheckpointError::StaleLease { .. })));
}

#[tokio::test]
async fn a_busy_thread_names_its_owner_until_its_end() {
    let Some(address) = server::new_store() else { return };
    let (first, second) = (connect(&address, "W1").await, connect(&address, "W2").await);
    let lease = first.claim(&"t".into(), Claim::IfFree).await.unwrap();
    let error = second.claim(&"t".into(), Claim::IfFree).await.unwrap_err();
    let owner: &LeaseOwner = error.owner().unwrap();
    assert_eq!((owner.name.as_str(), owner.pid), ("W1", std::process::id()));
    let left = owner.until.unwrap().duration_since(std::time::SystemTime::now()).unwrap();
    assert!(left > Duration::from_secs(20) && left < Duration::from_secs(31), "{left:?}");
    drop(lease);
}

#[tokio::test]
async fn leases_of_a_dropped_handle_are_released() {
    let Some(address) = server::new_store() else { return };
    let (first, second) = (connect(&address, "first").await, connect(&address, "second").await);
    let lease = first.claim(&"t".into(), Claim::IfFree).await.unwrap();
    let last = first.commit(commit(&lease, 0));
    drop(first);
    last.await.unwrap();
    second.claim(&"t".into(), Claim::IfFree).await.unwrap();
    assert_eq!(second.head(&"t".into()).await.unwrap().map(|head| head.next), Some(1));
}

#[tokio::test]
async fn a_thread_that_was_claimed_and_never_written_leaves_nothing() {
    let Some(address) = server::new_store() else { return };
    let store = connect(&address, "first").await;
    store.claim(&"t".into(), Claim::IfFree).await.unwrap().release().await.unwrap();
    store.close().await.unwrap();
    let schema = address.rsplit_once('=').unwrap().1;
    assert_eq!(server::shared().unwrap().sql(&format!("SELECT count(*) FROM {schema}.threads")), "0");
}

#[tokio::test]
async fn a_commit_of_the_largest_values_is_one() {
    let Some(address) = server::new_store() else { return };
    let store = connect(&address, "first").await;
    let lease = store.claim(&"t".into(), Claim::IfFree).await.unwrap();
    let large = |byte: u8| (0..Commit::MAX_RECORD).map(|at| (at as u8).wrapping_mul(31) ^ byte).collect::<Vec<u8>>();
    let all = commit(&lease, 0);
    let all = all.with_records([(Key::Shape(1), large(1)), (Key::Shape(2), large(2)), (Key::Shape(3), vec![3])]);
    store.commit(all).await.unwrap();
    for number in [1_u8, 2] {
        let found = store.get(&"t".into(), vec![Key::Shape(number.into())]).await.unwrap();
        assert!(found[0].as_ref().is_some_and(|value| *value == large(number)));
    }
    let refused = commit(&lease, 5);
    let refused = refused.with_records([(Key::Shape(1), large(7)), (Key::Shape(2), large(7))]);
    assert!(matches!(store.commit(refused).await, Err(CheckpointError::HeadMoved { .. })));
    store.commit(commit(&lease, 1)).await.unwrap();
}
