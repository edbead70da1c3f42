//! Spans of the calls of models in one execution of a run, as messages report what they have used; none are made without the feature
//! `otel`. Must not know how a span is exported.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use superstep::graph::{Event, EventKind};
use superstep_metrics::ModelUse;
use tracing::{Span, info_span};

/// Calls of models in one execution. Dropping it records their sum in the span of the execution.
#[derive(Debug)]
pub(super) struct ModelCalls {
    execution: Span,
    /// The time of the first message of each task after its last call.
    since: HashMap<Arc<[String]>, Instant>,
    sum: Option<(u64, u64)>,
}

impl ModelCalls {
    /// Returns the calls of the execution whose span is the current one.
    pub(super) fn new() -> Self {
        Self { execution: Span::current(), since: HashMap::new(), sum: None }
    }

    /// Takes the next event, and what it says that a model has used.
    pub(super) fn on_event(&mut self, event: &Event, used: Option<ModelUse>) {
        let (EventKind::Message { .. }, Some(task)) = (&event.kind, &event.task) else { return };
        let Some(used) = used else {
            self.since.entry(Arc::clone(&task.path)).or_insert_with(Instant::now);
            return;
        };
        let milliseconds = self.since.remove(&task.path).map_or(0.0, |since| since.elapsed().as_secs_f64() * 1000.0);
        let ModelUse { model, input_tokens, output_tokens, .. } = &used;
        info_span!("chat", node = &*task.node, model, input_tokens, output_tokens, milliseconds);
        let (input, output) = self.sum.unwrap_or_default();
        self.sum = Some((input.saturating_add(*input_tokens), output.saturating_add(*output_tokens)));
    }
}

impl Drop for ModelCalls {
    fn drop(&mut self) {
        if let Some((input, output)) = self.sum {
            self.execution.record("input_tokens", input).record("output_tokens", output);
        }
    }
}
