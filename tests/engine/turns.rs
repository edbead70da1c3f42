//! Turns of conversations, each with a new handle: a graph keeps where its threads ended, and reads a thread again that has
//! moved since.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use rstest::rstest;
use superstep::checkpoint::Checkpointer;
use superstep::graph::{CompiledGraph, StateUpdate, Thread};
use superstep::prelude::*;

use crate::stores::{Counting, Store};

#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Talk {
    asked: String,
    #[channel(append)]
    lines: Vec<String>,
}

#[derive(NodeId)]
enum Step {
    Reply,
}

type Graph = CompiledGraph<Talk, Step>;

/// The line that answers: the number of those before it, what was asked, and enough that a state with it is kept.
fn line(before: usize, asked: &str) -> String {
    format!("{before} {asked} {}", "m".repeat(1024))
}

/// A graph that appends such a line; it fails if it is asked nothing.
fn graph(store: &Arc<dyn Checkpointer>) -> Graph {
    let reply = |talk: Arc<Talk>, _: Ctx| async move {
        match talk.asked.as_str() {
            "" => Err(NodeError::permanent("asked nothing")),
            asked => Ok(Talk::update().lines([line(talk.lines.len(), asked)])),
        }
    };
    let graph = StateGraph::new().add_node(Step::Reply, reply).add_edge(START, Step::Reply).compile().unwrap();
    graph.with_shared_checkpointer(Arc::clone(store))
}

#[tokio::test]
async fn a_turn_with_a_new_handle_does_not_read_what_the_graph_has_just_written() {
    let counting = Counting::new(&Store::memory());
    let graph = graph(&(Arc::clone(&counting) as Arc<dyn Checkpointer>));
    let turn = async || drop(graph.thread("talk").invoke(Talk::update().asked("how?")).await.unwrap());
    for _ in 0..10 {
        turn().await;
    }
    counting.read();
    turn().await;
    let read = counting.read();
    assert!(read < 1000, "{read} bytes of eleven lines of 1,000");
}

#[rstest]
#[case::kept(40)]
#[case::some_dropped(100)]
#[tokio::test]
async fn the_ends_of_many_threads_do_not_mix(#[case] threads: usize) {
    let graph = graph(&Store::memory().store);
    for turn in 0..3 {
        for nth in (0..threads).map(|nth| if turn % 2 == 0 { nth } else { threads - 1 - nth }) {
            let outcome = graph.thread(format!("t{nth}")).invoke(Talk::update().asked(nth.to_string())).await.unwrap();
            let lines: Vec<String> = (0..=turn).map(|turn| line(turn, &nth.to_string())).collect();
            assert_eq!(outcome.state().lines, lines);
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Turn,
    /// A turn whose node fails; the next input discards it.
    Failed,
    Update,
    /// A turn from the checkpoint before the newest.
    Fork,
    Delete,
}

/// An act on a thread, by one of two graphs over one store.
fn act() -> impl Strategy<Value = (Act, bool, &'static str)> {
    let act = prop_oneof![
        5 => Just(Act::Turn), 1 => Just(Act::Failed), 2 => Just(Act::Update), 1 => Just(Act::Fork), 1 => Just(Act::Delete),
    ];
    (act, any::<bool>(), prop_oneof![Just("a"), Just("b")])
}

/// Performs an act as a program would, and returns the lines that the thread should have then.
async fn perform(act: Act, nth: usize, thread: &Thread<Talk, Step>, mut lines: Vec<String>) -> Vec<String> {
    let asks = || Talk::update().asked(nth.to_string());
    match act {
        Act::Turn => {
            let outcome = thread.clone().discard_pending().invoke(asks()).await.unwrap();
            lines.push(line(lines.len(), &nth.to_string()));
            assert_eq!(outcome.state().lines, lines);
        }
        Act::Failed => {
            let failed = thread.clone().discard_pending().invoke(Talk::update().asked("")).await;
            failed.map(drop).unwrap_err();
        }
        Act::Update => {
            lines.push("by hand".into());
            thread.update_state_as(Step::Reply, Talk::update().lines(["by hand"])).await.unwrap();
        }
        Act::Fork => {
            let history = thread.history().await.unwrap().all().await.unwrap();
            let Some(before) = history.get(1) else { return lines };
            let outcome = thread.clone().at(before.id).invoke(asks()).await.unwrap();
            lines = before.values.lines.clone();
            lines.push(line(lines.len(), &nth.to_string()));
            assert_eq!(outcome.state().lines, lines);
        }
        Act::Delete => {
            thread.delete().await.unwrap();
            lines.clear();
        }
    }
    lines
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_turn_goes_on_from_where_its_thread_is(acts in prop::collection::vec(act(), 1..25)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = Store::memory();
            let graphs = [graph(&store.store), graph(&store.store)];
            let mut threads: BTreeMap<&str, Vec<String>> = BTreeMap::new();
            for (nth, (act, by, id)) in acts.into_iter().enumerate() {
                let before = threads.remove(id).unwrap_or_default();
                let after = perform(act, nth, &graphs[usize::from(by)].thread(id), before).await;
                let read = graph(&store.store).thread(id).state().await.unwrap();
                assert_eq!(read.map_or_else(Vec::new, |read| read.values.lines.clone()), after);
                threads.insert(id, after);
            }
        });
    }
}

#[derive(NodeId)]
enum Asks {
    Reply,
    Ask,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool)]
struct Sure;

/// A node that replies, and one that asks: a command reaches it.
fn graph_with_command(store: &Arc<dyn Checkpointer>) -> CompiledGraph<Talk, Asks> {
    let reply = |talk: Arc<Talk>, _: Ctx| async move {
        Ok::<_, NodeError>(Talk::update().lines([line(talk.lines.len(), &talk.asked)]))
    };
    let ask = |_: Arc<Talk>, ctx: Ctx| async move {
        let sure = ctx.interrupt(Sure)?;
        Ok::<_, NodeError>(Talk::update().lines([format!("sure: {sure}")]))
    };
    let start = |talk: &Talk| if talk.asked == "?" { Asks::Ask } else { Asks::Reply };
    let graph = StateGraph::new().add_node(Asks::Reply, reply).add_node(Asks::Ask, ask.asks::<Sure>());
    let graph = graph.add_conditional_edges_to(START, start, [Asks::Ask, Asks::Reply]);
    graph.compile().unwrap().with_shared_checkpointer(Arc::clone(store))
}

#[rstest]
#[tokio::test]
async fn what_a_command_has_led_to_is_not_dropped_by_the_next_input(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(false, true)] by_another: bool,
) {
    let graph = graph_with_command(&store.store);
    let other = graph_with_command(&store.store);
    let (thread, commanding) = (graph.thread("talk"), if by_another { &other } else { &graph }.thread("talk"));
    thread.invoke(Talk::update().asked("one")).await.unwrap();
    let paused = commanding.command(Command::to(Asks::Ask)).await.unwrap();
    assert_eq!(paused.questions().len(), 1);

    let refused = thread.invoke(Talk::update().asked("two")).await.unwrap_err();
    assert!(matches!(refused, RunError::Unfinished { .. }), "{refused:?}");
    let end = thread.resume::<Sure>(true).await.unwrap();
    assert_eq!(end.state().lines, [line(0, "one"), "sure: true".into()]);
}

#[derive(Clone, Copy, Debug)]
enum Again {
    Retry,
    Copy,
    Command,
}

#[rstest]
#[tokio::test]
async fn input_beside_a_question_is_not_lost_when_its_superstep_is_repeated(
    #[values(Again::Retry, Again::Copy, Again::Command)] again: Again,
    #[values(Durability::Sync, Durability::Exit)] durability: Durability,
    #[values(false, true)] anew: bool,
) {
    let store = Store::memory();
    let graph = graph_with_command(&store.store);
    let thread = || {
        let graph = if anew { graph_with_command(&store.store) } else { graph.clone() };
        graph.thread("talk").durability(durability)
    };
    thread().invoke(Talk::update().asked("one")).await.unwrap();
    thread().invoke(Talk::update().asked("?")).await.unwrap();
    thread().update(StateUpdate::new(Talk::update().asked("two").lines(["input"])).as_input()).await.unwrap();
    if matches!(again, Again::Command) {
        thread().command(Command::update(Talk::update().lines(["by hand"]))).await.unwrap();
    } else {
        thread().proceed().await.unwrap();
    }
    if matches!(again, Again::Copy) {
        thread().update(StateUpdate::copy()).await.unwrap();
        thread().proceed().await.unwrap();
    } else {
        thread().retry().await.unwrap();
    }
    let end = thread().resume::<Sure>(true).await.unwrap();
    let mut lines: Vec<&str> = end.state().lines.iter().map(|line| line.split(" m").next().unwrap()).collect();
    lines.sort_unstable();
    let by_hand = matches!(again, Again::Command).then_some("by hand");
    let mut expected: Vec<&str> = ["0 one", "input", "sure: true"].into_iter().chain(by_hand).collect();
    let replied = format!("{} two", expected.len());
    expected.push(&replied);
    expected.sort_unstable();
    assert_eq!(lines, expected);
    assert_eq!(end.state().asked, "two");
}

#[tokio::test]
async fn a_superstep_of_updates_before_one_that_fails_is_stored() {
    let store = Store::disk();
    let graph = graph_with_command(&store.store);
    for nth in 0..100 {
        let thread = graph.thread(format!("talk {nth}")).durability(Durability::Async);
        thread.invoke(Talk::update().asked("one")).await.unwrap();
        let update = || StateUpdate::new(Talk::update().lines(["by hand"]));
        let failed = thread.bulk_update([vec![update().as_node(Asks::Reply)], vec![update(), update()]]).await;
        assert!(matches!(failed, Err(RunError::AmbiguousUpdate)), "{failed:?}");
        let end = thread.invoke(Talk::update().asked("two")).await.unwrap();
        assert_eq!(end.state().lines, [line(0, "one"), "by hand".into(), line(2, "two")], "{nth}");
    }
}
