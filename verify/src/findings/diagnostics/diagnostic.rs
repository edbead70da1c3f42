//! An error, a warning or a failure as a tool printed it.

use std::borrow::Cow;
use std::ops::Range;

use crate::findings::FindingKind;
use crate::findings::evidence::Lines;
use crate::findings::severity::Severity;

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
