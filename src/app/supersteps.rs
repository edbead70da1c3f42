//! The number of supersteps of a run, to show a loop that goes on and on. Pure.

use super::text::clean;
use crate::checkpoint::Source;
use crate::graph::{Event, EventKind};

/// A line is shown each time so many supersteps have ended.
const INTERVAL: u64 = 1_000;

/// Counts the supersteps of a run, those of subgraphs included.
#[derive(Debug, Default)]
pub(crate) struct SuperstepCounter(u64);

impl SuperstepCounter {
    /// Counts the superstep that an event ends. Every 1,000 supersteps, returns a line that says where the run is.
    pub(crate) fn on_event(&mut self, event: &Event) -> Option<String> {
        let EventKind::Checkpoint(made) = &event.kind else { return None };
        if made.source != Source::Loop || made.ran.is_empty() {
            return None; // the start of a run, or a branch
        }
        self.0 += 1;
        if !self.0.is_multiple_of(INTERVAL) {
            return None;
        }
        let place =
            |node: &String| clean(&event.nodes().chain([node.as_str()]).collect::<Vec<_>>().join("/")).into_owned();
        let list = |nodes: &[String]| nodes.iter().map(place).collect::<Vec<_>>().join(", ");
        let next = if made.next.is_empty() { "the end".into() } else { list(&made.next) };
        Some(format!(
            "note: {} supersteps in this run; after {} comes {next} (Ctrl-C stops it, `--max-supersteps` limits a run)\n",
            self.0,
            list(&made.ran)
        ))
    }
}
