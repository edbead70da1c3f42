//! The output for a run of phases: the plan with its phases, the tree, a halt, the end, the events.

use crate::place::Place;

const BROKEN: &str = "
  - {role: developer, task: '2', steps: [write: {path: face.txt, content: half}, usage: {input: 10, output: 5, cost: 0.001}, fail: {class: fatal, message: it broke}]}
";
/// Both write the same file, and the review rejects the first attempt.
const COLLIDES: &str = "
  - {role: developer, task: '1', attempt: 1, steps: [write: {path: hands.txt, content: x}, write: {path: same.txt, content: a}], submit: {status: done, summary: did}}
  - {role: developer, task: '2', attempt: 1, steps: [write: {path: same.txt, content: b}], submit: {status: done, summary: did}}
  - {role: reviewer, task: phase-1, submit: {approved: false, severity: major, comments: [{issue: The hands are short., severity: major}]}}
";

/// Returns the text from a line with this start, without the parts that vary: times, ids of commits, folders.
fn steady(place: &Place, text: &str, from: &str) -> String {
    let text = text.replace(&place.path().display().to_string(), "PLACE");
    let text = text.replace(env!("CARGO_BIN_EXE_superstep"), "superstep");
    let lines = text.lines().skip_while(|line| !line.trim_start().starts_with(from));
    let lines = lines.filter(|line| !line.starts_with("  graph phases, superstep"));
    lines.map(|line| timeless(line.split("  ").map(part).collect::<Vec<_>>().join("  "))).collect::<Vec<_>>().join("\n")
}

/// Removes the time of a working agent and the id of a question from a line.
fn timeless(line: String) -> String {
    if let Some((asks, _)) = line.split_once("` (").filter(|(asks, _)| asks.contains(" asks `")) {
        return format!("{asks}`");
    }
    if let Some((look, range)) = line.split_once(" log --patch ") {
        return format!("{look} log --patch COMMIT{}", range.get(9..).unwrap_or_default());
    }
    let Some((who, rest)) = line.split_once("at work for ") else { return line };
    let rest = rest.split_once(',').map(|(_, rest)| format!(",{rest}"));
    format!("{who}at work for TIME{}", rest.unwrap_or_default())
}

/// Replaces the varying parts of a line of the tree.
fn part(part: &str) -> &str {
    let is_time = part.ends_with('s') && part.trim_end_matches('s').chars().all(|c| c.is_ascii_digit() || c == 'm');
    let is_commit = part.len() == 9 && part.chars().all(|c| c.is_ascii_hexdigit());
    match (part.len() > 1 && is_time, is_commit) {
        _ if part.starts_with("since ") => "since CLOCK",
        (true, _) => "TIME",
        (_, true) => "COMMIT",
        _ => part,
    }
}

pub(crate) fn status(place: &Place) -> String {
    steady(place, &place.call(&["status", "t"]).text(), "t: ")
}

#[test]
fn an_approval_shows_the_phases_and_the_moved_task() {
    let place = Place::phased("");
    let text = place.phases(&[]).text();
    let (head, _) = text.split_once("  the plan (").unwrap();
    insta::assert_snapshot!(steady(&place, head, "warnings"), @r"
    warnings:
      - line 14: task `3` may touch the same files as task `2` (`face.txt` and `face.txt`); it runs after it, in a phase of its own
    ");
    insta::assert_snapshot!(steady(&place, &text, "its phases"), @r#"
      its phases; tasks of one phase do not depend on each other:
        1: tasks 1, 2
        2: task 3
        3: task 4
      its tasks, and the commands that are run in a shell after each, if you approve:
        task 1: Hands
          $ test -e hands.txt
        task 2: Face
        task 3: Dial
        task 4: Case
      takes: "approve" or {"approve": {"tasks": [id, ..]}} or {"reject": {"feedback": text}} or {"revise": {"feedback": text}} or {"edit_plan": {"markdown": text}}
    answer with
      superstep approve t
      superstep reject t
      superstep revise t --feedback 'what to change'
      superstep edit t
    "#);
}

#[test]
fn a_halt_shows_the_tree_and_the_possible_answers() {
    let place = Place::phased(BROKEN);
    place.profile("max_parallel = 1\n");
    assert_eq!(place.approved(), 11);
    insta::assert_snapshot!(status(&place), @r#"
    t: waits for an answer
      next: halt
      goal: A clock.
      plan: PLACE/PLAN.md
      branch: superstep/t
      outcome: halted: a person decides
      Phase 1: ✗ Failed (1/2 subtasks complete)
        ├── ✓ 1 Hands  TIME  $0.0020
        └── ✗ 2 Face (it broke)  TIME  $0.0010
      Phase 2: ○ Pending
        └── ○ 3 Dial
      Phase 3: ○ Pending
        └── ○ 4 Case
      developer: 115 tokens, $0.0030
      cost: $0.0030
      tokens: 115

    halt asks `halted`
      phase 1, subtask 2: Face
      attempts so far: 1; it has cost $0.0030
      why it stopped: it broke
      its work is kept in git; show it with
        git -C PLACE/repo show refs/superstep/t/phase-1/attempt-1/task-1
        git -C PLACE/repo show refs/superstep/t/phase-1/attempt-1/task-2
      takes: {"retry": {"attempts": number, "note": text}} or "accept" or "skip" or {"edit_plan": {"markdown": text}} or "abort"
    answer with
      superstep approve t
      superstep reject t
      superstep revise t --feedback 'what to change'
      superstep edit t
      superstep resume t --answer '"skip"'
    here approve is `accept`, reject is `abort`, revise is `retry`
    "#);
    let halted = place.call(&["resume", "t", "--answer", "\"abort\""]);
    assert_eq!(halted.code(), 13, "{}", halted.text());
    insta::assert_snapshot!(status(&place), @r"
    t: finished
      goal: A clock.
      plan: PLACE/PLAN.md
      branch: superstep/t
      outcome: cancelled
      Phase 1: ✗ Failed (1/2 subtasks complete)
        ├── ✓ 1 Hands  TIME  $0.0020
        └── ✗ 2 Face (it broke)  TIME  $0.0010
      Phase 2: ○ Pending
        └── ○ 3 Dial
      Phase 3: ○ Pending
        └── ○ 4 Case
      developer: 115 tokens, $0.0030
      cost: $0.0030
      tokens: 115

    the run is complete; read its history with
      superstep log t
    ");
}

#[test]
fn the_end_shows_the_tree_and_the_report() {
    let place = Place::phased(COLLIDES);
    assert_eq!(place.approved(), 0);
    insta::assert_snapshot!(status(&place), @r"
    t: finished
      goal: A clock.
      plan: PLACE/PLAN.md
      branch: superstep/t
      outcome: completed
      Phase 1: ✓ Completed (2/2 subtasks complete), attempt 2
        ├── ✓ 1 Hands  TIME  $0.0020  COMMIT
        └── ✓ 2 Face  TIME  $0.0060  COMMIT
      Phase 2: ✓ Completed (1/1 subtasks complete)
        └── ✓ 3 Dial  TIME  COMMIT
      Phase 3: ✓ Completed (1/1 subtasks complete)
        └── ✓ 4 Case  TIME  COMMIT
      developer: 500 tokens, $0.0080
      cost: $0.0080
      tokens: 500
      final review: approved. fine
      note: phase 1, subtask 1, attempt 1: changed files that it does not declare: same.txt
      note: subtask 2 runs once more on the integrated work: its changes collide with those of subtasks before it: same.txt; it does not declare same.txt
      made: 4 commits on the branch superstep/t
      look at it: git -C PLACE/repo log --patch COMMIT..superstep/t
      merge it: git -C PLACE/repo switch main && git -C PLACE/repo merge superstep/t

    the run is complete; read its history with
      superstep log t
    ");
}

#[test]
fn events_have_the_reason_why_a_subtask_or_a_phase_runs_again() {
    let place = Place::phased(COLLIDES);
    place.profile("max_parallel = 1\n");
    assert_eq!(place.approved(), 0);
    let events = place.call(&["events", "t"]).text();
    let of_phases = |line: &&str| line.starts_with("phase ") || line.starts_with("subtask ");
    let lines = events.lines().filter_map(|line| line.trim_start().split_once("  ")).map(|(_, line)| line);
    let lines: Vec<&str> = lines.filter(of_phases).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    phase 1 started, attempt 1
    subtask 1 started, attempt 1: Hands
    subtask 1 completed, attempt 1
    subtask 2 started, attempt 1: Face
    subtask 2 completed, attempt 1
    subtask 2 failed, attempt 1: its changes collide with those of subtasks before it: same.txt; it does not declare same.txt
    subtask 2 started, attempt 1: once more on the integrated work: its changes collide with those of subtasks before it: same.txt; it does not declare same.txt
    subtask 2 completed, attempt 1
    phase 1 started again, attempt 2: the review rejected it: The hands are short.
    subtask 1 started, attempt 2: Hands
    subtask 1 completed, attempt 2
    subtask 2 started, attempt 2: Face
    subtask 2 completed, attempt 2
    phase 1 completed, attempt 2
    phase 2 started, attempt 1
    subtask 3 started, attempt 1: Dial
    subtask 3 completed, attempt 1
    phase 2 completed, attempt 1
    phase 3 started, attempt 1
    subtask 4 started, attempt 1: Case
    subtask 4 completed, attempt 1
    phase 3 completed, attempt 1
    ");
    let log = place.call(&["log", "t"]).text();
    let headings: Vec<&str> = log.lines().filter(|line| line.starts_with("== ")).collect();
    insta::assert_snapshot!(headings.join("\n"), @r"
    == task 1, attempt 1
    == task 2, attempt 1
    == task 2, attempt 2
    == phase 1, attempt 1
    == task 1, attempt 2
    == task 2, attempt 3
    == phase 1, attempt 2
    == task 3, attempt 1
    == phase 2, attempt 1
    == task 4, attempt 1
    == phase 3, attempt 1
    ");
}
