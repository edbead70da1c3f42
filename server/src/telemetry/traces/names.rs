//! The names and attributes of spans, as the conventions of OpenTelemetry give them: those for HTTP, and those for GenAI (version 0.1.0 of
//! semantic-conventions-genai). An attribute that is not listed here is not exported. Must not know who collects spans.

use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::trace::{SpanKind, Status};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

/// The methods of HTTP; a client may send any word.
const METHODS: [&str; 9] = ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"];
/// Name of an attribute in a span of this crate or of the engine, and the name that is exported.
type Names = [(&'static str, &'static str)];

const OF_REQUEST: &Names = &[
    ("id", "superstep.request.id"),
    ("method", "http.request.method"),
    ("route", "http.route"),
    ("status", "http.response.status_code"),
];
const OF_RUN: &Names = &[
    ("graph", "gen_ai.agent.name"),
    ("thread", "gen_ai.conversation.id"),
    ("run", "superstep.run.id"),
    ("status", "superstep.run.status"),
    ("namespace", "superstep.namespace"),
    ("input_tokens", "gen_ai.usage.input_tokens"),
    ("output_tokens", "gen_ai.usage.output_tokens"),
    ("error", "error.type"),
];
const OF_CALL: &Names = &[
    ("node", "superstep.node"),
    ("input_tokens", "gen_ai.usage.input_tokens"),
    ("output_tokens", "gen_ai.usage.output_tokens"),
];
const OF_TOOL: &Names = &[("node", "superstep.node"), ("call", "gen_ai.tool.call.id"), ("error", "error.type")];
const OF_TASK: &Names =
    &[("node", "superstep.node"), ("task", "superstep.task.id"), ("attempt", "superstep.task.attempt")];

/// Exporter that gives spans their names.
#[derive(Debug)]
pub(super) struct NamingExporter<E>(pub(super) E);

impl<E: SpanExporter> SpanExporter for NamingExporter<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.export(batch.into_iter().map(with_names).collect()).await
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.0.set_resource(resource);
    }
}

fn with_names(mut span: SpanData) -> SpanData {
    let found = std::mem::take(&mut span.attributes);
    match &*span.name {
        "request" => name_request(&mut span, &found),
        "task" => {
            span.attributes = rename(&found, OF_TASK);
            span.name = format!("task {}", text(&found, "node")).into();
        }
        "chat" => name_call(&mut span, &found),
        "tool" => name_tool(&mut span, &found),
        _ => name_run(&mut span, &found),
    }
    span
}

fn name_request(span: &mut SpanData, found: &[KeyValue]) {
    let method = text(found, "method");
    let method = if METHODS.contains(&&*method) { method } else { "_OTHER".into() };
    let route = text(found, "route");
    span.attributes = rename(found, OF_REQUEST);
    span.attributes.iter_mut().filter(|it| it.key.as_str() == "http.request.method").for_each(|it| {
        it.value = method.clone().into();
    });
    span.span_kind = SpanKind::Server;
    span.name = format!("{method} {route}").trim_end().to_owned().into();
    let status = text(found, "status");
    if status.starts_with('5') {
        span.attributes.push(KeyValue::new("error.type", status));
        span.status = Status::error("");
    }
}

fn name_run(span: &mut SpanData, found: &[KeyValue]) {
    span.attributes = rename(found, OF_RUN);
    span.attributes.push(KeyValue::new("gen_ai.operation.name", "invoke_workflow"));
    span.name = format!("invoke_workflow {}", text(found, "graph")).into();
    if found.iter().any(|it| it.key.as_str() == "error") {
        span.status = Status::error("");
    }
}

/// Names a call of a model, which is known only once it has ended.
fn name_call(span: &mut SpanData, found: &[KeyValue]) {
    let model = text(found, "model");
    span.attributes = rename(found, OF_CALL);
    span.attributes.push(KeyValue::new("gen_ai.operation.name", "chat"));
    span.name = format!("chat {model}").trim_end().to_owned().into();
    if !model.is_empty() {
        span.attributes.push(KeyValue::new("gen_ai.request.model", model));
    }
    span.span_kind = SpanKind::Client;
    set_start(span, found);
}

fn name_tool(span: &mut SpanData, found: &[KeyValue]) {
    let tool = text(found, "tool");
    span.attributes = rename(found, OF_TOOL);
    span.attributes.push(KeyValue::new("gen_ai.operation.name", "execute_tool"));
    span.name = format!("execute_tool {tool}").trim_end().to_owned().into();
    if !tool.is_empty() {
        span.attributes.push(KeyValue::new("gen_ai.tool.name", tool));
    }
    if found.iter().any(|it| it.key.as_str() == "error") {
        span.status = Status::error("");
    }
    set_start(span, found);
}

/// Sets the start of a span that is known only once it has ended.
fn set_start(span: &mut SpanData, found: &[KeyValue]) {
    let Ok(milliseconds) = text(found, "milliseconds").parse::<f64>() else { return };
    let time = Duration::try_from_secs_f64(milliseconds / 1000.0).unwrap_or_default();
    span.start_time = span.end_time.checked_sub(time).unwrap_or(span.end_time);
}

fn rename(found: &[KeyValue], names: &Names) -> Vec<KeyValue> {
    let name = |it: &KeyValue| names.iter().find(|(own, _)| *own == it.key.as_str()).map(|(_, name)| *name);
    found.iter().filter_map(|it| Some(KeyValue::new(name(it)?, it.value.clone()))).collect()
}

/// Returns an attribute as text; an empty one if it is missing.
fn text(found: &[KeyValue], key: &str) -> String {
    found.iter().find(|it| it.key.as_str() == key).map(|it| it.value.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use opentelemetry::trace::{SpanContext, SpanId};
    use rstest::rstest;

    use super::*;

    fn span(name: &'static str, attributes: &[(&'static str, &'static str)]) -> SpanData {
        let end_time = SystemTime::UNIX_EPOCH + Duration::from_secs(10);
        SpanData {
            span_context: SpanContext::empty_context(),
            parent_span_id: SpanId::INVALID,
            parent_span_is_remote: false,
            span_kind: SpanKind::Internal,
            name: name.into(),
            start_time: end_time,
            end_time,
            attributes: attributes.iter().map(|(key, value)| KeyValue::new(*key, *value)).collect(),
            dropped_attributes_count: 0,
            events: Default::default(),
            links: Default::default(),
            status: Status::Unset,
            instrumentation_scope: Default::default(),
        }
    }

    #[rstest]
    #[case::call("chat", &[("model", "m1"), ("input_tokens", "7")], "chat m1", "gen_ai.usage.input_tokens=7 gen_ai.operation.name=chat gen_ai.request.model=m1")]
    #[case::call_of_an_unknown_model("chat", &[("model", "")], "chat", "gen_ai.operation.name=chat")]
    #[case::tool("tool", &[("tool", "shell"), ("call", "c1"), ("error", "tool_error"), ("arguments", "a")], "execute_tool shell", "gen_ai.tool.call.id=c1 error.type=tool_error gen_ai.operation.name=execute_tool gen_ai.tool.name=shell")]
    #[case::odd_method("request", &[("method", "SPY"), ("route", "/ok")], "_OTHER /ok", "http.request.method=_OTHER http.route=/ok")]
    #[case::error("request", &[("method", "GET"), ("status", "503")], "GET", "http.request.method=GET http.response.status_code=503 error.type=503")]
    #[case::no_key_and_nothing_unknown("task", &[("node", "n"), ("key", "k"), ("input", "i")], "task n", "superstep.node=n")]
    #[case::subgraph("run", &[("graph", "g"), ("namespace", "a/b")], "invoke_workflow g", "gen_ai.agent.name=g superstep.namespace=a/b gen_ai.operation.name=invoke_workflow")]
    fn spans_have_the_names_of_the_conventions_and_no_other_attribute(
        #[case] name: &'static str,
        #[case] attributes: &[(&'static str, &'static str)],
        #[case] expected: &str,
        #[case] exported: &str,
    ) {
        let named = with_names(span(name, attributes));
        let found: Vec<String> = named.attributes.iter().map(|it| format!("{}={}", it.key, it.value)).collect();
        assert_eq!((&*named.name, found.join(" ").as_str()), (expected, exported));
    }

    #[test]
    fn a_call_of_a_model_begins_before_its_report() {
        let named = with_names(span("chat", &[("milliseconds", "1500.0")]));
        assert_eq!(named.end_time.duration_since(named.start_time).unwrap(), Duration::from_millis(1500));
    }
}
