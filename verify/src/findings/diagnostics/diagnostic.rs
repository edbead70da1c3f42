//! An error, a warning or a failure as a tool printed it, and the lines that it is read from.

use std::borrow::Cow;
use std::ops::Range;

use crate::findings::evidence::Lines;
use crate::findings::finding::{FindingKind, Severity};
use crate::findings::normalizer::Normalizer;

/// The message of a failed test without details.
pub(super) const FAILED: &str = "the test failed";

/// An error, a warning or a failed test in an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Diagnostic<'a> {
    /// Its kind.
    pub(crate) kind: FindingKind,
    /// Its severity.
    pub(crate) severity: Severity,
    /// The code of the error, the rule, the type of an exception or the name of the test.
    pub(crate) code: Option<Cow<'a, str>>,
    /// The file, as the tool printed it.
    pub(crate) file: Option<Cow<'a, str>>,
    /// The lines of the file.
    pub(crate) lines: Option<Lines>,
    /// The text.
    pub(crate) message: Cow<'a, str>,
    /// The lines of the output that show it, from 0.
    pub(crate) shown: Range<usize>,
}

impl<'a> Diagnostic<'a> {
    /// Returns an error of a build.
    pub(super) fn error(message: impl Into<Cow<'a, str>>) -> Self {
        let (kind, severity) = (FindingKind::BuildFail, Severity::Error);
        Self { kind, severity, code: None, file: None, lines: None, message: message.into(), shown: 0..0 }
    }

    /// Returns the failure of a test.
    pub(super) fn test(name: impl Into<Cow<'a, str>>, message: impl Into<Cow<'a, str>>) -> Self {
        Self { kind: FindingKind::TestFail, code: Some(name.into()), ..Self::error(message) }
    }

    pub(super) fn of(self, severity: Severity) -> Self {
        Self { severity, ..self }
    }

    pub(super) fn code(self, code: Option<&'a str>) -> Self {
        Self { code: code.map(Cow::Borrowed), ..self }
    }

    pub(super) fn at(self, place: Option<Place<'a>>) -> Self {
        let Some(Place { file, line }) = place else { return self };
        Self { file: Some(file.into()), lines: (line > 0).then(|| Lines::at(line)), ..self }
    }

    /// Returns the text with its code as a prefix, as in findings.
    pub(crate) fn full_message(&self) -> String {
        match &self.code {
            Some(code) if self.message.is_empty() => code.clone().into_owned(),
            Some(code) if !self.message.starts_with(code.as_ref()) => format!("{code}: {}", self.message),
            _ => self.message.clone().into_owned(),
        }
    }
}

/// A file and a line in it; 0 without a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place<'a> {
    pub(super) file: &'a str,
    pub(super) line: u32,
}

/// Joins the lines of a message.
pub(super) fn join_lines<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

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
