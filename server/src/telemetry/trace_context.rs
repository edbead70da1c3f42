//! The trace that a request is part of, and its way to the run that the request creates: through the run's record, so that it holds in
//! another process too. Without the feature `otel` there are no traces. Must not know how spans are exported.

use tracing::Span;

use crate::records::run::{RunRecord, RunStatus};
use crate::records::thread::RunFailure;

#[cfg(feature = "otel")]
pub(super) use with_traces::continue_trace;
#[cfg(feature = "otel")]
pub(crate) use with_traces::{execution_span, traceparent};

#[cfg(feature = "otel")]
mod with_traces {
    use std::collections::HashMap;

    use axum::http::HeaderMap;
    use opentelemetry::propagation::TextMapPropagator;
    use opentelemetry::trace::TraceContextExt;
    use opentelemetry_http::HeaderExtractor;
    use opentelemetry_sdk::propagation::TraceContextPropagator;
    use tracing::{Span, field, info_span};
    use tracing_opentelemetry::OpenTelemetrySpanExt;

    use super::RunRecord;

    /// Makes the span of a request part of the client's trace, if it has one.
    pub(in crate::telemetry) fn continue_trace(span: &Span, headers: &HeaderMap) {
        let parent = TraceContextPropagator::new().extract(&HeaderExtractor(headers));
        if parent.span().span_context().is_valid() {
            _ = span.set_parent(parent); // fails if nothing collects spans
        }
    }

    /// Returns the place in its trace of the request that is served now, as the header of that name has it.
    pub(crate) fn traceparent() -> Option<String> {
        let context = Span::current().context();
        let span = context.span();
        let place = span.span_context();
        let text = || format!("00-{}-{}-{:02x}", place.trace_id(), place.span_id(), place.trace_flags().to_u8());
        place.is_valid().then(text)
    }

    /// Returns the span of an execution of a run, which is part of the trace of the request that created the run.
    pub(crate) fn execution_span(run: &RunRecord) -> Span {
        let span = info_span!(
            parent: None,
            "execution",
            graph = run.graph,
            thread = run.thread,
            run = %run.run,
            status = field::Empty,
            error = field::Empty,
            input_tokens = field::Empty,
            output_tokens = field::Empty,
        );
        if let Some(traceparent) = &run.traceparent {
            let carrier = HashMap::from([("traceparent".to_owned(), traceparent.clone())]);
            _ = span.set_parent(TraceContextPropagator::new().extract(&carrier));
        }
        span
    }
}

/// Returns nothing: there are no traces.
#[cfg(not(feature = "otel"))]
pub(crate) fn traceparent() -> Option<String> {
    None
}

/// Returns no span: there are no traces.
#[cfg(not(feature = "otel"))]
pub(crate) fn execution_span(_: &RunRecord) -> Span {
    Span::none()
}

/// Records the end of a run in the span of its last execution.
pub(crate) fn record_end(span: &Span, status: RunStatus, failure: Option<&RunFailure>) {
    span.record("status", status.as_str());
    if let Some(failure) = failure {
        span.record("error", &*failure.error);
    }
}
