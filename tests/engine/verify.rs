//! A replay that compares: it names the first difference between a recorded run and the present code, without effects.

use std::sync::Arc;

use rstest::rstest;
use superstep::graph::replay::ReplayResult;
use superstep::graph::{Boxed, Name, NodeExt, Persistence, Replay, VerifyReport, VerifyVerdict};
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::Store;

/// The difference in the second version of the graph.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    Nothing,
    Router,
    Write,
    Argument,
    Effect,
    NewEffect,
    Question,
    NoQuestion,
    Inner,
    Sends,
    Edge,
    Fails,
}

use Change::*;

type Body = Boxed<'static, Ended>;

#[derive(Serialize, Deserialize)]
struct Price(u32);
impl Interrupt for Price {
    type Resume = bool;
    const NAME: &'static str = "price";
}

#[tokio::test]
async fn all_nodes_of_a_graph_can_be_marked_at_once() {
    let graph =
        |defaults| chain(Builder::new().add_node(id("first"), note("first")).node_defaults(defaults), &["first"]);
    let compared = async |defaults| {
        let graph = graph(defaults).with_checkpointer(MemoryCheckpointer::new());
        graph.thread("t").invoke(start()).await.unwrap();
        graph.thread("t").verify().await.unwrap().to_string().contains("not marked")
    };
    assert!(compared(NodeDefaults::default()).await);
    assert!(!compared(NodeDefaults::default().replayable()).await);
}

/// A node that asks, draws a random number, pays and writes.
fn shop(change: Change, tally: Tally) -> impl Fn(Arc<Pad>, Ctx) -> Body + Clone {
    move |_, ctx: Ctx| {
        let tally = tally.clone();
        Box::pin(async move {
            let number = ctx.random().await? % 10;
            ctx.now().await?;
            if change != NoQuestion {
                ctx.interrupt(Price(if change == Question { 8 } else { 7 }))?;
            }
            let price = if change == Argument { 8 } else { 7 };
            let pay = |_| async move { Ok::<_, NodeError>(tally.add("pay")) };
            if change != Effect {
                ctx.effect("pay", &price, pay).await?;
            }
            if change == NewEffect {
                ctx.effect("mail", &"bob", |_| async { Ok::<_, NodeError>(()) }).await?;
            }
            if change == Fails {
                return Err("out of stock".into());
            }
            let word = if change == Write { "sold" } else { "bought" };
            Ok(Pad::update().notes([word.to_owned(), number.to_string()]))
        })
    }
}

fn inner(change: Change) -> Graph {
    let deep = move |_: Arc<Pad>, ctx: Ctx| -> Body {
        Box::pin(async move {
            ctx.effect("deep", &1, |_| async { Ok::<_, NodeError>(()) }).await?;
            Ok(Pad::update().notes(["deep"]).sum(if change == Inner { 2 } else { 1 }))
        })
    };
    let builder = Builder::new().add_node(id("first"), note("first")).add_node(id("deep"), deep.replayable());
    chain(builder, &["first", "deep"])
}

/// shop -> (side, plain) -> inner -> worker x 2 -> end, by routers.
fn graph(change: Change, tally: &Tally) -> Graph {
    let worker = || Worker::<Name, u32>::new(id("worker"));
    let work =
        |number: Arc<u32>, _: Ctx| -> Body { Box::pin(async move { Ok(Pad::update().sum(i64::from(*number))) }) };
    let after_shop = move |pad: &Pad| -> Vec<Name> {
        assert!(!pad.notes.is_empty());
        if change == Router { vec![id("side")] } else { vec![id("side"), id("plain")] }
    };
    let fan_out = move |_: &Pad| worker().each(if change == Sends { [1, 3] } else { [1, 2] });
    let builder = Builder::new()
        .add_node(id("shop"), shop(change, tally.clone()).asks::<Price>().replayable())
        .add_node(id("side"), note("side").replayable())
        .add_node(id("plain"), note("plain"))
        .add_subgraph(id("inner"), inner(change))
        .add_worker(worker(), work)
        .add_node(id("end"), note("end"))
        .add_node(id("extra"), note("extra"))
        .allow(Lint::Unreachable)
        .add_edge(START, id("shop"))
        .add_conditional_edges_to(id("shop"), after_shop, [id("side"), id("plain")])
        .add_edge([id("side"), id("plain")], id("inner"))
        .add_conditional_edges_to(id("inner"), fan_out, worker())
        .add_edge(id("worker"), id("end"));
    if change == Edge { builder.add_edge(id("worker"), id("extra")) } else { builder }.compile().unwrap()
}

/// Runs the first version to its end.
async fn ran(store: &Store, tally: &Tally) {
    let graph = graph(Nothing, tally);
    store.thread(&graph).invoke(start()).await.unwrap();
    store.thread(&graph).resume::<Price>(true).await.unwrap().finished().unwrap();
}

#[rstest]
#[tokio::test]
async fn an_unchanged_graph_agrees_and_uncompared_parts_are_listed(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let tally = Tally::default();
    ran(&store, &tally).await;
    let thread = store.thread(&graph(Nothing, &tally));
    let before = everything(&thread).await;
    let verified = thread.verify().await.unwrap();
    insta::allow_duplicates!(insta::assert_snapshot!(verified.to_string(), @r"
    9 supersteps compared, no difference: 3 bodies and 2 routers run, 5 results reused
    not compared: superstep 2, `plain`: it is not marked `.replayable()`
    not compared: superstep 1, `inner` > `first`: it is not marked `.replayable()`
    not compared: superstep 4, `worker`: it is not marked `.replayable()`
    not compared: superstep 4, `worker`: it is not marked `.replayable()`
    not compared: superstep 5, `end`: it is not marked `.replayable()`
    "));
    assert_eq!((everything(&thread).await == before, tally.count()), (true, 1), "nothing was written or done");
}

#[rstest]
#[case::router(
    Router,
    r#"superstep 1, `shop`: route
  recorded: ["side","plain"]
  now:      ["side"]"#
)]
#[case::write(
    Write,
    r#"superstep 1, `shop`: write to `notes`
  recorded: ["bought",…]
  now:      ["sold",…]"#
)]
#[case::argument(Argument, "superstep 1, `shop`: effect `pay`\n  recorded: 7\n  now:      8")]
#[case::effect_gone(Effect, "superstep 1, `shop`: effect `pay`\n  recorded: 7\n  now:      nothing")]
#[case::effect_new(NewEffect, "superstep 1, `shop`: effect `mail`\n  recorded: nothing\n  now:      \"bob\"")]
#[case::question(Question, "superstep 1, `shop`: question `price`\n  recorded: 7\n  now:      8")]
#[case::question_gone(NoQuestion, "superstep 1, `shop`: question `price`\n  recorded: \"price\"\n  now:      nothing")]
#[case::inside_a_subgraph(Inner, "superstep 2, `inner` > `deep`: write to `sum`\n  recorded: 1\n  now:      2")]
#[case::sends(
    Sends,
    r#"superstep 3, `inner`: next superstep
  recorded: [{"worker":1},{"worker":2}]
  now:      [{"worker":1},{"worker":3}]"#
)]
#[case::edge(
    Edge,
    r#"superstep 4, `worker, worker`: next superstep
  recorded: ["end"]
  now:      ["end","extra"]"#
)]
#[case::fails(
    Fails,
    r#"superstep 1, `shop`: result
  recorded: "ended"
  now:      "node `shop` failed in superstep 1: out of stock""#
)]
#[tokio::test]
async fn the_first_difference_is_named(#[case] change: Change, #[case] expected: &str) {
    let (store, tally) = (Store::memory(), Tally::default());
    ran(&store, &tally).await;
    let verified = store.thread(&graph(change, &tally)).verify().await.unwrap();
    let found = verified.divergence.unwrap().to_string();
    let digits: String = found.chars().filter(char::is_ascii_digit).collect();
    let shortened = match (found.find("ght\",\""), digits.len()) {
        (Some(_), _) => {
            let drawn = |text: &str| text.rsplit_once(",\"").map_or(text.to_owned(), |(head, _)| format!("{head},…]"));
            found.lines().map(drawn).collect::<Vec<_>>().join("\n")
        }
        (None, _) => found,
    };
    assert_eq!(shortened, expected);
    assert_eq!(tally.count(), 1, "no effect happens");
}

#[tokio::test]
async fn verification_starts_at_a_checkpoint_and_ends_after_n_supersteps() {
    let (store, tally) = (Store::memory(), Tally::default());
    ran(&store, &tally).await;
    let changed = || store.thread(&graph(Write, &tally));
    let history = changed().history().await.unwrap().all().await.unwrap();
    let after_shop = history.iter().find(|made| made.step == 1).unwrap().id;
    assert!(changed().at(after_shop).verify().await.unwrap().agrees(), "the change is before");
    assert!(!changed().verify().await.unwrap().agrees());
    let one = changed().replay(Replay::Verify).supersteps(1).await.unwrap();
    let ReplayResult::Verified(one) = one else { panic!("{one:?}") };
    assert_eq!((one.verified, one.agrees()), (1, true), "START");
}

mod changed {
    use superstep::prelude::*;

    /// The pad of an older release, whose sum was a product.
    #[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub(crate) struct Pad {
        pub(crate) title: String,
        #[channel(append)]
        pub(crate) notes: Vec<String>,
        #[channel(reduce = multiply)]
        pub(crate) sum: i64,
        pub(crate) spent: u8,
    }

    fn multiply(sum: &mut i64, by: i64) {
        *sum = (*sum + 1) * by;
    }
}

#[tokio::test]
async fn a_changed_reducer_is_found_at_its_channel() {
    let store = Store::memory();
    let five = |_: Arc<Pad>, _: Ctx| -> Body { Box::pin(async move { Ok(Pad::update().sum(5)) }) };
    let two = |_: Arc<Pad>, _: Ctx| -> Body { Box::pin(async move { Ok(Pad::update().sum(2)) }) };
    let graph = chain(Builder::new().add_node(id("five"), five).add_node(id("two"), two), &["five", "two"]);
    store.thread(&graph).invoke(start()).await.unwrap();
    let none = |_: Arc<changed::Pad>, _: Ctx| async { Ok::<_, NodeError>(changed::Pad::update()) };
    let builder = StateGraph::<changed::Pad, Name>::new().add_node(id("five"), none).add_node(id("two"), none);
    let now = builder.add_sequence([id("five"), id("two")]).compile().unwrap();
    let verified = now.with_shared_checkpointer(Arc::clone(&store.store)).thread("t").verify().await.unwrap();
    let divergence = verified.divergence.unwrap();
    assert_eq!(divergence.to_string(), "superstep 2, `two`: channel `sum`\n  recorded: 7\n  now:      12");
}

#[tokio::test]
async fn a_waiting_thread_is_no_difference() {
    let (store, tally) = (Store::memory(), Tally::default());
    let graph = graph(Nothing, &tally);
    store.thread(&graph).invoke(start()).await.unwrap();
    let verified = store.thread(&graph).verify().await.unwrap();
    assert_eq!((verified.verified, verified.agrees(), verified.not_verified.len()), (1, true, 0));
}

#[rstest]
#[tokio::test]
async fn a_question_in_a_subgraph_is_no_difference(
    #[values(Persistence::Inherit, Persistence::PerThread)] persistence: Persistence,
    #[values(false, true)] mapped: bool,
) {
    let store = Store::memory();
    let builder = Builder::new().add_node(id("ask"), approval.asks::<Approve>().replayable());
    let deep = chain(builder.add_node(id("again"), approval.asks::<Approve>().replayable()), &["ask", "again"]);
    let inner = chain(Builder::new().add_subgraph(id("deep"), deep), &["deep"]).persistence(persistence);
    let builder = match mapped {
        true => {
            let leave = |pad: &Pad| Pad::update().notes(pad.notes.clone());
            Builder::new().add_subgraph(id("inner"), inner.mapped(|_: &Pad| start(), leave))
        }
        false => Builder::new().add_subgraph(id("inner"), inner),
    };
    let graph = chain(builder, &["inner"]);
    store.thread(&graph).invoke(start()).await.unwrap();
    store.thread(&graph).resume::<Approve>(true).await.unwrap();
    store.thread(&graph).resume::<Approve>(false).await.unwrap().finished().unwrap();
    let verified = store.thread(&graph).verify().await.unwrap();
    assert!(verified.agrees() && verified.not_verified.is_empty(), "{verified}");
}

#[tokio::test]
async fn a_superstep_started_by_another_run_with_durability_exit_is_listed() {
    let (store, tally) = (Store::memory(), Tally::default());
    let fails = move |_: Arc<Pad>, _: Ctx| -> Body {
        let run = tally.add("");
        Box::pin(async move { if run == 1 { Err("no".into()) } else { Ok(Pad::update().notes(["b"])) } })
    };
    let builder = Builder::new().add_node(id("a"), note("a")).add_node(id("b"), fails);
    let graph = fan(builder, &["a", "b"]);
    let thread = || store.thread(&graph).durability(Durability::Exit);
    thread().invoke(start()).await.unwrap_err();
    thread().proceed().await.unwrap();
    let verified = thread().verify().await.unwrap();
    assert_eq!(verified.divergence, None);
    assert!(verified.to_string().contains("superstep 1, `a`: with durability `exit` it is not recorded"), "{verified}");
}

#[rstest]
#[tokio::test]
async fn a_goto_past_unapplied_results_is_no_difference(
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
) {
    let store = Store::memory();
    let long = |_: Arc<Pad>, _: Ctx| async { Ok::<_, NodeError>(Pad::update().notes(["x".repeat(600)])) };
    let counts = |_: Arc<Pad>, _: Ctx| async { Ok::<_, NodeError>(Pad::update().sum(1)) };
    let builder = Builder::new().add_node(id("a"), long).add_node(id("b"), long).add_node(id("c"), counts);
    let graph = fan(builder.allow(Lint::Unreachable), &["a", "b"]);
    let thread = || store.thread(&graph).durability(durability);
    let error = thread().max_state_bytes(1000).invoke(start()).await.unwrap_err();
    assert!(matches!(error, RunError::StateTooLarge { .. }), "{error:?}");
    thread().command(Command::to(id("c"))).await.unwrap().finished().unwrap();
    let verified = thread().verify().await.unwrap();
    assert_eq!(verified.divergence, None, "{verified}");
    let taken_over = verified.to_string().contains("superstep 1, `a`: with durability `exit` it is not recorded");
    assert_eq!(taken_over, durability == Durability::Exit, "{verified}");
}

mod unsaved {
    use superstep::prelude::*;

    /// A pad with a margin that no checkpoint stores.
    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    pub(crate) struct Margin {
        #[channel(untracked)]
        pub(crate) word: String,
        pub(crate) length: usize,
    }
}

/// A chain of two nodes: the first writes a channel that is never saved, the second may read it.
#[derive(Clone, Copy, Default)]
struct Two {
    /// Set if the body of the first may be run again.
    known: bool,
    /// Set if the second declares that it does not read the channel.
    declares: bool,
    /// Set if the second reads the channel.
    reads: bool,
    /// Set if the second writes another value now.
    changed: bool,
    /// Set if the second waits for an answer, so that a separate run starts with it.
    waits: bool,
}

impl Two {
    fn graph(self) -> superstep::graph::CompiledGraph<unsaved::Margin, Name> {
        use unsaved::Margin;
        let writes = |_: Arc<Margin>, _: Ctx| async { Ok::<_, NodeError>(Margin::update().word("tides")) };
        let second = move |margin: Arc<Margin>, ctx: Ctx| async move {
            if self.waits {
                ctx.interrupt(Approve)?;
            }
            let length = if self.reads { margin.word.len() } else { 7 };
            Ok::<_, NodeError>(Margin::update().length(length + usize::from(self.changed)))
        };
        let second = NodeExt::<Margin, Name, ()>::replayable(second).asks::<Approve>();
        let second = if self.declares { second.reads(["length"]) } else { second };
        let builder = StateGraph::<Margin, Name>::new();
        let builder = match self.known {
            true => builder.add_node(id("writes"), NodeExt::<Margin, Name, ()>::replayable(writes)),
            false => builder.add_node(id("writes"), writes),
        };
        builder.add_node(id("second"), second).add_sequence([id("writes"), id("second")]).compile().unwrap()
    }

    /// Runs it, changes it, verifies it.
    async fn verified(self, changed: bool) -> VerifyReport {
        let store = Store::memory();
        let thread = |two: Self| two.graph().with_shared_checkpointer(Arc::clone(&store.store)).thread("t");
        thread(self).invoke(unsaved::Margin::update()).await.unwrap();
        if self.waits {
            thread(self).resume::<Approve>(true).await.unwrap();
        }
        thread(Self { changed, ..self }).verify().await.unwrap()
    }
}

/// Whichever node wrote the channel, a body whose result agrees was compared.
#[rstest]
#[tokio::test]
async fn an_unsaved_channel_does_not_prevent_running_a_body(
    #[values(false, true)] known: bool,
    #[values(false, true)] declares: bool,
    #[values(false, true)] waits: bool,
) {
    let verified = Two { known, declares, waits, ..Two::default() }.verified(false).await;
    assert_eq!((verified.agrees(), verified.bodies), (true, 1 + u64::from(known)), "{verified}");
    assert_eq!(verified.not_verified.len(), usize::from(!known), "{verified}");
}

#[rstest]
#[case::in_the_run_that_wrote_it(false)]
#[case::in_a_run_of_its_own(true)]
#[tokio::test]
async fn a_body_reads_an_unsaved_channel_that_another_one_wrote(#[case] waits: bool) {
    let verified = Two { known: true, reads: true, waits, ..Two::default() }.verified(false).await;
    assert_eq!((verified.verdict(), verified.bodies), (VerifyVerdict::Same, 2), "{verified}");
}

#[rstest]
#[case::its_writer_ran_again(true, false)]
#[case::it_declares_what_it_reads(false, true)]
#[tokio::test]
async fn a_changed_body_with_an_unsaved_channel_differs(#[case] known: bool, #[case] declares: bool) {
    let verified = Two { known, declares, ..Two::default() }.verified(true).await;
    assert_eq!(verified.divergence.unwrap().what, "write to `length`");
}

#[rstest]
#[case::which_it_reads(true, false)]
#[case::which_it_may_read(false, true)]
#[tokio::test]
async fn a_result_that_depends_on_an_unknown_value_is_accepted(#[case] reads: bool, #[case] changed: bool) {
    let verified = Two { reads, ..Two::default() }.verified(changed).await;
    let why = "its result differs, but it may have read `word`, never saved: declare what it reads with `.reads(..)`";
    assert_eq!((verified.agrees(), verified.bodies, &*verified.not_verified[1].why), (true, 0, why), "{verified}");
    assert_eq!(verified.verdict(), VerifyVerdict::NothingCompared);
}

#[rstest]
#[tokio::test]
async fn routers_may_read_an_unsaved_channel(#[values(false, true)] known: bool) {
    use unsaved::Margin;
    let store = Store::memory();
    let writes = |_: Arc<Margin>, _: Ctx| async { Ok::<_, NodeError>(Margin::update().word("tides")) };
    let ends = |_: Arc<Margin>, _: Ctx| async { Ok::<_, NodeError>(Margin::update().length(1)) };
    let builder = StateGraph::<Margin, Name>::new();
    let builder = match known {
        true => builder.add_node(id("writes"), NodeExt::<Margin, Name, ()>::replayable(writes)),
        false => builder.add_node(id("writes"), writes),
    };
    let router = |margin: &Margin| if margin.word.is_empty() { vec![id("b")] } else { vec![id("a")] };
    let builder = builder.add_node(id("a"), ends).add_node(id("b"), ends).add_edge(START, id("writes"));
    let builder = builder.add_conditional_edges_to(id("writes"), router, [id("a"), id("b")]);
    let graph = builder.compile().unwrap();
    let thread = || graph.clone().with_shared_checkpointer(Arc::clone(&store.store)).thread("t");
    thread().invoke(Margin::update()).await.unwrap();
    let verified = thread().verify().await.unwrap();
    assert_eq!((verified.agrees(), verified.routers), (true, 1), "{verified}");
    let reason = "its routers may have read a channel that is never saved";
    assert_eq!(verified.not_verified.iter().any(|taken| taken.why == reason), !known, "{verified}");
}

#[tokio::test]
async fn a_report_starts_with_the_amount_compared() {
    let (store, tally) = (Store::memory(), Tally::default());
    let graph = chain(Builder::new().add_node(id("a"), note("a")), &["a"]);
    store.thread(&graph).invoke(start()).await.unwrap();
    let verified = store.thread(&graph).verify().await.unwrap();
    insta::assert_snapshot!(verified.to_string(), @r"
    nothing compared in 2 supersteps: 0 bodies and 0 routers run, 1 result reused
    not compared: superstep 1, `a`: it is not marked `.replayable()`
    ");
    assert_eq!(verified.verdict(), VerifyVerdict::NothingCompared);
    let other = Store::memory();
    ran(&other, &tally).await;
    let changed = self::graph(Write, &tally);
    let differs = other.thread(&changed).verify().await.unwrap().to_string();
    assert_eq!(
        differs.lines().next(),
        Some("1 superstep compared, then a difference: 0 bodies and 0 routers run, 0 results reused")
    );
}

#[tokio::test]
async fn an_unknown_thread_does_not_agree() {
    let store = Store::memory();
    let graph = chain(Builder::new().add_node(id("a"), note("a")), &["a"]);
    let stored = graph.clone().with_shared_checkpointer(Arc::clone(&store.store));
    stored.thread("order-17").invoke(start()).await.unwrap();
    let mistyped = stored.thread("order-71");
    assert!(matches!(mistyped.status().await.unwrap(), superstep::graph::Status::New));
    let mut errors = vec![
        mistyped.verify().await.map(|_| ()).unwrap_err(),
        mistyped.what_if().await.map(|_| ()).unwrap_err(),
        mistyped.diff(CheckpointId(1), CheckpointId(2)).await.map(|_| ()).unwrap_err(),
    ];
    for mode in [Replay::Recorded, Replay::Verify, Replay::WhatIf, Replay::Live] {
        errors.push(mistyped.replay(mode).await.map(|_| ()).unwrap_err());
    }
    for error in errors {
        assert_eq!(format!("{error:?}"), "there is no thread `order-71`\n help: did you mean `order-17`?");
    }
    let options = superstep::checkpoint::ExportOptions::new();
    let id = superstep::checkpoint::ThreadId::from("order-71");
    let error = superstep::checkpoint::export_thread(&*store.store, &id, &options, vec![]).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no thread `order-71`: did you mean `order-17`?");
}

/// The questions were asked before the state was updated.
#[rstest]
#[case::asks_something_else(false)]
#[case::asks_nothing(true)]
#[tokio::test]
async fn a_question_answered_with_an_update_agrees(#[case] silent: bool) {
    let store = Store::memory();
    let node = move |pad: Arc<Pad>, ctx: Ctx| -> Body {
        Box::pin(async move {
            if !(silent && pad.title == "moons") {
                ctx.interrupt(Rename { from: pad.title.clone() })?;
            }
            Ok(Pad::update().notes([pad.title.clone()]))
        })
    };
    let node = node.asks::<Rename>().replayable();
    let graph = chain(Builder::new().add_node(id("node"), node), &["node"]);
    store.thread(&graph).invoke(start()).await.unwrap();
    let answer = Request::answers([Answer::new::<Rename>(&"stars".to_owned())]);
    let request = answer.and(Command::update(Pad::update().title("moons")));
    store.thread(&graph).run(request).await.unwrap().finished().unwrap();
    let verified = store.thread(&graph).verify().await.unwrap();
    assert_eq!((verified.agrees(), verified.bodies), (true, 1), "{verified}");
    let why = "it asked its questions before the state was updated: they are not compared";
    assert!(verified.not_verified.iter().any(|taken| taken.why == why), "{verified}");
}

/// The number of remaining supersteps is not recorded.
#[tokio::test]
async fn a_body_that_counts_the_supersteps_left_is_no_difference() {
    let store = Store::memory();
    let node =
        |_: Arc<Pad>, ctx: Ctx| -> Body { Box::pin(async move { Ok(Pad::update().sum(ctx.remaining_steps())) }) };
    let builder = Builder::new().add_node(id("a"), note("a")).add_node(id("node"), node.replayable());
    let graph = chain(builder, &["a", "node"]);
    store.thread(&graph).recursion_limit(9).invoke(start()).await.unwrap();
    let verified = store.thread(&graph).verify().await.unwrap();
    assert!(verified.agrees(), "{verified}");
    let why = "its result differs, but it read how many supersteps were left, which is not recorded";
    assert_eq!(verified.not_verified[1].why, why);
}

#[tokio::test]
async fn a_body_that_reads_its_attempt_gets_the_recorded_one() {
    let (store, tally) = (Store::memory(), Tally::default());
    let runs = tally.clone();
    let node = move |_: Arc<Pad>, ctx: Ctx| -> Body {
        let run = runs.add("");
        Box::pin(async move {
            if [1, 3, 4].contains(&run) {
                return Err("not yet".into());
            }
            ctx.interrupt(Approve)?;
            Ok(Pad::update().sum(i64::from(ctx.attempt())))
        })
    };
    let node = node.asks::<Approve>().replayable().retry(crate::effects::soon());
    let graph = chain(Builder::new().add_node(id("node"), node), &["node"]);
    store.thread(&graph).invoke(start()).await.unwrap();
    let outcome = store.thread(&graph).resume::<Approve>(true).await.unwrap();
    assert_eq!((tally.count(), outcome.state().sum), (5, 3));
    let verified = store.thread(&graph).verify().await.unwrap();
    assert!(verified.agrees() && verified.not_verified.is_empty(), "{verified}");
}

#[rstest]
#[case::time("time 2 of `ctx.now()`")]
#[case::number("number 1 of `ctx.random()`")]
#[case::value("recorded value `seed`")]
#[tokio::test]
async fn a_value_that_was_never_recorded_is_named(#[case] what: &'static str) {
    let store = Store::memory();
    let build = |changed: bool| {
        let node = move |_: Arc<Pad>, ctx: Ctx| -> Body {
            Box::pin(async move {
                ctx.now().await?;
                match what.split(' ').next() {
                    Some("time") if changed => drop(ctx.now().await?),
                    Some("number") if changed => drop(ctx.random().await?),
                    _ if changed => drop(ctx.record("seed", 1).await?),
                    _ => {}
                }
                Ok(Pad::update())
            })
        };
        chain(Builder::new().add_node(id("node"), node.replayable()), &["node"])
    };
    store.thread(&build(false)).invoke(start()).await.unwrap();
    let verified = store.thread(&build(true)).verify().await.unwrap();
    let expected = format!("superstep 1, `node`: {what}\n  recorded: nothing\n  now:      \"asked for\"");
    assert_eq!(verified.divergence.unwrap().to_string(), expected);
}

/// All nodes of the subgraph are replayable and run again, with their recorded input.
#[rstest]
#[case::over_its_parents_state(false)]
#[case::with_an_input_of_its_own(true)]
#[tokio::test]
async fn what_if_lists_a_subgraph_that_would_start_differently(#[case] mapped: bool) {
    let store = Store::memory();
    let build = |sum: i64| {
        let first = move |_: Arc<Pad>, _: Ctx| -> Body { Box::pin(async move { Ok(Pad::update().sum(sum)) }) };
        let inner = chain(Builder::new().add_node(id("deep"), note("deep").replayable()), &["deep"]);
        let builder = Builder::new().add_node(id("first"), first.replayable());
        let builder = match mapped {
            true => builder.add_subgraph(
                id("inner"),
                inner
                    .mapped(|pad: &Pad| Pad::update().sum(pad.sum), |pad: &Pad| Pad::update().notes(pad.notes.clone())),
            ),
            false => builder.add_subgraph(id("inner"), inner),
        };
        chain(builder, &["first", "inner"])
    };
    store.thread(&build(1)).invoke(start()).await.unwrap();
    let report = store.thread(&build(1)).what_if().await.unwrap();
    assert!(report.taken.is_empty() && report.stopped.is_none(), "{report}");
    let report = store.thread(&build(2)).what_if().await.unwrap();
    let listed: Vec<String> = report.taken.iter().chain(&report.stopped).map(ToString::to_string).collect();
    let expected = match mapped {
        false => "superstep 2, `inner`: it is a subgraph, and would start with a different `sum`",
        true => "superstep 0, `inner` > `__start__`: input, write to `sum` was recorded with 1 and is 2 now",
    };
    assert_eq!(listed, [expected]);
}

/// Over many rounds, in the JSON form of the report.
#[tokio::test]
async fn the_report_is_json() {
    let (store, tally) = (Store::memory(), Tally::default());
    ran(&store, &tally).await;
    let found = store.thread(&graph(Question, &tally)).verify().await.unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&found).unwrap(), @r#"
    {
      "verified": 1,
      "bodies": 0,
      "routers": 0,
      "not_verified": [],
      "divergence": {
        "checkpoint": 2,
        "step": 1,
        "node": "shop",
        "task": "2-4",
        "what": "question `price`",
        "recorded": 7,
        "now": 8
      }
    }
    "#);
}

#[tokio::test]
async fn what_if_runs_over_the_recorded_run() {
    let (store, tally) = (Store::memory(), Tally::default());
    ran(&store, &tally).await;
    let before = everything(&store.thread(&graph(Nothing, &tally))).await;
    let what_if = |change: Change| {
        let thread = store.thread(&graph(change, &tally));
        async move {
            let report = thread.what_if().await.unwrap();
            let notes = &report.state["notes"];
            format!("{report}\n{} sum {} next {:?}", notes[0], report.state["sum"], report.next)
        }
    };
    insta::assert_snapshot!(what_if(Nothing).await, @r#"
    6 supersteps run again
    taken as recorded: superstep 2, `plain`: it is not marked `.replayable()`
    taken as recorded: superstep 1, `inner` > `first`: it is not marked `.replayable()`
    taken as recorded: superstep 4, `worker`: it is not marked `.replayable()`
    taken as recorded: superstep 4, `worker`: it is not marked `.replayable()`
    taken as recorded: superstep 5, `end`: it is not marked `.replayable()`
    reached the end
    "bought" sum 4 next []
    "#);
    insta::assert_snapshot!(what_if(Router).await, @r#"
    3 supersteps run again
    superstep 1, `shop`: route
      recorded: ["side","plain"]
      now:      ["side"]
    superstep 1, `shop`: next superstep
      recorded: ["plain","side"]
      now:      ["side"]
    superstep 2, `side`: next superstep
      recorded: ["inner"]
      now:      []
    reached the end
    "bought" sum 0 next []
    "#);
    insta::assert_snapshot!(what_if(Argument).await, @r#"
    1 superstep run again
    stopped before superstep 1, `shop`: effect `pay` was recorded with 7 and is 8 now
    null sum 0 next ["shop"]
    "#);
    insta::assert_snapshot!(what_if(Sends).await, @r#"
    4 supersteps run again
    superstep 3, `inner`: next superstep
      recorded: [{"worker":1},{"worker":2}]
      now:      [{"worker":1},{"worker":3}]
    taken as recorded: superstep 2, `plain`: it is not marked `.replayable()`
    taken as recorded: superstep 1, `inner` > `first`: it is not marked `.replayable()`
    stopped before superstep 4, `worker`: it has no recorded result
    "bought" sum 1 next ["worker", "worker"]
    "#);
    insta::assert_snapshot!(what_if(Edge).await, @r#"
    5 supersteps run again
    superstep 4, `worker, worker`: next superstep
      recorded: ["end"]
      now:      ["end","extra"]
    taken as recorded: superstep 2, `plain`: it is not marked `.replayable()`
    taken as recorded: superstep 1, `inner` > `first`: it is not marked `.replayable()`
    taken as recorded: superstep 4, `worker`: it is not marked `.replayable()`
    taken as recorded: superstep 4, `worker`: it is not marked `.replayable()`
    stopped before superstep 5, `extra`: it has no recorded result
    "bought" sum 4 next ["end", "extra"]
    "#);
    assert_eq!((everything(&store.thread(&graph(Nothing, &tally))).await == before, tally.count()), (true, 1));
}

#[tokio::test]
async fn a_failure_that_the_body_handled_is_no_difference() {
    let store = Store::memory();
    let node = |_: Arc<Pad>, ctx: Ctx| -> Body {
        Box::pin(async move {
            let primary = ctx.effect("primary", &1, |_| async { Err::<u32, _>("busy") }).await;
            let got = match primary {
                Ok(got) => got,
                Err(_) => ctx.effect("fallback", &1, |_| async { Ok::<_, NodeError>(2) }).await?,
            };
            Ok(Pad::update().sum(i64::from(got)))
        })
    };
    let graph = chain(Builder::new().add_node(id("node"), node.replayable()), &["node"]);
    store.thread(&graph).invoke(start()).await.unwrap();
    let verified = store.thread(&graph).verify().await.unwrap();
    assert!(verified.agrees() && verified.not_verified.is_empty(), "{verified}");
}

#[tokio::test]
async fn a_thread_started_by_a_command_agrees() {
    let store = Store::memory();
    let builder = Builder::new().add_node(id("a"), note("a")).add_node(id("b"), note("b")).add_edge(START, id("a"));
    let graph = builder.allow(Lint::Unreachable).compile().unwrap();
    let begin = Command::update(start()).goto(id("b"));
    store.thread(&graph).command(begin).await.unwrap();
    let verified = store.thread(&graph).verify().await.unwrap();
    assert!(verified.agrees(), "{verified}");
}

#[rstest]
#[case::finished(false)]
#[case::after_a_question(true)]
#[tokio::test]
async fn parts_left_out_by_durability_exit_are_listed(#[case] asks: bool) {
    let store = Store::memory();
    let builder = Builder::new().add_node(id("a"), note("a")).add_node(id("b"), note("b"));
    let nodes = if asks { vec!["a", "ask", "b"] } else { vec!["a", "b"] };
    let builder = if asks { builder.add_node(id("ask"), approval.asks::<Approve>()) } else { builder };
    let graph = chain(builder, &nodes);
    let thread = || store.thread(&graph).durability(Durability::Exit);
    thread().invoke(start()).await.unwrap();
    if asks {
        thread().resume::<Approve>(true).await.unwrap();
    }
    thread().invoke(start()).await.unwrap();
    let verified = thread().verify().await.unwrap();
    assert!(verified.agrees() && !verified.not_verified.is_empty(), "{verified}");
}

#[tokio::test]
async fn what_if_stops_at_new_input() {
    let store = Store::memory();
    let graph = chain(Builder::new().add_node(id("a"), note("a")), &["a"]);
    store.thread(&graph).invoke(start()).await.unwrap();
    store.thread(&graph).invoke(start()).await.unwrap();
    let report = store.thread(&graph).what_if().await.unwrap();
    assert_eq!(report.stopped.unwrap().why, "the thread got a new input here");
}

#[tokio::test]
async fn what_if_follows_external_commands() {
    let store = Store::memory();
    let builder = Builder::new().add_node(id("a"), note("a").replayable());
    let graph = chain(builder.add_node(id("ask"), approval.asks::<Approve>().replayable()), &["a", "ask"]);
    store.thread(&graph).invoke(start()).await.unwrap();
    store.thread(&graph).command(Command::update(Pad::update()).goto(id("a"))).await.unwrap();
    store.thread(&graph).resume::<Approve>(true).await.unwrap();
    let report = store.thread(&graph).what_if().await.unwrap();
    assert!(report.differences.is_empty(), "{report}");
}

#[rstest]
#[case::by_a_command(true)]
#[case::by_two(false)]
#[tokio::test]
async fn what_ended_before_the_state_was_updated_is_not_compared(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[case] once: bool,
) {
    let sum = |pad: Arc<Pad>, _: Ctx| async move { Ok::<_, NodeError>(Pad::update().notes([format!("{}", pad.sum)])) };
    let builder = Builder::new().add_node(id("sum"), sum.replayable());
    let builder = builder.add_node(id("ask"), approval.asks::<Approve>().replayable());
    let graph = builder.add_edge(START, [id("sum"), id("ask")]).compile().unwrap();
    let thread = store.thread(&graph);
    thread.invoke(start()).await.unwrap();
    for _ in 0..if once { 1 } else { 2 } {
        thread.command(Command::update(Pad::update().sum(1))).await.unwrap();
    }
    let end = thread.resume::<Approve>(true).await.unwrap().finished().unwrap();
    assert_eq!(end.notes, ["approved: true", "0"]);

    let verified = store.thread(&graph).verify().await.unwrap();
    assert!(verified.agrees(), "{verified}");
    assert!(verified.to_string().contains("`sum`: it ended before the state was updated"), "{verified}");
}

#[tokio::test]
async fn what_runs_anew_after_an_update_from_the_past_is_compared() {
    let store = Store::memory();
    let nothing = |_: Arc<Pad>, _: Ctx| async { Ok::<_, NodeError>(()) };
    let graph =
        chain(Builder::new().add_node(id("a"), note("a")).add_node(id("go"), nothing.replayable()), &["a", "go"]);
    let thread = store.thread(&graph);
    thread.invoke(start()).await.unwrap();
    let made = thread.history().await.unwrap().all().await.unwrap();
    let at = made.iter().find(|made| made.next == ["go"]).unwrap().id;
    thread.clone().at(at).command(Command::update(Pad::update().sum(1))).await.unwrap();
    let verified = store.thread(&graph).verify().await.unwrap().to_string();
    assert!(verified.contains(": 1 body") && !verified.contains("ended before"), "{verified}");
}

/// A node whose first attempt pays and fails; `pays`: later attempts pay too.
fn retrying(pays: bool) -> Graph {
    let body = move |_: Arc<Pad>, ctx: Ctx| -> Body {
        Box::pin(async move {
            if pays || ctx.attempt() == 1 {
                ctx.effect("pay", &7, |_| async { Ok::<_, NodeError>(1) }).await?;
            }
            if ctx.attempt() == 1 {
                return Err("busy".into());
            }
            Ok(Pad::update().notes(["done"]))
        })
    };
    let body = body.retry(RetryPolicy::attempts(2).pause(std::time::Duration::ZERO)).replayable();
    chain(Builder::new().add_node(id("shop"), body), &["shop"])
}

#[tokio::test]
async fn an_effect_of_a_failed_attempt_that_is_gone_is_listed_as_not_compared() {
    let store = Store::memory();
    store.thread(&retrying(true)).invoke(start()).await.unwrap();
    let same = store.thread(&retrying(true)).verify().await.unwrap();
    assert!(same.agrees() && !same.to_string().contains("pay"), "{same}");
    let gone = store.thread(&retrying(false)).verify().await.unwrap();
    let listed = "effect `pay` was recorded by an attempt that failed, and did not happen now";
    assert!(gone.agrees() && gone.to_string().contains(listed), "{gone}");
}
