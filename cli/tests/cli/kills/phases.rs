//! `superstep run phases` killed with SIGKILL: at every node, at git commands, inside agents, setups, checks and hooks while three
//! siblings run. It continues to the same commits, and nothing is left behind.

mod stage;

use std::collections::BTreeSet;

use rstest::rstest;

use self::stage::{Stage, undisturbed};

/// Kills the run at all these places in turn, and resumes it to the end. Returns the requests to agents.
fn killed_at(stage: &Stage, places: &[&[&str]], orphans_live: bool) -> Vec<String> {
    stage.begin();
    let mut words = ["approve", "t"];
    for together in places {
        stage.killed_at(&words, together);
        words[0] = "proceed";
        if orphans_live {
            stage.release();
        }
    }
    stage.ends(&words, 0);
    sorted(stage.requests())
}

/// Returns the requests of an undisturbed run, with the repeated ones; siblings in any order.
fn with_repeats(requests: &[String], again: &[&str]) -> Vec<String> {
    sorted(requests.iter().cloned().chain(again.iter().map(|&again| again.to_owned())).collect())
}

fn sorted(mut requests: Vec<String>) -> Vec<String> {
    requests.sort();
    requests
}

fn once(requests: Vec<String>) -> BTreeSet<String> {
    requests.into_iter().collect()
}

#[test]
fn a_run_of_phases_killed_while_siblings_work_repeats_the_unfinished_ones() {
    let (end, requests) = undisturbed("");
    let stage = Stage::new("");
    let places: [&[&str]; 6] = [
        &["phase-1-attempt-1-task-1"],
        &["phase-2-attempt-1-task-2a", "phase-2-attempt-1-task-2b", "phase-2-attempt-1-task-2c"],
        &["phase-2-attempt-1-integration"],
        &["phase-3-attempt-1-task-3a", "phase-3-attempt-1-task-3b", "phase-3-attempt-1-task-3c"],
        &["phase-3-attempt-1-task-3b-2"],
        &["all"],
    ];
    assert_eq!(killed_at(&stage, &places, false), with_repeats(&requests, &places.concat()));
    assert_eq!(stage.end(), end);
}

#[test]
fn siblings_that_ended_before_a_kill_are_not_repeated() {
    let (end, requests) = undisturbed("");
    let stage = Stage::new("");
    stage.begin();
    let paused = ["phase-3-attempt-1-task-3c"];
    stage.killed_once(&["approve", "t"], &paused, "subtask_completed", 9);
    stage.ends(&["proceed", "t"], 0);
    assert_eq!(sorted(stage.requests()), with_repeats(&requests, &paused));
    assert_eq!(stage.end(), end);
}

#[rstest]
#[case::setup(&["setup-phase-1-attempt-1-task-1", "setup-phase-2-attempt-1-task-2a setup-phase-2-attempt-1-task-2c"])]
#[case::check(&["check-phase-2-attempt-1-task-2b", "check-phase-2-attempt-1-integration", "check-phase-2-attempt-2-integration"])]
fn a_run_of_phases_killed_inside_a_setup_or_check_ends_the_same(#[case] places: &[&str]) {
    let (end, requests) = undisturbed("");
    let stage = Stage::new("");
    let places: Vec<Vec<&str>> = places.iter().map(|places| places.split(' ').collect()).collect();
    let places: Vec<&[&str]> = places.iter().map(|places| &places[..]).collect();
    assert_eq!(once(killed_at(&stage, &places, false)), once(requests));
    assert_eq!(stage.end(), end);
}

#[rstest]
fn a_run_of_phases_killed_inside_integration_commits_once(
    #[values("pre-commit", "post-commit")] hook: &str,
    #[values(true, false)] orphans_live: bool,
) {
    let (end, requests) = undisturbed(hook);
    let stage = Stage::new(hook);
    // A living orphan finishes the current commit: without it, the place is reached once.
    let commits: &[u32] = if orphans_live { &[2, 4] } else { &[4] };
    let places: Vec<String> = commits.iter().map(|commits| format!("{hook}-{commits}")).collect();
    let places: Vec<[&str; 1]> = places.iter().map(|place| [place.as_str()]).collect();
    let places: Vec<&[&str]> = places.iter().map(|place| &place[..]).collect();
    assert_eq!(killed_at(&stage, &places, orphans_live), sorted(requests));
    if !orphans_live {
        stage.release();
    }
    assert_eq!(stage.end(), end);
}

#[rstest]
#[case::each(&[1])]
#[case::now_and_then(&[2, 3, 1])]
fn a_run_of_phases_killed_at_every_node_ends_the_same(#[case] pattern: &[usize]) {
    let (end, requests) = undisturbed("");
    let stage = Stage::new("");
    stage.begin();
    let mut words = ["approve", "t"];
    let mut kills = 0;
    for tasks in pattern.iter().cycle().copied() {
        match stage.killed_after(&words, tasks) {
            Some(0) => break,
            Some(code) => panic!("it ended with {code} after {kills} kills"),
            None => kills += 1,
        }
        words[0] = "proceed";
        assert!(kills < 150, "it makes no progress: {:#?}", stage.requests());
    }
    assert!(kills > 5, "only {kills} kills");
    assert_eq!(stage.end(), end);
    let again = stage.requests();
    assert!(again.len() <= requests.len() + 3 * kills, "a kill repeats the turns that were under way: {again:#?}");
    assert_eq!(once(again), once(requests));
    assert_eq!(stage.events("phase_completed"), [0, 1, 2]);
    assert_eq!(stage.events("subtask_completed").len(), 11);
}

/// The number of runs that are killed at random: `SUPERSTEP_KILLS`, or 1.
fn runs() -> u64 {
    std::env::var("SUPERSTEP_KILLS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(1)
}

#[test]
fn a_run_of_phases_killed_at_git_commands_ends_the_same() {
    let (end, requests) = undisturbed("");
    for seed in 0..runs() {
        let stage = Stage::new("");
        stage.begin();
        let (mut words, mut kills, mut random) = (["approve", "t"], 0_u32, seed);
        loop {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let call = 1 + (random >> 33) % (20 + u64::from(kills) / 2);
            let how = ["before", "beside", "after"][(random >> 53) as usize % 3];
            match stage.killed_at_git(&words, call, how) {
                None => kills += 1,
                Some(0) => break,
                Some(code) => panic!("seed {seed}: it ended with {code} after {kills} kills"),
            }
            words[0] = "proceed";
            assert!(kills < 200, "seed {seed}: it makes no progress");
        }
        assert!(kills > 5, "seed {seed}: only {kills} kills");
        assert_eq!(stage.end(), end, "seed {seed}, {kills} kills");
        assert_eq!(once(stage.requests()), once(requests.clone()), "seed {seed}");
    }
}

#[test]
fn a_kill_while_siblings_are_cancelled_leaves_them_cancelled() {
    let stage = Stage::new("");
    stage.begin();
    stage.play("fail-phase-2-attempt-1-task-2b");
    let stubborn = ["phase-2-attempt-1-task-2a", "phase-2-attempt-1-task-2c"];
    stubborn.iter().for_each(|place| stage.play(&format!("stubborn-{place}")));
    stage.killed_at(&["approve", "t"], &["term-phase-2-attempt-1-task-2a", "term-phase-2-attempt-1-task-2c"]);
    stage.ends(&["proceed", "t"], 11);
    let subtasks = stage.phase(1)["subtasks"].take();
    let error = |nth: usize| subtasks[nth]["error"].as_str().unwrap_or_default().to_owned();
    assert_eq!([error(0), error(2)], ["cancelled: subtask 2b failed", "cancelled: subtask 2b failed"], "{subtasks}");
    assert!(error(1).contains("not accepted after 2 attempts"), "{subtasks}");
    let requests = ["2a", "2b", "2b", "2c"].map(|id| format!("phase-2-attempt-1-task-{id}"));
    assert_eq!(sorted(stage.requests())[2..], requests, "nobody was asked again");
    let left = stage.left_over(); // the reference that holds what is integrated
    assert!(!left.contains('\n') && left.starts_with("refs/superstep/t/integrated/"), "{left}");
    stage.ends(&["resume", "t", "--answer", r#"{"retry":{"attempts":1}}"#], 0);
    stage.end();
}

#[test]
fn a_kill_while_a_question_waits_for_siblings_keeps_the_question_and_the_session() {
    let stage = Stage::new("");
    stage.begin();
    stage.play("blocked-phase-2-attempt-1-task-2a");
    let paused = ["phase-2-attempt-1-task-2b", "phase-2-attempt-1-task-2c"];
    stage.killed_once(&["approve", "t"], &paused, "blocked", 1);
    stage.ends(&["proceed", "t"], 10);
    let requests = stage.requests();
    let times = |id: &str| requests.iter().filter(|requests| requests.ends_with(id)).count();
    assert_eq!((times("task-2a"), times("task-2b"), times("task-2c")), (1, 2, 2), "{requests:?}");
    stage.ends(&["resume", "t", "--answer", r#"{"reply":{"text":"Arabic"}}"#], 0);
    assert_eq!(stage.resumed(), ["s-phase-2-attempt-1-task-2a"]);
    stage.end();
}

#[rstest]
fn a_signal_ends_the_agents_and_the_run_continues(#[values("TERM", "INT")] signal: &str) {
    let (end, requests) = undisturbed("");
    let stage = Stage::new("");
    stage.begin();
    let paused = ["phase-2-attempt-1-task-2a", "phase-2-attempt-1-task-2b", "phase-2-attempt-1-task-2c"];
    let mut child = stage.paused_at(&["approve", "t"], &paused);
    let sent = std::process::Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status();
    assert!(sent.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(13));
    assert_eq!(stage.processes(), Vec::<String>::new());
    stage.ends(&["proceed", "t"], 0);
    assert_eq!(sorted(stage.requests()), with_repeats(&requests, &paused));
    assert_eq!(stage.end(), end);
}

#[test]
fn git_collects_nothing_that_a_killed_run_of_phases_needs() {
    let (end, _) = undisturbed("");
    let stage = Stage::new("");
    stage.begin();
    let mut words = ["approve", "t"];
    let places: [&[&str]; 3] = [
        &["phase-2-attempt-1-task-2a", "phase-2-attempt-1-task-2b", "phase-2-attempt-1-task-2c"],
        &["phase-2-attempt-1-integration"],
        &["phase-3-attempt-1-task-3b-2"],
    ];
    for place in places {
        stage.collect_garbage();
        stage.killed_at(&words, place);
        words[0] = "proceed";
    }
    stage.collect_garbage();
    stage.ends(&words, 0);
    assert_eq!(stage.end(), end);
}

#[test]
fn a_worktree_that_is_gone_while_its_subtask_waits_is_made_again() {
    let (end, _) = undisturbed("");
    let stage = Stage::new("");
    stage.begin();
    stage.play("blocked-phase-2-attempt-1-task-2a");
    stage.ends(&["approve", "t"], 10);
    stage.collect_garbage();
    stage.remove_worktrees();
    stage.collect_garbage();
    stage.ends(&["resume", "t", "--answer", r#"{"reply":{"text":"Arabic"}}"#], 0);
    assert_eq!(stage.resumed(), ["s-phase-2-attempt-1-task-2a"]);
    assert_eq!(stage.end()[0], end[0]);
}
