//! The output for people of a plan that is executed phase by phase: lines of a run, its status while it runs and after a kill.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

const PLAN: &str = "\
# Clock

### Task 1: Hands
**Depends on:** none
**Verify:** `test -e hands.txt`

### Task 2: Face
**Depends on:** none
**Verify:** `test -e face.txt`

### Task 3: Case
**Depends on:** 1, 2
";

/// The second task fails its check once; its second turn does not end.
const SCENARIO: &str = "
turns:
  - {role: developer, task: 1, steps: [{write: {path: hands.txt, content: x}}, {usage: {input: 5, cost: 0.002}}], submit: {status: done}}
  - {role: developer, task: 2, attempt: 1, steps: [{write: {path: f, content: x}}, {usage: {input: 5, cost: 0.003}}], submit: {status: done}}
  - {role: developer, task: 2, attempt: 2, steps: [{write: {path: face.txt, content: x}}, {wait: 600s}], submit: {status: done}}
";

struct Place(TempDir);

/// A process that does not outlive its test.
struct Killed(Child);

impl Killed {
    fn end(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        std::fs::write(place.path("plan.md"), PLAN).unwrap();
        std::fs::write(place.path("scenario.yaml"), SCENARIO).unwrap();
        let init = "git init -q repo && cd repo && echo x > README && git add . \
                    && git -c user.name=a -c user.email=a@b commit -qm begin && git config user.name a && git config user.email a@b";
        assert!(place.shell(init).status().unwrap().success());
        place
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn shell(&self, line: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(&self.0).env("GIT_CONFIG_GLOBAL", "/dev/null");
        shell
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_superstep"));
        command.args(words).current_dir(&self.0).env("GIT_CONFIG_GLOBAL", "/dev/null").env_remove("SUPERSTEP_STORE");
        command
    }

    fn text(&self, words: &[&str]) -> String {
        String::from_utf8(self.command(words).output().unwrap().stdout).unwrap()
    }

    fn status(&self) -> Value {
        serde_json::from_str(&self.text(&["status", "t", "--json"])).unwrap_or_default()
    }

    /// Starts the run and lets it go on until the second turn of the second task.
    fn busy(&self) -> (Killed, Value) {
        let run = ["run", "phases", "--plan", "plan.md", "--driver", "scripted:scenario.yaml", "--dir", "repo"];
        let asked = self.command(&[&run[..], &["--thread", "t"]].concat()).output().unwrap();
        assert_eq!(asked.status.code(), Some(10), "{asked:?}");
        let log = std::fs::File::create(self.path("log")).unwrap();
        let child = Killed(self.command(&["approve", "t"]).stdout(Stdio::from(log)).spawn().unwrap());
        let began = Instant::now();
        loop {
            let status = self.status();
            let acts = |task: &Value| task["label"] == "task 2, attempt 2" && task["action"] == "write face.txt";
            if status["running"].as_array().is_some_and(|tasks| tasks.iter().any(acts)) {
                return (child, status);
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{status}");
            sleep(Duration::from_millis(20));
        }
    }
}

fn subtask(status: &Value, at: usize) -> [Value; 4] {
    let subtask = &status["state"]["phases"][0]["subtasks"][at];
    let started = json!(subtask["started_at"].is_string());
    [subtask["status"].clone(), subtask["attempt"].clone(), subtask["cost"].clone(), started]
}

#[test]
fn a_status_has_what_subtasks_have_stored_so_far_also_after_a_kill() {
    let place = Place::new();
    let (mut child, status) = place.busy();
    let (done, under_way) = ([json!("completed"), json!(1), json!(2_000), json!(true)], json!("running"));
    let begun = [under_way, json!(1), json!(3_000), json!(true)];
    assert_eq!([subtask(&status, 0), subtask(&status, 1)], [done.clone(), begun.clone()]);
    assert_eq!(status["state"]["usage"]["cost"], 5_000);
    let shown = place.text(&["status", "t"]);
    assert!(shown.contains("Phase 1: ● Running (1/2 subtasks complete)"), "{shown}");
    assert!(shown.contains("  running:\n    [task 2"), "{shown}");
    assert!(shown.contains("last write face.txt"), "{shown}");
    child.end();
    let status = place.status();
    assert_eq!([subtask(&status, 0), subtask(&status, 1)], [done, begun]);
    assert_eq!(status["running"], Value::Null);
}

#[test]
fn events_of_phases_are_text_and_lines_say_their_subtask() {
    let place = Place::new();
    let (mut child, _) = place.busy();
    child.end();
    let log = std::fs::read_to_string(place.path("log")).unwrap();
    for line in [
        "superstep 5: phase 1 started, attempt 1",
        "superstep 6: subtask 1 started, attempt 1: Hands",
        "[task 2] run_subtask/verify: $ test -e face.txt",
        "superstep 6: subtask 1 completed, attempt 1",
    ] {
        assert!(log.lines().any(|known| known == line), "{line}: {log}");
    }
    assert!(log.contains("run_subtask/set_up done 0.") && log.contains("s (task 1)\n"), "{log}");
    assert!(!log.contains("says {"), "{log}");
    let events = place.text(&["events", "t"]);
    assert!(events.contains("  subtask 2 started, attempt 1: Face\n"), "{events}");
    let story = place.text(&["log", "t"]);
    assert!(story.contains("  phase 1 started, attempt 1\n"), "{story}");
    let events: Value = serde_json::from_str(&place.text(&["events", "t", "--json"])).unwrap();
    let is_event = |event: &&Value| event["value"]["phase_started"]["phase_index"] == 0;
    assert!(events.as_array().unwrap().iter().any(|event| is_event(&event)), "{events}");
    resumed(&place);
}

/// The labels are there as well where a run is resumed in the middle of a subtask.
fn resumed(place: &Place) {
    let log = std::fs::File::create(place.path("log")).unwrap();
    let mut resumed = Killed(place.command(&["proceed", "t"]).stdout(Stdio::from(log)).spawn().unwrap());
    let began = Instant::now();
    let is_labelled = |task: &Value| task["node"] == "run_subtask" && task["label"] == "task 2";
    loop {
        let status = place.status();
        if status["running"].as_array().is_some_and(|tasks| tasks.iter().any(is_labelled)) {
            return resumed.end();
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{status}");
        sleep(Duration::from_millis(20));
    }
}
