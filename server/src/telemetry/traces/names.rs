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

fn rename(found: &[KeyValue], names: &Names) -> Vec<KeyValue> {
    let name = |it: &KeyValue| names.iter().find(|(own, _)| *own == it.key.as_str()).map(|(_, name)| *name);
    found.iter().filter_map(|it| Some(KeyValue::new(name(it)?, it.value.clone()))).collect()
}

/// Returns an attribute as text; an empty one if it is missing.
fn text(found: &[KeyValue], key: &str) -> String {
    found.iter().find(|it| it.key.as_str() == key).map(|it| it.value.to_string()).unwrap_or_default()
}
