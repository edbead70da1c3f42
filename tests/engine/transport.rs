//! A thread as a file: its content, the channels left out, the files that are refused, and what an imported thread may
//! do.

use std::io::{self, Write};
use std::sync::Arc;

use rstest::rstest;
use superstep::checkpoint::{
    CheckpointError, Checkpointer, ExportOptions, FailingCheckpointer, ImportOptions, ImportReport, Retention,
    export_thread, import_thread,
};
use superstep::graph::{Boxed, CompiledGraph, Name};
use superstep::prelude::*;

use crate::pad::{Approve, Builder, Ended, Graph, Pad, Tally, approval, chain, everything, id, note, start};
use crate::stores::{Counting, Store};

fn asking() -> Graph {
    let builder = Builder::new().add_node(id("a"), note("a")).add_node(id("ask"), approval.asks::<Approve>());
    chain(builder, &["a", "ask"])
}

async fn exported(store: &dyn Checkpointer) -> Vec<u8> {
    let mut file = vec![];
    export_thread(store, &"t".into(), &ExportOptions::new(), &mut file).await.unwrap();
    file
}

async fn imported(store: &dyn Checkpointer, file: &[u8]) -> Result<ImportReport, CheckpointError> {
    import_thread(store, file, &ImportOptions::new()).await
}

async fn interrupted() -> (Store, Vec<u8>) {
    let store = Store::memory();
    let thread = store.thread(&asking());
    thread.invoke(start()).await.unwrap();
    thread.resume::<Approve>(true).await.unwrap();
    thread.clone().at(CheckpointId(2)).tag("here").await.unwrap();
    thread.invoke(start()).await.unwrap();
    let file = exported(&*store.store).await;
    (store, file)
}

#[rstest]
#[case::memory(Store::memory())]
#[case::disk(Store::disk())]
#[tokio::test]
async fn a_thread_reads_the_same_in_another_store(#[case] elsewhere: Store) {
    let (store, file) = interrupted().await;
    let report = imported(&*elsewhere.store, &file).await.unwrap();
    assert_eq!((report.thread.as_str(), report.was.as_str()), ("t", "t"));
    let there = elsewhere.thread(&asking());
    let history = |thread: crate::pad::PadThread| async move {
        let all = thread.history().await.unwrap().all().await.unwrap();
        all.iter().map(|made| (made.id, made.step, made.next.clone(), made.values.notes.clone())).collect::<Vec<_>>()
    };
    assert_eq!(history(there.clone()).await, history(store.thread(&asking())).await);
    assert_eq!(there.tags().await.unwrap(), [("here".to_owned(), CheckpointId(2))]);
    assert!(matches!(there.status().await.unwrap(), Status::Interrupted { .. }));
    assert!(!everything(&there).await.is_empty());
}

#[tokio::test]
async fn a_foreign_thread_is_read_and_not_run_until_it_is_trusted() {
    let (store, file) = interrupted().await;
    let elsewhere = Store::memory();
    imported(&*elsewhere.store, &file).await.unwrap();
    let thread = elsewhere.thread(&asking());
    let refused = [
        thread.proceed().await.unwrap_err(),
        thread.resume::<Approve>(true).await.unwrap_err(),
        thread.clone().discard_pending().invoke(start()).await.unwrap_err(),
        thread.update_state(Pad::update().title("moons")).await.unwrap_err(),
        thread.clone().at(CheckpointId(2)).proceed().await.unwrap_err(),
        thread.retry().await.unwrap_err(),
    ];
    assert!(refused.iter().all(|error| matches!(error, RunError::Foreign { .. })), "{refused:?}");
    insta::assert_debug_snapshot!(refused[0], @r"
    thread `t` was created elsewhere and is not trusted: it can be inspected and replayed from its records, but not run, answered or forked
     help: if you trust its author and its content, call `thread.trust()` (`--trust`)
    ");
    // An answer to the original thread is not an answer to the copy.
    let Status::Interrupted { questions } = store.thread(&asking()).status().await.unwrap() else { panic!() };
    assert!(thread.trust().await.unwrap());
    assert!(!thread.trust().await.unwrap());
    let strange = Answer::new::<Approve>(&true).to(questions[0].id());
    assert!(matches!(thread.answer(strange).await.unwrap_err(), RunError::UnknownQuestion { .. }));
    let outcome = thread.resume::<Approve>(false).await.unwrap();
    assert_eq!(outcome.state().notes, ["a", "approved: true", "a", "approved: false"]);
}

#[tokio::test]
async fn a_name_that_is_used_is_refused_and_another_can_be_given() {
    let (store, file) = interrupted().await;
    let before = everything(&store.thread(&asking())).await;
    let error = imported(&*store.store, &file).await.unwrap_err();
    insta::assert_debug_snapshot!(error, @r"
    there is a thread `t` already
     help: choose another name, or delete that thread first
    ");
    let options = ImportOptions::new().with_name("copy");
    import_thread(&*store.store, &file[..], &options).await.unwrap();
    assert_eq!(everything(&store.thread(&asking())).await, before);
    let names = store.store.threads(None, 9).await.unwrap();
    assert_eq!(names.iter().map(|name| name.as_str()).collect::<Vec<_>>(), ["t", "copy"]);
}

#[tokio::test]
async fn an_import_cut_at_any_commit_leaves_no_thread_and_can_be_repeated() {
    let (_, file) = interrupted().await;
    let elsewhere = Store::memory();
    let failing = FailingCheckpointer::new(Arc::clone(&elsewhere.store), 1);
    assert!(imported(&failing, &file).await.is_err());
    assert!(elsewhere.store.threads(None, 1).await.unwrap().is_empty());
    imported(&*elsewhere.store, &file).await.unwrap();
}

#[rstest]
#[case::empty(0)]
#[case::magic(5)]
#[case::header(40)]
#[case::records(3000)]
#[tokio::test]
async fn a_truncated_file_is_refused(#[case] keep: usize) {
    let (_, file) = interrupted().await;
    let store = Store::memory();
    let error = imported(&*store.store, &file[..keep.min(file.len() - 1)]).await.unwrap_err();
    assert!(matches!(error, CheckpointError::BadImport { .. }), "{error}");
    assert!(store.store.threads(None, 1).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_file_with_a_flipped_bit_is_refused() {
    let (_, file) = interrupted().await;
    let store = Store::memory();
    for at in (0..file.len()).step_by(7) {
        let mut file = file.clone();
        file[at] ^= 1 << (at % 8);
        let error = imported(&*store.store, &file).await.unwrap_err();
        assert!(
            matches!(error, CheckpointError::BadImport { .. } | CheckpointError::Format { .. }),
            "byte {at}: {error}"
        );
    }
    assert!(store.store.threads(None, 1).await.unwrap().is_empty());
}

#[tokio::test]
async fn limits_hold() {
    let (_, file) = interrupted().await;
    let store = Store::memory();
    let small = ImportOptions::new().max_bytes(file.len() as u64 - 1);
    assert!(import_thread(&*store.store, &file[..], &small).await.unwrap_err().to_string().contains("more than"));
    let few = ImportOptions::new().max_records(3);
    let error = import_thread(&*store.store, &file[..], &few).await.unwrap_err();
    assert!(error.to_string().contains("records, more than the limit of 3"), "{error}");
    let unnamed = ImportOptions::new().with_name("");
    assert!(import_thread(&*store.store, &file[..], &unnamed).await.is_err());
}

/// A node that pays once, then asks.
fn paying(tally: &Tally) -> Graph {
    let tally = tally.clone();
    let pay = move |_: Arc<Pad>, ctx: Ctx| -> Boxed<'static, Ended> {
        let tally = tally.clone();
        Box::pin(async move {
            let body = |_| async { Ok::<_, NodeError>(tally.add("pay")) };
            let receipt: usize = ctx.effect("pay", &7, body).await?;
            let approved = ctx.interrupt(Approve)?;
            Ok(Pad::update().notes([format!("{receipt} {approved}")]))
        })
    };
    chain(Builder::new().add_node(id("pay"), pay.asks::<Approve>()), &["pay"])
}

#[tokio::test]
async fn a_journal_is_exported_with_its_thread() {
    let (store, elsewhere, tally) = (Store::memory(), Store::memory(), Tally::default());
    let thread = store.thread(&paying(&tally));
    thread.invoke(start()).await.unwrap();
    thread.gc(&Retention::new().keep_last(0)).await.unwrap();
    imported(&*elsewhere.store, &exported(&*store.store).await).await.unwrap();
    let there = elsewhere.thread(&paying(&tally));
    there.trust().await.unwrap();
    for thread in [thread, there] {
        assert_eq!(thread.resume::<Approve>(true).await.unwrap().state().notes, ["1 true"]);
    }
    assert_eq!(tally.count(), 1, "it was paid once");
}

// --- secrets ---

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Vault {
    title: String,
    #[channel(secret)]
    token: String,
    #[channel(append, secret)]
    codes: Vec<String>,
}

type VaultGraph = CompiledGraph<Vault, Name>;

fn vault() -> VaultGraph {
    async fn fetch(_: Arc<Vault>, _: Ctx) -> Result<VaultUpdate, NodeError> {
        Ok(Vault::update().token("hunter2-fetched").codes(["code-hunter2"]))
    }
    async fn fail(_: Arc<Vault>, _: Ctx) -> Result<VaultUpdate, NodeError> {
        Err(NodeError::permanent("no luck"))
    }
    let inner = StateGraph::<Vault, Name>::new().add_node(id("fetch"), fetch).add_sequence([id("fetch")]);
    let builder = StateGraph::<Vault, Name>::new()
        .add_node(id("fetch"), fetch)
        .add_subgraph(id("inside"), inner.compile().unwrap())
        .add_node(id("fail"), fail)
        .add_edge(START, id("fetch"))
        .add_edge(id("fetch"), [id("inside"), id("fail")]);
    builder.compile().unwrap()
}

#[tokio::test]
async fn secret_channels_are_not_exported_and_the_thread_still_loads() {
    let store = Store::memory();
    let thread = |store: &Store| vault().with_shared_checkpointer(Arc::clone(&store.store)).thread("t");
    let input = Vault::update().title("open").token("hunter2-input").codes(["hunter2-begin"]);
    thread(&store).invoke(input).await.unwrap_err();
    for secrets in [false, true] {
        let options = if secrets { ExportOptions::new().with_secrets() } else { ExportOptions::new() };
        let mut file = vec![];
        let report = export_thread(&*store.store, &"t".into(), &options, &mut file).await.unwrap();
        let leaks = file.windows(7).any(|window| window == b"hunter2");
        assert_eq!((leaks, report.redacted.is_empty()), (secrets, secrets), "{report}");
        let elsewhere = Store::memory();
        imported(&*elsewhere.store, &file).await.unwrap();
        let there = thread(&elsewhere);
        let state = there.state_deep().await.unwrap().unwrap();
        assert_eq!((state.values.title.as_str(), state.values.token.is_empty()), ("open", !secrets));
        assert_eq!(there.history().await.unwrap().all().await.unwrap().len(), 3);
        assert!(there.trust().await.unwrap());
        let again = there.proceed().await.unwrap_err();
        assert!(matches!(again, RunError::Node { .. }), "it goes on to where it fails: {again}");
    }
}

/// Creates a thread of checkpoints with a different value of 1 MiB each.
async fn large(store: &Store, checkpoints: usize) {
    let graph = chain(Builder::new().add_node(id("a"), note("a")), &["a"]);
    for nth in 0..checkpoints / 2 {
        let title = format!("{nth:08}").repeat(1 << 17);
        store.thread(&graph).invoke(Pad::update().title(title)).await.unwrap();
    }
}

#[rstest]
#[tokio::test]
async fn a_thread_of_any_size_is_exported_a_few_values_at_a_time(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Store::memory(), Store::disk())] elsewhere: Store,
) {
    const MIB: usize = 1 << 20;
    large(&store, 60).await;
    let counting = Counting::new(&store);
    let file = exported(&*counting).await;
    assert!(file.len() > 30 * MIB && counting.largest() < 10 * MIB, "{} of {}", counting.largest(), file.len());
    let report = imported(&*elsewhere.store, &file).await.unwrap();
    assert_eq!(report.checkpoints, 90);
}

/// A file that lets a run continue while it is written.
struct Meddling {
    file: Vec<u8>,
    run: Option<crate::pad::PadThread>,
}

impl Write for Meddling {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(thread) = self.run.take() {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            std::thread::spawn(move || runtime.block_on(thread.invoke(start())).unwrap()).join().unwrap();
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn an_exported_thread_is_a_consistent_snapshot() {
    let (store, elsewhere) = (Store::memory(), Store::memory());
    let graph = chain(Builder::new().add_node(id("a"), note("a")), &["a"]);
    store.thread(&graph).invoke(start()).await.unwrap();
    let before = everything(&store.thread(&graph)).await;
    let mut file = Meddling { file: vec![], run: Some(store.thread(&graph)) };
    export_thread(&*store.store, &"t".into(), &ExportOptions::new(), &mut file).await.unwrap();
    assert_ne!(everything(&store.thread(&graph)).await, before);
    imported(&*elsewhere.store, &file.file).await.unwrap();
    assert_eq!(everything(&elsewhere.thread(&graph)).await, before);
}

#[tokio::test]
async fn a_long_thread_is_exported_piece_by_piece() {
    let store = Store::memory();
    let graph = chain(Builder::new().add_node(id("a"), note("a")).add_node(id("b"), note("b")), &["a", "b"]);
    for _ in 0..300 {
        store.thread(&graph).invoke(start()).await.unwrap();
    }
    let counting = Counting::new(&store);
    let mut file = vec![];
    let exported = export_thread(&*counting, &"t".into(), &ExportOptions::new(), &mut file).await.unwrap();
    assert_eq!(exported.checkpoints, 1200);
    assert!(counting.largest() < 32 << 10, "{} bytes at once", counting.largest());
    let other = Store::memory();
    imported(&*other.store, &file).await.unwrap();
    assert_eq!(other.thread(&graph).state().await.unwrap().unwrap().values.notes.len(), 600);
}
