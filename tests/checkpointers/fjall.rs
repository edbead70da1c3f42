//! Promises of the embedded store on fjall beyond those that every checkpointer makes.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rstest::rstest;
use superstep::checkpoint::{
    CheckpointError, Checkpointer, Claim, Commit, FjallCheckpointer, FjallOptions, Key, Order, Retention, RowId,
    StoreKind, ThreadHead, gc,
};
use superstep::prelude::*;

use crate::filled::{everything, fill};
use crate::read_only::{Mount, copy};
use crate::written::written_length;

async fn filled(path: &Path) {
    let store = FjallCheckpointer::open(path).unwrap();
    fill(&store, "t", 0..3).await;
    store.close().await.unwrap();
}

/// Returns the files under a directory with their contents.
fn contents(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = vec![];
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(contents(&path)),
            false => found.push((path.clone(), fs::read(&path).unwrap())),
        }
    }
    found.sort();
    found
}

fn refused(path: &Path) -> CheckpointError {
    FjallCheckpointer::open(path).unwrap_err()
}

#[tokio::test]
async fn a_store_of_the_other_kind_is_named_and_not_changed() {
    let directory = tempfile::tempdir().unwrap();
    let (fjall, sled) = (directory.path().join("fjall"), directory.path().join("sled"));
    filled(&fjall).await;
    SledCheckpointer::open(&sled).unwrap().close().await.unwrap();
    assert_eq!((StoreKind::of(&fjall), StoreKind::of(&sled)), (Some(StoreKind::Fjall), Some(StoreKind::Sled)));
    assert_eq!(StoreKind::of(directory.path()), None);
    let before = contents(&fjall);
    let error = SledCheckpointer::open(&fjall).unwrap_err();
    assert!(error.to_string().ends_with("is a fjall store, and was opened as a sled store"), "{error}");
    assert!(error.help().unwrap().contains("`fjall:`"));
    assert!(SledCheckpointer::open_read_only(&fjall).is_err());
    assert!(matches!(refused(&sled), CheckpointError::OtherStore { found: "sled", .. }));
    assert!(contents(&fjall) == before && StoreKind::of(&sled) == Some(StoreKind::Sled));
}

#[tokio::test]
async fn only_the_owner_may_read_the_store_and_one_process_opens_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = FjallCheckpointer::open(&path).unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert!(matches!(refused(&path), CheckpointError::Locked { .. }));
    store.close().await.unwrap();
    FjallCheckpointer::open(&path).unwrap();
}

#[tokio::test]
async fn links_are_refused_and_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    filled(&path).await;
    for name in ["lock", "9.jnl", "keyspaces/1/tables/9"] {
        let _ = fs::remove_file(path.join(name));
        std::os::unix::fs::symlink(directory.path().join("notes"), path.join(name)).unwrap();
        let error = refused(&path);
        assert!(matches!(error, CheckpointError::UnsafeStore { .. }), "{error}");
        fs::remove_file(path.join(name)).unwrap();
    }
    assert!(!directory.path().join("notes").exists());
}

#[tokio::test]
async fn readers_see_the_acknowledged_state_during_a_slow_sync() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(FjallCheckpointer::open(directory.path()).unwrap());
    fill(&*store, "t", 0..1).await;
    let faults = store.faults();
    let writer = {
        let store = Arc::clone(&store);
        faults
            .hold_syncs(|| {
                let writer = tokio::spawn(async move { fill(&*store, "u", 0..1).await });
                std::thread::sleep(std::time::Duration::from_millis(1));
                writer
            })
            .unwrap()
    };
    writer.await.unwrap();
    assert_eq!(everything(&*store, "u").await.1, 2);
}

#[tokio::test]
async fn a_record_that_became_smaller_is_removed_whole() {
    let directory = tempfile::tempdir().unwrap();
    let store = FjallCheckpointer::open(directory.path()).unwrap();
    let lease = store.claim(&"t".into(), Claim::IfFree).await.unwrap();
    let commit = async |puts: Vec<(Key, Vec<u8>)>, deletes| {
        let head = ThreadHead { checkpoint: None, next: 0, birth: 5 };
        let (thread, epoch) = ("t".into(), lease.epoch());
        store.commit(Commit { deletes, ..Commit::new(thread, epoch, None, head).with_records(puts) }).await.unwrap();
        let keys = Key::Shape(0)..=Key::Shape(u64::MAX);
        let found = store.scan(&"t".into(), keys, Order::Ascending, 9).await.unwrap();
        found.into_iter().map(|(_, value)| value.len()).collect::<Vec<_>>()
    };
    assert_eq!(commit(vec![(Key::Shape(1), vec![7; 200_000])], vec![]).await, [200_000]);
    assert_eq!(commit(vec![(Key::Shape(1), vec![8; 40_000]), (Key::Shape(2), vec![9])], vec![]).await, [40_000, 1]);
    assert_eq!(commit(vec![], vec![Key::Shape(1)]).await, [1]);
    assert_eq!(commit(vec![(Key::Shape(1), vec![7; 70_000])], vec![]).await, [70_000, 1]);
}

#[tokio::test]
async fn an_interrupted_creation_does_not_prevent_opening() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::create_dir_all(path.join("keyspaces/0/tables")).unwrap();
    for name in ["holder", "lock", "0.jnl", "version", "tip"] {
        fs::write(path.join(name), "").unwrap();
    }
    filled(path).await;
    assert_eq!(everything(&FjallCheckpointer::open(path).unwrap(), "t").await.1, 6);
}

#[rstest]
#[case("version", "its file `version` is missing")]
#[case("keyspaces/0/current", "its file `keyspaces/0/current` is missing")]
#[case("keyspaces/1/current", "its file `keyspaces/1/current` is missing")]
#[case("0.jnl", "its journals are missing")]
#[case("tip", "its file `tip` is missing or empty")]
#[tokio::test]
async fn a_missing_file_is_named_and_nothing_is_created(#[case] name: &str, #[case] reason: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    filled(&path).await;
    fs::remove_file(path.join(name)).unwrap();
    let before = contents(&path);
    let error = refused(&path).to_string();
    assert!(error.contains(reason), "{error}");
    assert!(contents(&path).iter().map(|(name, _)| name).eq(before.iter().map(|(name, _)| name)));
}

/// Closes a store whose rows are all in tables.
async fn compacted(path: &Path) {
    filled(path).await;
    FjallCheckpointer::compact(path).unwrap();
}

#[tokio::test]
async fn a_missing_table_is_named_and_nothing_is_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    compacted(&path).await;
    let tables = fs::read_dir(path.join("keyspaces/1/tables")).unwrap();
    let current = fs::read(path.join("keyspaces/1/current")).unwrap();
    let list = format!("keyspaces/1/v{}", u64::from_le_bytes(*current.first_chunk().unwrap()));
    let files: Vec<PathBuf> = tables.map(|entry| entry.unwrap().path()).chain([path.join(list)]).collect();
    assert!(files.len() > 1, "{files:?}");
    for file in files {
        let bytes = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        let before = contents(&path);
        let error = refused(&path).to_string();
        let name = file.strip_prefix(&path).unwrap().display();
        assert!(error.contains(&format!("is damaged: its file `{name}` is missing")), "{error}");
        let changed = contents(&path).into_iter().zip(before).filter(|(now, before)| now != before);
        assert!(changed.map(|((name, _), _)| name).all(|name| name.ends_with("holder")));
        fs::write(&file, bytes).unwrap();
    }
    assert_eq!(everything(&FjallCheckpointer::open(&path).unwrap(), "t").await.1, 6);
}

#[rstest]
#[case::nothing_in_tables(false)]
#[case::older_commits_in_tables(true)]
#[tokio::test]
async fn a_journal_of_zeros_is_reported_and_not_changed(#[case] has_tables: bool) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    filled(&path).await;
    if has_tables {
        FjallCheckpointer::compact(&path).unwrap();
        let store = FjallCheckpointer::open(&path).unwrap();
        fill(&store, "t", 3..5).await;
        store.close().await.unwrap();
    }
    let length = fs::metadata(path.join("0.jnl")).unwrap().len();
    fs::write(path.join("0.jnl"), vec![0; length as usize]).unwrap();
    let before = contents(&path);
    let error = refused(&path).to_string();
    assert!(error.contains("its log ends before the newest acknowledged commit"), "{error}");
    assert!(FjallCheckpointer::open_read_only(&path).is_err());
    let changed = contents(&path).into_iter().zip(before).filter(|(now, before)| now != before);
    assert!(changed.map(|((name, _), _)| name).all(|name| name.ends_with("holder")));
}

#[tokio::test]
async fn a_store_that_lost_its_small_files_is_not_taken_for_a_new_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    filled(&path).await;
    fs::remove_file(path.join("tip")).unwrap();
    fs::remove_file(path.join("format")).unwrap();
    let before = contents(&path).len();
    assert!(refused(&path).to_string().contains("its file `tip` is missing or empty"));
    assert_eq!(contents(&path).len(), before);
}

#[rstest]
#[case("holder")]
#[case("lock")]
#[case("format")]
#[tokio::test]
async fn a_store_without_one_of_the_small_files_is_complete(#[case] name: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    filled(&path).await;
    fs::remove_file(path.join(name)).unwrap();
    if name != "format" {
        assert_eq!(everything(&FjallCheckpointer::open(&path).unwrap(), "t").await.1, 6);
    } else {
        fs::remove_file(path.join("holder")).unwrap();
        assert!(matches!(refused(&path), CheckpointError::Io { .. })); // a directory of somebody else
    }
}

/// Length of the journal without the zeros at its end.
fn journal_end(path: &Path) -> u64 {
    let written = written_length(&fs::read(path.join("0.jnl")).unwrap());
    assert!(written > 0, "the journal is empty");
    written
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Draft {
    text: String,
}

#[derive(NodeId)]
enum Step {
    Write,
}

async fn write(_: Arc<Draft>, _: Ctx) -> Result<DraftUpdate, NodeError> {
    Ok(Draft::update().text("tides ".repeat(9000)))
}

/// Runs threads of a graph in a new store, and leaves it as a kill does.
async fn written(path: &Path) {
    let live = tempfile::tempdir().unwrap();
    let store = Arc::new(FjallCheckpointer::open(live.path()).unwrap());
    let graph = StateGraph::new().add_node(Step::Write, write).add_edge(START, Step::Write).compile().unwrap();
    let graph = graph.with_shared_checkpointer(store);
    for nth in 0..9 {
        graph.thread(format!("essay {nth}")).invoke(Draft::update()).await.unwrap();
    }
    copy(live.path(), path);
}

#[rstest]
#[case::flipped(40)]
#[case::flipped_late(97)]
#[tokio::test]
async fn a_damaged_journal_is_not_modified_and_can_be_repaired(#[case] percent: u64) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    written(&path).await;
    let journal = OpenOptions::new().read(true).write(true).open(path.join("0.jnl")).unwrap();
    let at = journal_end(&path) * percent / 100;
    let mut byte = [0];
    journal.read_exact_at(&mut byte, at).unwrap();
    journal.write_all_at(&[byte[0] ^ 16], at).unwrap();
    let before = contents(&path);
    let error = refused(&path).to_string();
    assert!(
        error.contains("is damaged: its file `0.jnl` cannot be read at byte") || error.contains("ends before"),
        "{error}"
    );
    let changed = contents(&path).into_iter().zip(before).filter(|(now, before)| now != before);
    assert!(changed.map(|((name, _), _)| name).all(|name| name.ends_with("holder")));
    let new = directory.path().join("new");
    let report = FjallCheckpointer::repair(&path, &new).await.unwrap();
    let whole = report.threads.iter().filter(|thread| thread.goes_on_from.is_some()).count();
    assert!(whole >= 8, "{report}");
    assert_eq!(FjallCheckpointer::open(new).unwrap().threads(None, 99).await.unwrap().len(), whole);
}

#[rstest]
#[case::a_half_written_batch(b"\x01\x05\x00\x00\x00rest")]
#[case::an_unfinished_tag(b"\x01")]
#[tokio::test]
async fn a_write_that_a_kill_cut_off_is_dropped(#[case] torn: &[u8]) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    filled(&path).await;
    let journal = OpenOptions::new().write(true).open(path.join("0.jnl")).unwrap();
    journal.write_all_at(torn, journal_end(&path)).unwrap();
    for _ in 0..2 {
        let store = FjallCheckpointer::open(&path).unwrap();
        assert_eq!(everything(&store, "t").await.1, 6);
        store.close().await.unwrap();
    }
}

#[rstest]
#[case::all(100)]
#[case::half(50)]
#[case::one_byte(1)]
#[tokio::test]
async fn a_truncated_journal_is_reported(#[case] percent: u64) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    filled(&path).await;
    let end = journal_end(&path);
    let journal = OpenOptions::new().write(true).open(path.join("0.jnl")).unwrap();
    journal.set_len(end - (end * percent / 100).max(1)).unwrap();
    let error = refused(&path);
    assert!(matches!(error, CheckpointError::DamagedStore { .. }), "{error}");
}

/// A kill may come between the write of a table and the emptying of the journals.
#[rstest]
#[case::few(0..3, false)]
#[case::many(0..12, true)]
#[tokio::test]
async fn a_clean_end_leaves_little_to_read_again(#[case] checkpoints: std::ops::Range<u64>, #[case] in_table: bool) {
    let directory = tempfile::tempdir().unwrap();
    let [path, killed, between] = ["store", "killed", "between"].map(|name| directory.path().join(name));
    let store = FjallCheckpointer::open(&path).unwrap();
    fill(&store, "t", checkpoints).await;
    let all = everything(&store, "t").await;
    copy(&path, &killed);
    store.close().await.unwrap();
    let length = |path: &Path| fs::metadata(path.join("0.jnl")).unwrap().len();
    assert_eq!(length(&path), if in_table { 0 } else { journal_end(&killed) });
    assert_eq!(fs::read_dir(path.join("keyspaces/1/tables")).unwrap().count() > 0, in_table);
    copy(&path, &between);
    fs::copy(killed.join("0.jnl"), between.join("0.jnl")).unwrap();
    for path in [path, between, killed] {
        for _ in 0..2 {
            let store = FjallCheckpointer::open(&path).unwrap();
            assert_eq!(everything(&store, "t").await, all);
            store.close().await.unwrap();
        }
        assert!(length(&path) < 1 << 20, "{}", length(&path));
    }
}

#[tokio::test]
async fn a_store_that_was_moved_leaves_another_in_its_place_alone() {
    let directory = tempfile::tempdir().unwrap();
    let [path, moved] = ["store", "moved"].map(|name| directory.path().join(name));
    let store = FjallCheckpointer::open(&path).unwrap();
    fill(&store, "t", 0..12).await;
    let all = everything(&store, "t").await;
    fs::rename(&path, &moved).unwrap();
    let other = FjallCheckpointer::open(&path).unwrap();
    fill(&other, "t", 0..3).await;
    let before = contents(&path);
    store.close().await.unwrap();
    assert!(contents(&path) == before);
    other.close().await.unwrap();
    assert_eq!(everything(&FjallCheckpointer::open(&path).unwrap(), "t").await.1, 6);
    assert_eq!(everything(&FjallCheckpointer::open(&moved).unwrap(), "t").await, all);
}

#[tokio::test]
async fn compaction_reclaims_space_and_keeps_every_record() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = FjallCheckpointer::open(&path).unwrap();
    fill(&store, "gone", 0..900).await;
    fill(&store, "kept", 0..9).await;
    let lease = store.claim(&"gone".into(), Claim::IfFree).await.unwrap();
    store.delete_thread(&lease).await.unwrap();
    let before = everything(&store, "kept").await;
    assert!(matches!(FjallCheckpointer::compact(&path), Err(CheckpointError::Locked { .. })));
    drop(lease);
    store.close().await.unwrap();
    let report = FjallCheckpointer::compact(&path).unwrap();
    assert!(report.before > 30_000_000 && report.after < 3_000_000, "{report}");
    for opening in 0..2 {
        let store = FjallCheckpointer::open(&path).unwrap();
        assert_eq!(store.threads(None, 9).await.unwrap().len(), 1 + opening);
        assert_eq!(everything(&store, "kept").await, before);
        fill(&store, &format!("more {opening}"), 0..2).await;
        store.close().await.unwrap();
    }
    assert_eq!(FjallCheckpointer::open(&path).unwrap().threads(None, 9).await.unwrap().len(), 3);
    assert!(FjallCheckpointer::compact(directory.path().join("none")).is_err());
}

/// Fills a store, and splits its journal as a database does that cannot write tables as fast as it is written to.
async fn with_full_journals(path: &Path, journals: u64) {
    let (live, mut ends) = (tempfile::tempdir().unwrap(), vec![]);
    let store = FjallCheckpointer::open(live.path()).unwrap();
    for nth in 0..journals {
        fill(&store, "t", nth * 2..nth * 2 + 2).await;
        ends.push(journal_end(live.path()) as usize);
    }
    copy(live.path(), path);
    let journal = fs::read(path.join("0.jnl")).unwrap();
    let mut start = 0;
    for (nth, end) in ends.into_iter().enumerate() {
        fs::write(path.join(format!("{nth}.jnl")), &journal[start..end]).unwrap();
        start = end;
    }
}

/// With little space, nothing works in the background.
#[rstest]
#[case::much_space(None)]
#[case::little_space(Some(120))]
#[tokio::test]
async fn a_store_with_many_full_journals_can_be_swept_and_compacted(#[case] megabytes: Option<u32>) {
    let directory = tempfile::tempdir().unwrap();
    let mounted = megabytes.map(|megabytes| Mount::sized(directory.path(), megabytes));
    if matches!(mounted, Some(None)) {
        return; // only root may mount a file system
    }
    let path = directory.path().join("store");
    with_full_journals(&path, 6).await;
    let options = FjallOptions::default().spend_reserve();
    let store = FjallCheckpointer::open_with(&path, options).unwrap();
    let swept = gc(&store, &"t".into(), &Retention::new().keep_last(2)).await.unwrap();
    assert_eq!((swept.checkpoints, swept.kept), (10, 2));
    let left = everything(&store, "t").await;
    store.close().await.unwrap();
    FjallCheckpointer::compact(&path).unwrap();
    let store = FjallCheckpointer::open(&path).unwrap();
    assert_eq!(everything(&store, "t").await, left);
}

#[tokio::test]
async fn records_leave_memory_when_nothing_works_in_the_background() {
    let directory = tempfile::tempdir().unwrap();
    let Some(_mounted) = Mount::sized(directory.path(), 120) else { return };
    let path = directory.path().join("store");
    let options = FjallOptions::default().spend_reserve();
    let store = FjallCheckpointer::open_with(&path, options).unwrap();
    let lease = store.claim(&"t".into(), Claim::IfFree).await.unwrap();
    for number in 0..36 {
        let id = CheckpointId(number);
        let puts = vec![(Key::Row(RowId { checkpoint: id, task: 0, slot: 0 }), vec![7; 1 << 20])];
        let (expected, head) =
            (number.checked_sub(1).map(CheckpointId), ThreadHead { checkpoint: Some(id), next: number + 1, birth: 5 });
        let commit = Commit::new("t".into(), lease.epoch(), expected, head).with_records(puts);
        store.commit(commit).await.unwrap();
    }
    assert_ne!(fs::read_dir(path.join("keyspaces/1/tables")).unwrap().count(), 0);
    drop(lease);
    store.close().await.unwrap();
    assert_eq!(everything(&FjallCheckpointer::open(&path).unwrap(), "t").await.1, 36);
}
