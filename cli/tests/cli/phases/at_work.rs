//! A run of phases while it works and after a kill: its lines, its status, its events.

use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::phases::shown;
use crate::place::Place;

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

/// The second task fails its check once; its second turn never ends.
const TURNS: &str = "
  - {role: developer, task: 1, steps: [{write: {path: hands.txt, content: x}}, {usage: {input: 5, cost: 0.002}}], submit: {status: done}}
  - {role: developer, task: 2, attempt: 1, steps: [{write: {path: f, content: x}}, {usage: {input: 5, cost: 0.003}}], submit: {status: done}}
  - {role: developer, task: 2, attempt: 2, steps: [{write: {path: face.txt, content: x}}, {wait: 600s}], submit: {status: done}}
";

/// A process that is killed when its test ends.
struct ChildGuard(Child);

impl ChildGuard {
    fn end(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for ChildGuard {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}

impl Place {
    fn clock() -> Self {
        let place = Self::phased(TURNS);
        place.write("PLAN.md", PLAN);
        place
    }

    /// Starts the run and waits for the end of the first task, and the second turn of the second.
    fn busy(&self) -> (ChildGuard, Value) {
        let start = self.phases(&[]);
        assert_eq!(start.code(), 10, "{}", start.text());
        let child = self.spawned("approve");
        let began = Instant::now();
        loop {
            let status = self.json(&["status", "t"]);
            let acts = |task: &Value| task["label"] == "task 2, attempt 2" && task["action"] == "write face.txt";
            let is_beside = status["state"]["phases"][0]["subtasks"][0]["status"] == "completed";
            if is_beside && status["running"].as_array().is_some_and(|tasks| tasks.iter().any(acts)) {
                return (child, status);
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{status}");
            sleep(Duration::from_millis(20));
        }
    }
}

impl Place {
    fn spawned(&self, word: &str) -> ChildGuard {
        let log = std::fs::File::create(self.path().join("log")).unwrap();
        ChildGuard(self.command(&[word, "t"]).stdout(Stdio::from(log)).spawn().unwrap())
    }

    fn text(&self, words: &[&str]) -> String {
        String::from_utf8(self.command(words).output().unwrap().stdout).unwrap()
    }
}

fn subtask(status: &Value, at: usize) -> [Value; 4] {
    let subtask = &status["state"]["phases"][0]["subtasks"][at];
    let started = json!(subtask["started_at"].is_string());
    [subtask["status"].clone(), subtask["attempt"].clone(), subtask["cost"].clone(), started]
}

#[test]
fn a_status_shows_the_stored_progress_of_subtasks_even_after_a_kill() {
    let place = Place::clock();
    let (mut child, status) = place.busy();
    let (done, under_way) = ([json!("completed"), json!(1), json!(2_000), json!(true)], json!("running"));
    let started = [under_way, json!(1), json!(3_000), json!(true)];
    assert_eq!([subtask(&status, 0), subtask(&status, 1)], [done.clone(), started.clone()]);
    assert_eq!(status["state"]["usage"]["cost"], 5_000);
    insta::assert_snapshot!(shown::status(&place), @r"
    t: running
      next: run_subtask
      plan: PLACE/PLAN.md
      branch: superstep/t
      Phase 1: ● Running (1/2 subtasks complete)
        ├── ✓ 1 Hands  TIME  $0.0020
        └── ● 2 Face (running)  since CLOCK  $0.0030
      Phase 2: ○ Pending
        └── ○ 3 Case
      developer: 10 tokens, $0.0050
      cost: $0.0050
      tokens: 10
      running:
        [task 2] run_subtask: at work for TIME
        [task 2, attempt 2] run_subtask/developer: at work for TIME, last write face.txt

    watch it with
      superstep watch t
    cancel its run with
      superstep cancel t
    ");
    child.end();
    let status = place.json(&["status", "t"]);
    assert_eq!([subtask(&status, 0), subtask(&status, 1)], [done, started]);
    assert_eq!(status["running"], Value::Null);
}

#[test]
fn events_of_phases_are_printed_with_their_subtask() {
    let place = Place::clock();
    let (mut child, _) = place.busy();
    let log = || std::fs::read_to_string(place.path().join("log")).unwrap();
    let began = Instant::now();
    while !log().contains("subtask 1 completed") && began.elapsed() < Duration::from_secs(60) {
        sleep(Duration::from_millis(20));
    }
    child.end();
    let log = log();
    for line in [
        "superstep 5: phase 1 started, attempt 1",
        "superstep 6: subtask 1 started, attempt 1: Hands",
        "[task 2] run_subtask/verify: $ test -e face.txt",
        "superstep 6: subtask 1 completed, attempt 1",
    ] {
        assert!(log.lines().any(|known| known == line), "{line}: {log}");
    }
    let is_check = |line: &&str| line.starts_with("  superstep ") && line.contains(": run_subtask/verify done 0.");
    assert!(log.lines().any(|line| is_check(&line)), "counters of a subgraph are indented: {log}");
    assert!(!log.contains("set_up"), "steps of the machinery are hidden: {log}");
    assert!(!log.contains("says {"), "{log}");
    let events = place.text(&["events", "t"]);
    assert!(events.contains("  subtask 2 started, attempt 1: Face\n"), "{events}");
    let story = place.text(&["log", "t"]);
    assert!(story.contains("  phase 1 started, attempt 1\n"), "{story}");
    let events = place.json(&["events", "t"]);
    let is_event = |event: &&Value| event["value"]["phase_started"]["phase_index"] == 0;
    assert!(events.as_array().unwrap().iter().any(|event| is_event(&event)), "{events}");
    resumed(&place);
}

/// The labels are shown also where a run is resumed in the middle of a subtask.
fn resumed(place: &Place) {
    let mut resumed = place.spawned("proceed");
    let began = Instant::now();
    let is_labelled = |task: &Value| task["node"] == "run_subtask" && task["label"] == "task 2";
    loop {
        let status = place.json(&["status", "t"]);
        if status["running"].as_array().is_some_and(|tasks| tasks.iter().any(is_labelled)) {
            return resumed.end();
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{status}");
        sleep(Duration::from_millis(20));
    }
}
