//! The records of a task that is executed by attempts: what somebody else changed, added or removed there is refused or named.

use std::fs;

use rstest::rstest;

use crate::code_task::{EXAMPLE, FIXES, TASK, VERIFIERS, done, example, of_example, record, run};
use crate::place::Place;

const SHOW: &[&str] = &["task", "show", "t"];
const WHAT_IF: &[&str] = &["replay", "t", "--mode", "what-if", "--override-policy", "max_attempts=1"];

#[rstest]
#[case::the_decision("decision.json", "\"RETRY\"", "\"DONE\"")]
#[case::the_reports("verifier_outputs.json", "no tides", "nothing")]
fn a_forged_record_is_detected(#[case] file: &str, #[case] from: &str, #[case] to: &str) {
    let place = done();
    let path = place.path().join("repo/runs/t/attempt-1").join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    std::fs::write(&path, text.replace(from, to)).unwrap();
    for words in
        [&["task", "show", "t"][..], &["replay", "t", "--mode", "what-if", "--override-policy", "max_attempts=1"]]
    {
        let called = place.call(words);
        assert_eq!(called.code(), 1, "{}", called.text());
        assert!(called.text().contains("repo/runs/t/attempt-1: this record was changed"), "{}", called.text());
    }
    std::fs::write(&path, text).unwrap();
    assert_eq!(place.call(&["task", "show", "t"]).code(), 0);
}

#[rstest]
#[case::plainly("runs/t/attempt-1/decision.json")]
#[case::around("./runs//t/./attempt-7/decision.json")]
fn an_agent_cannot_write_records(#[case] path: &str) {
    let place = Place::new(&FIXES.replace(
        "steps: [write: {path: a.txt, content: \"high",
        &format!("steps: [write: {{path: {path}, content: \"{{}}\"}}, write: {{path: a.txt, content: \"high"),
    ));
    place.write("tides.md", TASK);
    place.write("verifiers.yml", VERIFIERS);
    let called = run(&place, &[]);
    assert!(called.text().contains("records, which only superstep writes"), "{}", called.text());
    assert!(record(&place, "t/attempt-1/decision.json")["decision"].is_string());
    assert!(!place.path().join("repo/runs/t/attempt-7/decision.json").exists() || path.starts_with("runs"));
}

#[rstest]
#[case::a_later_one("attempt-3")]
#[case::one_of_nobody("attempt-70")]
#[case::the_same_in_another_spelling("attempt-01")]
fn a_forged_attempt_is_refused(#[case] name: &str) {
    let place = done();
    let run = place.path().join("repo/runs/t");
    copy(&run.join("attempt-1"), &run.join(name));
    for words in [SHOW, WHAT_IF] {
        let called = place.call(words);
        let expected = format!("runs/t/{name}: this is not a record of the run");
        assert_eq!((called.code(), called.text().contains(&expected)), (1, true), "{}", called.text());
    }
}

#[test]
fn a_missing_record_is_named() {
    let place = done();
    fs::remove_dir_all(place.path().join("repo/runs/t/attempt-1")).unwrap();
    let called = place.call(WHAT_IF);
    assert_eq!(called.code(), 1, "{}", called.text());
    assert!(called.text().contains("repo/runs/t/attempt-1: the record of the attempt is missing"), "{}", called.text());
    let shown = place.call(SHOW);
    assert_eq!(shown.code(), 0, "{}", shown.text());
    assert!(shown.text().contains("repo/runs/t/attempt-1 is missing"), "{}", shown.text());
    assert_eq!(place.json(SHOW)["attempts"].as_array().unwrap().len(), 2, "the store has them");
}

#[test]
fn a_rewound_task_needs_no_records_of_the_attempts_before() {
    let place = done();
    assert_eq!(place.call(&["rewind", "t", "--attempt", "2"]).code(), 0);
    let shown = place.call(&["task", "show", "t-2"]);
    assert_eq!((shown.code(), shown.text().contains("missing")), (0, false), "{}", shown.text());
}

#[test]
fn records_of_children_are_those_that_the_store_has() {
    let place = example();
    assert_eq!(of_example(&place, &format!("{EXAMPLE}code-task/verifiers.yml")).code(), 0);
    let children = place.path().join("repo/runs/t/children");
    let refused = |path: &str| {
        let called = place.call(SHOW);
        let expected = format!("{path}: this is not a record of the run");
        assert_eq!((called.code(), called.text().contains(&expected)), (1, true), "{}", called.text());
        fs::remove_dir_all(children.join(path)).unwrap();
        assert_eq!(place.call(SHOW).code(), 0);
    };
    for path in ["tide-scripts.1/attempt-9", "tide-scripts.9", "tide-scripts.1/children/tide-scripts.1.1"] {
        let at = if path.contains("attempt") { children.join(path) } else { children.join(path).join("attempt-1") };
        copy(&children.join("tide-scripts.1/attempt-1"), &at);
        refused(path);
    }
    fs::remove_dir_all(children.join("tide-scripts.2/attempt-1")).unwrap();
    let shown = place.call(SHOW);
    let is_named = shown.text().contains("children/tide-scripts.2/attempt-1 is missing");
    assert_eq!((shown.code(), is_named), (0, true), "{}", shown.text());
}

/// Forges the record of its first attempt in the second one.
const FORGER: &str = r#"
cat > /dev/null
printf '{"type":"system","subtype":"init","session_id":"s"}\n'
if [ -e a.txt ]; then
  sed -i 's/RETRY/DONE/' runs/t/attempt-1/decision.json
  rm runs/t/attempt-1/spec.md
  echo high > a.txt
else
  echo 'error: no tides' > a.txt
fi
printf '{"type":"result","subtype":"success","is_error":false,"result":"","session_id":"s","structured_output":{"status":"done","summary":"did","files":[]}}\n'
"#;

#[test]
fn a_record_that_the_program_of_an_agent_changes_is_put_back_and_named() {
    let place = Place::new("");
    fs::create_dir(place.path().join("bin")).unwrap();
    place.write("bin/claude", &format!("#!/bin/sh{FORGER}"));
    crate::program::make_executable(place.path().join("bin/claude"));
    place.write("p.toml", "driver = 'cli:claude'\n");
    place.write("tides.md", TASK);
    place.write("verifiers.yml", VERIFIERS);
    let words = ["task", "--task", "tides.md", "--dir", "repo", "--profile", "p.toml", "--thread", "t"];
    let mut command = place.command(&words);
    command.env("PATH", format!("{}/bin:{}", place.path().display(), std::env::var("PATH").unwrap()));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(record(&place, "t/attempt-1/decision.json")["decision"], "RETRY");
    assert!(place.path().join("repo/runs/t/attempt-1/spec.md").exists());
    for words in [&["log", "t"][..], &["status", "t"]] {
        let text = place.call(words).text();
        assert!(text.contains("attempt-1/decision.json was changed while an agent worked, and was put back"), "{text}");
    }
    assert_eq!(place.call(SHOW).code(), 0);
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        if entry.path().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}
