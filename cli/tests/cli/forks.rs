//! A fork works in a work tree and on a branch of its own; branches that people move are named everywhere.

use std::path::Path;

use rstest::rstest;

use crate::place::Place;

/// A finished run of two tasks, and the numbers of its checkpoints from before the approval on.
fn finished() -> (Place, Vec<u64>) {
    let place = Place::new("");
    assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
    let approved = place.call(&["approve", "t"]);
    assert_eq!(approved.code(), 0, "{}", approved.text());
    place.collect_garbage();
    let history = place.json(&["history", "t"]);
    let history = history["checkpoints"].as_array().or(history.as_array()).unwrap().clone();
    let mut checkpoints: Vec<u64> = history.iter().map(|line| line["checkpoint"].as_u64().unwrap()).collect();
    checkpoints.sort_unstable();
    (place, checkpoints)
}

#[rstest]
#[case::another_thread(&["--to", "second"], "second")]
#[case::the_same_thread(&[], "t")]
fn a_fork_at_any_checkpoint_leaves_the_first_runs_branch_as_it_is(#[case] more: &[&str], #[case] thread: &str) {
    let (place, checkpoints) = finished();
    let heads = |place: &Place| {
        place.git(&["for-each-ref", "--format=%(objectname)", "refs/heads/main", "refs/heads/superstep/t"])
    };
    let (before, head) = (heads(&place), place.git(&["symbolic-ref", "HEAD"]));
    for (nth, at) in checkpoints.iter().enumerate().skip(1).step_by(4) {
        if thread == "t" && nth > 4 {
            break; // each fork makes the line of the next ones longer
        }
        let at = at.to_string();
        let forked = place.call(&[&["fork", "t", "--at", &at], more].concat());
        assert_eq!(forked.code(), 0, "{}", forked.text());
        assert!(forked.text().contains("its files and branch are separate"), "{}", forked.text());
        let folder =
            forked.text().lines().find_map(|line| line.trim().strip_prefix("files: ").map(str::to_owned)).unwrap();
        let branch = forked.text().lines().find_map(|line| line.trim().strip_prefix("branch: ").map(str::to_owned));
        let mut ended = place.call(&["proceed", thread]);
        if ended.code() == 10 {
            ended = place.call(&["approve", thread]);
        }
        assert_eq!(ended.code(), 0, "at {at}: {}", ended.text());
        assert_eq!((heads(&place), place.git(&["symbolic-ref", "HEAD"])), (before.clone(), head.clone()), "at {at}");
        assert_eq!(place.git(&["status", "--porcelain"]), "");
        let own = branch.unwrap_or_default();
        let subjects = |branch: &str| place.git(&["log", "--format=%s", branch]);
        if Path::new(&folder).join("more.txt").exists() {
            assert_eq!(subjects(&own), subjects("superstep/t"), "at {at}");
        }
        if thread != "t" {
            assert_eq!(place.call(&["delete", thread]).code(), 0);
        }
    }
}

#[test]
fn a_fork_outlives_the_first_thread_and_a_collection() {
    let place = Place::halted();
    let history = place.json(&["history", "t"]);
    let history = history["checkpoints"].as_array().or(history.as_array()).unwrap().clone();
    let at = history.iter().map(|line| line["checkpoint"].as_u64().unwrap()).max().unwrap().to_string();
    let forked = place.call(&["fork", "t", "--at", &at, "--to", "second"]);
    assert_eq!(forked.code(), 0, "{}", forked.text());
    assert_eq!(place.call(&["delete", "t"]).code(), 0);
    place.collect_garbage();
    let halted = place.call(&["proceed", "second"]);
    assert_eq!(halted.code(), 11, "{}", halted.text());
    let ended = place.call(&["resume", "second", "--answer", "\"accept\""]);
    assert_ne!(ended.code(), 1, "{}", ended.text());
}

#[test]
fn a_branch_that_moves_while_an_agent_works_is_named_in_status_log_and_the_next_question() {
    let moves = "git -C \"$PWD\" commit-tree -m mine -p main 'main^{tree}' | xargs git update-ref refs/heads/main";
    let plan = format!(
        "# Clock\n\n**Goal:** A clock.\n\n### Task 1: Face\n\nA face.\n\n**Verify:** `{moves}`\n\n### Task 2: Hands\n\nHands.\n"
    );
    let place = Place::new(
        "  - {role: reviewer, task: '2', times: 2, submit: {approved: false, severity: major, comments: [{issue: no}]}}\n",
    );
    place.write("PLAN.md", &plan);
    let old = place.git(&["rev-parse", "main"]).trim().to_owned();
    assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
    let halted = place.call(&["approve", "t"]);
    assert_eq!(halted.code(), 11, "{}", halted.text());
    let new = place.git(&["rev-parse", "main"]).trim().to_owned();
    assert_ne!(old, new);
    let named =
        format!("the branch `main` was moved from {old} to {new}, but not by this run, which does not move it back");
    let texts = [halted.text(), place.call(&["status", "t"]).text(), place.call(&["log", "t"]).text()];
    for text in texts {
        assert!(text.contains(&named), "{text}");
    }
    assert_eq!(place.call(&["approve", "t"]).code(), 0);
    assert_eq!(place.git(&["rev-parse", "main"]).trim(), new);
}
