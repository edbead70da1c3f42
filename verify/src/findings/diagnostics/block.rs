//! The lines of an output from one line on, as the input of diagnostic shapes.

use std::ops::Range;

use super::diagnostic::Place;
use crate::findings::normalizer::Normalizer;

/// Folders of third-party code.
const FOREIGN: [&str; 7] =
    ["node_modules/", "site-packages/", "dist-packages/", ".cargo/registry/", ".venv/", "node:", "vendor/"];

/// The lines of an output from one line on.
#[derive(Clone, Copy)]
pub(super) struct Block<'a, 't> {
    lines: &'t [&'a str],
    at: usize,
    normalizer: &'t Normalizer,
}

impl<'a, 't> Block<'a, 't> {
    pub(super) fn new(lines: &'t [&'a str], at: usize, normalizer: &'t Normalizer) -> Self {
        Self { lines, at, normalizer }
    }

    /// Returns the first line.
    pub(super) fn first(&self) -> &'a str {
        self.line(0)
    }

    /// Returns the line `nth` lines after the first; empty after the end.
    pub(super) fn line(&self, nth: usize) -> &'a str {
        self.lines.get(self.at + nth).copied().unwrap_or_default()
    }

    /// Returns at most this many lines after the first.
    pub(super) fn after(&self, most: usize) -> impl Iterator<Item = &'a str> + use<'a, 't> {
        let lines: &'t [&'a str] = self.lines;
        lines.iter().skip(self.at + 1).take(most).copied()
    }

    /// Returns at most this many lines before the first, nearest first.
    pub(super) fn before(&self, most: usize) -> impl Iterator<Item = &'a str> + use<'a, 't> {
        let lines: &'t [&'a str] = self.lines;
        lines[..self.at.min(lines.len())].iter().rev().take(most).copied()
    }

    /// Returns the number of consecutive lines after the first that satisfy `belongs`, at most this many.
    pub(super) fn while_after(&self, most: usize, belongs: impl Fn(&str) -> bool) -> usize {
        self.after(most).take_while(|line| belongs(line)).count()
    }

    /// Returns the block that starts `nth` lines later.
    pub(super) fn from(self, nth: usize) -> Self {
        Self { at: self.at + nth, ..self }
    }

    /// Returns the numbers of the first `count` lines.
    pub(super) fn span(&self, count: usize) -> Range<usize> {
        self.at..(self.at + count).min(self.lines.len())
    }

    /// Returns whether a file belongs to the repository: its path is relative and in no folder of dependencies.
    pub(super) fn is_own(&self, file: &str) -> bool {
        let path = self.normalizer.relative(file);
        let is_absolute = path.starts_with(['/', '<']) || path.as_bytes().get(1) == Some(&b':');
        !is_absolute && !FOREIGN.iter().any(|folder| path.contains(folder))
    }

    /// Returns the first place in a file of the repository; otherwise the first place.
    pub(super) fn own(&self, places: impl Iterator<Item = Place<'a>>) -> Option<Place<'a>> {
        let mut first = None;
        for place in places {
            if self.is_own(place.file) {
                return Some(place);
            }
            first = first.or(Some(place));
        }
        first
    }
}
