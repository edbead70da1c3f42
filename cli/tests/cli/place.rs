//! A folder with a repository, a plan, a profile and a scenario, and the binary run in it.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) const PLAN: &str =
    "# Clock\n\n**Goal:** A clock.\n\n### Task 1: Face\n\nA face.\n\n### Task 2: Hands\n\nHands.\n";

/// The developer writes a file for each task.
pub(crate) const WORK: &str = "
  - {role: developer, task: '1', times: always, steps: [write: {path: face.txt, content: face}], submit: {status: done, summary: did}}
  - {role: developer, times: always, steps: [write: {path: more.txt, content: more}], submit: {status: done, summary: did}}
";
pub(crate) const APPROVES: &str =
    "  - {role: reviewer, times: always, submit: {approved: true, severity: none, summary: fine}}\n";
pub(crate) const REJECTS_FIRST: &str =
    "  - {role: reviewer, task: '1', times: 2, submit: {approved: false, severity: major, comments: [{issue: no}]}}\n";

/// A folder with a repository, a plan, a profile and a scenario.
pub(crate) struct Place(pub(crate) TempDir);

impl Place {
    pub(crate) fn new(turns: &str) -> Self {
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

    /// Runs a thread `t` whose first task was rejected in every attempt.
    pub(crate) fn halted() -> Self {
        let place = Self::new(REJECTS_FIRST);
        assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
        let halted = place.call(&["approve", "t"]);
        assert_eq!(halted.code(), 11, "{}", halted.text());
        place
    }

    pub(crate) fn profile(&self, more: &str) {
        self.write("p.toml", &format!("driver = 'scripted:agents.yaml'\nmax_task_review_iterations = 2\n{more}"));
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(args).current_dir(self.0.path().join("repo"));
        let output = git
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Has git remove all objects that nothing refers to.
    pub(crate) fn collect_garbage(&self) {
        self.git(&["reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all"]);
        self.git(&["gc", "--quiet", "--prune=now"]);
    }

    /// Returns the subjects of a branch, oldest first.
    pub(crate) fn subjects(&self, branch: &str) -> Vec<String> {
        self.git(&["log", "--reverse", "--format=%s", branch]).lines().map(str::to_owned).collect()
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_superstep"));
        command
            .env_remove("SUPERSTEP_STORE")
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        command.current_dir(&self.0).args(words);
        command
    }

    pub(crate) fn call(&self, words: &[&str]) -> RunOutput {
        RunOutput(self.command(words).output().unwrap())
    }

    pub(crate) fn run(&self, more: &[&str]) -> RunOutput {
        self.call(&[&["run", "tasks", "--dir", "repo", "--profile", "p.toml", "--thread", "t"], more].concat())
    }

    /// Runs the program with lines on standard input.
    pub(crate) fn call_with_input(&self, words: &[&str], lines: &str) -> RunOutput {
        let mut command = self.command(words);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        RunOutput(child.wait_with_output().unwrap())
    }

    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let called = self.call(&[words, &["--json"]].concat());
        serde_json::from_slice(&called.0.stdout).unwrap_or_else(|error| panic!("{error}: {}", called.text()))
    }

    pub(crate) fn state(&self) -> Value {
        self.json(&["status", "t"])["state"].take()
    }

    pub(crate) fn marks(&self) -> Vec<String> {
        let state = self.state();
        state["tasks"].as_array().unwrap().iter().map(|task| task["mark"].as_str().unwrap().to_owned()).collect()
    }
}

pub(crate) struct RunOutput(pub(crate) Output);

impl RunOutput {
    pub(crate) fn code(&self) -> i32 {
        self.0.status.code().unwrap()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&[&*self.0.stdout, &*self.0.stderr].concat()).into_owned()
    }
}
