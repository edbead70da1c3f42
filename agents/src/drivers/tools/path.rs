//! What an agent may write where a path is meant: names beneath the root. Pure; touches no file.

use serde::Deserialize;

use super::refused::Refused;
use super::text::short;

/// Names that are no files of the agent's, in whatever way they are spelt.
const KEPT_AWAY: [&str; 4] = [".git", "git~1", ".superstep", "supers~1"];

/// A path beneath the root: its names, none for the root itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(in crate::drivers) struct Inside(Vec<String>);

/// A file's path, or a folder's beneath the root: not the root itself.
impl TryFrom<String> for Inside {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let at = Self::parse(&text).map_err(|Refused(why)| why)?;
        at.file().map_err(|Refused(why)| why)?;
        Ok(at)
    }
}

impl Inside {
    /// Reads a path: relative, no `..`, no `.git`, no NUL; `.` and doubled slashes say nothing.
    pub(super) fn parse(text: &str) -> Result<Self, Refused> {
        let refuse = |why: &str| Err(Refused::new(format!("`{}`: {why}", short(text))));
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
        if names.iter().any(|name| is_kept_away(name)) {
            return refuse("`.git` and `.superstep` are refused");
        }
        Ok(Self(names.into_iter().map(str::to_owned).collect()))
    }

    pub(in crate::drivers) fn names(&self) -> &[String] {
        &self.0
    }

    /// The file's name and the folders it is in.
    pub(super) fn file(&self) -> Result<(&str, &[String]), Refused> {
        let (name, folders) = self
            .0
            .split_last()
            .ok_or_else(|| Refused::new("the path of a file is missing; this is the folder itself"))?;
        Ok((name, folders))
    }
}

impl std::fmt::Display for Inside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() { f.write_str(".") } else { f.write_str(&short(&self.0.join("/"))) }
    }
}

/// Whether some file system takes the name for `.git` or `.superstep`: without case, with dots and spaces behind it, with
/// a stream's name, in short form, or with characters that are not seen. Git refuses the same.
pub(super) fn is_kept_away(name: &str) -> bool {
    let seen: String = name.chars().filter(|letter| !is_unseen(*letter)).collect();
    let plain = seen.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    KEPT_AWAY.iter().any(|kept| kept.eq_ignore_ascii_case(plain))
}

/// Characters that HFS+ leaves out when it compares names. Git: `next_hfs_char`.
fn is_unseen(letter: char) -> bool {
    matches!(letter, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}
