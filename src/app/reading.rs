//! How a thread of a graph is opened to be read.

use super::decide::Decider;
use super::entry::WhatIf;
use super::exit::Exit;
use super::questions::Questions;
use super::shows::Shows;

/// How ends and questions of a graph are read.
pub(crate) struct Reading<S> {
    pub outcome: Option<fn(&S) -> Exit>,
    pub deciders: Vec<(&'static str, Decider)>,
    pub asking: Vec<(&'static str, Exit)>,
    pub summary: Option<fn(&S) -> String>,
    pub what_if: Option<WhatIf<S>>,
    pub questions: Questions<S>,
    pub shows: Shows<S>,
}

impl<S> Reading<S> {
    /// What it means that these questions are open: what the first means that means anything of its own.
    pub(crate) fn asks<'a>(&self, open: impl Iterator<Item = &'a str>) -> Exit {
        let means = |name: &str| self.asking.iter().find(|(known, _)| *known == name).map(|(_, exit)| *exit);
        open.filter_map(means).next().unwrap_or(Exit::Asking)
    }
}
