//! Tasks that run, kept from the events of a run as JSON: the same for a run of this process and one that is watched from
//! another. Pure.

use serde_json::Value;

use super::agent::Agent;
use crate::app::shapes::RunningShape;
use crate::checkpoint::time::rfc3339;

/// An event of a run, read as far as it is shown.
pub(crate) struct Seen<'a> {
    pub kind: &'a str,
    pub step: i64,
    pub node: &'a str,
    /// The nodes of the subgraphs that it comes from.
    pub above: Vec<&'a str>,
    /// Tells its task from others.
    pub path: String,
    /// Milliseconds since 1970.
    pub at: u64,
    pub event: &'a Value,
}

impl<'a> Seen<'a> {
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

    /// The node, with those whose subgraphs it is in.
    pub(crate) fn way(&self) -> String {
        self.above.iter().copied().chain([self.node]).collect::<Vec<_>>().join("/")
    }

    /// The label of the task that it starts.
    fn label(&self) -> Option<&str> {
        self.event["label"].as_str()
    }

    /// Returns the error, if it failed.
    pub(crate) fn error(&self) -> Option<&str> {
        self.event["error"].as_str()
    }
}

/// A task that runs.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    pub path: String,
    pub node: String,
    pub way: String,
    pub depth: usize,
    pub step: i64,
    /// Milliseconds since 1970.
    pub began: u64,
    pub agent: Agent,
    /// The label that the program gives it, or the task whose subgraph it is in.
    pub label: Option<String>,
}

/// The tasks that run, in the order in which they began.
#[derive(Debug, Default)]
pub(crate) struct Tasks(pub Vec<Running>);

impl Running {
    /// `task 1, attempt 2`, or its label. None if it has neither.
    pub(crate) fn place(&self, is_narrow: bool) -> Option<String> {
        self.agent.place(is_narrow).or_else(|| self.label.clone())
    }
}

impl From<&Running> for RunningShape {
    fn from(task: &Running) -> Self {
        let (tokens, cost) = task.agent.spent();
        let (node, started_at) = (task.way.clone(), rfc3339(task.began));
        Self { node, label: task.place(false), started_at, action: task.agent.action.clone(), tokens, cost }
    }
}

impl Tasks {
    /// The task of an event. One whose start was not seen, as somebody came later, begins now.
    pub(crate) fn of(&mut self, seen: &Seen<'_>) -> &mut Running {
        let at = self.0.iter().position(|task| task.path == seen.path);
        let at = at.unwrap_or_else(|| {
            let label = seen.label().map(str::to_owned).or_else(|| self.label_above(&seen.path));
            self.0.push(Running {
                path: seen.path.clone(),
                node: seen.node.to_owned(),
                way: seen.way(),
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

    /// The label of the task whose subgraph a path is in.
    fn label_above(&self, path: &str) -> Option<String> {
        let is_above = |task: &&Running| path.strip_prefix(&task.path).is_some_and(|rest| rest.starts_with('/'));
        self.0.iter().filter(is_above).find_map(|task| task.label.clone())
    }

    /// Keeps up with an event.
    pub(crate) fn take(&mut self, seen: &Seen<'_>) {
        match seen.kind {
            "start" => {
                self.end(seen);
                self.of(seen);
            }
            "end" | "failed" | "asked" => drop(self.end(seen)),
            "message" => drop(self.of(seen).agent.hear(&seen.event["value"])),
            _ => {}
        }
    }

    /// Takes a task that has ended.
    pub(crate) fn end(&mut self, seen: &Seen<'_>) -> Option<Running> {
        let at = self.0.iter().position(|task| task.path == seen.path)?;
        Some(self.0.remove(at))
    }
}
