//! How a run is told while it goes on: plain lines, or a live tree on a terminal. Knows events, no graph.

mod lines;
mod tree;

use std::io::{IsTerminal, stdout};
use std::time::Duration;

use crate::graph::Event;

/// How often the elapsed times on a terminal are drawn anew.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// How a run is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// Not at all: a program reads.
    Quiet,
    /// A line for each task, as it ends.
    Lines,
    /// A tree that moves.
    Tree { colours: bool },
}

impl View {
    /// What fits the standard output. A tree that moves and a log on one terminal would write over each other.
    pub(crate) fn fitting(json: bool, log: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        match (json, stdout().is_terminal() && !dumb && !log) {
            (true, _) => Self::Quiet,
            (false, false) => Self::Lines,
            (false, true) => Self::Tree { colours: std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty()) },
        }
    }
}

/// Tells a run.
pub(crate) enum Watch {
    Quiet,
    Lines(lines::Lines),
    Tree(tree::Tree),
}

impl Watch {
    pub(crate) fn new(view: View, thread: &str) -> Self {
        match view {
            View::Quiet => Self::Quiet,
            View::Lines => Self::Lines(lines::Lines::new(thread)),
            View::Tree { colours } => Self::Tree(tree::Tree::new(thread, colours)),
        }
    }

    /// Something happened.
    pub(crate) fn tell(&mut self, event: &Event) {
        match self {
            Self::Quiet => {}
            Self::Lines(lines) => lines.tell(event),
            Self::Tree(tree) => tree.tell(event),
        }
    }

    /// Time has passed.
    pub(crate) fn tick(&mut self, cancelled: bool) {
        if let Self::Tree(tree) = self {
            tree.draw(cancelled);
        }
    }

    /// The run is over.
    pub(crate) fn end(&mut self) {
        if let Self::Tree(tree) = self {
            tree.end();
        }
    }
}
