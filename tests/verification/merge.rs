//! The verifiers of a task, merged from the built-in ones, `verifiers.yml`, front matter and flags.

use rstest::rstest;
use superstep::spec::{
    Criticality, Flags, OnFail, Policy, Requirement, RunSettings, Stage, TaskSpec, VerifierConfig, VerifierEntry,
    VerifierMode, Verifiers,
};

fn config(text: &str) -> Result<VerifierConfig, String> {
    VerifierConfig::parse(text, "verifiers.yml").map_err(|error| error.to_string())
}

fn task(front: &str) -> TaskSpec {
    TaskSpec::parse(&format!("---\nid: a\ntitle: A\n{front}\n---\n"), "task.md").unwrap()
}

fn merged(yml: &str, front: &str, flags: &Flags) -> Result<RunSettings, String> {
    RunSettings::merge(&config(yml)?, &task(front), "task.md", flags).map_err(|error| error.to_string())
}

fn verifiers(yml: &str, front: &str) -> Verifiers {
    merged(yml, front, &Flags::default()).unwrap().verifiers
}

fn get(verifiers: &Verifiers, id: &str) -> VerifierEntry {
    verifiers.get(id).unwrap().clone()
}

fn skip(ids: &[&str]) -> Flags {
    Flags { skip: ids.iter().map(ToString::to_string).collect(), ..Flags::default() }
}

fn lines(verifiers: &Verifiers) -> String {
    let line = |entry: &VerifierEntry| {
        let VerifierEntry { id, stakeholder, mode, place, gate, .. } = entry;
        let (stage, after) = (place.stage, place.after.join(","));
        let required = serde_json::to_value(gate.required).unwrap();
        format!(
            "{id}: {stakeholder} {mode} {stage} {} required={required} {} after=[{after}]",
            gate.criticality, gate.on_fail
        )
    };
    verifiers.entries.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn steps(verifiers: &Verifiers) -> Vec<(String, Vec<String>)> {
    let ids = |entries: Vec<&VerifierEntry>| entries.iter().map(|entry| entry.id.clone()).collect();
    verifiers.steps().into_iter().map(|step| (step.stage.to_string(), ids(step.verifiers))).collect()
}

fn step(stage: &str, ids: &[&str]) -> (String, Vec<String>) {
    (stage.to_owned(), ids.iter().map(ToString::to_string).collect())
}

#[test]
fn the_built_in_verifiers_need_no_configuration() {
    let verifiers = verifiers("", "");
    insta::assert_snapshot!(lines(&verifiers), @r#"
    build: architecture shell build blocker required=true retry after=[]
    secrets: security code build blocker required=true retry after=[]
    test: architecture shell build standard required="if_command" retry after=[build]
    alignment: product model alignment standard required="if_criteria" retry after=[]
    bigpicture: architecture model bigpicture standard required=false retry after=[]
    "#);
    let build = &verifiers.get("build").unwrap().config;
    assert_eq!((build.timeout_sec, build.max_findings, build.max_diff_bytes), (120, 100, 1 << 20));
    assert_eq!(RunSettings { policy: Policy::default(), verifiers }, RunSettings::default());
}

#[test]
fn tests_run_after_the_build_and_stages_one_after_the_other() {
    let all = verifiers("verifiers: [{ id: style }]", "");
    let expected = [
        step("build", &["build", "secrets"]),
        step("build", &["test"]),
        step("alignment", &["alignment"]),
        step("bigpicture", &["bigpicture"]),
        step("style", &["style"]),
    ];
    assert_eq!(steps(&all), expected);
}

#[test]
fn custom_verifiers_are_placed_in_their_stages() {
    let yml = "
stakeholders: [{ id: operations, name: Operations }]
verifiers:
  - { id: e2e, stakeholder: operations, stage: 5, config: { command: ./e2e } }
  - { id: first, stage: 0, config: { command: 'true' } }
  - { id: lint, after: [format], config: { command: lint } }
  - { id: format, after: [build], config: { command: fmt } }
";
    let expected = [
        step("0", &["first"]),
        step("build", &["build", "secrets"]),
        step("build", &["test", "format"]),
        step("build", &["lint"]),
        step("alignment", &["alignment"]),
        step("bigpicture", &["bigpicture"]),
        step("5", &["e2e"]),
    ];
    assert_eq!(steps(&verifiers(yml, "")), expected);
}

#[test]
fn a_later_layer_changes_only_what_it_names() {
    let yml = "verifiers: [{ id: test, on_fail: human, config: { command: make test, timeout_sec: 60 } }]";
    let front = "verifier_overrides: { test: { required: true, config: { timeout_sec: 90 } } }";
    let test = get(&verifiers(yml, front), "test");
    assert_eq!((test.config.command.as_deref(), test.config.timeout_sec), (Some("make test"), 90));
    assert_eq!((test.gate.on_fail, test.gate.required), (OnFail::Human, Requirement::Yes));
    assert_eq!((test.stakeholder.as_str(), test.gate.criticality), ("architecture", Criticality::Standard));
}

#[rstest]
#[case::off_by_itself("", "", false)]
#[case::named("verifiers: [{ id: style }]", "", true)]
#[case::named_and_off("verifiers: [{ id: style, enabled: false }]", "", false)]
#[case::on_for_one_task("", "verifier_overrides: { style: { on_fail: human } }", true)]
#[case::off_for_one_task("verifiers: [{ id: style }]", "verifier_overrides: { style: { enabled: false } }", false)]
#[case::off_stays_off(
    "verifiers: [{ id: style, enabled: false }]",
    "verifier_overrides: { style: { required: false } }",
    false
)]
#[case::on_again(
    "verifiers: [{ id: style, enabled: false }]",
    "verifier_overrides: { style: { enabled: true } }",
    true
)]
fn style_is_off_until_it_is_named(#[case] yml: &str, #[case] front: &str, #[case] is_on: bool) {
    assert_eq!(verifiers(yml, front).get("style").is_some(), is_on);
}

#[test]
fn a_built_in_verifier_can_be_dropped() {
    let verifiers =
        verifiers("verifiers: [{ id: build, enabled: false }]", "verifier_overrides: { secrets: { enabled: false } }");
    assert_eq!(steps(&verifiers)[0], step("build", &["test"]), "nothing waits for a verifier that is off");
}

#[test]
fn an_entry_with_a_command_is_a_shell_verifier() {
    let style = get(&verifiers("verifiers: [{ id: style, config: { command: cargo clippy } }]", ""), "style");
    assert_eq!((style.mode, style.gate.criticality), (VerifierMode::Shell, Criticality::Advisory));
}

#[rstest]
#[case("", Stage::ALIGNMENT)]
#[case("stage: build,", Stage::BUILD)]
fn a_model_verifier_runs_after_the_build_unless_its_stage_is_set(#[case] stage: &str, #[case] expected: Stage) {
    let yml = format!("verifiers: [{{ id: review, mode: model, {stage} config: {{ prompt: Look. }} }}]");
    assert_eq!(get(&verifiers(&yml, ""), "review").place.stage, expected);
}

#[test]
fn a_code_verifier_has_its_own_settings() {
    let yml = "verifiers: [{ id: licence, mode: code, config: { allow: [MIT, 7], timeout_sec: 5 } }]";
    let licence = get(&verifiers(yml, ""), "licence");
    assert_eq!(licence.config.timeout_sec, 5);
    assert_eq!(serde_json::to_value(&licence.config.other).unwrap(), serde_json::json!({ "allow": ["MIT", 7] }));
}

#[rstest]
#[case("true", Some(u32::MAX))]
#[case("false", Some(0))]
#[case("2", Some(2))]
fn next_tasks_are_all_none_or_a_number(#[case] value: &str, #[case] expected: Option<u32>) {
    let yml = format!("verifiers: [{{ id: bigpicture, config: {{ consider_next_tasks: {value} }} }}]");
    assert_eq!(get(&verifiers(&yml, ""), "bigpicture").config.model.consider_next_tasks, expected);
}

#[test]
fn flags_override_the_other_layers() {
    let flags = Flags { strict: true, policy: vec!["max_attempts=5".to_owned()], ..skip(&["alignment", "style"]) };
    let settings = merged("", "policy: { max_attempts: 2, max_depth: 1 }", &flags).unwrap();
    assert_eq!((settings.policy.max_attempts, settings.policy.max_depth), (5, 1));
    assert!(settings.verifiers.strict && get(&settings.verifiers, "alignment").skipped);
    assert!(!get(&settings.verifiers, "build").skipped);
}

#[test]
fn every_problem_of_the_file_is_reported_at_once() {
    let error = config(include_str!("specs/wrong.yml")).unwrap_err();
    insta::assert_snapshot!(error, @r"
    verifiers.yml:3: stakeholders: `operations` was already written on line 2
    verifiers.yml:4: stakeholders.id: is missing
    verifiers.yml:7: verifiers.lint.mode: `bash` is not one of `shell`, `model`, `code`
    verifiers.yml:8: verifiers.lint.stage: `2000` is not a stage: name one, or write a number from 0 to 1000; there are `build`, `alignment`, `bigpicture`, `style`
    verifiers.yml:9: verifiers.lint.criticallity: this key is unknown; did you mean `criticality`?
    verifiers.yml:10: verifiers.lint.required: must be `true` or `false`, not a text
    verifiers.yml:11: verifiers.lint.config.timeout_sec: must be from 1 to 600, not 601
    verifiers.yml:11: verifiers.lint.config.max_findings: must be from 1 to 1000, not 0
    verifiers.yml:12: verifiers.id: is missing
    verifiers.yml:13: verifiers.id: `progress` is the name of an output of superstep; choose another
    verifiers.yml:14: verifiers.id: `a b` may have only letters from a to z, digits, `-`, `_` and `.`
    verifiers.yml:15: verifiers.lint.after: must be a list of ids, not a text
    verifiers.yml:15: verifiers: `lint` was already written on line 6
    verifiers.yml:16: verifiers: must be a map, not a text
    verifiers.yml:17: verifier: this key is unknown; did you mean `verifiers`?
    ");
}

#[test]
fn every_contradiction_is_reported_at_once_where_it_was_written() {
    let yml = include_str!("specs/contradictory.yml");
    let front = "verifier_overrides:\n  lnt: {}\n  alignment: { config: { command: x }, mode: model }\n  lint: { config: { command: x } }";
    let flags = Flags { policy: vec!["max_depth=9".to_owned(), "strict".to_owned()], ..skip(&["tets"]) };
    let error = merged(yml, front, &flags).unwrap_err();
    insta::assert_snapshot!(error, @"
    --override-policy: max_depth: must be from 0 to 5, not `9`
    --override-policy: `strict` is not KEY=VALUE
    --skip-verifiers: tets: no verifier has this id; did you mean `test`?
    task.md:5: verifier_overrides.lnt: no verifier has this id; did you mean `lint`?
    task.md:6: verifier_overrides.alignment.config.command: is for verifiers of mode `shell`, and this one has mode `model`
    verifiers.yml:3: verifiers.lint.stakeholder: `operation` is not in `stakeholders`; there are `architecture`, `product`, `security`
    verifiers.yml:5: verifiers.lint.config.comand: this key is unknown; did you mean `command`?
    verifiers.yml:6: verifiers.e2e.config.command: is missing; a verifier of mode `shell` needs one
    verifiers.yml:7: verifiers.review.config.prompt: is missing; a verifier of mode `model` needs one
    verifiers.yml:7: verifiers.review.after: no verifier has the id `nobody`
    verifiers.yml:8: verifiers.one.after: `two` itself comes after `one`
    verifiers.yml:9: verifiers.two.after: `one` itself comes after `two`
    verifiers.yml:10: verifiers.build.after: `alignment` runs in the later stage `alignment`
    ");
}

#[rstest]
#[case(Requirement::Yes, false, false, true)]
#[case(Requirement::No, true, true, false)]
#[case(Requirement::IfCriteria, true, false, true)]
#[case(Requirement::IfCriteria, false, true, false)]
#[case(Requirement::IfCommand, false, true, true)]
#[case(Requirement::IfCommand, true, false, false)]
fn a_verifier_is_required_where_it_applies(
    #[case] required: Requirement,
    #[case] criteria: bool,
    #[case] command: bool,
    #[case] holds: bool,
) {
    assert_eq!(required.holds(criteria, command), holds);
}

#[test]
fn settings_are_stored_and_read_back() {
    let yml = "verifiers: [{ id: licence, mode: code, config: { allow: [MIT] } }, { id: style, stage: 7 }]";
    let settings = merged(yml, "verifier_overrides: { test: { required: false } }", &Flags::default()).unwrap();
    let json = serde_json::to_string(&settings).unwrap();
    assert_eq!(serde_json::from_str::<RunSettings>(&json).unwrap(), settings);
}
