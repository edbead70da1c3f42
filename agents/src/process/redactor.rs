//! The keys of this process: values of environment variables that must not appear in files or output. The redactor
//! hides them, with user names and passwords in addresses, and text that looks like a key.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::environment::{is_secret, password};

/// The minimum length of a key in bytes; shorter values occur in files by chance.
const MIN_LEN: usize = 8;

/// Variables that hold keys although their names do not show it.
static KEY_VARIABLES: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// A key in the environment of this process. Its `Debug` output shows the variable but not the value.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey {
    variable: String,
    value: String,
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretKey").field("variable", &self.variable).finish_non_exhaustive()
    }
}

impl SecretKey {
    /// Returns the keys in this process's environment: values of variables with secret names (`KEY`, `TOKEN`, `SECRET`,
    /// `PASSWORD`) or from which drivers read keys, and the passwords in addresses. Values shorter than 8 bytes, values
    /// with spaces and paths do not count.
    pub fn from_environment() -> Vec<Self> {
        let registered = KEY_VARIABLES.lock().unwrap_or_else(PoisonError::into_inner);
        let key = |(variable, value): (OsString, OsString)| {
            let (name, value) = (variable.into_string().ok()?, value.into_string().ok()?);
            let secret = if is_secret(name.as_ref()) || registered.contains(&name) {
                value.trim().to_owned()
            } else {
                password(&value)?.to_owned()
            };
            Self::new(name, secret)
        };
        std::env::vars_os().filter_map(key).collect()
    }

    /// Returns a key, or `None` if the value cannot be one.
    pub fn new(variable: impl Into<String>, value: impl Into<String>) -> Option<Self> {
        let (variable, value) = (variable.into(), value.into());
        let is_key = value.len() >= MIN_LEN && !value.contains(char::is_whitespace) && !value.starts_with(['/', '~']);
        is_key.then_some(Self { variable, value })
    }

    /// Registers a variable that holds a key.
    pub(crate) fn note(variable: &str) {
        KEY_VARIABLES.lock().unwrap_or_else(PoisonError::into_inner).insert(variable.to_owned());
    }

    /// Returns the name of the variable.
    pub fn variable(&self) -> &str {
        &self.variable
    }

    fn into_value(self) -> String {
        self.value
    }

    /// Returns the byte offset of the value in a text.
    pub fn place_in(&self, text: &str) -> Option<usize> {
        text.find(&self.value)
    }
}

/// The replacement of a secret.
const REDACTED: &str = "[redacted]";
/// The prefixes of well-known API keys, at the start of a word.
const PREFIXES: [&str; 9] = ["sk-", "sk_", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "AKIA"];
/// The texts that a token follows, in lower case.
const WORDS: [&str; 2] = ["bearer ", "x-api-key: "];

/// Hides secrets in text.
///
/// ```
/// # use superstep_agents as superstep;
/// use superstep::process::Redactor;
/// let redactor = Redactor::new(["hunter22"]);
/// assert_eq!(redactor.redact("see http://me:word@host/x"), "see http://[redacted]@host/x");
/// let shown = redactor.redact("password hunter22, key sk-abcdefgh1234, Authorization: Bearer eyJhbGciOi");
/// assert_eq!(shown, "password [redacted], key [redacted], Authorization: Bearer [redacted]");
/// ```
#[derive(Clone, Default)]
pub struct Redactor(Arc<[String]>);

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} secrets)", self.0.len())
    }
}

impl Redactor {
    /// Returns a redactor for these values, for user names and passwords in addresses, and for text that looks like a
    /// key. Values shorter than 6 bytes are ignored: they would match everywhere.
    pub fn new(secrets: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut secrets: Vec<String> =
            secrets.into_iter().map(Into::into).filter(|secret| secret.trim().len() >= 6).collect();
        // The longest first, because one may be a prefix of another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self(secrets.into())
    }

    /// Returns a redactor for the keys of this process's environment, as returned by [`SecretKey::from_environment`].
    pub fn keys() -> Self {
        Self::new(SecretKey::from_environment().into_iter().map(SecretKey::into_value))
    }

    /// Returns the text with all secrets hidden.
    pub fn redact(&self, text: &str) -> String {
        hide_keys(&self.known(text.to_owned()))
    }

    /// Returns the text with only the given secrets hidden, not text that looks like a key.
    pub fn known(&self, text: String) -> String {
        let hidden = |text: String, secret: &String| match text.contains(secret.as_str()) {
            true => text.replace(secret.as_str(), REDACTED),
            false => text,
        };
        self.0.iter().fold(text, hidden)
    }

    /// Applies [`known`](Self::known) to every string of a JSON value, including field names.
    pub fn redact_known_in(&self, value: Value) -> Value {
        match value {
            value if self.0.is_empty() => value,
            Value::String(text) => Value::String(self.known(text)),
            Value::Array(items) => items.into_iter().map(|item| self.redact_known_in(item)).collect(),
            Value::Object(fields) => {
                fields.into_iter().map(|(name, field)| (self.known(name), self.redact_known_in(field))).collect()
            }
            value => value,
        }
    }
}

/// Hides user names and passwords in addresses, and text that looks like a key.
fn hide_keys(text: &str) -> String {
    let (mut shown, mut rest, mut before) = (String::with_capacity(text.len()), text, None);
    while let Some(first) = rest.chars().next() {
        let (prefix, hidden) = userinfo_at(rest).unwrap_or_else(|| key_at(rest, before));
        if hidden > 0 {
            shown.push_str(&rest[..prefix]);
            shown.push_str(REDACTED);
            before = Some(']');
            rest = &rest[prefix + hidden..];
        } else {
            shown.push(first);
            before = Some(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    shown
}

/// Returns the number of bytes before a key at the start of the text, and the length of the key; 0 if there is none.
fn key_at(text: &str, before: Option<char>) -> (usize, usize) {
    if before.is_some_and(char::is_alphanumeric) {
        return (0, 0);
    }
    if PREFIXES.iter().any(|prefix| text.starts_with(prefix)) {
        let key = token(text);
        return (0, if key >= MIN_LEN { key } else { 0 });
    }
    let word = WORDS.iter().find(|word| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)));
    let key = word.map_or(0, |word| token(&text[word.len()..]));
    if key >= MIN_LEN { (word.map_or(0, |word| word.len()), key) } else { (0, 0) }
}

/// Returns the offset and length of the user name and password of an address at the start of the text.
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
