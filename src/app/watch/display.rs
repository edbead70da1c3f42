//! Display of a run while it is active, in one of the ways of [`View`].

use std::time::Duration;

use serde_json::Value;

use super::lines::Lines;
use super::tree::Tree;
use super::view::View;
use crate::app::print::{height, note, print, width};
use crate::app::text::clean;
use crate::app::time;

/// The interval at which elapsed times on a terminal are drawn.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// The interval at which the lines above the running tasks are made.
pub(crate) const BOARD: Duration = Duration::from_secs(1);

pub(crate) enum Watch {
    Quiet,
    Lines(Lines),
    Tree(Tree),
}

impl Watch {
    /// Returns a display of a run; `cost` is that of the thread so far, in millionths of a dollar.
    pub(crate) fn new(view: View, thread: &str, cost: u64) -> Self {
        let head = format!("thread {}", clean(thread));
        match view {
            View::Quiet => Self::Quiet,
            View::Lines { shows_all } => {
                print(&format!("{head}\n"));
                Self::Lines(Lines::new(shows_all, cost))
            }
            View::Tree { colours } => {
                let tree = Tree::new(colours, cost);
                print(&format!("{}\n", tree.dim(&head)));
                Self::Tree(tree)
            }
        }
    }

    /// Shows an event, as [`event_json`](crate::app::event_json) makes it, with the time.
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
            show(&tree.erased());
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
