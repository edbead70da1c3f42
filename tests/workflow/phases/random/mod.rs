//! Runs of random plans in phases, with random agents, profiles and answers, end as the rules say; cut or not. A longer
//! search: `PHASES_SEED=11 PROPTEST_CASES=300 cargo test --test workflow phases::random`.

mod crew;
mod draw;
mod play;
mod referee;
mod script;
mod seen;
mod trees;
mod turns;

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};
use rstest::rstest;

use self::draw::scripts;
use self::play::play;
use self::referee::{Expected, Referee};
use self::script::Script;
use self::seen::Seen;

/// Far more time than a run takes.
const HANGS: Duration = Duration::from_secs(300);

/// Compares the run of a script with the rules.
fn check(script: &Script) {
    let mut runtime = match script.settings.is_threaded {
        true => tokio::runtime::Builder::new_multi_thread(),
        false => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    let seen = runtime.block_on(async { tokio::time::timeout(HANGS, play(script)).await.unwrap() });
    compare(&seen, &Referee::new(script, &seen).judge());
}

fn compare(seen: &Seen, expected: &Expected) {
    assert_eq!(seen.end, expected.end);
    assert_eq!(seen.halts.len(), expected.halts, "{:?}", seen.halts);
    let [required, possible] = &expected.questions;
    assert!(required.is_subset(&seen.questions), "{required:?}, not {:?}", seen.questions);
    let is_known = |question: &String| required.contains(question) || possible.contains(question);
    assert!(seen.questions.iter().all(is_known), "{:?}, not {required:?}", seen.questions);
    let [began, may_begin] = &expected.starts;
    assert!(began.keys().all(|run| seen.starts.contains_key(run)), "{began:?}, not {:?}", seen.starts);
    for (run, files) in &seen.starts {
        assert_eq!(Some(files), began.get(run).or(may_begin.get(run)), "{run}");
    }
    for (phase, checkouts) in &seen.checkouts {
        let (commits, files) = &expected.checkouts[phase];
        let expected = [(seen.log[*commits].clone(), files.clone())];
        assert!(checkouts.iter().eq(&expected), "phase {phase}: {checkouts:?}, not {expected:?}");
    }
    let before = |(at, _): (usize, _)| Some(seen.log[expected.checkouts.get(&(at as u32 + 1))?.0].clone());
    assert_eq!(seen.bases, seen.bases.iter().enumerate().map(before).collect::<Vec<_>>());
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// The same scripts each time, and more or others by the environment: `seed` is the variable with the seed.
pub(crate) fn config(seed: &str, part: u64) -> ProptestConfig {
    let cases = if number("PROPTEST_CASES").is_some() { ProptestConfig::default().cases } else { 4 };
    let max_shrink_iters = ProptestConfig::default().max_shrink_iters.min(100);
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(number(seed).unwrap_or(0) * 100 + part),
        failure_persistence: None,
        max_shrink_iters,
        ..ProptestConfig::default()
    }
}

#[rstest]
fn random_plans_end_as_the_rules_say(#[values(1, 2, 3, 4)] part: u64) {
    let holds = |script| {
        check(&script);
        Ok(())
    };
    TestRunner::new(config("PHASES_SEED", part)).run(&scripts(), holds).unwrap();
}
