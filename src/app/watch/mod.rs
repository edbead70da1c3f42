//! How a run is told while it goes on: plain lines, or a live tree on a terminal. Knows events as JSON, so that a run of
//! another process is told as one of this process; knows no graph.
//!
//! | file | what it knows |
//! |---|---|
//! | `agent` | what the messages of an agent say: which task, the last action, what it used |
//! | `running` | the tasks that run |
//! | `lines`, `tree` | the two ways to show them |

pub(crate) mod agent;
pub(crate) mod lines;
pub(crate) mod running;
mod tree;

use std::io::{IsTerminal, stdout};
use std::time::Duration;

use serde_json::Value;

use crate::app::print::{height, say, width};
use crate::app::text::clean;
use crate::app::time;

/// How often the elapsed times on a terminal are drawn anew.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// How often the lines above what runs are made anew.
pub(crate) const BOARD: Duration = Duration::from_secs(1);

/// How a run is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// Not at all: a program reads.
    Quiet,
    /// A line for each task, as it ends, and for what agents do.
    Lines,
    /// A tree that moves.
    Tree { colours: bool },
}

impl View {
    pub(crate) fn is_tree(self) -> bool {
        matches!(self, Self::Tree { .. })
    }

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
        let head = format!("thread {}", clean(thread));
        match view {
            View::Quiet => Self::Quiet,
            View::Lines => {
                say(&format!("{head}\n"));
                Self::Lines(lines::Lines::default())
            }
            View::Tree { colours } => {
                let tree = tree::Tree::new(colours);
                say(&format!("{}\n", tree.dim(&head)));
                Self::Tree(tree)
            }
        }
    }

    /// Something happened: an event as [`happened`](crate::app::happened) makes it, with the time.
    pub(crate) fn tell(&mut self, event: &Value) {
        show(&match self {
            Self::Quiet => String::new(),
            Self::Lines(lines) => lines.tell(event),
            Self::Tree(tree) => {
                tree.widen(width(), height());
                tree.tell(event)
            }
        });
    }

    /// Time has passed.
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

    /// Shows these lines above what runs.
    pub(crate) fn post(&mut self, board: Vec<String>) {
        if let Self::Tree(tree) = self {
            tree.post(board);
        }
    }

    /// The run is over.
    pub(crate) fn end(&mut self) {
        if let Self::Tree(tree) = self {
            show(&tree.end());
        }
    }
}

fn show(text: &str) {
    if !text.is_empty() {
        say(text);
    }
}
