//! The testing kit, for tests of graphs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use superstep::graph::kit::CutError;
use superstep::graph::{Boxed, Name};
use superstep::prelude::*;

use crate::pad::*;

type Body = Boxed<'static, Ended>;

/// Draws a number, asks for a name, sleeps, sends a mail.
fn mailing(_: Arc<Pad>, ctx: Ctx) -> Body {
    Box::pin(async move {
        let number = ctx.random().await? % 100;
        let name = ctx.interrupt(Rename { from: "Bob".into() })?;
        ctx.sleep(Duration::from_secs(60)).await?;
        let mail = |_| async { Err::<String, _>(NodeError::permanent("no mails from tests")) };
        let receipt: String = ctx.effect("mail", &name, mail).await?;
        Ok(Pad::update().notes([format!("{receipt} {number}")]))
    })
}

fn graph() -> Graph {
    let again = |pad: &Pad| if pad.notes.len() < 3 { Target::from(id("mail")) } else { END.into() };
    let targets = vec![("again".to_owned(), Target::from(id("mail"))), ("done".to_owned(), END.into())];
    let builder = Builder::new()
        .add_node(id("begin"), note("begin"))
        .add_node(id("mail"), mailing.asks::<Rename>())
        .add_edge(START, id("begin"))
        .add_edge(id("begin"), id("mail"));
    builder.add_conditional_edges_to(id("mail"), again, targets).compile().unwrap()
}

fn noted(notes: &[&str]) -> Pad {
    Pad { notes: notes.iter().map(|&note| note.to_owned()).collect(), ..Pad::default() }
}

#[tokio::test]
async fn a_node_runs_alone_through_answers_waits_and_effects() {
    let begins = UNIX_EPOCH + Duration::from_secs(1_000);
    let test = graph().test().answer::<Rename>("Eve".into()).effect("mail", "sent").begins_at(begins).seed(7);
    let mailed = test.node(id("mail"), noted(&["begin"])).await.unwrap();
    assert_eq!((mailed.state.notes.len(), mailed.runs), (2, 3), "after the answer and the wait it begins anew");
    assert_eq!(mailed.ended_at, begins + Duration::from_secs(60));
    assert_eq!((mailed.next.join(","), mailed.effects[0].arguments.as_str()), ("mail".into(), r#""Eve""#));
    let again = test.node(id("mail"), noted(&["begin"])).await.unwrap();
    assert_eq!(again.state, mailed.state, "the same seed, the same numbers");
    let other = test.seed(8).node(id("mail"), noted(&["begin"])).await.unwrap();
    assert_ne!(other.state, mailed.state);
}

#[tokio::test]
async fn a_question_without_an_answer_is_shown() {
    let outcome = graph().test().node(id("mail"), noted(&[])).await.unwrap();
    assert_eq!((outcome.asks.unwrap().name(), outcome.writes.to_string()), ("rename", "[]".to_owned()));
}

#[tokio::test]
async fn an_effect_without_a_result_is_named() {
    let test = graph().test().answer::<Rename>("Eve".into());
    let error = test.node(id("mail"), noted(&[])).await.unwrap_err();
    let expected = "the test has no result for effect `mail`: add `.effect(\"mail\", ..)` or `.real_effects()`";
    assert_eq!(error.to_string(), expected);
    let error = test.real_effects().node(id("mail"), noted(&[])).await.unwrap_err();
    assert!(error.to_string().ends_with("no mails from tests"), "{error}");
}

#[tokio::test]
async fn routers_choose_alone() {
    let test = graph().test();
    assert_eq!(test.route(id("mail"), &noted(&["a"])).unwrap().targets, ["mail"]);
    assert_eq!(test.route(id("mail"), &noted(&["a", "b", "c"])).unwrap().targets, [""; 0]);
    assert_eq!(test.route(id("nobody"), &noted(&[])).unwrap_err().to_string(), "`nobody` is not a node");
}

#[tokio::test]
async fn a_worker_runs_alone() {
    let worker = Worker::<Name, u32>::new(id("worker"));
    let work =
        |number: Arc<u32>, _: Ctx| -> Body { Box::pin(async move { Ok(Pad::update().sum(i64::from(*number))) }) };
    let builder = Builder::new().add_node(id("plan"), note("plan")).add_edge(START, id("plan"));
    let sends = |_: &Pad| Worker::<Name, u32>::new(id("worker")).each([1, 2]);
    let graph = builder
        .add_worker(Worker::<Name, u32>::new(id("worker")), work)
        .add_conditional_edges_to(id("plan"), sends, Worker::<Name, u32>::new(id("worker")))
        .compile()
        .unwrap();
    assert_eq!(graph.test().worker(&worker, 5, noted(&[])).await.unwrap().state.sum, 5);
    let routed = graph.test().route(id("plan"), &noted(&[])).unwrap();
    assert_eq!(routed.sends, [("worker".to_owned(), 1.into()), ("worker".to_owned(), 2.into())]);
}

#[tokio::test]
async fn a_whole_graph_runs_through_its_script() {
    let test = graph().test().answer::<Rename>("Eve".into()).answer::<Rename>("Ann".into()).effect("mail", "sent");
    let ran = test.run(start()).await.unwrap();
    let arguments: Vec<&str> = ran.effects.iter().map(|effect| effect.arguments.as_str()).collect();
    assert_eq!((ran.state.notes.len(), arguments), (3, vec![r#""Eve""#, r#""Ann""#]));
    assert!(ran.thread.verify().await.unwrap().agrees());
    let halted = graph().test().answer::<Rename>("Eve".into()).effect("mail", "sent").run(start()).await.unwrap();
    assert_eq!((halted.asks[0].name(), halted.state.notes.len()), ("rename", 2));
}

#[tokio::test]
async fn runs_cut_at_any_commit_end_the_same() {
    let test = graph().test().answer::<Rename>("Eve".into()).answer::<Rename>("Ann".into()).effect("mail", "sent");
    let commits = test.cut_everywhere(start()).await.unwrap();
    assert!(commits > 8, "{commits}");
}

#[tokio::test]
async fn a_cut_finds_a_node_that_is_not_repeatable() {
    let counted = Arc::new(AtomicU64::new(0));
    let node = move |_: Arc<Pad>, ctx: Ctx| -> Body {
        let counted = Arc::clone(&counted);
        Box::pin(async move {
            let times = counted.fetch_add(1, Ordering::SeqCst);
            ctx.effect("mail", &(), |_| async { Ok::<_, NodeError>(()) }).await?;
            Ok(Pad::update().notes([format!("run {times}")]))
        })
    };
    let graph = chain(Builder::new().add_node(id("node"), node), &["node"]);
    let error = graph.test().effect("mail", ()).cut_everywhere(start()).await.unwrap_err();
    assert!(matches!(error, CutError::OtherEnd { .. }), "{error}");
    assert!(error.to_string().starts_with("cut at commit 1: channel `notes` ended as "), "{error}");
}

#[tokio::test]
async fn a_run_is_repeated_with_the_recorded_effects_of_a_thread() {
    let test = || graph().test().answer::<Rename>("Eve".into()).answer::<Rename>("Ada".into());
    let real = test().effect("mail", "first").effect("mail", "second").run(start()).await.unwrap();
    let store = Arc::new(MemoryCheckpointer::new());
    let again = test().effects_of(&real.thread).await.unwrap().run_on(store, start()).await.unwrap();
    assert_eq!(again.state, real.state);
    assert!(again.state.notes.iter().any(|note| note.starts_with("second")), "{:?}", again.state);
    assert_eq!(again.effects.len(), real.effects.len());
}

/// Pays twice in one task, with up to three attempts for the first payment.
fn paying(_: Arc<Pad>, ctx: Ctx) -> Body {
    Box::pin(async move {
        let unreachable = |_| async { Err::<String, _>(NodeError::permanent("no payments from tests")) };
        let first: String = ctx.effect("pay", &1, unreachable).await?;
        Ok(Pad::update().notes([first]))
    })
}

fn payments() -> Graph {
    let paying = || paying.retry(RetryPolicy::attempts(3).pause(Duration::ZERO));
    let builder = Builder::new().add_node(id("a"), paying()).add_node(id("b"), paying()).add_node(id("c"), paying());
    chain(builder, &["a", "b", "c"])
}

#[tokio::test]
async fn an_effect_repeated_after_a_cut_has_the_same_result() {
    let test = payments().test().effect("pay", "first").effect("pay", "second").effect("pay", "third");
    assert_eq!(test.run(start()).await.unwrap().state.notes, ["first", "second", "third"]);
    test.cut_everywhere(start()).await.unwrap();
}

#[tokio::test]
async fn an_effect_fails_as_the_test_declares() {
    let refused = || NodeError::transient("card refused");
    let test = payments().test().effect_fails("pay", refused()).effect("pay", "first").effect_fails("pay", refused());
    let ran = test.effect_fails("pay", refused()).effect("pay", "second").run(start()).await.unwrap();
    assert_eq!((&ran.state.notes[..], ran.effects.len()), (&["first", "second", "second"].map(String::from)[..], 6));
    let error =
        payments().test().effect_fails("pay", NodeError::permanent("card lost")).run(start()).await.unwrap_err();
    assert!(error.to_string().ends_with("card lost"), "{error}");
}

#[tokio::test]
async fn runs_cut_at_any_commit_end_the_same_with_failing_effects() {
    let refused = || NodeError::transient("card refused");
    let test = payments().test().effect_fails("pay", refused()).effect_fails("pay", refused()).effect("pay", "first");
    test.effect_fails("pay", refused()).effect("pay", "second").cut_everywhere(start()).await.unwrap();
}
