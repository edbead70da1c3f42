//! Display of a run while it is active: plain lines, a live tree on a terminal, or nothing. Knows events as JSON, so that it
//! shows the runs of other processes in the same way; must not know a graph.

use std::io::{IsTerminal, stdout};
use std::time::Duration;

use serde_json::Value;

use super::terminal::{height, note, print, width};
use super::text::{RunLines, RunTree, clean};
use super::time;

/// The interval at which elapsed times on a terminal are drawn.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// The interval at which the lines above the running tasks are made.
pub(crate) const BOARD: Duration = Duration::from_secs(1);

pub(crate) enum Watch {
    Quiet,
    Lines(RunLines),
    Tree(RunTree),
}

impl Watch {
    /// Returns a display of a run; `cost` is that of the thread so far, in millionths of a dollar.
    pub(crate) fn new(view: View, thread: &str, cost: u64) -> Self {
        let head = format!("thread {}", clean(thread));
        match view {
            View::Quiet => Self::Quiet,
            View::Lines { shows_all } => {
                print(&format!("{head}\n"));
                Self::Lines(RunLines::new(shows_all, cost))
            }
            View::Tree { colours } => {
                let tree = RunTree::new(colours, cost);
                print(&format!("{}\n", tree.dim(&head)));
                Self::Tree(tree)
            }
        }
    }

    /// Shows an event, as [`event_json`](super::events) makes it, with the time.
    pub(crate) fn on_event(&mut self, event: &Value) {
        show(&match self {
            Self::Quiet => String::new(),
            Self::Lines(lines) => lines.on_event(event),
            Self::Tree(tree) => {
                tree.widen(width(), height());
                tree.on_event(event)
            }
        });
    }

    /// Shows a line on standard error.
    pub(crate) fn note(&mut self, line: &str) {
        if let Self::Tree(tree) = self {
            show(&tree.erase());
        }
        note(line);
    }

    /// Redraws as time passes.
    pub(crate) fn tick(&mut self, cancelled: bool) {
        show(&match self {
            Self::Quiet => String::new(),
            Self::Lines(lines) => lines.tick(time::now()),
            Self::Tree(tree) => {
                tree.widen(width(), height());
                tree.draw(time::now(), cancelled)
            }
        });
    }

    /// Sets the lines above the running tasks.
    pub(crate) fn post(&mut self, board: Vec<String>) {
        if let Self::Tree(tree) = self {
            tree.post(board);
        }
    }

    /// Ends the display.
    pub(crate) fn end(&mut self) {
        if let Self::Tree(tree) = self {
            show(&tree.end());
        }
    }
}

fn show(text: &str) {
    if !text.is_empty() {
        print(text);
    }
}

/// The form in which a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// None: a program reads the output.
    Quiet,
    /// A line for each task, as it ends, and for actions of agents.
    Lines {
        /// Set if steps of the machinery are shown too.
        shows_all: bool,
    },
    /// A live tree.
    Tree { colours: bool },
}

impl View {
    pub(crate) fn is_tree(self) -> bool {
        matches!(self, Self::Tree { .. })
    }

    /// Returns the view that fits the standard output. A moving tree and a log on one terminal would overwrite each
    /// other.
    pub(crate) fn for_options(json: bool, log: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        match (json, stdout().is_terminal() && !dumb && !log) {
            (true, _) => Self::Quiet,
            (false, false) => Self::Lines { shows_all: log },
            (false, true) => Self::Tree { colours: std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty()) },
        }
    }
}
