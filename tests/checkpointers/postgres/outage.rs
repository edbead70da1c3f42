//! A server that is killed, frozen, or not there: what was acknowledged is stored once, and who cannot renew a lease stops in time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use superstep::checkpoint::{
    CheckpointError, CheckpointId, Checkpointer, Claim, Commit, Key, Lease, PostgresCheckpointer, ThreadHead, ThreadId,
};

use crate::server::Server;

/// Commit `number` of a run that does not move the head: only the store keeps it from being written twice or late.
fn commit(lease: &Lease, number: u64) -> Commit {
    let expected = (number > 0).then_some(CheckpointId(0));
    let head = ThreadHead { checkpoint: Some(CheckpointId(0)), next: 1, birth: 7 };
    let puts = vec![(Key::Shape(0), number.to_be_bytes().to_vec()), (Key::Shape(number + 1), vec![7; 300])];
    Commit::new(lease.thread().clone(), lease.epoch(), expected, head).with_records(puts)
}

/// The state that the writers of a test share: whether they must stop, and the number of their acknowledged commits.
#[derive(Default)]
struct Writers {
    must_stop: AtomicBool,
    acknowledged: AtomicU64,
}

impl Writers {
    fn must_stop(&self) -> bool {
        self.must_stop.load(Ordering::SeqCst)
    }

    fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::SeqCst)
    }

    fn count(&self) {
        self.acknowledged.fetch_add(1, Ordering::SeqCst);
    }

    async fn wait_for(&self, more: u64) {
        let wanted = self.acknowledged() + more;
        while self.acknowledged() < wanted {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Kills the server amid the commits and starts it again, six times; then the writers stop.
    async fn disturb(&self, server: &Server) {
        for nth in 0..6 {
            let some = self.wait_for(20 + nth);
            tokio::time::timeout(Duration::from_secs(120), some).await.expect("commits are acknowledged");
            tokio::task::block_in_place(|| {
                server.signal("-KILL");
                server.run();
            });
        }
        self.must_stop.store(true, Ordering::SeqCst);
    }
}

fn number(bytes: Option<Vec<u8>>) -> u64 {
    bytes.map_or(0, |bytes| u64::from_be_bytes(bytes.try_into().unwrap()))
}

/// Commits until it is told to stop, some at a time; returns how many were acknowledged.
async fn write(store: Arc<PostgresCheckpointer>, name: String, writers: Arc<Writers>) -> u64 {
    let lease = store.claim(&ThreadId::from(name), Claim::IfFree).await.unwrap();
    let mut count = 0;
    while !writers.must_stop() {
        let receipts: Vec<_> = (count..count + 5).map(|number| store.commit(commit(&lease, number))).collect();
        for receipt in receipts {
            receipt.await.unwrap();
            writers.count();
            count += 1;
        }
        let read = store.get(lease.thread(), vec![Key::Shape(0)]).await.unwrap().pop().flatten();
        assert_eq!(number(read), count - 1);
    }
    lease.release().await.unwrap();
    count
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_during_commits_loses_and_doubles_nothing() {
    let Some(server) = Server::start(&[]) else { return };
    let address = server.store("killed");
    let store =
        Arc::new(PostgresCheckpointer::builder(&address).lease(Duration::from_secs(60)).connect().await.unwrap());
    server.sql(
        "CREATE TABLE written (thread bigint, epoch bigint, number bigint);
         CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN INSERT INTO public.written VALUES (new.id, new.epoch, new.commit_number); RETURN new; END $$;
         CREATE TRIGGER note AFTER UPDATE OF commit_number ON killed.threads FOR EACH ROW
         WHEN (new.commit_number > 0) EXECUTE FUNCTION note()",
    );
    let writers = Arc::new(Writers::default());
    let threads = (0..8).map(|nth| tokio::spawn(write(Arc::clone(&store), format!("t{nth}"), Arc::clone(&writers))));
    let threads: Vec<_> = threads.collect();
    writers.disturb(&server).await;
    let mut total = 0;
    for (nth, thread) in threads.into_iter().enumerate() {
        let count = thread.await.unwrap();
        let range = Key::Shape(1)..=Key::Shape(u64::MAX);
        let found =
            store.scan(&format!("t{nth}").into(), range, superstep::checkpoint::Order::Ascending, usize::MAX).await;
        assert_eq!(found.unwrap().len() as u64, count);
        total += count;
    }
    assert_eq!(
        server.sql("SELECT count(*), count(DISTINCT (thread, epoch, number)) FROM written"),
        format!("{total}|{total}")
    );
}

/// The number of turns that each of the two writers of a thread has begun.
type Begun = Arc<[AtomicU64; 2]>;

/// Claims a thread again and again, by turns with another writer who does not wait for acknowledgements, and ends each lease with
/// a commit; returns how many were acknowledged.
async fn write_turns(
    store: Arc<PostgresCheckpointer>,
    (name, own, begun): (String, usize, Begun),
    writers: Arc<Writers>,
) -> u64 {
    let mut count = 0;
    while !writers.must_stop() {
        if begun[own].load(Ordering::SeqCst) > begun[1 - own].load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
            continue;
        }
        let lease = match store.claim(&ThreadId::from(name.as_str()), Claim::IfFree).await {
            Err(CheckpointError::ThreadBusy { .. }) => continue,
            lease => lease.unwrap(),
        };
        begun[own].fetch_add(1, Ordering::SeqCst);
        let written = store.get(lease.thread(), vec![Key::Shape(0)]).await.unwrap().pop().flatten();
        let number = written.map_or(0, |bytes| number(Some(bytes)) + 1);
        store.commit(Commit { is_last: true, ..commit(&lease, number) }).await.unwrap();
        writers.count();
        lease.release().await.unwrap();
        count += 1;
    }
    count
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn last_commits_during_which_a_server_is_killed_are_acknowledged_once_whoever_claims_next() {
    let Some(server) = Server::start(&[]) else { return };
    let address = server.store("ends");
    let connect = || PostgresCheckpointer::builder(&address).lease(Duration::from_secs(60)).connect();
    let stores = [Arc::new(connect().await.unwrap()), Arc::new(connect().await.unwrap())];
    let writers = Arc::new(Writers::default());
    let threads: Vec<Begun> = (0..4).map(|_| Begun::default()).collect();
    let turns = (0..8).map(|nth| {
        let thread = (format!("t{}", nth / 2), nth % 2, Arc::clone(&threads[nth / 2]));
        tokio::spawn(write_turns(Arc::clone(&stores[nth % 2]), thread, Arc::clone(&writers)))
    });
    let turns: Vec<_> = turns.collect();
    writers.disturb(&server).await;
    let mut acknowledged = 0;
    for turns in turns {
        acknowledged += turns.await.unwrap();
    }
    let mut written = 0;
    for nth in 0..4 {
        let read = stores[0].get(&format!("t{nth}").into(), vec![Key::Shape(0)]).await.unwrap().pop().flatten();
        written += number(read) + 1;
        assert!(stores[1].owner(&format!("t{nth}").into()).await.unwrap().is_none());
    }
    assert_eq!(acknowledged, written);
}

#[tokio::test]
async fn a_frozen_server_ends_a_lease_before_others_can_claim() {
    let Some(server) = Server::start(&[]) else { return };
    let time = Duration::from_secs(2);
    let connect = || PostgresCheckpointer::builder(&server.store("frozen")).lease(time).connect();
    let (first, second) = (connect().await.unwrap(), connect().await.unwrap());
    let lease = first.claim(&"t".into(), Claim::IfFree).await.unwrap();
    first.commit(commit(&lease, 0)).await.unwrap();
    let stopped = Instant::now();
    server.signal("-STOP");
    let waiting = first.commit(commit(&lease, 1));
    let lost = lease.lost().await;
    let after = stopped.elapsed();
    server.signal("-CONT");
    assert!(matches!(&lost, CheckpointError::Outage { .. }), "{lost}");
    assert!(after < time, "{after:?}");
    assert!(matches!(waiting.await, Err(CheckpointError::Outage { .. })));
    assert!(matches!(first.commit(commit(&lease, 1)).await, Err(CheckpointError::Outage { .. })));
    drop(lease);
    let next = tokio::time::timeout(Duration::from_secs(10), claim_soon(&second)).await.unwrap().unwrap();
    second.commit(commit(&next, 1)).await.unwrap();
}

#[tokio::test]
async fn a_claim_that_is_answered_late_gives_a_whole_lease() {
    let Some(server) = Server::start(&[]) else { return };
    let time = Duration::from_secs(1);
    let store = PostgresCheckpointer::builder(&server.store("late")).lease(time).connect().await.unwrap();
    let store = Arc::new(store);
    for nth in 0..3 {
        server.signal("-STOP");
        let thread = ThreadId::from(format!("t{nth}"));
        let claim = tokio::spawn({
            let store = Arc::clone(&store);
            async move { store.claim(&thread, Claim::IfFree).await }
        });
        tokio::time::sleep(time * 6 / 5).await; // the server's time, in which nothing can be seen
        server.signal("-CONT");
        let lease = claim.await.unwrap().unwrap();
        lease.check().unwrap();
        store.commit(commit(&lease, 0)).await.unwrap();
        lease.check().unwrap();
    }
}

async fn claim_soon(store: &PostgresCheckpointer) -> Result<Lease, CheckpointError> {
    loop {
        match store.claim(&"t".into(), Claim::IfFree).await {
            Err(CheckpointError::ThreadBusy { .. }) => tokio::time::sleep(Duration::from_millis(20)).await,
            claimed => return claimed,
        }
    }
}

#[tokio::test]
async fn an_outage_fails_a_commit_when_its_lease_ends_and_the_run_can_proceed_later() {
    let Some(server) = Server::start(&[]) else { return };
    let address = server.store("gone").replace("postgres@", "postgres:hidden@");
    let store = PostgresCheckpointer::builder(&address).lease(Duration::from_secs(2)).connect().await.unwrap();
    let lease = store.claim(&"t".into(), Claim::IfFree).await.unwrap();
    store.commit(commit(&lease, 0)).await.unwrap();
    server.signal("-KILL");
    let error = store.commit(commit(&lease, 1)).await.unwrap_err();
    assert!(matches!(error, CheckpointError::Outage { .. }), "{error}");
    assert!(!format!("{error:?} {error}").contains("hidden"), "{error:?}");
    let error = PostgresCheckpointer::connect(&address).await.unwrap_err();
    assert!(matches!(error, CheckpointError::Outage { .. }), "{error}");
    assert!(!format!("{error:?} {store:?}").contains("hidden"));
    server.run();
    drop(lease);
    let lease = claim_soon(&store).await.unwrap();
    store.commit(commit(&lease, 1)).await.unwrap();
    let newest = store.get(&"t".into(), vec![Key::Shape(0)]).await.unwrap().pop().flatten();
    assert_eq!(number(newest), 1);
}
