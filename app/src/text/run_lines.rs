//! Display of a run as plain lines, for pipes and logs. Pure.

use std::collections::HashMap;

use serde_json::Value;

use super::progress::{EventView, RunningTask, Tasks, WorkTotals, time};
use super::{clean, clean_lines, format_output, safe_json, workflow_event};

/// The time in ms for which an agent's next action waits for its line: of several, only the last one gets it.
const PAUSE: u64 = 3_000;
/// The time in ms after which a silent task gets a line that says it is still at work.
const SILENCE: u64 = 30_000;

/// Lines for each task that ends, each value that a node emits, and, at intervals, for actions of agents or silence.
#[derive(Default)]
pub(crate) struct RunLines {
    tasks: Tasks,
    /// For each task: the time of its last line, and whether it has acted since.
    last_lines: HashMap<String, (u64, bool)>,
    work: WorkTotals,
    /// Set to show the steps of the machinery too.
    shows_all: bool,
}

impl RunLines {
    /// Returns a display, which shows the steps of the machinery with `--log`.
    pub(crate) fn new(shows_all: bool, cost: u64) -> Self {
        Self { shows_all, work: WorkTotals::after(cost), ..Self::default() }
    }

    /// Returns the lines for an event.
    pub(crate) fn on_event(&mut self, event: &Value) -> String {
        let seen = EventView::of(event);
        match seen.kind {
            "start" => {
                self.tasks.end(&seen); // of an attempt before, if there was one
                self.tasks.of(&seen);
                self.last_lines.insert(seen.path.clone(), (seen.at, false));
                String::new()
            }
            "end" | "failed" | "asked" => self.task_line(&seen),
            "custom" => self.custom_line(&seen),
            "answered" => {
                let answer = event["answer"].to_string();
                format!("{}: {} is answered {}\n", counter(&seen), clean(&seen.node_path()), safe_json(&answer))
            }
            "message" => self.agent_line(&seen),
            "missed" => format!("{} events were missed\n", event["count"]),
            _ => String::new(),
        }
    }

    /// Returns the line for a node's output.
    fn custom_line(&mut self, seen: &EventView<'_>) -> String {
        if let Some(line) = workflow_event(&seen.event["value"], 2) {
            return format!("{}: {line}\n", counter(seen));
        }
        let label = self.tasks.of(seen).label.as_ref().map(|label| format!(" ({})", clean(label)));
        let (path, text) = (seen.node_path(), format_output(&seen.event["value"], 2));
        format!("{}: {}{} says {text}\n", counter(seen), clean(&path), label.unwrap_or_default())
    }

    fn task_line(&mut self, seen: &EventView<'_>) -> String {
        self.last_lines.remove(&seen.path);
        let task = self.tasks.end(seen);
        let took = task.as_ref().map(|task| format!(" {}", time(seen.at.saturating_sub(task.began))));
        let about = task.as_ref().map(about).unwrap_or_default();
        let how = match seen.kind {
            "end" if seen.is_machinery() && !self.shows_all => return String::new(),
            "failed" => format!("failed: {}", clean_lines(seen.error().unwrap_or_default(), 2)),
            "asked" => "asks".into(),
            _ => seen.dropped_channels().map_or("done".to_owned(), |dropped| clean(&dropped).into_owned()),
        };
        format!("{}: {} {how}{}{about}\n", counter(seen), clean(&seen.node_path()), took.unwrap_or_default())
    }

    /// Formats an agent's action: the first one at once, then one per interval.
    fn agent_line(&mut self, seen: &EventView<'_>) -> String {
        let work = self.work.on_message(&seen.event["value"]);
        let task = self.tasks.of(seen);
        if !task.agent.apply(&seen.event["value"]) {
            return work.into_iter().map(|line| format!("{line}\n")).collect();
        }
        let last = self.last_lines.entry(seen.path.clone()).or_insert((seen.at, false));
        last.1 = true;
        if task.agent.actions > 1 && seen.at.saturating_sub(last.0) < PAUSE {
            return String::new();
        }
        *last = (seen.at, false);
        action_line(task)
    }

    /// Returns the lines that are due as time passes.
    pub(crate) fn tick(&mut self, now: u64) -> String {
        let mut lines = String::new();
        for task in &self.tasks.0 {
            let Some(last) = self.last_lines.get_mut(&task.path) else { continue };
            let silent = now.saturating_sub(last.0);
            match last.1 {
                true if silent >= PAUSE => lines.push_str(&action_line(task)),
                false if silent >= SILENCE => lines.push_str(&at_work(task, now)),
                _ => continue,
            }
            *last = (now, false);
        }
        lines
    }
}

/// Returns the superstep of an event; those of a subgraph are indented under the task that runs it.
fn counter(seen: &EventView<'_>) -> String {
    format!("{}superstep {}", "  ".repeat(seen.above.len()), seen.step)
}

/// Formats `[task 1, attempt 2] developer: edit src/lib.rs`.
fn action_line(task: &RunningTask) -> String {
    format!("{}: {}\n", prefix(task), clean(task.agent.action.as_deref().unwrap_or_default()))
}

/// Formats `[task 1, attempt 2] developer: at work for 1m30s, 3.1k tokens, $0.0110, last $ cargo test`.
fn at_work(task: &RunningTask, now: u64) -> String {
    let mut parts = vec![format!("at work for {}", time(now.saturating_sub(task.began)))];
    parts.extend(task.agent.usage_parts(false));
    parts.extend(task.agent.action.as_ref().map(|action| format!("last {}", clean(action))));
    format!("{}: {}\n", prefix(task), parts.join(", "))
}

fn prefix(task: &RunningTask) -> String {
    let node_path = clean(&task.node_path);
    match task.place(false) {
        Some(place) => format!("[{}] {node_path}", clean(&place)),
        None => format!("[{node_path}]"),
    }
}

/// Returns the summary of an agent's task: ` (task 1, attempt 2, 4 actions, 1.0k tokens, $0.0040)`.
fn about(task: &RunningTask) -> String {
    let agent = &task.agent;
    let mut parts: Vec<String> = task.place(false).iter().map(|place| clean(place).into_owned()).collect();
    match agent.actions {
        0 => {}
        1 => parts.push("1 action".into()),
        more => parts.push(format!("{more} actions")),
    }
    parts.extend(agent.usage_parts(false));
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(kind: &str, at: u64, value: &Value) -> Value {
        json!({"kind": kind, "step": 4, "node": "developer", "path": ["developer:7-2"], "at": at, "value": value})
    }

    fn call(path: &str) -> Value {
        json!({"tool_call": {"id": "1", "name": "edit", "arguments": {"path": path}}})
    }

    #[test]
    fn an_agent_gets_a_line_every_few_seconds() {
        let mut lines = RunLines::default();
        let mut text = lines.on_event(&event("start", 0, &Value::Null));
        let turn = json!({"turn": {"role": "developer", "task": "1", "attempt": 2}});
        text += &lines.on_event(&event("message", 0, &turn));
        for (at, file) in [(100, "a.rs"), (200, "b.rs"), (300, "c.rs")] {
            text += &lines.on_event(&event("message", at, &call(file)));
        }
        text += &lines.tick(3_000);
        text += &lines.tick(3_200);
        text += &lines.tick(33_100);
        text += &lines.on_event(&event(
            "message",
            33_150,
            &json!({"usage": {"input": 3_000, "output": 100, "cost": 11_000}}),
        ));
        text += &lines.tick(33_250);
        text += &lines.tick(63_300);
        text += &lines.on_event(&event(
            "message",
            70_000,
            &json!({"tool_call": {"name": "Bash", "arguments": {"command": "cargo test"}}}),
        ));
        text += &lines.on_event(&event("end", 75_000, &Value::Null));
        insta::assert_snapshot!(text, @r#"
        [task 1, attempt 2] developer: edit a.rs
        [task 1, attempt 2] developer: edit c.rs
        [task 1, attempt 2] developer: at work for 33.2s, 3.1k tokens, $0.0110, last edit c.rs
        [task 1, attempt 2] developer: at work for 1m03s, 3.1k tokens, $0.0110, last edit c.rs
        [task 1, attempt 2] developer: $ cargo test
        superstep 4: developer done 1m15s (task 1, attempt 2, 4 actions, 3.1k tokens, $0.0110)
        "#);
    }

    #[test]
    fn a_run_names_its_tasks_its_commits_and_its_cost() {
        let mut lines = RunLines::new(false, 1_000);
        let turn = |task: &str, position: u32, attempt: u32| json!({"turn": {"role": "developer", "task": task, "attempt": attempt, "title": "Print it", "position": position, "total": 2}});
        let used = json!({"finished": {"status": "done", "usage": {"input": 900, "cost": 4_000}}});
        let commit =
            json!({"commit": {"id": "d0c8a708aaaaaaaa", "message": "feat: print it\n\nx", "output": "fmt: ok\ndone"}});
        let messages = [turn("1", 1, 1), used.clone(), turn("1", 1, 1), used.clone(), commit, turn("2", 2, 1), used];
        let text: String = messages.iter().map(|message| lines.on_event(&event("message", 0, message))).collect();
        insta::assert_snapshot!(text, @r"
        == task 1 (1 of 2), attempt 1: Print it
        commit d0c8a708a feat: print it; $0.0090 so far
          | fmt: ok
          | done
        == task 2 (2 of 2), attempt 1: Print it
        ");
    }

    #[test]
    fn steps_of_the_machinery_are_shown_with_the_log_alone_and_those_of_subgraphs_are_indented() {
        let event = |kind: &str, node: &str, quiet: bool| {
            let mut event = json!({"kind": kind, "step": 2, "node": node, "path": ["Outer:3-0", format!("{node}:1-0")],
                                   "namespace": ["Outer:3-0"], "at": 0, "error": "no"});
            event["machinery"] = quiet.into();
            event
        };
        let shown = |shows_all: bool| {
            let mut lines = RunLines::new(shows_all, 0);
            [event("end", "record", true), event("failed", "record", true), event("end", "work", false)]
                .iter()
                .map(|event| lines.on_event(event))
                .collect::<String>()
        };
        assert_eq!(shown(false), "  superstep 2: Outer/record failed: no\n  superstep 2: Outer/work done\n");
        assert!(shown(true).starts_with("  superstep 2: Outer/record done\n"), "{}", shown(true));
    }

    #[test]
    fn two_workers_of_one_node_are_two_tasks() {
        let mut lines = RunLines::default();
        let of = |kind: &str, id: &str, at: u64| json!({"kind": kind, "step": 1, "node": "find", "path": [format!("find:{id}")], "at": at});
        let mut text = String::new();
        for event in [of("start", "1-0", 0), of("start", "1-1", 500), of("end", "1-1", 1_500), of("end", "1-0", 2_000)]
        {
            text += &lines.on_event(&event);
        }
        assert_eq!(text, "superstep 1: find done 1.0s\nsuperstep 1: find done 2.0s\n");
    }
}
