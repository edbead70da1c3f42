//! The progress of a run, computed from its events as JSON, in this process or another: the running tasks, the last action and
//! the usage of their agents, and their work as people know it: tasks with their titles, commits, the cost so far. Pure.

use std::collections::HashSet;

use serde_json::Value;
use superstep_base::text::short_id;
use superstep_base::time::rfc3339;

use super::clean;
use crate::shapes::{RunningShape, ThreadReport};

/// The displayed parts of an event.
pub(super) struct EventView<'a> {
    pub kind: &'a str,
    pub step: i64,
    pub node: &'a str,
    /// Nodes of the enclosing subgraphs.
    pub above: Vec<&'a str>,
    /// Identifies the task.
    pub path: String,
    /// Milliseconds since 1970.
    pub at: u64,
    pub event: &'a Value,
}

impl<'a> EventView<'a> {
    pub(crate) fn of(event: &'a Value) -> Self {
        let text = |key: &str| event[key].as_str().unwrap_or_default();
        let list = |key: &str| event[key].as_array().map(Vec::as_slice).unwrap_or_default();
        let above = list("namespace").iter().filter_map(Value::as_str);
        let path: Vec<&str> = list("path").iter().filter_map(Value::as_str).collect();
        Self {
            kind: text("kind"),
            step: event["step"].as_i64().unwrap_or_default(),
            node: text("node"),
            above: above.map(|place| place.rsplit_once(':').map_or(place, |(node, _)| node)).collect(),
            path: path.join("/"),
            at: event["at"].as_u64().unwrap_or_default(),
            event,
        }
    }

    /// Returns the node, with those whose subgraphs it is in.
    pub(crate) fn node_path(&self) -> String {
        self.above.iter().copied().chain([self.node]).collect::<Vec<_>>().join("/")
    }

    /// Returns true if its node is a step of the machinery, which people need not see.
    pub(crate) fn is_machinery(&self) -> bool {
        self.event["machinery"] == true
    }

    /// Returns the label of the task that it starts.
    fn label(&self) -> Option<&str> {
        self.event["label"].as_str()
    }

    /// Returns the channels whose values a command for the graph around it dropped.
    pub(crate) fn dropped_channels(&self) -> Option<String> {
        let channels: Vec<&str> = self.event["dropped"].as_array()?.iter().filter_map(Value::as_str).collect();
        Some(format!(
            "returned a command for the parent graph; its subgraph's writes to {} are dropped",
            channels.join(", ")
        ))
    }

    /// Returns the error, if it failed.
    pub(crate) fn error(&self) -> Option<&str> {
        self.event["error"].as_str()
    }
}

#[derive(Clone, Debug)]
pub(super) struct RunningTask {
    pub path: String,
    pub node: String,
    pub node_path: String,
    pub depth: usize,
    pub step: i64,
    /// Milliseconds since 1970.
    pub began: u64,
    pub agent: Agent,
    /// Label that the program gives it, or that of the task whose subgraph it is in.
    pub label: Option<String>,
}

/// Running tasks, in the order of their start.
#[derive(Debug, Default)]
pub(super) struct Tasks(pub Vec<RunningTask>);

impl RunningTask {
    /// Returns `task 1, attempt 2`, or its label; none if it has neither.
    pub(crate) fn place(&self, is_narrow: bool) -> Option<String> {
        self.agent.place(is_narrow).or_else(|| self.label.clone())
    }
}

impl From<&RunningTask> for RunningShape {
    fn from(task: &RunningTask) -> Self {
        let (tokens, cost) = task.agent.usage();
        let (node, started_at) = (task.node_path.clone(), rfc3339(task.began));
        Self { node, label: task.place(false), started_at, action: task.agent.action.clone(), tokens, cost }
    }
}

impl Tasks {
    /// Returns the task of an event, and adds it if its start was missed.
    pub(crate) fn of(&mut self, seen: &EventView<'_>) -> &mut RunningTask {
        let at = self.0.iter().position(|task| task.path == seen.path);
        let at = at.unwrap_or_else(|| {
            let label = seen.label().map(str::to_owned).or_else(|| self.label_above(&seen.path));
            self.0.push(RunningTask {
                path: seen.path.clone(),
                node: seen.node.to_owned(),
                node_path: seen.node_path(),
                depth: seen.above.len(),
                step: seen.step,
                began: seen.at,
                agent: Agent::default(),
                label,
            });
            self.0.len() - 1
        });
        &mut self.0[at]
    }

    /// Returns the label of the task whose subgraph a path is in.
    fn label_above(&self, path: &str) -> Option<String> {
        let is_above = |task: &&RunningTask| path.strip_prefix(&task.path).is_some_and(|rest| rest.starts_with('/'));
        self.0.iter().filter(is_above).find_map(|task| task.label.clone())
    }

    /// Applies an event.
    pub(crate) fn take(&mut self, seen: &EventView<'_>) {
        match seen.kind {
            "start" => {
                self.end(seen);
                self.of(seen);
            }
            "end" | "failed" | "asked" => drop(self.end(seen)),
            "message" => drop(self.of(seen).agent.apply(&seen.event["value"])),
            _ => {}
        }
    }

    /// Removes a task that has ended.
    pub(crate) fn end(&mut self, seen: &EventView<'_>) -> Option<RunningTask> {
        let at = self.0.iter().position(|task| task.path == seen.path)?;
        Some(self.0.remove(at))
    }
}

impl ThreadReport {
    /// Adds the running tasks, from the events of the run.
    pub(crate) fn add_running<'a>(&mut self, events: impl Iterator<Item = &'a Value>) {
        let mut tasks = Tasks::default();
        events.for_each(|event| tasks.take(&EventView::of(event)));
        self.running = tasks.0.iter().map(RunningShape::from).collect();
    }
}

/// The activity of a node's agent, as far as its messages show it.
#[derive(Clone, Debug, Default)]
pub(super) struct Agent {
    role: String,
    task: String,
    /// The phase that it reviews as a whole.
    phase: Option<u64>,
    attempt: u64,
    /// Working directory.
    directory: String,
    pub action: Option<String>,
    /// The number of actions.
    pub actions: u64,
    /// The usage of the turns before this one.
    before: Usage,
    /// The usage of this turn so far.
    now: Usage,
}

/// Tokens, and millionths of a dollar.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    tokens: u64,
    cost: u64,
}

impl Agent {
    /// Applies a message; returns true if it is an action.
    pub(crate) fn apply(&mut self, message: &Value) -> bool {
        let Some((kind, value)) = message.as_object().and_then(|fields| fields.iter().next()) else { return false };
        match kind.as_str() {
            "turn" => self.begin(value),
            "usage" => self.now = Usage::of(value),
            "finished" => self.now = Usage::of(&value["usage"]),
            "tool_call" => return self.act(action(&value["name"], &value["arguments"], &self.directory)),
            "check" => return self.act(shell(&value["command"])),
            "notice" => return self.act(first_line(value)),
            "thinking" | "text" if self.action.is_none() => {
                self.action = Some(if kind == "text" { "writes".into() } else { "thinks".into() });
            }
            _ => {}
        }
        false
    }

    fn begin(&mut self, turn: &Value) {
        let text = |key: &str| turn[key].as_str().unwrap_or_default().to_owned();
        (self.role, self.task, self.directory) = (text("role"), text("task"), text("directory"));
        self.phase = turn["phase"].as_u64();
        self.attempt = turn["attempt"].as_u64().unwrap_or_default();
        self.before = Usage { tokens: self.tokens(), cost: self.cost() };
        self.now = Usage::default();
    }

    fn act(&mut self, action: String) -> bool {
        self.action = Some(action);
        self.actions += 1;
        true
    }

    fn tokens(&self) -> u64 {
        self.before.tokens.saturating_add(self.now.tokens)
    }

    fn cost(&self) -> u64 {
        self.before.cost.saturating_add(self.now.cost)
    }

    /// Returns `task 1, attempt 2`, or `phase 1, attempt 2`; if narrow `1#2`. None if it belongs to no task.
    pub(crate) fn place(&self, is_narrow: bool) -> Option<String> {
        let about = match self.phase {
            Some(phase) => format!("phase {phase}"),
            None => format!("task {}", self.task),
        };
        match (self.task.as_str(), self.attempt, is_narrow) {
            ("", ..) => None,
            (_, 0, _) => Some(about),
            (_, attempt, false) => Some(format!("{about}, attempt {attempt}")),
            (task, attempt, true) => Some(format!("{task}#{attempt}")),
        }
    }

    /// Returns tokens, and millionths of a dollar.
    pub(crate) fn usage(&self) -> (u64, u64) {
        (self.tokens(), self.cost())
    }

    /// Returns `3.1k tokens`, `$0.0110`, as far as known; if narrow `3.1k`, `$0.011`.
    pub(crate) fn usage_parts(&self, is_narrow: bool) -> Vec<String> {
        let (tokens, cost) = (self.tokens(), self.cost());
        let mut used = vec![];
        if tokens > 0 {
            used.push(if is_narrow { count(tokens) } else { format!("{} tokens", count(tokens)) });
        }
        if cost > 0 {
            used.push(if is_narrow { short_dollars(cost) } else { dollars(cost) });
        }
        used
    }
}

impl Usage {
    fn of(usage: &Value) -> Self {
        Self { tokens: tokens(usage), cost: usage["cost"].as_u64().unwrap_or_default() }
    }
}

/// Returns the tokens of a usage, of all kinds.
pub(super) fn tokens(usage: &Value) -> u64 {
    let of = |key: &str| usage[key].as_u64().unwrap_or_default();
    ["input", "output", "cache_read", "cache_write"].map(of).into_iter().fold(0, u64::saturating_add)
}

/// Formats a tool call as a line: `edit src/lib.rs`, `$ cargo test`.
pub(super) fn action(name: &Value, arguments: &Value, directory: &str) -> String {
    let name = name.as_str().unwrap_or_default().to_lowercase();
    if !arguments["command"].is_null() {
        return shell(&arguments["command"]);
    }
    let about = |key: &str| arguments[key].as_str().map(|text| within(text, directory));
    if let (Some(from), Some(to)) = (about("from"), about("to")) {
        return format!("{name} {from} -> {to}");
    }
    let named = ["path", "file_path", "notebook_path", "pattern", "query", "url"].into_iter().find_map(about);
    match named.or_else(|| changed_paths(&arguments["changes"], directory)) {
        Some(what) => format!("{name} {}", first_line(&Value::from(what))),
        None => name,
    }
}

/// Returns the files of a list of changes, or of a map from paths to changes.
fn changed_paths(changes: &Value, directory: &str) -> Option<String> {
    let paths: Vec<String> = match changes {
        Value::Array(list) => list.iter().filter_map(|change| change["path"].as_str()).map(str::to_owned).collect(),
        Value::Object(map) => map.keys().cloned().collect(),
        _ => vec![],
    };
    let paths: Vec<String> = paths.iter().map(|path| within(path, directory)).collect();
    (!paths.is_empty()).then(|| paths.join(", "))
}

/// Returns a command line, without the shell around it.
fn shell(command: &Value) -> String {
    let line = match command {
        Value::Array(words) => match words.iter().map(|word| word.as_str().unwrap_or_default()).collect::<Vec<_>>() {
            words if words.len() == 3 && words[1].starts_with('-') && words[1].ends_with('c') => words[2].to_owned(),
            words => words.join(" "),
        },
        command => command.as_str().unwrap_or_default().to_owned(),
    };
    format!("$ {}", first_line(&Value::from(line)))
}

/// Returns a path relative to the agent's working directory.
fn within(path: &str, directory: &str) -> String {
    let inner = path.strip_prefix(directory).filter(|_| !directory.is_empty());
    inner.and_then(|inner| inner.strip_prefix('/')).unwrap_or(path).to_owned()
}

fn first_line(text: &Value) -> String {
    let text = text.as_str().unwrap_or_default().trim();
    let (first, more) = text.split_once('\n').unwrap_or((text, ""));
    if more.is_empty() { first.to_owned() } else { format!("{} ...", first.trim_end()) }
}

/// Formats a number: `900`, `3.1k`, `2.4M`.
pub(super) fn count(number: u64) -> String {
    match number {
        0..=999 => number.to_string(),
        1_000..=999_999 => format!("{}.{}k", number / 1_000, number % 1_000 / 100),
        _ => format!("{}.{}M", number / 1_000_000, number % 1_000_000 / 100_000),
    }
}

/// Formats millionths of a dollar, to the hundredth of a cent.
pub(super) fn dollars(millionths: u64) -> String {
    format!("${}.{:04}", millionths / 1_000_000, millionths % 1_000_000 / 100)
}

/// Formats millionths of a dollar, to the tenth of a cent.
fn short_dollars(millionths: u64) -> String {
    format!("${}.{:03}", millionths / 1_000_000, millionths % 1_000_000 / 1_000)
}

/// Formats milliseconds: `12.3s`, `3m05s`, `1h02m`.
pub(super) fn time(ms: u64) -> String {
    match ms / 1_000 {
        0..=59 => format!("{}.{}s", ms / 1_000, ms % 1_000 / 100),
        seconds @ 60..=3_599 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        seconds => format!("{}h{:02}m", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// The tasks that were named, and what all turns have cost.
#[derive(Debug, Default)]
pub(super) struct WorkTotals {
    named: HashSet<(String, u64)>,
    /// Millionths of a dollar.
    cost: u64,
}

impl WorkTotals {
    /// Returns the work of a run whose thread has cost this so far.
    pub(crate) fn after(cost: u64) -> Self {
        Self { cost, ..Self::default() }
    }

    /// Returns the lines for a message of a node: the heading of a task, or a commit with the output of its hooks.
    pub(crate) fn on_message(&mut self, message: &Value) -> Vec<String> {
        let Some((kind, value)) = message.as_object().and_then(|fields| fields.iter().next()) else { return vec![] };
        match kind.as_str() {
            "turn" => self.heading(value).into_iter().collect(),
            "finished" => {
                self.cost = self.cost.saturating_add(value["usage"]["cost"].as_u64().unwrap_or_default());
                vec![]
            }
            "commit" => self.commit(value),
            _ => vec![],
        }
    }

    /// Returns `== task 1 (1 of 2), attempt 1: Print the table` for the first turn of an attempt.
    fn heading(&mut self, turn: &Value) -> Option<String> {
        let task = turn["task"].as_str().filter(|task| !task.is_empty())?;
        let title = turn["title"].as_str().filter(|title| !title.is_empty())?;
        let attempt = turn["attempt"].as_u64().unwrap_or_default();
        if turn["phase"].is_number() || !self.named.insert((task.to_owned(), attempt)) {
            return None;
        }
        let place = match (turn["position"].as_u64(), turn["total"].as_u64()) {
            (Some(position), Some(total)) => format!(" ({position} of {total})"),
            _ => String::new(),
        };
        Some(format!("== task {}{place}, attempt {attempt}: {}", clean(task), clean(title)))
    }

    fn commit(&self, commit: &Value) -> Vec<String> {
        let text = |key: &str| commit[key].as_str().unwrap_or_default();
        let subject = text("message").lines().next().unwrap_or_default();
        let cost = if self.cost > 0 { format!("; {} so far", dollars(self.cost)) } else { String::new() };
        let output = text("output").lines().map(|line| format!("  | {}", clean(line)).trim_end().to_owned());
        let head = format!("commit {} {}{cost}", clean(short_id(text("id"))), clean(subject));
        std::iter::once(head).chain(output).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[rstest::rstest]
    #[case(json!("edit"), json!({"path": "src/lib.rs", "old": "a"}), "edit src/lib.rs")]
    #[case(json!("Edit"), json!({"file_path": "/work/src/lib.rs"}), "edit src/lib.rs")]
    #[case(json!("Read"), json!({"file_path": "/elsewhere/a"}), "read /elsewhere/a")]
    #[case(json!("Bash"), json!({"command": "cargo test\ngit status"}), "$ cargo test ...")]
    #[case(json!("shell"), json!({"command": ["bash", "-lc", "cargo test"]}), "$ cargo test")]
    #[case(json!("edit"), json!({"changes": [{"path": "a.rs"}, {"path": "/work/b.rs"}]}), "edit a.rs, b.rs")]
    #[case(json!("grep"), json!({"pattern": "fn main"}), "grep fn main")]
    #[case(json!("move"), json!({"from": "a", "to": "b"}), "move a -> b")]
    #[case(json!("submit_work"), json!({"status": "done"}), "submit_work")]
    #[case(json!(null), json!("broken"), "")]
    fn a_call_is_a_line(#[case] name: Value, #[case] arguments: Value, #[case] line: &str) {
        assert_eq!(action(&name, &arguments, "/work"), line);
    }

    #[test]
    fn turns_add_up() {
        let mut agent = Agent::default();
        agent.apply(&json!({"turn": {"role": "developer", "task": "2", "attempt": 3}}));
        agent.apply(&json!({"usage": {"input": 900, "output": 120, "cost": 4_000}}));
        agent.apply(&json!({"usage": {"input": 1_000, "output": 150, "cost": 5_000}}));
        agent.apply(&json!({"turn": {"role": "developer", "task": "2", "attempt": 3}}));
        agent.apply(&json!({"finished": {"usage": {"input": 1_000, "cost": 1_000}}}));
        assert_eq!(agent.place(false).unwrap(), "task 2, attempt 3");
        agent.apply(&json!({"turn": {"role": "reviewer", "task": "phase-2", "phase": 2, "attempt": 1}}));
        assert_eq!(agent.place(false).unwrap(), "phase 2, attempt 1");
        assert_eq!(
            (agent.usage_parts(false), agent.usage_parts(true)),
            (vec!["2.1k tokens".into(), "$0.0060".into()], vec!["2.1k".to_owned(), "$0.006".into()])
        );
    }

    #[rstest::rstest]
    #[case(0, "0.0s")]
    #[case(59_990, "59.9s")]
    #[case(185_000, "3m05s")]
    #[case(3_725_000, "1h02m")]
    fn times_are_short(#[case] ms: u64, #[case] shown: &str) {
        assert_eq!(time(ms), shown);
    }
}
