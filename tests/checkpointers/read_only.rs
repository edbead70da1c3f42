//! Stores opened read-only: they show the same records as writable ones, write nothing and need no space.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rstest::rstest;
use superstep::checkpoint::{
    CheckpointError, CheckpointId, Checkpointer, Claim, Commit, FjallCheckpointer, FjallOptions, Key, Order, Record,
    Retention, RowId, SledCheckpointer, SledOptions, ThreadHead, ThreadId, encode_record, gc,
};

use crate::filled::{fill, record};

const FIRST: Key = Key::About;
const LAST: Key = Key::Event { checkpoint: CheckpointId(u64::MAX), number: u64::MAX };

fn row(number: u64) -> Key {
    Key::Row(RowId { checkpoint: CheckpointId(number), task: 0, slot: 0 })
}

/// Puts and deletes rows of all sizes at random, in commits of random size.
async fn churn(store: &dyn Checkpointer, thread: &str, seed: u64, commits: u64) {
    let mut random = seed;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    let lease = store.claim(&thread.into(), Claim::IfFree).await.unwrap();
    let first = store.head(lease.thread()).await.unwrap().map_or(0, |head| head.next);
    for number in first..first + commits {
        let mut puts: Vec<Record> = (0..next(40)).map(|_| (row(next(900)), vec![next(256) as u8; 3])).collect();
        if number % 7 == 0 {
            puts.push((row(next(900)), vec![9; next(200_000) as usize]));
        }
        let from = next(900);
        let deletes = (from..from + next(90)).map(row).collect();
        let head = ThreadHead { checkpoint: Some(CheckpointId(number)), next: number + 1, birth: 1 };
        let expected = number.checked_sub(1).map(CheckpointId);
        let commit = Commit { deletes, ..Commit::new(thread.into(), lease.epoch(), expected, head).with_records(puts) };
        store.commit(commit).await.unwrap();
    }
}

type Seen = Vec<(ThreadId, Option<ThreadHead>, Vec<Record>)>;

async fn everything(store: &dyn Checkpointer) -> Seen {
    let mut seen = vec![];
    for thread in store.threads(None, 999).await.unwrap() {
        let all = store.scan(&thread, FIRST..=LAST, Order::Ascending, usize::MAX).await.unwrap();
        let mut back = store.scan(&thread, FIRST..=LAST, Order::Descending, usize::MAX).await.unwrap();
        back.reverse();
        assert!(all == back);
        let keys = all.iter().step_by(9).map(|(key, _)| key.clone()).chain([row(12_345)]).collect();
        let some: Vec<_> = all.iter().step_by(9).map(|(_, value)| Some(value.clone())).chain([None]).collect();
        assert!(store.get(&thread, keys).await.unwrap() == some);
        seen.push((thread.clone(), store.head(&thread).await.unwrap(), all));
    }
    seen
}

async fn delete(store: &dyn Checkpointer, thread: &str) {
    let lease = store.claim(&thread.into(), Claim::IfFree).await.unwrap();
    store.delete_thread(&lease).await.unwrap();
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to),
            false => assert!(fs::copy(entry.path(), to).is_ok()),
        }
    }
}

fn files(store: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = vec![];
    for path in fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path()) {
        found.extend(if path.is_dir() { files(&path) } else { vec![(path.clone(), fs::read(&path).unwrap())] });
    }
    found.sort();
    found
}

#[rstest]
#[tokio::test]
async fn a_store_that_is_only_read_shows_the_same_records(#[values(1, 2, 3)] seed: u64) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    for round in 0..4 {
        let store = SledCheckpointer::open(&path).unwrap();
        churn(&store, "t", seed * 10 + round, 60).await;
        fill(&store, &format!("large {round}"), 0..40).await;
        churn(&store, &format!("u{round}"), seed, 20).await;
        if round > 0 {
            delete(&store, &format!("large {}", round - 1)).await;
        }
        let seen = everything(&store).await;
        // The store as a kill leaves it, and closed.
        let killed = directory.path().join(format!("killed {round}"));
        copy(&path, &killed);
        store.close().await.unwrap();
        for path in [&killed, &path] {
            let before = files(path);
            let store = SledCheckpointer::open_read_only(path).unwrap();
            assert!(everything(&store).await == seen, "round {round}");
            store.close().await.unwrap();
            assert!(files(path) == before);
        }
    }
    SledCheckpointer::compact(&path).unwrap();
    let seen = everything(&SledCheckpointer::open(&path).unwrap()).await;
    assert!(everything(&SledCheckpointer::open_read_only(&path).unwrap()).await == seen);
}

#[tokio::test]
async fn a_fjall_store_that_is_only_read_shows_the_same_records() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    for round in 0..3 {
        let store = FjallCheckpointer::open(&path).unwrap();
        churn(&store, "t", 70 + round, 60).await;
        fill(&store, &format!("large {round}"), 0..40).await;
        if round > 0 {
            delete(&store, &format!("large {}", round - 1)).await;
        }
        let seen = everything(&store).await;
        let killed = directory.path().join(format!("killed {round}"));
        copy(&path, &killed);
        let error = FjallCheckpointer::open_read_only(&path).unwrap_err();
        assert!(error.to_string().contains("is open already (by this process"), "{error}");
        store.close().await.unwrap();
        for path in [&killed, &path] {
            let before = files(path);
            let stores =
                [FjallCheckpointer::open_read_only(path).unwrap(), FjallCheckpointer::open_read_only(path).unwrap()];
            for store in &stores {
                assert!(everything(store).await == seen, "round {round}");
            }
            let error = stores[0].claim(&"t".into(), Claim::IfFree).await.unwrap_err();
            assert!(matches!(error, CheckpointError::NotWritable { .. }), "{error}");
            assert!(FjallCheckpointer::open(path).unwrap_err().to_string().contains("a process that only reads it"));
            drop(stores);
            assert!(files(path) == before);
        }
        if round == 1 {
            FjallCheckpointer::compact(&path).unwrap();
            assert!(everything(&FjallCheckpointer::open_read_only(&path).unwrap()).await == seen);
        }
    }
    assert!(FjallCheckpointer::open_read_only(directory.path().join("missing")).is_err());
    assert!(!directory.path().join("missing").exists());
}

#[tokio::test]
async fn writes_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let store = SledCheckpointer::open(directory.path()).unwrap();
    fill(&store, "t", 0..3).await;
    drop(store);
    let store = SledCheckpointer::open_read_only(directory.path()).unwrap();
    let error = store.claim(&"t".into(), Claim::IfFree).await.unwrap_err();
    assert!(matches!(error, CheckpointError::NotWritable { .. }), "{error}");
    assert!(error.to_string().ends_with("it was opened to be read only"), "{error}");
    assert_eq!(store.owner(&"t".into()).await.unwrap(), None);
}

#[tokio::test]
async fn many_readers_or_one_writer_may_open_a_store() {
    let directory = tempfile::tempdir().unwrap();
    let store = SledCheckpointer::open(directory.path()).unwrap();
    fill(&store, "t", 0..3).await;
    let read = || SledCheckpointer::open_read_only(directory.path());
    assert!(matches!(read(), Err(CheckpointError::Locked { .. })));
    drop(store);
    let readers = [read().unwrap(), read().unwrap()];
    let error = SledCheckpointer::open(directory.path()).unwrap_err().to_string();
    assert!(error.contains("is open already (by a process that only reads it)"), "{error}");
    drop(readers);
    assert!(SledCheckpointer::open(directory.path()).is_ok());
}

#[tokio::test]
async fn opening_read_only_creates_no_store() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing");
    assert!(SledCheckpointer::open_read_only(&missing).is_err() && !missing.exists());
    assert!(SledCheckpointer::open_read_only(directory.path()).is_err());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn damage_is_reported_and_not_skipped() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = SledCheckpointer::open(&path).unwrap();
    fill(&store, "t", 0..60).await;
    let seen = everything(&store).await;
    store.close().await.unwrap();
    let log = fs::read(path.join("db")).unwrap();
    for at in (0..30).map(|nth| nth * log.len() / 30 + 4321) {
        let mut damaged = log.clone();
        damaged[at.min(log.len() - 1)] ^= 4;
        fs::write(path.join("db"), damaged).unwrap();
        match SledCheckpointer::open_read_only(&path) {
            Ok(store) => assert!(everything(&store).await == seen, "{at}"), // behind the end of the log
            Err(error) => assert!(matches!(error, CheckpointError::DamagedStore { .. }), "{error}"),
        }
    }
}

/// Needs root to mount a file system of its own; does nothing if `mount` fails.
#[tokio::test]
async fn a_store_on_a_full_disk_can_be_read_and_compacted() {
    let directory = tempfile::tempdir().unwrap();
    let Some(_mounted) = Mount::at(directory.path()) else { return };
    let path = directory.path().join("store");
    let store = SledCheckpointer::open(&path).unwrap();
    fill(&store, "t", 0..120).await;
    store.close().await.unwrap();
    let _ = fs::write(directory.path().join("filler"), vec![1; 64 << 20]); // as much as there is room for
    let error = match SledCheckpointer::open(&path) {
        Ok(store) => {
            let lease = store.claim(&"t".into(), Claim::IfFree).await.unwrap();
            let head = ThreadHead { checkpoint: Some(CheckpointId(120)), next: 121, birth: 5 };
            let puts = vec![(row(120), vec![1; 30 << 20])];
            let (thread, expected) = ("t".into(), Some(CheckpointId(119)));
            let commit = Commit::new(thread, lease.epoch(), expected, head).with_records(puts);
            store.commit(commit).await.unwrap_err()
        }
        Err(error) => error,
    };
    let words = error.to_string();
    assert!(words.contains("no space is left on the disk") && !words.contains("Os {"), "{words}");
    let store = SledCheckpointer::open_read_only(&path).unwrap();
    assert_eq!(store.head(&"t".into()).await.unwrap().unwrap().checkpoint, Some(CheckpointId(119)));
    drop(store);
    // The rest of the disk is filled too: only the reserve is left.
    let _ = fs::write(directory.path().join("more"), vec![1; 64 << 20]);
    let options = SledOptions::default().spend_reserve();
    let store = SledCheckpointer::open_with(&path, options).unwrap();
    let swept = gc(&store, &"t".into(), &Retention::new().keep_last(2)).await.unwrap();
    assert_eq!((swept.checkpoints, swept.kept), (118, 2));
    store.close().await.unwrap();
    let compacted = SledCheckpointer::compact(&path).unwrap();
    assert!(compacted.after * 2 < compacted.before, "{compacted}");
    let store = SledCheckpointer::open(&path).unwrap();
    fill(&store, "t", 120..130).await;
}

/// Needs root to mount a file system of its own; does nothing if `mount` fails.
#[tokio::test]
async fn a_fjall_store_on_a_full_disk_can_be_read_swept_and_compacted() {
    let directory = tempfile::tempdir().unwrap();
    let Some(_mounted) = Mount::sized(directory.path(), 192) else { return };
    let path = directory.path().join("store");
    let store = FjallCheckpointer::open(&path).unwrap();
    let lease = store.claim(&"t".into(), Claim::IfFree).await.unwrap();
    let mut last = None;
    let error = loop {
        let number = last.map_or(0, |CheckpointId(last)| last + 1);
        let head = ThreadHead { checkpoint: Some(CheckpointId(number)), next: number + 1, birth: 5 };
        let puts = vec![
            (Key::Checkpoint(CheckpointId(number)), encode_record(&record(number)).unwrap()),
            (row(number), vec![number as u8; 1 << 20]),
        ];
        let commit = Commit::new("t".into(), lease.epoch(), last, head).with_records(puts);
        match store.commit(commit).await {
            Ok(()) => last = head.checkpoint,
            Err(error) => break error,
        }
    };
    drop(lease);
    let words = error.to_string();
    assert!(words.contains("no space is left on the disk") && !words.contains("Os {"), "{words}");
    let _ = store.close().await;
    let _ = fs::write(directory.path().join("filler"), vec![1; 192 << 20]); // only the reserve is left
    let before = files(&path);
    let store = FjallCheckpointer::open_read_only(&path).unwrap();
    assert_eq!(store.head(&"t".into()).await.unwrap().unwrap().checkpoint, last);
    drop(store);
    assert!(files(&path) == before);
    let options = FjallOptions::default().spend_reserve();
    let store = FjallCheckpointer::open_with(&path, options).unwrap();
    let swept = gc(&store, &"t".into(), &Retention::new().keep_last(2)).await.unwrap();
    assert_eq!((swept.checkpoints as u64, swept.kept), (last.unwrap().0 - 1, 2));
    store.close().await.unwrap();
    let compacted = FjallCheckpointer::compact(&path).unwrap();
    assert!(compacted.after * 2 < compacted.before, "{compacted}");
    let store = FjallCheckpointer::open(&path).unwrap();
    assert_eq!(store.head(&"t".into()).await.unwrap().unwrap().checkpoint, last);
    fill(&store, "u", 0..30).await;
}

const CHILD_STORE: &str = "SUPERSTEP_TEST_READ_STORE";

/// Opens a store read-only until its input ends.
#[test]
fn child_reads() {
    let Some(path) = std::env::var_os(CHILD_STORE) else { return };
    let _store = FjallCheckpointer::open_read_only(path).unwrap();
    println!("\nreading");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

/// Starts a process that has opened the store.
fn reader(store: &Path, temporary: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "read_only::child_reads", "--nocapture"]);
    command.env(CHILD_STORE, store).env("TMPDIR", temporary).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let printed = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(printed.map_while(Result::ok).any(|line| line == "reading"));
    child
}

#[tokio::test]
async fn a_copy_of_a_killed_reader_is_removed_by_the_next() {
    let directory = tempfile::tempdir().unwrap();
    let [path, temporary] = ["store", "temporary"].map(|name| directory.path().join(name));
    fs::create_dir(&temporary).unwrap();
    let store = FjallCheckpointer::open(&path).unwrap();
    fill(&store, "t", 0..3).await;
    store.close().await.unwrap();
    let copies = || fs::read_dir(&temporary).unwrap().count();
    let (mut killed, mut living) = (reader(&path, &temporary), reader(&path, &temporary));
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(copies(), 2);
    let mut next = reader(&path, &temporary);
    assert_eq!(copies(), 2);
    for child in [&mut living, &mut next] {
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(copies(), 0);
}

/// A mounted file system, unmounted on drop.
pub(crate) struct Mount(PathBuf);

impl Mount {
    fn at(path: &Path) -> Option<Self> {
        Self::sized(path, 64)
    }

    pub(crate) fn sized(path: &Path, megabytes: u32) -> Option<Self> {
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &format!("size={megabytes}m"), "tmpfs"]).arg(path);
        let done = command.stderr(Stdio::null()).status();
        done.is_ok_and(|status| status.success()).then(|| Self(path.into()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
