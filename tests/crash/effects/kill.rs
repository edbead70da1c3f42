//! Processes that are killed with SIGKILL after each acknowledged commit and after each effect.

use std::io::{BufReader, Write};
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use superstep::checkpoint::{
    BoxFuture, CheckpointError, Checkpointer, Claim, Commit, Key, Lease, LeaseOwner, Order, Receipt, Record,
    SledCheckpointer, ThreadHead, ThreadId,
};
use superstep::graph::Durability;
use tokio::sync::oneshot;

use super::shop::{World, run};
use super::{Aftermath, undisturbed};
use crate::kill::{complete_line, report};

/// Environment variable: the store of a child process; without it the child's test does nothing.
const STORE: &str = "SUPERSTEP_EFFECTS_STORE";

/// Reports each acknowledged commit, before the engine sees it.
#[derive(Debug)]
struct ReportingStore(SledCheckpointer);

impl Checkpointer for ReportingStore {
    fn commit(&self, commit: Commit) -> Receipt {
        let inner = self.0.commit(commit);
        let (answer, answered) = oneshot::channel();
        tokio::spawn(async move {
            let result = inner.await;
            report("word commit");
            let _ = answer.send(result);
        });
        Receipt::waiting(answered)
    }

    fn claim(&self, thread: &ThreadId, claim: Claim) -> BoxFuture<'_, Result<Lease, CheckpointError>> {
        self.0.claim(thread, claim)
    }

    fn head(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Option<ThreadHead>, CheckpointError>> {
        self.0.head(thread)
    }

    fn get(&self, thread: &ThreadId, keys: Vec<Key>) -> BoxFuture<'_, Result<Vec<Option<Vec<u8>>>, CheckpointError>> {
        self.0.get(thread, keys)
    }

    fn scan(
        &self,
        thread: &ThreadId,
        range: RangeInclusive<Key>,
        order: Order,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Record>, CheckpointError>> {
        self.0.scan(thread, range, order, limit)
    }

    fn threads(&self, after: Option<&ThreadId>, limit: usize) -> BoxFuture<'_, Result<Vec<ThreadId>, CheckpointError>> {
        self.0.threads(after, limit)
    }

    fn delete_thread(&self, lease: &Lease) -> BoxFuture<'_, Result<(), CheckpointError>> {
        self.0.delete_thread(lease)
    }

    fn owner(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Option<Arc<LeaseOwner>>, CheckpointError>> {
        self.0.owner(thread)
    }
}

fn durability(nth: usize) -> Durability {
    if nth.is_multiple_of(2) { Durability::Sync } else { Durability::Async }
}

#[tokio::test]
async fn child() {
    let (Ok(directory), Ok(nth)) = (std::env::var(STORE), std::env::var("SUPERSTEP_EFFECTS_NTH")) else { return };
    let directory = Path::new(&directory);
    let store = Arc::new(ReportingStore(SledCheckpointer::open(directory.join("store")).unwrap()));
    let world = World::in_file(directory.join("world"), Some(|line| report(&format!("word {line}"))));
    run(store, &world, durability(nth.parse().unwrap())).await.unwrap();
    report("end");
}

/// Kills a process after it has reported `words` events. Returns true if it had finished.
fn killed(mut child: Child, events: usize) -> bool {
    child.stdin.take().unwrap().write_all(&vec![0; events]).unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let (mut seen, mut ended) = (0, false);
    while seen < events
        && let Some(line) = complete_line(&mut output)
    {
        ended |= line == "end";
        seen += usize::from(ended || line.starts_with("word "));
        if ended {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    ended
}

fn spawn(directory: &Path, nth: usize) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["effects::kill::child", "--exact", "--test-threads=1", "--nocapture"]);
    command.env(STORE, directory).env("SUPERSTEP_EFFECTS_NTH", nth.to_string());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

#[tokio::test]
async fn effects_of_a_killed_process_happen_once() {
    let end = undisturbed().await;
    let mut kills = 0;
    for events in 1.. {
        let directory = tempfile::tempdir().unwrap();
        if killed(spawn(directory.path(), events), events) {
            break;
        }
        kills += 1;
        let store = Arc::new(SledCheckpointer::open(directory.path().join("store")).unwrap());
        let world = World::in_file(directory.path().join("world"), None);
        let aftermath = Aftermath::of(&*store, &world).await;
        let at = format!("killed after {events} words");
        assert_eq!(run(store, &world, durability(events)).await.unwrap(), end, "{at}");
        aftermath.assert_fits(&world.lines(), &at);
    }
    assert!(kills > 20, "only {kills} kills");
}
