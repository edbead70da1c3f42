//! The running tasks, computed from the events of a run as JSON, in this process or another. Pure.

use serde_json::Value;
use superstep_base::time::rfc3339;

use super::agent::Agent;
use crate::app::shapes::RunningShape;

/// The displayed parts of an event.
pub(crate) struct EventView<'a> {
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
    pub(crate) fn dropped(&self) -> Option<String> {
        let channels: Vec<&str> = self.event["dropped"].as_array()?.iter().filter_map(Value::as_str).collect();
        Some(format!("hands over; what its subgraph wrote to {} is dropped", channels.join(", ")))
    }

    /// Returns the error, if it failed.
    pub(crate) fn error(&self) -> Option<&str> {
        self.event["error"].as_str()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct RunningTask {
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
pub(crate) struct Tasks(pub Vec<RunningTask>);

impl RunningTask {
    /// Returns `task 1, attempt 2`, or its label; none if it has neither.
    pub(crate) fn place(&self, is_narrow: bool) -> Option<String> {
        self.agent.place(is_narrow).or_else(|| self.label.clone())
    }
}

impl From<&RunningTask> for RunningShape {
    fn from(task: &RunningTask) -> Self {
        let (tokens, cost) = task.agent.spent();
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
