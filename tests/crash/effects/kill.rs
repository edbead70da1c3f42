//! Processes that are killed with SIGKILL after each commit that is acknowledged and after each effect that happens.

use std::io::{BufReader, Write};
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use superstep::checkpoint::{
    BoxFuture, CheckpointError, Checkpointer, Claim, Commit, Head, Key, Lease, Order, Receipt, Record,
    SledCheckpointer, ThreadId,
};
use superstep::graph::Durability;
use tokio::sync::oneshot;

use super::shop::{World, run};
use super::{Left, undisturbed};
use crate::kill::{say, whole_line};

/// Names the store to a child process; without it the child's test does nothing.
const STORE: &str = "SUPERSTEP_EFFECTS_STORE";

/// Says so when a commit is acknowledged, before anybody else learns of it.
#[derive(Debug)]
struct Telling(SledCheckpointer);

impl Checkpointer for Telling {
    fn commit(&self, commit: Commit) -> Receipt {
        let inner = self.0.commit(commit);
        let (answer, answered) = oneshot::channel();
        tokio::spawn(async move {
            let result = inner.await;
            say("word commit");
            let _ = answer.send(result);
        });
        Receipt::waiting(answered)
    }

    fn claim(&self, thread: &ThreadId, claim: Claim) -> BoxFuture<'_, Result<Lease, CheckpointError>> {
        self.0.claim(thread, claim)
    }

    fn head(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Option<Head>, CheckpointError>> {
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

    fn is_claimed(&self, thread: &ThreadId) -> bool {
        self.0.is_claimed(thread)
    }
}

fn durability(nth: usize) -> Durability {
    if nth.is_multiple_of(2) { Durability::Sync } else { Durability::Async }
}

#[tokio::test]
async fn child() {
    let (Ok(directory), Ok(nth)) = (std::env::var(STORE), std::env::var("SUPERSTEP_EFFECTS_NTH")) else { return };
    let directory = Path::new(&directory);
    let store = Arc::new(Telling(SledCheckpointer::open(directory.join("store")).unwrap()));
    let world = World::in_file(directory.join("world"), Some(|line| say(&format!("word {line}"))));
    run(store, &world, durability(nth.parse().unwrap())).await.unwrap();
    say("end");
}

/// Lets a process say so many words, then kills it. Returns whether it had come to its end.
fn killed(mut child: Child, words: usize) -> bool {
    child.stdin.take().unwrap().write_all(&vec![0; words]).unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    let (mut heard, mut ended) = (0, false);
    while heard < words
        && let Some(line) = whole_line(&mut said)
    {
        ended |= line == "end";
        heard += usize::from(ended || line.starts_with("word "));
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
    for words in 1.. {
        let directory = tempfile::tempdir().unwrap();
        if killed(spawn(directory.path(), words), words) {
            break;
        }
        kills += 1;
        let store = Arc::new(SledCheckpointer::open(directory.path().join("store")).unwrap());
        let world = World::in_file(directory.path().join("world"), None);
        let left = Left::of(&*store, &world).await;
        let at = format!("killed after {words} words");
        assert_eq!(run(store, &world, durability(words)).await.unwrap(), end, "{at}");
        left.assert_fits(&world.lines(), &at);
    }
    assert!(kills > 20, "only {kills} kills");
}
