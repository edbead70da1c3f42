//! Keys, and keeping them out of everything that is said, stored or shown.

use std::borrow::Cow;
use std::sync::Arc;

/// What stands where a key stood.
const REMOVED: &str = "[key]";
/// Shorter ones are words like `none` that servers without keys are given.
const SHORTEST: usize = 7;

/// A key of a model's server. Shows itself to nobody: it cannot be serialized, and `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(Arc<str>);

impl ApiKey {
    /// Returns a key; space around it is dropped.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(Arc::from(key.as_ref().trim()))
    }

    /// Reads a key from a variable of the environment; none if it is missing, empty or not text.
    pub fn from_env(name: &str) -> Option<Self> {
        std::env::var(name).ok().map(Self::new).filter(|key| !key.0.is_empty())
    }

    /// The value of the header that carries it; none if it has letters that no header holds.
    pub(super) fn header(&self) -> Option<reqwest::header::HeaderValue> {
        let mut value = reqwest::header::HeaderValue::from_str(&format!("Bearer {}", self.0)).ok()?;
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
pub(super) struct Hide(Option<ApiKey>);

impl Hide {
    pub(super) fn new(key: Option<ApiKey>) -> Self {
        Self(key.filter(|key| key.0.len() >= SHORTEST))
    }

    /// The text without the key.
    pub(super) fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match &self.0 {
            Some(key) if text.contains(&*key.0) => Cow::Owned(text.replace(&*key.0, REMOVED)),
            _ => Cow::Borrowed(text),
        }
    }

    /// Removes the key where it stands.
    pub(super) fn from(&self, text: &mut String) {
        if let Cow::Owned(clean) = self.text(text) {
            *text = clean;
        }
    }
}

/// Removes a key from text that comes in pieces: what may be the key's beginning is held back until more is known.
#[derive(Debug, Default)]
pub(super) struct HidePieces {
    hide: Hide,
    held: String,
}

impl HidePieces {
    pub(super) fn new(hide: Hide) -> Self {
        Self { hide, held: String::new() }
    }

    /// Takes a piece and returns what can be shown.
    pub(super) fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        self.hide.from(&mut self.held);
        let keep = self.hide.0.as_ref().map_or(0, |key| begun(&self.held, &key.0));
        let rest = self.held.split_off(self.held.len() - keep);
        std::mem::replace(&mut self.held, rest)
    }

    /// Returns what was held back.
    pub(super) fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

/// How many bytes at the end of the text are a beginning of the key.
fn begun(text: &str, key: &str) -> usize {
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
            let mut pieces = HidePieces::new(Hide::new(Some(ApiKey::new("sk-secret-1"))));
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
