//! Repair of a damaged store: it restores only complete records, and never a mixture of states.

#![cfg(feature = "sled")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rstest::rstest;
use superstep::checkpoint::{CheckpointError, RepairReport, Retention, SledCheckpointer};
use superstep::prelude::*;

use crate::pad::{Approve, Builder, Graph, Pad, PadThread, approval, chain, id, note, start};

fn graph() -> Graph {
    let inner = chain(Builder::new().add_node(id("x"), note("x")).add_node(id("y"), note("y")), &["x", "y"]);
    let builder = Builder::new()
        .add_node(id("a"), note("a"))
        .add_subgraph(id("inside"), inner)
        .add_node(id("ask"), approval.asks::<Approve>());
    chain(builder, &["a", "inside", "ask"])
}

/// A store in a directory, and the content of each thread: state and next nodes, by checkpoint.
struct Original {
    directory: tempfile::TempDir,
    threads: BTreeMap<&'static str, Past>,
}

type Past = BTreeMap<u64, String>;

const THREADS: [&str; 3] = ["done", "asked", "long"];

fn threads(store: &Arc<SledCheckpointer>, name: &str) -> PadThread {
    graph().with_shared_checkpointer(Arc::clone(store) as _).thread(name)
}

async fn past(thread: &PadThread) -> Past {
    let all = thread.history().await.unwrap().all().await.unwrap();
    // The progress of an unfinished superstep is left out: an earlier state of it is correct too.
    let described = |made: &StateSnapshot<Pad>| {
        let Pad { title, notes, .. } = &*made.values;
        format!("{} {:?} {notes:?} {:?} {}", title.len(), title.chars().last(), made.next, made.step)
    };
    all.iter().map(|made| (made.id.0, described(made))).collect()
}

pub(crate) async fn close(store: Arc<SledCheckpointer>) {
    Arc::into_inner(store).unwrap().close().await.unwrap();
}

impl Original {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Arc::new(SledCheckpointer::open(directory.path().join("store")).unwrap());
        for name in THREADS {
            let thread = threads(&store, name);
            let runs = if name == "long" { 6 } else { 1 };
            for _ in 0..runs {
                let big = "tides ".repeat(if name == "long" { 20_000 } else { 1 });
                thread.clone().discard_pending().invoke(Pad::update().title(big)).await.unwrap();
                if name != "asked" {
                    thread.resume::<Approve>(true).await.unwrap();
                }
            }
        }
        let mut threads_of = BTreeMap::new();
        for name in THREADS {
            threads_of.insert(name, past(&threads(&store, name)).await);
        }
        close(store).await;
        Self { directory, threads: threads_of }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("store")
    }

    fn copy(&self, name: &str) -> PathBuf {
        let to = self.directory.path().join(name);
        copy(&self.path(), &to);
        to
    }

    /// Repairs a damaged copy, and checks that the result agrees with the original.
    async fn repaired(&self, damaged: &Path) -> Result<RepairReport, CheckpointError> {
        let to = self.directory.path().join("repaired");
        let report = SledCheckpointer::repair(damaged, &to).await?;
        let store = Arc::new(SledCheckpointer::open(&to).unwrap());
        for saved in &report.threads {
            let Some(was) = self.threads.get(saved.thread.as_str()) else {
                // The damage is in a name, which is reported as it is read, and restored under no name.
                assert!(saved.goes_on_from.is_none() && !saved.is_whole(), "{report}");
                continue;
            };
            let thread = threads(&store, saved.thread.as_str());
            let now = past(&thread).await;
            let ids: Vec<u64> = saved.whole.iter().map(|id| id.0).collect();
            assert_eq!(now.keys().copied().collect::<Vec<_>>(), ids, "{report}");
            for (id, found) in &now {
                assert_eq!(found, &was[id], "checkpoint {id} of `{}` is as it was", saved.thread);
            }
            assert_eq!(saved.goes_on_from.map(|id| id.0), now.keys().last().copied());
            if saved.is_whole() && report.has_newest == Some(true) {
                assert_eq!(&now, was, "nothing that is called whole lacks anything: {report}");
            }
            if let Some(id) = saved.goes_on_from {
                thread.state_deep().await.unwrap();
                if saved.origin_unknown {
                    let refused = thread.clone().at(id).proceed().await.unwrap_err();
                    assert!(matches!(refused, RunError::Foreign { .. }), "{refused}: {report}");
                    assert!(thread.trust().await.unwrap(), "{report}");
                }
                thread.clone().at(id).proceed().await.unwrap_or_else(|error| panic!("{error}: {report}"));
            }
        }
        close(store).await;
        fs::remove_dir_all(&to).unwrap();
        Ok(report)
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() { copy(&entry.path(), &to) } else { _ = fs::copy(entry.path(), to).unwrap() }
    }
}

#[rstest]
#[case::nothing(&[])]
#[case::conf(&["conf"])]
#[case::all_but_the_log(&["conf", "format", "holder"])]
#[tokio::test]
async fn a_store_with_an_intact_log_is_restored_completely(#[case] missing: &[&str]) {
    let original = Original::new().await;
    let damaged = original.copy("damaged");
    missing.iter().for_each(|file| fs::remove_file(damaged.join(file)).unwrap());
    for entry in fs::read_dir(&damaged).unwrap().map(Result::unwrap) {
        if entry.file_name().to_string_lossy().starts_with("snap") {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    let report = original.repaired(&damaged).await.unwrap();
    assert!(report.is_whole(), "{report}");
    insta::allow_duplicates! { insta::assert_snapshot!(report, @r"
    3 threads: 3 whole, 0 in part, 0 lost
    thread `asked`: whole, 4 checkpoints
    thread `done`: whole, 5 checkpoints
    thread `long`: whole, 30 checkpoints
    ") }
}

#[tokio::test]
async fn without_its_log_nothing_is_restored_and_no_store_is_created() {
    let original = Original::new().await;
    let damaged = original.copy("damaged");
    fs::remove_file(damaged.join("db")).unwrap();
    let to = original.directory.path().join("repaired");
    let error = SledCheckpointer::repair(&damaged, &to).await.unwrap_err();
    assert!(matches!(error, CheckpointError::DamagedStore { .. }), "{error}");
    assert!(!to.exists() && !to.with_extension("partial").exists());
    assert!(SledCheckpointer::repair(original.directory.path().join("none"), &to).await.is_err());
    assert!(SledCheckpointer::repair(original.path(), &damaged).await.is_err(), "nothing is written over");
    let open = SledCheckpointer::open(original.path()).unwrap();
    assert!(matches!(SledCheckpointer::repair(original.path(), &to).await, Err(CheckpointError::Locked { .. })));
    drop(open);
}

#[derive(Clone, Copy, Debug)]
enum Damage {
    Flip,
    Zero(usize),
    Cut,
}

impl Damage {
    fn apply(self, log: &Path, at: usize) {
        let mut bytes = fs::read(log).unwrap();
        match self {
            Self::Flip => bytes[at] ^= 0x10,
            Self::Zero(length) => {
                let end = bytes.len().min(at + length);
                bytes[at..end].fill(0);
            }
            Self::Cut => bytes.truncate(at),
        }
        fs::write(log, bytes).unwrap();
    }
}

#[rstest]
#[tokio::test]
async fn records_restored_from_a_damaged_log_are_unchanged(
    #[values(Damage::Flip, Damage::Zero(512), Damage::Zero(4096), Damage::Zero(300_000), Damage::Cut)] damage: Damage,
) {
    let original = Original::new().await;
    let log = fs::read(original.path().join("db")).unwrap();
    let used = log.iter().rposition(|byte| *byte != 0).unwrap();
    let (mut whole, mut lost, mut none) = (0, 0, 0);
    for share in 1..14 {
        let damaged = original.copy("damaged");
        // Offsets that are not aligned with anything.
        damage.apply(&damaged.join("db"), used * share / 14 + share * 131);
        match original.repaired(&damaged).await {
            Ok(report) if report.is_whole() && report.threads.len() == THREADS.len() => whole += 1,
            Ok(_) => lost += 1,
            Err(_) => none += 1,
        }
        fs::remove_dir_all(&damaged).unwrap();
    }
    eprintln!("{damage:?}: {whole} whole, {lost} in part, {none} not at all");
    assert!(whole + lost > 0, "something was restored");
}

#[tokio::test]
async fn deleted_threads_are_not_restored() {
    let original = Original::new().await;
    let store = Arc::new(SledCheckpointer::open(original.path()).unwrap());
    threads(&store, "done").delete().await.unwrap();
    threads(&store, "long").gc(&Retention::new().keep_last(2)).await.unwrap();
    close(store).await;
    let to = original.directory.path().join("repaired");
    let report = SledCheckpointer::repair(original.path(), &to).await.unwrap();
    insta::assert_snapshot!(report, @r"
    2 threads: 2 whole, 0 in part, 0 lost
    thread `asked`: whole, 4 checkpoints
    thread `long`: whole, 2 checkpoints
    ");
    let store = Arc::new(SledCheckpointer::open(&to).unwrap());
    let again = threads(&store, "asked").resume::<Approve>(true).await.unwrap();
    assert_eq!(again.state().notes.last().unwrap(), "approved: true");
    threads(&store, "long").invoke(start()).await.unwrap();
}

/// Flips a bit at every occurrence of a text.
pub(crate) fn wipe(log: &Path, text: &[u8]) -> usize {
    let mut bytes = fs::read(log).unwrap();
    let places: Vec<usize> =
        bytes.windows(text.len()).enumerate().filter(|(_, at)| *at == text).map(|(at, _)| at).collect();
    places.iter().for_each(|at| bytes[*at] ^= 1);
    fs::write(log, bytes).unwrap();
    places.len()
}

#[tokio::test]
async fn a_thread_resumes_from_before_its_lost_records() {
    let directory = tempfile::tempdir().unwrap();
    let (path, to) = (directory.path().join("store"), directory.path().join("repaired"));
    let store = Arc::new(SledCheckpointer::open(&path).unwrap());
    for title in ["first words", "second words"] {
        let thread = threads(&store, "two");
        thread.invoke(Pad::update().title(title)).await.unwrap();
        thread.resume::<Approve>(true).await.unwrap();
    }
    threads(&store, "one").invoke(Pad::update().title("lost words")).await.unwrap();
    close(store).await;
    assert!(wipe(&path.join("db"), b"second words") > 0 && wipe(&path.join("db"), b"lost words") > 0);
    let report = SledCheckpointer::repair(&path, &to).await.unwrap();
    assert!(!report.is_whole());
    insta::assert_snapshot!(report, @r"
    2 threads: 0 whole, 1 in part, 1 lost
    thread `one`: nothing could be restored
      checkpoint 1 is lost: row 1/16777215/0 is missing
      checkpoint 2 is lost: row 1/16777215/0 is missing
      checkpoint 3 is lost: row 1/16777215/0 is missing
      checkpoint 8 is lost: row 1/16777215/0 is missing
      cannot be read: row 1/16777215/0
    thread `two`: continues from checkpoint 10, 5 checkpoints
      checkpoint 11 is lost: row 11/16777215/0 is missing
      checkpoint 12 is lost: row 11/16777215/0 is missing
      checkpoint 13 is lost: row 11/16777215/0 is missing
      checkpoint 18 is lost: row 11/16777215/0 is missing
      checkpoint 20 is lost: row 11/16777215/0 is missing
      cannot be read: row 11/16777215/0
      what ran after checkpoint 10 runs again
    ");
    let store = Arc::new(SledCheckpointer::open(&to).unwrap());
    let thread = threads(&store, "two");
    assert_eq!(thread.state().await.unwrap().unwrap().values.title, "first words");
    let Outcome::Interrupted(_) = thread.invoke(Pad::update().title("third words")).await.unwrap() else { panic!() };
    let made = thread.state().await.unwrap().unwrap().id;
    let lost = report.threads.iter().flat_map(|thread| &thread.lost).map(|lost| lost.checkpoint).max().unwrap();
    assert!(made > lost, "no number is given out again");
}

#[tokio::test]
async fn a_thread_whose_origin_is_lost_runs_once_it_is_trusted() {
    let directory = tempfile::tempdir().unwrap();
    let (path, to) = (directory.path().join("store"), directory.path().join("repaired"));
    let named = |store: &Arc<SledCheckpointer>| {
        graph().named("cartography").with_shared_checkpointer(Arc::clone(store) as _).thread("asked")
    };
    let store = Arc::new(SledCheckpointer::open(&path).unwrap());
    named(&store).invoke(start()).await.unwrap();
    close(store).await;
    assert!(wipe(&path.join("db"), b"cartography") > 0, "the record of the origin has the name of the graph");
    let report = SledCheckpointer::repair(&path, &to).await.unwrap();
    assert!(report.threads[0].origin_unknown && !report.is_whole(), "{report}");
    let store = Arc::new(SledCheckpointer::open(&to).unwrap());
    let thread = named(&store);
    let refused = thread.resume::<Approve>(true).await.unwrap_err();
    assert!(matches!(refused, RunError::Foreign { .. }), "{refused}");
    assert!(thread.trust().await.unwrap());
    assert!(matches!(thread.resume::<Approve>(true).await.unwrap(), Outcome::Finished(_)));
}

#[tokio::test]
async fn a_store_tracked_by_git_is_not_run_and_neither_is_its_repair() {
    let original = Original::new().await;
    let directory = original.directory.path();
    for words in [&["init", "-q"][..], &["add", "-f", "store"]] {
        let git = std::process::Command::new("git").current_dir(directory).args(words).status().unwrap();
        assert!(git.success());
    }
    let repaired = directory.join("repaired");
    SledCheckpointer::repair(original.path(), &repaired).await.unwrap();
    for path in [original.path(), repaired] {
        let store = Arc::new(SledCheckpointer::open(&path).unwrap());
        let thread = threads(&store, "asked");
        assert_eq!(past(&thread).await, original.threads["asked"]);
        let refused = thread.resume::<Approve>(true).await.unwrap_err();
        assert!(matches!(refused, RunError::Foreign { .. }), "{refused}");
        assert!(thread.trust().await.unwrap());
        assert!(matches!(thread.resume::<Approve>(true).await.unwrap(), Outcome::Finished(_)));
        drop(thread);
        close(store).await;
    }
}
