//! The display of a run that fits the standard output.

use std::io::{IsTerminal, stdout};

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
    pub(crate) fn fitting(json: bool, log: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        match (json, stdout().is_terminal() && !dumb && !log) {
            (true, _) => Self::Quiet,
            (false, false) => Self::Lines { shows_all: log },
            (false, true) => Self::Tree { colours: std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty()) },
        }
    }
}
