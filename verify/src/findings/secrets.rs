//! Keys and tokens in a diff: their formats, the values that only look so, and the scan. Findings never show a secret.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};
use superstep_base::text::{shorten, start};

use super::diff::{self, AddedLine};
use super::evidence::{Evidence, Lines};
use super::finding::{Finding, FindingKind, Fingerprint, Identity, Severity};
use super::normalizer::Normalizer;

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
    diff::each_added_line(diff, |line| {
        let found = PATTERNS.find(start(line.text, LINE));
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
    let text = if rule.entropy == 0.0 { value.to_owned() } else { mask(value) };
    let identity = Identity { verifier, kind: &kind, file: Some(&line.file), code: Some(rule.id), text: &text };
    let fingerprint = Fingerprint::of(&identity, &Normalizer::default());
    let message = format!("{}: {}: {}", rule.id, rule.name, mask(value));
    let evidence = Evidence {
        file: Some(line.file.clone()),
        lines: Some(Lines::at(line.number)),
        log: Some(mask_line(line.text, found)),
        command: None,
    };
    Finding { kind, severity: Severity::Error, message, evidence, fingerprint }
}

/// Returns the visible beginning of a secret.
fn mask(secret: &str) -> String {
    let shown = HEAD.min(secret.chars().count() / 4);
    secret.chars().take(shown).chain(['…']).collect()
}

/// Returns the line up to the end of the match, with every match masked. The rest is left out because it may belong to
/// a secret.
fn mask_line(line: &str, found: &[Match]) -> String {
    let mut found: Vec<&Match> = found.iter().collect();
    found.sort_by_key(|one| (one.start, std::cmp::Reverse(one.end)));
    let (mut shown, mut at) = (String::new(), 0);
    for one in found.into_iter().filter(|one| one.end > one.start) {
        if one.start >= at {
            shown.push_str(&line[at..one.start]);
            shown.push_str(&mask(&line[one.start..one.end]));
        }
        at = at.max(one.end);
    }
    shorten(shown.trim(), SHOWN)
}

/// Words that real secrets do not have.
const WORDS: [&str; 22] = [
    "example",
    "placeholder",
    "changeme",
    "change_me",
    "change-me",
    "replace",
    "your-",
    "your_",
    "yourkey",
    "insert",
    "dummy",
    "redacted",
    "notasecret",
    "not-a-secret",
    "not_a_secret",
    "todo",
    "fixme",
    "sample",
    "xxxx",
    "****",
    "....",
    "1234567890",
];
/// Values that name the secret they replace.
const NAMES: [&str; 7] = ["password", "passwd", "passphrase", "secret", "token", "username", "credentials"];
/// Prefixes of patterns and markup.
const CODE: [char; 6] = ['(', '[', '<', '>', '?', '\\'];
/// Prefixes of variables in languages and templates.
const VARIABLES: [&str; 12] =
    ["$", "{", "%", "<", "#{", "process.env", "os.environ", "env.", "env(", "secrets.", "getenv", "args."];

/// Returns whether a value is not a secret: a placeholder, a variable, a mask.
fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let is_variable =
        VARIABLES.iter().any(|begin| lower.starts_with(begin)) || value.contains("${") || value.contains("{{");
    let is_named = WORDS.iter().any(|word| lower.contains(word));
    is_variable || is_named || NAMES.contains(&lower.as_str()) || is_uniform(value)
}

/// Returns whether a value has fewer than five different characters after the prefix of its format.
fn is_uniform(value: &str) -> bool {
    let secret = value.rsplit(['_', '-']).next().filter(|tail| tail.len() >= 8).unwrap_or(value);
    let mut seen: Vec<char> = secret.chars().collect();
    seen.sort_unstable();
    seen.dedup();
    seen.len() < 5
}

/// Returns whether a value looks like code, a word or a path of words, such as the name of a setting or a type.
fn is_code(value: &str) -> bool {
    if value.starts_with(CODE) {
        return true;
    }
    let is_plain = value.chars().all(|c| c.is_ascii_alphabetic() || "_-./: ".contains(c));
    let case = value.chars().filter(char::is_ascii_uppercase).count();
    is_plain && (case * 4 <= value.len() || case == value.chars().filter(char::is_ascii_alphabetic).count())
}

/// Returns the entropy per character of the value, in bits.
fn entropy(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    value.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let length = value.len().max(1) as f64;
    let bits = |count: &u32| {
        let share = f64::from(*count) / length;
        -share * share.log2()
    };
    counts.iter().filter(|count| **count > 0).map(bits).sum()
}

/// A kind of secret.
#[derive(Clone, Copy, Debug)]
struct Rule {
    /// The code of findings.
    id: &'static str,
    /// The secret in words.
    name: &'static str,
    /// The pattern. Its group `secret`, if any, is the secret, otherwise the whole match.
    pattern: &'static str,
    /// The minimum entropy per character, in bits; 0: the format is enough.
    entropy: f64,
}

const fn rule(id: &'static str, name: &'static str, pattern: &'static str) -> Rule {
    Rule { id, name, pattern, entropy: 0.0 }
}

/// The rules; if several match the same text, the first applies.
const RULES: [Rule; 30] = [
    rule("private-key", "a private key", r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"),
    rule("aws-access-key", "an access key of AWS", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    Rule {
        entropy: 3.5,
        ..rule(
            "aws-secret-key",
            "a secret key of AWS",
            r#"(?i)aws_?(?:secret)?_?(?:access)?_?key[a-z_]*["']?\s*[:=]\s*["']?(?-i:(?P<secret>[A-Za-z0-9/+]{40}))(?:["'\s]|$)"#,
        )
    },
    rule("github-token", "a token of GitHub", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})\b"),
    rule("gitlab-token", "a token of GitLab", r"\bgl(?:pat|dt|rt|cbt|ptt|soat)-[A-Za-z0-9_-]{20,}"),
    rule("slack-token", "a token of Slack", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    rule("slack-webhook", "a webhook of Slack", r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9+/]{20,}"),
    rule("google-api-key", "an API key of Google", r"\bAIza[A-Za-z0-9_-]{35}"),
    rule("google-oauth", "an OAuth secret of Google", r"\bGOCSPX-[A-Za-z0-9_-]{28}"),
    rule("stripe-key", "a key of Stripe", r"\b(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{16,}\b"),
    rule("stripe-webhook", "a webhook secret of Stripe", r"\bwhsec_[A-Za-z0-9+/=]{24,}"),
    rule("anthropic-key", "an API key of Anthropic", r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
    rule(
        "openai-key",
        "an API key of OpenAI",
        r"\bsk-(?:proj-|svcacct-|admin-|None-)[A-Za-z0-9_-]{20,}|\bsk-[A-Za-z0-9]{32,}\b",
    ),
    rule("openrouter-key", "an API key of OpenRouter", r"\bsk-or-(?:v1-)?[a-f0-9]{32,}\b"),
    rule("npm-token", "a token of npm", r"\bnpm_[A-Za-z0-9]{36}\b"),
    rule("pypi-token", "a token of PyPI", r"\bpypi-[A-Za-z0-9_-]{50,}"),
    rule("crates-token", "a token of crates.io", r"\bcio[A-Za-z0-9]{32}\b"),
    rule("huggingface-token", "a token of Hugging Face", r"\bhf_[A-Za-z0-9]{30,}\b"),
    rule("sendgrid-key", "an API key of SendGrid", r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"),
    rule("digitalocean-token", "a token of DigitalOcean", r"\bdo[opr]_v1_[a-f0-9]{64}\b"),
    rule("telegram-token", "a token of a Telegram bot", r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b"),
    rule("twilio-key", "a key of Twilio", r"\bSK[0-9a-f]{32}\b"),
    rule("shopify-token", "a token of Shopify", r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b"),
    rule("docker-token", "a token of Docker Hub", r"\bdckr_pat_[A-Za-z0-9_-]{27,}"),
    rule("vault-token", "a token of Vault", r"\bhv[sb]\.[A-Za-z0-9_-]{24,}"),
    rule("age-key", "a secret key of age", r"\bAGE-SECRET-KEY-1[A-Z0-9]{58}\b"),
    rule("azure-key", "a key of Azure", r"AccountKey=(?P<secret>[A-Za-z0-9+/]{86}==)"),
    rule("jwt", "a JSON Web Token", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    rule(
        "password-in-address",
        "a password in an address",
        r#"\b[a-z][a-z0-9+.-]*://[^/\s:@"'<>{}$]*:(?P<secret>[^/\s@"'<>]{5,})@[A-Za-z0-9\[]"#,
    ),
    Rule {
        entropy: 3.0,
        ..rule(
            "secret-in-variable",
            "a secret",
            r#"(?i)(?:password|passwd|passphrase|pwd|secret|token|credential|api_?-?key|access_?-?key|auth_?-?key|private_?-?key|client_?-?secret)[a-z0-9_.-]{0,20}["'`]?\]?\s{0,10}(?::=|=>|=|:)\s{0,10}(?:[a-z]{0,3}["'`](?P<quoted>[^"'`\s]{8,200})["'`]|(?P<bare>[A-Za-z0-9+/_!@#%^&*-]{16,200}=*)\s*$)"#,
        )
    },
];

/// The rules as patterns, and all of them as one for a quick check, because most lines have no secret.
static PATTERNS: LazyLock<Patterns> = LazyLock::new(Patterns::default);

/// The compiled rules.
struct Patterns {
    any: Option<RegexSet>,
    each: Vec<Option<Regex>>,
}

impl Default for Patterns {
    /// Compiles the patterns; tests check that each of them compiles.
    fn default() -> Self {
        let patterns = RULES.map(|rule| rule.pattern);
        Self { any: RegexSet::new(patterns).ok(), each: patterns.map(|pattern| Regex::new(pattern).ok()).into() }
    }
}

/// A secret in a line, with its byte range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Match {
    rule: usize,
    start: usize,
    end: usize,
}

impl Patterns {
    /// Returns the matches in a line, by rule.
    fn find(&self, line: &str) -> Vec<Match> {
        let rules = self.any.iter().flat_map(|any| any.matches(line).into_iter());
        rules.flat_map(|rule| self.find_with(rule, line)).collect()
    }

    fn find_with(&self, rule: usize, line: &str) -> Vec<Match> {
        let Some(pattern) = &self.each[rule] else { return vec![] };
        let matches = pattern.captures_iter(line).filter_map(|found| {
            let secret =
                ["secret", "quoted", "bare"].iter().find_map(|name| found.name(name)).or_else(|| found.get(0))?;
            Some(Match { rule, start: secret.start(), end: secret.end() })
        });
        matches.collect()
    }
}
