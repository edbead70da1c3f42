//! The progress of an agent, read from the messages that its node emits: its task, last action and usage. Pure.

use serde_json::Value;

/// The activity of a node's agent, as far as its messages show it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agent {
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
    pub(crate) fn spent(&self) -> (u64, u64) {
        (self.tokens(), self.cost())
    }

    /// Returns `3.1k tokens`, `$0.0110`, as far as known; if narrow `3.1k`, `$0.011`.
    pub(crate) fn used(&self, is_narrow: bool) -> Vec<String> {
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
        let of = |key: &str| usage[key].as_u64().unwrap_or(0);
        let tokens = ["input", "output", "cache_read", "cache_write"].map(of).into_iter().fold(0, u64::saturating_add);
        Self { tokens, cost: of("cost") }
    }
}

/// Formats a tool call as a line: `edit src/lib.rs`, `$ cargo test`.
pub(crate) fn action(name: &Value, arguments: &Value, directory: &str) -> String {
    let name = name.as_str().unwrap_or_default().to_lowercase();
    if !arguments["command"].is_null() {
        return shell(&arguments["command"]);
    }
    let about = |key: &str| arguments[key].as_str().map(|text| within(text, directory));
    if let (Some(from), Some(to)) = (about("from"), about("to")) {
        return format!("{name} {from} -> {to}");
    }
    let named = ["path", "file_path", "notebook_path", "pattern", "query", "url"].into_iter().find_map(about);
    match named.or_else(|| changed(&arguments["changes"], directory)) {
        Some(what) => format!("{name} {}", first_line(&Value::from(what))),
        None => name,
    }
}

/// Returns the files of a list of changes, or of a map from paths to changes.
fn changed(changes: &Value, directory: &str) -> Option<String> {
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
pub(crate) fn count(number: u64) -> String {
    match number {
        0..=999 => number.to_string(),
        1_000..=999_999 => format!("{}.{}k", number / 1_000, number % 1_000 / 100),
        _ => format!("{}.{}M", number / 1_000_000, number % 1_000_000 / 100_000),
    }
}

/// Formats millionths of a dollar, to the hundredth of a cent.
pub(crate) fn dollars(millionths: u64) -> String {
    format!("${}.{:04}", millionths / 1_000_000, millionths % 1_000_000 / 100)
}

/// Formats millionths of a dollar, to the tenth of a cent.
fn short_dollars(millionths: u64) -> String {
    format!("${}.{:03}", millionths / 1_000_000, millionths % 1_000_000 / 1_000)
}

/// Formats milliseconds: `12.3s`, `3m05s`, `1h02m`.
pub(crate) fn time(ms: u64) -> String {
    match ms / 1_000 {
        0..=59 => format!("{}.{}s", ms / 1_000, ms % 1_000 / 100),
        seconds @ 60..=3_599 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        seconds => format!("{}h{:02}m", seconds / 3_600, seconds % 3_600 / 60),
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
            (agent.used(false), agent.used(true)),
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
