//! Questions to people and their answers: no question is ignored silently, and a refused answer writes nothing.

use std::sync::Arc;

use rstest::rstest;
use superstep::graph::Name;
use superstep::graph::interrupt::AnyQuestion;
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::Store;

/// A user's own error type, which knows nothing of interrupts.
#[derive(Debug, thiserror::Error)]
#[error("our own")]
struct Own;

fn asking(body: impl Node<Pad, Name, ()>) -> Graph {
    chain(Builder::new().add_node(id("a"), body.asks::<Approve>()), &["a"])
}

async fn passes_on(_: Arc<Pad>, ctx: Ctx) -> Ended {
    ctx.interrupt(Approve)?;
    Ok(Pad::update().title("done"))
}
async fn makes_it_its_own(_: Arc<Pad>, ctx: Ctx) -> Result<PadUpdate, Own> {
    ctx.interrupt(Approve).map_err(|_| Own)?;
    Ok(Pad::update().title("done"))
}
async fn boxes(_: Arc<Pad>, ctx: Ctx) -> Result<PadUpdate, Box<dyn std::error::Error + Send + Sync>> {
    ctx.interrupt(Approve)?;
    Ok(Pad::update().title("done"))
}
async fn makes_it_permanent(_: Arc<Pad>, ctx: Ctx) -> Ended {
    ctx.interrupt(Approve).map_err(NodeError::permanent)?;
    Ok(Pad::update().title("done"))
}
async fn fails_after_it(_: Arc<Pad>, ctx: Ctx) -> Ended {
    let _ = ctx.interrupt(Approve);
    Err(Own.into())
}

#[rstest]
#[case::passed_on(asking(passes_on))]
#[case::made_into_an_own_error(asking(makes_it_its_own))]
#[case::boxed(asking(boxes))]
#[case::made_permanent(asking(makes_it_permanent))]
#[case::followed_by_another_failure(asking(fails_after_it))]
#[tokio::test]
async fn a_node_waits_for_its_answer_whatever_error_it_returns(#[case] graph: Graph) {
    let outcome = Store::memory().thread(&graph).invoke(start()).await.unwrap();
    assert_eq!(outcome.questions().iter().map(Question::name).collect::<Vec<_>>(), ["approve"]);
}

async fn discards(_: Arc<Pad>, ctx: Ctx) -> Ended {
    ctx.interrupt(Approve).ok();
    Ok(Pad::update().title("done"))
}
async fn assumes(_: Arc<Pad>, ctx: Ctx) -> Ended {
    let approved = ctx.interrupt(Approve).unwrap_or(true);
    Ok(Pad::update().title(approved.to_string()))
}
async fn asks_in_a_spawned_task(_: Arc<Pad>, ctx: Ctx) -> Ended {
    tokio::spawn(async move { ctx.interrupt(Approve).is_ok() }).await?;
    Ok(Pad::update().title("done"))
}

#[rstest]
#[case::ok(asking(discards))]
#[case::unwrap_or(asking(assumes))]
#[case::asked_in_a_spawned_task(asking(asks_in_a_spawned_task))]
#[tokio::test]
async fn a_node_that_continues_without_its_answer_fails(#[case] graph: Graph) {
    let store = Store::memory();
    let error = store.thread(&graph).invoke(start()).await.unwrap_err();
    assert_eq!(error.to_string(), "node `a` continued although its question `approve` has no answer");
    assert_eq!(store.thread(&graph).state().await.unwrap().unwrap().values.title, "tides");
}

async fn unwraps(_: Arc<Pad>, ctx: Ctx) -> Ended {
    Ok(Pad::update().title(ctx.interrupt(Approve).unwrap().to_string()))
}

#[tokio::test]
async fn a_node_that_panics_on_its_interrupt_has_panicked() {
    let error = Store::memory().thread(&asking(unwraps)).invoke(start()).await.unwrap_err();
    assert!(matches!(&error, RunError::Panicked { node, .. } if &**node == "a"), "{error:?}");
}

#[tokio::test]
async fn a_question_of_a_subgraph_cannot_be_ignored_by_its_caller() {
    let child = asking(passes_on);
    let inside = child.clone();
    let call = move |_: Arc<Pad>, ctx: Ctx| {
        let inside = inside.clone();
        async move {
            let _ = ctx.call(&inside, start()).await;
            Ok::<_, NodeError>(Pad::update().title("done"))
        }
    };
    let builder = Builder::new().add_node(id("a"), call).calls(&id("a"), &child);
    let error = Store::memory().thread(&chain(builder, &["a"])).invoke(start()).await.unwrap_err();
    assert!(matches!(error, RunError::QuestionIgnored { .. }), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_question_is_neither_retried_nor_handled() {
    let tally = Tally::default();
    let tried = tally.clone();
    let node = move |_: Arc<Pad>, ctx: Ctx| {
        tried.add("a");
        async move { ctx.interrupt(Approve).map(|_| ()) }
    };
    let node =
        node.asks::<Approve>().retry(RetryPolicy::attempts(5)).on_error(|_, _, _: Ctx| async { Err::<(), _>(Own) });
    let graph = chain(Builder::new().add_node(id("a"), node), &["a"]);
    let outcome = Store::memory().thread(&graph).invoke(start()).await.unwrap();
    assert_eq!((outcome.questions().len(), tally.count()), (1, 1));
}

#[tokio::test]
async fn an_undeclared_question_names_the_missing_declaration() {
    let graph = chain(Builder::new().add_node(id("a"), passes_on), &["a"]);
    let error = Store::memory().thread(&graph).invoke(start()).await.unwrap_err();
    assert_eq!(error.help().unwrap(), "add `.asks::<Approve>()` to the node");
}

/// A question with the name of [`Approve`].
#[derive(Debug, Serialize, Deserialize)]
struct Other;
impl Interrupt for Other {
    type Resume = u32;
    const NAME: &'static str = Approve::NAME;
}

#[tokio::test]
async fn an_undeclared_question_with_a_declared_name_is_refused() {
    let node = |_: Arc<Pad>, ctx: Ctx| async move {
        ctx.interrupt(Other)?;
        Ok::<_, NodeError>(Pad::update().title("done"))
    };
    let error = Store::memory().thread(&asking(node)).invoke(start()).await.unwrap_err();
    insta::assert_snapshot!(format!("{error:?}"), @"
    node `a` asked `approve` as `engine::questions::Other`, and declares it as `engine::pad::Approve`
     help: give one of the two types another name than `approve`, and declare both with `.asks`
    ");
}

#[tokio::test]
async fn to_proceed_without_a_checkpointer_is_refused() {
    let graph = chain(Builder::new().add_node(id("a"), |_: Arc<Pad>, _: Ctx| async { Ok::<_, NodeError>(()) }), &["a"]);
    let error = graph.thread("t").proceed().await.unwrap_err();
    let expected = "continuing a thread needs a checkpointer\n help: add `.with_checkpointer(..)` to the graph";
    assert_eq!(format!("{error:?}"), expected);
}

#[tokio::test]
async fn a_node_that_asks_in_another_order_than_before_fails() {
    let node = |first: bool| {
        move |_: Arc<Pad>, ctx: Ctx| async move {
            if first {
                ctx.interrupt(Approve)?;
            }
            let title = ctx.interrupt(Rename { from: String::new() })?;
            Ok::<_, NodeError>(Pad::update().title(title))
        }
    };
    let graph = |first| {
        let node = node(first).asks::<Approve>().asks::<Rename>();
        chain(Builder::new().add_node(id("a"), node), &["a"])
    };
    let store = Store::memory();
    store.thread(&graph(true)).invoke(start()).await.unwrap();
    let error = store.thread(&graph(false)).resume::<Approve>(true).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "question 0 of node `a` was `approve` before the pause and is `rename` {\"from\":\"\"} now"
    );
}

/// Two nodes that ask for approval and one that asks for a name, in one superstep.
fn three() -> Graph {
    let rename = |pad: Arc<Pad>, ctx: Ctx| async move {
        let title = ctx.interrupt(Rename { from: pad.title.clone() })?;
        Ok::<_, NodeError>(Pad::update().title(title))
    };
    let builder =
        Builder::new().add_node(id("a"), approval.asks::<Approve>()).add_node(id("b"), approval.asks::<Approve>());
    fan(builder.add_node(id("c"), rename.asks::<Rename>()), &["a", "b", "c"])
}

async fn open_questions(thread: &PadThread) -> Vec<Question> {
    let now = thread.state().await.unwrap().unwrap();
    now.questions().filter(|question| !question.is_answered()).cloned().collect()
}

type ErrorCheck = fn(&RunError) -> bool;
type WrongAnswer = fn(&[Question]) -> Answer;

#[rstest]
#[case::of_a_type_that_nobody_asked(|_: &[Question]| Answer::new::<AnyQuestion>(&true.into()), |e: &RunError| matches!(e, RunError::UnknownQuestion { .. }))]
#[case::that_two_questions_take(|_: &[Question]| Answer::new::<Approve>(&true), |e: &RunError| matches!(e, RunError::AmbiguousAnswer { count: 2, .. }))]
#[case::that_any_question_might_take(|_: &[Question]| Answer::json(&true.into()), |e: &RunError| matches!(e, RunError::AmbiguousAnswer { count: 3, .. }))]
#[case::of_the_wrong_type_by_id(|open_questions: &[Question]| Answer::new::<Rename>(&"x".into()).to(open_questions[0].id()), |e: &RunError| matches!(e, RunError::MistypedAnswer { .. }))]
#[case::of_the_wrong_json_type(|open_questions: &[Question]| Answer::json(&"yes".into()).to(open_questions[0].id()), |e: &RunError| matches!(e, RunError::MistypedAnswer { .. }))]
#[case::of_json_null(|open_questions: &[Question]| Answer::json(&().into()).to(open_questions[2].id()), |e: &RunError| matches!(e, RunError::MistypedAnswer { .. }))]
#[case::to_an_id_of_another_thread(|_: &[Question]| Answer::new::<Approve>(&true).to("0-1-0-0".parse().unwrap()), |e: &RunError| matches!(e, RunError::UnknownQuestion { .. }))]
#[tokio::test]
async fn a_refused_answer_writes_nothing(
    #[case] wrong: WrongAnswer,
    #[case] refused: ErrorCheck,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    store.thread(&three()).invoke(start()).await.unwrap();
    let open = open_questions(&store.thread(&three())).await;
    let before = everything(&store.thread(&three())).await;
    // A process that has not run the node refuses it too.
    let error = store.thread(&three()).answer(wrong(&open)).await.unwrap_err();
    assert!(refused(&error), "{error:?}");
    assert_eq!(everything(&store.thread(&three())).await, before);
}

#[tokio::test]
async fn one_refused_answer_of_several_refuses_all() {
    let store = Store::memory();
    store.thread(&three()).invoke(start()).await.unwrap();
    let open = open_questions(&store.thread(&three())).await;
    let before = everything(&store.thread(&three())).await;
    let good = || Answer::new::<Approve>(&true).to(open[0].id());
    let twice = store.thread(&three()).run(Request::answers([good(), good()])).await.unwrap_err();
    assert!(matches!(twice, RunError::AlreadyAnswered { .. }), "{twice:?}");
    let bad = Answer::json(&3.into()).to(open[2].id());
    assert!(store.thread(&three()).run(Request::answers([good(), bad])).await.is_err());
    assert_eq!(everything(&store.thread(&three())).await, before);
}

#[tokio::test]
async fn a_refused_answer_to_an_old_checkpoint_makes_no_fork() {
    let store = Store::memory();
    store.thread(&three()).invoke(start()).await.unwrap();
    let asked_at = store.thread(&three()).state().await.unwrap().unwrap().id;
    store.thread(&three()).update_state_as(id("a"), Pad::update().sum(1)).await.unwrap();
    let before = everything(&store.thread(&three())).await;
    let thread = store.thread(&three()).at(asked_at);
    assert!(thread.resume::<AnyQuestion>(true.into()).await.is_err());
    assert_eq!(everything(&store.thread(&three())).await, before);
}

#[rstest]
#[tokio::test]
async fn a_refused_answer_to_a_checkpoint_in_a_subgraph_makes_no_fork(
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
) {
    let (store, inside) = (Store::memory(), three());
    let graph = chain(Builder::new().add_subgraph(id("inside"), inside.clone()), &["inside"]);
    store.thread(&graph).invoke(start()).await.unwrap();
    let nested = store.thread(&graph).subgraph(&inside, ["inside"]).state().await.unwrap().unwrap().id;
    let before = everything(&store.thread(&graph)).await;
    let past = store.thread(&graph).at(nested).durability(durability);
    let error = past.resume::<AnyQuestion>(true.into()).await.unwrap_err();
    assert!(matches!(error, RunError::UnknownQuestion { .. }), "{error:?}");
    assert_eq!(everything(&store.thread(&graph)).await, before);
}

#[rstest]
#[tokio::test]
async fn each_question_takes_its_own_answer_and_the_others_stay_open(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    store.thread(&three()).invoke(start()).await.unwrap();
    let open = open_questions(&store.thread(&three())).await;
    let first = store.thread(&three()).answer(Answer::new::<Approve>(&true).to(open[1].id())).await.unwrap();
    assert_eq!(first.questions().iter().map(Question::node).collect::<Vec<_>>(), ["a", "c"]);
    let again = store.thread(&three()).answer(Answer::new::<Approve>(&false).to(open[1].id())).await.unwrap_err();
    assert!(matches!(again, RunError::AlreadyAnswered { .. }), "{again:?}");
    // Now one question of each type is open.
    store.thread(&three()).resume::<Approve>(false).await.unwrap();
    let end = store.thread(&three()).resume::<Rename>("moons".into()).await.unwrap().finished().unwrap();
    assert_eq!((end.title.as_str(), end.notes.join(", ")), ("moons", "approved: false, approved: true".into()));
    let stale = store.thread(&three()).answer(Answer::new::<Approve>(&true).to(open[0].id())).await.unwrap_err();
    assert!(matches!(stale, RunError::UnknownQuestion { .. } | RunError::AlreadyAnswered { .. }), "{stale:?}");
}

#[rstest]
#[tokio::test]
async fn the_author_of_an_answer_and_their_note_are_stored(#[values(Store::memory(), Store::disk())] store: Store) {
    store.thread(&three()).invoke(start()).await.unwrap();
    let open = open_questions(&store.thread(&three())).await;
    let answer = Answer::new::<Approve>(&true).to(open[0].id()).by("ada").note("looks fine");
    store.thread(&three()).answer(answer).await.unwrap();
    let now = store.thread(&three()).state().await.unwrap().unwrap();
    let [given] = &now.tasks[0].answers[..] else { panic!("{:?}", now.tasks) };
    assert_eq!((given.name.as_str(), &given.value), ("approve", &serde_json::json!(true)));
    assert_eq!((given.by.as_deref(), given.note.as_deref()), (Some("ada"), Some("looks fine")));
}

#[tokio::test]
async fn a_question_is_found_by_its_id_as_text() {
    let store = Store::memory();
    let outcome = store.thread(&three()).invoke(start()).await.unwrap();
    let text = outcome.questions()[2].id().to_string();
    let answer = Answer::json(&"moons".into()).to(text.parse().unwrap());
    assert_eq!(store.thread(&three()).answer(answer).await.unwrap().questions().len(), 2);
}

#[tokio::test]
async fn null_and_an_empty_object_are_ordinary_answers() {
    let twice = |_: Arc<Pad>, ctx: Ctx| async move {
        let first = ctx.interrupt(AnyQuestion("first".into()))?;
        let second = ctx.interrupt(AnyQuestion("second".into()))?;
        Ok::<_, NodeError>(Pad::update().notes([first.to_string(), second.to_string()]))
    };
    let graph = chain(Builder::new().add_node(id("a"), twice.asks::<AnyQuestion>()), &["a"]);
    let store = Store::memory();
    store.thread(&graph).invoke(start()).await.unwrap();
    store.thread(&graph).resume::<AnyQuestion>(serde_json::Value::Null).await.unwrap();
    let end = store.thread(&graph).resume::<AnyQuestion>(serde_json::json!({})).await.unwrap();
    assert_eq!(end.finished().unwrap().notes, ["null", "{}"]);
}

#[rstest]
#[case::left_alone(false, 1)]
#[case::asked_again(true, 2)]
#[tokio::test]
async fn a_task_without_a_new_answer_runs_again_only_on_request(#[case] rerun: bool, #[case] runs: usize) {
    let tally = Tally::default();
    let counted = tally.clone();
    let other = move |_: Arc<Pad>, ctx: Ctx| {
        counted.add("other");
        async move { ctx.interrupt(Rename { from: String::new() }).map(|_| ()) }
    };
    let builder =
        Builder::new().add_node(id("a"), approval.asks::<Approve>()).add_node(id("b"), other.asks::<Rename>());
    let graph = fan(builder, &["a", "b"]);
    let store = Store::memory();
    store.thread(&graph).invoke(start()).await.unwrap();
    let thread = if rerun { store.thread(&graph).rerun_unanswered() } else { store.thread(&graph) };
    thread.resume::<Approve>(true).await.unwrap();
    assert_eq!(tally.count(), runs);
}

#[rstest]
#[tokio::test]
async fn a_question_stays_open_after_a_failure_and_its_answer_reruns_both(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let graph = |broken: bool| {
        let b = move |_: Arc<Pad>, _: Ctx| async move {
            if broken { Err(NodeError::from("no")) } else { Ok(Pad::update().notes(["b"])) }
        };
        fan(Builder::new().add_node(id("a"), approval.asks::<Approve>()).add_node(id("b"), b), &["a", "b"])
    };
    assert!(matches!(store.thread(&graph(true)).invoke(start()).await, Err(RunError::Node { .. })));
    let status = store.thread(&graph(true)).status().await.unwrap();
    assert!(matches!(&status, Status::Interrupted { questions } if questions.len() == 1), "{status:?}");
    let end = store.thread(&graph(false)).resume::<Approve>(true).await.unwrap().finished().unwrap();
    assert_eq!(end.notes, ["approved: true", "b"]);
}

#[tokio::test]
async fn an_answer_with_an_invalid_command_is_not_written() {
    let store = Store::memory();
    store.thread(&three()).invoke(start()).await.unwrap();
    let before = everything(&store.thread(&three())).await;
    let answer = Answer::new::<Rename>(&"moons".into());
    let request = Request::answers([answer]).and(Command::to(id("nowhere")));
    let error = store.thread(&three()).run(request).await.unwrap_err();
    assert!(matches!(error, RunError::UnknownTarget { .. }), "{error:?}");
    assert_eq!(everything(&store.thread(&three())).await, before);
}

#[tokio::test]
async fn a_graph_with_questions_does_not_run_without_a_store() {
    let error = three().invoke(start()).await.unwrap_err();
    assert!(matches!(error, RunError::NoCheckpointer { .. }), "{error:?}");
}

#[rstest]
#[case::by_an_update(false)]
#[case::by_new_input(true)]
#[tokio::test]
async fn a_discarded_question_is_not_reported_as_answered(#[case] by_input: bool) {
    let graph = chain(Builder::new().add_node(id("ask"), approval.asks::<Approve>()), &["ask"]);
    let store = Store::memory();
    let thread = store.thread(&graph);
    let old = thread.invoke(start()).await.unwrap().questions()[0].id();
    if by_input {
        thread.clone().discard_pending().invoke(start()).await.unwrap();
    } else {
        thread.update_state_as(id("ask"), start()).await.unwrap();
    }

    let refused = thread.answer(Answer::new::<Approve>(&true).to(old)).await.unwrap_err();

    assert_eq!(refused.to_string(), format!("there is no pending question {old} any more"));
}
