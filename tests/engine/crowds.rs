//! Many questions at once, answered one by one: what an answer costs, and that a graph that keeps the superstep in memory
//! goes the same way as one that reads it anew each time.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use rstest::rstest;
use superstep::checkpoint::Checkpointer;
use superstep::graph::{InterruptId, Name, worker};
use superstep::prelude::*;

use crate::clock::Hand;
use crate::pad::*;
use crate::stores::{Counting, Store};

const ASK: Worker<Name, u32> = Worker::new(Name::constant("ask"));

/// A graph with so many workers, each of which asks; every third asks twice, some write more than one channel.
fn crowd(width: u32) -> Graph {
    let ask = |nth: Arc<u32>, ctx: Ctx| async move {
        let nth = *nth;
        let name = ctx.effect("name", &(), |_| async move { Ok::<_, NodeError>(format!("{nth:03}")) }).await?;
        let approved = ctx.interrupt(Approve)?;
        let name = if nth.is_multiple_of(3) { ctx.interrupt(Rename { from: name })? } else { name };
        let update = Pad::update().notes([format!("{name} {approved}")]);
        Ok::<_, NodeError>(if nth.is_multiple_of(2) { update.sum(i64::from(nth)) } else { update })
    };
    of_workers(Builder::new().add_worker(ASK, worker(ask).asks::<Approve>().asks::<Rename>()), width)
}

fn of_workers(builder: Builder, width: u32) -> Graph {
    let builder = builder.add_node(id("fan"), note("fan")).add_edge(START, id("fan"));
    builder.add_conditional_edges_to(id("fan"), move |_: &Pad| ASK.each(0..width), ASK).compile().unwrap()
}

/// The same by nodes that edges start, each of which asks.
fn nodes(width: u32) -> Graph {
    let name = |nth: u32| id(&format!("n{nth:04}"));
    let builder = (0..width).fold(Builder::new(), |builder, nth| {
        builder.add_node(name(nth), approval.asks::<Approve>()).add_edge(START, name(nth))
    });
    builder.compile().unwrap()
}

/// The same by workers that each call a graph that asks.
fn calls(width: u32) -> Graph {
    let asking = chain(Builder::new().add_node(id("a"), approval.asks::<Approve>()), &["a"]);
    let called = asking.clone();
    let call = move |_: Arc<u32>, ctx: Ctx| {
        let called = called.clone();
        async move { Ok::<_, NodeError>(Pad::update().notes(ctx.call(&called, start()).await?.notes.clone())) }
    };
    of_workers(Builder::new().add_worker(ASK, worker(call)).calls(&id("ask"), &asking), width)
}

fn ids(outcome: &Outcome<Pad>) -> Vec<InterruptId> {
    outcome.questions().iter().map(Question::id).collect()
}

/// Answers a question by its type.
fn answer(question: &Question) -> Answer {
    match question.payload::<Rename>() {
        Some(Rename { from }) => Answer::new::<Rename>(&format!("{from}!")).to(question.id()),
        None => Answer::new::<Approve>(&true).to(question.id()),
    }
}

#[rstest]
#[case::workers(crowd)]
#[case::nodes(nodes)]
#[case::subgraphs(calls)]
#[tokio::test]
async fn an_answer_among_many_questions_reads_and_writes_what_one_among_few_does(#[case] graph: fn(u32) -> Graph) {
    let answered = async |width: u32| {
        let store = Counting::new(&Store::memory());
        let shared: Arc<dyn Checkpointer> = store.clone();
        let thread = graph(width).with_shared_checkpointer(shared).thread("t");
        let asked = thread.invoke(start()).await.unwrap();
        let question = |nth: usize| &asked.questions()[nth];
        thread.answer(answer(question(1))).await.unwrap();
        store.read();
        store.written();
        for nth in [2, 4, 5, 7] {
            thread.answer(answer(question(nth))).await.unwrap();
        }
        (store.read(), store.written())
    };
    let (few, many) = (answered(10).await, answered(400).await);
    assert!(few.0 > 0 && many.0 <= few.0 + few.0 / 4, "{} bytes read among few, {} among many", few.0, many.0);
    assert!(few.1 > 0 && many.1 <= few.1 + few.1 / 4, "{} bytes written among few, {} among many", few.1, many.1);
}

/// Returns answers that are refused after the second question was answered, each with the reason.
fn refusals(asked: &[Question]) -> Vec<Vec<Answer>> {
    let parts: Vec<String> = asked[3].id().to_string().split('-').map(String::from).collect();
    let [birth, checkpoint, task, place] = &parts[..] else { panic!("{parts:?}") };
    let to = |id: String| vec![answer(&asked[3]).to(id.parse::<InterruptId>().unwrap())];
    vec![
        vec![Answer::new::<Rename>(&"another type".into()).to(asked[3].id())],
        vec![Answer::json(&"another type".into()).to(asked[3].id())],
        vec![answer(&asked[1])],
        to(format!("{birth}-{checkpoint}-{task}-9")),
        to(format!("{birth}-{checkpoint}-7fffffff-{place}")),
        to(format!("{birth}-999-{task}-{place}")),
        to(format!("00000007-{checkpoint}-{task}-{place}")),
        vec![Answer::new::<Approve>(&true)],
        vec![Answer::new::<Rename>(&"asked by nobody yet".into())],
        vec![answer(&asked[3]), answer(&asked[3])],
        vec![answer(&asked[2]), Answer::new::<Approve>(&true)],
    ]
}

#[rstest]
#[tokio::test]
async fn an_answer_that_is_refused_costs_what_an_accepted_one_does(#[values(crowd, calls)] graph: fn(u32) -> Graph) {
    let store = Counting::new(&Store::memory());
    let shared: Arc<dyn Checkpointer> = store.clone();
    let thread = graph(400).with_shared_checkpointer(shared).thread("t");
    let asked = thread.invoke(start()).await.unwrap().questions().to_vec();
    thread.answer(answer(&asked[1])).await.unwrap();
    store.read();
    thread.answer(answer(&asked[2])).await.unwrap();
    let most = store.read() * 5 / 4;
    for (nth, refused) in refusals(&asked).into_iter().enumerate() {
        let error = thread.run(Request::answers(refused)).await.unwrap_err();
        let read = store.read();
        assert!(read <= most, "{read} bytes read: {error}");
        thread.answer(answer(&asked[10 + nth])).await.unwrap();
        let read = store.read();
        assert!(read <= most, "{read} bytes read after: {error}");
    }
}

#[rstest]
#[tokio::test]
async fn a_graph_that_keeps_a_superstep_refuses_what_one_that_reads_it_refuses(
    #[values(crowd, calls)] graph: fn(u32) -> Graph,
) {
    let store = Store::memory();
    let kept = store.thread(&graph(40));
    let asked = kept.invoke(start()).await.unwrap().questions().to_vec();
    kept.answer(answer(&asked[1])).await.unwrap();
    for refused in refusals(&asked) {
        let here = kept.run(Request::answers(refused.clone())).await.unwrap_err();
        let there = store.thread(&graph(40)).run(Request::answers(refused)).await.unwrap_err();
        assert_eq!(format!("{here:?}"), format!("{there:?}"));
        kept.proceed().await.unwrap(); // keeps the superstep again
    }
}

/// One step of a thread that several people answer.
#[derive(Clone, Debug)]
enum Move {
    /// Answers the question at this place, modulo their number.
    Answer(usize),
    /// Answers two at once.
    Both(usize, usize),
    /// Another graph, which has read nothing, answers.
    Elsewhere(usize),
    /// Another graph runs the tasks that wait once more, which changes their records and not the head.
    Again,
    Proceed,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let place = || 0..64usize;
    let one = prop_oneof![
        6 => place().prop_map(Move::Answer),
        2 => (place(), place()).prop_map(|(one, other)| Move::Both(one, other)),
        2 => place().prop_map(Move::Elsewhere),
        1 => Just(Move::Again),
        1 => Just(Move::Proceed),
    ];
    proptest::collection::vec(one, 1..30)
}

/// Makes a move on a thread that is at these questions.
async fn go(store: &Store, graph: &Graph, at: &Outcome<Pad>, step: &Move) -> Outcome<Pad> {
    let asked = at.questions();
    let chosen = |place: usize| &asked[place % asked.len()];
    let thread = store.thread(graph);
    match *step {
        Move::Answer(place) => thread.answer(answer(chosen(place))).await,
        Move::Both(one, other) if chosen(one).id() != chosen(other).id() => {
            thread.run(Request::answers([answer(chosen(one)), answer(chosen(other))])).await
        }
        Move::Both(one, _) => thread.answer(answer(chosen(one))).await,
        Move::Elsewhere(place) => store.thread(&graph.clone()).answer(answer(chosen(place))).await,
        Move::Again => store.thread(graph).rerun_unanswered().proceed().await,
        Move::Proceed => thread.proceed().await,
    }
    .unwrap()
}

fn shown(outcome: &Outcome<Pad>) -> String {
    let questions: Vec<String> = outcome.questions().iter().map(|asked| format!("{asked:?}")).collect();
    format!("{:?} {questions:#?}", **outcome.state())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn a_graph_that_keeps_a_superstep_goes_the_way_of_one_that_reads_it(width in 2u32..9, moves in moves()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (one, other) = (Store::memory(), Store::memory());
            let kept = crowd(width).with_shared_checkpointer(Arc::clone(&one.store));
            let mut here = kept.thread("t").invoke(start()).await.unwrap();
            let mut there = other.thread(&crowd(width)).invoke(start()).await.unwrap();
            for step in &moves {
                if here.questions().is_empty() {
                    break;
                }
                let elsewhere = matches!(step, Move::Elsewhere(_) | Move::Again);
                here = match elsewhere {
                    true => go(&one, &crowd(width), &here, step).await,
                    false => go_by(&kept.thread("t"), &here, step).await,
                };
                there = go(&other, &crowd(width), &there, step).await;
                let strip = |text: String, at: &Outcome<Pad>| {
                    ids(at).iter().enumerate().fold(text, |text, (nth, id)| text.replace(&id.to_string(), &format!("q{nth}")))
                };
                assert_eq!(strip(shown(&here), &here), strip(shown(&there), &there), "after {step:?}");
            }
        });
    }
}

/// Makes a move by this handle.
async fn go_by(thread: &PadThread, at: &Outcome<Pad>, step: &Move) -> Outcome<Pad> {
    let asked = at.questions();
    let chosen = |place: usize| &asked[place % asked.len()];
    match *step {
        Move::Both(one, other) if chosen(one).id() != chosen(other).id() => {
            thread.run(Request::answers([answer(chosen(one)), answer(chosen(other))])).await
        }
        Move::Answer(place) | Move::Both(place, _) | Move::Elsewhere(place) => {
            thread.answer(answer(chosen(place))).await
        }
        Move::Again => thread.clone().rerun_unanswered().proceed().await,
        Move::Proceed => thread.proceed().await,
    }
    .unwrap()
}

#[tokio::test]
async fn an_outcome_shows_the_questions_and_the_state_of_its_time() {
    let store = Store::memory();
    let thread = store.thread(&crowd(70));
    let first = thread.invoke(start()).await.unwrap();
    let all = ids(&first);
    let second = thread.answer(answer(&first.questions()[1])).await.unwrap();
    let third = thread.answer(answer(&first.questions()[69])).await.unwrap();
    let (second_ids, third_ids) = (ids(&second), ids(&third));
    assert_eq!(ids(&first), all);
    assert_eq!(second_ids, [&all[..1], &all[2..]].concat());
    assert_eq!(third_ids[..68], second_ids[..68]);
    let notes = |outcome: &Outcome<Pad>| outcome.state().notes.clone();
    assert_eq!(notes(&first), ["fan"]);
    assert_eq!(notes(&second), ["fan", "001 true"]);
    assert_eq!((notes(&third).len(), third.state().title.as_str()), (2, "tides")); // 069 has a second question
}

#[tokio::test]
async fn results_that_cannot_be_applied_are_refused_with_the_answer_that_brings_the_second() {
    let ask = |nth: Arc<u32>, ctx: Ctx| async move {
        ctx.interrupt(Approve)?;
        Ok::<_, NodeError>(Pad::update().title(format!("{nth}")))
    };
    let graph = of_workers(Builder::new().add_worker(ASK, worker(ask).asks::<Approve>()), 5);
    let store = Store::memory();
    let thread = store.thread(&graph);
    let asked = thread.invoke(start()).await.unwrap();
    thread.answer(answer(&asked.questions()[3])).await.unwrap();
    let error = thread.answer(answer(&asked.questions()[1])).await.unwrap_err();
    assert!(matches!(error, RunError::ConcurrentUpdate { .. }), "{error:?}");
}

#[tokio::test]
async fn a_question_that_expires_is_closed_before_another_is_answered() {
    let ask = |_: Arc<u32>, ctx: Ctx| async move {
        let answered = ctx.ask(Approve).expires_after(Duration::from_secs(60)).default(false).await?;
        Ok::<_, NodeError>(Pad::update().notes([format!("{answered}")]))
    };
    let graph = of_workers(Builder::new().add_worker(ASK, worker(ask).asks::<Approve>()), 3);
    let (store, hand) = (Store::memory(), Hand::default());
    let thread = hand.on(store.thread(&graph));
    let asked = thread.invoke(start()).await.unwrap();
    hand.set(61);
    let error = thread.answer(answer(&asked.questions()[0])).await.unwrap_err();
    assert!(matches!(error, RunError::QuestionExpired { .. }), "{error:?}");
    let error = thread.answer(answer(&asked.questions()[0])).await.unwrap_err();
    assert!(matches!(error, RunError::QuestionExpired { .. }), "{error:?}");
    assert_eq!(thread.proceed().await.unwrap().finished().unwrap().notes, ["fan", "false", "false", "false"]);
}
