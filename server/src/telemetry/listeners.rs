//! The listeners of one execution of a run: the numbers of the server, and that of the program around it.
//!
//! Small because it passes events on.

use superstep::graph::{Event, RunError};
use superstep_metrics::RunMeter;

#[cfg(feature = "otel")]
use super::model_calls::ModelCalls;
#[cfg(feature = "otel")]
use super::tool_calls::ToolCalls;
use crate::observer::RunListener;

/// The listeners of one execution.
pub(crate) struct RunListeners {
    meter: RunMeter,
    observer: Option<Box<dyn RunListener>>,
    #[cfg(feature = "otel")]
    calls: ModelCalls,
    #[cfg(feature = "otel")]
    tools: ToolCalls,
}

impl RunListeners {
    pub(crate) fn new(meter: RunMeter, observer: Option<Box<dyn RunListener>>) -> Self {
        Self {
            meter,
            observer,
            #[cfg(feature = "otel")]
            calls: ModelCalls::new(),
            #[cfg(feature = "otel")]
            tools: ToolCalls::new(),
        }
    }

    pub(crate) fn on_event(&mut self, event: &Event) {
        let _used = self.meter.on_event(event);
        #[cfg(feature = "otel")]
        self.calls.on_event(event, _used);
        #[cfg(feature = "otel")]
        self.tools.on_event(event);
        self.observer.iter_mut().for_each(|observer| observer.on_event(event));
    }

    pub(crate) fn on_error(&self, error: &RunError) {
        self.meter.on_error(error);
    }
}
