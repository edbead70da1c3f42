//! The functions of a program that interpret a graph's results and questions.

use super::decide::Decider;
use super::entry::WhatIf;
use super::exit::Exit;
use super::forks::Forks;
use super::presentation::Presentation;
use super::questions::Questions;

pub(crate) struct GraphSettings<S> {
    pub outcome: Option<fn(&S) -> Exit>,
    pub deciders: Vec<(&'static str, Decider)>,
    pub asking: Vec<(&'static str, Exit)>,
    pub summary: Option<fn(&S) -> String>,
    pub what_if: Option<WhatIf<S>>,
    pub forks: Option<Forks<S>>,
    pub questions: Questions<S>,
    pub presentation: Presentation<S>,
}

impl<S> GraphSettings<S> {
    /// Returns the exit code of a thread with these pending questions: the first one that is registered.
    pub(crate) fn exit_code<'a>(&self, open: impl Iterator<Item = &'a str>) -> Exit {
        let means = |name: &str| self.asking.iter().find(|(known, _)| *known == name).map(|(_, exit)| *exit);
        open.filter_map(means).next().unwrap_or(Exit::Asking)
    }
}
