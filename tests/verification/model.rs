//! Verifiers that call models.

use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};
use superstep::drivers::{DriverError, DriverErrorClass};
use superstep::findings::VerifierOutput;
use superstep::spec::VerifierEntry;
use superstep::verifiers::{Neighbour, VerifierTask};

use crate::agent::{Agent, COST};
use crate::repository::write;
use crate::scene::{Scene, entry, fingerprints, task, text};

const CRITERION: &str = "`high` returns nine";

fn model(id: &str) -> VerifierEntry {
    entry(id, "model", json!({}))
}

/// An agent that always returns the same answer.
fn replying(answer: Value) -> Arc<Agent> {
    Agent::new(move |_, _, _| Ok(answer.clone()))
}

fn criteria(all: &[&str]) -> VerifierTask {
    VerifierTask { acceptance: all.iter().map(|one| (*one).to_owned()).collect(), ..task() }
}

async fn aligned(answer: Value) -> VerifierOutput {
    let scene = Scene::new(model("alignment")).await.for_task(criteria(&[CRITERION]));
    scene.ask(&replying(json!({"criteria": [answer]}))).await.0.output
}

#[rstest]
#[case::met("yes", "src/tides.rs", "pub fn high() -> u32 {\n    9", "info pass")]
#[case::met_in_another_spacing("yes", "./src/tides.rs", " pub  fn high() -> u32 { 9 }\n", "info pass")]
#[case::met_as_in_the_diff("yes", "src/tides.rs", "+pub fn high() -> u32 {\n+    9", "info pass")]
#[case::not_met("no", "", "", "error fail\nerror SPEC_DIVERGENCE - not met: `high` returns nine")]
#[case::not_met_with_a_quote(
    "no",
    "src/tides.rs",
    "9",
    "error fail\nerror SPEC_DIVERGENCE src/tides.rs:2 not met: `high` returns nine"
)]
#[case::unclear(
    "unclear",
    "src/tides.rs",
    "9",
    "warning pass\nwarning SPEC_DIVERGENCE src/tides.rs:2 unclear: `high` returns nine"
)]
#[case::an_invented_quote(
    "yes",
    "src/tides.rs",
    "10",
    "warning pass\nwarning SPEC_DIVERGENCE src/tides.rs:2 unclear: `high` returns nine (the quote is not in src/tides.rs)"
)]
#[case::an_invented_file(
    "yes",
    "src/moon.rs",
    "9",
    "warning pass\nwarning SPEC_DIVERGENCE src/moon.rs:2 unclear: `high` returns nine (the quote is not in src/moon.rs)"
)]
#[case::an_invented_quote_of_a_no(
    "no",
    "src/tides.rs",
    "10",
    "warning pass\nwarning SPEC_DIVERGENCE src/tides.rs:2 unclear: `high` returns nine (the quote is not in src/tides.rs)"
)]
#[case::met_without_a_quote(
    "yes",
    "src/tides.rs",
    " ",
    "warning pass\nwarning SPEC_DIVERGENCE src/tides.rs:2 unclear: `high` returns nine (nothing is quoted that shows it)"
)]
#[case::outside(
    "yes",
    "../README.md",
    "Clock",
    "warning pass\nwarning SPEC_DIVERGENCE ../README.md:2 unclear: `high` returns nine (the quote is not in ../README.md)"
)]
#[tokio::test]
async fn a_quote_is_searched_for_in_the_files(
    #[case] met: &str,
    #[case] file: &str,
    #[case] quote: &str,
    #[case] expected: &str,
) {
    let evidence = match file {
        "" => json!(null),
        file => json!({"file": file, "lines": 2, "quote": quote}),
    };
    let output = aligned(json!({"text": CRITERION, "met": met, "evidence": evidence})).await;
    assert_eq!(text(&output), expected);
}

#[tokio::test]
async fn criteria_are_matched_by_their_words_and_none_is_missing_or_invented() {
    let scene = Scene::new(model("alignment")).await.for_task(criteria(&["It is  fast.", "It is small", "It is red"]));
    let answer = json!({"criteria": [
        {"text": "- it is\nfast", "met": "yes", "evidence": {"file": "src/tides.rs", "quote": "9"}},
        {"text": "It is red", "met": "yes", "evidence": {"file": "src/tides.rs", "lines": "2-x", "quote": "9"}},
        {"text": "It is red", "met": "no"},
        {"text": "It is loud", "met": "no"},
    ]});
    let output = scene.ask(&replying(answer)).await.0.output;
    insta::assert_snapshot!(text(&output), @r"
    error fail
    warning SPEC_DIVERGENCE - not judged: It is small
    error SPEC_DIVERGENCE - not met: It is red
    info SPEC_DIVERGENCE - a criterion was judged that the task does not have: It is loud
    ");
}

#[tokio::test]
async fn an_unmet_criterion_is_the_same_error_whatever_is_quoted() {
    let no = async |quote: &str| {
        let evidence = json!({"file": "src/tides.rs", "quote": quote});
        fingerprints(&aligned(json!({"text": CRITERION, "met": "no", "evidence": evidence})).await)
    };
    assert_eq!(no("9").await, no("pub fn").await);
}

#[tokio::test]
async fn a_model_gets_the_task_and_the_changes_once_per_criterion() {
    let agent = replying(json!({"criteria": [{"text": "Two", "met": "no"}, {"text": "One", "met": "no"}]}));
    let settings = json!({"acceptance_window": 1, "model": "small", "prompt": "Be strict."});
    let scene = Scene::new(entry("alignment", "model", settings)).await.for_task(criteria(&["One", "Two"]));
    let ran = scene.ask(&agent).await.0;
    let calls = agent.calls("alignment");
    assert_eq!((calls.len(), ran.usage.cost), (2, 2 * COST), "a turn for each criterion");
    let first = &calls[0];
    let place = (first.tool.as_str(), first.task.as_str(), first.attempt, first.model.as_deref());
    assert_eq!(place, ("submit_alignment", "tides", 2, Some("small")));
    let prompt = first.prompt.split("diff --git").next().unwrap();
    insta::assert_snapshot!(prompt.trim_end(), @r"
    Judge the work on this task by its acceptance criteria.

    Task tides: Know the tides

    Acceptance criteria:

    - One

    Be strict.

    All changes of this task, as a diff from where it began:

    ```diff
    ");
    assert!(first.prompt.contains("+pub fn high()"), "{}", first.prompt);
}

#[tokio::test]
async fn a_long_diff_is_passed_as_a_file() {
    let long = "tide\n".repeat(30_000);
    let agent = replying(json!({"suggestions": []}));
    let scene = Scene::with(model("style"), &[("long.txt", &long)]).await;
    scene.ask(&agent).await;
    let calls = &agent.calls("style")[0];
    assert_eq!(calls.files.len(), 1);
    assert!(
        calls.prompt.contains(&calls.files[0].display().to_string()) && calls.prompt.contains("+30000 -0 long.txt")
    );
}

#[tokio::test]
async fn risks_are_warnings_for_known_tasks() {
    let other = |id: &str| Neighbour { id: id.into(), text: String::new() };
    let task = VerifierTask { parent: Some(other("clock")), next: vec![other("moon"), other("sun")], ..task() };
    let agent = replying(json!({"risks": [
        {"relation": "parent", "id": "clock", "claim": "hours are missing", "evidence": {"file": "src/tides.rs", "lines": "1-3"}},
        {"relation": "next", "id": "sun", "claim": "nine is fixed", "evidence": "9"},
        {"relation": "next", "id": "clock", "claim": "?"},
    ]}));
    let scene = Scene::new(entry("bigpicture", "model", json!({"consider_next_tasks": 1}))).await.for_task(task);
    let output = scene.ask(&agent).await.0.output;
    insta::assert_snapshot!(text(&output), @r"
    warning pass
    warning CONTEXT_RISK src/tides.rs:1-3 parent task clock: hours are missing
    warning CONTEXT_RISK - next task sun: nine is fixed
    info CONTEXT_RISK - next task clock: ?
    ");
    let prompt = &agent.calls("bigpicture")[0].prompt;
    assert!(prompt.contains("- `moon`") && !prompt.contains("- `sun`"), "{prompt}");
}

#[tokio::test]
async fn suggestions_of_style_never_gate() {
    let agent = replying(json!({"suggestions": [{"text": "say more"}, {"text": "it misleads", "severity": "error"}]}));
    let output = Scene::new(model("style")).await.ask(&agent).await.0.output;
    assert_eq!(text(&output), "warning advisory\ninfo STYLE - say more\nwarning STYLE - it misleads");
}

#[tokio::test]
async fn a_custom_verifier_has_a_prompt() {
    let finding =
        json!({"severity": "error", "message": "it blocks", "type": "LATENCY", "evidence": {"file": "src/tides.rs"}});
    let agent = replying(json!({"findings": [finding]}));
    let entry_with = entry("latency", "model", json!({"prompt": "Look for what blocks."}));
    let output = Scene::new(entry_with).await.ask(&agent).await.0.output;
    assert_eq!(text(&output), "error fail\nerror LATENCY src/tides.rs it blocks");
    assert!(agent.calls("latency")[0].prompt.starts_with("Verify the work on this task.\n\nLook for what blocks.\n"));
    let output = Scene::new(model("latency")).await.ask(&agent).await.0.output;
    let why = "there is no prompt: set `config.prompt` of the verifier `latency`";
    assert_eq!(text(&output), format!("error -\nerror VERIFIER_FAIL - {why}"));
}

#[rstest]
#[case::alignment("alignment", "the task has no acceptance criteria")]
#[case::big_picture("bigpicture", "the task has no parent and no next tasks")]
#[tokio::test]
async fn no_model_is_called_when_there_is_nothing_to_verify(#[case] id: &str, #[case] why: &str) {
    let agent = Agent::new(|call, _, _| panic!("{call:?}"));
    let output = Scene::new(model(id)).await.ask(&agent).await.0.output;
    assert_eq!(text(&output), format!("info pass\ninfo NOTHING_TO_VERIFY - {why}"));
}

#[tokio::test]
async fn an_unreadable_answer_is_requested_again_and_then_a_finding() {
    let agent = replying(json!({"criteria": "all"}));
    let scene = Scene::new(model("alignment")).await.for_task(criteria(&[CRITERION]));
    let output = scene.ask(&agent).await.0.output;
    assert_eq!(agent.count("alignment"), 2);
    insta::assert_snapshot!(text(&output), @r#"
    error -
    error VERIFIER_FAIL - the verifier handed over nothing that can be used: `submit_alignment` was given invalid type: string "all", expected a sequence
    "#);
}

#[rstest]
#[case::fatal(DriverErrorClass::Fatal)]
#[case::auth(DriverErrorClass::Auth)]
#[case::transient(DriverErrorClass::Transient)]
#[tokio::test]
async fn a_turn_that_fails_is_a_finding(#[case] class: DriverErrorClass) {
    let agent = Agent::new(move |_, _, _| Err(DriverError::new(class, "the line is dead")));
    let output = Scene::new(model("style")).await.ask(&agent).await.0.output;
    let why = "the verifier handed over nothing that can be used: the line is dead";
    assert_eq!(text(&output), format!("error -\nerror VERIFIER_FAIL - {why}"));
}

#[tokio::test]
async fn changes_by_a_model_are_reverted() {
    let agent = Agent::new(|_, folder, _| {
        write(folder, "src/tides.rs", "// gone\n");
        write(folder, "notes.txt", "mine\n");
        Ok(json!({"suggestions": []}))
    });
    let (ran, scene) = Scene::new(model("style")).await.ask(&agent).await;
    let why = "the verifier changed files, which was taken back: notes.txt, src/tides.rs";
    assert_eq!(text(&ran.output), format!("error advisory\nerror VERIFIER_FAIL - {why}"));
    assert_eq!(scene.file("src/tides.rs").unwrap(), "pub fn high() -> u32 {\n    9\n}\n");
    assert_eq!(scene.file("notes.txt"), None);
}

#[tokio::test]
async fn what_a_model_commits_in_its_turn_is_put_back() {
    let agent = Agent::new(|_, folder, _| {
        write(folder, "notes.txt", "mine\n");
        for args in [&["add", "notes.txt"][..], &["commit", "-q", "-m", "by the verifier"]] {
            assert!(std::process::Command::new("git").args(args).current_dir(folder).status().unwrap().success());
        }
        Ok(json!({"suggestions": []}))
    });
    let (ran, scene) = Scene::new(model("style")).await.ask(&agent).await;
    assert!(text(&ran.output).contains("which was taken back: notes.txt"), "{}", text(&ran.output));
    assert!(ran.notices.iter().any(|notice| notice.contains("taken back into the files")), "{:?}", ran.notices);
    assert_eq!(scene.file("notes.txt"), None);
}

#[tokio::test]
async fn a_model_that_changes_hooks_is_detected() {
    let agent = Agent::new(|_, folder, _| {
        write(folder, ".git/hooks/pre-commit", "#!/bin/sh\n");
        Ok(json!({"suggestions": []}))
    });
    let ran = Scene::new(model("style")).await.ask(&agent).await.0;
    assert_eq!(ran.tampered.len(), 1);
    assert!(text(&ran.output).contains("VERIFIER_FAIL - the verifier changed git's hooks or configuration: "));
}
