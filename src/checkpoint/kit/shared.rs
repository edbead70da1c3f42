//! Checks of stores that several processes share, with several handles on one store: claims, take-overs, losses, requests, and
//! reads while another handle writes. Each passes at once where the harness opens a store only once. Knows the contract only.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::time::{sleep, timeout};

use super::check::{FailureReason, Harness, Scene, checkpoint, ensure_eq, ensure_matches, head, list, record, value};
use crate::checkpoint::{
    CheckpointError, CheckpointId, Checkpointer, Claim, Commit, Key, Order, OwnerRequest, Record, RowId, ThreadId,
};

list![
    a_thread_that_another_handle_holds_is_busy,
    a_released_thread_is_free_for_other_handles,
    a_last_commit_and_its_release_free_the_thread_for_other_handles,
    a_dropped_lease_frees_the_thread_for_other_handles,
    a_take_over_from_another_handle_fences_and_is_reported,
    an_engine_takes_over_only_what_was_claimed_for_it,
    epochs_grow_across_handles,
    of_two_handles_one_claims_a_thread,
    a_lease_is_renewed_while_it_is_held,
    a_post_from_another_handle_reaches_the_holder,
    a_request_from_another_handle_reaches_the_holder,
    a_request_to_nobody_has_no_owner,
    a_scan_during_commits_sees_one_moment,
    long_names_keep_their_order,
    long_keys_keep_their_order,
];

/// The longest time for which a check waits for another handle.
const SOON: Duration = Duration::from_secs(20);

/// Opens a store twice, and claims a thread through the first handle; `None` if it cannot be opened twice.
async fn pair(harness: &dyn Harness) -> Result<Option<(Scene, Arc<dyn Checkpointer>)>, FailureReason> {
    let store = harness.open().await?;
    let Some(other) = harness.open_again().await else { return Ok(None) };
    let other = other?;
    Ok(Some((Scene::on(store, "t").await?, other)))
}

/// Waits for something that another handle brings about.
async fn soon<T>(what: &str, wait: impl Future<Output = T>) -> Result<T, FailureReason> {
    timeout(SOON, wait).await.map_err(|_| FailureReason(format!("{what} takes more than {SOON:?}")))
}

async fn a_thread_that_another_handle_holds_is_busy(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Some((scene, other)) = pair(harness).await? else { return Ok(()) };
    match other.claim(&scene.thread, Claim::IfFree).await {
        Err(CheckpointError::ThreadBusy { owner, .. }) => {
            ensure_eq!((&owner.name, owner.pid), (&scene.lease.owner().name, scene.lease.owner().pid));
            ensure_eq!(owner.until.is_some(), true);
        }
        found => return Err(FailureReason(format!("the claim of a held thread gave {found:?}"))),
    }
    ensure_eq!(other.owner(&scene.thread).await?.is_some(), true);
    scene.commit(0, vec![]).await?;
    ensure_eq!(other.head(&scene.thread).await?, Some(head(0)));
    Ok(())
}

async fn a_released_thread_is_free_for_other_handles(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Some((scene, other)) = pair(harness).await? else { return Ok(()) };
    scene.commit(0, vec![]).await?;
    scene.lease.release().await?;
    ensure_eq!(other.owner(&scene.thread).await?.is_some(), false);
    let next = Scene::on(other, "t").await?;
    next.commit(1, vec![]).await?;
    Ok(())
}

async fn a_last_commit_and_its_release_free_the_thread_for_other_handles(
    harness: &dyn Harness,
) -> Result<(), FailureReason> {
    let Some((scene, other)) = pair(harness).await? else { return Ok(()) };
    scene.store.commit(Commit { is_last: true, ..scene.next(0, vec![record(0, "last")]) }).await?;
    scene.lease.release().await?;
    let next = Scene::on(other, "t").await?;
    ensure_matches!(scene.commit(1, vec![]).await, Err(CheckpointError::StaleLease { .. }));
    scene.lease.release().await?; // of a lease that has ended: the other handle keeps its own
    next.commit(1, vec![record(1, "next")]).await?;
    ensure_eq!(next.get(checkpoint(0)).await?, Some(b"last".to_vec()));
    // One that is refused leaves the thread to its holder.
    let refused = next.store.commit(Commit { is_last: true, ..next.next(9, vec![]) }).await;
    ensure_matches!(refused, Err(CheckpointError::HeadMoved { .. }));
    next.commit(2, vec![]).await?;
    next.lease.release().await?;
    ensure_eq!(scene.store.owner(&scene.thread).await?.is_some(), false);
    Ok(())
}

async fn a_dropped_lease_frees_the_thread_for_other_handles(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Some((scene, other)) = pair(harness).await? else { return Ok(()) };
    let Scene { store: _store, lease, thread } = scene;
    drop(lease);
    let claim = async {
        while other.claim(&thread, Claim::IfFree).await.is_err() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    soon("freeing a thread", claim).await
}

async fn a_take_over_from_another_handle_fences_and_is_reported(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Some((first, other)) = pair(harness).await? else { return Ok(()) };
    first.commit(0, vec![]).await?;
    let lease = other.claim(&first.thread, Claim::TakeOver).await?;
    let lost = soon("the report of a loss", first.lease.lost()).await?;
    ensure_matches!(&lost, CheckpointError::StaleLease { .. });
    ensure_eq!(lost.owner().is_some(), true);
    ensure_matches!(first.commit(1, vec![record(1, "stale")]).await, Err(CheckpointError::StaleLease { .. }));
    let second = Scene { store: other, lease, thread: first.thread.clone() };
    second.commit(1, vec![record(1, "new")]).await?;
    drop(first);
    second.commit(2, vec![]).await?;
    ensure_eq!(second.get(checkpoint(1)).await?, Some(b"new".to_vec()));
    Ok(())
}

async fn an_engine_takes_over_only_what_was_claimed_for_it(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Some((first, other)) = pair(harness).await? else { return Ok(()) };
    let (by_one, by_two) = (Claim::ForEngine("one"), Claim::ForEngine("two"));
    ensure_matches!(other.claim(&first.thread, by_one).await, Err(CheckpointError::ThreadBusy { .. }));
    first.commit(0, vec![]).await?;
    first.lease.release().await?;
    let lease = first.store.claim(&first.thread, by_one).await?;
    let first = Scene { lease, ..first };
    for claim in [Claim::IfFree, by_two] {
        ensure_matches!(other.claim(&first.thread, claim).await, Err(CheckpointError::ThreadBusy { .. }));
    }
    let lease = other.claim(&first.thread, by_one).await?;
    soon("the report of a loss", first.lease.lost()).await?;
    let second = Scene { store: other, lease, thread: first.thread.clone() };
    second.commit(1, vec![]).await?;
    second.lease.release().await?;
    ensure_matches!(first.store.claim(&first.thread, Claim::IfFree).await, Ok(_));
    Ok(())
}

async fn epochs_grow_across_handles(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Some((scene, other)) = pair(harness).await? else { return Ok(()) };
    let Scene { store, lease, thread } = scene;
    let mut newest = lease.epoch();
    for store in [&other, &store, &other] {
        let lease = store.claim(&thread, Claim::TakeOver).await?;
        ensure_eq!(lease.epoch() > newest, true);
        newest = lease.epoch();
        lease.release().await?;
    }
    Ok(())
}

async fn of_two_handles_one_claims_a_thread(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Some((scene, other)) = pair(harness).await? else { return Ok(()) };
    let names: Vec<ThreadId> = (0..20).map(|number| format!("n{number}").into()).collect();
    let claims = names.iter().map(|name| async {
        let both = tokio::join!(scene.store.claim(name, Claim::IfFree), other.claim(name, Claim::IfFree));
        (both.0.is_ok(), both.1.is_ok(), both)
    });
    for (first, second, _leases) in join_all(claims).await {
        ensure_eq!(first != second, true);
    }
    Ok(())
}

async fn a_lease_is_renewed_while_it_is_held(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Some((scene, other)) = pair(harness).await? else { return Ok(()) };
    let Some(time) = scene.lease.owner().until.and_then(|until| until.elapsed().err()) else { return Ok(()) };
    sleep(time.duration().min(Duration::from_secs(5)) * 2).await;
    scene.lease.check()?;
    ensure_matches!(other.claim(&scene.thread, Claim::IfFree).await, Err(CheckpointError::ThreadBusy { .. }));
    scene.commit(0, vec![]).await?;
    Ok(())
}

async fn a_post_from_another_handle_reaches_the_holder(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Some((scene, other)) = pair(harness).await? else { return Ok(()) };
    scene.commit(0, vec![]).await?;
    let signal = Key::Signal { order: 3, id: 7 };
    match other.post(&scene.thread, vec![(signal.clone(), b"go".to_vec())]).await {
        Err(CheckpointError::NoMailbox { .. }) => return Ok(()),
        posted => posted?,
    }
    ensure_eq!(scene.get(signal.clone()).await?, Some(b"go".to_vec()));
    let received = Commit { deletes: vec![signal.clone()], ..scene.next(1, vec![]) };
    scene.store.commit(received).await?;
    ensure_eq!(scene.get(signal).await?, None);
    Ok(())
}

async fn a_request_from_another_handle_reaches_the_holder(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Some((scene, other)) = pair(harness).await? else { return Ok(()) };
    let owner = other.send(&scene.thread, OwnerRequest::Drain).await?;
    ensure_eq!(owner.map(|owner| owner.pid), Some(scene.lease.owner().pid));
    soon("a request", scene.lease.drain().cancelled()).await?;
    ensure_eq!(scene.lease.cancel().is_cancelled(), false);
    other.send(&scene.thread, OwnerRequest::Cancel).await?;
    soon("a request", scene.lease.cancel().cancelled()).await?;
    scene.lease.release().await?;
    let next = Scene::on(other, "t").await?;
    ensure_eq!((next.lease.cancel().is_cancelled(), next.lease.drain().is_cancelled()), (false, false));
    Ok(())
}

async fn a_request_to_nobody_has_no_owner(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Some((scene, other)) = pair(harness).await? else { return Ok(()) };
    ensure_eq!(other.send(&"unknown".into(), OwnerRequest::Cancel).await?.is_none(), true);
    scene.commit(0, vec![]).await?;
    scene.lease.release().await?;
    ensure_eq!(other.send(&scene.thread, OwnerRequest::Cancel).await?.is_none(), true);
    Ok(())
}

async fn a_scan_during_commits_sees_one_moment(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Some((scene, other)) = pair(harness).await? else { return Ok(()) };
    let all = |number: u64| (0..40).map(|at| (Key::Shape(at), number.to_be_bytes().to_vec())).collect::<Vec<_>>();
    scene.commit(0, all(0)).await?;
    let receipts: Vec<_> = (1..60).map(|number| scene.commit(number, all(number))).collect();
    let reads = async {
        for _ in 0..30 {
            let found = other.scan(&scene.thread, Key::Shape(0)..=Key::Shape(99), Order::Ascending, 99).await?;
            let is_one_moment = found.iter().all(|(_, bytes)| *bytes == found[0].1);
            ensure_eq!((found.len(), is_one_moment), (40, true));
        }
        Ok::<(), FailureReason>(())
    };
    let (read, written) = tokio::join!(reads, join_all(receipts));
    read?;
    written.into_iter().try_for_each(|receipt| Ok(receipt?))
}

async fn long_names_keep_their_order(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Some((scene, other)) = pair(harness).await? else { return Ok(()) };
    let longest = |end: &str| format!("{}{end}", "n".repeat(Commit::MAX_NAME - end.len()));
    let mut names = vec!["\0".into(), "z".repeat(2_000), longest("a"), longest("b"), longest("c"), longest("\0d")];
    for name in &names {
        Scene::on(Arc::clone(&scene.store), name).await?.commit(0, vec![record(0, name)]).await?;
    }
    names.sort_by_key(|name| (name.len(), name.clone()));
    let names: Vec<ThreadId> = names.into_iter().map(ThreadId::from).collect();
    ensure_eq!(other.threads(None, 99).await? == names, true);
    for (nth, name) in names.iter().enumerate() {
        ensure_eq!(
            other.threads(Some(name), 1).await? == names[nth + 1..].iter().take(1).cloned().collect::<Vec<_>>(),
            true
        );
        let found = other.get(name, vec![checkpoint(0)]).await?;
        ensure_eq!(found == vec![Some(name.as_str().as_bytes().to_vec())], true);
    }
    Ok(())
}

async fn long_keys_keep_their_order(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Some((scene, other)) = pair(harness).await? else { return Ok(()) };
    let key = |end: &str, number: u64| Key::Log {
        channel: format!("{}{end}", "\0k".repeat((Commit::MAX_NAME - 1) / 2)),
        row: RowId { checkpoint: CheckpointId(number), task: 0, slot: 0 },
    };
    let keys = vec![
        key("", 1),
        key("", 2),
        key("a", 1),
        key("b", 0),
        key("b", 300),
        Key::Event { checkpoint: CheckpointId(1), number: 0 },
    ];
    let puts: Vec<Record> = keys.iter().enumerate().rev().map(|(nth, key)| (key.clone(), value(nth))).collect();
    scene.commit(0, puts).await?;
    let scan = |first: Key, last: &Key, order, limit| other.scan(&scene.thread, first..=last.clone(), order, limit);
    let names = |found: Vec<Record>| found.into_iter().map(|(key, _)| key).collect::<Vec<_>>();
    ensure_eq!(names(scan(Key::Head, &keys[5], Order::Ascending, 99).await?) == keys, true);
    ensure_eq!(names(scan(Key::Head, &keys[5], Order::Ascending, 2).await?) == keys[..2], true);
    ensure_eq!(names(scan(keys[1].clone(), &keys[3], Order::Ascending, 99).await?) == keys[1..4], true);
    let down: Vec<Key> = keys[2..5].iter().rev().cloned().collect();
    ensure_eq!(names(scan(keys[2].clone(), &keys[4], Order::Descending, 99).await?) == down, true);
    let deleted = Commit { deletes: vec![keys[1].clone(), keys[3].clone()], ..scene.next(1, vec![]) };
    scene.store.commit(deleted).await?;
    let left = other.get(&scene.thread, keys.clone()).await?;
    let expected: Vec<_> = [true, false, true, false, true, true].into_iter().enumerate().collect();
    ensure_eq!(
        left == expected.into_iter().map(|(nth, is_left)| is_left.then(|| value(nth))).collect::<Vec<_>>(),
        true
    );
    Ok(())
}
