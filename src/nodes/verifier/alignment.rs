//! Judgements on acceptance criteria as findings, and the check of their quotes. Pure.

use super::answers::{Alignment, CriterionMet, Met, Shown};
use super::job::RunVerifier;
use super::remarks::evidence;
use crate::findings::{Finding, FindingKind};

/// The result of looking for a quote in the file that is named with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quote {
    /// No quote.
    None,
    /// The file contains it.
    Found,
    /// The file does not contain it.
    Missing,
}

/// The grounds on which a criterion is judged.
struct Judgement<'a> {
    met: Met,
    reason: String,
    shown: Option<&'a Shown>,
}

/// Returns the findings on the criteria; `quotes` returns the check of a judgement's quote.
pub(super) fn findings(
    job: &RunVerifier,
    criteria: &[String],
    given: &Alignment,
    quotes: impl Fn(&CriterionMet) -> Quote,
) -> Vec<Finding> {
    let judge = |criterion: &String| {
        let of = given.criteria.iter().filter(|judged| is_same(&judged.text, criterion));
        // Take the worst of several, as one of them was about another criterion.
        let worst = of.map(|judged| judgement(judged, quotes(judged))).max_by_key(|judgement| judgement.met);
        finding(job, criterion, worst)
    };
    let known = |judged: &CriterionMet| job.task.acceptance.iter().any(|criterion| is_same(&judged.text, criterion));
    let invented = given.criteria.iter().filter(|judged| !known(judged)).map(|judged| {
        let message = format!("a criterion was judged that the task does not have: {}", judged.text);
        Finding::info(FindingKind::SpecDivergence, message)
    });
    criteria.iter().filter_map(judge).chain(invented).collect()
}

fn judgement(judged: &CriterionMet, quote: Quote) -> Judgement<'_> {
    let shown = judged.evidence.as_ref();
    let file = shown.and_then(|shown| shown.file.as_deref());
    let (met, reason) = match (judged.met, quote, file) {
        (_, Quote::Missing, Some(file)) => (Met::Unclear, format!("the quote is not in {file}")),
        (_, Quote::Missing, None) => (Met::Unclear, "the quote names no file".to_owned()),
        (Met::Yes, Quote::None, _) => (Met::Unclear, "nothing is quoted that shows it".to_owned()),
        (met, Quote::None | Quote::Found, _) => (met, String::new()),
    };
    Judgement { met, reason, shown }
}

fn finding(job: &RunVerifier, criterion: &str, judgement: Option<Judgement<'_>>) -> Option<Finding> {
    let kind = FindingKind::SpecDivergence;
    let Some(Judgement { met, reason, shown }) = judgement else {
        return Some(job.identified(Finding::warning(kind, format!("not judged: {criterion}")), "left-out", criterion));
    };
    let reason = if reason.is_empty() { reason } else { format!(" ({reason})") };
    let (finding, code) = match met {
        Met::Yes => return None,
        Met::Unclear => (Finding::warning(kind, format!("unclear: {criterion}{reason}")), "unclear"),
        Met::No => (Finding::error(kind, format!("not met: {criterion}{reason}")), "no"),
    };
    let finding = Finding { evidence: shown.map(evidence).unwrap_or_default(), ..finding };
    Some(job.identified(finding, code, criterion))
}

/// Returns true if a text is a criterion, ignoring spacing, case, a leading bullet and a final period.
fn is_same(text: &str, criterion: &str) -> bool {
    plain(text) == plain(criterion)
}

fn plain(text: &str) -> String {
    let text = spaced(text.trim().trim_start_matches(['-', '*', ' ']).trim_end_matches(['.', ' ']));
    text.to_lowercase()
}

/// Returns true if a text contains a quote, ignoring spacing. The lines of the quote may have the `+` of a diff.
pub(super) fn has_quote(text: &str, quote: &str) -> bool {
    let text = spaced(text);
    let lines: Vec<&str> = quote.lines().map(|line| line.strip_prefix('+').unwrap_or(line)).collect();
    text.contains(&spaced(quote)) || text.contains(&spaced(&lines.join("\n")))
}

fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
