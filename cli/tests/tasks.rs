//! `superstep run tasks` as scripts meet it: the real binary, real git, agents that follow a scenario.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

#[path = "tasks/agents.rs"]
mod agents;
mod kills;
#[path = "../../tests/support/model_server/mod.rs"]
mod model_server;

use std::io::Write;
use std::process::{Command, Output, Stdio};

use rstest::rstest;
use serde_json::{Value, json};
use tempfile::TempDir;

const PLAN: &str = "# Clock\n\n**Goal:** A clock.\n\n### Task 1: Face\n\nA face.\n\n### Task 2: Hands\n\nHands.\n";

/// The developer writes a file for each task, whatever else happens.
const WORK: &str = "
  - {role: developer, task: '1', times: always, steps: [write: {path: face.txt, content: face}], submit: {status: done, summary: did}}
  - {role: developer, times: always, steps: [write: {path: more.txt, content: more}], submit: {status: done, summary: did}}
";
const APPROVES: &str = "  - {role: reviewer, times: always, submit: {approved: true, severity: none, summary: fine}}\n";
const REJECTS_FIRST: &str =
    "  - {role: reviewer, task: '1', times: 2, submit: {approved: false, severity: major, comments: [{issue: no}]}}\n";

/// A folder with a repository, a plan, a profile and a scenario.
struct Place(TempDir);

impl Place {
    fn new(turns: &str) -> Self {
        let this = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir(this.0.path().join("repo")).unwrap();
        this.git(&["init", "-q", "-b", "main"]);
        this.git(&["config", "user.name", "Ada"]);
        this.git(&["config", "user.email", "ada@example.org"]);
        this.git(&["commit", "-q", "--allow-empty", "-m", "begin"]);
        this.write("PLAN.md", PLAN);
        this.write("agents.yaml", &format!("turns:\n{turns}{WORK}{APPROVES}"));
        this.profile("");
        this
    }

    /// A thread `t` whose first task was rejected as often as it may be.
    fn halted() -> Self {
        let place = Self::new(REJECTS_FIRST);
        assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
        let halted = place.call(&["approve", "t"]);
        assert_eq!(halted.code(), 11, "{}", halted.told());
        place
    }

    fn profile(&self, more: &str) {
        self.write("p.toml", &format!("driver = 'scripted:agents.yaml'\nmax_task_review_iterations = 2\n{more}"));
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    fn git(&self, args: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(args).current_dir(self.0.path().join("repo"));
        let output = git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The subjects of the branch `superstep/t`, oldest first.
    fn subjects(&self, branch: &str) -> Vec<String> {
        self.git(&["log", "--reverse", "--format=%s", branch]).lines().map(str::to_owned).collect()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_superstep"));
        command.env_remove("SUPERSTEP_STORE").env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command.current_dir(&self.0).args(words);
        command
    }

    fn call(&self, words: &[&str]) -> Called {
        Called(self.command(words).output().unwrap())
    }

    fn run(&self, more: &[&str]) -> Called {
        self.call(&[&["run", "tasks", "--dir", "repo", "--profile", "p.toml", "--thread", "t"], more].concat())
    }

    /// Calls with lines on standard input.
    fn say(&self, words: &[&str], lines: &str) -> Called {
        let mut command = self.command(words);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        Called(child.wait_with_output().unwrap())
    }

    fn json(&self, words: &[&str]) -> Value {
        let called = self.call(&[words, &["--json"]].concat());
        serde_json::from_slice(&called.0.stdout).unwrap_or_else(|error| panic!("{error}: {}", called.told()))
    }

    fn state(&self) -> Value {
        self.json(&["status", "t"])["state"].take()
    }

    fn marks(&self) -> Vec<String> {
        let state = self.state();
        state["tasks"].as_array().unwrap().iter().map(|task| task["mark"].as_str().unwrap().to_owned()).collect()
    }
}

struct Called(Output);

impl Called {
    fn code(&self) -> i32 {
        self.0.status.code().unwrap()
    }

    fn told(&self) -> String {
        String::from_utf8_lossy(&[&*self.0.stdout, &*self.0.stderr].concat()).into_owned()
    }
}

#[rstest]
#[case::no_such_word("\"aprove\"")]
#[case::a_number("1")]
#[case::nothing("null")]
#[case::another_field(r#"{"approve":{"task":["1"]}}"#)]
#[case::two_at_once(r#"{"reject":{"feedback":"x"},"approve":{"tasks":["1"]}}"#)]
fn an_answer_of_another_shape_is_wrong_usage_and_writes_nothing(#[case] answer: &str) {
    let place = Place::new("");
    assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
    let before = place.json(&["status", "t"]);
    let called = place.call(&["resume", "t", "--answer", answer]);
    assert_eq!(called.code(), 2, "{}", called.told());
    assert_eq!(place.json(&["status", "t"]), before);
}

#[rstest]
#[case::accept(r#""accept""#, 0, json!("completed"), &["done", "done"], &["1", "2"])]
#[case::skip(r#""skip""#, 0, json!("completed"), &["skipped", "done"], &["2"])]
#[case::abort(r#""abort""#, 13, json!("cancelled"), &["halted", "pending"], &[])]
#[case::retry(r#"{"retry":{"attempts":1,"note":"mind the gap"}}"#, 0, json!("completed"), &["done", "done"], &["1", "2"])]
#[case::edit_plan(
    r##"{"edit_plan":{"markdown":"# Clock\n\n### Task 1: Face\n\nRound.\n\n### Task 7: Bell\n\nA bell.\n"}}"##,
    0, json!("completed"), &["done", "done"], &["1", "7"])]
fn every_answer_to_a_halt_is_followed(
    #[case] answer: &str,
    #[case] code: i32,
    #[case] outcome: Value,
    #[case] marks: &[&str],
    #[case] commits: &[&str],
) {
    let place = Place::halted();
    let called = place.call(&["resume", "t", "--answer", answer]);
    assert_eq!(called.code(), code, "{}", called.told());
    assert_eq!(place.state()["outcome"], outcome);
    assert_eq!(place.marks(), marks);
    let subjects: Vec<String> = commits.iter().map(|id| format!("feat(unknown): complete task {id}")).collect();
    assert_eq!(place.subjects("superstep/t")[1..], subjects);
    assert_eq!(place.subjects("main"), ["begin"]);
}

#[rstest]
#[case::skip("skip", 0, json!("completed"), &["skipped", "done"])]
#[case::fail("fail", 1, json!("failed"), &["halted", "pending"])]
fn a_profile_says_what_becomes_of_an_exhausted_task(
    #[case] word: &str,
    #[case] code: i32,
    #[case] outcome: Value,
    #[case] marks: &[&str],
) {
    let place = Place::new(REJECTS_FIRST);
    place.profile(&format!("on_exhausted = '{word}'\n"));
    assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
    let called = place.call(&["approve", "t"]);
    assert_eq!(called.code(), code, "{}", called.told());
    assert_eq!(
        (place.state()["outcome"].clone(), place.marks()),
        (outcome, marks.iter().map(|m| m.to_string()).collect())
    );
}

#[test]
fn interactive_asks_every_question_until_the_end_of_input() {
    let place = Place::new(REJECTS_FIRST);
    assert_eq!(place.run(&["--plan", "PLAN.md", "--interactive"]).code(), 10);
    let halted = place.say(&["proceed", "t", "--interactive"], "aprove\n\nrevise\napprove\n");
    assert_eq!(halted.code(), 11, "{}", halted.told());
    let told = halted.told();
    assert!(told.contains("answer with approve, reject TEXT, revise TEXT, or JSON"), "{told}");
    assert!(told.contains("unknown variant `aprove`"), "{told}");
    let finished = place.say(&["resume", "t", "--interactive"], "skip\n");
    assert_eq!(finished.code(), 0, "{}", finished.told());
    assert_eq!(place.marks(), ["skipped", "done"]);
}

/// Writes a plan of two tasks; one of a single task if it is asked for less.
const ARCHITECT: &str = "
  - {role: architect, contains: smaller, submit: {goal: A clock., tasks: [{id: '1', title: All, description: All of it.}]}}
  - {role: architect, submit: {goal: A clock., tasks: [
      {id: '1', title: Face, description: A face.}, {id: '2', title: Hands, description: Hands.}]}}
";

#[rstest]
#[case::not_asked_for("", "face.txt\n")]
#[case::asked_for("plan_in_repo = true\n", "docs/plans/CLOCK-7.md\nface.txt\n")]
#[case::elsewhere("plan_in_repo = true\nplan_dir = 'notes'\n", "face.txt\nnotes/CLOCK-7.md\n")]
fn a_plan_that_an_architect_wrote_is_committed_with_the_first_task_if_that_is_wanted(
    #[case] profile: &str,
    #[case] files: &str,
) {
    let place = Place::new(ARCHITECT);
    place.profile(profile);
    place.write("ISSUE.md", "---\nid: CLOCK-7\n---\n# A clock\n\nWe need one.\n");
    let asked = place.run(&["--issue", "ISSUE.md"]);
    assert_eq!(asked.code(), 10, "{}", asked.told());
    let done = place.call(&["approve", "t"]);
    assert_eq!(done.code(), 0, "{}", done.told());
    let subjects = ["begin", "feat(CLOCK-7): complete task 1", "feat(CLOCK-7): complete task 2"];
    assert_eq!(place.subjects("superstep/CLOCK-7"), subjects);
    let committed = |commit: &str| place.git(&["show", "--format=", "--name-only", commit]);
    assert_eq!((&*committed("HEAD~1"), &*committed("HEAD")), (files, "more.txt\n"));
    assert_eq!(place.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_plan_without_an_issue_is_revised_too() {
    let place = Place::new(ARCHITECT);
    assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
    let asked = place.call(&["revise", "t", "--feedback", "smaller"]);
    assert_eq!(asked.code(), 10, "{}", asked.told());
    assert_eq!(place.call(&["approve", "t"]).code(), 0);
    assert_eq!(place.marks(), ["done"]);
}

#[test]
fn an_issue_is_refused_where_none_are_taken() {
    let place = Place::new(ARCHITECT);
    place.profile("tracker = 'none'\n");
    place.write("ISSUE.md", "# A clock\n\nWe need one.\n");
    let called = place.run(&["--plan", "PLAN.md", "--issue", "ISSUE.md"]);
    assert_eq!(called.code(), 2, "{}", called.told());
    assert!(called.told().contains("tracker = \"none\""), "{}", called.told());
    assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
}

#[test]
fn an_agent_without_a_model_is_wrong_usage() {
    let place = Place::new("");
    let called = place.call(&["run", "tasks", "--plan", "PLAN.md", "--dir", "repo", "--driver", "api"]);
    assert_eq!(called.code(), 2, "{}", called.told());
    assert!(called.told().contains("no model is named for the developer"), "{}", called.told());
}
