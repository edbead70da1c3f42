//! The identity of a finding across attempts.

use std::fmt::{self, Display, Write};

use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};

use super::kind::FindingKind;
use super::normalizer::Normalizer;
use super::text;

/// The length in bytes of the beginning of a text that is hashed.
const TEXT: usize = 4096;
/// The number of bytes of the hash.
const BYTES: usize = 16;

/// A hash of a finding without the parts that change from run to run: the same error on another line has the same
/// fingerprint. 32 hexadecimal digits.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

/// The parts of a finding that distinguish it from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity<'a> {
    /// The id of the verifier.
    pub verifier: &'a str,
    /// Its kind.
    pub kind: &'a FindingKind,
    /// The file, absolute or relative to any folder.
    pub file: Option<&'a str>,
    /// The code of the error, the symbol or the name of the test, with its numbers.
    pub code: Option<&'a str>,
    /// The text, whose numbers are ignored.
    pub text: &'a str,
}

impl Fingerprint {
    /// Returns the fingerprint of a finding: the SHA-256 of its normalised parts, cut to 32 digits.
    ///
    /// ```
    /// # use superstep_verify as superstep;
    /// use superstep::findings::{FindingKind, Fingerprint, Identity, Normalizer};
    /// let normalizer = Normalizer::new(["/home/ada/tides"]);
    /// let identity = Identity {
    ///     verifier: "build",
    ///     kind: &FindingKind::BuildFail,
    ///     file: Some("src/main.rs"),
    ///     code: Some("E0308"),
    ///     text: "mismatched types in line 3",
    /// };
    /// let moved = Identity { file: Some("/home/ada/tides/src/main.rs"), text: "mismatched types in line 14", ..identity };
    /// assert_eq!(Fingerprint::of(&identity, &normalizer), Fingerprint::of(&moved, &normalizer));
    /// let other = Identity { code: Some("E0277"), ..identity };
    /// assert_ne!(Fingerprint::of(&identity, &normalizer), Fingerprint::of(&other, &normalizer));
    /// ```
    #[must_use]
    pub fn of(identity: &Identity<'_>, normalizer: &Normalizer) -> Self {
        let file = identity.file.map(|file| normalizer.normalize_path(file));
        let code = identity.code.map(|code| normalizer.normalize_code(code));
        let words = normalizer.normalize(text::clip(identity.text, TEXT));
        let mut hash = Context::new(&SHA256);
        for part in
            [Some(identity.verifier), Some(identity.kind.name()), file.as_deref(), code.as_deref(), Some(&words)]
        {
            hash.update(&[u8::from(part.is_some())]);
            hash.update(&(part.map_or(0, str::len) as u64).to_le_bytes());
            hash.update(part.unwrap_or_default().as_bytes());
        }
        Self(hex(hash.finish().as_ref()))
    }

    /// Returns the first 8 characters, as shown in prompts and to people.
    #[must_use]
    pub fn short(&self) -> &str {
        self.0.get(..8).unwrap_or(&self.0)
    }

    /// Returns whether it is not computed yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the full text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn hex(hash: &[u8]) -> String {
    hash.iter().take(BYTES).fold(String::with_capacity(2 * BYTES), |mut digits, byte| {
        // Writing to a string does not fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

impl From<String> for Fingerprint {
    fn from(hash: String) -> Self {
        Self(hash)
    }
}

impl Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
