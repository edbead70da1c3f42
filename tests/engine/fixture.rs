//! Recorded threads in files, as tests of their graphs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rstest::rstest;
use superstep::checkpoint::{ExportOptions, export_thread};
use superstep::graph::VerifyVerdict;
use superstep::graph::kit::{Fixture, FixtureError};
use superstep::prelude::*;

use crate::effects::{World, failing, paying};
use crate::pad::*;
use crate::stores::Store;

/// A graph that pays, then interrupts.
fn graph(world: &World) -> Graph {
    let pay = paying(world, |_| std::future::ready(Ok(()))).replayable();
    let nodes = Builder::new().add_node(id("pay"), pay).add_node(id("ask"), approval.asks::<Approve>().replayable());
    chain(nodes, &["pay", "ask"]).named("order")
}

struct ExportedThread {
    folder: tempfile::TempDir,
}

impl ExportedThread {
    /// Exports the thread `t` of a graph to a file.
    async fn thread(store: &Store) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = vec![];
        export_thread(&*store.store, &"t".into(), &ExportOptions::new(), &mut bytes).await.unwrap();
        fs::write(folder.path().join("order.superstep"), bytes).unwrap();
        Self { folder }
    }

    async fn finished(world: &World) -> Self {
        let store = Store::memory();
        let thread = store.thread(&graph(world));
        thread.invoke(start()).await.unwrap();
        thread.resume::<Approve>(true).await.unwrap();
        Self::thread(&store).await
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("order.superstep")
    }

    /// Formats an error without the folder.
    fn text(&self, error: &FixtureError) -> String {
        let folder = format!("{}/", self.folder.path().display());
        format!("{error}\n help: {}", error.help()).replace(&folder, "")
    }
}

#[tokio::test]
async fn a_recorded_thread_verifies_its_graph_without_effects() {
    let world = World::default();
    let exported = ExportedThread::finished(&world).await;
    let fixture = Fixture::load(exported.path()).unwrap();
    let report = fixture.verify(&graph(&world)).await.unwrap();
    assert!(report.agrees(), "{report}");
    assert_eq!((report.verdict(), report.bodies, world.happened().len()), (VerifyVerdict::Same, 2, 1));
    assert_eq!((fixture.about().graph.as_deref(), fixture.about().thread.as_str()), (Some("order"), "t"));
    let again = fixture.verify(&graph(&world)).await.unwrap();
    assert_eq!(again.bodies, 2);
}

#[tokio::test]
async fn a_changed_body_is_reported_with_both_values() {
    let world = World::default();
    let exported = ExportedThread::finished(&world).await;
    let pay = |_: Arc<Pad>, ctx: Ctx| async move {
        let paid: String = ctx.effect("pay", &(7, "EUR"), |_| async { Ok::<_, NodeError>(String::new()) }).await?;
        Ok::<_, NodeError>(Pad::update().notes([format!("{paid}!")]))
    };
    let nodes = Builder::new().add_node(id("pay"), pay.replayable());
    let changed = chain(nodes.add_node(id("ask"), approval.asks::<Approve>()), &["pay", "ask"]).named("order");
    let report = Fixture::load(exported.path()).unwrap().verify(&changed).await.unwrap();
    assert!(!report.agrees());
    let text = report.to_string();
    assert!(text.contains("pay 1") && text.contains("pay 1!"), "{text}");
}

type Damage = fn(&Path);

fn cut(path: &Path) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

fn newer(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    bytes[8] = 9;
    fs::write(path, bytes).unwrap();
}

#[rstest]
#[case::missing(|path: &Path| fs::remove_file(path).unwrap(), "cannot be opened", "superstep export THREAD --fixture")]
#[case::folder(|path: &Path| { fs::remove_file(path).unwrap(); fs::create_dir(path).unwrap(); }, "cannot be read", "export it again")]
#[case::empty(|path: &Path| fs::write(path, "").unwrap(), "cannot be read", "export it again")]
#[case::text(|path: &Path| fs::write(path, "{}").unwrap(), "cannot be read", "export it again")]
#[case::cut(cut, "cannot be read", "export it again")]
#[case::newer(newer, "has format 9; this release reads up to 1", "update superstep")]
#[tokio::test]
async fn a_file_that_is_not_a_fixture_is_refused(#[case] damage: Damage, #[case] says: &str, #[case] helps: &str) {
    let exported = ExportedThread::finished(&World::default()).await;
    damage(&exported.path());
    let error = Fixture::load(exported.path()).unwrap_err();
    let text = exported.text(&error);
    assert!(text.starts_with("the fixture order.superstep ") && text.contains(says) && text.contains(helps), "{text}");
}

#[tokio::test]
async fn a_fixture_of_another_graph_is_refused() {
    let world = World::default();
    let exported = ExportedThread::finished(&world).await;
    let fixture = Fixture::load(exported.path()).unwrap();
    let renamed = fixture.verify(&graph(&world).named("payment")).await.unwrap_err();
    insta::assert_snapshot!(exported.text(&renamed), @r"
    the fixture order.superstep was recorded by the graph `order`, and this one is `payment`
     help: compare it with `order`; after a rename, give the graph that name in the test
    ");
    let other = chain(Builder::new().add_node(id("other"), note("x").replayable()), &["other"]).named("order");
    let report = fixture.verify(&other).await.unwrap();
    insta::assert_snapshot!(report, @r#"
    0 supersteps compared, then a difference: 0 bodies and 0 routers run, 0 results reused
    the first difference is in superstep 0, `__start__`: next superstep
      recorded: []
      now:      ["other"]
    "#);
}

#[tokio::test]
async fn a_fixture_that_compares_nothing_is_an_error() {
    let world = World::default();
    let exported = ExportedThread::finished(&world).await;
    let nodes = Builder::new().add_node(id("pay"), paying(&world, |_| std::future::ready(Ok(()))));
    let idle = chain(nodes.add_node(id("ask"), approval.asks::<Approve>()), &["pay", "ask"]).named("order");
    let error = Fixture::load(exported.path()).unwrap().verify(&idle).await.unwrap_err();
    insta::assert_snapshot!(exported.text(&error), @r"
    the fixture order.superstep has nothing to compare: no body is `.replayable()`, and no router ran
     help: mark bodies whose side effects all go through `ctx` as `.replayable()`
    ");
}

#[tokio::test]
async fn a_failed_thread_resumes_with_a_fixed_graph_and_its_recorded_effects() {
    let world = World::default();
    let broken = chain(Builder::new().add_node(id("pay"), paying(&world, failing(9))), &["pay"]).named("order");
    let store = Store::memory();
    store.thread(&broken).invoke(start()).await.unwrap_err();
    let exported = ExportedThread::thread(&store).await;
    let fixture = Fixture::load(exported.path()).unwrap();
    let mended = chain(Builder::new().add_node(id("pay"), paying(&world, failing(0))), &["pay"]).named("order");
    let outcome = fixture.thread(&mended).await.unwrap().proceed().await.unwrap();
    assert_eq!((outcome.state().notes.join(","), world.happened().len()), ("pay 1".into(), 1));
}

#[tokio::test]
async fn an_effect_that_was_not_recorded_does_not_happen_in_a_test() {
    let world = World::default();
    let exported = ExportedThread::finished(&world).await;
    let thread = Fixture::load(exported.path()).unwrap().thread(&graph(&world)).await.unwrap();
    let error = thread.invoke(start()).await.unwrap_err();
    assert!(error.to_string().contains("the fixture has no result of effect `pay`"), "{error}");
    assert_eq!(world.happened().len(), 1);
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Vault {
    #[channel(secret)]
    key: String,
    door: String,
}

#[derive(NodeId)]
enum Step {
    Open,
    Close,
}

/// Secret channels are not in the file. Their writers are compared without them; a result that depends on them and
/// differs is listed as accepted.
#[tokio::test]
async fn a_fixture_contains_no_secrets() {
    let open = |vault: Arc<Vault>, _: Ctx| async move {
        Ok::<_, NodeError>(Vault::update().door(format!("open {}", vault.key.len())).key("barley corn"))
    };
    let close = |_: Arc<Vault>, _: Ctx| async { Ok::<_, NodeError>(Vault::update().door("shut").key("open wheat")) };
    let opens = || StateGraph::new().add_node(Step::Open, open.replayable());
    let vault = |nodes: StateGraph<Vault, Step>| {
        nodes.add_sequence([Step::Open, Step::Close]).compile().unwrap().named("vault")
    };
    let graph = vault(opens().add_node(Step::Close, close.replayable()));
    let store = Store::memory();
    let thread = graph.clone().with_shared_checkpointer(Arc::clone(&store.store)).thread("t");
    thread.invoke(Vault::update().key("open sesame")).await.unwrap();
    assert_eq!(thread.verify().await.unwrap().verdict(), VerifyVerdict::Same);
    let exported = ExportedThread::thread(&store).await;
    let text = String::from_utf8_lossy(&fs::read(exported.path()).unwrap()).into_owned();
    assert!(!text.contains("sesame") && !text.contains("barley") && !text.contains("wheat"));
    let fixture = Fixture::load(exported.path()).unwrap();
    assert_eq!(fixture.about().redacted, ["key"]);
    let report = fixture.verify(&graph).await.unwrap();
    assert_eq!(
        (report.verdict(), report.bodies, report.not_verified.len()),
        (VerifyVerdict::SameInPart, 1, 1),
        "{report}"
    );
    assert!(report.to_string().contains("may have read `key`, left out of the export"), "{report}");
    let other = |_: Arc<Vault>, _: Ctx| async { Ok::<_, NodeError>(Vault::update().door("ajar").key("open wheat")) };
    let changed = vault(opens().add_node(Step::Close, other.replayable().reads(["door"])));
    let report = fixture.verify(&changed).await.unwrap();
    assert!(!report.agrees(), "{report}");
}

/// The example of `docs/guide/testing.md`.
mod shown {
    use super::*;

    const PAGE: &str = include_str!("../../docs/guide/testing.md");

    pub(super) async fn check(order: Arc<Pad>, _: Ctx) -> Ended {
        Ok(Pad::update().notes([format!("checked {}", order.title)]))
    }

    fn graph() -> Graph {
        chain(Builder::new().add_node(id("check"), check.replayable()), &["check"]).named("order")
    }

    // <fixture>
    #[tokio::test]
    async fn a_recorded_order_still_comes_out_the_same() -> Result<(), FixtureError> {
        let fixture = Fixture::load("tests/fixtures/order.superstep")?;
        let report = fixture.verify(&graph()).await?;
        assert!(report.agrees(), "{report}");
        Ok(())
    }
    // </fixture>

    /// Writes the file that the test above reads, with the present release.
    #[tokio::test]
    #[ignore = "it writes tests/fixtures/order.superstep"]
    async fn record() {
        let store = Store::memory();
        store.thread(&graph()).invoke(start()).await.unwrap();
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/order.superstep");
        let file = fs::File::create(path).unwrap();
        export_thread(&*store.store, &"t".into(), &ExportOptions::new(), file).await.unwrap();
    }

    #[test]
    fn the_page_shows_the_compiled_test() {
        let (_, rest) = include_str!("fixture.rs").split_once("    // <fixture>\n").unwrap();
        let (inside, _) = rest.split_once("    // </fixture>").unwrap();
        let code: String = inside.lines().map(|line| format!("{}\n", line.strip_prefix("    ").unwrap())).collect();
        assert!(PAGE.contains(&format!("```rust,ignore\n{code}```\n")), "docs/guide/testing.md lacks:\n{code}");
    }
}
