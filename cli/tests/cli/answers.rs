//! Answers to the questions of a run, and their effects.

use std::process::Stdio;

use rstest::rstest;
use serde_json::{Value, json};

use crate::place::{PLAN, Place, REJECTS_FIRST};

#[rstest]
#[case::no_such_word("\"aprove\"")]
#[case::a_number("1")]
#[case::nothing("null")]
#[case::another_field(r#"{"approve":{"task":["1"]}}"#)]
#[case::two_at_once(r#"{"reject":{"feedback":"x"},"approve":{"tasks":["1"]}}"#)]
fn an_answer_of_another_shape_is_wrong_usage_and_writes_nothing(#[case] answer: &str) {
    let place = Place::new("");
    assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
    let before = place.json(&["status", "t"]);
    let called = place.call(&["resume", "t", "--answer", answer]);
    assert_eq!(called.code(), 2, "{}", called.text());
    assert_eq!(place.json(&["status", "t"]), before);
}

#[rstest]
#[case::accept(r#""accept""#, 0, json!("completed"), &["done", "done"], &["Face (task 1)", "Hands (task 2)"])]
#[case::skip(r#""skip""#, 0, json!("completed"), &["skipped", "done"], &["Hands (task 2)"])]
#[case::abort(r#""abort""#, 13, json!("cancelled"), &["halted", "pending"], &[])]
#[case::retry(r#"{"retry":{"attempts":1,"note":"mind the gap"}}"#, 0, json!("completed"), &["done", "done"], &["Face (task 1)", "Hands (task 2)"])]
#[case::edit_plan(
    r##"{"edit_plan":{"markdown":"# Clock\n\n### Task 1: Face\n\nRound.\n\n### Task 7: Bell\n\nA bell.\n"}}"##,
    0, json!("completed"), &["done", "done"], &["Face (task 1)", "Bell (task 7)"])]
fn every_answer_to_a_halt_is_followed(
    #[case] answer: &str,
    #[case] code: i32,
    #[case] outcome: Value,
    #[case] marks: &[&str],
    #[case] commits: &[&str],
) {
    let place = Place::halted();
    let called = place.call(&["resume", "t", "--answer", answer]);
    assert_eq!(called.code(), code, "{}", called.text());
    assert_eq!(place.state()["outcome"], outcome);
    assert_eq!(place.marks(), marks);
    let subjects: Vec<String> = commits.iter().map(|commit| format!("feat: {commit}")).collect();
    assert_eq!(place.subjects("superstep/t")[1..], subjects);
    assert_eq!(place.subjects("main"), ["begin"]);
}

#[rstest]
#[case::skip("skip", 0, json!("completed"), &["skipped", "done"])]
#[case::fail("fail", 1, json!("failed"), &["halted", "pending"])]
fn a_profile_decides_on_an_exhausted_task(
    #[case] word: &str,
    #[case] code: i32,
    #[case] outcome: Value,
    #[case] marks: &[&str],
) {
    let place = Place::new(REJECTS_FIRST);
    place.profile(&format!("on_exhausted = '{word}'\n"));
    assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
    let called = place.call(&["approve", "t"]);
    assert_eq!(called.code(), code, "{}", called.text());
    assert_eq!(
        (place.state()["outcome"].clone(), place.marks()),
        (outcome, marks.iter().map(|m| m.to_string()).collect())
    );
}

#[test]
fn interactive_asks_every_question_until_the_end_of_input() {
    let place = Place::new(REJECTS_FIRST);
    assert_eq!(place.run(&["--plan", "PLAN.md", "--interactive"]).code(), 10);
    let halted = place.call_with_input(&["proceed", "t", "--interactive"], "aprove\n\nrevise\napprove\n");
    assert_eq!(halted.code(), 11, "{}", halted.text());
    let text = halted.text();
    assert!(text.contains("answer with approve, reject TEXT, revise TEXT, edit, or JSON"), "{text}");
    assert_eq!(text.matches("asks `approval`").count(), 1, "a wrong answer prints no question again: {text}");
    assert!(text.contains("unknown variant `aprove`"), "{text}");
    let finished = place.call_with_input(&["resume", "t", "--interactive"], "skip\n");
    assert_eq!(finished.code(), 0, "{}", finished.text());
    assert_eq!(place.marks(), ["skipped", "done"]);
}

/// Writes a plan of two tasks, or of a single one if a smaller plan is requested.
const ARCHITECT: &str = "
  - {role: architect, contains: smaller, submit: {goal: A clock., tasks: [{id: '1', title: All, description: All of it.}]}}
  - {role: architect, submit: {goal: A clock., tasks: [
      {id: '1', title: Face, description: A face.}, {id: '2', title: Hands, description: Hands.}]}}
";

#[rstest]
#[case::not_asked_for("", "face.txt\n")]
#[case::asked_for("plan_in_repo = true\n", "docs/plans/CLOCK-7.md\nface.txt\n")]
#[case::elsewhere("plan_in_repo = true\nplan_dir = 'notes'\n", "face.txt\nnotes/CLOCK-7.md\n")]
fn a_plan_of_an_architect_is_committed_with_the_first_task_on_request(#[case] profile: &str, #[case] files: &str) {
    let place = Place::new(ARCHITECT);
    place.profile(profile);
    place.write("ISSUE.md", "---\nid: CLOCK-7\n---\n# A clock\n\nWe need one.\n");
    let start = place.run(&["--issue", "ISSUE.md"]);
    assert_eq!(start.code(), 10, "{}", start.text());
    let done = place.call(&["approve", "t"]);
    assert_eq!(done.code(), 0, "{}", done.text());
    let subjects = ["begin", "feat(CLOCK-7): Face (task 1)", "feat(CLOCK-7): Hands (task 2)"];
    assert_eq!(place.subjects("superstep/CLOCK-7"), subjects);
    let committed = |commit: &str| place.git(&["show", "--format=", "--name-only", commit]);
    assert_eq!((&*committed("superstep/CLOCK-7~1"), &*committed("superstep/CLOCK-7")), (files, "more.txt\n"));
    assert_eq!(place.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_plan_without_an_issue_is_revised_too() {
    let place = Place::new(ARCHITECT);
    assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
    let start = place.call(&["revise", "t", "--feedback", "smaller"]);
    assert_eq!(start.code(), 10, "{}", start.text());
    assert_eq!(place.call(&["approve", "t"]).code(), 0);
    assert_eq!(place.marks(), ["done"]);
}

#[test]
fn an_issue_is_refused_without_a_tracker() {
    let place = Place::new(ARCHITECT);
    place.profile("tracker = 'none'\n");
    place.write("ISSUE.md", "# A clock\n\nWe need one.\n");
    let called = place.run(&["--plan", "PLAN.md", "--issue", "ISSUE.md"]);
    assert_eq!(called.code(), 2, "{}", called.text());
    assert!(called.text().contains("tracker = \"none\""), "{}", called.text());
    assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
}

#[test]
fn an_agent_without_a_model_is_wrong_usage() {
    let place = Place::new("");
    let called = place.call(&["run", "tasks", "--plan", "PLAN.md", "--dir", "repo", "--driver", "api"]);
    assert_eq!(called.code(), 2, "{}", called.text());
    assert!(called.text().contains("no model is set for the developer"), "{}", called.text());
}

/// The plan with another second task.
fn other_plan() -> String {
    PLAN.replace("Hands.\n", "Hands, and a bell.\n")
}

#[rstest]
#[case::keep(&["reject", "t"], false)]
#[case::adopt(&["approve", "t"], true)]
#[case::adopt_by_json(&["resume", "t", "--answer", "\"adopt\""], true)]
fn a_plan_changed_on_disk_interrupts_before_the_answer_applies(#[case] which: &[&str], #[case] adopted: bool) {
    let place = Place::halted();
    place.write("PLAN.md", &other_plan());
    let start = place.call(&["resume", "t", "--answer", "\"accept\""]);
    assert_eq!(start.code(), 10, "{}", start.text());
    assert!(start.text().contains("asks `plan_changed`"), "{}", start.text());
    let shown = place.call(&["resume", "t", "--answer", "\"diff\""]);
    assert_eq!(shown.code(), 10, "{}", shown.text());
    assert!(shown.text().contains("    -Hands.\n    +Hands, and a bell.\n"), "{}", shown.text());
    let done = place.call(which);
    assert_eq!(done.code(), 0, "{}", done.text());
    assert_eq!(place.marks(), ["done", "done"]);
    let plan = place.state()["plan_markdown"].as_str().unwrap().to_owned();
    assert_eq!(plan, if adopted { other_plan() } else { PLAN.to_owned() });
}

#[test]
fn a_lost_session_is_replaced_by_one_with_all_findings() {
    let place = Place::new(
        "
  - {role: reviewer, task: '1', attempt: 1, submit: {approved: false, severity: major, comments: [{issue: too flat}]}}
  - {role: developer, task: '1', session: resumed, steps: [fail: {class: session_lost}]}
  - {role: developer, task: '1', attempt: 2, session: new, contains: [too flat, A face.], steps: [write: {path: face.txt, content: round}], submit: {status: done, summary: did}}
",
    );
    assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
    let done = place.call(&["approve", "t"]);
    assert_eq!(done.code(), 0, "{}", done.text());
    assert!(done.text().contains("note: task 1: the session was lost; a new one was started"), "{}", done.text());
    assert_eq!(place.git(&["show", "superstep/t:face.txt"]), "round");
}

const TAMPERS: &str = "# Clock\n\n### Task 1: Face\n\nA face.\n\n**Verify:** `echo exit > .git/hooks/pre-commit`\n\n\
                       ### Task 2: Hands\n\nHands.\n";

#[rstest]
fn changed_hooks_are_decided_by_a_person_whatever_the_profile_says(#[values("skip", "fail")] on_exhausted: &str) {
    let place = Place::new("");
    place.write("PLAN.md", TAMPERS);
    place.profile(&format!("on_exhausted = '{on_exhausted}'\n"));
    assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
    let halted = place.call(&["approve", "t"]);
    assert_eq!(halted.code(), 11, "{}", halted.text());
    assert!(halted.text().contains("a check changed git's hooks or configuration"), "{}", halted.text());
    std::fs::remove_file(place.path().join("repo/.git/hooks/pre-commit")).unwrap();
    assert_eq!(place.call(&["resume", "t", "--answer", "\"accept\""]).code(), 0);
    assert_eq!(place.subjects("superstep/t").len(), 3);
}

#[test]
fn a_hook_changed_between_runs_is_the_persons() {
    let place = Place::halted();
    let hook = place.path().join("repo/.git/hooks/pre-commit");
    std::fs::write(&hook, "#!/bin/sh\necho ran >> ../hooked\n").unwrap();
    crate::program::make_executable(&hook);
    let done = place.call(&["revise", "t", "--feedback", "again"]);
    assert_eq!(done.code(), 0, "{}", done.text());
    assert_eq!(std::fs::read_to_string(place.path().join("hooked")).unwrap(), "ran\nran\n");
}

#[test]
fn a_running_thread_is_shown_by_another_process() {
    let place = Place::new("");
    let wait = "while [ ! -e ../go ]; do sleep 0.02; done";
    place.write("PLAN.md", &format!("# Clock\n\n### Task 1: Face\n\nA face.\n\n**Verify:** `{wait}`\n"));
    assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
    let mut command = place.command(&["approve", "t"]);
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let began = std::time::Instant::now();
    let mut looks =
        std::iter::repeat_with(|| place.json(&["status", "t"])).take_while(|_| began.elapsed().as_secs() < 60);
    let stand = looks.find(|stand| stand["next"] == json!(["verify"])).unwrap();
    assert_eq!((&stand["status"], &stand["state"]["tasks"][0]["mark"]), (&json!("running"), &json!("running")));
    let text = place.call(&["status", "t"]).text();
    assert!(
        text.starts_with("t: running\n") && text.contains("▶ Task 1: Face  running  1 attempt, 0 reviews"),
        "{text}"
    );
    let refused = place.call(&["proceed", "t"]);
    assert_eq!(refused.code(), 1, "{}", refused.text());
    assert!(refused.text().contains(&running.id().to_string()), "it says who holds it: {}", refused.text());
    place.write("go", "");
    let ended = running.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(place.marks(), ["done"]);
}
