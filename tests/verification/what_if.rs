//! Recorded decisions made again with other limits, severities or skipped verifiers.

use rstest::rstest;
use superstep::decide::{
    AttemptDecision, AttemptHistory, AttemptId, AttemptKind, Case, DecisionRecord, Override, PastAttempt,
    RecordedDecision, Rules, SettingChanges, what_if,
};
use superstep::findings::Counts;
use superstep::spec::RunSettings;

use crate::attempts::{outputs, settings};

/// A recorded run; an attempt after a `!` was overridden with DONE.
fn run(settings: &RunSettings, attempts: &[&str], spent_at: Option<usize>) -> Vec<RecordedDecision> {
    let mut history = AttemptHistory::of(Some("tree 0".to_owned()));
    let mut was_split = false;
    let mut recorded = Vec::new();
    for (at, changes) in attempts.iter().enumerate() {
        let over = changes.starts_with('!').then(|| Override::new("DONE", "fine", "ada", "now").unwrap());
        let kind = if was_split { AttemptKind::Children } else { AttemptKind::Turn };
        let tree = Some(format!("tree {at}"));
        let mut outputs = outputs(changes.trim_start_matches('!'));
        history.record(PastAttempt::new(at as u32 + 1, kind, tree.clone()), &mut outputs, &settings.verifiers);
        let spent = spent_at.filter(|spent| *spent == at).map(|_| "4h");
        let case = Case::new(&outputs, &history, &settings.verifiers, &settings.policy);
        let decision = Rules::standard().decide(&Case { over: over.as_ref(), spent, ..case });
        was_split = decision.kind == superstep::decide::DecisionKind::Split;
        let about = AttemptId { task_id: "a".to_owned(), run_id: "r".to_owned(), attempt: at as u32 + 1, depth: 0 };
        let counts = Counts::of(&outputs);
        let record = DecisionRecord { tree, ..DecisionRecord::new(about, decision, over.as_ref(), counts, "now") };
        recorded.push(RecordedDecision { outputs, record });
    }
    recorded
}

fn decided(settings: &RunSettings, recorded: &[RecordedDecision], changes: &[&str]) -> String {
    let changes = SettingChanges::parse(changes, settings).unwrap();
    let found = what_if(recorded, &changes, &Rules::standard());
    found.iter().map(|found| format!("{}>{}/{}", found.recorded, found.now, found.rule)).collect::<Vec<_>>().join(" ")
}

const RUN: [&str; 3] = ["build=E:a", "build=E:b test=E:c", "build=W:d bigpicture=W:e"];

#[rstest]
#[case::nothing(&[], "RETRY>RETRY/retry RETRY>RETRY/retry DONE>DONE/done")]
#[case::attempts(&["max_attempts=2"], "RETRY>RETRY/retry RETRY>GIVE_UP/exhausted DONE>DONE/done")]
#[case::threshold(&["split_on_repeat_errors=1"], "RETRY>SPLIT/repeated RETRY>SPLIT/repeated DONE>DONE/done")]
#[case::both(&["split_on_repeat_errors=1", "max_depth=0"], "RETRY>GIVE_UP/repeated RETRY>GIVE_UP/repeated DONE>DONE/done")]
#[case::severity(&["severity.build=warning"], "RETRY>DONE/done RETRY>RETRY/retry DONE>DONE/done")]
#[case::graver(&["severity.bigpicture=error", "max_attempts=4"], "RETRY>RETRY/retry RETRY>RETRY/retry DONE>RETRY/retry")]
#[case::strict(&["strict=true"], "RETRY>RETRY/retry RETRY>RETRY/retry DONE>GIVE_UP/exhausted")]
#[case::skipped(&["skip=test"], "RETRY>RETRY/retry RETRY>RETRY/retry DONE>DONE/done")]
#[case::required_and_skipped(&["skip=build,test"], "RETRY>GIVE_UP/unverified RETRY>GIVE_UP/unverified DONE>GIVE_UP/unverified")]
#[case::not_required_any_more(&["skip=build,test", "required.build=false"], "RETRY>DONE/done RETRY>DONE/done DONE>DONE/done")]
#[case::warnings(&["warn_triggers_retry=true", "max_attempts=4"], "RETRY>RETRY/retry RETRY>RETRY/retry DONE>RETRY/warnings")]
#[case::warnings_of_one(&["warn_triggers_retry.bigpicture=true", "max_attempts=4"], "RETRY>RETRY/retry RETRY>RETRY/retry DONE>RETRY/warnings")]
#[case::on_fail(&["on_fail.test=abort"], "RETRY>RETRY/retry RETRY>FAIL/abort DONE>DONE/done")]
fn each_attempt_is_decided_again(#[case] changes: &[&str], #[case] expected: &str) {
    let settings = RunSettings::default();
    assert_eq!(decided(&settings, &run(&settings, &RUN, None), changes), expected);
}

#[test]
fn overrides_and_budgets_stay_as_they_were() {
    let settings = RunSettings::default();
    let recorded = run(&settings, &["build=E:a", "!build=E:b"], Some(0));
    let expected = "GIVE_UP>GIVE_UP/budget DONE>DONE/override";
    assert_eq!(decided(&settings, &recorded, &["max_attempts=9"]), expected);
}

#[test]
fn an_attempt_after_a_split_is_the_childrens() {
    let settings = settings("", "policy: { max_attempts: 2 }");
    let recorded = run(&settings, &["build=E:a", "build=E:a", "build=E:a", "build=E:a"], None);
    let expected = "RETRY>RETRY/retry SPLIT>SPLIT/repeated RETRY>RETRY/children GIVE_UP>GIVE_UP/children";
    assert_eq!(decided(&settings, &recorded, &[]), expected);
    let deeper = "RETRY>RETRY/retry SPLIT>GIVE_UP/repeated RETRY>RETRY/children GIVE_UP>GIVE_UP/children";
    assert_eq!(decided(&settings, &recorded, &["max_depth=0"]), deeper);
}

#[test]
fn a_refused_split_stays_refused() {
    let settings = RunSettings::default();
    let mut recorded = run(&settings, &["build=E:a", "build=E:a", "build=E:a", "build=E:b"], None);
    recorded[2].record.decision = AttemptDecision::split_rejected("no child is smaller than its parent");
    let found = decided(&settings, &recorded[..3], &[]);
    assert_eq!(found, "RETRY>RETRY/retry SPLIT>SPLIT/repeated GIVE_UP>GIVE_UP/split");
    let found = decided(&settings, &recorded[..3], &["split_on_repeat_errors=3"]);
    assert_eq!(
        found, "RETRY>RETRY/retry SPLIT>RETRY/retry GIVE_UP>RETRY/retry",
        "one that was not needed is not refused"
    );
}

#[test]
fn an_override_of_a_question_uses_no_turn() {
    let settings = settings("", "verifier_overrides: { build: { on_fail: human } }\npolicy: { max_attempts: 2 }");
    let recorded = run(&settings, &["build=E:a", "!build=E:a", "test=E:b"], None);
    let found = decided(&settings, &recorded, &["on_fail.build=retry"]);
    assert_eq!(found, "ASK>RETRY/retry DONE>DONE/override GIVE_UP>GIVE_UP/exhausted");
    let found = decided(&settings, &recorded, &["on_fail.build=retry", "max_attempts=3"]);
    assert_eq!(found, "ASK>RETRY/retry DONE>DONE/override GIVE_UP>RETRY/retry", "two turns were used");
}

#[test]
fn nothing_changes_without_changes() {
    for attempts in
        [&["build=E:a", "build=E:a"][..], &["test=E:a", "build=fail", "alignment=W:x"], &["alignment=skipped"]]
    {
        let settings = RunSettings::default();
        let changes = SettingChanges::parse::<&str>(&[], &settings).unwrap();
        let recorded = run(&settings, attempts, None);
        for found in what_if(&recorded, &changes, &Rules::standard()) {
            let record = &recorded[found.attempt as usize - 1].record;
            assert_eq!((found.now, &found.rule), (found.recorded, &record.decision.rule));
        }
    }
}

#[test]
fn the_json_is_flat() {
    let settings = RunSettings::default();
    let found = what_if(
        &run(&settings, &[""], None),
        &SettingChanges::parse::<&str>(&[], &settings).unwrap(),
        &Rules::standard(),
    );
    let json = serde_json::to_string(&found).unwrap();
    assert_eq!(json, r#"[{"attempt":1,"recorded":"DONE","now":"DONE","rule":"done"}]"#);
}

#[test]
fn every_change_that_cannot_be_made_is_reported_at_once() {
    let changes = [
        "max_atempts=2",
        "max_attempts=11",
        "strict",
        "strict=yes",
        "severity.buidl=warning",
        "severity.build=grave",
        "skip=tests",
        "severity=warning",
        "on_fail.test=stop",
    ];
    let error = SettingChanges::parse(&changes, &RunSettings::default()).unwrap_err();
    insta::assert_snapshot!(error, @"
    max_atempts: this key is unknown; did you mean `max_attempts`?
    max_attempts: must be from 1 to 10, not `11`
    `strict` is not KEY=VALUE
    strict: must be `true` or `false`, not `yes`
    severity.buidl: no verifier has the id `buidl`; did you mean `build`?
    severity.build: `grave` is not one of `info`, `warning`, `error`
    skip: no verifier has the id `tests`; did you mean `test`?
    severity: this key is unknown; did you mean `severity.ID`?
    on_fail.test: `stop` is not one of `retry`, `abort`, `human`
    ");
}
