//! Texts that a reader cannot tell apart: letters as one character or with their accents after them, and line ends.

use std::borrow::Cow;

use icu_normalizer::ComposingNormalizerBorrowed;

/// Returns a text in the Unicode form NFC, in which two names that look the same are equal: macOS writes `é` as two
/// characters in the names of files.
pub fn to_nfc(text: &str) -> Cow<'_, str> {
    if text.is_ascii() { Cow::Borrowed(text) } else { ComposingNormalizerBorrowed::new_nfc().normalize(text) }
}

/// Returns a text in the form NFC and with line feeds alone.
pub fn comparable(text: &str) -> String {
    to_nfc(text).replace("\r\n", "\n")
}
