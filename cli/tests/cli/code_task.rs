//! The commands for a task that is executed by attempts: new, show, override, rewind, what-if.

use rstest::rstest;
use serde_json::{Value, json};

use crate::place::{Place, RunOutput};

pub(crate) const TASK: &str = "---\nid: tides\ntitle: Tides\n---\nWrite down the tides of every day of the year.\n";
/// One command, which fails while a line starts with `error`.
pub(crate) const VERIFIERS: &str = "
verifiers:
- {id: build, config: {command: \"! grep -h '^error' *.txt\"}}
- {id: test, enabled: false}
- {id: bigpicture, enabled: false}
";
/// The first attempt leaves an error, the second one fixes it.
pub(crate) const FIXES: &str = "
  - {role: developer, task: tides, attempt: 1, steps: [write: {path: a.txt, content: \"error: no tides\\n\"}], submit: {status: done}}
  - {role: developer, task: tides, steps: [write: {path: a.txt, content: \"high\\n\"}], submit: {status: done}}
";

pub(crate) fn place() -> Place {
    let place = Place::new(FIXES);
    place.write("tides.md", TASK);
    place.write("verifiers.yml", VERIFIERS);
    place
}

pub(crate) fn run(place: &Place, more: &[&str]) -> RunOutput {
    place.call(
        &[&["task", "--task", "tides.md", "--dir", "repo", "--profile", "p.toml", "--thread", "t"], more].concat(),
    )
}

/// A task that is done in its second attempt.
pub(crate) fn done() -> Place {
    let place = place();
    let called = run(&place, &[]);
    assert_eq!(called.code(), 0, "{}", called.text());
    place
}

/// A task that was given up after its first attempt.
fn given_up() -> Place {
    let place = place();
    let called = run(&place, &["--override-policy", "max_attempts=1"]);
    assert_eq!(called.code(), 11, "{}", called.text());
    place
}

pub(crate) fn record(place: &Place, file: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(place.path().join("repo/runs").join(file)).unwrap()).unwrap()
}

fn decisions(place: &Place, thread: &str) -> Vec<(u64, String)> {
    let shown = place.json(&["task", "show", thread]);
    let attempts = shown["attempts"].as_array().unwrap().iter();
    attempts.map(|one| (one["attempt"].as_u64().unwrap(), one["decision"].as_str().unwrap().to_owned())).collect()
}

fn branches(place: &Place) -> Vec<String> {
    place
        .git(&["for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads"])
        .lines()
        .map(str::to_owned)
        .collect()
}

// --- task new, --dry-run ---

#[test]
fn a_new_task_file_is_valid_and_never_overwritten() {
    let place = place();
    let called = place.call(&["task", "new", "moon"]);
    assert_eq!(called.code(), 0, "{}", called.text());
    let written = std::fs::read_to_string(place.path().join("moon.md")).unwrap();
    let dry = place.call(&["task", "--task", "moon.md", "--dir", "repo", "--profile", "p.toml", "--dry-run"]);
    assert_eq!(dry.code(), 0, "{}", dry.text());
    let again = place.call(&["task", "new", "sun", "--out", "moon.md"]);
    assert_eq!((again.code(), again.text().contains("moon.md")), (1, true), "{}", again.text());
    assert_eq!(std::fs::read_to_string(place.path().join("moon.md")).unwrap(), written);
    assert_eq!(place.call(&["task", "new", "../moon"]).code(), 2);
}

#[test]
fn a_dry_run_prints_the_commands_and_stores_nothing() {
    let place = place();
    let dry = run(&place, &["--dry-run"]);
    assert_eq!(dry.code(), 0, "{}", dry.text());
    assert!(dry.text().contains("  1. build: build (blocker): $ ! grep -h '^error' *.txt\n"), "{}", dry.text());
    assert!(!place.path().join(".superstep").exists() && !place.path().join("repo/runs").exists());
    let wrong = run(&place, &["--dry-run", "--skip-verifiers", "bild"]);
    assert_eq!((wrong.code(), wrong.text().contains("build")), (2, true), "{}", wrong.text());
}

// --- task show ---

#[test]
fn attempts_are_shown_with_decisions_findings_and_commits() {
    let place = done();
    assert_eq!(decisions(&place, "t"), [(1, "RETRY".into()), (2, "DONE".into())]);
    let shown = place.json(&["task", "show", "t"]);
    assert_eq!((&shown["task"], &shown["outcome"]), (&json!("tides"), &json!("done")));
    assert!(shown["attempts"][0]["findings"][0].as_str().unwrap().contains("[build] error"), "{shown}");
    let commit = place.git(&["rev-parse", "refs/superstep/t/attempt-1"]);
    assert_eq!(shown["attempts"][0]["commit"], commit.trim());
    let text = place.call(&["task", "show", "t"]).text();
    assert!(text.starts_with("task tides: Tides  done\n  attempt 1: RETRY by "), "{text}");
}

#[test]
fn a_thread_of_another_graph_has_no_task() {
    let place = place();
    assert_eq!(place.call(&["run", "approval", "--thread", "letter"]).code(), 10);
    for words in [&["task", "show", "letter"][..], &["override", "letter", "DONE", "--why", "x"]] {
        let called = place.call(words);
        assert_eq!((called.code(), called.text().contains("which has no task")), (2, true), "{}", called.text());
    }
}

// --- override ---

#[rstest]
#[case::done("DONE", 0)]
#[case::failed("FAIL", 11)]
#[case::again("RETRY", 0)]
fn an_override_answers_a_task_that_was_given_up(#[case] decision: &str, #[case] code: i32) {
    let place = given_up();
    place.collect_garbage();
    let called = place.call(&["override", "t", decision, "--why", "as agreed", "--by", "grace"]);
    assert_eq!(called.code(), code, "{}", called.text());
    let record = record(&place, "t/attempt-2/decision.json");
    assert_eq!((&record["decision"], &record["rule"]), (&json!(decision), &json!("override")));
    let over = &record["override"];
    assert_eq!((&over["by"], &over["why"], &over["was"]), (&json!("grace"), &json!("as agreed"), &json!("GIVE_UP")));
}

#[test]
fn an_override_after_the_end_records_a_decision_and_keeps_the_commits() {
    let place = done();
    let tip = place.git(&["rev-parse", "superstep/t"]);
    place.collect_garbage();
    let called = place.call(&["override", "t", "FAIL", "--why", "it was the wrong year"]);
    assert_eq!(called.code(), 11, "{}", called.text());
    assert_eq!(place.git(&["rev-parse", "superstep/t"]), tip);
    let record = record(&place, "t/attempt-3/decision.json");
    assert_eq!((&record["decision"], &record["override"]["was"]), (&json!("FAIL"), &json!("DONE")));
    assert_eq!(record["override"]["by"], "Ada");
    let called = place.call(&["override", "t", "DONE", "--why", "the right year after all"]);
    assert_eq!(called.code(), 0, "{}", called.text());
    assert_eq!(place.git(&["symbolic-ref", "--short", "HEAD"]), "main\n", "the checkout is where it was");
    assert_eq!(decisions(&place, "t").len(), 4);
}

#[rstest]
#[case::no_reason(&["override", "t", "DONE"], "--why")]
#[case::empty_reason(&["override", "t", "DONE", "--why", " "], "needs a reason")]
#[case::unknown(&["override", "t", "GIVE_UP", "--why", "x"], "GIVE_UP")]
#[case::too_deep(&["override", "t", "SPLIT", "--why", "x"], "cannot be split")]
#[case::unknown_question(&["override", "t", "DONE", "--why", "x", "--interrupt", "00000000-1-0-0"], "no task waits")]
fn an_invalid_override_changes_nothing(#[case] words: &[&str], #[case] why: &str) {
    let place = place();
    let limits = ["--override-policy", "max_attempts=1", "--override-policy", "max_depth=0"];
    assert_eq!(run(&place, &limits).code(), 11);
    let before = place.call(&["history", "t"]).text();
    let called = place.call(words);
    assert_eq!((called.code(), called.text().contains(why)), (2, true), "{}", called.text());
    assert_eq!(place.call(&["history", "t"]).text(), before);
}

#[rstest]
#[case::too_deep("\"split\"", "cannot be split")]
#[case::too_deep_by_override(r#"{"override": {"decision": "SPLIT", "why": "x"}}"#, "cannot be split")]
#[case::no_reason(r#"{"override": {"decision": "DONE", "why": ""}}"#, "needs a reason")]
#[case::no_attempts(r#"{"retry": {"attempts": 0}}"#, "at least 1")]
#[case::unknown(r#"{"override": {"decision": "MAYBE", "why": "x"}}"#, "`MAYBE` is not a decision")]
fn an_invalid_answer_is_refused_and_the_question_stays_open(#[case] answer: &str, #[case] why: &str) {
    let place = place();
    assert_eq!(run(&place, &["--override-policy", "max_attempts=1", "--override-policy", "max_depth=0"]).code(), 11);
    let before = place.call(&["history", "t"]).text();
    for more in [&[][..], &["--record-only"]] {
        let called = place.call(&[&["resume", "t", "--answer", answer], more].concat());
        assert_eq!((called.code(), called.text().contains(why)), (2, true), "{}", called.text());
    }
    assert_eq!(place.call(&["history", "t"]).text(), before);
    assert_eq!(place.call(&["override", "t", "DONE", "--why", "x"]).code(), 0);
}

/// A start that must fail is refused before an agent works, and nothing is stored.
#[rstest]
#[case::taken_branch("git: {branch: main}", &[], 1, "main")]
#[case::no_model("do_agent: {driver: api}", &[], 2, "model")]
#[case::no_scenario("do_agent: {driver: 'scripted:none.yaml'}", &[], 2, "none.yaml")]
#[case::depth("policy: {max_depth: 1}", &["--depth", "1", "--override", "SPLIT", "--why", "x"], 2, "depth of at most 1")]
fn a_start_that_must_fail_is_refused(#[case] front: &str, #[case] more: &[&str], #[case] code: i32, #[case] why: &str) {
    let place = place();
    place.write("tides.md", &TASK.replace("title: Tides\n", &format!("title: Tides\n{front}\n")));
    let called = run(&place, more);
    assert_eq!((called.code(), called.text().contains(why)), (code, true), "{}", called.text());
    assert!(!place.path().join(".superstep").exists());
}

/// Two children wait at the same time. Returns the ids of their questions.
fn two_waiting() -> (Place, Vec<String>) {
    let place = Place::new("
  - {role: developer, task: tides, times: always, steps: [write: {path: a.txt, content: \"error: a\\n\"}, write: {path: b.txt, content: \"error: b\\n\"}], submit: {status: done}}
");
    place.write(
        "tides.md",
        &TASK.replace("of every day of the year", "of every day of the year, as they come in and as they go out"),
    );
    let human =
        VERIFIERS.replace("{id: build,", "{id: build, config: {command: 'true'}}\n- {id: check, on_fail: human,");
    place.write("verifiers.yml", &human);
    assert_eq!(run(&place, &["--override", "SPLIT", "--why", "too much", "--parallel", "2"]).code(), 10);
    let open = place.json(&["status", "t"])["questions"].clone();
    let id = |question: &Value| question["id"].as_str().unwrap().to_owned();
    let ids: Vec<String> = open.as_array().unwrap().iter().map(id).collect();
    assert_eq!(ids.len(), 2, "{open}");
    (place, ids)
}

#[test]
fn an_override_of_one_of_several_tasks_names_it() {
    let (place, ids) = two_waiting();
    let call = |words: &[&str]| place.call(words);
    let refused = call(&["override", "t", "DONE", "--why", "fine"]);
    assert_eq!(
        (refused.code(), refused.text().contains("2 tasks wait for a decision")),
        (2, true),
        "{}",
        refused.text()
    );
    assert!(ids.iter().all(|id| refused.text().contains(id.as_str())), "{}", refused.text());
    assert_eq!(call(&["override", "t", "DONE", "--why", "fine", "--interrupt", &ids[0]]).code(), 10);
    assert_eq!(place.json(&["status", "t"])["questions"].as_array().unwrap().len(), 1);
}

#[test]
fn children_whose_worktrees_are_removed_while_they_wait_continue_in_new_ones() {
    let (place, ids) = two_waiting();
    std::fs::remove_dir_all(place.path().join("repo/.superstep/worktrees")).unwrap();
    place.git(&["worktree", "prune"]);
    let retry = ["override", "t", "RETRY", "--why", "again", "--interrupt", &ids[0]];
    let called = place.call(&retry);
    assert_eq!(called.code(), 10, "{}", called.text());
    for _ in 0..2 {
        let open = place.json(&["status", "t"])["questions"].clone();
        let id = open[0]["id"].as_str().unwrap().to_owned();
        let called = place.call(&["override", "t", "DONE", "--why", "fine", "--interrupt", &id]);
        assert!([0, 10].contains(&called.code()), "{}", called.text());
    }
    let shown = place.json(&["task", "show", "t"]);
    let outcomes: Vec<_> = shown["children"].as_array().unwrap().iter().map(|child| child["outcome"].clone()).collect();
    assert_eq!(outcomes, [json!("done"), json!("done")], "{shown}");
}

#[test]
fn an_override_with_a_split_is_recorded_even_without_findings() {
    let place = place();
    let called = run(&place, &["--override", "SPLIT", "--why", "it is too much"]);
    let made = record(&place, "t/attempt-1/decision.json");
    assert_eq!((&made["decision"], &made["rule"]), (&json!("SPLIT"), &json!("override")), "{}", called.text());
    assert_eq!((&made["override"]["why"], &made["override"]["was"]), (&json!("it is too much"), &json!("RETRY")));
}

// --- changes by agents ---

/// A configuration in the repository is part of the work.
#[rstest]
#[case::tracked(true)]
#[case::untracked(false)]
fn a_change_of_the_verifiers_by_an_agent_is_shown(#[case] is_tracked: bool) {
    let place = Place::new("
  - {role: developer, task: tides, steps: [write: {path: verifiers.yml, content: \"verifiers: []\\n\"}], submit: {status: done}}
");
    place.write("tides.md", TASK);
    place.write("repo/verifiers.yml", VERIFIERS);
    if is_tracked {
        place.git(&["add", "verifiers.yml"]);
        place.git(&["commit", "-q", "-m", "verifiers"]);
    }
    let called = run(&place, &[]);
    assert_eq!(called.code(), 0, "{}", called.text());
    let patch = std::fs::read_to_string(place.path().join("repo/runs/t/attempt-1/diff.patch")).unwrap();
    assert_eq!(patch.contains("verifiers.yml"), is_tracked, "{patch}");
}

#[test]
fn an_unknown_code_verifier_is_refused() {
    let place = place();
    place.write("verifiers.yml", "verifiers: [{id: ghost, mode: code}]\n");
    let called = run(&place, &["--dry-run"]);
    assert_eq!((called.code(), called.text().contains("verifier `ghost`")), (2, true), "{}", called.text());
}

// --- the example, kills ---

pub(crate) const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/");

/// The repository of the example.
pub(crate) fn example() -> Place {
    let place = Place::new("");
    std::fs::remove_dir_all(place.path().join("repo")).unwrap();
    let mut made = std::process::Command::new("sh");
    made.arg(format!("{EXAMPLE}tasks/repository.sh")).arg(place.path().join("repo"));
    assert!(made.status().unwrap().success());
    place
}

pub(crate) fn of_example(place: &Place, verifiers: &str) -> RunOutput {
    let [task, scenario] = ["task.md", "scenario.yaml"].map(|file| format!("{EXAMPLE}code-task/{file}"));
    let driver = format!("scripted:{scenario}");
    place.call(&[
        "task",
        "--task",
        &task,
        "--driver",
        &driver,
        "--dir",
        "repo",
        "--thread",
        "t",
        "--verifiers",
        verifiers,
        "--parallel",
        "2",
    ])
}

#[test]
fn the_example_retries_splits_and_is_done() {
    let place = example();
    let called = of_example(&place, &format!("{EXAMPLE}code-task/verifiers.yml"));
    assert_eq!(called.code(), 0, "{}", called.text());
    assert_eq!(decisions(&place, "t"), [(1, "RETRY".into()), (2, "SPLIT".into()), (3, "DONE".into())]);
    let shown = place.json(&["task", "show", "t"]);
    let children: Vec<_> =
        shown["children"].as_array().unwrap().iter().map(|child| child["task"].as_str().unwrap()).collect();
    assert_eq!(children, ["tide-scripts.1", "tide-scripts.2"]);
    assert_eq!(place.subjects("superstep/t").len(), 2);
}

/// The command of a verifier kills the program the first time that it runs in each place.
#[test]
fn a_task_killed_in_each_of_its_verifications_ends_the_same() {
    let end = |place: &Place| {
        let refs =
            place.git(&["for-each-ref", "--format=%(refname) %(tree) %(subject)", "refs/superstep", "refs/heads"]);
        let refs = refs.lines().filter(|line| !line.contains("/objects ")).collect::<Vec<_>>().join("\n");
        assert_eq!(place.git(&["worktree", "list"]).lines().count(), 1);
        (refs, decisions(place, "t"))
    };
    let whole = example();
    assert_eq!(of_example(&whole, &format!("{EXAMPLE}code-task/verifiers.yml")).code(), 0);
    let place = example();
    let text = std::fs::read_to_string(format!("{EXAMPLE}code-task/verifiers.yml")).unwrap();
    let mark = place.path().join("killed-$SUPERSTEP_TASK_ID-$SUPERSTEP_ATTEMPT");
    let kill =
        format!("[ -e \"{0}\" ] || {{ : > \"{0}\"; kill -9 $PPID; sleep 60; }}\n        for script", mark.display());
    place.write("killing.yml", &text.replacen("for script", &kill, 1));
    let mut called = of_example(&place, "killing.yml");
    let mut kills = 0;
    while called.0.status.code().is_none() {
        kills += 1;
        assert!(kills < 20, "{}", called.text());
        called = place.call(&["proceed", "t"]);
    }
    assert_eq!(called.code(), 0, "{}", called.text());
    assert!(kills >= 4, "both attempts, a child, the result: {kills}");
    assert_eq!(end(&place), end(&whole));
}

// --- rewind ---

#[test]
fn a_rewound_task_continues_in_a_separate_work_tree() {
    let place = done();
    let before = branches(&place);
    place.collect_garbage();
    let called = place.json(&["rewind", "t", "--attempt", "1"]);
    place.collect_garbage();
    assert_eq!((&called["thread"], &called["branch"]), (&json!("t-1"), &json!("superstep/t-1")));
    let folder = place.path().join("repo/.superstep/rewind/t-1");
    assert_eq!(called["folder"], folder.display().to_string());
    assert_eq!(std::fs::read_to_string(folder.join("a.txt")).unwrap(), "error: no tides\n");
    assert_eq!(decisions(&place, "t-1"), [(1, "RETRY".into())]);

    let continued = place.call(&["proceed", "t-1"]);
    assert_eq!(continued.code(), 0, "{}", continued.text());
    assert_eq!(decisions(&place, "t-1"), [(1, "RETRY".into()), (2, "DONE".into())]);
    let verified = place.call(&["replay", "t-1", "--mode", "verify"]);
    assert_eq!((verified.code(), verified.text().contains("no difference")), (0, true), "{}", verified.text());
    assert_eq!(place.git(&["show", "superstep/t-1:a.txt"]), "high\n");
    assert_eq!(place.subjects("superstep/t-1").len(), 2);
    let after: Vec<String> = branches(&place).into_iter().filter(|line| !line.starts_with("superstep/t-1 ")).collect();
    assert_eq!(after, before);
    assert_eq!(place.call(&["status", "t"]).code(), 0);
}

#[test]
fn a_rewound_task_can_have_a_new_branch_in_the_checkout() {
    let place = done();
    let before = branches(&place);
    let called = place.call(&["rewind", "t", "--attempt", "1", "--branch", "again"]);
    assert_eq!(called.code(), 0, "{}", called.text());
    assert_eq!(place.git(&["branch", "--show-current"]), "again\n");
    assert_eq!(std::fs::read_to_string(place.path().join("repo/a.txt")).unwrap(), "error: no tides\n");
    let continued = place.call(&["proceed", "t-1"]);
    assert_eq!(continued.code(), 0, "{}", continued.text());
    assert_eq!(place.subjects("again").len(), 2);
    let after: Vec<String> = branches(&place).into_iter().filter(|line| !line.starts_with("again ")).collect();
    assert_eq!(after, before);
}

#[rstest]
#[case::unknown(&["--attempt", "7"], 2, "its attempts are 1 to 2")]
#[case::branch(&["--attempt", "1", "--branch", "main"], 1, "branch `main` already exists")]
#[case::folder(&["--attempt", "1", "--worktree", "repo"], 1, "already exists and is not an empty folder")]
#[case::dirty(&["--attempt", "1", "--branch", "again"], 1, "mine.txt")]
fn a_conflicting_rewind_changes_nothing(#[case] more: &[&str], #[case] code: i32, #[case] why: &str) {
    let place = done();
    place.write("repo/mine.txt", "mine");
    let before = branches(&place);
    let called = place.call(&[&["rewind", "t"], more].concat());
    assert_eq!((called.code(), called.text().contains(why)), (code, true), "{}", called.text());
    assert_eq!(branches(&place), before);
    assert_eq!(place.json(&["threads"]).as_array().unwrap().len(), 1);
}

#[rstest]
#[case::in_a_work_tree(&[])]
#[case::in_the_checkout(&["--branch", "again"])]
fn a_rewind_that_fails_leaves_no_work_tree_and_no_branch(#[case] more: &[&str]) {
    let place = done();
    place.write("lost.txt", "error: no tides\n");
    let lost = place.git(&["hash-object", "../lost.txt"]);
    let (folder, file) = lost.trim().split_at(2);
    std::fs::remove_file(place.path().join("repo/.git/objects").join(folder).join(file)).unwrap();
    let before = (branches(&place), place.git(&["symbolic-ref", "HEAD"]), place.git(&["status", "--porcelain"]));
    let called = place.call(&[&["rewind", "t", "--attempt", "1"], more].concat());
    assert_eq!(called.code(), 1, "{}", called.text());
    let after = (branches(&place), place.git(&["symbolic-ref", "HEAD"]), place.git(&["status", "--porcelain"]));
    assert_eq!(after, before, "{}", called.text());
    assert_eq!(place.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(place.json(&["threads"]).as_array().unwrap().len(), 1);
}

#[test]
fn a_rewind_to_an_existing_name_is_refused() {
    let place = done();
    assert_eq!(place.call(&["rewind", "t", "--attempt", "2"]).code(), 0);
    let again = place.call(&["rewind", "t", "--attempt", "2"]);
    assert_eq!((again.code(), again.text().contains("there is a thread `t-2` already")), (1, true), "{}", again.text());
}

// --- what if ---

#[test]
fn what_if_decides_with_other_limits_from_the_records() {
    let place = done();
    let what_if = ["replay", "t", "--mode", "what-if", "--override-policy"];
    let found = place.json(&[&what_if[..], &["max_attempts=1"]].concat());
    let line = |at: usize| (found[at]["attempt"].clone(), found[at]["recorded"].clone(), found[at]["now"].clone());
    assert_eq!(line(0), (json!(1), json!("RETRY"), json!("GIVE_UP")), "{found}");
    assert_eq!(line(1), (json!(2), json!("DONE"), json!("DONE")), "{found}");
    let text = place.call(&[&what_if[..], &["max_attempts=1"]].concat());
    assert!(text.text().starts_with("! attempt 1: RETRY, would be GIVE_UP by `"), "{}", text.text());
    assert_eq!(text.code(), 0);
    let unknown = place.call(&[&what_if[..], &["max_attempt=1"]].concat());
    assert_eq!((unknown.code(), unknown.text().contains("max_attempts")), (2, true), "{}", unknown.text());
}
