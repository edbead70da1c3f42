//! Scans a diff for secrets.

use super::added::{self, AddedLine};
use super::placeholder::{entropy, is_code, is_placeholder};
use super::rules::{Match, PATTERNS, RULES, Rule};
use crate::findings::evidence::{Evidence, Lines};
use crate::findings::finding::Finding;
use crate::findings::fingerprint::{Fingerprint, Identity};
use crate::findings::normalizer::Normalizer;
use crate::findings::severity::Severity;
use crate::findings::{FindingKind, text};

/// The maximum length of a scanned line, in bytes; the rest is ignored.
const LINE: usize = 64 * 1024;
/// The maximum length of an excerpt, in bytes.
const SHOWN: usize = 160;
/// The maximum number of visible characters of a secret.
const HEAD: usize = 4;

/// Returns an error for each secret in the lines that a unified diff adds, except placeholders. Findings show the first
/// four characters of a secret, and fewer of a short one.
///
/// ```
/// # use superstep_verify as superstep;
/// use superstep::findings::secrets_in;
/// let key = ["AKIA", "Q3EGR7MEXAM4T2ZB"].concat();
/// let diff = format!("--- a/.env\n+++ b/.env\n@@ -1 +1,2 @@\n A=1\n+KEY={key}\n");
/// let findings = secrets_in(&diff, "secrets");
/// assert_eq!(findings[0].message, "aws-access-key: an access key of AWS: AKIA…");
/// assert_eq!(findings[0].evidence.log.as_deref(), Some("KEY=AKIA…"));
/// ```
#[must_use]
pub fn secrets_in(diff: &str, verifier: &str) -> Vec<Finding> {
    let mut findings = vec![];
    added::each(diff, |line| {
        let found = PATTERNS.find(text::clip(line.text, LINE));
        let secrets: Vec<&Match> = secrets(&found, line.text);
        findings.extend(secrets.iter().map(|secret| finding(&line, secret, (&found, verifier))));
    });
    findings
}

/// Returns the matches that are secrets, each text once.
fn secrets<'m>(found: &'m [Match], line: &str) -> Vec<&'m Match> {
    let mut secrets: Vec<&Match> = vec![];
    for one in found {
        let is_new = secrets.iter().all(|other| other.end <= one.start || one.end <= other.start);
        if is_new && is_secret(&RULES[one.rule], &line[one.start..one.end]) {
            secrets.push(one);
        }
    }
    secrets.sort_by_key(|secret| secret.start);
    secrets
}

fn is_secret(rule: &Rule, value: &str) -> bool {
    let is_random = rule.entropy == 0.0 || (entropy(value) >= rule.entropy && !is_code(value));
    is_random && !is_placeholder(value)
}

fn finding(line: &AddedLine<'_>, secret: &Match, (found, verifier): (&[Match], &str)) -> Finding {
    let (rule, value) = (&RULES[secret.rule], &line.text[secret.start..secret.end]);
    let kind = FindingKind::Secret;
    // A password could be guessed from its hash: only long, random secrets are part of the fingerprint.
    let text = if rule.entropy == 0.0 { value.to_owned() } else { masked(value) };
    let identity = Identity { verifier, kind: &kind, file: Some(&line.file), code: Some(rule.id), text: &text };
    let fingerprint = Fingerprint::of(&identity, &Normalizer::default());
    let message = format!("{}: {}: {}", rule.id, rule.name, masked(value));
    let evidence = Evidence {
        file: Some(line.file.clone()),
        lines: Some(Lines::at(line.number)),
        log: Some(shown(line.text, found)),
        command: None,
    };
    Finding { kind, severity: Severity::Error, message, evidence, fingerprint }
}

/// Returns the visible beginning of a secret.
fn masked(secret: &str) -> String {
    let shown = HEAD.min(secret.chars().count() / 4);
    secret.chars().take(shown).chain(['…']).collect()
}

/// Returns the line up to the end of the match, with every match masked. The rest is left out because it may belong to
/// a secret.
fn shown(line: &str, found: &[Match]) -> String {
    let mut found: Vec<&Match> = found.iter().collect();
    found.sort_by_key(|one| (one.start, std::cmp::Reverse(one.end)));
    let (mut shown, mut at) = (String::new(), 0);
    for one in found.into_iter().filter(|one| one.end > one.start) {
        if one.start >= at {
            shown.push_str(&line[at..one.start]);
            shown.push_str(&masked(&line[one.start..one.end]));
        }
        at = at.max(one.end);
    }
    text::clipped(shown.trim(), SHOWN)
}
