//! Signals: sent at any time, received once, in order.

use std::sync::Arc;
use std::time::Duration;

use rstest::rstest;
use serde_json::json;
use superstep::checkpoint::{
    ExportOptions, FailingCheckpointer, ImportOptions, Retention, export_thread, gc, import_thread,
};
use superstep::graph::interrupt::SignalRequest;
use superstep::graph::runner::Until;
use superstep::graph::{Boxed, Persistence, StatusKind, ThreadInfo, runner};
use superstep::prelude::*;
use tokio::sync::watch;

use crate::clock::{Hand, at};
use crate::pad::*;
use crate::stores::Store;

#[derive(Signal, Serialize, Deserialize)]
#[signal(name = "word")]
pub(crate) struct Word(pub(crate) String);

#[derive(Signal, Serialize, Deserialize)]
pub(crate) struct Count {
    number: i64,
}

pub(crate) fn word(text: &str) -> Word {
    Word(text.to_owned())
}

/// A node that receives this many words and notes them.
pub(crate) fn receiver(tally: &Tally, words: usize) -> impl Fn(Arc<Pad>, Ctx) -> Boxed<'static, Ended> + Clone + use<> {
    let tally = tally.clone();
    move |_, ctx: Ctx| {
        tally.add("");
        Box::pin(async move {
            let mut words_received = vec![];
            for _ in 0..words {
                words_received.push(ctx.receive::<Word>().await?.0);
            }
            Ok(Pad::update().notes(words_received))
        })
    }
}

fn receiving(tally: &Tally, words: usize) -> Graph {
    chain(Builder::new().add_node(id("hear"), receiver(tally, words).receives::<Word>().replayable()), &["hear"])
}

async fn notes(thread: &PadThread) -> String {
    thread.state().await.unwrap().unwrap().values.notes.join(",")
}

async fn waits_for(thread: &PadThread) -> Vec<String> {
    match thread.status().await.unwrap() {
        Status::AwaitingSignal { signals, .. } => signals.into_iter().map(|signal| signal.name).collect(),
        other => panic!("{other:?}"),
    }
}

async fn listed(store: &Store) -> StatusKind {
    ThreadInfo::read(&*store.store, &"t".into()).await.unwrap().unwrap().status
}

#[rstest]
#[tokio::test]
async fn a_thread_waits_for_signals_and_receives_each_once_and_in_order(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
    #[values(None, Some(Persistence::Inherit), Some(Persistence::PerThread), Some(Persistence::Stateless))]
    inside: Option<Persistence>,
) {
    let tally = Tally::default();
    let mut graph = receiving(&tally, 3);
    if let Some(persistence) = inside {
        graph = chain(Builder::new().add_subgraph(id("outer"), graph.persistence(persistence)), &["outer"]);
    }
    let thread = || store.thread(&graph).durability(durability);
    let outcome = thread().invoke(start()).await.unwrap();
    assert!(matches!(&outcome, Outcome::AwaitingSignal { until: None, .. }), "{outcome:?}");
    assert_eq!((waits_for(&thread()).await, listed(&store).await), (vec!["word".into()], StatusKind::AwaitingSignal));
    assert!(matches!(thread().proceed().await.unwrap(), Outcome::AwaitingSignal { .. }));
    assert_eq!(tally.count(), 1, "nothing runs before a signal has come");
    thread().signal(word("a")).await.unwrap();
    assert_eq!(
        (thread().status().await.unwrap().kind(), listed(&store).await),
        (StatusKind::Pending, StatusKind::Pending)
    );
    assert!(matches!(thread().proceed().await.unwrap(), Outcome::AwaitingSignal { .. }));
    assert!(thread().mailbox().await.unwrap().is_empty());
    for text in ["b", "c", "d"] {
        thread().signal(word(text)).await.unwrap();
    }
    let end = thread().proceed().await.unwrap().finished().unwrap();
    assert_eq!(end.notes.join(","), "a,b,c");
    let left: Vec<_> = thread().mailbox().await.unwrap().into_iter().map(|signal| signal.value).collect();
    assert_eq!(left, [json!("d")]);
    let verified = thread().verify().await.unwrap();
    let compares = durability != Durability::Exit && inside != Some(Persistence::Stateless);
    assert!(verified.divergence.is_none() && (verified.bodies > 0) == compares, "{verified}");
}

#[rstest]
#[tokio::test]
async fn a_signal_reaches_a_running_thread(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
    #[values(false, true)] beside: bool,
) {
    let (open, gate) = watch::channel(false);
    let tally = Tally::default();
    let builder = Builder::new().add_node(id("gate"), gated(&tally, "gate", &gate));
    let builder = builder.add_node(id("hear"), receiver(&Tally::default(), 2).receives::<Word>());
    let graph = if beside { fan(builder, &["gate", "hear"]) } else { chain(builder, &["gate", "hear"]) };
    let thread = store.thread(&graph).durability(durability);
    let run = tokio::spawn(async move { thread.invoke(start()).await });
    while tally.count() == 0 {
        tokio::task::yield_now().await;
    }
    while durability == Durability::Async && store.thread(&graph).state().await.unwrap().is_none() {
        tokio::task::yield_now().await;
    }
    if durability == Durability::Exit {
        assert!(matches!(
            store.thread(&graph).signal(word("a")).await.unwrap_err(),
            RunError::UnknownThread { .. } | RunError::EmptyInput { .. }
        ));
        open.send(true).unwrap();
        assert!(matches!(run.await.unwrap().unwrap(), Outcome::AwaitingSignal { .. }));
        return;
    }
    store.thread(&graph).signal(word("a")).await.unwrap();
    store.thread(&graph).signal(word("b")).await.unwrap();
    open.send(true).unwrap();
    let mut notes = run.await.unwrap().unwrap().finished().unwrap().notes.clone();
    notes.retain(|note| note != "gate");
    assert_eq!(notes.join(","), "a,b", "no second call is needed");
}

#[rstest]
#[tokio::test]
async fn a_wait_with_a_timeout_ends_at_its_time_or_with_a_signal(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(false, true)] comes: bool,
) {
    let hand = Hand::default();
    let node = |_: Arc<Pad>, ctx: Ctx| -> Boxed<'static, Ended> {
        Box::pin(async move {
            let first = ctx.receive_within::<Word>(Duration::from_secs(10)).await?;
            let then = ctx.receive_within::<Word>(Duration::ZERO).await?;
            let shown = |word: Option<Word>| word.map_or("none".to_owned(), |word| word.0);
            Ok(Pad::update().notes([shown(first), shown(then)]))
        })
    };
    let graph = chain(Builder::new().add_node(id("hear"), node.receives::<Word>().replayable()), &["hear"]);
    let thread = || hand.on(store.thread(&graph));
    hand.set(100);
    let outcome = thread().invoke(start()).await.unwrap();
    let Outcome::AwaitingSignal { signals, until, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!((signals[0].name.as_str(), until, signals[0].until), ("word", Some(at(110)), Some(at(110))));
    let info = ThreadInfo::read_at(&*store.store, &"t".into(), at(109)).await.unwrap().unwrap();
    assert_eq!((info.status, info.wake), (StatusKind::AwaitingSignal, Some(at(110))));
    hand.set(109);
    if comes {
        thread().signal(word("in time")).await.unwrap();
    } else {
        assert!(matches!(thread().proceed().await.unwrap(), Outcome::AwaitingSignal { .. }));
        hand.set(110);
        assert!(matches!(thread().status().await.unwrap(), Status::Pending { .. }));
    }
    thread().proceed().await.unwrap().finished().unwrap();
    assert_eq!(notes(&thread()).await, if comes { "in time,none" } else { "none,none" });
    let verified = thread().verify().await.unwrap();
    assert!(verified.divergence.is_none() && verified.bodies > 0, "{verified}");
}

#[rstest]
#[tokio::test]
async fn signals_of_another_type_stay_in_the_mailbox(#[values(Store::memory(), Store::disk())] store: Store) {
    let node = |_: Arc<Pad>, ctx: Ctx| -> Boxed<'static, Ended> {
        Box::pin(async move {
            let word: Word = ctx.receive().await?;
            let count: Count = ctx.receive().await?;
            Ok(Pad::update().notes([word.0]).sum(count.number))
        })
    };
    let graph = chain(Builder::new().add_node(id("hear"), node.receives::<Word>().receives::<Count>()), &["hear"]);
    let thread = || store.thread(&graph);
    thread().invoke(start()).await.unwrap();
    thread().send(SignalRequest::json("count", &json!({ "number": 7 })).by("ada").note("by hand")).await.unwrap();
    assert_eq!(waits_for(&thread()).await, ["word"], "a count lets no task run that waits for a word");
    let sent = thread().mailbox().await.unwrap();
    assert_eq!(
        (sent[0].by.as_deref(), sent[0].note.as_deref(), &sent[0].value),
        (Some("ada"), Some("by hand"), &json!({ "number": 7 }))
    );
    thread().signal(word("a")).await.unwrap();
    let end = thread().proceed().await.unwrap().finished().unwrap();
    assert_eq!((end.notes.join(","), end.sum), ("a".into(), 7));
}

#[rstest]
#[tokio::test]
async fn a_signal_that_cannot_be_sent_is_refused(#[values(Store::memory(), Store::disk())] store: Store) {
    let graph = receiving(&Tally::default(), 1);
    let unknown = store.thread(&graph).signal(word("a")).await.unwrap_err();
    store.thread(&graph).invoke(start()).await.unwrap();
    let undeclared = store.thread(&graph).signal(Count { number: 1 }).await.unwrap_err();
    let mistyped = store.thread(&graph).send(SignalRequest::json("word", &json!({ "text": 1 }))).await.unwrap_err();
    let large = store.thread(&graph).signal(word(&"x".repeat(2 << 20))).await.unwrap_err();
    let without = graph.clone().thread("t").signal(word("a")).await.unwrap_err();
    insta::allow_duplicates! {
        insta::assert_snapshot!(format!("{unknown:?}\n{undeclared:?}\n{mistyped:?}\n{large:?}\n{without:?}"), @r"
        there is no thread `t`
         help: check the name and the store
        no node of the graph receives a signal `count`
         help: its nodes receive `word`
        signal `word` is of another type: `Word` is text: invalid type: map, expected a string
         help: nothing was sent; send what the type reads
        signal `word` has 2097184 bytes, more than the limit of 1048576
         help: keep large data outside the state and store a reference to it; shorten a name
        a signal needs a checkpointer
         help: add `.with_checkpointer(..)` to the graph
        ");
    }
    assert!(store.thread(&graph).mailbox().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_mailbox_has_a_limit_and_can_be_cleared() {
    let (store, graph) = (Store::memory(), receiving(&Tally::default(), 1));
    store.thread(&graph).invoke(start()).await.unwrap();
    let first = store.thread(&graph).signal(word("0")).await.unwrap();
    for number in 1..1_000 {
        store.thread(&graph).signal(word(&number.to_string())).await.unwrap();
    }
    let full = format!("{:?}", store.thread(&graph).signal(word("one more")).await.unwrap_err());
    insta::assert_snapshot!(full, @r"
    the mailbox of thread `t` is full: 1000 signals wait there
     help: let the thread receive some, or remove some with `thread.discard_signal(id)`
    ");
    store.thread(&graph).discard_signal(first).await.unwrap();
    let gone = format!("{:?}", store.thread(&graph).discard_signal(first).await.unwrap_err());
    assert!(gone.starts_with(&format!("signal {first} is not in the mailbox of thread `t`")), "{gone}");
    assert_eq!(first.to_string().parse(), Ok(first));
    let end = store.thread(&graph).proceed().await.unwrap().finished().unwrap();
    assert_eq!(end.notes.join(","), "1");
}

#[tokio::test]
async fn misuse_of_signals_by_a_node_is_an_error() {
    let undeclared = chain(Builder::new().add_node(id("hear"), receiver(&Tally::default(), 1)), &["hear"]);
    let error = Store::memory().thread(&undeclared).invoke(start()).await.unwrap_err();
    assert!(matches!(error, RunError::UndeclaredSignal { .. }), "{error}");
    let ignores = |_: Arc<Pad>, ctx: Ctx| -> Boxed<'static, Ended> {
        Box::pin(async move {
            let _ = ctx.receive::<Word>().await;
            Ok(Pad::update())
        })
    };
    let graph = chain(Builder::new().add_node(id("hear"), ignores.receives::<Word>()), &["hear"]);
    let error = Store::memory().thread(&graph).invoke(start()).await.unwrap_err();
    assert!(matches!(error, RunError::SignalIgnored { .. }), "{error}");
    let error = receiving(&Tally::default(), 1).invoke(start()).await.unwrap_err();
    insta::assert_snapshot!(format!("{error:?}"), @r"
    a node that receives signals needs a checkpointer
     help: add `.with_checkpointer(..)` to the graph
    ");
}

#[rstest]
#[tokio::test]
async fn a_signal_is_received_by_one_of_several_tasks(#[values(Store::memory(), Store::disk())] store: Store) {
    let tally = Tally::default();
    let hear = || receiver(&tally, 1).receives::<Word>();
    let builder = Builder::new().add_node(id("a"), hear()).add_node(id("b"), hear()).add_node(id("c"), hear());
    let graph = fan(builder, &["a", "b", "c"]);
    let thread = || store.thread(&graph);
    thread().invoke(start()).await.unwrap();
    assert_eq!(waits_for(&thread()).await, ["word"; 3]);
    thread().signal(word("x")).await.unwrap();
    thread().proceed().await.unwrap();
    assert_eq!(
        (waits_for(&thread()).await, tally.count()),
        (vec!["word".to_owned(); 2], 4),
        "one task runs for one signal"
    );
    thread().signal(word("y")).await.unwrap();
    thread().signal(word("z")).await.unwrap();
    let end = thread().proceed().await.unwrap().finished().unwrap();
    assert_eq!(end.notes.join(","), "x,y,z");
}

#[rstest]
#[tokio::test]
async fn a_question_comes_before_a_signal_and_both_resume(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(false, true)] signal_first: bool,
) {
    let hear = receiver(&Tally::default(), 1).receives::<Word>();
    let builder = Builder::new().add_node(id("ask"), approval.asks::<Approve>()).add_node(id("hear"), hear);
    let graph = fan(builder, &["ask", "hear"]);
    let thread = || store.thread(&graph);
    assert_eq!(thread().invoke(start()).await.unwrap().questions().len(), 1);
    if signal_first {
        thread().signal(word("a")).await.unwrap();
        let info = ThreadInfo::read(&*store.store, &"t".into()).await.unwrap().unwrap();
        assert_eq!(info.status, StatusKind::Interrupted);
        assert_eq!(thread().proceed().await.unwrap().questions().len(), 1);
        assert!(thread().mailbox().await.unwrap().is_empty());
        thread().resume::<Approve>(true).await.unwrap().finished().unwrap();
    } else {
        assert!(matches!(thread().resume::<Approve>(true).await.unwrap(), Outcome::AwaitingSignal { .. }));
        thread().signal(word("a")).await.unwrap();
        thread().proceed().await.unwrap().finished().unwrap();
    }
    assert_eq!(notes(&thread()).await, "approved: true,a");
}

#[rstest]
#[tokio::test]
async fn retries_and_effects_keep_received_signals(#[values(Store::memory(), Store::disk())] store: Store) {
    let tally = Tally::default();
    let node = {
        let tally = tally.clone();
        move |_: Arc<Pad>, ctx: Ctx| -> Boxed<'static, Ended> {
            let attempt = tally.add("");
            Box::pin(async move {
                let first: Word = ctx.receive().await?;
                let ctx = &ctx;
                let second: String = ctx
                    .effect("inside", &(), |_| async move { Ok::<_, NodeError>(ctx.receive::<Word>().await?.0) })
                    .await?;
                if attempt < 5 {
                    return Err(NodeError::from("not yet"));
                }
                Ok(Pad::update().notes([first.0, second]))
            })
        }
    };
    let retry = RetryPolicy::attempts(2).pause(Duration::ZERO);
    let graph = chain(Builder::new().add_node(id("hear"), node.receives::<Word>().retry(retry)), &["hear"]);
    let thread = || store.thread(&graph);
    thread().invoke(start()).await.unwrap();
    for text in ["a", "b", "c"] {
        thread().signal(word(text)).await.unwrap();
    }
    while thread().proceed().await.is_err() {}
    assert_eq!((notes(&thread()).await, thread().mailbox().await.unwrap().len()), ("a,b".into(), 1));
}

/// A receipt stored before a cut is kept, another signal is received again: none is lost, none comes twice.
#[rstest]
#[tokio::test]
async fn a_run_cut_at_any_commit_receives_each_signal_once(
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
    #[values(false, true)] ack_lost: bool,
    #[values(false, true)] inside: bool,
) {
    for cut in 1..20 {
        let store = Store::memory();
        let tally = Tally::default();
        let builder = Builder::new().add_node(id("a"), receiver(&tally, 2).receives::<Word>());
        let builder = builder.add_node(id("b"), receiver(&tally, 1).receives::<Word>());
        let mut graph = chain(builder, &["a", "b"]);
        if inside {
            graph = chain(Builder::new().add_subgraph(id("outer"), graph), &["outer"]);
        }
        store.thread(&graph).durability(durability).invoke(start()).await.unwrap();
        for text in ["x", "y", "z"] {
            store.thread(&graph).signal(word(text)).await.unwrap();
        }
        let inner = Arc::clone(&store.store);
        let failing =
            if ack_lost { FailingCheckpointer::losing_ack(inner, cut) } else { FailingCheckpointer::new(inner, cut) };
        let failed = graph.clone().with_checkpointer(failing).thread("t").durability(durability).proceed().await;
        let whole = failed.is_ok();
        let outcome = store.thread(&graph).proceed().await.unwrap();
        let Some(end) = outcome.finished() else { panic!("cut {cut}: it waits for a signal that it has received") };
        assert_eq!((end.notes.join(","), store.thread(&graph).mailbox().await.unwrap().len()), ("x,y,z".into(), 0));
        if whole {
            return;
        }
    }
    panic!("the run has more commits than were cut");
}

#[rstest]
#[tokio::test]
async fn a_branch_waits_for_new_signals_and_a_retry_keeps_received_ones(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let fails = |pad: Arc<Pad>, _: Ctx| async move {
        if pad.notes.len() == 2 { Err(NodeError::from("no")) } else { Ok(Pad::update().notes(["end"])) }
    };
    let builder = Builder::new().add_node(id("first"), note("first"));
    let builder =
        builder.add_node(id("hear"), receiver(&Tally::default(), 1).receives::<Word>()).add_node(id("fails"), fails);
    let graph = chain(builder, &["first", "hear", "fails"]);
    let thread = || store.thread(&graph);
    thread().invoke(start()).await.unwrap();
    thread().signal(word("a")).await.unwrap();
    thread().proceed().await.unwrap_err();
    thread().retry().await.unwrap_err();
    assert_eq!(notes(&thread()).await, "first,a");
    let history = thread().history().await.unwrap().all().await.unwrap();
    let before = history.iter().find(|checkpoint| checkpoint.next == ["hear"]).unwrap().id;
    let outcome = thread().at(before).proceed().await.unwrap();
    assert!(matches!(outcome, Outcome::AwaitingSignal { .. }), "{outcome:?}");
    thread().signal(word("b")).await.unwrap();
    thread().proceed().await.unwrap_err();
    assert_eq!(notes(&thread()).await, "first,b");
}

#[rstest]
#[tokio::test]
async fn a_mailbox_is_deleted_with_its_thread(#[values(Store::memory(), Store::disk())] store: Store) {
    let graph = receiving(&Tally::default(), 2);
    let thread = || store.thread(&graph);
    thread().invoke(start()).await.unwrap();
    thread().signal(word("a")).await.unwrap();
    thread().proceed().await.unwrap();
    thread().signal(word("b")).await.unwrap();
    gc(&*store.store, &"t".into(), &Retention::new().keep_last(1)).await.unwrap();
    let mut file = vec![];
    export_thread(&*store.store, &"t".into(), &ExportOptions::default(), &mut file).await.unwrap();
    let other = Store::memory();
    import_thread(&*other.store, &file[..], &ImportOptions::new()).await.unwrap();
    assert!(matches!(other.thread(&graph).signal(word("x")).await.unwrap_err(), RunError::Foreign { .. }));
    superstep::checkpoint::trust(&*other.store, &"t".into()).await.unwrap();
    for thread in [store.thread(&graph), other.thread(&graph)] {
        assert_eq!(thread.proceed().await.unwrap().finished().unwrap().notes.join(","), "a,b");
    }
    thread().signal(word("late")).await.unwrap();
    thread().delete().await.unwrap();
    assert!(matches!(thread().mailbox().await.unwrap_err(), RunError::UnknownThread { .. }));
    thread().invoke(start()).await.unwrap();
    assert!(thread().mailbox().await.unwrap().is_empty(), "the mailbox of the thread before is gone");
}

#[rstest]
#[tokio::test]
async fn a_finished_thread_keeps_signals_for_its_next_run(#[values(Store::memory(), Store::disk())] store: Store) {
    let graph = receiving(&Tally::default(), 1);
    let thread = || store.thread(&graph);
    thread().invoke(start()).await.unwrap();
    for text in ["a", "b"] {
        thread().signal(word(text)).await.unwrap();
    }
    thread().proceed().await.unwrap().finished().unwrap();
    assert_eq!(thread().status().await.unwrap().kind(), StatusKind::Finished);
    assert_eq!(thread().invoke(start()).await.unwrap().finished().unwrap().notes.join(","), "a,b");
}

#[tokio::test]
async fn a_runner_resumes_a_thread_for_each_signal_however_many() {
    let (store, tally) = (Store::memory(), Tally::default());
    let graph = receiving(&tally, 8).with_shared_checkpointer(Arc::clone(&store.store));
    graph.thread("t").invoke(start()).await.unwrap();
    let stop = CancellationToken::new();
    let (sender, ends) = (graph.clone(), stop.clone());
    let stops = Tally::default();
    let (count, next) = (stops.clone(), Arc::new(tokio::sync::Notify::new()));
    let notify = Arc::clone(&next);
    let drives = runner([graph.clone()]).poll_every(Duration::from_millis(1)).on_stop(move |_| {
        count.add("");
        notify.notify_one();
        async {}
    });
    let sends = async {
        for number in 0..8 {
            sender.thread("t").signal(word(&number.to_string())).await.unwrap();
            next.notified().await;
        }
        ends.cancel();
    };
    let (report, ()) = tokio::join!(drives.run(Until::Cancelled(stop)), sends);
    assert_eq!((report.unwrap().given_up, stops.count()), (vec![], 8));
    assert_eq!(notes(&graph.thread("t")).await, "0,1,2,3,4,5,6,7");
}

#[rstest]
#[tokio::test]
async fn a_signal_is_received_from_behind_many_of_another_type(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(7, 8, 9, 40, 41, 300)] before: usize,
    #[values(Durability::Sync, Durability::Exit)] durability: Durability,
) {
    let counter = |_: Arc<Pad>, ctx: Ctx| async move {
        let (first, second) = (ctx.receive::<Count>().await?, ctx.receive::<Count>().await?);
        let none = ctx.receive_within::<Count>(Duration::ZERO).await?.is_none();
        Ok::<_, NodeError>(Pad::update().notes([format!("{} {} {none}", first.number, second.number)]))
    };
    let builder = Builder::new()
        .add_node(id("count"), counter.receives::<Count>())
        .add_node(id("hear"), receiver(&Tally::default(), before).receives::<Word>());
    let graph = chain(builder, &["count", "hear"]);
    let thread = store.thread(&graph).durability(durability);
    thread.invoke(Pad::update()).await.unwrap();
    for nth in 0..before {
        thread.signal(word(&nth.to_string())).await.unwrap();
    }
    for number in [1, 2] {
        thread.signal(Count { number }).await.unwrap();
    }
    let words = (0..before).map(|nth| nth.to_string());
    let expected: Vec<String> = ["1 2 true".to_owned()].into_iter().chain(words).collect();
    assert_eq!(thread.proceed().await.unwrap().finished().unwrap().notes, expected);
    assert!(thread.mailbox().await.unwrap().is_empty());
}
