//! The texts of errors: every problem of a graph at once, and the errors of runs with their help.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use rstest::rstest;
use superstep::checkpoint::{CheckpointError, LeaseOwner};
use superstep::graph::interrupt::AnyQuestion;
use superstep::graph::{GraphSpec, Incompatibility, Name, Registry};
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::Store;

#[derive(NodeId)]
enum Step {
    Plan,
    Search,
    Write,
    Review,
    Publish,
    Forgotten,
}

#[derive(Serialize, Deserialize)]
struct Query(String);

/// Another question under a name that is already used.
#[derive(Serialize, Deserialize)]
struct ApproveAgain;
impl Interrupt for ApproveAgain {
    type Resume = u8;
    const NAME: &'static str = "approve";
}

async fn nothing(_: Arc<Pad>, _: Ctx) -> Result<(), NodeError> {
    Ok(())
}
async fn search(_: Arc<Query>, _: Ctx) -> Result<(), NodeError> {
    Ok(())
}

const SEARCH: Worker<Step, Query> = Worker::new(Step::Search);
const SEARCH_BY_TEXT: Worker<Step, String> = Worker::new(Step::Search);
const WRITE: Worker<Step, Query> = Worker::new(Step::Write);

fn by_text(_: &Pad) -> Sends<Step> {
    SEARCH_BY_TEXT.each([])
}
fn to_write(_: &Pad) -> Sends<Step> {
    WRITE.each([])
}

#[test]
fn compile_reports_every_problem_of_a_typed_graph_at_once() {
    let graph = StateGraph::<Pad, Step>::new()
        .add_node(Step::Plan, nothing.asks::<Approve>())
        .add_node(Step::Write, nothing)
        .add_node(Step::Write, nothing)
        .add_node(Step::Review, nothing.asks::<ApproveAgain>())
        .add_node(Step::Publish, nothing)
        .add_worker(SEARCH, search)
        .add_edge(Step::Plan, Step::Search)
        .add_edge([Step::Plan], Step::Review)
        .add_edge(END, Step::Plan)
        .add_conditional_edges_to(Step::Plan, by_text, SEARCH_BY_TEXT)
        .add_conditional_edges_to(Step::Review, to_write, WRITE)
        .input_channels(["titel"]);
    insta::assert_snapshot!(graph.compile().unwrap_err(), @r"
    node `Write` was added twice
     help: remove one of the two, or give `Write` another id
    error: node `Forgotten` is in the enum but was never added
     help: add `.add_node(Forgotten, <body>)`, or delete the variant
    error: an edge leads from `Plan` to `Search`, which only a send of `Query` can start
     help: send to `Search` from a router, or add it with `.add_node` as a node over the state
    error: the join into `Review` has fewer than two sources
     help: write `.add_edge(<source>, Review)`, or name the other sources
    error: an edge starts at END
     help: paths end at END: start the edge at a node
    error: `Plan` sends a `String` to `Search`, which takes a `Query`
     help: send a `Query` to `Search`, or change the worker
    error: `Review` sends a `Query` to `Write`, which takes the state and no payload
     help: add `Write` with `.add_worker`, or add an edge to it
    error: the questions `Approve` and `ApproveAgain` are both named `approve`
     help: give each question type its own `NAME`
    error: nothing follows START
     help: add `.add_edge(START, <first node>)`
    error: the state has no channel `titel`
     help: use the name of a field of the state
    ");
}

/// A missing node takes part in the edges that name it, so the other problems are found with it.
#[test]
fn a_node_that_was_never_added_hides_no_other_problem() {
    let graph = StateGraph::<Pad, Step>::new()
        .add_node(Step::Plan, nothing)
        .add_node(Step::Write, nothing)
        .add_node(Step::Publish, nothing)
        .add_node(Step::Forgotten, nothing)
        .add_edge(START, Step::Plan)
        .add_edge(Step::Plan, Step::Review)
        .add_conditional_edges_to(Step::Plan, fan_out, SEARCH)
        .add_edge(Step::Review, Step::Write)
        .add_edge(Step::Write, Step::Review)
        .add_edge([Step::Search, Step::Plan], Step::Publish);
    insta::assert_snapshot!(graph.compile().unwrap_err(), @r"
    node `Search` is in the enum but was never added
     help: add `.add_node(Search, <body>)`, or delete the variant
    error: node `Review` is in the enum but was never added
     help: add `.add_node(Review, <body>)`, or delete the variant
    error: nothing leads to node `Forgotten`
     help: add an edge to `Forgotten`, declare the command that goes there with `.goes_to(Forgotten)`, or remove it
    error: nothing leads out of the loop Review -> Write -> Review
     help: add a router from the loop to END; if a command leaves the loop, declare it on its node with `.goes_to(END)`
    error: the join into `Publish` may wait forever: a router can bypass `Search`
     help: join after the paths meet again, let `Publish` `.defer()`, or `.allow(Lint::ConditionalJoin)` if a router always leads to `Search` in the end
    ");
}

fn fan_out(_: &Pad) -> Sends<Step> {
    SEARCH.each([])
}

/// Returns a graph of all nodes with a loop that nothing leads to, and a node beside it.
fn with_an_island() -> StateGraph<Pad, Step> {
    let graph = StateGraph::<Pad, Step>::new().add_node(Step::Plan, nothing).add_node(Step::Search, nothing);
    let graph = graph.add_node(Step::Write, nothing).add_node(Step::Review, nothing).add_node(Step::Publish, nothing);
    let graph = graph.add_node(Step::Forgotten, nothing).add_edge(Step::Plan, Step::Search);
    graph.add_edge(Step::Write, Step::Review).add_conditional_edges_to(
        Step::Review,
        publish_or_not,
        [Step::Write, Step::Publish],
    )
}

#[test]
fn an_edge_that_is_lost_hides_no_node_that_nothing_leads_to() {
    let graph = with_an_island().add_edge(START, Step::Plan).add_edge(END, Step::Forgotten);
    insta::assert_snapshot!(graph.compile().unwrap_err(), @r"
    an edge starts at END
     help: paths end at END: start the edge at a node
    error: nothing leads to node `Publish`
     help: add an edge to `Publish`, declare the command that goes there with `.goes_to(Publish)`, or remove it
    error: nothing leads to node `Review`
     help: add an edge to `Review`, declare the command that goes there with `.goes_to(Review)`, or remove it
    error: nothing leads to node `Write`
     help: add an edge to `Write`, declare the command that goes there with `.goes_to(Write)`, or remove it
    ");
    let graph = with_an_island();
    insta::assert_snapshot!(graph.compile().unwrap_err(), @r"
    nothing follows START
     help: add `.add_edge(START, <first node>)`
    error: nothing leads to node `Publish`
     help: add an edge to `Publish`, declare the command that goes there with `.goes_to(Publish)`, or remove it
    error: nothing leads to node `Review`
     help: add an edge to `Review`, declare the command that goes there with `.goes_to(Review)`, or remove it
    error: nothing leads to node `Write`
     help: add an edge to `Write`, declare the command that goes there with `.goes_to(Write)`, or remove it
    ");
}

#[test]
fn an_edge_to_end_beside_a_router_is_a_lint() {
    let graph = || {
        let graph = StateGraph::<Pad, Name>::new().add_node(id("a"), nothing).add_node(id("b"), nothing);
        graph.add_edge(START, id("a")).add_edge(id("a"), END)
    };
    assert!(graph().add_edge(id("a"), id("b")).compile().is_ok(), "two edges: both fire");
    assert!(graph().add_conditional_edges_to(id("a"), |_: &Pad| id("b"), [id("b")]).compile().is_ok(), "from data");
    let graph = || {
        let graph = StateGraph::<Pad, Only>::new().add_node(Only::A, nothing).add_edge(Only::A, END);
        graph.add_edge(START, Only::A).add_conditional_edges_to(Only::A, |_: &Pad| Only::A, (Only::A, END))
    };
    insta::assert_snapshot!(graph().compile().unwrap_err(), @r"
    `A` has a router and an edge to END, which has no effect: the router decides
     help: remove the edge, and let the router choose END; or `.allow(Lint::EndBesideRouter)`
    ");
    assert!(graph().allow(Lint::EndBesideRouter).compile().is_ok());
}

#[derive(NodeId)]
enum Only {
    A,
}

#[test]
fn a_sequence_ends_where_it_ends() {
    let again = |pad: &Pad| if pad.notes.len() < 3 { Target::Node(Only::A) } else { Target::End };
    let graph = StateGraph::<Pad, Only>::new().add_node(Only::A, nothing).add_sequence([Only::A]);
    let edges =
        |graph: CompiledGraph<Pad, Only>| graph.edges().map(|(from, to, _)| format!("{from} {to}")).collect::<Vec<_>>();
    assert_eq!(edges(graph.compile().unwrap()), ["START A"]);
    let graph = StateGraph::<Pad, Only>::new().add_node(Only::A, nothing).add_sequence([Only::A]);
    let graph = graph.add_conditional_edges_to(Only::A, again, (Only::A, END));
    assert!(graph.compile().is_ok(), "a router goes on from there, and no edge to END is beside it");
}

fn publish_or_not(_: &Pad) -> Step {
    Step::Publish
}

#[test]
fn compile_reports_every_warning_of_a_typed_graph_at_once() {
    let graph = StateGraph::<Pad, Step>::new()
        .add_node(Step::Plan, nothing)
        .add_node(Step::Write, nothing)
        .add_node(Step::Review, nothing)
        .add_node(Step::Publish, nothing)
        .add_node(Step::Forgotten, nothing)
        .add_worker(SEARCH, search)
        .add_edge(START, Step::Plan)
        .add_conditional_edges_to(Step::Plan, publish_or_not, [Step::Publish, Step::Write])
        .add_edge(Step::Write, Step::Review)
        .add_edge(Step::Review, Step::Write)
        .add_edge([Step::Publish, Step::Plan], Step::Forgotten);
    insta::assert_snapshot!(graph.compile().unwrap_err(), @r"
    nothing leads to node `Search`
     help: add an edge to `Search`, declare the command that goes there with `.goes_to(Search)`, or remove it
    error: nothing leads out of the loop Review -> Write -> Review
     help: add a router from the loop to END; if a command leaves the loop, declare it on its node with `.goes_to(END)`
    error: the join into `Forgotten` may wait forever: a router can bypass `Publish`
     help: join after the paths meet again, let `Forgotten` `.defer()`, or `.allow(Lint::ConditionalJoin)` if a router always leads to `Publish` in the end
    ");
}

#[test]
fn compile_reports_every_unknown_name_of_a_graph_read_from_data() {
    let nowhere = |_: &Pad| id("nowhere");
    let graph = Builder::new()
        .add_node(id("a"), nothing)
        .add_node(id("a:b"), nothing)
        .add_edge(id("a"), id("c"))
        .add_edge(id("d"), id("a"))
        .add_edge([id("a"), id("e")], id("a"))
        .add_edge(id("a"), id("__start__"))
        .add_branch(id("a"), "way", nowhere, END)
        .add_branch(id("a"), "way", nowhere, END)
        .interrupt_before([id("f")]);
    insta::assert_snapshot!(graph.compile().unwrap_err(), @r"
    `a:b` cannot be the name of a node
     help: choose a name without `|`, `:`, `/`, `#` and control characters that does not start with `__`
    error: `a` leads to `c`, which is not a node
     help: add the node `c`, or correct the name
    error: an edge to `a` starts at `d`, which is not a node
     help: add the node `d`, or correct the name
    error: the join [a, e] names `e`, which is not a node
     help: add the node `e`, or take it out of the join
    error: `a` leads to START
     help: runs start at START: add an edge to the first node instead
    error: `a` has two routers named `way`
     help: give the second router another name
    error: a breakpoint is set at `f`, which is not a node
     help: add the node `f`, or remove the breakpoint
    error: nothing follows START
     help: add `.add_edge(START, <first node>)`
    ");
}

/// Formats an error as it is printed when `main` returns it.
fn printed(error: &RunError) -> String {
    format!("error: {error:?}")
}

fn lone(node: impl Node<Pad, Name, ()>) -> Graph {
    chain(Builder::new().add_node(id("a"), node).add_node(id("z"), nothing), &["a", "z"])
}

fn title(title: &'static str) -> impl Fn(Arc<Pad>, Ctx) -> std::future::Ready<Ended> + Clone {
    move |_, _| std::future::ready(Ok(Pad::update().title(title)))
}

fn going(to: &'static str) -> impl Node<Pad, Name, ()> {
    let node = move |_: Arc<Pad>, _: Ctx| async move { Ok::<_, NodeError>(Command::to(id(to))) };
    node.goes_to(id("z"))
}

async fn lost(_: Arc<Pad>, _: Ctx) -> Result<Command<Pad, Name>, NodeError> {
    Ok(Command::to(id("lost")))
}

async fn up(_: Arc<Pad>, _: Ctx) -> Result<Command<Pad, Name>, NodeError> {
    Ok(Command::parent(Command::<Pad, Name>::to(id("z"))))
}

async fn undeclared(_: Arc<Pad>, ctx: Ctx) -> Result<(), NodeError> {
    ctx.interrupt(AnyQuestion("?".into()))?;
    Ok(())
}

async fn ignored(_: Arc<Pad>, ctx: Ctx) -> Result<(), NodeError> {
    ctx.interrupt(Approve).ok();
    Ok(())
}

fn two_writers() -> Graph {
    fan(Builder::new().add_node(id("a"), title("a")).add_node(id("b"), title("b")), &["a", "b"])
}

async fn first_error(graph: Graph, limit: u64) -> RunError {
    Store::memory().thread(&graph).recursion_limit(limit).invoke(start()).await.unwrap_err()
}

#[tokio::test]
async fn errors_of_runs_have_a_place_a_cause_and_help() {
    let broken = |_: Arc<Pad>, _: Ctx| async { Err::<(), NodeError>("out of ink".into()) };
    let panics = |_: Arc<Pad>, _: Ctx| async { if true { panic!("out of paper") } else { Ok::<(), NodeError>(()) } };
    let over = |_: Arc<Pad>, _: Ctx| async { Ok::<_, NodeError>(Pad::update().spent(200).spent(200)) };
    let graphs = [
        (lone(broken), 9),
        (lone(panics), 9),
        (lone(over), 9),
        (two_writers(), 9),
        (lone(lost), 9),
        (lone(going("a")), 9),
        (lone(up), 9),
        (lone(undeclared), 9),
        (lone(ignored.asks::<Approve>()), 9),
        (lone(nothing), 1),
        (lone(nothing), 2),
    ];
    let mut printed_errors = vec![];
    for (graph, limit) in graphs {
        printed_errors.push(printed(&first_error(graph, limit).await));
    }
    insta::assert_snapshot!(printed_errors.join("\n"), @r"
    error: node `a` failed in superstep 1: out of ink
     help: fix the cause, then call `thread.proceed()`
    error: node `a` panicked in superstep 1: out of paper
     help: fix the cause, then call `thread.proceed()`
    error: channel `spent` refused a write of `a` in superstep 1: the budget is gone
     help: fix the reducer or the write, then call `thread.retry()`
    error: channel `title` was written more than once in superstep 1, by `a` and `b`
     help: give `title` a reducer, or write it from one node, then `thread.retry()`
    error: `a` leads to `lost`, which is not a node
     help: add the node `lost`, or correct the name
    error: `a` leads to `a`, which is not among its declared targets
     help: declare it: `.goes_to(a)` on the node, or beside its router in `add_conditional_edges_to`
    error: node `a` returned a command for the parent graph, but its graph has none
     help: return a command without `parent`, or run the graph as a subgraph
    error: node `a` asked `any` (AnyQuestion) without declaring it
     help: add `.asks::<AnyQuestion>()` to the node
    error: node `a` continued although its question `approve` has no answer
     help: return the error of `ctx.interrupt(..)` with `?`
    error: no end after 1 superstep
     help: check the exit of the loop, or raise `.recursion_limit(..)`
    error: no end after 2 supersteps
     help: check the exit of the loop, or raise `.recursion_limit(..)`
    ");
}

/// Two nodes that ask the same in parallel.
fn asking() -> Graph {
    let node = || approval.asks::<Approve>();
    fan(Builder::new().add_node(id("a"), node()).add_node(id("b"), node()), &["a", "b"])
}

#[tokio::test]
async fn errors_of_threads_have_a_place_a_cause_and_help() {
    let (store, graph) = (Store::memory(), asking());
    let thread = || store.thread(&graph);
    let mut errors = vec![thread().proceed().await.unwrap_err()];
    errors.push(thread().resume::<Approve>(true).await.unwrap_err());
    errors.push(thread().recursion_limit(0).invoke(start()).await.unwrap_err());
    errors.push(graph.invoke(start()).await.unwrap_err());
    thread().invoke(start()).await.unwrap();
    errors.push(thread().invoke(start()).await.unwrap_err());
    errors.push(thread().resume::<Approve>(true).await.unwrap_err());
    errors.push(thread().resume::<Rename>(String::new()).await.unwrap_err());
    errors.push(thread().update_state_as(id("c"), start()).await.unwrap_err());
    errors.push(thread().at(CheckpointId(77)).state().await.unwrap_err());
    insta::assert_snapshot!(errors.iter().map(printed).collect::<Vec<_>>().join("\n"), @r"
    error: thread `t` has never run
     help: start it with `thread.invoke(input)`
    error: there is no pending question on thread `t`, which has never run
     help: nothing was written; `thread.status()` shows the pending questions
    error: the recursion limit must be at least 1
     help: correct the setting, or use the handle that supports it: `graph.thread(..)`
    error: a graph that can ask questions needs a checkpointer
     help: add `.with_checkpointer(..)` to the graph
    error: thread `t` is unfinished: it waits for answers to `approve` (2 times)
     help: answer, `proceed()` or `retry()`; or discard the unfinished work with `.discard_pending()`
    error: 2 questions are pending of the type `approve`: select the one to answer
     help: answer by id: `thread.answer(Answer::new(..).to(id))`
    error: there is no pending question of the type `rename`
     help: nothing was written; `thread.status()` shows the pending questions
    error: `c` is not a node
     help: name a node of the graph: `graph.nodes()` lists them
    error: thread `t` has no checkpoint 77
     help: `thread.history()` lists the checkpoints
    ");
}

#[rstest]
#[case::yes("\"yes\"")]
#[case::number("3")]
#[tokio::test]
async fn the_error_for_a_mistyped_answer_names_the_expected_type(#[case] json: &str) {
    let (store, graph) = (Store::memory(), asking());
    let outcome = store.thread(&graph).invoke(start()).await.unwrap();
    let answer = Answer::json(&serde_json::from_str(json).unwrap()).to(outcome.questions()[0].id());
    let error = store.thread(&graph).answer(answer).await.unwrap_err();
    assert!(error.to_string().contains("it takes `bool`"), "{error}");
}

async fn breaks(_: Arc<Pad>, _: Ctx) -> Result<(), NodeError> {
    Err("out of ink".into())
}

#[rstest]
#[case::one_task(lone(breaks), "`a` has not finished")]
#[case::two_tasks(fan(Builder::new().add_node(id("a"), breaks).add_node(id("b"), breaks), &["a", "b"]), "`a` and `b` have not finished")]
#[case::one_question(lone(approval.asks::<Approve>()), "it waits for an answer to `approve`")]
#[case::two_questions(asking(), "it waits for answers to `approve` (2 times)")]
#[tokio::test]
async fn the_error_for_new_input_on_an_unfinished_thread_lists_open_work(#[case] graph: Graph, #[case] open: &str) {
    let store = Store::memory();
    _ = store.thread(&graph).invoke(start()).await;
    let error = store.thread(&graph).invoke(start()).await.unwrap_err();
    assert_eq!(error.to_string(), format!("thread `t` is unfinished: {open}"));
}

#[rstest]
#[case::refused(Pad::update().spent(200).spent(200), "channel `spent` refused a write of the input in superstep 0: the budget is gone")]
#[case::twice(Pad::update().title("a").title("b"), "channel `title` was written more than once in superstep 0, by the input")]
#[tokio::test]
async fn the_error_for_invalid_input_tells_how_to_replace_it(#[case] input: PadUpdate, #[case] words: &str) {
    let (store, graph) = (Store::memory(), lone(nothing));
    let error = store.thread(&graph).invoke(input).await.unwrap_err();
    assert_eq!(printed(&error), format!("error: {words}\n help: fix the input, then invoke with `.discard_pending()`"));
    store.thread(&graph).discard_pending().invoke(start()).await.unwrap();
}

mod elsewhere {
    use superstep::prelude::*;

    #[derive(Serialize, Deserialize)]
    pub(super) struct Approve;
    impl Interrupt for Approve {
        type Resume = u8;
        const NAME: &'static str = "approve";
    }
}

#[test]
fn questions_of_one_name_are_distinguished_by_their_modules() {
    let node = nothing.asks::<Approve>();
    let graph =
        chain_of(Builder::new().add_node(id("a"), node).add_node(id("b"), nothing.asks::<elsewhere::Approve>()));
    assert_eq!(
        graph.compile().unwrap_err().problems()[0].to_string(),
        "the questions `engine::pad::Approve` and `engine::words::elsewhere::Approve` are both named `approve`"
    );
}

#[test]
fn a_join_of_one_node_named_twice_is_an_error() {
    let graph = StateGraph::<Pad, Step>::new().add_node(Step::Plan, nothing).add_node(Step::Write, nothing);
    let error =
        graph.add_edge(START, Step::Plan).add_edge([Step::Plan, Step::Plan], Step::Write).compile().unwrap_err();
    let words = error.to_string();
    assert!(words.contains("the join into `Write` has fewer than two sources"), "{words}");
}

fn chain_of(graph: Builder) -> Builder {
    graph.add_sequence([id("a"), id("b")])
}

#[rstest]
#[case(RunError::InvalidUpdate { what: "there is nothing to update".into() })]
#[case(RunError::SendToEnd { from: "plan".into() })]
#[case(RunError::WrongParent { node: "plan".into(), given: "Essay" })]
#[case(RunError::Codec { what: "channel `title`".into(), reason: "it is no text".into() })]
#[case(RunError::NeedsMigration { thread: "t".into(), misfits: vec![Incompatibility::Node { node: "plan".into() }] })]
#[case(RunError::TooMany { from: "plan".into(), what: "sends", count: 9, limit: 8 })]
fn rare_errors_have_help_too(#[case] error: RunError) {
    assert!(error.help().is_some(), "{error}");
}

#[tokio::test]
async fn a_question_is_printed_with_its_content() {
    let (store, graph) = (Store::memory(), lone(approval.asks::<Approve>()));
    store.thread(&graph).invoke(start()).await.unwrap();
    let Status::Interrupted { questions } = store.thread(&graph).status().await.unwrap() else { panic!() };
    let id = questions[0].id();
    assert_eq!(
        format!("{:?}", questions[0]),
        format!(
            "Question {{ id: {id}, name: \"approve\", node: \"a\", namespace: [], json: null, is_answered: false }}"
        )
    );
}

#[test]
fn an_error_of_a_store_is_printed_with_its_help() {
    let owner = LeaseOwner::recorded("w1", "tower", 7).until(UNIX_EPOCH + Duration::from_secs(60));
    let error = CheckpointError::ThreadBusy { thread: "t".into(), owner: owner.into() };
    insta::assert_snapshot!(format!("{error:?}"), @r"
    thread `t` is being run by `w1`, process 7 on host `tower`, until 1970-01-01T00:01:00.000Z
     help: wait for the other run to end, or cancel it
    ");
}

/// A pad whose title is a number.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Numbered {
    title: u32,
}

#[tokio::test]
async fn the_error_for_a_channel_of_another_type_names_both_types() {
    let shared: Arc<dyn superstep::checkpoint::Checkpointer> = Arc::new(MemoryCheckpointer::new());
    let old = lone(nothing).with_shared_checkpointer(shared.clone());
    old.thread("t").invoke(start()).await.unwrap();
    let nothing = |_: Arc<Numbered>, _: Ctx| async { Ok::<(), NodeError>(()) };
    let new = StateGraph::<Numbered, Name>::with_schema(()).add_node(id("a"), nothing).add_edge(START, id("a"));
    let new = new.compile().unwrap().with_shared_checkpointer(shared);
    let shown = new.thread("t").state().await.unwrap().unwrap();
    let error = shown.misfits[0].to_string();
    assert_eq!(new.thread("t").invoke(Numbered::update().title(1)).await.unwrap_err().to_string(), error);
    let expected = "channel `title` at checkpoint 4 of thread `t`: stored as `String` (version 1), cannot be read as `u32` (version 1): ";
    assert!(error.starts_with(expected), "{error}");
}

/// Every variant of an error that a program's own texts, names from a store or from a file can reach.
#[rstest]
#[case::a_target(RunError::UnknownTarget { from: HOSTILE.into(), to: HOSTILE.into() })]
#[case::an_undeclared_target(RunError::UndeclaredTarget { from: HOSTILE.into(), to: HOSTILE.into() })]
#[case::a_send(RunError::NotStartable { from: HOSTILE.into(), to: HOSTILE.into(), reason: HOSTILE.into() })]
#[case::a_node(RunError::UnknownNode { node: HOSTILE.into() })]
#[case::a_panic(RunError::Panicked { node: HOSTILE.into(), namespace: [HOSTILE.into()].into(), step: 1, message: HOSTILE.into() })]
#[case::a_panic_elsewhere(RunError::Panic { doing: "reading", message: HOSTILE.into() })]
#[case::writers(RunError::ConcurrentUpdate { channel: HOSTILE.into(), step: 1, nodes: vec![HOSTILE.into()] })]
#[case::signals(RunError::UnknownSignal { signal: HOSTILE.into(), declared: vec![HOSTILE.into()] })]
#[case::threads(RunError::UnknownThread { thread: HOSTILE.into(), near: vec![HOSTILE.into()] })]
#[case::a_changed_question(RunError::QuestionChanged {
    node: HOSTILE.into(), place: 0, before: HOSTILE.into(), before_payload: Some(HOSTILE.into()), now: "now", now_payload: None,
})]
fn no_control_character_is_left_in_the_text_or_the_help_of_an_error(#[case] error: RunError) {
    let printed = format!("{error} {} {error:?}", error.help().unwrap());
    assert!(printed.chars().all(|c| c == '\n' || !c.is_control()), "{printed:?}");
    assert!(printed.contains(r"\u{1b}[2J\u{0}"), "{printed}");
}

const HOSTILE: &str = "a\u{1b}[2J\0b\rc";

#[tokio::test]
async fn no_control_character_of_a_node_is_left_in_the_error_of_its_run() {
    let fails = |_: Arc<Pad>, _: Ctx| async { Err::<(), _>(NodeError::from(HOSTILE)) };
    let panics = |_: Arc<Pad>, _: Ctx| async { panic!("{HOSTILE}\nsecond line") as Result<(), NodeError> };
    for (graph, text) in [
        (lone(fails), r"node `a` failed in superstep 1: a\u{1b}[2J\u{0}b\rc"),
        (lone(panics), "node `a` panicked in superstep 1: a\\u{1b}[2J\\u{0}b\\rc\nsecond line"),
        (lone(going(HOSTILE)), r"`a` leads to `a\u{1b}[2J\u{0}b\rc`, which is not a node"),
    ] {
        let store = Store::memory();
        let error = store.thread(&graph).invoke(start()).await.unwrap_err();
        assert_eq!(error.to_string(), text);
        let status = store.thread(&graph).status().await.unwrap();
        assert!(matches!(&status, Status::Failed { reason } if reason == text), "{status:?}");
    }
}

#[test]
fn no_control_character_is_left_in_the_problems_of_a_graph() {
    let nodes = Builder::new().add_node(id(HOSTILE), nothing).add_edge(START, id(HOSTILE));
    let error = nodes.add_edge(id(HOSTILE), id("b\0")).compile().unwrap_err().to_string();
    insta::assert_snapshot!(error, @r"
    `a\u{1b}[2J\u{0}b\rc` cannot be the name of a node
     help: choose a name without `|`, `:`, `/`, `#` and control characters that does not start with `__`
    error: `a\u{1b}[2J\u{0}b\rc` leads to `b\u{0}`, which is not a node
     help: add the node `b\u{0}`, or correct the name
    ");
    let spec = serde_json::json!({ "channels": { "x\u{1b}": "append" }, "nodes": { "a\0": "b\u{1b}" }, "edges": [] });
    let spec: GraphSpec = serde_json::from_value(spec).unwrap();
    let error = spec.compile(&Registry::<()>::new()).unwrap_err().to_string();
    assert!(error.chars().all(|c| c == '\n' || !c.is_control()), "{error:?}");
}
