//! Questions, recorded values and random draws inside effects, joins and loops belong to their place on every attempt:
//! no answer reaches another question, no value moves to another place.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::join;
use proptest::prelude::*;
use rstest::rstest;
use serde::Serializer;
use superstep::graph::{Boxed, Name, Persistence};
use superstep::prelude::*;

use crate::effects::{Body, World};
use crate::pad::*;
use crate::stores::Store;

/// A question that shows a text and expects a text.
fn rename(from: impl Into<String>) -> Rename {
    Rename { from: from.into() }
}

/// Two tools, each approved inside its effect.
fn tools(world: &World) -> Graph {
    let world = world.clone();
    let node = move |_: Arc<Pad>, ctx: Ctx| -> Body {
        let world = world.clone();
        Box::pin(async move {
            let mut notes = vec![];
            for tool in ["read_mail", "delete_db"] {
                let run = |key: String| {
                    let (ctx, world) = (ctx.clone(), world.clone());
                    async move {
                        let approved = ctx.interrupt(rename(tool))? == "yes";
                        Ok::<_, NodeError>(if approved { world.happens(tool, &key) } else { "refused".to_owned() })
                    }
                };
                notes.push(ctx.effect(tool, &tool, run).await?);
            }
            Ok(Pad::update().notes(notes))
        })
    };
    chain(Builder::new().add_node(id("tools"), node.asks::<Rename>().replayable()), &["tools"])
}

#[rstest]
#[tokio::test]
async fn an_answer_given_inside_an_effect_does_not_reach_the_next_question(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let world = World::default();
    let graph = tools(&world);
    let from = |outcome: &Outcome<Pad>| outcome.questions()[0].payload::<Rename>().unwrap().from;
    let outcome = store.thread(&graph).invoke(start()).await.unwrap();
    assert_eq!(from(&outcome), "read_mail");
    let outcome = store.thread(&graph).resume::<Rename>("yes".to_owned()).await.unwrap();
    assert_eq!(from(&outcome), "delete_db");
    let outcome = store.thread(&graph).resume::<Rename>("no".to_owned()).await.unwrap();
    assert_eq!(outcome.state().notes, ["read_mail 1", "refused"]);
    assert_eq!(world.happened(), ["read_mail"]);
    assert!(store.thread(&graph).verify().await.unwrap().agrees());
}

#[tokio::test]
async fn an_effect_that_ignores_its_interrupt_is_not_recorded() {
    let node = |_: Arc<Pad>, ctx: Ctx| -> Body {
        Box::pin(async move {
            let inner = ctx.clone();
            let ask = |_| async move { Ok::<_, NodeError>(inner.interrupt(Approve).unwrap_or(false)) };
            let approved = ctx.effect("ask", &(), ask).await?;
            Ok(Pad::update().notes([approved.to_string()]))
        })
    };
    let graph = chain(Builder::new().add_node(id("a"), node.asks::<Approve>()), &["a"]);
    let store = Store::memory();
    store.thread(&graph).invoke(start()).await.unwrap();
    let outcome = store.thread(&graph).resume::<Approve>(true).await.unwrap();
    assert_eq!(outcome.state().notes, ["true"]);
}

/// An answer that can be stored only if it is positive.
#[derive(Deserialize)]
struct Positive(bool);

impl Serialize for Positive {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        if self.0 { out.serialize_bool(true) } else { Err(serde::ser::Error::custom("it is not positive")) }
    }
}

#[tokio::test]
async fn an_effect_that_ignores_its_interrupt_asks_although_its_result_cannot_be_stored() {
    let node = |_: Arc<Pad>, ctx: Ctx| -> Body {
        Box::pin(async move {
            let inner = ctx.clone();
            let ask = |_| async move { Ok::<_, NodeError>(Positive(inner.interrupt(Approve).unwrap_or(false))) };
            let approved = ctx.effect("ask", &(), ask).await?;
            Ok(Pad::update().notes([approved.0.to_string()]))
        })
    };
    let graph = chain(Builder::new().add_node(id("a"), node.asks::<Approve>()), &["a"]);
    let store = Store::memory();
    let outcome = store.thread(&graph).invoke(start()).await.unwrap();
    assert_eq!(outcome.questions().len(), 1);
    let outcome = store.thread(&graph).resume::<Approve>(true).await.unwrap();
    assert_eq!(outcome.state().notes, ["true"]);
}

#[tokio::test]
async fn a_durable_wait_inside_an_effect_resumes_once() {
    let world = World::default();
    let seen = world.clone();
    let node = move |_: Arc<Pad>, ctx: Ctx| -> Body {
        let world = seen.clone();
        Box::pin(async move {
            for nth in 1..=2 {
                let (inner, world) = (ctx.clone(), world.clone());
                let wait = |key: String| async move {
                    inner.sleep(Duration::from_millis(1)).await?;
                    Ok::<_, NodeError>(world.happens("paid", &key))
                };
                ctx.effect(format!("pay {nth}"), &(), wait).await?;
            }
            Ok(Pad::update())
        })
    };
    let graph = chain(Builder::new().add_node(id("pay"), node), &["pay"]);
    let store = Store::memory();
    let mut outcome = store.thread(&graph).invoke(start()).await.unwrap();
    while let Outcome::Waiting { .. } = outcome {
        outcome = store.thread(&graph).proceed().await.unwrap();
    }
    assert_eq!(world.happened(), ["paid", "paid"]);
}

#[tokio::test]
async fn an_effect_that_calls_a_subgraph_is_refused_at_once() {
    let child = chain(Builder::new().add_node(id("x"), note("x")), &["x"]);
    let called = child.clone();
    let node = move |_: Arc<Pad>, ctx: Ctx| -> Body {
        let child = called.clone();
        Box::pin(async move {
            let inner = ctx.clone();
            let call = |_| async move { Ok::<_, NodeError>(inner.call(&child, start()).await?.notes.clone()) };
            ctx.effect("child", &(), call).await?;
            Ok(Pad::update())
        })
    };
    let graph = chain(Builder::new().add_node(id("a"), node).calls(&id("a"), &child), &["a"]);
    let error = Store::memory().thread(&graph).invoke(start()).await.unwrap_err();
    insta::assert_snapshot!(format!("{error:?}"), @r"
    the body of effect `child` of node `a` calls a subgraph
     help: call it outside the effect and pass its result to the effect: a subgraph records its own steps and effects
    ");
}

/// Asks `one` and `two`, in an order that depends on the attempt.
fn asks_in_turn(keyed: bool) -> Graph {
    let runs = Arc::new(AtomicU32::default());
    let node = move |_: Arc<Pad>, ctx: Ctx| -> Body {
        let turned = runs.fetch_add(1, Ordering::Relaxed) % 2 == 1;
        Box::pin(async move {
            let ask = |what: &'static str| {
                let ctx = ctx.clone();
                async move { if keyed { ctx.interrupt_as(what, rename(what)) } else { ctx.interrupt(rename(what)) } }
            };
            let (one, two) = match turned {
                false => join(ask("one"), ask("two")).await,
                true => {
                    let (two, one) = join(ask("two"), ask("one")).await;
                    (one, two)
                }
            };
            Ok(Pad::update().notes([one?, two?]))
        })
    };
    chain(Builder::new().add_node(id("a"), node.asks::<Rename>()), &["a"])
}

#[rstest]
#[tokio::test]
async fn answers_match_their_questions_in_any_order(
    #[values(false, true)] keyed: bool,
    #[values(false, true)] one_by_one: bool,
) {
    let (store, graph) = (Store::memory(), asks_in_turn(keyed));
    let mut outcome = store.thread(&graph).invoke(start()).await.unwrap();
    while !outcome.questions().is_empty() {
        let answers = outcome.questions().iter().map(|question| {
            let from = question.payload::<Rename>().unwrap().from;
            Answer::new::<Rename>(&format!("for {from}")).to(question.id())
        });
        let take = if one_by_one { 1 } else { usize::MAX };
        outcome = store.thread(&graph).run(Request::answers(answers.take(take))).await.unwrap();
    }
    assert_eq!(outcome.state().notes, ["for one", "for two"]);
}

/// Asks about the title, and, if there are notes, about each of them.
fn asks_about_the_state(keyed: bool) -> Graph {
    let node = move |pad: Arc<Pad>, ctx: Ctx| -> Body {
        Box::pin(async move {
            let mut answers = vec![];
            for (nth, what) in pad.notes.iter().enumerate() {
                let question = rename(format!("{} {what}", pad.title));
                answers.push(match keyed {
                    true => ctx.interrupt_as(nth.to_string(), question),
                    false => ctx.interrupt(question),
                });
            }
            Ok(Pad::update().notes(answers.into_iter().collect::<Result<Vec<_>, _>>()?))
        })
    };
    chain(Builder::new().add_node(id("a"), node.asks::<Rename>()), &["a"])
}

#[rstest]
#[case::a_single_question_whose_text_changed_keeps_its_answer(1, false, Ok(()))]
#[case::of_two_nobody_knows_which(2, false, Err("tides 1"))]
#[case::a_key_does_not_carry_an_answer_to_another_text(1, true, Err("tides 1"))]
#[tokio::test]
async fn a_question_that_changes_with_the_state(
    #[case] notes: usize,
    #[case] keyed: bool,
    #[case] expected: Result<(), &str>,
) {
    let (store, graph) = (Store::memory(), asks_about_the_state(keyed));
    let input = Pad::update().title("tides").notes((1..=notes).map(|note| note.to_string()));
    let outcome = store.thread(&graph).invoke(input).await.unwrap();
    let answers = outcome.questions().iter().map(|question| Answer::new::<Rename>(&"ok".to_owned()).to(question.id()));
    let request = Request::answers(answers).and(Command::update(Pad::update().title("moons")));
    let ended = store.thread(&graph).run(request).await;
    match expected {
        Ok(()) => assert_eq!(ended.unwrap().state().notes, ["1", "ok"]),
        Err(before) => {
            let text = format!(
                "question 0 of node `a` was `rename` {{\"from\":\"{before}\"}} before the pause and is `rename` \
                 {{\"from\":\"moons 1\"}} now"
            );
            assert_eq!(ended.unwrap_err().to_string(), text);
            assert_eq!(store.thread(&graph).state().await.unwrap().unwrap().values.notes.len(), notes);
        }
    }
}

/// One action of a node.
#[derive(Clone, Debug)]
enum Op {
    Ask,
    AskAs,
    Now,
    Draw,
    NewId,
    Record,
    Sleep,
    FailOnce,
    Effect(Vec<Op>),
    Join(Vec<Op>, Vec<Op>),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let leaf = prop_oneof![
        4 => Just(Op::Ask), 2 => Just(Op::AskAs), 1 => Just(Op::Now), 1 => Just(Op::Draw), 1 => Just(Op::NewId),
        1 => Just(Op::Record), 1 => Just(Op::Sleep), 1 => Just(Op::FailOnce),
    ];
    let op = leaf.prop_recursive(3, 12, 3, |inner| {
        let some = || prop::collection::vec(inner.clone(), 1..4);
        let branch = || prop::collection::vec(branch_op(inner.clone()), 1..4);
        prop_oneof![3 => some().prop_map(Op::Effect), 1 => (branch(), branch()).prop_map(|(a, b)| Op::Join(a, b))]
    });
    prop::collection::vec(op, 1..5)
}

/// An operation in a join, where everything that is counted is inside an effect.
fn branch_op(inner: impl Strategy<Value = Op> + Clone) -> impl Strategy<Value = Op> {
    inner.prop_map(|op| match op {
        Op::Now | Op::Draw | Op::NewId | Op::Sleep => Op::Effect(vec![op]),
        Op::Ask | Op::AskAs | Op::Record | Op::FailOnce | Op::Effect(_) | Op::Join(..) => op,
    })
}

/// The values seen at each place, and the number of effects that ended there.
#[derive(Clone, Debug, Default)]
struct Seen {
    values: Arc<Mutex<BTreeMap<String, String>>>,
    done: Arc<Mutex<BTreeMap<String, u32>>>,
}

impl Seen {
    /// Checks that a place always has the value of its first visit.
    fn value(&self, place: &str, value: String) -> String {
        let mut values = self.values.lock().unwrap();
        let first = values.entry(place.to_owned()).or_insert_with(|| value.clone());
        assert_eq!(*first, value, "another value at {place}");
        value
    }

    fn count(&self, place: &str) -> u32 {
        let mut done = self.done.lock().unwrap();
        let times = done.entry(place.to_owned()).or_default();
        *times += 1;
        *times
    }
}

fn play(
    ops: Vec<Op>,
    ctx: Ctx,
    way: String,
    seen: Seen,
    turned: bool,
) -> Boxed<'static, Result<Vec<String>, NodeError>> {
    Box::pin(async move {
        let mut came = vec![];
        for (nth, op) in ops.into_iter().enumerate() {
            let place = format!("{way}{nth}");
            let fixed = |value: String| seen.value(&place, value);
            came.push(match op {
                Op::Ask => ctx.interrupt(rename(&*place)).map(fixed)?,
                Op::AskAs => ctx.interrupt_as(&*place, rename(&*place)).map(fixed)?,
                Op::Now => fixed(format!("{:?}", ctx.now().await?)),
                Op::Draw => fixed(ctx.random().await?.to_string()),
                Op::NewId => fixed(ctx.new_id().await?),
                Op::Record => {
                    let first = seen.count(&place);
                    fixed(ctx.record(&*place, first).await?.to_string())
                }
                Op::Sleep => {
                    ctx.sleep(Duration::from_millis(1)).await?;
                    "slept".into()
                }
                Op::FailOnce if ctx.record(format!("{place} fails"), ()).await.is_ok() && seen.count(&place) == 1 => {
                    return Err(NodeError::transient("no luck"));
                }
                Op::FailOnce => "lucky".into(),
                Op::Effect(inner) => {
                    let (ctx2, seen2, way) = (ctx.clone(), seen.clone(), format!("{place}e"));
                    let done = |_| async move {
                        let came = play(inner, ctx2, way.clone(), seen2.clone(), turned).await?;
                        assert_eq!(seen2.count(&way), 1, "effect {way} came to its end before");
                        Ok::<_, NodeError>(came.join(" "))
                    };
                    fixed(ctx.effect(&*place, &(), done).await?)
                }
                Op::Join(a, b) => {
                    let a = play(a, ctx.clone(), format!("{place}a"), seen.clone(), turned);
                    let b = play(b, ctx.clone(), format!("{place}b"), seen.clone(), turned);
                    let (a, b) = if turned {
                        let (b, a) = join(b, a).await;
                        (a, b)
                    } else {
                        join(a, b).await
                    };
                    format!("{} {}", a?.join(" "), b?.join(" "))
                }
            });
        }
        Ok(came)
    })
}

fn playing(ops: &[Op], seen: &Seen) -> Graph {
    let (ops, seen, runs) = (ops.to_vec(), seen.clone(), Arc::new(AtomicU32::default()));
    let node = move |_: Arc<Pad>, ctx: Ctx| -> Body {
        let turned = runs.fetch_add(1, Ordering::Relaxed) % 2 == 1;
        let (ops, seen) = (ops.clone(), seen.clone());
        Box::pin(async move { Ok(Pad::update().notes(play(ops, ctx, String::new(), seen, turned).await?)) })
    };
    let retry = RetryPolicy::attempts(9).pause(Duration::ZERO);
    let node = node.asks::<Rename>().retry(retry).replayable();
    chain(Builder::new().add_node(Name::from("a"), node), &["a"])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]
    #[test]
    fn every_answer_and_value_stays_at_its_place(ops in ops(), seed in 0usize..6) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (store, seen) = (Store::memory(), Seen::default());
            let graph = playing(&ops, &seen);
            let mut outcome = store.thread(&graph).invoke(start()).await.unwrap();
            for round in 0.. {
                assert!(round < 200, "it never ends");
                let open = outcome.questions().to_vec();
                if let Outcome::Waiting { .. } = outcome {
                    outcome = store.thread(&graph).proceed().await.unwrap();
                } else if open.is_empty() {
                    break;
                } else {
                    let only = (seed % 2 == 0).then_some((seed + round) % open.len());
                    let answers = open.iter().enumerate().filter(|(at, _)| only.is_none_or(|only| only == *at));
                    let answers = answers.map(|(_, question)| {
                        let from = question.payload::<Rename>().unwrap().from;
                        Answer::new::<Rename>(&format!("for {from}")).to(question.id())
                    });
                    outcome = store.thread(&graph).run(Request::answers(answers)).await.unwrap();
                }
            }
            for (place, value) in seen.values.lock().unwrap().iter().filter(|(_, value)| value.starts_with("for ") && !value.contains(' ')) {
                assert_eq!(value, &format!("for {place}"));
            }
            let report = store.thread(&graph).verify().await.unwrap();
            assert!(report.agrees(), "{report:?}");
        });
    }
}

#[tokio::test]
async fn a_question_in_a_stateless_subgraph_runs_the_node_once_for_each_answer() {
    let tally = Tally::default();
    let counted = tally.clone();
    let asks = move |_: Arc<Pad>, ctx: Ctx| -> Body {
        counted.add("asks");
        Box::pin(async move {
            let (one, two) = (ctx.interrupt(rename("one"))?, ctx.interrupt(rename("two"))?);
            Ok(Pad::update().notes([one, two]))
        })
    };
    let inside = chain(Builder::new().add_node(id("asks"), asks.asks::<Rename>()), &["asks"]);
    let inside = inside.persistence(Persistence::Stateless);
    let (store, graph) = (Store::memory(), chain(Builder::new().add_subgraph(id("inside"), inside), &["inside"]));
    store.thread(&graph).invoke(start()).await.unwrap();
    store.thread(&graph).resume::<Rename>("1".to_owned()).await.unwrap();
    let outcome = store.thread(&graph).resume::<Rename>("2".to_owned()).await.unwrap();
    assert_eq!((outcome.state().notes.join(","), tally.count()), ("1,2".into(), 3));
}

#[tokio::test]
async fn matching_answers_again_does_not_run_siblings_again() {
    let tally = Tally::default();
    let (runs, attempts) = (tally.clone(), tally.clone());
    let sibling = move |_: Arc<Pad>, ctx: Ctx| -> Body {
        runs.add("sibling");
        Box::pin(async move { Ok(Pad::update().notes([ctx.interrupt(Approve)?.to_string()])) })
    };
    let varies = move |_: Arc<Pad>, ctx: Ctx| -> Body {
        let nth = attempts.add("varies");
        Box::pin(async move { Ok(Pad::update().notes([ctx.interrupt(rename(nth.to_string()))?])) })
    };
    let builder =
        Builder::new().add_node(id("s"), sibling.asks::<Approve>()).add_node(id("v"), varies.asks::<Rename>());
    let (store, graph) = (Store::memory(), fan(builder, &["s", "v"]));
    store.thread(&graph).rerun_unanswered().invoke(start()).await.unwrap();
    store.thread(&graph).rerun_unanswered().resume::<Rename>("yes".to_owned()).await.unwrap();
    assert_eq!(tally.names().iter().filter(|name| *name == "sibling").count(), 2);
}
