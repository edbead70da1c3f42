//! Reads a command's output and exit into a report.

use std::borrow::Cow;

use super::exit::{Exit, ShellOutput};
use super::select::{Selection, select};
use super::{json, shown};
use crate::findings::diagnostics::Diagnostic;
use crate::findings::evidence::Evidence;
use crate::findings::finding::Finding;
use crate::findings::fingerprint::{Fingerprint, Identity};
use crate::findings::normalizer::Normalizer;
use crate::findings::report::{VerifierReport, more};
use crate::findings::severity::{Severity, Verdict};
use crate::findings::{FindingKind, diagnostics, text};

/// The maximum length of a finding's message, in bytes.
const MESSAGE: usize = 600;

/// Reads the output of a verifier's command into its report.
///
/// ```
/// # use superstep_verify as superstep;
/// use superstep::findings::{Exit, Normalizer, ReportReader, ShellOutput, Verdict};
/// let normalizer = Normalizer::new(["/home/ada/tides"]);
/// let stderr = b"/home/ada/tides/src/main.c:3:5: error: 'depth' undeclared\n";
/// let report = ReportReader::new("build", "make", &normalizer).read(&ShellOutput { stdout: b"", stderr, exit: Exit::Code(2) });
/// assert_eq!(report.verdict, Some(Verdict::Fail));
/// assert_eq!(report.findings[0].evidence.file.as_deref(), Some("src/main.c"));
/// ```
#[derive(Clone, Debug)]
pub struct ReportReader<'a> {
    verifier: &'a str,
    command: &'a str,
    normalizer: &'a Normalizer,
    kind: Option<FindingKind>,
    max_findings: usize,
}

impl<'a> ReportReader<'a> {
    /// The default maximum number of findings.
    pub const FINDINGS: usize = 100;
    /// The highest maximum number of findings.
    pub const MAX_FINDINGS: usize = 1000;

    /// Returns a reader for the verifier with this id and its command.
    #[must_use]
    pub fn new(verifier: &'a str, command: &'a str, normalizer: &'a Normalizer) -> Self {
        let kind = (verifier == "style").then_some(FindingKind::Style);
        Self { verifier, command, normalizer, kind, max_findings: Self::FINDINGS }
    }

    /// Sets the kind of all findings. By default failed tests are [`TestFail`](FindingKind::TestFail) and other
    /// diagnostics are [`BuildFail`](FindingKind::BuildFail), except for a verifier `style`.
    #[must_use]
    pub fn kind(self, kind: FindingKind) -> Self {
        Self { kind: Some(kind), ..self }
    }

    /// Sets the maximum number of findings, up to [`MAX_FINDINGS`](Self::MAX_FINDINGS); one more counts those left out.
    #[must_use]
    pub fn max_findings(self, most: usize) -> Self {
        Self { max_findings: most.min(Self::MAX_FINDINGS), ..self }
    }

    /// Reads the report. A standard output of one JSON object is the report, or an error in another shape; otherwise
    /// both streams are searched for diagnostics, which are at most warnings on success. A failed exit is an error.
    #[must_use]
    pub fn read(&self, output: &ShellOutput<'_>) -> VerifierReport {
        let (stdout, stderr) = (text::plain(output.stdout), text::plain(output.stderr));
        let mut lines = text::lines(&stdout);
        lines.push("");
        lines.extend(text::lines(&stderr));
        let (mut report, tail) = match json::object(&stdout) {
            Some(object) => (self.own_report(&object), shown::tail("", &stderr)),
            None => (self.diagnosed(&lines, output.exit), shown::tail(&stdout, &stderr)),
        };
        self.judge(&mut report, output.exit, &tail);
        self.complete(report, shown::end(&lines))
    }

    /// Uses the report that the verifier wrote.
    fn own_report(&self, object: &json::Object) -> VerifierReport {
        match json::report(object, &self.default_kind()) {
            Ok(report) => self.limited(report),
            Err(problems) => {
                let problems = problems.join("; ");
                let message = format!("`{}` wrote a JSON object that is no report: {problems}", self.command);
                let failure = Finding::error(FindingKind::VerifierFail, message);
                VerifierReport { verdict: None, ..VerifierReport::of([failure]) }
            }
        }
    }

    /// Limits the number of findings; an error has at least one.
    fn limited(&self, mut report: VerifierReport) -> VerifierReport {
        report.limit(self.max_findings);
        if report.severity == Severity::Error && report.findings.is_empty() {
            let message = format!("`{}` reports an error without a finding", self.command);
            report.push(Finding::error(self.default_kind(), message));
        }
        report
    }

    fn diagnosed(&self, lines: &[&str], exit: Exit) -> VerifierReport {
        let most = if exit.is_success() { Severity::Warning } else { Severity::Error };
        let mut found = diagnostics::read(lines, self.normalizer);
        found.iter_mut().for_each(|diagnostic| diagnostic.severity = diagnostic.severity.min(most));
        let Selection { chosen, left } = select(found, self.max_findings);
        let findings =
            chosen.iter().map(|diagnostic| self.finding(diagnostic, lines)).chain((left > 0).then(|| more(left)));
        let verdict = exit.is_success().then_some(Verdict::Pass);
        VerifierReport { verdict, ..VerifierReport::of(findings) }
    }

    fn finding(&self, diagnostic: &Diagnostic<'_>, lines: &[&str]) -> Finding {
        let kind = self.kind.clone().unwrap_or_else(|| diagnostic.kind.clone());
        let identity = Identity {
            verifier: self.verifier,
            kind: &kind,
            file: diagnostic.file.as_deref(),
            code: diagnostic.code.as_deref(),
            text: &diagnostic.message,
        };
        let fingerprint = Fingerprint::of(&identity, self.normalizer);
        let evidence = Evidence {
            file: diagnostic.file.as_deref().map(|file| self.normalizer.relative(file).into_owned()),
            lines: diagnostic.lines,
            log: Some(shown::excerpt(&lines[diagnostic.shown.clone()])),
            command: None,
        };
        let message = text::clipped(&diagnostic.full_message(), MESSAGE);
        Finding { kind, severity: diagnostic.severity, message, evidence, fingerprint }
    }

    fn default_kind(&self) -> FindingKind {
        self.kind.clone().unwrap_or_else(|| match self.verifier {
            "build" => FindingKind::BuildFail,
            "test" => FindingKind::TestFail,
            other => FindingKind::Other(other.to_uppercase().replace('-', "_")),
        })
    }

    /// Raises the report's severity to at least that of the exit.
    fn judge(&self, report: &mut VerifierReport, exit: Exit, tail: &[&str]) {
        if let Exit::Code(code) = exit {
            if code == 0 {
                return;
            }
            report.verdict = Some(Verdict::Fail);
        } else {
            report.verdict = None;
        }
        let is_known = report.findings.iter().any(|finding| finding.severity == Severity::Error);
        if !is_known || !matches!(exit, Exit::Code(_)) {
            report.findings.insert(0, self.ending(exit, tail));
        }
        report.severity = Severity::Error;
    }

    /// Returns the finding for an exit whose cause the output does not show.
    fn ending(&self, exit: Exit, tail: &[&str]) -> Finding {
        let is_failure = exit.is_missing() || !matches!(exit, Exit::Code(_));
        let kind = if is_failure { FindingKind::VerifierFail } else { self.default_kind() };
        let words = exit.describe(self.command);
        let last = tail.last().map_or(words.clone(), |last| format!("{words}: {}", last.trim()));
        let shown: Cow<'_, str> = match exit {
            Exit::Code(_) => Cow::Owned(format!("{words}\n{}", tail.join("\n"))),
            Exit::Signal(_) | Exit::TimedOut(_) => Cow::Borrowed(&words),
        };
        let code = exit.code();
        let identity =
            Identity { verifier: self.verifier, kind: &kind, file: None, code: code.as_deref(), text: &shown };
        let fingerprint = Fingerprint::of(&identity, self.normalizer);
        let evidence = Evidence { log: Some(shown::excerpt(tail)), ..Evidence::default() };
        let message = text::clipped(&last, MESSAGE);
        Finding { kind, severity: Severity::Error, message, evidence, fingerprint }
    }

    /// Fills in the command, the paths and the fingerprints that are missing.
    fn complete(&self, report: VerifierReport, log: String) -> VerifierReport {
        let findings = report.findings.into_iter().map(|mut finding| {
            finding.evidence.command.get_or_insert_with(|| self.command.to_owned());
            finding.evidence.file = finding.evidence.file.map(|file| self.normalizer.relative(&file).into_owned());
            finding.identified(self.verifier, self.normalizer)
        });
        let findings = findings.collect();
        let evidence = Evidence {
            command: report.evidence.command.or_else(|| Some(self.command.to_owned())),
            log: report.evidence.log.or(Some(log)),
            ..report.evidence
        };
        VerifierReport { findings, evidence, ..report }
    }
}
