//! Verifiers in code.

use std::time::Duration;

use rstest::rstest;
use serde_json::json;
use superstep::findings::{Finding, FindingKind, Severity, Verdict, VerifierReport};
use superstep::nodes::Crew;
use superstep::verifiers::{Verifier, VerifierError, VerifierJob};

use crate::scene::{Scene, entry, fingerprints, text};

/// A verifier that calls a function.
struct FnVerifier<F>(F);

impl<F: Fn(&VerifierJob) -> Result<VerifierReport, VerifierError> + Send + Sync + 'static> Verifier for FnVerifier<F> {
    async fn verify(&self, job: &VerifierJob) -> Result<VerifierReport, VerifierError> {
        tokio::task::yield_now().await;
        self.0(job)
    }
}

/// A verifier that never returns.
struct HangingVerifier;

impl Verifier for HangingVerifier {
    async fn verify(&self, _: &VerifierJob) -> Result<VerifierReport, VerifierError> {
        std::future::pending().await
    }
}

fn mine<F>(does: F) -> Crew
where
    F: Fn(&VerifierJob) -> Result<VerifierReport, VerifierError> + Send + Sync + 'static,
{
    Crew::new().with_verifier("mine", FnVerifier(does))
}

fn todo(line: u32) -> Finding {
    let kind = FindingKind::Other("TODO".into());
    Finding::error(kind, format!("a TODO in line {line}")).at("src/tides.rs", line)
}

#[tokio::test]
async fn a_verifier_gets_the_attempt_and_its_findings_get_fingerprints() {
    let seen = |job: &VerifierJob| -> Result<VerifierReport, VerifierError> {
        assert_eq!((job.task.id.as_str(), job.attempt, job.config["words"][0].as_str()), ("tides", 2, Some("tide")));
        assert_eq!((job.changes.files.join(" "), job.changes.is_cut), ("src/tides.rs".to_owned(), false));
        assert!(job.changes.diff.contains("+pub fn high()") && job.base.len() == 40 && job.base != job.tree);
        assert!(job.folder.join("src/tides.rs").is_absolute());
        Ok(VerifierReport::of([todo(3), todo(14)]))
    };
    let scene = Scene::new(entry("mine", "code", json!({"words": ["tide"]}))).await;
    let output = scene.run_with(mine(seen)).await.0.output;
    insta::assert_snapshot!(text(&output), @r"
    error fail
    error TODO src/tides.rs:3 a TODO in line 3
    error TODO src/tides.rs:14 a TODO in line 14
    ");
    let found = fingerprints(&output);
    assert_eq!(found[0], found[1], "lines do not count");
    let head = (output.verifier.as_str(), output.stakeholder.as_str(), output.stage.as_str(), output.required);
    assert_eq!(head, ("mine", "architecture", "build", false));
}

#[tokio::test]
async fn a_long_diff_is_cut() {
    let cut = |job: &VerifierJob| -> Result<VerifierReport, VerifierError> {
        assert!(job.changes.is_cut && job.changes.diff.len() <= 170 && job.changes.diff.ends_with('\n'));
        Ok(VerifierReport::pass())
    };
    let scene = Scene::new(entry("mine", "code", json!({"max_diff_bytes": 170}))).await;
    let output = scene.run_with(mine(cut)).await.0.output;
    assert_eq!((output.severity, output.verdict), (Severity::Info, Some(Verdict::Pass)));
}

#[rstest]
#[case::an_error(|_: &VerifierJob| Err("the tables are gone".into()), "the verifier failed: the tables are gone")]
#[case::a_panic(|_: &VerifierJob| panic!("no such tide"), "the verifier panicked: no such tide")]
#[tokio::test]
async fn a_verifier_that_fails_is_a_finding<F>(#[case] does: F, #[case] message: &str)
where
    F: Fn(&VerifierJob) -> Result<VerifierReport, VerifierError> + Send + Sync + 'static,
{
    let output = Scene::new(entry("mine", "code", json!({}))).await.run_with(mine(does)).await.0.output;
    assert_eq!(text(&output), format!("error -\nerror VERIFIER_FAIL - {message}"));
}

#[tokio::test]
async fn a_slow_and_a_missing_verifier_are_findings() {
    let scene = Scene::new(entry("mine", "code", json!({"timeout_sec": 1}))).await;
    let output = scene.run_with(Crew::new().with_verifier("mine", HangingVerifier)).await.0.output;
    assert_eq!(text(&output), "error -\nerror VERIFIER_FAIL - the verifier took longer than 1 s");
    assert!(Duration::from_millis(output.ms) >= Duration::from_secs(1));
    let output = Scene::new(entry("mine", "code", json!({}))).await.output().await;
    let why = "there is no verifier `mine` in this program; add it by `Crew::with_verifier`";
    assert_eq!(text(&output), format!("error -\nerror VERIFIER_FAIL - {why}"));
}

#[tokio::test]
async fn an_error_that_other_children_remove_counts_as_an_info() {
    let both = |_: &VerifierJob| -> Result<VerifierReport, VerifierError> {
        Ok(VerifierReport::of([todo(3), Finding::warning(FindingKind::Style, "long")]))
    };
    let scene = Scene::new(entry("mine", "code", json!({}))).await;
    let (ran, mut scene) = scene.run_with(mine(both)).await;
    scene.job.expected = fingerprints(&ran.output);
    let output = scene.run_with(mine(both)).await.0.output;
    insta::assert_snapshot!(text(&output), @r"
    info pass
    info TODO src/tides.rs:3 a TODO in line 3
    info STYLE - long
    ");
}

#[tokio::test]
async fn the_most_severe_of_many_findings_are_kept() {
    let many = |_: &VerifierJob| -> Result<VerifierReport, VerifierError> {
        let infos = (0..9).map(|nth| Finding::info(FindingKind::Style, format!("style {nth}")));
        Ok(VerifierReport::of(infos.chain([todo(3)])))
    };
    let scene = Scene::new(entry("mine", "code", json!({"max_findings": 2}))).await;
    let output = scene.run_with(mine(many)).await.0.output;
    insta::assert_snapshot!(text(&output), @r"
    error fail
    info STYLE - style 0
    error TODO src/tides.rs:3 a TODO in line 3
    info MORE - and 8 more findings
    ");
}

/// A key in the format of AWS, in two parts so that no scanner reports this repository.
fn key() -> String {
    ["AKIA", "Q3EGR7MEXAM4T2ZB"].concat()
}

#[rstest]
#[case::settings(json!({}))]
#[case::a_diff_that_is_long(json!({"max_diff_bytes": 100}))]
#[tokio::test]
async fn a_key_in_the_changes_is_an_error_and_is_not_shown(#[case] config: serde_json::Value) {
    let (long, file) = ("tide\n".repeat(2000), format!("one\nAWS_KEY={}\n", key()));
    let scene = Scene::with(entry("secrets", "code", config), &[("a.txt", &long), ("src/settings.ini", &file)]).await;
    let output = scene.output().await;
    let found = "error SECRET src/settings.ini:2 aws-access-key: an access key of AWS: AKIA…";
    assert_eq!(text(&output), format!("error fail\n{found}"));
    assert!(!format!("{output:?}").contains(&key()));
}

#[tokio::test]
async fn changes_without_keys_pass() {
    let output = Scene::new(entry("secrets", "code", json!({}))).await.output().await;
    assert_eq!(text(&output), "info pass");
}
