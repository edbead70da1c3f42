//! The records of attempts: their files, their exact shapes, their commits.

use rstest::rstest;
use serde_json::Value;
use superstep::spec::{Attempts, Flags};

use super::desk::{CHECK, Desk, agents, developers, spec, writes};
use super::splits::acts;
use crate::agent::work;
use crate::phases::stage::Cast;

fn twice() -> std::sync::Arc<Cast> {
    developers(|call| writes(call, "tides.txt", if call.nth == 0 { "error: the tide is late\n" } else { "in\n" }))
}

#[tokio::test]
async fn every_attempt_has_its_files_and_its_reference() {
    let desk = Desk::new(twice());
    desk.run().await;
    let files = ["agent.ndjson", "decision.json", "diff.patch", "spec.md", "verifier_outputs.json"];
    let expected: Vec<String> =
        (1..=2).flat_map(|nth| files.map(|file| format!("clock/attempt-{nth}/{file}"))).collect();
    assert_eq!(desk.records(), expected);
    assert_eq!(desk.refs(), ["attempt-1 [tides] attempt 1: RETRY", "attempt-2 feat: Tides"]);
    assert_eq!(desk.repository.git(&["show", "refs/superstep/clock/attempt-1:tides.txt"]), "error: the tide is late\n");
    assert_eq!(desk.repository.git(&["status", "--porcelain"]), "");
    assert_eq!(desk.repository.git(&["ls-tree", "-r", "--name-only", "superstep/clock"]), "README.md\ntides.txt\n");
}

#[tokio::test]
async fn the_records_have_exactly_their_keys() {
    let desk = Desk::new(twice());
    desk.run().await;
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let decision = desk.json("attempt-1/decision.json");
    let mut expected = [
        "task_id", "run_id", "attempt", "depth", "decision", "reason", "rule", "repeated", "counts", "override",
        "tree", "commit", "at",
    ];
    expected.sort_unstable();
    assert_eq!(keys(&decision), expected);
    assert_eq!(decision["commit"], desk.repository.git(&["rev-parse", "refs/superstep/clock/attempt-1"]).trim());
    assert_eq!(decision["tree"], desk.repository.git(&["rev-parse", "refs/superstep/clock/attempt-1^{tree}"]).trim());
    assert_eq!(decision["counts"], serde_json::json!({"error": 1, "warning": 0, "info": 0}));
    let outputs = desk.json("attempt-1/verifier_outputs.json");
    let mut expected =
        ["verifier", "stakeholder", "stage", "severity", "verdict", "findings", "evidence", "required", "ms"];
    expected.sort_unstable();
    assert_eq!(keys(&outputs[0]), expected);
    let mut expected = ["type", "severity", "message", "evidence", "fingerprint"];
    expected.sort_unstable();
    assert_eq!(keys(&outputs[0]["findings"][0]), expected);
}

#[tokio::test]
async fn attempts_can_be_commits_of_the_branch() {
    let mut spec = spec();
    spec.git.attempts = Attempts::Branch;
    let desk = Desk::with(twice(), CHECK, spec, &Flags::default());
    desk.run().await;
    assert_eq!(desk.commits(), ["[tides] attempt 1: RETRY", "feat: Tides"]);
    desk.tidy();
}

#[tokio::test]
async fn a_done_task_is_committed_only_on_request() {
    let mut spec = spec();
    spec.git.commit_on_success = false;
    let desk = Desk::with(twice(), CHECK, spec, &Flags::default());
    desk.run().await;
    assert_eq!(desk.commits(), [""; 0]);
    assert_eq!(desk.repository.git(&["status", "--porcelain"]), "?? tides.txt\n");
}

/// The first attempt is refused by a hook, or changes nothing: its commit is under a reference, not on the branch.
#[rstest]
#[case::unchanged("", "")]
#[case::refused("error: the tide is late\n", "#!/bin/sh\n! grep -q error tides.txt\n")]
#[tokio::test]
async fn an_attempt_that_cannot_be_on_the_branch_has_a_reference(#[case] first: &'static str, #[case] hook: &str) {
    let cast = developers(move |call| match (call.nth, first) {
        (0, "") => work(),
        (nth, _) => writes(call, "tides.txt", if nth == 0 { first } else { "in\n" }),
    });
    let mut spec = spec();
    spec.git.attempts = Attempts::Branch;
    let verifiers = CHECK.replace("! grep -h '^error' *.txt", "cat tides.txt && ! grep -h '^error' *.txt");
    let desk = Desk::with(cast, &verifiers, spec, &Flags::default());
    if !hook.is_empty() {
        crate::dropped::hook(&desk.repository.path(), "pre-commit", hook);
    }
    desk.run().await;
    assert_eq!(desk.decisions().await, ["RETRY by retry", "DONE by done"]);
    assert_eq!(desk.commits(), ["feat: Tides"]);
    assert_eq!(desk.refs(), ["attempt-1 [tides] attempt 1: RETRY"]);
    let state = desk.state().await;
    let is_noticed = state.notices.iter().any(|notice| notice.contains("attempt 1 is not on the branch"));
    assert_eq!(is_noticed, !hook.is_empty(), "{:?}", state.notices);
    let commit = desk.repository.git(&["rev-parse", "refs/superstep/clock/attempt-1"]);
    assert_eq!(desk.json("attempt-1/decision.json")["commit"], commit.trim());
}

#[rstest]
#[tokio::test]
async fn children_run_in_parallel_even_if_attempts_are_commits_of_the_branch(#[values(1, 2)] at_once: u32) {
    let mut spec = spec();
    spec.git.attempts = Attempts::Branch;
    let flags = Flags { policy: vec![format!("parallel_children={at_once}")], ..Flags::default() };
    let desk = Desk::with(agents(acts), CHECK, spec, &flags);
    desk.run().await;
    assert_eq!(desk.decisions().await, ["RETRY by retry", "SPLIT by repeated", "DONE by done"]);
    assert_eq!(desk.state().await.children.unwrap().at_once, at_once);
    // The second attempt did not change the files: there is nothing to commit on the branch.
    assert_eq!(desk.commits(), ["[tides] attempt 1: RETRY", "feat: Tides"]);
    desk.tidy();
}
