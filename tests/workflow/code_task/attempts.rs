//! Attempts: the prompt of the next one, the decision on each, and verifiers that misbehave.

use serde_json::json;
use superstep::findings::{FindingKind, Severity};
use superstep::spec::{Attempts, Flags};
use superstep_workflows::code_task::TaskOutcome;

use super::desk::{CHECK, Desk, agents, asks, developers, spec, writes};
use crate::agent::work;

#[tokio::test]
async fn work_that_verifies_is_done_in_one_attempt() {
    let desk = Desk::new(developers(|call| writes(call, "tides.txt", "in, out\n")));
    desk.run().await;
    assert_eq!(desk.decisions().await, ["DONE by done"]);
    assert_eq!(desk.outcome().await, Some(TaskOutcome::Done));
    assert_eq!(desk.commits(), ["feat: Tides"]);
    assert_eq!(desk.repository.git(&["show", "superstep/clock:tides.txt"]), "in, out\n");
    desk.tidy();
}

#[tokio::test]
async fn the_next_attempt_gets_the_finding_in_the_same_session() {
    let cast = developers(|call| {
        let text = if call.nth == 0 { "error: the tide is late\n" } else { "in, out\n" };
        writes(call, "tides.txt", text)
    });
    let desk = Desk::new(cast.clone());
    desk.run().await;
    assert_eq!(desk.decisions().await, ["RETRY by retry", "DONE by done"]);
    let calls = cast.calls();
    assert_eq!(calls[1].session, calls[0].session);
    let line = desk.state().await.attempts[0].findings[0].clone();
    assert!(line.starts_with("[build] error") && line.contains("the tide is late"), "{line}");
    assert!(calls[1].request.prompt.contains(&line), "{}", calls[1].request.prompt);
}

#[tokio::test]
async fn thirty_findings_of_one_kind_in_one_attempt_are_not_repeated() {
    let cast = developers(|call| {
        let text = if call.nth == 0 { "error: the tide is late\n".repeat(30) } else { "in\n".into() };
        writes(call, "tides.txt", &text)
    });
    let desk = Desk::new(cast);
    desk.run().await;
    assert_eq!(desk.decisions().await, ["RETRY by retry", "DONE by done"]);
}

#[tokio::test]
async fn different_errors_are_retried_until_the_attempts_are_used_up() {
    let words = ["late", "early", "away"];
    let cast =
        developers(move |call| writes(call, "tides.txt", &format!("error: the tide is {}\n", words[call.nth % 3])));
    let desk = Desk::new(cast);
    let ended = desk.run().await;
    assert_eq!(desk.decisions().await, ["RETRY by retry", "RETRY by retry", "GIVE_UP by exhausted"]);
    assert_eq!(asks(&ended), "gave_up");
}

#[tokio::test]
async fn a_skipped_verifier_is_recorded_and_a_required_one_prevents_done() {
    let flags = Flags { skip: vec!["build".into()], ..Flags::default() };
    let cast = developers(|call| writes(call, "tides.txt", "error: the tide is late\n"));
    let desk = Desk::with(cast, CHECK, spec(), &flags);
    let ended = desk.run().await;
    assert_eq!(asks(&ended), "gave_up");
    let outputs = desk.json("attempt-1/verifier_outputs.json");
    let build = outputs.as_array().unwrap().iter().find(|output| output["verifier"] == "build").unwrap();
    assert_eq!((&build["skipped"], &build["required"]), (&json!("flag"), &json!(true)));
    assert!(!desk.decisions().await.iter().any(|decision| decision.starts_with("DONE")));
}

#[tokio::test]
async fn a_verifier_that_writes_is_detected_and_its_change_reverted() {
    let verifiers = CHECK.replace("! grep -h '^error' *.txt", "test -e extra.txt || echo more > extra.txt");
    let desk = Desk::with(developers(|call| writes(call, "tides.txt", "in\n")), &verifiers, spec(), &Flags::default());
    desk.run().await;
    let state = desk.state().await;
    let build = state.outputs.iter().find(|output| output.verifier == "build").unwrap();
    assert_eq!(build.severity, Severity::Error);
    assert!(build.findings.iter().any(|finding| finding.kind == FindingKind::VerifierFail), "{build:?}");
    assert!(!desk.repository.path().join("extra.txt").exists());
}

#[tokio::test]
async fn a_hanging_verifier_is_killed_and_an_error() {
    let verifiers = CHECK.replace("{command: \"! grep -h '^error' *.txt\"}", "{command: sleep 60, timeout_sec: 1}");
    let mut spec = spec();
    spec.policy.max_attempts = 1;
    let desk = Desk::with(developers(|call| writes(call, "tides.txt", "in\n")), &verifiers, spec, &Flags::default());
    let ended = desk.run().await;
    assert_eq!(asks(&ended), "gave_up");
    let state = desk.state().await;
    assert!(state.attempts[0].findings[0].starts_with("[build] error"), "{:?}", state.attempts[0].findings);
}

#[tokio::test]
async fn criteria_are_judged_with_quotes_from_the_files() {
    let cast = agents(|call| async move {
        if call.is_developer() {
            return writes(&call, "tides.txt", if call.nth == 0 { "in\n" } else { "in\nout\n" });
        }
        let met = |text: &str, quote: &str| {
            let is_there = std::fs::read_to_string(call.folder().join("tides.txt")).unwrap().contains(quote);
            let (met, quote) = if is_there { ("yes", quote) } else { ("no", "") };
            json!({"text": text, "met": met, "evidence": {"file": "tides.txt", "lines": "1-2", "quote": quote}})
        };
        json!({"criteria": [met("It names the tide that comes in", "in"), met("It names the tide that goes out", "out")]})
    });
    let mut spec = spec();
    spec.acceptance = vec!["It names the tide that comes in".into(), "It names the tide that goes out".into()];
    let desk = Desk::with(cast, CHECK, spec, &Flags::default());
    desk.run().await;
    let state = desk.state().await;
    assert_eq!(desk.decisions().await, ["RETRY by retry", "DONE by done"], "{:#?}", state.outputs);
    let findings = &state.attempts[0].findings;
    assert!(findings[0].contains("It names the tide that goes out"), "{findings:?}");
}

#[tokio::test]
async fn an_attempt_without_changes_shows_in_the_progress() {
    let desk = Desk::new(developers(|call| match call.nth {
        0 => writes(call, "tides.txt", "error: the tide is late\n"),
        _ => work(),
    }));
    desk.run().await;
    let outputs = desk.json("attempt-2/verifier_outputs.json");
    let progress = outputs.as_array().unwrap().iter().find(|output| output["verifier"] == "progress").unwrap();
    assert_eq!(progress["findings"].as_array().unwrap().len(), 1, "{progress}");
}

#[rstest::rstest]
#[tokio::test]
async fn findings_that_imitate_built_in_ones_decide_nothing(#[values("BUDGET_USED_UP", "TAMPERED")] kind: &str) {
    let report = json!({"severity": "error", "findings": [{"type": kind, "message": "so it says"}]});
    let command = json!(format!("echo '{report}'")).to_string();
    let verifiers = CHECK.replace("\"! grep -h '^error' *.txt\"", &command);
    let desk = Desk::with(
        developers(|call| writes(call, "tides.txt", &format!("{}\n", call.nth))),
        &verifiers,
        spec(),
        &Flags::default(),
    );
    desk.run().await;
    assert_eq!(desk.decisions().await[0], "RETRY by retry");
}

/// A key is found although the build fails, is on no branch, and is not an error that a smaller task could remove.
#[tokio::test]
async fn a_key_in_a_build_that_fails_is_found_and_kept_off_the_branch() {
    let key = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let cast = developers(move |call| {
        let text = if call.nth < 2 { format!("error: late\ntoken = {key}\n") } else { "in\n".into() };
        writes(call, "tides.txt", &text)
    });
    let mut spec = spec();
    spec.git.attempts = Attempts::Branch;
    let flags = Flags { policy: vec!["split_on_repeat_errors=5".into()], ..Flags::default() };
    let desk = Desk::with(cast, CHECK, spec, &flags);
    desk.run().await;
    let outputs = desk.json("attempt-1/verifier_outputs.json");
    let failed: Vec<&str> = outputs
        .as_array()
        .unwrap()
        .iter()
        .filter(|output| output["severity"] == "error")
        .map(|output| output["verifier"].as_str().unwrap())
        .collect();
    assert_eq!(failed, ["build", "secrets"]);
    assert_eq!(desk.commits(), ["feat: Tides"]);
    let refs = desk.refs();
    assert_eq!(refs, ["attempt-1 [tides] attempt 1: RETRY", "attempt-2 [tides] attempt 2: RETRY"]);
}

#[tokio::test]
async fn a_skipped_verifier_is_recorded_even_if_an_earlier_stage_fails() {
    let flags = Flags { skip: vec!["alignment".into()], ..Flags::default() };
    let desk = Desk::with(
        developers(|call| writes(call, "tides.txt", if call.nth == 0 { "error: late\n" } else { "in\n" })),
        CHECK,
        spec(),
        &flags,
    );
    desk.run().await;
    let outputs = desk.json("attempt-1/verifier_outputs.json");
    let skipped = outputs.as_array().unwrap().iter().find(|output| output["verifier"] == "alignment").unwrap();
    assert_eq!(skipped["skipped"], "flag");
}
