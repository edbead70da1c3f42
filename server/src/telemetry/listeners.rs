//! The listeners of one execution of a run: the numbers of the server, and that of the program around it.
//!
//! Small because it passes events on.

use superstep::graph::{Event, RunError};
use superstep_metrics::RunMeter;

use crate::observer::RunListener;

/// The listeners of one execution.
pub(crate) struct RunListeners {
    meter: RunMeter,
    observer: Option<Box<dyn RunListener>>,
}

impl RunListeners {
    pub(crate) fn new(meter: RunMeter, observer: Option<Box<dyn RunListener>>) -> Self {
        Self { meter, observer }
    }

    pub(crate) fn on_event(&mut self, event: &Event) {
        self.meter.on_event(event);
        self.observer.iter_mut().for_each(|observer| observer.on_event(event));
    }

    pub(crate) fn on_error(&self, error: &RunError) {
        self.meter.on_error(error);
    }
}
