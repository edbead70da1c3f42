//! The exit codes of a run of phases, and of the commands that continue it.

use rstest::rstest;

use crate::place::Place;

const BLOCKED: &str =
    "  - {role: developer, task: '2', submit: {status: blocked, summary: half, question: \"Roman?\"}}\n";
const BROKEN: &str = "  - {role: developer, task: '2', steps: [fail: {class: fatal, message: it broke}]}\n";
const BUSY: &str = "  - {role: developer, task: '2', steps: [fail: {class: rate_limited, retry_after: 2h}]}\n";
const REJECTED: &str = "  - {role: reviewer, task: phase-1, times: 2, submit: {approved: false, severity: major, comments: [{issue: no}]}}\n";
const BUDGET: &str = "[budget]\ntokens = 150\n";

const ALL: [&str; 4] = ["1", "2", "3", "4"];

#[rstest]
#[case::completed("", "", 0, "", 0, &ALL)]
#[case::question(BLOCKED, "", 10, r#"{"reply": {"text": "Roman."}}"#, 0, &ALL)]
#[case::budget("", BUDGET, 10, r#"{"raise": {"tokens": 500000}}"#, 0, &ALL)]
#[case::budget_not_raised("", BUDGET, 10, r#""abort""#, 13, &[])]
#[case::subtask_retried(BROKEN, "", 11, r#"{"retry": {"attempts": 1}}"#, 0, &ALL)]
#[case::subtask_skipped(BROKEN, "", 11, r#""skip""#, 0, &["1", "3"])]
#[case::subtask_aborted(BROKEN, "", 11, r#""abort""#, 13, &[])]
#[case::subtask_given_up(BROKEN, "on_exhausted = 'fail'\n", 1, "", 1, &[])]
#[case::phase_accepted(REJECTED, "", 11, r#""accept""#, 0, &ALL)]
#[case::phase_aborted(REJECTED, "", 11, r#""abort""#, 13, &[])]
fn a_run_ends_with_the_code_of_its_outcome(
    #[case] turns: &str,
    #[case] profile: &str,
    #[case] stopped: i32,
    #[case] answer: &str,
    #[case] ended: i32,
    #[case] tasks: &[&str],
) {
    let place = Place::phased(turns);
    place.profile(profile);
    assert_eq!(place.approved(), stopped);
    if !answer.is_empty() {
        assert!(place.subjects("superstep/t").len() == 1, "nothing is on the branch before the answer");
        let called = place.call(&["resume", "t", "--answer", answer]);
        assert_eq!(called.code(), ended, "{}", called.text());
    }
    let done: Vec<String> = tasks.iter().map(|id| format!("feat: {} (task {id})", title(id))).collect();
    assert_eq!(place.subjects("superstep/t")[1..], done);
    assert_eq!(place.git(&["symbolic-ref", "--short", "HEAD"]), "main\n", "the checkout is where it was");
    place.is_tidy();
}

#[test]
fn a_plan_that_is_rejected_ends_with_12_and_changes_nothing() {
    let place = Place::phased("");
    assert_eq!(place.phases(&[]).code(), 10);
    assert_eq!(place.call(&["reject", "t"]).code(), 12);
    assert_eq!(place.git(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main\n");
}

#[test]
fn a_busy_model_ends_the_run_with_14_once_its_siblings_have_ended() {
    let place = Place::phased(BUSY);
    assert_eq!(place.approved(), 14);
    let status = place.json(&["status", "t"]);
    let statuses = |at: usize| status["state"]["phases"][0]["subtasks"][at]["status"].as_str().map(str::to_owned);
    assert_eq!([statuses(0), statuses(1)].map(Option::unwrap), ["completed", "running"]);
    let again = place.call(&["proceed", "t"]);
    assert_eq!(again.code(), 14, "{}", again.text());
}

#[test]
fn a_rejecting_hook_ends_with_1_and_retry_commits_without_an_agent() {
    let place = Place::phased("");
    let hook = place.path().join("repo/.git/hooks/pre-commit");
    std::fs::write(&hook, "#!/bin/sh\necho no >&2\nexit 1\n").unwrap();
    crate::program::make_executable(&hook);
    assert_eq!(place.approved(), 1);
    let turns = |place: &Place| place.call(&["log", "t"]).text().matches("  developer (scripted:").count();
    let before = turns(&place);
    std::fs::remove_file(hook).unwrap();
    let done = place.call(&["retry", "t"]);
    assert_eq!(done.code(), 0, "{}", done.text());
    assert_eq!((before, turns(&place), place.subjects("superstep/t").len()), (2, 4, 5));
    place.is_tidy();
}

#[test]
fn a_file_in_the_way_of_the_branch_ends_with_1_and_retry_continues() {
    let place = Place::phased("");
    // A person writes the file once, while the run works.
    let (flag, file) = (place.path().join("flag"), place.path().join("repo/hands.txt"));
    let setup = format!("test -e {0} || {{ : > {0}; echo mine > {1}; }}", flag.display(), file.display());
    place.profile(&format!("[worktree]\nsetup = ['{setup}']\n"));
    assert_eq!(place.approved(), 1);
    let text = place.call(&["status", "t"]).text();
    assert!(text.contains("hands.txt"), "{text}");
    assert_eq!((place.subjects("superstep/t").len(), std::fs::read_to_string(&file).unwrap().as_str()), (1, "mine\n"));
    std::fs::remove_file(file).unwrap();
    let done = place.call(&["retry", "t"]);
    assert_eq!(done.code(), 0, "{}", done.text());
    place.is_tidy();
}

/// The titles of the tasks of the plan.
fn title(id: &str) -> &'static str {
    match id {
        "1" => "Hands",
        "2" => "Face",
        "3" => "Dial",
        _ => "Case",
    }
}
