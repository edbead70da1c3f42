//! The parts of a finding, in Rust and in JSON.

use rstest::rstest;
use serde_json::json;
use superstep::findings::{Evidence, Finding, FindingKind, Fingerprint, Lines, Severity};

#[rstest]
#[case::one("3", Lines { first: 3, last: 3 })]
#[case::range("3-5", Lines { first: 3, last: 5 })]
#[case::spaces(" 3 - 5 ", Lines { first: 3, last: 5 })]
fn lines_are_a_number_or_a_range(#[case] text: &str, #[case] lines: Lines) {
    assert_eq!(text.parse(), Ok(lines));
    assert_eq!(lines.to_string().parse(), Ok(lines));
}

#[rstest]
#[case::zero("0")]
#[case::backwards("5-3")]
#[case::words("three")]
#[case::empty("")]
#[case::open("3-")]
fn other_texts_are_not_lines(#[case] text: &str) {
    let error = text.parse::<Lines>().unwrap_err();
    assert_eq!(error.text, text);
}

#[test]
fn severities_have_an_order() {
    assert!(Severity::Error > Severity::Warning && Severity::Warning > Severity::Info);
}

#[test]
fn a_finding_has_the_documented_shape() {
    let finding = Finding {
        kind: FindingKind::BuildFail,
        severity: Severity::Error,
        message: "mismatched types".to_owned(),
        evidence: Evidence { file: Some("src/lib.rs".to_owned()), lines: Some(Lines::at(3)), ..Evidence::default() },
        fingerprint: Fingerprint::from("0f".repeat(16)),
    };
    let expected = json!({
        "type": "BUILD_FAIL",
        "severity": "error",
        "message": "mismatched types",
        "evidence": {"file": "src/lib.rs", "lines": "3", "log": null, "command": null},
        "fingerprint": "0f".repeat(16),
    });
    assert_eq!(serde_json::to_value(&finding).unwrap(), expected);
    assert_eq!(serde_json::from_value::<Finding>(expected).unwrap(), finding);
}

#[rstest]
#[case::known(FindingKind::SpecDivergence, "SPEC_DIVERGENCE")]
#[case::own(FindingKind::Other("LICENCE".to_owned()), "LICENCE")]
fn a_kind_is_written_as_its_name(#[case] kind: FindingKind, #[case] name: &str) {
    assert_eq!(serde_json::to_value(&kind).unwrap(), json!(name));
    assert_eq!(serde_json::from_value::<FindingKind>(json!(name)).unwrap(), kind);
}
