//! Verifiers that run commands, as real processes.

use std::process::Command;
use std::time::Duration;

use rstest::rstest;
use serde_json::json;
use superstep::findings::VerifierOutput;
use superstep::nodes::{Crew, VerifierRun};
use superstep::spec::VerifierEntry;

use crate::agent::Agent;
use crate::scene::{Scene, entry, fingerprints, text};

fn command(line: &str) -> VerifierEntry {
    entry("lint", "shell", json!({"command": line, "timeout_sec": 60}))
}

async fn ran(line: &str) -> (VerifierRun, Scene) {
    Scene::new(command(line)).await.run().await
}

async fn output(line: &str) -> VerifierOutput {
    ran(line).await.0.output
}

#[rstest]
#[case::alone("echo all is well")]
#[case::leaving_a_process("sleep 1000 & echo all is well")]
#[tokio::test]
async fn a_command_that_succeeds_passes(#[case] line: &str) {
    let output = output(line).await;
    assert_eq!(text(&output), "info pass");
    assert_eq!(output.evidence.command.as_deref(), Some(line));
    assert!(output.required, "it has a command");
}

#[tokio::test]
async fn both_streams_of_a_failure_are_read_for_diagnostics() {
    let line =
        "echo 'src/tides.rs:2:5: error: nine is odd'; echo \"$PWD/src/tides.rs:3:1: error: no moon\" >&2; exit 2";
    let output = output(line).await;
    insta::assert_snapshot!(text(&output), @r"
    error fail
    error BUILD_FAIL src/tides.rs:2 nine is odd
    error BUILD_FAIL src/tides.rs:3 no moon
    ");
}

#[tokio::test]
async fn a_failure_without_a_diagnostic_is_an_error_too() {
    let (one, other) = (output("echo 'took 12 ms'; exit 3").await, output("echo 'took 987 ms'; exit 3").await);
    assert_eq!(text(&one).lines().next(), Some("error fail"));
    assert_eq!(fingerprints(&one).len(), 1, "{one:?}");
    assert_ne!(one.evidence, other.evidence);
}

#[rstest]
#[case::a_report(
    r#"{"severity": "warning", "findings": [{"message": "nine is odd", "evidence": {"file": "src/tides.rs", "lines": "2"}}]}"#,
    "warning -\nwarning LINT src/tides.rs:2 nine is odd"
)]
#[case::a_verdict(r#"{"severity": "info", "findings": [], "verdict": "pass"}"#, "info pass")]
#[case::a_verdict_against_it(r#"{"severity": "info", "findings": [], "verdict": "fail"}"#, "error fail")]
#[tokio::test]
async fn a_json_object_is_the_report(#[case] object: &str, #[case] expected: &str) {
    let output = output(&format!("cat <<'END'\n{object}\nEND\necho 'a.c:1:1: error: seen' >&2")).await;
    assert_eq!(text(&output), expected);
}

#[tokio::test]
async fn an_object_of_another_shape_is_an_error_of_the_verifier() {
    let output = output(r#"echo '{"status": "green"}'"#).await;
    assert_eq!(text(&output).lines().next(), Some("error -"));
    assert!(text(&output).contains("error VERIFIER_FAIL - "), "{output:?}");
}

#[rstest]
#[case::alone("trap '' TERM; exec > $PIPE; while :; do sleep 0.1; done")]
#[case::with_a_child("(trap '' TERM; exec > $PIPE; while :; do sleep 0.1; done) & wait")]
#[tokio::test]
async fn a_command_that_hangs_is_killed_with_its_children(#[case] line: &str) {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("alive");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // Reading starts once the command opens the pipe, and ends once no process of it holds the pipe.
    let line = format!("echo started; {}", line.replace("$PIPE", &pipe.display().to_string()));
    let reads = tokio::task::spawn_blocking(move || std::fs::read(pipe).unwrap());
    let entry = entry("lint", "shell", json!({"command": line, "timeout_sec": 1}));
    let output = Scene::new(entry).await.output().await;
    assert_eq!(text(&output).lines().next(), Some("error -"));
    assert!(text(&output).contains("VERIFIER_FAIL - ") && text(&output).contains("took longer than 1 s"), "{output:?}");
    let closed = tokio::time::timeout(Duration::from_secs(60), reads).await;
    assert!(closed.is_ok(), "a process of the command is alive");
}

#[tokio::test]
async fn a_command_can_clean_up_before_it_is_killed() {
    let line = "trap 'echo orderly > target/end; exit 1' TERM; mkdir target; while :; do sleep 0.1; done";
    let entry = entry("lint", "shell", json!({"command": line, "timeout_sec": 1}));
    let (ran, scene) = Scene::new(entry).await.run().await;
    assert_eq!(scene.file("target/end").as_deref(), Some("orderly\n"), "{ran:?}");
}

#[tokio::test]
async fn a_command_killed_by_a_signal_is_an_error_of_the_verifier() {
    let output = output("kill -s SEGV $$").await;
    assert_eq!(text(&output).lines().next(), Some("error -"));
    assert!(text(&output).contains("VERIFIER_FAIL - ") && text(&output).contains("signal 11"), "{output:?}");
}

#[tokio::test]
async fn changed_files_are_restored_and_ignored_ones_stay() {
    let line = "echo x >> src/tides.rs; echo new > new.txt; mkdir target; echo built > target/out; rm README.md";
    let (ran, scene) = ran(line).await;
    insta::assert_snapshot!(text(&ran.output), @r"
    error fail
    error VERIFIER_FAIL - the verifier changed files, which was taken back: new.txt, README.md, src/tides.rs
    ");
    assert_eq!(scene.file("src/tides.rs").unwrap(), "pub fn high() -> u32 {\n    9\n}\n");
    assert_eq!((scene.file("new.txt"), scene.file("README.md").is_some()), (None, true));
    assert_eq!(scene.file("target/out").as_deref(), Some("built\n"));
    assert!(ran.tampered.is_empty());
}

#[tokio::test]
async fn ignored_build_output_is_not_a_change() {
    let output = output("mkdir -p target && echo built > target/out").await;
    assert_eq!(text(&output), "info pass");
}

#[tokio::test]
async fn a_command_that_changes_hooks_is_detected() {
    let (ran, scene) = ran("echo '#!/bin/sh' > .git/hooks/pre-commit; echo x > new.txt").await;
    assert_eq!(ran.tampered.len(), 1, "{ran:?}");
    assert!(text(&ran.output).contains("VERIFIER_FAIL - the verifier changed git's hooks or configuration: "));
    assert!(scene.file("new.txt").is_some(), "git is left alone");
}

#[tokio::test]
async fn a_command_gets_the_attempt_in_its_environment() {
    let line = "echo \"a.c:1:1: error: $SUPERSTEP_TASK_ID $SUPERSTEP_ATTEMPT\"; \
        test \"$(git diff --name-only $SUPERSTEP_BASE $SUPERSTEP_TREE)\" = src/tides.rs || exit 7; exit 1";
    assert_eq!(text(&output(line).await), "error fail\nerror BUILD_FAIL a.c:1 tides 2");
}

/// Runs the next test in a process with a key in its environment.
#[test]
fn a_command_gets_no_key_and_printed_keys_are_redacted() {
    let myself = std::env::current_exe().unwrap();
    let args = ["--exact", "shell::in_an_environment_with_a_key", "--ignored", "--nocapture"];
    let ran = Command::new(myself).args(args).env("TIDES_API_KEY", "tide-0123456789").output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()));
}

#[ignore = "run by the test before"]
#[tokio::test]
async fn in_an_environment_with_a_key() {
    let files = [("key.txt", "tide-0123456789\n")];
    let line = "echo \"a.c:1:1: error: ${TIDES_API_KEY:-none} $(cat key.txt)\"; echo $(cat key.txt); exit 1";
    let output = Scene::with(command(line), &files).await.output().await;
    assert_eq!(text(&output), "error fail\nerror BUILD_FAIL a.c:1 none [redacted]");
    assert!(!format!("{output:?}").contains("tide-0123456789"), "{output:?}");
    let mut scene = Scene::with(command("test \"$TIDES_API_KEY\" = tide-0123456789"), &files).await;
    scene.job.host.pass = vec!["TIDES_API_KEY".into()];
    assert_eq!(text(&scene.output().await), "info pass");

    let secrets = Scene::with(entry("secrets", "code", json!({})), &files).await;
    let expected = "error fail\nerror SECRET key.txt:1 the file holds the value of `TIDES_API_KEY`";
    assert_eq!(text(&secrets.output().await), expected);
    let agent = Agent::new(|call, _, _| panic!("{call:?}"));
    let style = Scene::with(entry("style", "model", json!({})), &files).await.ask(&agent).await.0.output;
    assert!(text(&style).contains("SECRET - the changes hold keys, so that no model is shown them: key.txt:1"));
}

#[tokio::test]
async fn the_middle_of_a_long_output_is_left_out() {
    let line = "echo 'a.c:1:1: error: first'; yes | head -c 30000000; echo; echo 'b.c:1:1: error: last'; exit 1";
    assert_eq!(text(&output(line).await), "error fail\nerror BUILD_FAIL a.c:1 first\nerror BUILD_FAIL b.c:1 last");
}

#[tokio::test]
async fn a_command_is_detected_from_the_files_of_the_attempt() {
    let files = [("Makefile", "build:\n\techo 'tides.c:3:1: error: no sea'; exit 1\n")];
    let scene = Scene::with(entry("build", "shell", json!({})), &files).await;
    let found = scene.output().await;
    assert_eq!(text(&found).lines().next(), Some("error fail"));
    assert!(text(&found).contains("error BUILD_FAIL tides.c:3 no sea"), "{found:?}");
    assert_eq!((found.evidence.command.as_deref(), found.required), (Some("make build"), true));
}

#[tokio::test]
async fn new_files_of_a_detected_command_are_not_an_error() {
    let built = async |recipe: &str| {
        let makefile = format!("build:\n\t{recipe}\n");
        let files = [("Makefile", makefile.as_str()), ("Cargo.lock", ""), ("a.c", "int a;\n")];
        Scene::with(entry("build", "shell", json!({})), &files).await.run().await
    };
    let (ran, scene) = built("echo x > a.o; echo x > Cargo.lock").await;
    let left = "info FILES_LEFT - the command left files behind, which was taken back: a.o, Cargo.lock";
    assert_eq!((text(&ran.output), scene.file("a.o")), (format!("info pass\n{left}"), None));
    let (ran, scene) = built("echo x > a.o; echo x > a.c").await;
    let changed = "error VERIFIER_FAIL - the verifier changed files, which was taken back: a.o, a.c";
    assert_eq!((text(&ran.output), scene.file("a.c")), (format!("error fail\n{changed}"), Some("int a;\n".into())));
}

#[tokio::test]
async fn without_a_command_nothing_is_built_and_the_verifier_passes() {
    let output = Scene::new(entry("build", "shell", json!({}))).await.output().await;
    let why = "no command was found for `build`: set `config.command` of the verifier `build`, if there is one";
    assert_eq!(text(&output), format!("info pass\ninfo NO_COMMAND - {why}"));
    assert!(!output.required);
    let output = Scene::new(entry("lint", "shell", json!({}))).await.output().await;
    let why = "there is no command: set `config.command` of the verifier `lint`";
    assert_eq!(text(&output), format!("error -\nerror VERIFIER_FAIL - {why}"));
}

#[tokio::test]
async fn a_missing_command_is_an_error_of_the_verifier() {
    let scene = Scene::new(command("no-such-program-here")).await;
    let output = scene.run_with(Crew::new()).await.0.output;
    assert_eq!(text(&output).lines().next(), Some("error fail"));
    assert!(text(&output).contains("VERIFIER_FAIL"), "{output:?}");
}
