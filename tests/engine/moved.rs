//! Threads whose nodes have changed since they were stored: renamed, added, removed, started in another way, pinned.

use std::sync::Arc;

use rstest::rstest;
use superstep::graph::{CompiledGraph, Incompatibility, Name};
use superstep::prelude::*;

use crate::pad::{
    Approve, Builder, Ended, Graph, Pad, PadUpdate, Rename, Tally, approval, chain, id, note, start, tallied,
};
use crate::stores::Store;

/// `first`, then a node of this name that interrupts, then `last`.
fn asking(name: &str) -> Builder {
    let builder = Builder::new().add_node(id("first"), note("first")).add_node(id("last"), note("last"));
    builder.add_node(id(name), approval.asks::<Approve>())
}

fn interrupted_at(name: &str) -> Graph {
    chain(asking(name), &["first", name, "last"])
}

fn misfits(status: &Status) -> Vec<String> {
    match status {
        Status::NeedsMigration { misfits } => misfits.iter().map(Incompatibility::to_string).collect(),
        other => panic!("{other:?}"),
    }
}

async fn refused(store: &Store, graph: &Graph) -> (RunError, Vec<String>) {
    let misfits = misfits(&store.thread(graph).status().await.unwrap());
    let before = store.thread(graph).state().await.unwrap().unwrap().id;
    let error = store.thread(graph).resume::<Approve>(true).await.unwrap_err();
    let proceed = store.thread(graph).proceed().await.unwrap_err();
    let invoke = store.thread(graph).invoke(start()).await.unwrap_err();
    assert_eq!(proceed.to_string(), error.to_string());
    assert!(matches!(invoke, RunError::NeedsMigration { .. } | RunError::Unfinished { .. }), "{invoke:?}");
    assert_eq!(store.thread(graph).state().await.unwrap().unwrap().id, before, "nothing was written");
    (error, misfits)
}

#[rstest]
#[tokio::test]
async fn a_deep_reading_names_what_a_plain_one_names_at_every_depth(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let nested = |name: &str| {
        let lowest = interrupted_at(name);
        let middle = chain(Builder::new().add_subgraph(id("low"), lowest.clone()), &["low"]);
        (chain(Builder::new().add_subgraph(id("middle"), middle.clone()), &["middle"]), middle, lowest)
    };
    store.thread(&nested("check").0).invoke(start()).await.unwrap();

    let (graph, middle, lowest) = nested("review");
    let thread = store.thread(&graph);
    let of = |snapshot: &[Incompatibility]| -> Vec<String> { snapshot.iter().map(ToString::to_string).collect() };
    let deep = thread.state_deep().await.unwrap().unwrap();
    let in_middle = deep.tasks[0].state.as_ref().unwrap();
    let in_lowest = in_middle.tasks[0].state.as_ref().unwrap();
    let all = [of(&deep.misfits), of(&in_middle.misfits), of(&in_lowest.misfits)];
    let lost = "its node `check` no longer exists";
    let low = format!("in the subgraph of `low`, {lost}");
    assert_eq!(all, [[format!("in the subgraph of `middle`, {low}")], [low], [lost.to_owned()]]);

    let plain = thread.state().await.unwrap().unwrap().misfits;
    let plain_middle = thread.subgraph(&middle, ["middle"]).state().await.unwrap().unwrap().misfits;
    let plain_lowest = thread.subgraph(&lowest, ["middle", "low"]).state().await.unwrap().unwrap().misfits;
    assert_eq!(all, [of(&plain), of(&plain_middle), of(&plain_lowest)]);
}

#[rstest]
#[tokio::test]
async fn a_paused_thread_resumes_whatever_nodes_came_before_its_own(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let old = store.thread(&interrupted_at("middle")).invoke(start()).await.unwrap();
    let question = old.questions()[0].id();
    let more = asking("middle").add_node(id("a"), note("a")).add_node(id("b"), approval.asks::<Approve>());
    let new = chain(more, &["first", "middle", "b", "a", "last"]);
    let now = store.thread(&new).state().await.unwrap().unwrap();
    assert_eq!((&now.next[..], now.misfits.len()), (&["middle".to_owned()][..], 0));
    let then = store.thread(&new).answer(Answer::new::<Approve>(&true).to(question)).await.unwrap();
    assert_eq!(then.questions()[0].node(), "b");
    assert!(matches!(store.thread(&new).status().await.unwrap(), Status::Interrupted { .. }));
    let end = store.thread(&new).resume::<Approve>(false).await.unwrap().finished().unwrap();
    assert_eq!(end.notes, ["first", "approved: true", "approved: false", "a", "last"]);
    let all = store.thread(&new).history().await.unwrap().all().await.unwrap();
    assert!(all.iter().any(|step| step.next == ["middle"]));
}

#[rstest]
#[tokio::test]
async fn a_removed_node_is_named_and_each_remedy_works(#[values(Store::memory(), Store::disk())] store: Store) {
    store.thread(&interrupted_at("check")).invoke(start()).await.unwrap();
    let (error, misfits) = refused(&store, &interrupted_at("review")).await;
    assert_eq!(misfits, ["its node `check` no longer exists"]);
    assert_eq!(
        error.to_string(),
        "thread `t` was stored by another version of the graph: its node `check` no longer exists"
    );
    assert!(error.help().unwrap().contains("`.renamed(\"check\", <node>)`"), "{error:?}");
    let now = store.thread(&interrupted_at("review")).state().await.unwrap().unwrap();
    assert_eq!((now.next, &now.values.notes[..]), (vec!["check".to_owned()], &["first".to_owned()][..]));
    assert_eq!(now.tasks[0].questions[0].name(), "approve");
    assert_eq!(store.thread(&interrupted_at("review")).history().await.unwrap().all().await.unwrap().len(), 3);
    let renamed = chain(asking("review").renamed("check", id("review")), &["first", "review", "last"]);
    let status = store.thread(&renamed).status().await.unwrap();
    assert!(matches!(&status, Status::Interrupted { questions } if questions.len() == 1), "{status:?}");
    let end = store.thread(&renamed).resume::<Approve>(true).await.unwrap().finished().unwrap();
    assert_eq!(end.notes, ["first", "approved: true", "last"]);
}

#[tokio::test]
async fn the_graph_that_stored_a_thread_resumes_it_after_another_was_refused() {
    let store = Store::memory();
    store.thread(&interrupted_at("check")).invoke(start()).await.unwrap();
    refused(&store, &interrupted_at("review")).await;
    let end = store.thread(&interrupted_at("check")).resume::<Approve>(true).await.unwrap().finished().unwrap();
    assert_eq!(end.notes, ["first", "approved: true", "last"]);
}

#[tokio::test]
async fn a_thread_that_cannot_resume_can_be_updated_or_restarted() {
    let store = Store::memory();
    store.thread(&interrupted_at("check")).invoke(start()).await.unwrap();
    let new = interrupted_at("review");
    store.thread(&new).update_state_as(id("review"), Pad::update().notes(["by hand"])).await.unwrap();
    let end = store.thread(&new).proceed().await.unwrap().finished().unwrap();
    assert_eq!(end.notes, ["first", "by hand", "last"]);
    let store = Store::memory();
    store.thread(&interrupted_at("check")).invoke(start()).await.unwrap();
    let again = store.thread(&new).discard_pending().invoke(start()).await.unwrap();
    assert_eq!(again.questions()[0].node(), "review");
}

#[tokio::test]
async fn a_failed_task_of_a_renamed_node_is_retried_without_its_siblings() {
    let (store, tally) = (Store::memory(), Tally::default());
    let graph = |name: &'static str, fails: bool, before: Option<&'static str>| {
        let fail = move |_: Arc<Pad>, _: Ctx| async move {
            if fails { Err(NodeError::permanent("no luck")) } else { Ok(Pad::update().notes([name])) }
        };
        let builder = Builder::new().add_node(id("done"), tallied(&tally, "done")).add_node(id(name), fail);
        let builder = builder.add_node(id("end"), note("end"));
        let builder = match before {
            Some(before) => builder.renamed(before, id(name)).add_node(id("a"), note("a")).add_edge(id("end"), id("a")),
            None => builder,
        };
        let builder = builder.add_edge(START, [id("done"), id(name)]);
        builder.add_edge([id("done"), id(name)], id("end")).compile().unwrap()
    };
    store.thread(&graph("try", true, None)).invoke(start()).await.unwrap_err();
    let new = graph("again", false, Some("try"));
    assert!(matches!(store.thread(&new).status().await.unwrap(), Status::Failed { .. }));
    let end = store.thread(&new).proceed().await.unwrap().finished().unwrap();
    assert_eq!(end.notes, ["again", "done", "end", "a"]);
    assert_eq!(tally.names(), ["done"]);
}

fn with_child(node: &str, inside: &str, child: impl FnOnce(Builder) -> Builder) -> Builder {
    let inner = Builder::new().add_node(id("before"), note("before")).add_node(id(inside), approval.asks::<Approve>());
    let inner = chain(child(inner), &["before", inside]);
    Builder::new().add_node(id("first"), note("first")).add_subgraph(id(node), inner)
}

#[rstest]
#[tokio::test]
async fn nodes_are_renamed_inside_subgraphs_too(#[values(Store::memory(), Store::disk())] store: Store) {
    store.thread(&chain(with_child("sub", "check", |inner| inner), &["first", "sub"])).invoke(start()).await.unwrap();
    let only_outer = with_child("inner", "review", |inner| inner).renamed("sub", id("inner"));
    let (_, misfits) = refused(&store, &chain(only_outer, &["first", "inner"])).await;
    assert_eq!(misfits, ["in the subgraph of `inner`, its node `check` no longer exists"]);
    let both = with_child("inner", "review", |inner| inner.renamed("check", id("review"))).renamed("sub", id("inner"));
    let both = chain(both, &["first", "inner"]);
    let status = store.thread(&both).status().await.unwrap();
    assert!(matches!(&status, Status::Interrupted { .. }), "{status:?}");
    let deep = store.thread(&both).state_deep().await.unwrap().unwrap();
    assert_eq!(deep.tasks[0].state.as_ref().unwrap().next, ["review"]);
    let end = store.thread(&both).resume::<Approve>(true).await.unwrap().finished().unwrap();
    assert_eq!(end.notes, ["first", "before", "approved: true"]);
}

#[tokio::test]
async fn a_subgraph_keeps_its_state_when_its_node_is_renamed() {
    let store = Store::memory();
    let graph = |name: &'static str, renamed: bool| {
        let count = |pad: Arc<Pad>, _: Ctx| async move {
            Ok::<_, NodeError>(Pad::update().notes([format!("{}", pad.notes.len())]))
        };
        let inner = Builder::new().add_node(id("count"), count).add_sequence([id("count")]).compile().unwrap();
        let inner = inner.persistence(Persistence::PerThread);
        let inner =
            inner.mapped(|_: &Pad| Pad::update().sum(1), |inner: &Pad| Pad::update().notes(inner.notes.clone()));
        let builder = Builder::new().add_subgraph(id(name), inner);
        let builder = if renamed { builder.renamed("memory", id(name)) } else { builder };
        builder.add_sequence([id(name)]).compile().unwrap()
    };
    store.thread(&graph("memory", false)).invoke(start()).await.unwrap();
    store.thread(&graph("memory", false)).invoke(start()).await.unwrap();
    let end = store.thread(&graph("recall", true)).invoke(start()).await.unwrap().finished().unwrap();
    assert_eq!(end.notes, ["0", "0", "1", "0", "1", "2"]);
    let end = store.thread(&graph("recall", true)).invoke(start()).await.unwrap().finished().unwrap();
    assert_eq!(end.notes[6..], ["0", "1", "2", "3"]);
}

mod sent {
    use super::*;

    #[derive(Serialize, Deserialize)]
    pub(super) struct Query(pub(super) u32);

    pub(super) mod later {
        use super::*;
        #[derive(Serialize, Deserialize)]
        pub(crate) struct Query(pub(crate) String);
    }
}

/// A worker that asks about odd numbers.
fn worker(name: &str, renamed: bool) -> Graph {
    let worker = superstep::graph::Worker::<Name, sent::Query>::new(id(name));
    let work = |query: Arc<sent::Query>, ctx: Ctx| async move {
        let approved = query.0.is_multiple_of(2) || ctx.interrupt(Approve)?;
        Ok::<PadUpdate, NodeError>(Pad::update().notes([format!("{}: {approved}", query.0)]))
    };
    let send = worker.clone_each();
    let builder = Builder::new()
        .add_node(id("a"), note("a"))
        .add_worker(worker, superstep::graph::worker(work).asks::<Approve>());
    let builder = if renamed { builder.renamed("work", id(name)) } else { builder };
    builder.add_edge(START, id("a")).add_edge(id("a"), send).compile().unwrap()
}

trait CloneEach {
    fn clone_each(&self) -> superstep::graph::Sends<Name>;
}

impl CloneEach for superstep::graph::Worker<Name, sent::Query> {
    fn clone_each(&self) -> superstep::graph::Sends<Name> {
        self.each((1..=3).map(sent::Query))
    }
}

#[rstest]
#[tokio::test]
async fn sends_go_to_the_worker_under_its_new_name(#[values(Store::memory(), Store::disk())] store: Store) {
    let paused = store.thread(&worker("work", false)).invoke(start()).await.unwrap();
    let ids: Vec<_> = paused.questions().iter().map(superstep::graph::Question::id).collect();
    let (_, misfits) = refused_by_id(&store, &worker("toil", false)).await;
    assert_eq!(misfits, vec!["its node `work` no longer exists"; 3]);
    let new = worker("toil", true);
    for (at, question) in ids.into_iter().enumerate() {
        store.thread(&new).answer(Answer::new::<Approve>(&(at == 0)).to(question)).await.unwrap();
    }
    let end = store.thread(&new).state().await.unwrap().unwrap();
    assert_eq!(
        (&end.values.notes[..], end.next.len()),
        (&["a", "1: true", "2: true", "3: false"].map(String::from)[..], 0)
    );
}

async fn refused_by_id(store: &Store, graph: &Graph) -> (RunError, Vec<String>) {
    let misfits = misfits(&store.thread(graph).status().await.unwrap());
    (store.thread(graph).proceed().await.unwrap_err(), misfits)
}

#[tokio::test]
async fn a_payload_of_another_type_is_refused_and_the_thread_stays_readable() {
    let store = Store::memory();
    store.thread(&worker("work", false)).invoke(start()).await.unwrap();
    let worker = superstep::graph::Worker::<Name, sent::later::Query>::new(id("work"));
    let work = |query: Arc<sent::later::Query>, _: Ctx| async move {
        Ok::<PadUpdate, NodeError>(Pad::update().notes([query.0.clone()]))
    };
    let sends = worker.each([]);
    let builder = Builder::new().add_node(id("a"), note("a")).add_worker(worker, work);
    let new = builder.add_edge(START, id("a")).add_edge(id("a"), sends).compile().unwrap();
    let (error, misfits) = refused_by_id(&store, &new).await;
    assert!(
        misfits[0].starts_with("payload of `work` at checkpoint 3 of thread `t`: stored as `")
            && misfits[0].contains("later::Query`"),
        "{misfits:?}"
    );
    assert!(
        matches!(&error, RunError::Unreadable(unreadable) if unreadable.expected.ends_with("later::Query")),
        "{error:?}"
    );
    assert_eq!(store.thread(&new).state().await.unwrap().unwrap().values.notes, ["a"]);
}

#[tokio::test]
async fn a_node_that_is_started_in_another_way_is_reported() {
    let store = Store::memory();
    store.thread(&worker("work", false)).invoke(start()).await.unwrap();
    let plain = chain(Builder::new().add_node(id("a"), note("a")).add_node(id("work"), note("work")), &["a", "work"]);
    let (_, misfits) = refused_by_id(&store, &plain).await;
    assert_eq!(misfits[0], "its task of `work` cannot start: no send starts it now");
    let store = Store::memory();
    store.thread(&interrupted_at("work")).invoke(start()).await.unwrap();
    let (_, misfits) = refused_by_id(&store, &worker("work", false)).await;
    assert_eq!(misfits, ["its task of `work` cannot start: only sends start it now"]);
}

/// `x` and `y` join at `end`; `y` asks. The nodes of `more` join too.
fn joined(more: &[&str], edges: bool) -> Graph {
    let builder = Builder::new().add_node(id("x"), note("x")).add_node(id("y"), approval.asks::<Approve>());
    let builder = builder.add_node(id("end"), note("end")).add_node(id("w"), note("w"));
    let builder =
        more.iter().fold(builder, |builder, name| builder.add_node(id(name), note("more")).add_edge(START, id(name)));
    let sources: Vec<Name> = ["y", "w"].iter().chain(more).map(|name| id(name)).collect();
    let builder = builder.add_edge(START, id("x")).add_edge(id("x"), [id("y"), id("w")]);
    if edges { builder.add_edge(id("y"), id("end")) } else { builder.add_edge(sources, id("end")) }.compile().unwrap()
}

#[rstest]
#[case::a_source_more(joined(&["v"], false), "its half-filled join of `w` and `y` into `end` waits for `v` too now")]
#[case::gone(joined(&[], true), "its half-filled join of `w` and `y` into `end` no longer exists")]
#[tokio::test]
async fn a_half_filled_join_is_continued_or_reported(#[case] new: Graph, #[case] expected: &str) {
    let store = Store::memory();
    let slow = |store: &Store| store.thread(&half());
    slow(&store).invoke(start()).await.unwrap();
    let (_, misfits) = refused_by_id(&store, &new).await;
    assert_eq!(misfits, [expected]);
}

/// `w` has arrived, while the node before `y` asks.
fn half() -> Graph {
    let builder = Builder::new().add_node(id("x"), note("x")).add_node(id("y"), approval.asks::<Approve>());
    let builder = builder.add_node(id("end"), note("end")).add_node(id("w"), note("w"));
    let builder = builder.add_edge(START, [id("x"), id("w")]).add_edge(id("x"), id("y"));
    builder.add_edge([id("w"), id("y")], id("end")).compile().unwrap()
}

#[tokio::test]
async fn a_join_in_another_order_or_without_a_removed_node_continues() {
    let store = Store::memory();
    store.thread(&half()).invoke(start()).await.unwrap();
    let end = store.thread(&joined(&[], false)).resume::<Approve>(true).await.unwrap().finished().unwrap();
    assert_eq!(end.notes, ["w", "x", "approved: true", "end"]);
}

#[tokio::test]
async fn a_question_that_is_no_longer_asked_is_closed() {
    let store = Store::memory();
    store.thread(&interrupted_at("middle")).invoke(start()).await.unwrap();
    let rename = |_: Arc<Pad>, ctx: Ctx| async move {
        let title = ctx.interrupt(Rename { from: "tides".into() })?;
        Ended::Ok(Pad::update().notes([title]))
    };
    let builder = Builder::new().add_node(id("first"), note("first")).add_node(id("last"), note("last"));
    let new = chain(builder.add_node(id("middle"), rename.asks::<Rename>()), &["first", "middle", "last"]);
    let status = store.thread(&new).status().await.unwrap();
    assert!(matches!(&status, Status::Pending { next } if *next == ["middle"]), "{status:?}");
    assert!(store.thread(&new).resume::<Approve>(true).await.is_err());
    let asks = store.thread(&new).proceed().await.unwrap();
    assert_eq!(asks.questions()[0].name(), "rename");
    let end = store.thread(&new).resume::<Rename>("moons".to_owned()).await.unwrap().finished().unwrap();
    assert_eq!(end.notes, ["first", "moons", "last"]);
}

#[tokio::test]
async fn a_pinned_graph_resumes_its_own_threads_only() {
    let store = Store::memory();
    let pinned = |version| chain(asking("middle").version(version).pinned(), &["first", "middle", "last"]);
    store.thread(&pinned(1)).invoke(start()).await.unwrap();
    let (error, misfits) = refused(&store, &pinned(2)).await;
    assert!(misfits[0].starts_with("the graph is pinned to version "), "{misfits:?}");
    assert!(error.help().unwrap().contains("`.pinned()`"));
    let update = store.thread(&pinned(2)).update_state(Pad::update().notes(["no"])).await.unwrap_err();
    assert!(matches!(update, RunError::NeedsMigration { .. }));
    let unpinned = chain(asking("middle").version(2), &["first", "middle", "last"]);
    assert!(matches!(store.thread(&unpinned).status().await.unwrap(), Status::Interrupted { .. }));
    let end = store.thread(&pinned(1)).resume::<Approve>(true).await.unwrap().finished().unwrap();
    assert_eq!(end.notes.len(), 3);
    assert!(store.thread(&pinned(2)).invoke(start()).await.is_err(), "finished, and yet another version's");
}

#[rstest]
#[case::a_node_still(asking("check").renamed("first", id("check")), "`first` is renamed to `check`, and is still a node")]
#[case::to_nothing(asking("check").renamed("old", id("new")), "`old` is renamed to `new`, which is not a node")]
#[case::twice(asking("check").renamed("old", id("check")).renamed("old", id("last")), "`old` is renamed to two nodes")]
#[tokio::test]
async fn an_invalid_rename_is_refused_by_compile(#[case] builder: Builder, #[case] expected: &str) {
    let built: Result<CompiledGraph<Pad, Name>, CompileError> =
        builder.add_sequence(["first", "check", "last"].map(id)).compile();
    let problems: Vec<String> = built.unwrap_err().problems().iter().map(ToString::to_string).collect();
    assert_eq!(problems, [expected]);
}

#[rstest]
#[tokio::test]
async fn an_effect_is_not_repeated_by_a_renamed_node(
    #[values(false, true)] nested: bool,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let tally = Tally::default();
    let graph = |name: &'static str, renamed: bool| {
        let tally = tally.clone();
        let act = move |_: Arc<Pad>, ctx: Ctx| {
            let tally = tally.clone();
            async move {
                let sent: String = ctx
                    .effect("send", &"letter", move |_| async move {
                        tally.add("send");
                        Ok::<_, NodeError>("sent".to_owned())
                    })
                    .await?;
                ctx.interrupt(Approve)?;
                Ended::Ok(Pad::update().notes([sent]))
            }
        };
        let inner = Builder::new().add_node(id(name), act.asks::<Approve>());
        let inner = if renamed { inner.renamed("act", id(name)).add_node(id("a"), note("a")) } else { inner };
        let inner = if renamed { chain(inner, &[name, "a"]) } else { chain(inner, &[name]) };
        if nested { chain(Builder::new().add_subgraph(id("sub"), inner), &["sub"]) } else { inner }
    };
    store.thread(&graph("act", false)).invoke(start()).await.unwrap();
    let end = store.thread(&graph("perform", true)).resume::<Approve>(true).await.unwrap().finished().unwrap();
    assert_eq!((end.notes.join(" "), tally.count()), ("sent a".into(), 1));
}
