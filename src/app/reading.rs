//! The functions by which the command line reads the ends and the questions of a graph.

use super::decide::Decider;
use super::entry::WhatIf;
use super::exit::Exit;
use super::questions::Questions;
use super::shows::Shows;

/// The functions of one graph that read its ends and its questions.
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
    /// Returns the exit code of a thread with these open questions: that of the first that has one of its own.
    pub(crate) fn asks<'a>(&self, open: impl Iterator<Item = &'a str>) -> Exit {
        let means = |name: &str| self.asking.iter().find(|(known, _)| *known == name).map(|(_, exit)| *exit);
        open.filter_map(means).next().unwrap_or(Exit::Asking)
    }
}
