//! Reports of a verifier's command: from its exit code, its own JSON, or the end of an output without diagnostics.

use std::collections::HashSet;
use std::time::Duration;

use proptest::prelude::*;
use rstest::rstest;
use superstep::findings::{
    Finding, FindingKind, Normalizer, ReportReader, Severity, ShellExit, ShellOutput, Verdict, VerifierReport,
};

fn report(stdout: &str, stderr: &str, exit: ShellExit) -> VerifierReport {
    let normalizer = Normalizer::new(["/home/ada/tides"]);
    let output = ShellOutput { stdout: stdout.as_bytes(), stderr: stderr.as_bytes(), exit };
    ReportReader::new("licences", "./licences.sh", &normalizer).read(&output)
}

fn shown(report: &VerifierReport) -> String {
    let verdict = report.verdict.map_or("none".to_owned(), |verdict| verdict.to_string());
    let findings = report.findings.iter().map(|finding| {
        let kind = serde_json::to_value(&finding.kind).unwrap();
        format!("\n{} {}: {}", finding.severity, kind.as_str().unwrap(), finding.message)
    });
    format!("{} {verdict}{}", report.severity, findings.collect::<String>())
}

#[rstest]
#[case::success("fine", "", ShellExit::Code(0), "info pass")]
#[case::silent_failure("", "", ShellExit::Code(3), "error fail\nerror LICENCES: `./licences.sh` ended with 3")]
#[case::unreadable(
    "checking\n",
    "three files\nhave no licence\n-----\n",
    ShellExit::Code(1),
    "error fail\nerror LICENCES: `./licences.sh` ended with 1: have no licence"
)]
#[case::only_output(
    "no licence\n",
    "\n",
    ShellExit::Code(1),
    "error fail\nerror LICENCES: `./licences.sh` ended with 1: no licence"
)]
#[case::warnings_do_not_explain_a_failure(
    "a.c:3:1: warning: old\n",
    "",
    ShellExit::Code(1),
    "error fail\nerror LICENCES: `./licences.sh` ended with 1: a.c:3:1: warning: old\nwarning BUILD_FAIL: old"
)]
#[case::errors_of_a_success_are_warnings(
    "a.c:3:1: error: old\n",
    "",
    ShellExit::Code(0),
    "warning pass\nwarning BUILD_FAIL: old"
)]
#[case::both_streams(
    "a.c:3:1: error: old\n",
    "b.c:3:1: error: new\n",
    ShellExit::Code(1),
    "error fail\nerror BUILD_FAIL: old\nerror BUILD_FAIL: new"
)]
#[case::missing(
    "",
    "sh: 1: ./licences.sh: not found\n",
    ShellExit::Code(127),
    "error fail\nerror VERIFIER_FAIL: `./licences.sh` ended with 127: sh: 1: ./licences.sh: not found"
)]
#[case::killed(
    "",
    "",
    ShellExit::Signal(Some(9)),
    "error none\nerror VERIFIER_FAIL: `./licences.sh` was killed by signal 9"
)]
#[case::timed_out(
    "a.c:3:1: error: old\n",
    "",
    ShellExit::TimedOut(Duration::from_secs(120)),
    "error none\nerror VERIFIER_FAIL: `./licences.sh` took longer than 120 s and was killed: a.c:3:1: error: old\nerror BUILD_FAIL: old"
)]
#[case::colours(
    "\u{1b}[31ma.c:3:1: \u{1b}]8;;http://x\u{7}error\u{1b}[0m: old\r\n",
    "",
    ShellExit::Code(1),
    "error fail\nerror BUILD_FAIL: old"
)]
#[case::written_over("10%\r20%\ra.c:3:1: error: old\r\n", "", ShellExit::Code(1), "error fail\nerror BUILD_FAIL: old")]
fn an_exit_is_judged(#[case] stdout: &str, #[case] stderr: &str, #[case] exit: ShellExit, #[case] expected: &str) {
    assert_eq!(shown(&report(stdout, stderr, exit)), expected);
}

#[rstest]
#[case::minimal(r#"{"severity": "info", "findings": []}"#, 0, "info none")]
#[case::verdict(r#"{"severity": "info", "findings": [], "verdict": "advisory"}"#, 0, "info advisory")]
#[case::short_finding(
    r#"{"severity": "warning", "findings": [{"message": "no licence"}]}"#,
    0,
    "warning none\nwarning LICENCES: no licence"
)]
#[case::own_type(
    r#"{"severity": "error", "findings": [{"type": "GPL", "severity": "info", "message": "no licence"}]}"#,
    0,
    "error none\ninfo GPL: no licence"
)]
#[case::finding_graver_than_the_report(
    r#"{"severity": "info", "findings": [{"type": "BUILD_FAIL", "severity": "error", "message": "no licence"}]}"#,
    0,
    "error none\nerror BUILD_FAIL: no licence"
)]
#[case::error_without_a_finding(
    r#"{"severity": "error", "findings": [], "verdict": "fail"}"#,
    0,
    "error fail\nerror LICENCES: `./licences.sh` reports an error without a finding"
)]
#[case::exit_graver_than_the_report(
    r#"{"severity": "info", "findings": [], "verdict": "pass"}"#,
    2,
    "error fail\nerror LICENCES: `./licences.sh` ended with 2"
)]
#[case::no_severity(
    r#"{"findings": []}"#,
    0,
    "error none\nerror VERIFIER_FAIL: `./licences.sh` wrote a JSON object that is not a report: \
     `severity` is missing: error, warning or info"
)]
#[case::another_shape(
    r#"{"vulnerabilities": 3}"#,
    0,
    "error none\nerror VERIFIER_FAIL: `./licences.sh` wrote a JSON object that is not a report: \
     `severity` is missing: error, warning or info; `findings` is missing: a list, which may be empty"
)]
#[case::everything_at_once(
    r#"{"severity": "bad", "verdict": 3, "findings": [1, {"type": 2, "evidence": {"lines": "5-3", "file": []}}]}"#,
    0,
    "error none\nerror VERIFIER_FAIL: `./licences.sh` wrote a JSON object that is not a report: \
     `severity` is not error, warning or info; `verdict` is not pass, fail or advisory; `findings[0]` is not an object; \
     `findings[1].message` is missing: a text; `findings[1].type` is not a text; \
     `findings[1].evidence.file` is not a text; `findings[1].evidence.lines` is wrong: `5-3` is neither a line such as `3` \
     nor a range of lines such as `3-5`, counted from 1"
)]
#[case::line_of_a_tool(r#"{"reason":"build-finished","success":true}"#, 0, "info pass")]
#[case::no_object("[1, 2]", 0, "info pass")]
#[case::two_objects("{\"severity\": \"error\"}\n{\"severity\": \"error\"}", 0, "info pass")]
fn an_object_is_the_report(#[case] stdout: &str, #[case] code: i32, #[case] expected: &str) {
    assert_eq!(shown(&report(stdout, "", ShellExit::Code(code))), expected);
}

#[test]
fn beside_a_json_report_nothing_else_is_read() {
    let report = report(r#"{"severity": "info", "findings": []}"#, "a.c:3:1: error: old\n", ShellExit::Code(0));
    assert_eq!(report.findings, []);
}

#[test]
fn a_report_is_completed() {
    let stdout = r#"{"severity": "error", "findings": [
        {"message": "no licence", "evidence": {"file": "/home/ada/tides/src/a.c", "lines": 3}},
        {"message": "no licence", "evidence": {"lines": "3-5", "command": "grep"}, "fingerprint": "mine"}
    ]}"#;
    insta::assert_snapshot!(serde_json::to_string_pretty(&report(stdout, "", ShellExit::Code(1)).findings).unwrap(), @r#"
    [
      {
        "type": "LICENCES",
        "severity": "error",
        "message": "no licence",
        "evidence": {
          "file": "src/a.c",
          "lines": "3",
          "log": null,
          "command": "./licences.sh"
        },
        "fingerprint": "61f5e8afe429a55ef67ef65755a05925"
      },
      {
        "type": "LICENCES",
        "severity": "error",
        "message": "no licence",
        "evidence": {
          "file": null,
          "lines": "3-5",
          "log": null,
          "command": "grep"
        },
        "fingerprint": "mine"
      }
    ]
    "#);
}

#[test]
fn a_report_has_the_command_and_the_end_of_the_output() {
    let lines: String = (0..100).map(|nth| format!("line {nth}\n")).collect();
    let evidence = report(&lines, "the end\n", ShellExit::Code(0)).evidence;
    assert_eq!(evidence.command.as_deref(), Some("./licences.sh"));
    let log = evidence.log.unwrap();
    assert!(log.ends_with("line 99\n\nthe end") && !log.contains("line 50\n"), "{log}");
}

#[test]
fn an_end_without_a_cause_has_the_same_fingerprint_in_the_next_run() {
    let end = |text: &str| report("", text, ShellExit::Code(1)).findings[0].fingerprint.clone();
    let first = end("checked 3 files in 0.2s\n/home/ada/tides/src/a.c has no licence\n");
    assert_eq!(first, end("checked 12 files in 31ms\nsrc/a.c has no licence\n"));
    assert_ne!(first, end("checked 3 files in 0.2s\nsrc/b.c has no licence\n"));
}

#[test]
fn kinds_of_exit_are_distinguished() {
    let seconds = Duration::from_secs;
    let fingerprint = |exit| report("", "", exit).findings[0].fingerprint.clone();
    let exits = [
        ShellExit::Code(1),
        ShellExit::Signal(Some(9)),
        ShellExit::Signal(Some(11)),
        ShellExit::Signal(None),
        ShellExit::TimedOut(seconds(9)),
    ];
    let fingerprints: HashSet<_> = exits.map(fingerprint).into();
    assert_eq!(fingerprints.len(), exits.len());
    assert_eq!(fingerprint(ShellExit::TimedOut(seconds(9))), fingerprint(ShellExit::TimedOut(seconds(60))));
}

#[test]
fn the_most_severe_and_distinct_findings_are_kept() {
    let warnings: String = (1..=90).map(|line| format!("a.c:{line}:1: warning: old {line}\n")).collect();
    let errors: String = (1..=60).map(|line| format!("a.c:{line}:1: error: new {line}\n")).collect();
    let last = "b.c:1:1: error: another\n";
    let findings = report(&(warnings + &errors + last), "", ShellExit::Code(1)).findings;
    assert_eq!(findings.len(), 101);
    assert!(findings.iter().any(|finding| finding.message == "another"));
    assert_eq!(findings.iter().filter(|finding| finding.severity == Severity::Error).count(), 61);
    assert_eq!(findings[100].message, "and 51 more findings");
    assert_eq!(findings[100].severity, Severity::Info);
}

#[rstest]
#[case::fewer(3, 4)]
#[case::as_many(2000, 1001)]
fn the_number_of_findings_has_a_limit(#[case] most: usize, #[case] expected: usize) {
    let errors: String = (1..=1500).map(|line| format!("a.c:{line}:1: error: new\n")).collect();
    let normalizer = Normalizer::default();
    let output = ShellOutput { stdout: errors.as_bytes(), stderr: b"", exit: ShellExit::Code(1) };
    let findings = ReportReader::new("build", "make", &normalizer).max_findings(most).read(&output).findings;
    assert_eq!(findings.len(), expected);
}

#[rstest]
#[case::enough(3, "info 1, error 2, info 3")]
#[case::gravest_in_order(2, "info 1, error 2, info and 1 more findings")]
#[case::one(1, "error 2, info and 2 more findings")]
#[case::none(0, "info and 3 more findings")]
fn a_report_is_limited_once(#[case] most: usize, #[case] expected: &str) {
    let finding = |severity, nth: u32| Finding::new(FindingKind::Style, severity, nth.to_string());
    let findings = [finding(Severity::Info, 1), finding(Severity::Error, 2), finding(Severity::Info, 3)];
    let mut report = VerifierReport::of(findings);
    for _ in 0..2 {
        report.limit(most);
        let shown = report.findings.iter().map(|finding| format!("{} {}", finding.severity, finding.message));
        assert_eq!(shown.collect::<Vec<_>>().join(", "), expected);
    }
}

#[test]
fn bytes_that_are_not_text_are_read() {
    let output = ShellOutput { stdout: b"a.c:3:1: error: \xff\xfe\n", stderr: b"\x1b[", exit: ShellExit::Code(1) };
    let findings = ReportReader::new("build", "make", &Normalizer::default()).read(&output).findings;
    assert_eq!(findings[0].message, "\u{fffd}\u{fffd}");
}

/// Lines that start like diagnostics, in any order.
fn output() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "[ -~]{0,40}",
        "\\PC{0,20}",
        "(error|warning|note)(\\[E[0-9]{4}\\])?: [a-z ]{0,10}",
        " {0,8}--> [a-z/.]{1,8}:[0-9]{1,12}:[0-9]",
        "thread '[a-z:]{1,8}' panicked at [a-z.:0-9]{0,10}",
        "(---- |--- FAIL: |FAILED |ERROR |● |✖ |not ok 1 - |panic: |FAIL |test )[a-z:.> ]{0,12}( stdout ----|ms\\)| \\.\\.\\. FAILED)?",
        "Traceback \\(most recent call last\\):|  File \"a\\.py\", line [0-9]{1,12}|[A-Z][a-z]{1,4}Error: [a-z]{0,4}",
        "_{4,9} [a-z.]{1,9} _{4,9}|E  [a-z ]{0,5}|={5,9}|goroutine 1|\t/a\\.go:3 \\+0x1",
        "    at [a-z]{1,4} \\([a-z/.]{1,6}:[0-9]{1,12}(:[0-9])?\\)|\tat a\\.B\\.c\\(B\\.java:[0-9]\\)|Caused by: [a-z]{0,4}",
        "[a-z/.]{1,8}[:(][0-9]{1,12}[:,)-]{0,2}[0-9]{0,3}[:)]{0,2} ?(error|warning)?[ :][a-zé ]{0,9}(\\[[a-z/-]{0,6}\\])?",
        "\\{\"(reason|\\$message_type)\":\"[a-z-]{0,20}\"[ -~]{0,10}\\}?",
    ];
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn any_output_becomes_a_report(stdout in output(), stderr in output(), code in 0..3) {
        let report = report(&stdout, &stderr, ShellExit::Code(code));
        let gravest = report.findings.iter().map(|finding| finding.severity).max().unwrap_or_default();
        prop_assert_eq!(report.severity, gravest);
        prop_assert_eq!(report.severity == Severity::Error, code != 0);
        prop_assert_eq!(report.verdict, Some(if code == 0 { Verdict::Pass } else { Verdict::Fail }));
        prop_assert!(report.findings.iter().all(|finding| finding.fingerprint.as_str().len() == 32));
    }
}
