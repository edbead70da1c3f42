//! Spans of the tools that nodes of a graph call, as they say by the messages that they return: a message of the type `tool` is the result
//! of a call, which took the time of its task. Agents make such spans themselves. Without the feature `otel` there are no spans. Must not
//! know how a span is exported.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use superstep::graph::{Event, EventKind};
use tracing::{Span, field, info_span};

/// Calls of tools in one execution of a run.
#[derive(Debug)]
pub(super) struct ToolCalls {
    /// Set if somebody collects spans.
    is_on: bool,
    /// The start of each task.
    since: HashMap<Arc<[String]>, Instant>,
    /// The names of the tools that models have asked for, by the ids of the calls.
    names: HashMap<String, String>,
    /// The ids of the calls that have ended: the graph around a subgraph returns its messages again.
    ended: HashSet<String>,
}

impl ToolCalls {
    /// Returns the calls of the execution whose span is the current one.
    pub(super) fn new() -> Self {
        let is_on = !Span::current().is_disabled();
        Self { is_on, since: HashMap::new(), names: HashMap::new(), ended: HashSet::new() }
    }

    /// Takes the next event.
    pub(super) fn on_event(&mut self, event: &Event) {
        let Some(task) = event.task.as_ref().filter(|_| self.is_on) else { return };
        match &event.kind {
            EventKind::TaskStart { .. } => _ = self.since.insert(Arc::clone(&task.path), Instant::now()),
            EventKind::TaskEnd { writes, .. } => {
                let time = self.since.remove(&task.path).map(|since| since.elapsed().as_secs_f64() * 1000.0);
                let writes = writes.json();
                for message in messages(&writes) {
                    self.note_requests(message);
                    self.make_span(message, &task.node, time.unwrap_or_default());
                }
            }
            _ => {}
        }
    }

    fn note_requests(&mut self, message: &Value) {
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            if let (Some(id), Some(name)) = (call["id"].as_str(), call["name"].as_str()) {
                self.names.insert(id.to_owned(), name.to_owned());
            }
        }
    }

    fn make_span(&mut self, message: &Value, node: &str, milliseconds: f64) {
        let call = message["tool_call_id"].as_str().filter(|_| message["type"] == "tool");
        let Some(call) = call.filter(|call| self.ended.insert((*call).to_owned())) else { return };
        let known = self.names.remove(call);
        let tool = message["name"].as_str().or(known.as_deref()).unwrap_or_default();
        let span = info_span!("tool", node, tool, call, milliseconds, error = field::Empty);
        if message["status"] == "error" {
            span.record("error", "tool_error");
        }
    }
}

/// Returns the messages in writes: objects with a type and a content.
fn messages(value: &Value) -> Vec<&Value> {
    match value {
        Value::Object(fields) if fields.contains_key("type") && fields.contains_key("content") => vec![value],
        Value::Object(fields) => fields.values().flat_map(messages).collect(),
        Value::Array(items) => items.iter().flat_map(messages).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => vec![],
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "it is a test")]
mod tests {
    use std::fmt::{Debug, Write};
    use std::sync::Mutex;

    use serde_json::json;
    use superstep::graph::Mode;
    use superstep::prelude::*;
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Instrument, Subscriber};
    use tracing_subscriber::Layer;
    use tracing_subscriber::layer::{Context, SubscriberExt};

    use super::*;

    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    struct Chat {
        #[channel(append)]
        messages: Vec<Value>,
    }

    #[derive(NodeId)]
    enum Step {
        Model,
        Tools,
    }

    async fn model(_: Arc<Chat>, _: Ctx) -> Result<ChatUpdate, NodeError> {
        let call = |id: &str, name: &str| json!({ "id": id, "name": name, "args": { "text": "payload" } });
        let calls = [call("a", "search"), call("b", "shell")];
        Ok(Chat::update().messages([json!({ "type": "ai", "content": "", "tool_calls": calls })]))
    }

    async fn tools(_: Arc<Chat>, _: Ctx) -> Result<ChatUpdate, NodeError> {
        let result = |id: &str, more: Value| {
            let mut message = json!({ "type": "tool", "tool_call_id": id, "content": "payload" });
            message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            message
        };
        let failed = result("b", json!({ "name": "shell", "status": "error" }));
        Ok(Chat::update().messages([result("a", json!({})), failed.clone(), failed]))
    }

    /// The spans of tools, each a line.
    #[derive(Clone, Default)]
    struct Spans(Arc<Mutex<String>>);

    struct Fields<'a>(&'a mut String);

    impl Visit for Fields<'_> {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            if field.name() != "milliseconds" {
                write!(self.0, "{field}={value:?} ").unwrap();
            }
        }
    }

    impl<S: Subscriber> Layer<S> for Spans {
        fn on_new_span(&self, span: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
            if span.metadata().name() == "tool" {
                let mut lines = self.0.lock().unwrap();
                lines.push('\n');
                span.record(&mut Fields(&mut lines));
            }
        }

        fn on_record(&self, _: &Id, values: &Record<'_>, _: Context<'_, S>) {
            values.record(&mut Fields(&mut self.0.lock().unwrap()));
        }
    }

    #[tokio::test]
    async fn each_result_of_a_tool_has_a_span_without_payloads() {
        let builder = StateGraph::new().add_node(Step::Model, model).add_node(Step::Tools, tools);
        let graph = builder.add_sequence([Step::Model, Step::Tools]).compile().unwrap();
        let spans = Spans::default();
        let _collects = tracing::subscriber::set_default(tracing_subscriber::registry().with(spans.clone()));
        let run = async {
            let (mut calls, thread) =
                (ToolCalls::new(), graph.with_checkpointer(MemoryCheckpointer::new()).thread("t"));
            let mut events = thread.stream(Request::input(Chat::update()), [Mode::Tasks]);
            while let Some(event) = events.next().await {
                calls.on_event(&event);
            }
        };
        run.instrument(info_span!("execution")).await;
        let expected = "\nnode=\"Tools\" tool=\"search\" call=\"a\" \nnode=\"Tools\" tool=\"shell\" call=\"b\" error=\"tool_error\" ";
        assert_eq!(*spans.0.lock().unwrap(), expected);
    }
}
