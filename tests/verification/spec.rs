//! Task files: their keys, the errors in them, and that writing one back gives the same task.

use proptest::prelude::*;
use rstest::rstest;
use superstep::spec::{Attempts, Constraint, NextTask, PermissionMode, Policy, SpecId, Stage, TaskSpec, VerifierPatch};

const FULL: &str = include_str!("specs/full.md");

fn parse(text: &str) -> Result<TaskSpec, String> {
    TaskSpec::parse(text, "task.md").map_err(|error| error.to_string())
}

fn front(lines: &str) -> Result<TaskSpec, String> {
    parse(&format!("---\nid: a\ntitle: A\n{lines}\n---\n"))
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| text.to_string()).collect()
}

#[test]
fn every_key_is_read() {
    let spec = parse(FULL).unwrap();
    assert_eq!((spec.id.as_str(), spec.title.as_str()), ("task-001", "Add an endpoint: cancel an order"));
    assert_eq!(spec.description, "Orders can be cancelled until they are shipped.\n\n---\n\nSee `src/orders.rs`.");
    assert_eq!(spec.acceptance, ["`DELETE /orders/{id}` returns 204", "A shipped order returns 409"]);
    let constraint = |name: &str, text: &str| Constraint { name: Some(name.to_owned()), text: text.to_owned() };
    let styles = [constraint("style", "small functions"), constraint("style", "no panics")];
    assert_eq!(spec.constraints, [constraint("language", "Rust"), styles[0].clone(), styles[1].clone()]);
    let policy = Policy {
        max_attempts: 4,
        max_depth: 2,
        split_on_repeat_errors: 3,
        warn_triggers_retry: true,
        max_children: 4,
        parallel_children: 2,
    };
    assert_eq!(spec.policy, policy);
    assert_eq!(spec.verifier_overrides.keys().collect::<Vec<_>>(), ["style", "test"]);
    let related = &spec.relationships;
    assert_eq!(
        (related.parent_id.as_deref(), related.next_ids.as_slice()),
        (Some("epic-7"), &texts(&["task-002"])[..])
    );
    let (id, description) = (Some("task-003".to_owned()), "By mail.".to_owned());
    let next = NextTask { id, title: "Tell the customer".to_owned(), description };
    assert_eq!(related.next_tasks[1], next);
    assert_eq!(spec.do_agent.permission_mode, Some(PermissionMode::AcceptEdits));
    assert_eq!((spec.do_agent.max_turns, spec.do_agent.allowed_tools.len()), (Some(40), 2));
    assert_eq!((spec.git.branch.as_deref(), spec.git.commit_on_success), (Some("feature/cancel"), false));
    assert_eq!(spec.git.attempts, Attempts::Branch);
}

#[rstest]
#[case::unix(FULL.to_owned())]
#[case::windows(FULL.replace('\n', "\r\n"))]
#[case::with_a_mark(format!("\u{feff}{FULL}"))]
fn line_ends_and_a_byte_order_mark_make_no_difference(#[case] text: String) {
    let (spec, plain) = (parse(&text).unwrap(), parse(FULL).unwrap());
    assert_eq!((spec.hash(), spec.policy), (plain.hash(), plain.policy));
}

#[test]
fn a_task_needs_an_id_and_a_title_and_nothing_else() {
    let spec = parse("---\nid: a\ntitle: A\n---").unwrap();
    assert_eq!(spec, TaskSpec::new("a".parse().unwrap(), "A", ""));
    assert_eq!(spec.policy, Policy::default());
    assert_eq!(spec.goal(), "A", "the title is the goal of a task without a description");
}

#[test]
fn every_problem_is_reported_at_once_with_file_line_and_key() {
    let error = parse(include_str!("specs/wrong.md")).unwrap_err();
    insta::assert_snapshot!(error, @"
    task.md:2: id: `task/001` may have only letters from a to z, digits, `-`, `_` and `.`
    task.md:2: title: is missing
    task.md:3: acceptance: must be a list, not a text
    task.md:5: policy.max_attempts: must be from 1 to 10, not 11
    task.md:6: policy.max_atempts: this key is unknown; did you mean `max_attempts`?
    task.md:7: policy.warn_triggers_retry: must be `true` or `false`, not a whole number
    task.md:10: verifier_overrides.test.stages: this key is unknown; did you mean `stage`?
    task.md:12: verifier_overrides.test.config.timeout_sec: must be from 1 to 600, not 6000
    task.md:13: verifier_overrides.test.config.command: must be a text, not a whole number: put it in quotes
    task.md:14: verifier_overrides.build: must be a map, not a text
    task.md:16: do_agent.permission_mode: `yolo` is not one of `default`, `acceptEdits`, `edit`, `plan`, `bypassPermissions`
    task.md:17: do_agent.max_turns: must be at least 1, not 0
    task.md:21: relationships.next_tasks.when: this key is unknown; there are `id`, `description`, `title`
    task.md:22: relationships.next_tasks: each item must be a text, not a whole number: put it in quotes
    task.md:23: git.attempts: `tags` is not one of `refs`, `branch`
    task.md:24: budget: this key is unknown; there are `origin`, `id`, `title`, `constraints`, `acceptance`, `policy`, `verifier_overrides`, `relationships`, `do_agent`, `git`
    ");
}

#[rstest]
#[case::no_front_matter(
    "# A task\n",
    "task.md:1: must start with front matter: a line `---`, then `id: …` and `title: …`, then a line `---`"
)]
#[case::empty(
    "",
    "task.md:1: must start with front matter: a line `---`, then `id: …` and `title: …`, then a line `---`"
)]
#[case::no_end("---\nid: a\ntitle: A\n", "task.md:1: the front matter has no end; close it with a line `---`")]
#[case::nothing_in_it("---\n---\n", "task.md:2: id: is missing\ntask.md:2: title: is missing")]
#[case::no_yaml(
    "---\nid: a\ntitle: [A\n---\n",
    "task.md:4: it is not valid YAML: while parsing a flow sequence, expected ',' or ']'"
)]
#[case::a_colon(
    "---\nid: a\ntitle: A: b\n---\n",
    "task.md:3: it is not valid YAML: mapping values are not allowed in this context; a text with `: ` in it, or that starts with a special character, needs quotes"
)]
#[case::a_backtick(
    "---\nid: a\ntitle: `A` b\n---\n",
    "task.md:3: it is not valid YAML: unexpected character: ``'; a text with `: ` in it, or that starts with a special character, needs quotes"
)]
#[case::a_list("---\n- id: a\n---\n", "task.md:2: must be a map, not a list")]
#[case::twice("---\nid: a\ntitle: A\nid: b\n---\n", "task.md:4: the key `id` was already written on line 2")]
#[case::an_anchor(
    "---\nid: a\ntitle: &t A\nacceptance: [*t]\n---\n",
    "task.md:3: anchors (`&name`) are not read here; write the value out"
)]
#[case::a_tag("---\nid: a\ntitle: !secret A\n---\n", "task.md:3: tags (`!name`) are not read here")]
#[case::empty_title("---\nid: a\ntitle: ' '\n---\n", "task.md:3: title: must not be empty")]
#[case::two_lines("---\nid: a\ntitle: \"A\\nB\"\n---\n", "task.md:3: title: must be one line")]
fn an_invalid_task_file_is_refused_with_a_reason(#[case] text: &str, #[case] problem: &str) {
    assert_eq!(parse(text).unwrap_err(), problem);
}

#[rstest]
#[case("policy: { max_attempts: 11 }", "task.md:4: policy.max_attempts: must be from 1 to 10, not 11")]
#[case("policy: { max_attempts: 0 }", "task.md:4: policy.max_attempts: must be from 1 to 10, not 0")]
#[case("policy: { max_depth: 6 }", "task.md:4: policy.max_depth: must be from 0 to 5, not 6")]
#[case("policy: { split_on_repeat_errors: 6 }", "task.md:4: policy.split_on_repeat_errors: must be from 1 to 5, not 6")]
#[case("policy: { parallel_children: 11 }", "task.md:4: policy.parallel_children: must be from 1 to 10, not 11")]
#[case("policy: { max_attempts: '3' }", "task.md:4: policy.max_attempts: must be a whole number, not a text")]
#[case(
    "policy: { max_attempts: 2.5 }",
    "task.md:4: policy.max_attempts: must be a whole number, not a number with a point"
)]
#[case("policy: { max_attempts: }", "task.md:4: policy.max_attempts: has no value; write one, or remove the key")]
#[case(
    "policy: { warn_triggers_retry: yes }",
    "task.md:4: policy.warn_triggers_retry: must be `true` or `false`, not a text"
)]
#[case("policy: 3", "task.md:4: policy: must be a map, not a whole number")]
#[case("polcy: {}", "task.md:4: polcy: this key is unknown; did you mean `policy`?")]
#[case(
    "policy: { max_atempts: 3 }",
    "task.md:4: policy.max_atempts: this key is unknown; did you mean `max_attempts`?"
)]
#[case(
    "acceptance:\n  - GET /x: returns 200",
    "task.md:5: acceptance: each item must be a text, not a map: a text with `: ` in it needs quotes"
)]
#[case("acceptance: it works", "task.md:4: acceptance: must be a list, not a text")]
#[case("constraints: 3", "task.md:4: constraints: must be a list or a map, not a whole number")]
#[case(
    "verifier_overrides: { test: { config: { timeout_sec: 601 } } }",
    "task.md:4: verifier_overrides.test.config.timeout_sec: must be from 1 to 600, not 601"
)]
#[case(
    "verifier_overrides: { test: { config: { max_findings: 1001 } } }",
    "task.md:4: verifier_overrides.test.config.max_findings: must be from 1 to 1000, not 1001"
)]
#[case(
    "verifier_overrides: { test: { on_fail: ignore } }",
    "task.md:4: verifier_overrides.test.on_fail: `ignore` is not one of `retry`, `abort`, `human`"
)]
#[case(
    "verifier_overrides: { test: { stage: buld } }",
    "task.md:4: verifier_overrides.test.stage: `buld` is not a stage: name one, or write a number from 0 to 1000; did you mean `build`?"
)]
#[case(
    "do_agent: { permission_mode: all }",
    "task.md:4: do_agent.permission_mode: `all` is not one of `default`, `acceptEdits`, `edit`, `plan`, `bypassPermissions`"
)]
#[case("git: { branch: 'a b' }", "task.md:4: git.branch: `a b` is not a name for a branch")]
#[case("git: { attempts: tags }", "task.md:4: git.attempts: `tags` is not one of `refs`, `branch`")]
fn a_wrong_value_is_refused(#[case] line: &str, #[case] problem: &str) {
    assert_eq!(front(line).unwrap_err(), problem);
}

#[rstest]
#[case("constraints:")]
#[case("acceptance: []")]
#[case("policy:")]
#[case("verifier_overrides: {}")]
#[case("do_agent:")]
fn an_empty_list_or_map_is_the_same_as_none(#[case] line: &str) {
    assert_eq!(front(line).unwrap(), front("").unwrap());
}

#[rstest]
#[case("task-001", None)]
#[case("A.b_2", None)]
#[case("a/b", Some("may have only"))]
#[case("a b", Some("may have only"))]
#[case("größe", Some("may have only"))]
#[case("", Some("start and end"))]
#[case(".hidden", Some("start and end"))]
#[case("-flag", Some("start and end"))]
#[case("a.", Some("start and end"))]
#[case("a..b", Some("git refuses"))]
#[case("a.lock", Some("git refuses"))]
#[case("..", Some("start and end"))]
fn ids_are_safe_as_names_of_folders_and_refs(#[case] id: &str, #[case] problem: Option<&str>) {
    let error = id.parse::<SpecId>().err().map(|error| error.to_string());
    assert_eq!(error.is_some(), problem.is_some(), "{error:?}");
    assert!(problem.is_none_or(|problem| error.unwrap().contains(problem)));
}

#[test]
fn an_id_has_at_most_80_characters() {
    assert!("a".repeat(80).parse::<SpecId>().is_ok());
    assert!("a".repeat(81).parse::<SpecId>().unwrap_err().to_string().ends_with("is longer than 80 characters"));
}

#[rstest]
#[case::number("id: 12", "task.md:2: id: must be a text, not a whole number: put it in quotes")]
#[case::slash("id: a/b", "task.md:2: id: `a/b` may have only letters from a to z, digits, `-`, `_` and `.`")]
fn an_id_in_a_file_follows_the_same_rules(#[case] id: &str, #[case] problem: &str) {
    assert_eq!(parse(&format!("---\n{id}\ntitle: A\n---\n")).unwrap_err(), problem);
}

#[test]
fn deep_nesting_and_long_flows_are_refused() {
    for text in ["[".repeat(100_000), "{a: ".repeat(100_000), "- ".repeat(100_000)] {
        assert!(front(&format!("acceptance: {text}")).is_err());
    }
    let many: String = (0..50_000).map(|number| format!("key{number}: 1\n")).collect();
    assert_eq!(front(&many).unwrap_err().lines().count(), 50_000);
    let large = format!("acceptance: ['{}']", "a".repeat(1 << 20));
    assert_eq!(front(&large).unwrap_err(), "task.md:1: is larger than 1 MiB");
}

#[test]
fn the_template_is_a_task_with_defaults() {
    let template = TaskSpec::template(&"task-9".parse().unwrap());
    let spec = parse(&template).unwrap();
    assert_eq!((spec.id.as_str(), &spec.policy), ("task-9", &Policy::default()));
    assert!(!spec.acceptance.is_empty() && !spec.description.is_empty());
}

#[test]
fn every_comment_of_the_template_is_a_key_with_its_default() {
    let template = TaskSpec::template(&"task-9".parse().unwrap());
    let (front, body) = template.split_once("defaults.\n").unwrap();
    let spec = parse(&format!("{front}\n{}", body.replace("\n# ", "\n").trim_start_matches("# "))).unwrap();
    assert_eq!(spec.policy, Policy::default());
    assert!(spec.git.branch.is_some() && spec.do_agent.model.is_some() && spec.relationships.parent_snapshot.is_some());
    let patch: &VerifierPatch = &spec.verifier_overrides["test"];
    assert_ne!(patch, &VerifierPatch::default());
}

#[rstest]
#[case("max_attempts", "2", None)]
#[case("max_attempts", "11", Some("max_attempts: must be from 1 to 10, not `11`"))]
#[case("max_attempts", "two", Some("max_attempts: must be from 1 to 10, not `two`"))]
#[case("warn_triggers_retry", "true", None)]
#[case("warn_triggers_retry", "on", Some("warn_triggers_retry: must be `true` or `false`, not `on`"))]
#[case("max_attempt", "2", Some("max_attempt: a policy has no such key; did you mean `max_attempts`?"))]
fn a_policy_is_changed_by_key(#[case] key: &str, #[case] value: &str, #[case] problem: Option<&str>) {
    let mut policy = Policy::default();
    let error = policy.set(key, value).err().map(|error| error.to_string());
    assert_eq!(error.as_deref(), problem);
    assert_eq!(policy == Policy::default(), problem.is_some(), "a refused change changes nothing");
}

#[rstest]
#[case("build", "build")]
#[case("1", "build")]
#[case("4", "style")]
#[case("5", "5")]
#[case("0", "0")]
fn a_stage_is_a_name_or_a_number(#[case] text: &str, #[case] shown: &str) {
    assert_eq!(text.parse::<Stage>().unwrap().to_string(), shown);
}

#[test]
fn the_hash_is_of_goal_and_criteria_alone() {
    let spec = parse(FULL).unwrap();
    let hash = |change: fn(&mut TaskSpec)| {
        let mut changed = spec.clone();
        change(&mut changed);
        changed.hash()
    };
    assert_eq!(spec.hash().len(), 64);
    assert_eq!(spec.hash(), hash(|spec| spec.title = "another".to_owned()));
    assert_eq!(spec.hash(), hash(|spec| spec.acceptance.reverse()));
    assert_eq!(spec.hash(), hash(|spec| spec.description = spec.description.replace(' ', "  ").to_uppercase()));
    assert_ne!(spec.hash(), hash(|spec| spec.description.push_str(" More.")));
    assert_ne!(spec.hash(), hash(|spec| spec.acceptance.truncate(1)));
}

#[test]
fn a_task_is_written_back_as_it_was_read() {
    let spec = parse(FULL).unwrap();
    assert_eq!(parse(&spec.render()).unwrap(), spec);
}

// Without the line separators of Unicode, after which YAML 1.1 adds spaces.
prop_compose! {
    fn any_text()(text in "[ -~äß\n\t:#&*!|>'\"%@`{}\\[\\],?~-]{0,40}|[0-9xo._+e-]{1,6}|null|True|yes|\\.inf|- a|---") -> String {
        format!("{}.", text.trim()).trim_end_matches('.').trim().to_owned()
    }
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().trim().to_owned()
}

proptest! {
    #[test]
    fn any_task_is_read_as_it_was_written(
        title in any_text(), body in any_text(), acceptance in prop::collection::vec(any_text(), 0..4),
        name in any_text(), constraint in any_text(), snapshot in any_text(),
    ) {
        let or_a = |text: String| if text.is_empty() { "a".to_owned() } else { text };
        let mut spec = TaskSpec::new("a".parse().unwrap(), or_a(one_line(&title)), body);
        spec.acceptance = acceptance.into_iter().map(or_a).collect();
        spec.constraints = vec![Constraint { name: Some(or_a(name)), text: or_a(constraint) }];
        spec.relationships.parent_snapshot = Some(or_a(snapshot));
        let text = spec.render();
        prop_assert_eq!(parse(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?, spec);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "(---\n)?([ -~\n\t]{0,80}|(id|title|policy|git|constraints): ?[ -~]{0,9}\n){0,6}(---)?") {
        let _ = parse(&text);
    }
}
