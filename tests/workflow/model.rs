//! Runs of random scripts in real repositories end as the rules say, stopped, cut or neither. A longer search:
//! `PROPTEST_CASES=1000 cargo test --test workflow model`.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::test_runner::{RngSeed, TestRunner};
use superstep::nodes::{AfterHalt, AfterMissingReview};
use superstep::plan::CommentSeverity;
use superstep_workflows::{OnExhausted, RetrySession};

use crate::play::play;
use crate::reference::{Attempt, Files, Opinion, Reply, Script, Work};
use crate::scene::retry;

/// Compares the run of a script with the rules.
fn check(script: &Script) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let expected = script.expected_end(Files::from([("README.md".into(), "# Clock\n".into())]));
    assert_eq!(runtime.block_on(play(script)), expected);
}

fn severities() -> impl Strategy<Value = CommentSeverity> {
    select(vec![CommentSeverity::None, CommentSeverity::Minor, CommentSeverity::Major, CommentSeverity::Critical])
}

fn reviews() -> impl Strategy<Value = Option<Opinion>> {
    let given = (any::<bool>(), severities(), prop::option::of(severities()));
    let given = given.prop_map(|(approved, severity, comment)| Some(Opinion { approved, severity, comment }));
    prop_oneof![5 => given, 2 => Just(None)]
}

fn attempts() -> impl Strategy<Value = Attempt> {
    let works =
        prop_oneof![6 => Just(Work::Written), 1 => select(vec![Work::Broken, Work::Untouched, Work::TakenBack])];
    let says = prop_oneof![3 => Just(Reply::Done), 2 => select(vec![Reply::Blocked, Reply::NeedsInfo, Reply::Nothing])];
    let attempt = (works, prop::collection::vec(says, 0..4), prop::collection::vec(reviews(), 0..6));
    attempt.prop_map(|(work, says, reviews)| Attempt { work, says, reviews })
}

fn after_halt() -> impl Strategy<Value = AfterHalt> {
    let retry = (0_u32..3).prop_map(|attempts| retry(attempts, ""));
    prop_oneof![3 => retry, 1 => Just(AfterHalt::Accept), 1 => Just(AfterHalt::Skip), 1 => Just(AfterHalt::Abort)]
}

fn unreadable() -> impl Strategy<Value = AfterMissingReview> {
    prop_oneof![3 => select(vec![AfterMissingReview::Retry, AfterMissingReview::Accept]), 1 => Just(AfterMissingReview::Abort)]
}

/// The approved tasks: mostly all.
fn approved_tasks(tasks: usize) -> impl Strategy<Value = Option<Vec<usize>>> {
    prop_oneof![3 => Just(None), 1 => subsequence((0..tasks).collect::<Vec<_>>(), 1..=tasks).prop_map(Some)]
}

fn scripts() -> impl Strategy<Value = Script> {
    let tasks = prop::collection::vec(prop::collection::vec(attempts(), 0..4), 1..=4);
    let tasks = tasks.prop_flat_map(|tasks| (approved_tasks(tasks.len()), Just(tasks)));
    let exhausted =
        prop_oneof![4 => Just(OnExhausted::Halt), 1 => Just(OnExhausted::Skip), 1 => Just(OnExhausted::Fail)];
    let sessions = select(vec![RetrySession::Resume, RetrySession::Fresh, RetrySession::FreshReset]);
    let how = (1_u32..=3, exhausted, sessions, 1_usize..=2, any::<bool>());
    let answers = (prop::collection::vec(after_halt(), 0..5), prop::collection::vec(unreadable(), 0..4));
    let cut = prop_oneof![2 => Just(None), 1 => (1_u64..80).prop_map(Some)];
    (tasks, how, answers, (any::<bool>(), cut)).prop_map(
        |((approved, tasks), how, (halts, unreadable), (stops, cut))| {
            let (limit, on_exhausted, retry_session, kinds, final_review) = how;
            Script {
                tasks,
                approved,
                limit,
                on_exhausted,
                retry_session,
                kinds,
                final_review,
                halts,
                unreadable,
                stops,
                cut,
            }
        },
    )
}

/// The same scripts each time, and more of them with `PROPTEST_CASES`.
fn config() -> ProptestConfig {
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { ProptestConfig::default().cases } else { 24 };
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(7),
        failure_persistence: None,
        max_shrink_iters: 200,
        ..ProptestConfig::default()
    }
}

#[test]
fn random_scripts_end_as_the_rules_say() {
    let holds = |script| {
        check(&script);
        Ok(())
    };
    TestRunner::new(config()).run(&scripts(), holds).unwrap();
}
