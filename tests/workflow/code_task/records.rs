//! The records of attempts: their files, their exact shapes, their commits.

use serde_json::Value;
use superstep::spec::{Attempts, Flags};

use super::desk::{CHECK, Desk, developers, spec, writes};
use crate::phases::stage::Cast;

fn twice() -> std::sync::Arc<Cast> {
    developers(|asked| writes(asked, "tides.txt", if asked.nth == 0 { "error: the tide is late\n" } else { "in\n" }))
}

#[tokio::test]
async fn every_attempt_has_its_files_and_its_reference() {
    let desk = Desk::new(twice());
    desk.run().await;
    let files = ["agent.ndjson", "decision.json", "diff.patch", "spec.md", "verifier_outputs.json"];
    let expected: Vec<String> =
        (1..=2).flat_map(|nth| files.map(|file| format!("clock/attempt-{nth}/{file}"))).collect();
    assert_eq!(desk.records(), expected);
    assert_eq!(desk.refs(), ["attempt-1 [tides] attempt 1: RETRY", "attempt-2 [tides] attempt 2: DONE"]);
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
    assert_eq!(desk.commits(), ["[tides] attempt 1: RETRY", "[tides] attempt 2: DONE"]);
    desk.tidy();
}

#[tokio::test]
async fn a_task_that_is_done_is_committed_only_if_it_is_wanted() {
    let mut spec = spec();
    spec.git.commit_on_success = false;
    let desk = Desk::with(twice(), CHECK, spec, &Flags::default());
    desk.run().await;
    assert_eq!(desk.commits(), [""; 0]);
    assert_eq!(desk.repository.git(&["status", "--porcelain"]), "?? tides.txt\n");
}
