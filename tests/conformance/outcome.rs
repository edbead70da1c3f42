//! The types of outcomes, so that every engine replies in the same shape. Interrupt ids belong to the engine; `compare`
//! matches them with the expected ones. Unordered lists may come in any order.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::script::Mode;

/// An open or answered question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    pub(crate) id: String,
    pub(crate) value: Value,
}

/// The result of `invoke`. `interrupts` is present when a task interrupted; a breakpoint alone leaves it out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct InvokeResult {
    pub(crate) values: Value,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) interrupts: Vec<Question>,
}

/// The result of a comparison with the present graphs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Verification {
    pub(crate) verdict: String,
    pub(crate) bodies: u64,
    pub(crate) routers: u64,
    pub(crate) taken_over: usize,
    /// The first difference, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) difference: Option<String>,
}

/// The result of `stream`: events in order, and the error of the run, if any.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StreamResult {
    pub(crate) events: Vec<Event>,
    pub(crate) error: Option<ErrorView>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Snapshot {
    pub(crate) values: Value,
    /// Node names, one per task.
    pub(crate) next: Vec<String>,
    pub(crate) tasks: Vec<TaskView>,
    pub(crate) interrupts: Vec<Question>,
    pub(crate) step: Option<i64>,
    pub(crate) source: Option<String>,
    pub(crate) has_parent: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskView {
    pub(crate) name: String,
    pub(crate) interrupts: Vec<Question>,
    pub(crate) error: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<Value>,
    /// Set for a subgraph with saved state that was not requested.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) has_state: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<Box<Snapshot>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Event {
    /// Node names from the root; a second call by one task adds `#1`.
    pub(crate) ns: Vec<String>,
    pub(crate) mode: Mode,
    /// `None` for an `updates` event of interrupts. A null value is `Some(Value::Null)`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::model::present")]
    pub(crate) data: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) interrupts: Option<Vec<Question>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) cached: bool,
}

impl Event {
    /// Creates a `values`, `updates` or `custom` event, or one with data from the functions below.
    pub(crate) fn new(ns: &[String], mode: Mode, data: Value) -> Self {
        Self { ns: ns.to_vec(), mode, data: Some(data), interrupts: None, cached: false }
    }

    /// Creates an `updates` event of interrupts; without any for a breakpoint.
    pub(crate) fn of_interrupts(ns: &[String], interrupts: Vec<Question>) -> Self {
        Self { ns: ns.to_vec(), mode: Mode::Updates, data: None, interrupts: Some(interrupts), cached: false }
    }
}

/// Returns the data of a `tasks` event when a task starts; the payload of a `debug` event of type `task`.
pub(crate) fn task_start(name: &str, input: &Value) -> Value {
    json!({"type": "start", "name": name, "input": input})
}

/// Returns the data of a `tasks` event when a task ends; the payload of a `debug` event of type `task_result`.
pub(crate) fn task_result(name: &str, error: bool, result: &Value, interrupts: &[Question]) -> Value {
    json!({"type": "result", "name": name, "error": error, "result": result, "interrupts": interrupts})
}

/// Returns the data of a `checkpoints` event; the payload of a `debug` event of type `checkpoint`.
pub(crate) fn checkpoint(snapshot: &Snapshot) -> Value {
    let mut data = json!(snapshot);
    if let Some(data) = data.as_object_mut() {
        data.remove("interrupts");
    }
    for task in data.get_mut("tasks").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(task) = task.as_object_mut() {
            task.retain(|key, _| key != "state" && key != "has_state");
        }
    }
    data
}

/// Returns the data of a `debug` event; `kind` is `task`, `task_result` or `checkpoint`.
pub(crate) fn debug(kind: &str, step: i64, payload: Value) -> Value {
    json!({"type": kind, "step": step, "payload": payload})
}

/// An error as an outcome shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ErrorView {
    pub(crate) kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) node: Option<String>,
}

impl ErrorView {
    pub(crate) fn of_kind(kind: &str) -> Self {
        Self { kind: kind.to_owned(), error: None, node: None }
    }

    /// Returns an error without a kind, with the name of the Python class.
    pub(crate) fn other(class: &str) -> Self {
        Self { error: Some(class.to_owned()), ..Self::of_kind("other") }
    }

    pub(crate) fn of_node(kind: &str, node: &str) -> Self {
        Self { kind: "node_error".to_owned(), error: Some(kind.to_owned()), node: Some(node.to_owned()) }
    }
}

impl From<&crate::python::PythonError> for ErrorView {
    fn from(raised: &crate::python::PythonError) -> Self {
        match raised.class {
            "KeyError" => Self::of_kind("unknown_label"),
            class => Self::other(class),
        }
    }
}

impl From<&crate::targets::RouteError> for ErrorView {
    fn from(error: &crate::targets::RouteError) -> Self {
        use crate::targets::RouteError;
        match error {
            RouteError::PythonError(raised) => raised.into(),
            RouteError::UnknownLabel(_) => Self::of_kind("unknown_label"),
            RouteError::InvalidDestination => Self::of_kind("invalid_destination"),
            RouteError::SendToEnd => Self::of_kind("send_to_end"),
        }
    }
}
