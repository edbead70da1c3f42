//! Questions with terms: they expire, are cancelled, or need several approvals.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;
use superstep::graph::runner::Until;
use superstep::graph::{Answer, AskError, Boxed, Persistence, ThreadInfo, runner};
use superstep::prelude::*;

use crate::clock::{Hand, at};
use crate::pad::*;
use crate::stores::Store;

/// The terms of a node's question.
#[derive(Clone, Debug, Default)]
struct Terms {
    seconds: Option<u64>,
    default: Option<bool>,
    approvals: u32,
    approvers: Vec<&'static str>,
}

fn asks(terms: Terms) -> impl Fn(Arc<Pad>, Ctx) -> Boxed<'static, Ended> + Clone + use<> {
    move |_, ctx: Ctx| {
        let terms = terms.clone();
        Box::pin(async move {
            let mut ask = ctx.ask(Approve).approvals(terms.approvals).approvers(terms.approvers);
            ask = terms.seconds.map(Duration::from_secs).into_iter().fold(ask, |ask, time| ask.expires_after(time));
            ask = terms.default.into_iter().fold(ask, |ask, answer| ask.default(answer));
            let note = match ask.await {
                Ok(answer) => format!("{answer}"),
                Err(AskError::Expired { .. }) => "expired".into(),
                Err(AskError::Cancelled { by, .. }) => format!("cancelled by {}", by.unwrap_or_default()),
                Err(AskError::Disagreed { .. }) => "disagreed".into(),
                Err(other) => return Err(other.into()),
            };
            Ok(Pad::update().notes([note]))
        })
    }
}

fn asking(terms: Terms) -> Graph {
    chain(Builder::new().add_node(id("ask"), asks(terms).asks::<Approve>().replayable()), &["ask"])
}

async fn question(thread: &PadThread) -> superstep::graph::Question {
    match thread.status().await.unwrap() {
        Status::Interrupted { questions } => questions[0].clone(),
        other => panic!("{other:?}"),
    }
}

async fn agrees(thread: &PadThread) {
    let verified = thread.verify().await.unwrap();
    assert!(verified.divergence.is_none() && verified.bodies > 0, "{verified}");
}

#[rstest]
#[case::default(Some(false), "false")]
#[case::none(None, "expired")]
#[tokio::test]
async fn a_question_that_expires_gets_its_default_answer(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
    #[values(None, Some(Persistence::Inherit), Some(Persistence::Stateless))] inside: Option<Persistence>,
    #[case] default: Option<bool>,
    #[case] note: &str,
) {
    let hand = Hand::default();
    let mut graph = asking(Terms { seconds: Some(10), default, ..Terms::default() });
    if let Some(persistence) = inside {
        graph = chain(Builder::new().add_subgraph(id("outer"), graph.persistence(persistence)), &["outer"]);
    }
    let thread = || hand.on(store.thread(&graph)).durability(durability);
    hand.set(100);
    assert_eq!(thread().invoke(start()).await.unwrap().questions().len(), 1);
    let open = question(&thread()).await;
    assert_eq!((open.expires(), open.default_answer()), (Some(at(110)), default.map(|answer| json!(answer))));
    let info = |seconds| {
        let store = Arc::clone(&store.store);
        async move { ThreadInfo::read_at(&*store, &"t".into(), at(seconds)).await.unwrap().unwrap() }
    };
    assert_eq!(info(109).await.wake, Some(at(110)));
    hand.set(109);
    assert_eq!(thread().proceed().await.unwrap().questions().len(), 1);
    assert_eq!(question(&thread()).await.expires(), Some(at(110)), "the time is that of the first attempt");
    hand.set(110);
    let late = thread().answer(Answer::new::<Approve>(&true).by("ada")).await.unwrap_err();
    assert!(matches!(late, RunError::QuestionExpired { .. }), "{late}");
    let end = thread().proceed().await.unwrap().finished().unwrap();
    assert_eq!(end.notes.join(","), note);
    if durability != Durability::Exit && inside != Some(Persistence::Stateless) {
        agrees(&thread()).await;
    }
}

#[rstest]
#[tokio::test]
async fn an_answer_in_time_counts(#[values(Store::memory(), Store::disk())] store: Store) {
    let hand = Hand::default();
    let graph = asking(Terms { seconds: Some(10), default: Some(false), ..Terms::default() });
    let thread = || hand.on(store.thread(&graph));
    thread().invoke(start()).await.unwrap();
    hand.set(9);
    assert_eq!(thread().resume::<Approve>(true).await.unwrap().finished().unwrap().notes.join(","), "true");
    agrees(&thread()).await;
}

#[tokio::test]
async fn a_runner_answers_expired_questions() {
    let (store, hand) = (Store::memory(), Hand::default());
    let graph = asking(Terms { seconds: Some(10), default: Some(true), ..Terms::default() });
    let graph = graph.with_shared_checkpointer(Arc::clone(&store.store));
    hand.on(graph.thread("t")).invoke(start()).await.unwrap();
    for (seconds, turns) in [(9, 0), (10, 1)] {
        hand.set(seconds);
        let own = hand.clone();
        let report = runner([graph.clone()]).clock(move || own.now()).run(Until::Idle).await.unwrap();
        assert_eq!(report.turns, turns, "{report:?}");
    }
    let state = graph.thread("t").state().await.unwrap().unwrap();
    assert_eq!(state.values.notes.join(","), "true");
    let history = graph.thread("t").history().await.unwrap().all().await.unwrap();
    let answers = history.iter().flat_map(|checkpoint| &checkpoint.tasks).flat_map(|task| &task.answers);
    let answers: Vec<_> = answers.map(|answer| (answer.by.clone().unwrap(), answer.at)).collect();
    assert_eq!(answers, [("expiry".to_owned(), 10_000)]);
}

#[rstest]
#[tokio::test]
async fn a_question_is_cancelled(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(false, true)] by_id: bool,
) {
    let graph = asking(Terms::default());
    let thread = || store.thread(&graph);
    thread().invoke(start()).await.unwrap();
    let open = question(&thread()).await;
    let cancel = Answer::cancel().by("ada").note("no longer needed");
    let cancel = if by_id { cancel.to(open.id()) } else { cancel };
    let end = thread().answer(cancel.clone()).await.unwrap().finished().unwrap();
    assert_eq!(end.notes.join(","), "cancelled by ada");
    agrees(&thread()).await;
    assert!(thread().answer(cancel).await.is_err());
}

#[rstest]
#[tokio::test]
async fn a_plain_question_that_is_cancelled_fails_its_node(#[values(Store::memory(), Store::disk())] store: Store) {
    let graph = chain(Builder::new().add_node(id("ask"), approval.asks::<Approve>()), &["ask"]);
    let thread = || store.thread(&graph);
    thread().invoke(start()).await.unwrap();
    let error = thread().answer(Answer::cancel().by("ada")).await.unwrap_err();
    insta::allow_duplicates! {
        insta::assert_snapshot!(format!("{error:?}"), @r"
        node `ask` has no answer: question `approve` was cancelled by ada
         help: ask with `ctx.ask(..)` and handle the error, or ask again with `thread.retry()`
        ");
    }
    thread().retry().await.unwrap();
    assert_eq!(thread().resume::<Approve>(true).await.unwrap().finished().unwrap().notes.join(","), "approved: true");
}

#[rstest]
#[tokio::test]
async fn several_people_answer_until_enough_agree(#[values(Store::memory(), Store::disk())] store: Store) {
    let graph = asking(Terms { approvals: 2, ..Terms::default() });
    let thread = || store.thread(&graph);
    let answer = |by: &str, answer: bool| {
        let (thread, answer) = (thread(), Answer::new::<Approve>(&answer).by(by).note("so"));
        async move { thread.answer(answer).await }
    };
    thread().invoke(start()).await.unwrap();
    let nobody = thread().resume::<Approve>(true).await.unwrap_err();
    assert_eq!(answer("ada", true).await.unwrap().questions().len(), 1);
    let twice = answer("ada", true).await.unwrap_err();
    assert_eq!(answer("ben", false).await.unwrap().questions().len(), 1);
    let open = question(&thread()).await;
    assert_eq!(open.approvals(), 2);
    let votes: Vec<_> = open.votes().into_iter().map(|vote| (vote.by.unwrap(), vote.value)).collect();
    assert_eq!(votes, [("ada".into(), json!(true)), ("ben".into(), json!(false))]);
    let id = open.id().to_string();
    insta::allow_duplicates! {
        insta::assert_snapshot!(format!("{nobody:?}\n{twice:?}").replace(&id, "ID"), @r"
        question ID does not take this answer: it takes answers with a name only
         help: nothing was written; answer with `.by(name)`, each person once
        question ID does not take this answer: `ada` has answered already
         help: nothing was written; answer with `.by(name)`, each person once
        ");
    }
    assert_eq!(answer("eve", true).await.unwrap().finished().unwrap().notes.join(","), "true");
    agrees(&thread()).await;
}

#[tokio::test]
async fn more_approvals_than_approvers_are_an_error() {
    let graph = asking(Terms { approvals: 3, approvers: vec!["ada", "ben"], ..Terms::default() });
    let error = Store::memory().thread(&graph).invoke(start()).await.unwrap_err();
    assert_eq!(error.to_string(), "question `approve` of node `ask` needs 3 approvals of 2 people");
}

/// One event of a question.
#[derive(Clone, Copy, Debug)]
enum Event {
    Answer(usize, bool),
    Time(u64),
    Proceed,
    Cancel,
}

const PEOPLE: [&str; 4] = ["ada", "ben", "cy", "dee"];

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (0..PEOPLE.len(), any::<bool>()).prop_map(|(by, answer)| Event::Answer(by, answer)),
        2 => (0_u64..12).prop_map(Event::Time),
        2 => Just(Event::Proceed),
        1 => Just(Event::Cancel),
    ]
}

/// The expected result of a question, by the rules alone.
#[derive(Default)]
struct Referee {
    votes: Vec<(usize, bool)>,
    now: u64,
}

impl Referee {
    fn counts(&self, answer: bool) -> usize {
        self.votes.iter().filter(|(_, other)| *other == answer).count()
    }

    /// Returns the result of an event: none if the question stays open.
    fn after(&mut self, event: Event, terms: &Terms) -> Option<String> {
        let is_over = terms.seconds.is_some_and(|seconds| seconds <= self.now);
        let of_time = || terms.default.map_or("expired".to_owned(), |answer| answer.to_string());
        match event {
            Event::Time(seconds) => self.now += seconds,
            Event::Proceed => return is_over.then(of_time),
            Event::Cancel => return (!is_over).then(|| "cancelled by ada".to_owned()),
            Event::Answer(by, answer) => {
                let many = terms.approvals > 1 || !terms.approvers.is_empty();
                let may = terms.approvers.is_empty() || terms.approvers.contains(&PEOPLE[by]);
                if is_over || (many && (!may || self.votes.iter().any(|(voter, _)| *voter == by))) {
                    return None;
                }
                self.votes.push((by, answer));
                if self.counts(answer) >= terms.approvals.max(1) as usize {
                    return Some(answer.to_string());
                }
                let left = terms.approvers.len().saturating_sub(self.votes.len());
                let most = self.counts(true).max(self.counts(false));
                if !terms.approvers.is_empty() && most + left < terms.approvals as usize {
                    return Some("disagreed".into());
                }
            }
        }
        None
    }
}

async fn check_terms(terms: Terms, events: Vec<Event>, is_exit: bool) {
    let (store, hand, mut referee) = (Store::memory(), Hand::default(), Referee::default());
    let graph = asking(terms.clone());
    let durability = if is_exit { Durability::Exit } else { Durability::Sync };
    let thread = || hand.on(store.thread(&graph)).durability(durability);
    thread().invoke(start()).await.unwrap();
    for event in events {
        let expected = referee.after(event, &terms);
        let outcome = match event {
            Event::Time(_) => {
                hand.set(referee.now);
                continue;
            }
            Event::Proceed => thread().proceed().await,
            Event::Cancel => thread().answer(Answer::cancel().by("ada")).await,
            Event::Answer(by, answer) => thread().answer(Answer::new::<Approve>(&answer).by(PEOPLE[by])).await,
        };
        let ended = outcome.ok().and_then(Outcome::finished).map(|state| state.notes.join(","));
        assert_eq!(ended, expected, "{event:?}");
        if ended.is_some() {
            return;
        }
        assert_eq!(question(&thread()).await.votes().len(), if terms.approvals > 1 { referee.votes.len() } else { 0 });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn the_result_of_a_question_follows_its_terms(
        seconds in prop::option::of(1_u64..15),
        default in prop::option::of(any::<bool>()),
        approvals in 1_u32..4,
        named in any::<bool>(),
        is_exit in any::<bool>(),
        events in prop::collection::vec(event(), 1..14),
    ) {
        let approvers = if named { PEOPLE[..3].to_vec() } else { vec![] };
        let terms = Terms { seconds, default, approvals, approvers };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(check_terms(terms, events, is_exit));
    }
}
