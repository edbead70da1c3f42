//! The output for a person: during a run, at a question, after a failure, and as help.

use crate::place::{Place, REJECTS_FIRST};

/// A reviewer who finds two issues in the first attempt at the first task.
const PICKY: &str = "
  - role: reviewer
    task: '1'
    attempt: 1
    submit:
      approved: false
      severity: minor
      comments:
        - {issue: A name., severity: minor}
        - {issue: \"No hands.\\nNone at all.\", severity: major, file: face.txt, line: 1}
  - {role: developer, task: '1', attempt: 2, steps: [write: {path: face.txt, content: round}], submit: {status: done, summary: did}}
";

#[test]
fn a_review_is_printed_in_a_line() {
    let place = Place::new(PICKY);
    assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
    let done = place.call(&["approve", "t"]);
    assert_eq!(done.code(), 0, "{}", done.text());
    let lines: Vec<String> =
        done.text().lines().filter(|line| line.contains("reviewer says")).map(str::to_owned).collect();
    let rejected = "reviewer says rejected (major): face.txt:1: No hands. (and 1 more)";
    assert!(lines[0].ends_with(rejected), "{lines:?}");
    assert_eq!(lines[1..].iter().filter(|line| line.ends_with("reviewer says approved")).count(), 2, "{lines:?}");
    let events = place.json(&["events", "t"]);
    let is_review = |event: &&serde_json::Value| event["kind"] == "custom" && event["node"] == "reviewer";
    assert_eq!(events.as_array().unwrap().iter().filter(is_review).count(), 3);
}

#[test]
fn a_dry_run_prints_the_approval_and_stores_nothing() {
    let place = Place::new("");
    let plan = "# Clock\n\n## 任务 1：表盘\n\nA face.\n\n## 任务 2：指针\n\nHands.\n\n## 任务 3：外壳\n\nA case.\n";
    place.write("PLAN.md", plan);
    for graph in ["tasks", "phases"] {
        let command = ["run", graph, "--plan", "PLAN.md", "--dir", "repo", "--dry-run"];
        let dry = place.call(&command);
        assert_eq!(dry.code(), 0, "{}", dry.text());
        assert!(dry.text().contains("warnings:\n  - line 3: "), "{}", dry.text());
        assert!(dry.text().contains("  | ## 任务 1：表盘\n"), "{}", dry.text());
        let question = place.json(&command);
        assert_eq!(question["tasks"].as_array().map(Vec::len), Some(1), "{question}");
        assert!(!place.path().join(".superstep").exists(), "nothing is stored");
    }
    place.write("PLAN.md", "PK\u{3}\u{4}");
    let refused = place.call(&["run", "tasks", "--plan", "PLAN.md", "--dir", "repo", "--dry-run"]);
    assert_eq!(refused.code(), 2, "{}", refused.text());
}

#[test]
fn a_failed_check_is_printed_in_a_line() {
    let place = Place::new("");
    place.write("PLAN.md", "# Clock\n\n### Task 1: Face\n\nA face.\n\n**Verify:** `test -e hands.txt`\n");
    assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
    let halted = place.call(&["approve", "t"]);
    assert_eq!(halted.code(), 11, "{}", halted.text());
    assert!(halted.text().contains("verify says `test -e hands.txt` ended with 1\n"), "{}", halted.text());
}

#[test]
fn a_halt_names_the_changes_and_where_they_are_kept() {
    let place = Place::halted();
    let payload = place.json(&["status", "t"])["questions"][0]["payload"].take();
    assert_eq!(payload["changes"], "+1 -0 face.txt (new)");
    assert_eq!(payload["salvage"], "refs/superstep/t/task-1/attempt-2");
    let text = place.call(&["status", "t"]).text();
    assert!(text.ends_with("here approve is `accept`, reject is `abort`, revise is `retry`\n"), "{text}");
    assert!(!text.contains("problem:"), "what says nothing is left out: {text}");
    let again = place.call(&["resume", "t", "--answer", r#"{"retry":{"attempts":0}}"#]);
    assert_eq!(again.code(), 11, "{}", again.text());
    let payload = place.json(&["status", "t"])["questions"][0]["payload"].take();
    assert_eq!(payload["changes"], "+1 -0 face.txt (new)", "also when it is asked again");
}

#[test]
fn the_output_of_a_hook_is_printed_with_help() {
    let place = Place::new("");
    assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
    let hook = place.path().join("repo/.git/hooks/pre-commit");
    std::fs::write(&hook, "#!/bin/sh\nprintf 'no:\\n  \\033[31mtoo red\\n' >&2\nexit 1\n").unwrap();
    crate::program::make_executable(&hook);
    let failed = place.call(&["approve", "t"]);
    assert_eq!(failed.code(), 1, "{}", failed.text());
    let (out, err) = (String::from_utf8_lossy(&failed.0.stdout), String::from_utf8_lossy(&failed.0.stderr));
    let steady =
        |text: &str| text.lines().skip_while(|line| !line.contains("next_task_node")).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(steady(&err).replace(env!("CARGO_BIN_EXE_superstep"), "superstep"), @r"
    error: node `next_task_node` failed in superstep 7: the hook `pre-commit` refused the commit:
           no:
             \u{1b}[31mtoo red
           (help: fix the problem that it reports, then retry: the commit is made again)
     help: once the cause is fixed, resume it with `superstep proceed t`
    ");
    assert!(out.contains("the commit:\n  no:\n    \\u{1b}[31mtoo red\n") && !out.contains("\\n"), "{out}");
    let status = place.call(&["status", "t"]).text();
    assert!(status.contains("the commit:\n  no:\n    \\u{1b}[31mtoo red\n") && !status.contains("\\n"), "{status}");
    std::fs::remove_file(hook).unwrap();
    let done = place.call(&["proceed", "t"]);
    assert_eq!(done.code(), 0, "{}", done.text());
    assert_eq!(place.subjects("superstep/t").len(), 3);
}

#[test]
fn help_shows_the_first_commands() {
    let help = Place::new("").call(&["run", "tasks", "--help"]).text();
    let (_, examples) = help.split_once("Examples:\n").unwrap();
    insta::assert_snapshot!(examples.trim_end(), @r"
      superstep run tasks --plan plan.md --driver cli:claude --thread tides
      superstep run tasks --issue issue.md --profile superstep.toml --thread tides
    ");
    assert!(!help.contains("task_review_iteration"), "{help}");
}

#[test]
fn broken_front_matter_of_an_issue_is_wrong_usage_and_writes_nothing() {
    let place = Place::new(REJECTS_FIRST);
    place.write("ISSUE.md", "---\nid: CLOCK-7\nbad: [\n---\n# A clock\n");
    let called = place.run(&["--issue", "ISSUE.md"]);
    assert_eq!(called.code(), 2, "{}", called.text());
    assert!(called.text().starts_with("error: ISSUE.md:3: this front matter cannot be read"), "{}", called.text());
    assert!(!place.path().join(".superstep").exists());
}
