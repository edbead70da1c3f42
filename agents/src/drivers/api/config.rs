//! Address, key and price of a model server, and the removal of keys from everything that is logged, stored or shown.

use std::borrow::Cow;
use std::sync::Arc;

use crate::drivers::Price;

const OPENAI: &str = "https://api.openai.com/v1";
/// Environment variables that are read by default.
const BASE_URL: &str = "OPENAI_BASE_URL";
const KEY: &str = "OPENAI_API_KEY";

/// Connection settings of a chat completions server.
#[derive(Clone, Debug)]
#[must_use = "it says where a server is and does nothing"]
pub struct ApiConfig {
    pub(super) provider: Option<String>,
    pub(super) base_url: String,
    pub(super) key: Option<ApiKey>,
    pub(super) key_env: String,
    pub(super) price: Option<Price>,
}

impl ApiConfig {
    /// Returns the settings for a base URL like `https://api.openai.com/v1`, to which `/chat/completions` is appended,
    /// without a key.
    pub fn new(base_url: impl Into<String>) -> Self {
        Self { provider: None, base_url: base_url.into(), key: None, key_env: KEY.to_owned(), price: None }
    }

    /// Returns the settings from `OPENAI_BASE_URL` (OpenAI's own server if unset) and `OPENAI_API_KEY`.
    pub fn from_env() -> Self {
        let url = std::env::var(BASE_URL).ok().filter(|url| !url.trim().is_empty());
        Self::new(url.unwrap_or_else(|| OPENAI.to_owned())).key_from_env(KEY)
    }

    /// Sets the key; `variable` names its origin in messages.
    pub fn key(self, key: ApiKey, variable: impl Into<String>) -> Self {
        Self { key: Some(key), key_env: variable.into(), ..self }
    }

    /// Reads the key from an environment variable. If it is not set, requests carry no key: some servers need none.
    pub fn key_from_env(self, variable: impl Into<String>) -> Self {
        let variable = variable.into();
        crate::process::SecretKey::note(&variable);
        Self { key: ApiKey::from_env(&variable), key_env: variable, ..self }
    }

    /// Sets the provider's name; the driver is then called `api:NAME`.
    pub fn provider(self, name: impl Into<String>) -> Self {
        Self { provider: Some(name.into()), ..self }
    }

    /// Sets the price of tokens, for servers that do not report costs.
    pub fn price(self, price: Price) -> Self {
        Self { price: Some(price), ..self }
    }
}

/// Replacement for a key.
const REMOVED: &str = "[key]";
/// Minimum length of a key that is removed; shorter ones are words like `none` for servers without keys.
const SHORTEST: usize = 7;

/// API key of a model server. It cannot be serialized, and `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(Arc<str>);

impl ApiKey {
    /// Returns a key; surrounding whitespace is dropped.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(Arc::from(key.as_ref().trim()))
    }

    /// Reads a key from an environment variable; `None` if it is missing, empty or not UTF-8.
    pub fn from_env(name: &str) -> Option<Self> {
        std::env::var(name).ok().map(Self::new).filter(|key| !key.0.is_empty())
    }

    /// Returns the value of the authorization header; `None` if the key contains characters that a header cannot hold.
    pub(super) fn header(&self) -> Option<hyper::header::HeaderValue> {
        let mut value = hyper::header::HeaderValue::from_str(&format!("Bearer {}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApiKey([hidden])")
    }
}

/// Removes a key from text.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyFilter(Option<ApiKey>);

impl KeyFilter {
    pub(super) fn new(key: Option<ApiKey>) -> Self {
        Self(key.filter(|key| key.0.len() >= SHORTEST))
    }

    /// Returns the text without the key.
    pub(super) fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match &self.0 {
            Some(key) if text.contains(&*key.0) => Cow::Owned(text.replace(&*key.0, REMOVED)),
            _ => Cow::Borrowed(text),
        }
    }

    /// Removes the key in place.
    pub(super) fn from(&self, text: &mut String) {
        if let Cow::Owned(clean) = self.text(text) {
            *text = clean;
        }
    }
}

/// Removes a key from streamed text: a suffix that may be the start of the key is held back until more text arrives.
#[derive(Debug, Default)]
pub(super) struct KeyStreamFilter {
    key_filter: KeyFilter,
    held: String,
}

impl KeyStreamFilter {
    pub(super) fn new(key_filter: KeyFilter) -> Self {
        Self { key_filter, held: String::new() }
    }

    /// Adds a piece and returns the text that can be shown.
    pub(super) fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        self.key_filter.from(&mut self.held);
        let keep = self.key_filter.0.as_ref().map_or(0, |key| key_prefix_length(&self.held, &key.0));
        let rest = self.held.split_off(self.held.len() - keep);
        std::mem::replace(&mut self.held, rest)
    }

    /// Returns the text that was held back.
    pub(super) fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

/// Returns the length of the longest suffix of the text that is a prefix of the key.
fn key_prefix_length(text: &str, key: &str) -> usize {
    let longest = text.len().min(key.len().saturating_sub(1));
    let fits = |length: &usize| key.is_char_boundary(*length) && text.ends_with(&key[..*length]);
    (1..=longest).rev().find(fits).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_pieces_is_hidden_and_nothing_else() {
        let text = "ab sk-secre sk-secret-1 sk-secret-12";
        for size in 1..text.len() {
            let mut pieces = KeyStreamFilter::new(KeyFilter::new(Some(ApiKey::new("sk-secret-1"))));
            let letters: Vec<char> = text.chars().collect();
            let mut shown: String =
                letters.chunks(size).map(|piece| pieces.push(&piece.iter().collect::<String>())).collect();
            shown.push_str(&pieces.finish());
            assert_eq!(shown, "ab sk-secre [key] [key]2", "pieces of {size}");
        }
    }

    #[test]
    fn a_key_is_not_shown() {
        assert_eq!(format!("{:?}", ApiKey::new("sk-secret-1")), "ApiKey([hidden])");
    }
}
