//! What must not be shown: given secrets, names and passwords in addresses, and what looks like a key.

use std::sync::Arc;

use serde_json::Value;

use super::keys::Key;

/// What stands in the place of a secret.
const HIDDEN: &str = "[redacted]";
/// How keys of services begin, after something that is no part of a word.
const PREFIXES: [&str; 9] = ["sk-", "sk_", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "AKIA"];
/// Words after which a token stands, in lower case.
const WORDS: [&str; 2] = ["bearer ", "x-api-key: "];
/// What is shorter is no key.
const SHORTEST: usize = 8;

/// Hides secrets in text.
///
/// ```
/// use superstep::process::Redactor;
/// let redactor = Redactor::new(["hunter22"]);
/// assert_eq!(redactor.redact("see http://me:word@host/x"), "see http://[redacted]@host/x");
/// let shown = redactor.redact("password hunter22, key sk-abcdefgh1234, Authorization: Bearer eyJhbGciOi");
/// assert_eq!(shown, "password [redacted], key [redacted], Authorization: Bearer [redacted]");
/// ```
#[derive(Clone, Default)]
pub struct Redactor(Arc<[String]>);

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} secrets)", self.0.len())
    }
}

impl Redactor {
    /// Returns one that hides these values, besides names and passwords in addresses, and what looks like a key. Values of fewer than 6 bytes are left: they would
    /// be found everywhere.
    pub fn new(secrets: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut secrets: Vec<String> =
            secrets.into_iter().map(Into::into).filter(|secret| secret.trim().len() >= 6).collect();
        // The longest first: one may begin with another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self(secrets.into())
    }

    /// Returns one that hides the keys of this process's environment, as [`Key::known`](super::Key::known) returns them.
    pub fn keys() -> Self {
        Self::new(Key::known().into_iter().map(Key::into_value))
    }

    /// Returns the text without secrets.
    pub fn redact(&self, text: &str) -> String {
        keyless(&self.known(text.to_owned()))
    }

    /// Returns the text without the secrets that were given; what only looks like a key stays.
    pub fn known(&self, text: String) -> String {
        let hidden = |text: String, secret: &String| match text.contains(secret.as_str()) {
            true => text.replace(secret.as_str(), HIDDEN),
            false => text,
        };
        self.0.iter().fold(text, hidden)
    }

    /// Returns the value with texts as [`known`](Self::known) makes them, names of fields too.
    pub fn known_in(&self, value: Value) -> Value {
        match value {
            value if self.0.is_empty() => value,
            Value::String(text) => Value::String(self.known(text)),
            Value::Array(items) => items.into_iter().map(|item| self.known_in(item)).collect(),
            Value::Object(fields) => {
                fields.into_iter().map(|(name, field)| (self.known(name), self.known_in(field))).collect()
            }
            value => value,
        }
    }
}

/// Hides what looks like a key.
fn keyless(text: &str) -> String {
    let (mut shown, mut rest, mut before) = (String::with_capacity(text.len()), text, None);
    while let Some(first) = rest.chars().next() {
        let (said, hidden) = userinfo_at(rest).unwrap_or_else(|| key_at(rest, before));
        if hidden > 0 {
            shown.push_str(&rest[..said]);
            shown.push_str(HIDDEN);
            before = Some(']');
            rest = &rest[said + hidden..];
        } else {
            shown.push(first);
            before = Some(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    shown
}

/// Returns how many bytes are said before a key here, and how many the key has; 0 if here begins none.
fn key_at(text: &str, before: Option<char>) -> (usize, usize) {
    if before.is_some_and(char::is_alphanumeric) {
        return (0, 0);
    }
    if PREFIXES.iter().any(|prefix| text.starts_with(prefix)) {
        let key = token(text);
        return (0, if key >= SHORTEST { key } else { 0 });
    }
    let word = WORDS.iter().find(|word| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)));
    let key = word.map_or(0, |word| token(&text[word.len()..]));
    if key >= SHORTEST { (word.map_or(0, |word| word.len()), key) } else { (0, 0) }
}

/// Returns how many bytes an address that begins here says before its name and password, and how many those have.
fn userinfo_at(text: &str) -> Option<(usize, usize)> {
    let rest = text.strip_prefix("://")?;
    let end = rest.find(|c: char| c.is_whitespace() || "/?#\"'<>`".contains(c)).unwrap_or(rest.len());
    let userinfo = rest[..end].rfind('@').filter(|at| *at > 0)?;
    Some((3, userinfo))
}

fn token(text: &str) -> usize {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~+/=".contains(&byte);
    text.bytes().take_while(|byte| is_part(*byte)).count()
}
