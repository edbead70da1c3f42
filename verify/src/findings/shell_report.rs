//! The report of a command: its output and exit read as findings, the diagnostics that are chosen, the excerpts shown to people.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use superstep_base::text::shorten;

use super::diagnostics::{self, Diagnostic};
use super::evidence::Evidence;
use super::finding::{Finding, FindingKind, Fingerprint, Identity, Severity};
use super::normalizer::Normalizer;
use super::report::{Verdict, VerifierReport, more_finding};
use super::{json_report, text};

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShellExit {
    /// With an exit code.
    Code(i32),
    /// By a signal, whose number may not be known.
    Signal(Option<i32>),
    /// By its time limit.
    TimedOut(Duration),
}

impl ShellExit {
    /// Returns whether the exit code is 0.
    #[must_use]
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }

    /// Describes the exit of `command` in words.
    #[must_use]
    pub fn describe(self, command: &str) -> String {
        match self {
            Self::Code(code) => format!("`{command}` ended with {code}"),
            Self::Signal(None) => format!("`{command}` was killed by a signal"),
            Self::Signal(Some(signal)) => format!("`{command}` was killed by signal {signal}"),
            Self::TimedOut(limit) => format!("`{command}` took longer than {} s and was killed", limit.as_secs_f64()),
        }
    }

    /// Describes an exit without an exit code. Used in the fingerprint, which ignores numbers.
    fn code(self) -> Option<String> {
        match self {
            Self::Code(_) => None,
            Self::Signal(signal) => Some(signal.map_or("signal".to_owned(), |signal| format!("signal {signal}"))),
            Self::TimedOut(_) => Some("timeout".to_owned()),
        }
    }

    /// Returns whether the command never ran: the shell did not find it, or could not execute it.
    fn is_missing(self) -> bool {
        matches!(self, Self::Code(126 | 127))
    }
}

/// The output and exit of a command.
#[derive(Clone, Copy, Debug)]
pub struct ShellOutput<'a> {
    /// Its standard output.
    pub stdout: &'a [u8],
    /// Its standard error.
    pub stderr: &'a [u8],
    /// Its end.
    pub exit: ShellExit,
}

/// The maximum length of a finding's message, in bytes.
const MESSAGE: usize = 600;

/// Reads the output of a verifier's command into its report.
///
/// ```
/// # use superstep_verify as superstep;
/// use superstep::findings::{Normalizer, ReportReader, ShellExit, ShellOutput, Verdict};
/// let normalizer = Normalizer::new(["/home/ada/tides"]);
/// let stderr = b"/home/ada/tides/src/main.c:3:5: error: 'depth' undeclared\n";
/// let report = ReportReader::new("build", "make", &normalizer).read(&ShellOutput { stdout: b"", stderr, exit: ShellExit::Code(2) });
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
        let (mut report, tail) = match json_report::object(&stdout) {
            Some(object) => (self.own_report(&object), tail("", &stderr)),
            None => (self.read_diagnostics(&lines, output.exit), tail(&stdout, &stderr)),
        };
        self.judge(&mut report, output.exit, &tail);
        self.complete(report, end(&lines))
    }

    /// Uses the report that the verifier wrote.
    fn own_report(&self, object: &json_report::Object) -> VerifierReport {
        match json_report::report(object, &self.default_kind()) {
            Ok(report) => self.limit_findings(report),
            Err(problems) => {
                let problems = problems.join("; ");
                let message = format!("`{}` wrote a JSON object that is not a report: {problems}", self.command);
                let failure = Finding::error(FindingKind::VerifierFail, message);
                VerifierReport { verdict: None, ..VerifierReport::of([failure]) }
            }
        }
    }

    /// Limits the number of findings; an error has at least one.
    fn limit_findings(&self, mut report: VerifierReport) -> VerifierReport {
        report.limit(self.max_findings);
        if report.severity == Severity::Error && report.findings.is_empty() {
            let message = format!("`{}` reports an error without a finding", self.command);
            report.push(Finding::error(self.default_kind(), message));
        }
        report
    }

    fn read_diagnostics(&self, lines: &[&str], exit: ShellExit) -> VerifierReport {
        let most = if exit.is_success() { Severity::Warning } else { Severity::Error };
        let mut found = diagnostics::read(lines, self.normalizer);
        found.iter_mut().for_each(|diagnostic| diagnostic.severity = diagnostic.severity.min(most));
        let Selection { chosen, left } = select(found, self.max_findings);
        let findings = chosen
            .iter()
            .map(|diagnostic| self.finding(diagnostic, lines))
            .chain((left > 0).then(|| more_finding(left)));
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
            log: Some(excerpt(&lines[diagnostic.shown.clone()])),
            command: None,
        };
        let message = shorten(&diagnostic.full_message(), MESSAGE);
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
    fn judge(&self, report: &mut VerifierReport, exit: ShellExit, tail: &[&str]) {
        if let ShellExit::Code(code) = exit {
            if code == 0 {
                return;
            }
            report.verdict = Some(Verdict::Fail);
        } else {
            report.verdict = None;
        }
        let is_known = report.findings.iter().any(|finding| finding.severity == Severity::Error);
        if !is_known || !matches!(exit, ShellExit::Code(_)) {
            report.findings.insert(0, self.exit_finding(exit, tail));
        }
        report.severity = Severity::Error;
    }

    /// Returns the finding for an exit whose cause the output does not show.
    fn exit_finding(&self, exit: ShellExit, tail: &[&str]) -> Finding {
        let is_failure = exit.is_missing() || !matches!(exit, ShellExit::Code(_));
        let kind = if is_failure { FindingKind::VerifierFail } else { self.default_kind() };
        let words = exit.describe(self.command);
        let last = tail.last().map_or(words.clone(), |last| format!("{words}: {}", last.trim()));
        let shown: Cow<'_, str> = match exit {
            ShellExit::Code(_) => Cow::Owned(format!("{words}\n{}", tail.join("\n"))),
            ShellExit::Signal(_) | ShellExit::TimedOut(_) => Cow::Borrowed(&words),
        };
        let code = exit.code();
        let identity =
            Identity { verifier: self.verifier, kind: &kind, file: None, code: code.as_deref(), text: &shown };
        let fingerprint = Fingerprint::of(&identity, self.normalizer);
        let evidence = Evidence { log: Some(excerpt(tail)), ..Evidence::default() };
        let message = shorten(&last, MESSAGE);
        Finding { kind, severity: Severity::Error, message, evidence, fingerprint }
    }

    /// Fills in the command, the paths and the fingerprints that are missing.
    fn complete(&self, report: VerifierReport, log: String) -> VerifierReport {
        let findings = report.findings.into_iter().map(|mut finding| {
            finding.evidence.command.get_or_insert_with(|| self.command.to_owned());
            finding.evidence.file = finding.evidence.file.map(|file| self.normalizer.relative(&file).into_owned());
            finding.with_fingerprint(self.verifier, self.normalizer)
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

/// The selected diagnostics, and the number of the others.
struct Selection<'a> {
    chosen: Vec<Diagnostic<'a>>,
    left: usize,
}

/// Selects at most this many: the most severe first, among these different ones first; in the order of the output.
fn select(found: Vec<Diagnostic<'_>>, most: usize) -> Selection<'_> {
    let left = found.len().saturating_sub(most);
    if left == 0 {
        return Selection { chosen: found, left };
    }
    let mut seen = HashSet::new();
    let ranked = found
        .into_iter()
        .enumerate()
        .map(|(nth, one)| ((Reverse(one.severity), !seen.insert(similarity_key(&one)), nth), one));
    let mut ranked: Vec<_> = ranked.collect();
    ranked.select_nth_unstable_by_key(most, |(rank, _)| *rank);
    ranked.truncate(most);
    ranked.sort_unstable_by_key(|((_, _, nth), _)| *nth);
    Selection { chosen: ranked.into_iter().map(|(_, one)| one).collect(), left }
}

/// Returns a key that is the same for diagnostics that differ only in their place and numbers.
fn similarity_key(one: &Diagnostic<'_>) -> u64 {
    let mut hash = DefaultHasher::new();
    (one.file.as_deref(), one.code.as_deref()).hash(&mut hash);
    one.message
        .split(|c: char| c.is_ascii_digit())
        .filter(|part| !part.is_empty())
        .for_each(|part| part.hash(&mut hash));
    hash.finish()
}

/// The maximum number of lines of an excerpt.
const LINES: usize = 20;
/// The maximum number of bytes of an excerpt.
const BYTES: usize = 2000;
/// The number of last lines that are shown if no cause is known.
const TAIL: usize = 5;
/// The number of last lines that are searched for them.
const BACK: usize = 200;
/// The maximum number of lines and bytes of the end of an output.
const END: (usize, usize) = (40, 4000);

/// Returns the lines as an excerpt, without their common indentation.
fn excerpt(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).take(LINES).collect();
    let indent = |line: &&str| line.len() - line.trim_start_matches(' ').len();
    let common = lines.iter().filter(|line| !line.is_empty()).map(indent).min().unwrap_or(0);
    let lines: Vec<&str> = lines.iter().map(|line| line.get(common..).unwrap_or_default()).collect();
    shorten(lines.join("\n").trim_end(), BYTES)
}

/// Returns the last non-blank lines, of standard error if it has any.
fn tail<'a>(stdout: &'a str, stderr: &'a str) -> Vec<&'a str> {
    match last_words(stderr) {
        tail if tail.is_empty() => last_words(stdout),
        tail => tail,
    }
}

fn last_words(text: &str) -> Vec<&str> {
    let has_words = |line: &&str| line.contains(char::is_alphabetic);
    let mut lines: Vec<&str> = text.lines().rev().take(BACK).filter(has_words).take(TAIL).map(str::trim_end).collect();
    lines.reverse();
    lines
}

/// Returns the end of an output.
fn end(lines: &[&str]) -> String {
    let (most, bytes) = END;
    let last = &lines[lines.len().saturating_sub(most)..];
    superstep_base::text::end(last.join("\n").trim(), bytes).to_owned()
}
