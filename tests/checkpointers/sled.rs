//! Promises of the embedded store: one process at a time, owner-only files, no acknowledged commit lost to a kill,
//! and damage reported without a panic.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use futures::FutureExt;
use rstest::rstest;
use superstep::checkpoint::{
    CheckpointError, CheckpointId, Checkpointer, Claim, Commit, Key, Lease, Order, SledCheckpointer, SledOptions,
    ThreadHead,
};

/// Environment variable: the store that a child process of these tests opens.
const CHILD_STORE: &str = "SUPERSTEP_TEST_CHILD_STORE";

fn commit(lease: &Lease, number: u64, puts: Vec<(Key, Vec<u8>)>) -> Commit {
    Commit::new(
        lease.thread().clone(),
        lease.epoch(),
        number.checked_sub(1).map(CheckpointId),
        ThreadHead { checkpoint: Some(CheckpointId(number)), next: number + 1, birth: 1 },
    )
    .with_records(puts)
}

fn value(number: u64) -> Vec<u8> {
    let length = if number.is_multiple_of(10) { 100_000 } else { 300 };
    (0..length).map(|at: u64| (at * 31 + number) as u8).collect()
}

async fn write(store: &SledCheckpointer, thread: &str, commits: u64) {
    let lease = store.claim(&thread.into(), Claim::IfFree).await.unwrap();
    for number in 0..commits {
        store
            .commit(commit(&lease, number, vec![(Key::Checkpoint(CheckpointId(number)), value(number))]))
            .await
            .unwrap();
    }
}

/// Reads the whole thread and returns the number of its commits; each must be complete.
async fn read(store: &SledCheckpointer, thread: &str) -> Result<u64, CheckpointError> {
    let Some(head) = store.head(&thread.into()).await? else { return Ok(0) };
    let range = Key::Checkpoint(CheckpointId(0))..=Key::Checkpoint(CheckpointId(u64::MAX));
    let found = store.scan(&thread.into(), range, Order::Ascending, usize::MAX).await?;
    let wanted = (0..head.next).map(|number| (Key::Checkpoint(CheckpointId(number)), value(number)));
    assert!(found.into_iter().eq(wanted), "the head is at {}, but its records differ", head.next);
    Ok(head.next)
}

#[test]
fn a_store_is_not_opened_without_a_path() {
    let error = SledCheckpointer::open("").unwrap_err();
    assert_eq!(error.to_string(), "a store needs a name: the path of its directory is empty");
}

#[tokio::test]
async fn a_second_opening_in_one_process_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let first = SledCheckpointer::open(directory.path()).unwrap();
    let error = SledCheckpointer::open(directory.path()).unwrap_err();
    assert!(matches!(error, CheckpointError::Locked { .. }));
    assert!(error.to_string().contains("is open already (by this process, checkpointers-"), "{error}");
    write(&first, "t", 1).await;
}

#[tokio::test]
async fn a_closed_store_opens_again_at_once() {
    let directory = tempfile::tempdir().unwrap();
    for _ in 0..5 {
        let store = SledCheckpointer::open(directory.path()).unwrap();
        store.close().await.unwrap();
        drop(SledCheckpointer::open(directory.path()).unwrap());
    }
}

#[tokio::test]
async fn dropping_the_store_finishes_queued_commits() {
    let directory = tempfile::tempdir().unwrap();
    let store = SledCheckpointer::open(directory.path()).unwrap();
    let lease = store.claim(&"t".into(), Claim::IfFree).await.unwrap();
    let receipts: Vec<_> =
        (0..30).map(|n| store.commit(commit(&lease, n, vec![(Key::Checkpoint(CheckpointId(n)), value(n))]))).collect();
    drop(store);
    for receipt in receipts {
        receipt.await.unwrap();
    }
    assert_eq!(read(&SledCheckpointer::open(directory.path()).unwrap(), "t").await.unwrap(), 30);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_threads_commit_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(SledCheckpointer::open(directory.path()).unwrap());
    let tasks: Vec<_> = (0..64)
        .map(|thread| {
            let store = store.clone();
            tokio::spawn(async move { write(&store, &format!("thread-{thread}"), 12).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(store.threads(None, 99).await.unwrap().len(), 64);
    for thread in 0..64 {
        assert_eq!(read(&store, &format!("thread-{thread}")).await.unwrap(), 12);
    }
}

#[tokio::test]
async fn readers_see_the_acknowledged_state_during_a_slow_sync() {
    let directory = tempfile::tempdir().unwrap();
    let store = SledCheckpointer::open(directory.path()).unwrap();
    write(&store, "t", 20).await;
    let lease = store.claim(&"t".into(), Claim::IfFree).await.unwrap();
    let overwrite = (0..=20).map(|number| (Key::Checkpoint(CheckpointId(number)), b"new".to_vec())).collect();
    let results = store.faults().hold_syncs(|| {
        let receipt = store.commit(commit(&lease, 20, overwrite));
        while !store.faults().is_sync_held() {
            std::thread::yield_now();
        }
        (receipt, read(&store, "t").now_or_never().unwrap(), store.threads(None, 9).now_or_never().unwrap())
    });
    let (receipt, seen, threads) = results.unwrap();
    assert_eq!((seen.unwrap(), threads.unwrap().len()), (20, 1));
    receipt.await.unwrap();
    let newest = store.get(&"t".into(), vec![Key::Checkpoint(CheckpointId(10))]).await.unwrap();
    assert_eq!(newest, [Some(b"new".to_vec())]);
}

#[tokio::test]
async fn every_value_is_in_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let store = SledCheckpointer::open_with(directory.path(), SledOptions::default().cache_bytes(8 << 20)).unwrap();
    let lease = store.claim(&"t".into(), Claim::IfFree).await.unwrap();
    let largest = vec![5; Commit::MAX_RECORD];
    let sizes = [1 << 20, 1 << 20, 3 << 20].map(|size| vec![1; size]).into_iter().chain([largest]);
    for (number, value) in (0..).zip(sizes) {
        let key = Key::Checkpoint(CheckpointId(number));
        store.commit(commit(&lease, number, vec![(key.clone(), value.clone())])).await.unwrap();
        assert!(store.get(&"t".into(), vec![key]).await.unwrap() == [Some(value)]);
        assert_eq!(fs::read_dir(directory.path().join("blobs")).unwrap().count(), 0);
    }
}

#[test]
fn only_the_owner_may_read_the_store() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.sled");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for _ in 0..2 {
        drop(SledCheckpointer::open(&path).unwrap());
        assert_eq!(mode(&path), 0o700);
        for entry in fs::read_dir(&path).unwrap() {
            let entry = entry.unwrap().path();
            assert_eq!(mode(&entry), if entry.is_dir() { 0o700 } else { 0o600 }, "{entry:?}");
        }
    }
}

#[test]
fn a_directory_with_other_files_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("notes.txt"), "mine").unwrap();
    assert!(matches!(SledCheckpointer::open(directory.path()), Err(CheckpointError::Io { .. })));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

/// Runs in a child process only, as a user who may read the store but not write it.
#[test]
fn child_may_only_read() {
    let Some(path) = std::env::var_os(CHILD_STORE) else { return };
    let error = SledCheckpointer::open(path).unwrap_err();
    writeln!(std::io::stdout(), "\n{error:?}").unwrap();
}

#[test]
fn a_store_of_another_user_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    drop(SledCheckpointer::open(directory.path()).unwrap());
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for file in fs::read_dir(directory.path()).unwrap() {
        fs::set_permissions(file.unwrap().path(), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "sled::child_may_only_read", "--nocapture"]).env(CHILD_STORE, directory.path()).uid(65534);
    let Ok(printed) = child.output() else { return }; // only root may change the user
    let printed = String::from_utf8(printed.stdout).unwrap();
    let words = format!("the store at {} cannot be locked for writing: ", directory.path().display());
    assert!(printed.contains(&words) && printed.contains("help: read it with `--read-only`"), "{printed}");
}

#[test]
fn a_store_that_cannot_be_created_is_reported_with_its_path() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notes.txt");
    fs::write(&path, "mine").unwrap();
    let error = SledCheckpointer::open(&path).unwrap_err();
    let words = error.to_string();
    assert!(words.starts_with(&format!("cannot create the store at {}: ", path.display())), "{words}");
    assert!(error.help().is_some());
}

#[test]
fn a_store_of_a_later_release_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    drop(SledCheckpointer::open(directory.path()).unwrap());
    fs::write(directory.path().join("format"), "2\n").unwrap();
    let error = SledCheckpointer::open(directory.path()).unwrap_err();
    assert!(matches!(error, CheckpointError::Format { found: 2, known: 1, .. }), "{error}");
}

#[tokio::test]
async fn an_interrupted_deletion_is_finished_or_undone() {
    let directory = tempfile::tempdir().unwrap();
    let store = SledCheckpointer::open(directory.path()).unwrap();
    write(&store, "t", 30).await;
    let lease = store.claim(&"t".into(), Claim::IfFree).await.unwrap();
    store.faults().fail_next_sync();
    assert!(store.delete_thread(&lease).await.is_err());
    assert_eq!(read(&store, "t").await.unwrap(), 30);
    drop(store);
    let store = SledCheckpointer::open(directory.path()).unwrap();
    assert!([0, 30].contains(&read(&store, "t").await.unwrap()));
}

#[tokio::test]
async fn a_commit_that_the_file_tip_does_not_name_is_not_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let store = SledCheckpointer::open(directory.path()).unwrap();
    write(&store, "t", 3).await;
    let lease = store.claim(&"t".into(), Claim::IfFree).await.unwrap();
    let next = |number| commit(&lease, number, vec![(Key::Checkpoint(CheckpointId(number)), value(number))]);
    store.faults().fail_next_marker();
    let error = store.commit(next(3)).await.unwrap_err().to_string();
    assert!(error.contains("cannot write the file at") && error.contains("/tip: chosen to fail"), "{error}");
    assert_eq!(read(&store, "t").await.unwrap(), 3, "it is not shown either");
    assert!(matches!(store.commit(next(3)).await, Err(CheckpointError::Poisoned { .. })));
    drop(store);
    let store = SledCheckpointer::open(directory.path()).unwrap();
    assert!([3, 4].contains(&read(&store, "t").await.unwrap()));
}

// --- damage ---

const COMMITS: u64 = 60;

#[derive(Clone, Copy, Debug)]
enum Damage {
    Truncate,
    Zero,
    Flip,
}

impl Damage {
    /// Damages the log at `share` hundredths of its length.
    fn apply(self, log: &Path, share: u64) {
        let file = OpenOptions::new().read(true).write(true).open(log).unwrap();
        let at = file.metadata().unwrap().len() * share / 100;
        match self {
            Self::Truncate => file.set_len(at).unwrap(),
            Self::Zero => file.write_all_at(&[0; 4096], at).unwrap(),
            Self::Flip => {
                let mut byte = [0];
                file.read_exact_at(&mut byte, at).unwrap();
                file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
            }
        }
    }
}

/// Opens and reads a store on a thread of its own, so that a hang fails the test.
fn open_and_read(store: PathBuf) -> Result<u64, CheckpointError> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        sender.send(runtime.block_on(async { read(&SledCheckpointer::open(&store)?, "t").await })).unwrap();
    });
    receiver.recv_timeout(Duration::from_secs(60)).expect("neither a hang nor a panic")
}

#[rstest]
#[tokio::test]
async fn damage_is_reported_without_a_panic(
    #[values(Damage::Truncate, Damage::Zero, Damage::Flip)] damage: Damage,
    #[values(0, 1, 5, 9, 13, 21, 34, 48, 55, 72, 89, 99)] share: u64,
) {
    let directory = tempfile::tempdir().unwrap();
    let store = SledCheckpointer::open(directory.path()).unwrap();
    write(&store, "t", COMMITS).await;
    store.close().await.unwrap();
    damage.apply(&directory.path().join("db"), share);
    match open_and_read(directory.path().into()) {
        Ok(commits) => assert_eq!(commits, COMMITS, "acknowledged commits are gone without a word"),
        Err(error) => {
            assert!(matches!(error, CheckpointError::DamagedStore { .. } | CheckpointError::Io { .. }), "{error}")
        }
    }
}

#[tokio::test]
async fn a_damaged_log_is_not_modified() {
    let directory = tempfile::tempdir().unwrap();
    let store = SledCheckpointer::open(directory.path()).unwrap();
    write(&store, "t", COMMITS).await;
    store.close().await.unwrap();
    let log = directory.path().join("db");
    Damage::Flip.apply(&log, 30);
    let damaged = fs::read(&log).unwrap();
    for _ in 0..2 {
        let error = SledCheckpointer::open(directory.path()).unwrap_err();
        let words = error.to_string();
        assert!(words.contains("its log ends at byte ") && words.contains("newest acknowledged commit"), "{words}");
        assert!(fs::read(&log).unwrap() == damaged);
    }
}

#[tokio::test]
async fn a_half_written_snapshot_does_not_prevent_opening() {
    let directory = tempfile::tempdir().unwrap();
    let store = SledCheckpointer::open(directory.path()).unwrap();
    write(&store, "t", COMMITS).await;
    store.close().await.unwrap();
    fs::write(directory.path().join("snap.00000000FFFFFFFF.generating"), "half").unwrap();
    assert_eq!(read(&SledCheckpointer::open(directory.path()).unwrap(), "t").await.unwrap(), COMMITS);
}

#[rstest]
#[tokio::test]
async fn a_store_without_one_of_the_small_files_is_complete(#[values("holder", "format", "conf")] file: &str) {
    let directory = tempfile::tempdir().unwrap();
    let store = SledCheckpointer::open(directory.path()).unwrap();
    write(&store, "t", COMMITS).await;
    store.close().await.unwrap();
    fs::remove_file(directory.path().join(file)).unwrap();
    assert_eq!(read(&SledCheckpointer::open(directory.path()).unwrap(), "t").await.unwrap(), COMMITS);
}

#[rstest]
#[tokio::test]
async fn a_missing_tip_is_reported_and_can_be_repaired(
    #[values(None, Some(&[][..]), Some(&[0; 40][..]))] left: Option<&[u8]>,
    #[values(false, true)] unmarked: bool,
) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = SledCheckpointer::open(&path).unwrap();
    write(&store, "t", COMMITS).await;
    store.close().await.unwrap();
    fs::remove_file(path.join("tip")).unwrap();
    if let Some(bytes) = left {
        fs::write(path.join("tip"), bytes).unwrap();
    }
    if unmarked {
        fs::remove_file(path.join("format")).unwrap();
    }
    for _ in 0..2 {
        let error = SledCheckpointer::open(&path).unwrap_err();
        assert!(matches!(error, CheckpointError::DamagedStore { .. }), "{error}");
        assert!(error.to_string().contains("its file `tip` is missing or empty"), "{error}");
        assert!(error.help().unwrap().contains("repair"), "{error:?}");
    }
    let rescued = directory.path().join("rescued");
    let _ = SledCheckpointer::repair(&path, &rescued).await; // these records are not the engine's
}

#[rstest]
#[case::truncated(&|tip: &mut Vec<u8>| tip.truncate(7))]
#[case::other(&|tip: &mut Vec<u8>| *tip = b"not a witness".to_vec())]
#[case::flipped(&|tip: &mut Vec<u8>| tip.iter_mut().skip(15).step_by(512).for_each(|byte| *byte ^= 1))]
#[tokio::test]
async fn an_unreadable_tip_is_reported(#[case] harm: &dyn Fn(&mut Vec<u8>), #[values(100, 40)] percent: u64) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let store = SledCheckpointer::open(path).unwrap();
    write(&store, "t", COMMITS).await;
    store.close().await.unwrap();
    let log = OpenOptions::new().write(true).open(path.join("db")).unwrap();
    log.set_len(log.metadata().unwrap().len() * percent / 100).unwrap();
    let mut tip = fs::read(path.join("tip")).unwrap();
    harm(&mut tip);
    fs::write(path.join("tip"), tip).unwrap();
    let error = SledCheckpointer::open(path).unwrap_err();
    assert!(error.to_string().contains("its file `tip` cannot be read"), "{error}");
    assert!(error.help().unwrap().contains("repair"), "{error:?}");
}

#[rstest]
#[tokio::test]
async fn half_a_tip_detects_a_truncated_log(#[values(0, 8192)] slot: usize) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let store = SledCheckpointer::open(path).unwrap();
    write(&store, "t", COMMITS).await;
    store.close().await.unwrap();
    let mut tip = fs::read(path.join("tip")).unwrap();
    tip[slot + 12] ^= 1;
    fs::write(path.join("tip"), tip).unwrap();
    Damage::Truncate.apply(&path.join("db"), 10);
    assert!(matches!(SledCheckpointer::open(path), Err(CheckpointError::DamagedStore { .. })));
}

/// Returns the names and contents of the files of a store, except the locked one.
fn contents(store: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let paths = fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path());
    let files = paths.filter(|path| !path.ends_with("holder"));
    let mut found: Vec<_> = files.map(|path| (path.clone(), fs::read(path).unwrap_or_default())).collect();
    found.sort();
    found
}

#[rstest]
#[case::settings("conf")]
#[case::snapshot("snap.")]
#[tokio::test]
async fn a_damaged_file_is_named_and_nothing_is_created(
    #[case] name: &str,
    #[values(&["tip"][..], &["holder"], &["format"])] gone: &[&str],
) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    for _ in 0..2 {
        let store = SledCheckpointer::open(path).unwrap();
        write(&store, if path.join("again").exists() { "u" } else { "t" }, 2).await;
        store.close().await.unwrap();
        fs::write(path.join("again"), "").unwrap();
    }
    fs::remove_file(path.join("again")).unwrap();
    let names = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let file = names.filter(|found| found.starts_with(name)).max().unwrap();
    let mut bytes = fs::read(path.join(&file)).unwrap();
    bytes[3] ^= 0x10;
    fs::write(path.join(&file), bytes).unwrap();
    let has_holder = !gone.contains(&"holder");
    gone.iter().for_each(|gone| fs::remove_file(path.join(gone)).unwrap());
    let before = contents(path);
    let error = SledCheckpointer::open(path).unwrap_err().to_string();
    let named = if gone == ["tip"] { "tip" } else { &file };
    assert!(error.contains(&format!("its file `{named}` ")), "{error}");
    assert!(contents(path) == before && path.join("holder").exists() == has_holder);
}

#[rstest]
#[tokio::test]
async fn an_empty_store_needs_no_tip(
    #[values(&["tip"][..], &["tip", "format"], &["tip", "format", "conf"])] gone: &[&str],
) {
    let directory = tempfile::tempdir().unwrap();
    drop(SledCheckpointer::open(directory.path()).unwrap());
    for file in gone {
        fs::remove_file(directory.path().join(file)).unwrap(); // as after a crash between two steps of its creation
    }
    let store = SledCheckpointer::open(directory.path()).unwrap();
    write(&store, "t", 3).await;
    store.close().await.unwrap();
    assert_eq!(read(&SledCheckpointer::open(directory.path()).unwrap(), "t").await.unwrap(), 3);
}

#[test]
fn an_unwritable_store_is_reported_and_not_changed() {
    let directory = tempfile::tempdir().unwrap();
    drop(SledCheckpointer::open(directory.path()).unwrap());
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o500)).unwrap();
    let error = SledCheckpointer::open(directory.path()).unwrap_err();
    let mode = fs::metadata(directory.path()).unwrap().permissions().mode() & 0o777;
    assert!(matches!(error, CheckpointError::NotWritable { .. }), "{error}");
    assert!(error.help().unwrap().contains("chmod"), "{error:?}");
    assert_eq!(mode, 0o500);
}

#[test]
fn a_missing_log_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    drop(SledCheckpointer::open(directory.path()).unwrap());
    fs::remove_file(directory.path().join("db")).unwrap();
    for gone in ["none", "holder", "tip"] {
        let _ = fs::remove_file(directory.path().join(gone));
        let before = contents(directory.path());
        assert!(matches!(open_and_read(directory.path().into()), Err(CheckpointError::DamagedStore { .. })));
        assert!(contents(directory.path()) == before, "{gone}");
    }
}

// --- kill ---

/// Runs in a child process only: commits until it is killed, and prints each number.
#[tokio::test]
async fn child_commits_until_killed() {
    let Some(path) = std::env::var_os(CHILD_STORE) else { return };
    let store = SledCheckpointer::open(path).unwrap();
    let lease = store.claim(&"t".into(), Claim::IfFree).await.unwrap();
    let first = store.head(&"t".into()).await.unwrap().map_or(0, |head| head.next);
    for number in first.. {
        let puts = vec![(Key::Checkpoint(CheckpointId(number)), value(number))];
        store.commit(commit(&lease, number, puts)).await.unwrap();
        writeln!(std::io::stdout(), "acknowledged {number}").unwrap();
    }
}

#[tokio::test]
async fn a_killed_process_loses_no_acknowledged_commit() {
    let directory = tempfile::tempdir().unwrap();
    let mut acknowledged = 0;
    for lines in [1, 7, 30, 64] {
        acknowledged = kill_after(directory.path(), lines).max(acknowledged);
        let store = SledCheckpointer::open(directory.path()).unwrap();
        assert!(read(&store, "t").await.unwrap() > acknowledged);
        assert!(store.claim(&"t".into(), Claim::IfFree).await.is_ok());
    }
}

/// Starts a child that writes to the store, kills it after some acknowledgements and returns the last one.
fn kill_after(store: &Path, lines: usize) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "sled::child_commits_until_killed", "--nocapture"])
        .env(CHILD_STORE, store)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut numbers = output.filter_map(|line| line.rsplit_once("acknowledged ")?.1.parse().ok());
    let seen = numbers.by_ref().take(lines).last();
    child.kill().unwrap();
    child.wait().unwrap();
    numbers.last().or(seen).expect("an acknowledgement")
}
