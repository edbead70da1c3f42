//! Paths of an agent: names beneath the root. Pure; touches no file.

use serde::Deserialize;

use super::refusal::Refusal;
use super::text::short;

/// Reserved names, in all their spellings.
const RESERVED: [&str; 4] = [".git", "git~1", ".superstep", "supers~1"];

/// Path beneath the root, as a list of names; empty for the root itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(in crate::drivers) struct RelativePath(Vec<String>);

/// Parses the path of a file or folder beneath the root, but not the root itself.
impl TryFrom<String> for RelativePath {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let at = Self::parse(&text).map_err(|Refusal(why)| why)?;
        at.file().map_err(|Refusal(why)| why)?;
        Ok(at)
    }
}

impl RelativePath {
    /// Parses a path: relative, no `..`, no `.git`, no NUL; `.` and repeated slashes are ignored.
    pub(super) fn parse(text: &str) -> Result<Self, Refusal> {
        let refuse = |why: &str| Err(Refusal::new(format!("`{}`: {why}", short(text))));
        if text.contains('\0') {
            return refuse("a path holds no NUL");
        }
        if text.starts_with('/') {
            return refuse("absolute paths are refused; give the path from the folder you work in");
        }
        let names: Vec<&str> = text.split('/').filter(|name| !["", "."].contains(name)).collect();
        if names.contains(&"..") {
            return refuse("`..` is refused; give the path from the folder you work in");
        }
        if names.iter().any(|name| is_reserved(name)) {
            return refuse("`.git` and `.superstep` are refused");
        }
        Ok(Self(names.into_iter().map(str::to_owned).collect()))
    }

    pub(in crate::drivers) fn names(&self) -> &[String] {
        &self.0
    }

    /// Returns the file's name and the folders it is in.
    pub(super) fn file(&self) -> Result<(&str, &[String]), Refusal> {
        let (name, folders) = self
            .0
            .split_last()
            .ok_or_else(|| Refusal::new("the path of a file is missing; this is the folder itself"))?;
        Ok((name, folders))
    }
}

impl std::fmt::Display for RelativePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() { f.write_str(".") } else { f.write_str(&short(&self.0.join("/"))) }
    }
}

/// Returns whether some file system treats the name as `.git` or `.superstep`: in another case, with trailing dots and
/// spaces, with a stream name, in short form, or with invisible characters. Git refuses the same names.
pub(super) fn is_reserved(name: &str) -> bool {
    let seen: String = name.chars().filter(|letter| !is_unseen(*letter)).collect();
    let plain = seen.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    RESERVED.iter().any(|kept| kept.eq_ignore_ascii_case(plain))
}

/// Returns whether HFS+ ignores the character when it compares names. Git: `next_hfs_char`.
fn is_unseen(letter: char) -> bool {
    matches!(letter, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}
