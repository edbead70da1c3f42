//! Traces as the standard variables of OpenTelemetry configure them: the layer for a program's `tracing` subscriber, and the thread that
//! exports what it collects. Installs nothing by itself. Must not know how a span is named.

use std::env;
use std::time::Duration;

use opentelemetry::Key;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{SpanExporter, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use thiserror::Error;
use tokio::runtime::Handle;
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::dynamic_filter_fn;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::collector::CollectorClient;
use super::names::NamingExporter;

/// The variables that name the collector; without one of them nothing is exported.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
/// The time that a program waits at its end for the collector.
const FAREWELL: Duration = Duration::from_secs(5);

/// Error for traces that cannot be exported.
#[derive(Debug, Error)]
#[error("traces cannot be exported: {reason}")]
pub struct TraceExporterError {
    reason: String,
}

/// Spans of requests, runs and tasks, exported over OTLP/HTTP. They have names, ids, times and numbers, and no payloads.
///
/// A program with a `tracing` subscriber of its own adds [`layer`](Self::layer) to it, and calls [`shutdown`](Self::shutdown) before it
/// ends.
#[derive(Debug)]
pub struct TraceExporter {
    provider: SdkTracerProvider,
}

impl TraceExporter {
    /// Returns the traces that the variables `OTEL_…` configure; `None` if they name no collector.
    ///
    /// # Errors
    /// If a variable cannot be read.
    ///
    /// # Panics
    /// Outside of a tokio runtime, which sends the requests and has to live until the [`shutdown`](Self::shutdown).
    pub fn from_env() -> Result<Option<Self>, TraceExporterError> {
        let is_set = |name: &&str| env::var(*name).is_ok_and(|value| !value.is_empty());
        let is_off = env::var("OTEL_SDK_DISABLED").is_ok_and(|value| value.eq_ignore_ascii_case("true"));
        if is_off || !ENDPOINTS.iter().any(is_set) {
            return Ok(None);
        }
        let client = CollectorClient::new(Handle::current())
            .map_err(|error| TraceExporterError { reason: error.to_string() })?;
        let exporter = SpanExporter::builder().with_http().with_http_client(client).build();
        let exporter = exporter.map_err(|error| TraceExporterError { reason: error.to_string() })?;
        let provider = SdkTracerProvider::builder().with_resource(resource());
        Ok(Some(Self { provider: provider.with_batch_exporter(NamingExporter(exporter)).build() }))
    }

    /// Returns the layer that collects spans, whatever a log shows.
    pub fn layer<S>(&self) -> impl Layer<S> + Send + Sync + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        let layer = tracing_opentelemetry::layer().with_tracer(self.provider.tracer("superstep"));
        let layer = layer.with_location(false).with_threads(false).with_target(false).with_tracked_inactivity(false);
        layer.with_context_activation(false).with_filter(dynamic_filter_fn(is_exported::<S>))
    }

    /// Exports what was collected, and ends. Waits for a collector that does not answer for 5 s at most.
    ///
    /// # Errors
    /// If spans were lost.
    pub fn shutdown(self) -> Result<(), TraceExporterError> {
        let ended = self.provider.shutdown_with_timeout(FAREWELL);
        ended.map_err(|error| TraceExporterError { reason: error.to_string() })
    }
}

/// Returns whether a span is part of a trace. Events are not, as an error's text may contain anything; nor are supersteps, so that tasks
/// are children of their run; nor is the engine's span of a run that a server's span is around.
fn is_exported<S>(metadata: &Metadata<'_>, context: &Context<'_, S>) -> bool
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let is_ours = metadata.is_span() && metadata.target().starts_with("superstep") && *metadata.level() <= Level::INFO;
    is_ours
        && match metadata.name() {
            "request" | "execution" | "task" | "chat" | "tool" => true,
            "run" => context.lookup_current().is_none_or(|parent| parent.name() != "execution"),
            _ => false,
        }
}

/// Returns the description of this process, by the program's name unless a variable names it.
fn resource() -> Resource {
    const UNKNOWN: &str = "unknown_service:";
    let found = Resource::builder().build();
    let name = found.get(&Key::from_static_str("service.name")).map(|name| name.to_string());
    match name.as_deref().and_then(|name| name.strip_prefix(UNKNOWN)) {
        Some(program) => Resource::builder().with_service_name(program.to_owned()).build(),
        None => found,
    }
}
