//! Formats of secrets: those of well-known services, and values of variables with secret names.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

/// A kind of secret.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// The code of findings.
    pub(super) id: &'static str,
    /// The secret in words.
    pub(super) name: &'static str,
    /// The pattern. Its group `secret`, if any, is the secret, otherwise the whole match.
    pattern: &'static str,
    /// The minimum entropy per character, in bits; 0: the format is enough.
    pub(super) entropy: f64,
}

const fn rule(id: &'static str, name: &'static str, pattern: &'static str) -> Rule {
    Rule { id, name, pattern, entropy: 0.0 }
}

/// The rules; if several match the same text, the first applies.
pub(super) const RULES: [Rule; 30] = [
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
pub(super) static PATTERNS: LazyLock<Patterns> = LazyLock::new(Patterns::default);

/// The compiled rules.
pub(super) struct Patterns {
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
pub(super) struct Match {
    pub(super) rule: usize,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Patterns {
    /// Returns the matches in a line, by rule.
    pub(super) fn find(&self, line: &str) -> Vec<Match> {
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
