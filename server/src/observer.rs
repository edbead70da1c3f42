//! Listeners of the runs that are executed, for the program around a server: a command line that shows or counts them.
//!
//! Small because a listener gets the engine's own events.

use superstep::graph::{AnyThread, CancellationToken, Event, Mode};

/// Listener of the runs that a server executes.
pub trait RunObserver: Send + Sync + 'static {
    /// Returns the modes of the events that listeners get, those of subgraphs included.
    fn modes(&self) -> &[Mode];

    /// Returns the listener of an execution that starts. Cancelling the token cancels the run.
    fn begin(&self, thread: &AnyThread, cancel: CancellationToken) -> Box<dyn RunListener>;
}

/// Listener of one execution of a run, which is dropped at its end.
pub trait RunListener: Send {
    /// Takes the next event.
    fn on_event(&mut self, event: &Event);
}
