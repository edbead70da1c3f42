//! Decisions: the rules and their order, repeated errors, and the limits of custom rules.

use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;
use superstep::decide::{
    AttemptDecision, AttemptHistory, AttemptId, AttemptKind, Case, DecisionKind, DecisionRecord, Override, PastAttempt,
    Rules, Ruling, excuse_errors, may_run, rule, severity, table,
};
use superstep::findings::{Counts, FindingKind, Fingerprint, Severity, Verdict, VerifierOutput};
use superstep::spec::{RunSettings, Stage, Verifiers};

use crate::attempts::{KINDS, Step, decided, decisions, finding, last, output, outputs, sequence, settings, steps};

fn with(front: &str) -> RunSettings {
    settings("", front)
}

#[rstest]
#[case::nothing_failed(&[""], "DONE/done")]
#[case::infos_and_warnings(&["build=I:a test=W:b"], "DONE/done")]
#[case::an_error(&["build=E:a", ""], "RETRY/retry DONE/done")]
#[case::a_verdict(&["bigpicture=fail", ""], "RETRY/retry DONE/done")]
#[case::other_errors(&["build=E:a", "build=E:b", "build=E:c"], "RETRY/retry RETRY/retry GIVE_UP/exhausted")]
#[case::the_same_error(&["build=E:a", "build=E:a"], "RETRY/retry SPLIT/repeated")]
#[case::not_in_a_row(&["build=E:a", "build=E:b", "build=E:a"], "RETRY/retry RETRY/retry SPLIT/repeated")]
#[case::by_another_verifier(&["build=E:a", "test=E:b"], "RETRY/retry RETRY/retry")]
#[case::one_of_many(&["build=E:a build=E:b", "build=E:c build=E:b"], "RETRY/retry SPLIT/repeated")]
#[case::a_warning_again(&["build=W:a test=E:x", "build=W:a test=E:y"], "RETRY/retry RETRY/retry")]
#[case::a_warning_that_became_an_error(&["build=W:a test=E:x", "build=E:a"], "RETRY/retry RETRY/retry")]
#[case::gone_and_back(&["build=E:a", "", "build=E:a"], "RETRY/retry DONE/done SPLIT/repeated")]
#[case::skipped(&["alignment=skipped"], "GIVE_UP/unverified")]
#[case::missing(&["secrets=missing"], "GIVE_UP/unverified")]
#[case::not_required(&["bigpicture=skipped test=skipped"], "DONE/done")]
#[case::errors_of_what_was_skipped(&["bigpicture=E:a bigpicture=skipped"], "DONE/done")]
#[case::an_error_before_what_is_missing(&["build=E:a alignment=missing"], "RETRY/retry")]
fn rules_decide_in_their_order(#[case] attempts: &[&str], #[case] decisions: &str) {
    assert_eq!(decided(&RunSettings::default(), attempts), decisions);
}

#[rstest]
#[case::one_attempt("policy: { max_attempts: 1 }", &["build=E:a"], "GIVE_UP/exhausted")]
#[case::no_depth("policy: { max_depth: 0 }", &["build=E:a", "build=E:a"], "RETRY/retry GIVE_UP/repeated")]
#[case::three_times(
    "policy: { split_on_repeat_errors: 3, max_attempts: 5 }",
    &["build=E:a", "build=E:a", "build=E:b", "build=E:a"],
    "RETRY/retry RETRY/retry RETRY/retry SPLIT/repeated"
)]
#[case::warnings(
    "policy: { warn_triggers_retry: true }",
    &["build=W:a", "build=W:a", "build=W:a"],
    "RETRY/warnings RETRY/warnings DONE/done"
)]
#[case::warnings_of_one("verifier_overrides: { test: { warn_triggers_retry: true } }", &["build=W:a", "test=W:a"], "DONE/done RETRY/warnings")]
#[case::but_not_of_another(
    "policy: { warn_triggers_retry: true }\nverifier_overrides: { build: { warn_triggers_retry: false } }",
    &["build=W:a"],
    "DONE/done"
)]
#[case::abort("verifier_overrides: { build: { on_fail: abort } }", &["test=E:a", "build=E:b"], "RETRY/retry FAIL/abort")]
#[case::human("verifier_overrides: { build: { on_fail: human } }", &["build=E:b"], "ASK/human")]
#[case::abort_before_human(
    "verifier_overrides: { build: { on_fail: human }, test: { on_fail: abort } }",
    &["build=E:b test=E:c"],
    "FAIL/abort"
)]
#[case::advice("verifier_overrides: { style: {} }", &["style=E:a"], "DONE/done")]
#[case::advice_with_a_retry("verifier_overrides: { style: { warn_triggers_retry: true } }", &["style=E:a"], "RETRY/warnings")]
#[case::advice_that_is_required("verifier_overrides: { style: { required: true } }", &["style=E:a"], "RETRY/retry")]
#[case::required_by_the_task("verifier_overrides: { bigpicture: { required: true } }", &["bigpicture=missing"], "GIVE_UP/unverified")]
fn settings_change_what_is_decided(#[case] front: &str, #[case] attempts: &[&str], #[case] decisions: &str) {
    assert_eq!(decided(&with(front), attempts), decisions);
}

#[test]
fn a_parent_gets_one_more_attempt_after_its_children() {
    let same = ["build=E:a", "build=E:a", "|build=E:a", "build=E:a"];
    let expected = "RETRY/retry SPLIT/repeated RETRY/children GIVE_UP/children";
    assert_eq!(decided(&with("policy: { max_attempts: 10 }"), &same), expected);
    assert_eq!(decided(&with("policy: { max_attempts: 2 }"), &same), expected, "however many were left");
    let done = ["build=E:a", "build=E:a", "|"];
    assert_eq!(decided(&RunSettings::default(), &done), "RETRY/retry SPLIT/repeated DONE/done");
    let warned = ["build=E:a", "build=E:a", "|build=W:b", "build=E:c"];
    let retries = with("policy: { warn_triggers_retry: true }");
    assert_eq!(decided(&retries, &warned), "RETRY/retry SPLIT/repeated RETRY/warnings GIVE_UP/children");
}

#[test]
fn an_attempt_that_was_only_overridden_does_not_count() {
    let (settings, mut history) = (RunSettings::default(), AttemptHistory::default());
    let mut record = |number: u32, kind: AttemptKind| {
        let mut outputs = outputs("build=E:a");
        history.record(PastAttempt::new(number, kind, None), &mut outputs, &settings.verifiers);
        (history.turns(), history.repeated_errors(2).len())
    };
    assert_eq!(record(1, AttemptKind::Turn), (1, 0));
    assert_eq!(record(2, AttemptKind::Override), (1, 0));
    assert_eq!(record(3, AttemptKind::Turn), (2, 1));
}

#[test]
fn with_strict_warnings_count_as_errors() {
    let mut strict = RunSettings::default();
    strict.verifiers.strict = true;
    assert_eq!(decided(&strict, &["build=W:a", "build=W:a"]), "RETRY/retry SPLIT/repeated");
    assert_eq!(decided(&strict, &["build=I:a"]), "DONE/done");
}

#[test]
fn thirty_findings_of_one_kind_in_one_attempt_are_not_repeated() {
    let says = "build=E:a ".repeat(30);
    let decision = last(&RunSettings::default(), &[&says]);
    assert_eq!((decision.kind, decision.repeated), (DecisionKind::Retry, vec![]));
}

#[test]
fn errors_that_no_smaller_task_can_remove_cause_no_split() {
    let mut crashed = output("build", vec![finding(Severity::Error, "a")]);
    crashed.findings[0].kind = FindingKind::VerifierFail;
    let (settings, mut history) = (RunSettings::default(), AttemptHistory::default());
    let mut kinds = Vec::new();
    for number in 1..=2 {
        let mut outputs = vec![crashed.clone()];
        history.record(PastAttempt::new(number, AttemptKind::Turn, None), &mut outputs, &settings.verifiers);
        let decision = Rules::standard().decide(&Case::new(&outputs, &history, &settings.verifiers, &settings.policy));
        kinds.push((decision.kind, decision.reason));
    }
    assert_eq!(kinds[0].0, DecisionKind::Retry);
    let reason =
        "repeated: aaaaaaaa (a) was seen in attempts 1 and 2; there is no error that a smaller task could remove";
    assert_eq!(kinds[1], (DecisionKind::GiveUp, reason.to_owned()));
}

#[rstest]
#[case("build=E:a", "retry: `build` failed; 2 attempts left")]
#[case("build=E:a test=E:b bigpicture=fail", "retry: `build`, `test` and `bigpicture` failed; 2 attempts left")]
#[case("build=W:a build=W:b", "done: no verifier failed; 2 warnings")]
#[case("", "done: no verifier failed")]
#[case(
    "alignment=skipped secrets=missing",
    "unverified: required verifier `alignment` was skipped; required verifier `secrets` did not run; only an override makes it DONE"
)]
fn a_reason_names_the_rule_and_its_evidence(#[case] says: &str, #[case] reason: &str) {
    assert_eq!(last(&RunSettings::default(), &[says]).reason, reason);
}

#[test]
fn a_decision_lists_the_repeated_errors() {
    let decision = last(&RunSettings::default(), &["build=E:a build=E:b", "build=E:b build=E:c"]);
    assert_eq!(decision.reason, "repeated: bbbbbbbb (b) was seen in attempts 1 and 2");
    assert_eq!(decision.repeated, [Fingerprint::from("b".repeat(32))]);
}

// --- before the errors ---

#[rstest]
#[case::budget(Some("20.0 of 20.0 dollars"), 0, None, "GIVE_UP/budget")]
#[case::granted(None, 1, None, "RETRY/granted")]
#[case::budget_first(Some("4h"), 1, None, "GIVE_UP/budget")]
#[case::override_first(Some("4h"), 1, Some("DONE"), "DONE/override")]
#[case::fail(None, 0, Some("FAIL"), "FAIL/override")]
#[case::retry(None, 0, Some("RETRY"), "RETRY/override")]
#[case::split(None, 0, Some("SPLIT"), "SPLIT/override")]
fn overrides_and_budgets_come_first(
    #[case] spent: Option<&str>,
    #[case] granted: u32,
    #[case] over: Option<&str>,
    #[case] expected: &str,
) {
    let over = over.map(|decision| Override::new(decision, "looked at it", "ada", "2026-11-23T17:00:00Z").unwrap());
    let policy = with("policy: { max_attempts: 1 }");
    let (settings, mut history, mut outputs) = (policy, AttemptHistory::default(), outputs("build=E:a"));
    history.record(PastAttempt::new(1, AttemptKind::Turn, None), &mut outputs, &settings.verifiers);
    let case = Case::new(&outputs, &history, &settings.verifiers, &settings.policy);
    let decision = Rules::standard().decide(&Case { spent, granted, over: over.as_ref(), ..case });
    assert_eq!(sequence(&[decision]), expected);
}

#[test]
fn an_override_is_on_record_with_what_it_replaced() {
    let over = Override::new("DONE", " verified it myself ", "ada", "2026-11-23T17:00:00Z").unwrap();
    let (settings, mut history, mut outputs) =
        (RunSettings::default(), AttemptHistory::default(), outputs("build=E:a test=W:b"));
    history.record(PastAttempt::new(1, AttemptKind::Turn, None), &mut outputs, &settings.verifiers);
    let case = Case::new(&outputs, &history, &settings.verifiers, &settings.policy);
    let decision = Rules::standard().decide(&Case { over: Some(&over), ..case });
    let about = AttemptId { task_id: "task-1".to_owned(), run_id: "run-1".to_owned(), attempt: 1, depth: 0 };
    let mut record = DecisionRecord::new(about, decision, Some(&over), Counts::of(&outputs), "2026-11-23T17:00:01Z");
    record.tree = Some("4b825dc".to_owned());
    let expected = json!({
        "task_id": "task-1", "run_id": "run-1", "attempt": 1, "depth": 0,
        "decision": "DONE", "reason": "override: ada decided DONE: verified it myself (in place of RETRY)", "rule": "override", "repeated": [],
        "counts": { "error": 1, "warning": 1, "info": 0 },
        "override": { "by": "ada", "why": "verified it myself", "at": "2026-11-23T17:00:00Z", "was": "RETRY" },
        "tree": "4b825dc", "commit": null, "at": "2026-11-23T17:00:01Z",
    });
    assert_eq!(serde_json::to_value(&record).unwrap(), expected);
    assert_eq!(serde_json::from_value::<DecisionRecord>(expected).unwrap(), record);
}

#[test]
fn a_record_without_an_override_has_null() {
    let decision = last(&RunSettings::default(), &["build=E:a", "build=E:a"]);
    let about = AttemptId { task_id: "a".to_owned(), run_id: "r".to_owned(), attempt: 2, depth: 1 };
    let record = DecisionRecord::new(about, decision, None, Counts::default(), "now");
    let text = serde_json::to_string(&record).unwrap();
    insta::assert_snapshot!(text, @r#"{"task_id":"a","run_id":"r","attempt":2,"depth":1,"decision":"SPLIT","reason":"repeated: aaaaaaaa (a) was seen in attempts 1 and 2","rule":"repeated","repeated":["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"],"counts":{"error":0,"warning":0,"info":0},"override":null,"tree":null,"commit":null,"at":"now"}"#);
}

#[rstest]
#[case("DONE", " ", "an override needs a reason")]
#[case("GIVE_UP", "why", "`GIVE_UP` is not a decision of a person")]
#[case("done", "why", "`done` is not a decision of a person")]
fn an_override_is_refused_without_a_reason(#[case] decision: &str, #[case] why: &str, #[case] problem: &str) {
    assert_eq!(Override::new(decision, why, "ada", "now").unwrap_err().to_string(), problem);
}

#[rstest]
#[case::too_deep(3, "GIVE_UP/override")]
#[case::in_time(2, "SPLIT/override")]
fn no_task_splits_beyond_the_depth(#[case] depth: u32, #[case] expected: &str) {
    let over = Override::new("SPLIT", "too large", "ada", "now").unwrap();
    let settings = with("policy: { max_attempts: 1 }");
    let (mut history, mut outputs) = (AttemptHistory::default(), outputs("build=E:a"));
    history.record(PastAttempt::new(1, AttemptKind::Turn, None), &mut outputs, &settings.verifiers);
    let case = Case::new(&outputs, &history, &settings.verifiers, &settings.policy);
    let decision = Rules::standard().decide(&Case { over: Some(&over), depth, ..case });
    assert_eq!(sequence(std::slice::from_ref(&decision)), expected);
    let covers = vec![Fingerprint::from("a".repeat(32))];
    assert_eq!(decision.repeated, if decision.kind == DecisionKind::Split { covers } else { vec![] });
}

// --- progress ---

fn trees(attempts: &[(&str, &str)]) -> Vec<Step> {
    let step =
        |(says, tree): &(&str, &str)| Step { says: says.to_string(), tree: tree.to_string(), kind: AttemptKind::Turn };
    attempts.iter().map(step).collect()
}

fn progress(attempts: &[(&str, &str)]) -> Vec<String> {
    let (settings, mut history) = (RunSettings::default(), AttemptHistory::of(Some("base".to_owned())));
    let messages = |(at, step): (usize, Step)| {
        let mut outputs = outputs(&step.says);
        history.record(PastAttempt::new(at as u32 + 1, step.kind, Some(step.tree)), &mut outputs, &settings.verifiers);
        let progress = outputs.into_iter().find(|output| output.verifier == "progress");
        progress.map_or(String::new(), |progress| {
            progress.findings.iter().map(|finding| finding.message.clone()).collect::<Vec<_>>().join("; ")
        })
    };
    trees(attempts).into_iter().enumerate().map(messages).collect()
}

#[test]
fn an_unchanged_tree_is_a_finding() {
    let same = "the tree did not change";
    assert_eq!(progress(&[("build=E:a", "base"), ("build=E:b", "one"), ("build=E:c", "one")]), [same, "", same]);
    assert_eq!(progress(&[("build=W:a", "base"), ("", "base")]), ["", ""], "without errors there is progress");
}

#[test]
fn alternating_errors_are_a_finding() {
    let (a, b) = ("build=E:a build=E:x", "build=E:b");
    let found = progress(&[(a, "1"), (b, "2"), (a, "3"), (b, "4"), (a, "5"), (a, "6"), (b, "7")]);
    let alternate = |n: [u32; 4]| {
        format!(
            "the errors alternate: attempts {} and {} have the same ones, and so have attempts {} and {}",
            n[0], n[2], n[1], n[3]
        )
    };
    let none = String::new;
    assert_eq!(found, [none(), none(), none(), alternate([1, 2, 3, 4]), alternate([2, 3, 4, 5]), none(), none()]);
}

#[test]
fn an_agent_that_changes_nothing_twice_is_given_up() {
    let same = trees(&[("build=E:a", "base"), ("build=E:b", "base")]);
    let decisions = decisions(&RunSettings::default(), &Rules::standard(), &same, |case| case);
    assert_eq!(sequence(&decisions), "RETRY/retry GIVE_UP/repeated");
    assert!(decisions[1].reason.contains("(the tree did not change) was seen in attempts 1 and 2"));
}

#[test]
fn children_need_not_cover_errors_they_cannot_remove() {
    let same = trees(&[("build=E:a", "base"), ("build=E:a", "base")]);
    let decisions = decisions(&RunSettings::default(), &Rules::standard(), &same, |case| case);
    assert_eq!(sequence(&decisions), "RETRY/retry SPLIT/repeated");
    assert_eq!(decisions[1].repeated, [Fingerprint::from("a".repeat(32))]);
}

#[test]
fn an_attempt_that_is_recorded_again_replaces_itself_and_later_ones() {
    let (settings, mut history) = (RunSettings::default(), AttemptHistory::default());
    let mut record = |number: u32, says: &str| {
        let mut outputs = outputs(says);
        history.record(PastAttempt::new(number, AttemptKind::Turn, None), &mut outputs, &settings.verifiers);
        (history.turns(), history.repeated_errors(2).len())
    };
    assert_eq!(record(1, "build=E:a"), (1, 0));
    assert_eq!(record(2, "build=E:a"), (2, 1));
    assert_eq!(record(2, "build=E:a"), (2, 1));
    assert_eq!(record(1, "build=E:a"), (1, 0));
}

// --- stages ---

#[rstest]
#[case("", Stage::ALIGNMENT, true)]
#[case("test=E:a", Stage::ALIGNMENT, false)]
#[case("test=W:a", Stage::ALIGNMENT, true)]
#[case("build=E:a", Stage::BUILD, true)]
#[case("build=E:a", Stage::ALIGNMENT, false)]
#[case("test=E:a", Stage::BUILD, true)]
#[case("alignment=E:a", Stage::BUILD, true)]
#[case("style=E:a", Stage::STYLE, true)]
#[case("test=E:a test=skipped", Stage::ALIGNMENT, true)]
fn a_stage_runs_only_if_nothing_failed_before_it(#[case] says: &str, #[case] stage: Stage, #[case] runs: bool) {
    assert_eq!(may_run(stage, &outputs(says), &settings("verifiers: [{ id: style }]", "").verifiers), runs);
}

#[test]
fn an_error_that_another_child_removes_counts_as_info() {
    let covered = [finding(Severity::Error, "a").fingerprint];
    let mut output = output("build", vec![finding(Severity::Error, "a"), finding(Severity::Warning, "w")]);
    output.verdict = Some(Verdict::Fail);
    let verifiers: Verifiers = RunSettings::default().verifiers;
    let mut both = output.clone();
    both.findings.push(finding(Severity::Error, "b"));
    excuse_errors(&mut output, &covered);
    excuse_errors(&mut both, &covered);
    assert_eq!((severity(&output, &verifiers), severity(&both, &verifiers)), (Severity::Warning, Severity::Error));
    let mut other = outputs("build=fail")[0].clone();
    excuse_errors(&mut other, &covered);
    assert_eq!(severity(&other, &verifiers), Severity::Error, "a verdict without such an error stays");
}

// --- custom rules ---

fn always(kind: DecisionKind) -> Rules {
    Rules::standard().before("override", rule("mine", move |_: &Case<'_>| Some(Ruling::new(kind, "so be it")))).unwrap()
}

#[rstest]
#[case::done(DecisionKind::Done, "", "DONE/mine")]
#[case::done_in_spite_of_an_error(DecisionKind::Done, "bigpicture=E:a", "DONE/mine")]
#[case::not_of_a_required_one(DecisionKind::Done, "build=E:a", "RETRY/retry")]
#[case::not_without_a_required_one(DecisionKind::Done, "build=missing", "GIVE_UP/unverified")]
#[case::no_split_of_nothing(DecisionKind::Split, "", "DONE/done")]
#[case::split(DecisionKind::Split, "build=E:a", "SPLIT/mine")]
#[case::retry(DecisionKind::Retry, "", "RETRY/mine")]
fn custom_rules_decide_within_bounds(#[case] kind: DecisionKind, #[case] says: &str, #[case] expected: &str) {
    let decisions = decisions(&RunSettings::default(), &always(kind), &steps(&[says]), |case| case);
    assert_eq!(sequence(&decisions), expected);
}

#[test]
fn a_rule_can_be_inserted_before_another() {
    let mine = || rule("mine", |_: &Case<'_>| None);
    let rules = Rules::standard().before("retry", mine()).unwrap();
    let at = rules.names().iter().position(|name| *name == "mine").unwrap();
    assert_eq!(rules.names()[at + 1], "retry");
    let error = Rules::standard().before("retyr", mine()).unwrap_err().to_string();
    insta::assert_snapshot!(error, @"there is no rule `retyr`; there are override, budget, abort, human, granted, children, repeated, retry, exhausted, warnings, unverified, done");
}

#[test]
fn the_page_has_the_table_of_rules() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/decide.md")).unwrap();
    assert!(page.contains(&table()), "docs/decide.md lacks:\n{}", table());
}

// --- for any case ---

prop_compose! {
    fn any_output(id: &'static str)(
        severities in prop::collection::vec((0_u8..3, 0_usize..4), 0..5), verdict in 0_u8..5, is_skipped in prop::bool::weighted(0.1),
    ) -> VerifierOutput {
        let gravity = [Severity::Info, Severity::Warning, Severity::Error];
        let findings = severities.iter().map(|(severity, which)| finding(gravity[usize::from(*severity)], ["a", "b", "c", "d"][*which]));
        let mut output = output(id, findings.collect());
        output.verdict = [Some(Verdict::Pass), Some(Verdict::Fail), Some(Verdict::Advisory), None, None][usize::from(verdict)];
        output.skipped = is_skipped.then_some(superstep::findings::SkipReason::Flag);
        output
    }
}

prop_compose! {
    fn any_outputs()(
        all in (any_output("build"), any_output("secrets"), any_output("test"), any_output("alignment"), any_output("style")),
        is_there in prop::array::uniform5(prop::bool::weighted(0.9)),
    ) -> Vec<VerifierOutput> {
        [all.0, all.1, all.2, all.3, all.4].into_iter().zip(is_there).filter(|(_, is_there)| *is_there).map(|(output, _)| output).collect()
    }
}

/// Returns true if the required verifiers let a task be done; written independently of the code.
fn is_verified(outputs: &[VerifierOutput], strict: bool) -> bool {
    ["build", "secrets", "alignment"].iter().all(|id| {
        let output = outputs.iter().find(|output| output.verifier == *id);
        output.is_some_and(|output| {
            let limit = if strict { Severity::Info } else { Severity::Warning };
            let is_calm = output.findings.iter().all(|finding| finding.severity <= limit) && output.severity <= limit;
            output.skipped.is_none() && output.verdict != Some(Verdict::Fail) && is_calm
        })
    }) && outputs.iter().any(|output| output.verifier == "test")
}

fn run_of(
    outputs: &[Vec<VerifierOutput>],
    settings: &RunSettings,
    rules: &Rules,
) -> Vec<(AttemptDecision, Vec<VerifierOutput>)> {
    let mut history = AttemptHistory::default();
    let mut decide = |(at, outputs): (usize, &Vec<VerifierOutput>)| {
        let mut outputs = outputs.clone();
        history.record(PastAttempt::new(at as u32 + 1, AttemptKind::Turn, None), &mut outputs, &settings.verifiers);
        let case = Case::new(&outputs, &history, &settings.verifiers, &settings.policy);
        (rules.decide(&case), outputs)
    };
    outputs.iter().enumerate().map(&mut decide).collect()
}

proptest! {
    #[test]
    fn the_same_case_leads_to_the_same_decision(attempts in prop::collection::vec(any_outputs(), 1..5)) {
        let (settings, rules) = (settings("verifiers: [{ id: style }]", ""), Rules::standard());
        prop_assert_eq!(run_of(&attempts, &settings, &rules), run_of(&attempts, &settings, &rules));
    }

    #[test]
    fn nothing_is_done_without_its_required_verifiers(
        attempts in prop::collection::vec(any_outputs(), 1..5), strict: bool, mine in 0_usize..7,
    ) {
        let mut settings = settings("verifiers: [{ id: style }]", "");
        settings.verifiers.strict = strict;
        let rules = KINDS.get(mine).map_or(Rules::standard(), |kind| always(*kind));
        for (decision, outputs) in run_of(&attempts, &settings, &rules) {
            prop_assert!(decision.kind != DecisionKind::Done || is_verified(&outputs, strict), "{:?}\n{:?}", decision, outputs);
        }
    }

    #[test]
    fn only_errors_of_several_attempts_are_repeated(attempts in prop::collection::vec(any_outputs(), 1..5), threshold in 1_u32..5) {
        let mut settings = RunSettings::default();
        settings.policy.split_on_repeat_errors = threshold;
        let run = run_of(&attempts, &settings, &Rules::standard());
        for (at, (decision, _)) in run.iter().enumerate().filter(|(_, (decision, _))| decision.rule == "repeated") {
            for error in &decision.repeated {
                let has = |outputs: &[VerifierOutput]| outputs.iter().any(|output| output.findings.iter().any(|finding| finding.fingerprint == *error));
                prop_assert!(run[..=at].iter().filter(|(_, outputs)| has(outputs)).count() >= threshold as usize);
                prop_assert!(has(&run[at].1));
            }
        }
    }

    #[test]
    fn every_task_ends(attempts in prop::collection::vec(any_outputs(), 12)) {
        let settings = with("policy: { max_attempts: 10, warn_triggers_retry: true }");
        let run = run_of(&attempts, &settings, &Rules::standard());
        prop_assert!(run.iter().take(10).any(|(decision, _)| decision.kind != DecisionKind::Retry));
    }
}
