//! Files excluded from every snapshot, diff and commit: possible secrets, and large files. Reads names and first bytes;
//! must not know git.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::paths::components;

/// Number of bytes examined in a file.
const SNIFFED_BYTES: u64 = 64 * 1024;

/// A file that is left out, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LeftOut {
    /// File, relative to the top of the work tree.
    pub path: String,
    /// Reason.
    pub reason: Reason,
}

/// Reason why a file is left out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// `.env` and names that start with it: they hold keys and passwords.
    Environment,
    /// Its name or its first bytes indicate a private key.
    PrivateKey,
    /// It is too large.
    TooLarge {
        /// Its size.
        bytes: u64,
    },
    /// It is a git repository of its own.
    Repository,
    /// It is inside a submodule.
    Submodule {
        /// The submodule.
        of: String,
    },
    /// Git ignores it.
    Ignored,
    /// A flag of the index hides its changes from git.
    Hidden {
        /// The flag.
        flag: String,
    },
    /// It is a link to a place outside of the repository, or what it leads to was changed there.
    OutsideLink {
        /// The place.
        to: String,
    },
    /// Its permission to be executed was changed, which `core.fileMode` hides.
    Mode,
    /// It differs from a file of git's only in upper and lower case, which `core.ignoreCase` hides.
    Case {
        /// The name that git has.
        of: String,
    },
    /// It is an entry of the stash.
    Stash,
    /// It is a branch that was made, got commits and was left again.
    Branch {
        /// Number of its commits.
        commits: usize,
    },
    /// It is a commit on no branch that was left again.
    Detached,
    /// It was excluded from the work: the plan of the run, or a file that the profile brings.
    Apart,
    /// Git cannot read it.
    Unreadable {
        /// Message of git.
        why: String,
    },
    /// Git refuses its path or its content.
    Refused {
        /// Message of git.
        why: String,
    },
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is left out: ", self.path)?;
        match &self.reason {
            Reason::Environment => f.write_str("files of this name hold secrets"),
            Reason::PrivateKey => f.write_str("it looks like a private key"),
            Reason::TooLarge { bytes } => write!(f, "it is too large ({} MB)", bytes.div_ceil(1_000_000)),
            Reason::Repository => f.write_str("it is a git repository of its own"),
            Reason::Submodule { of } => write!(f, "it is inside the submodule `{of}`, which has commits of its own"),
            Reason::Ignored => f.write_str("git ignores it"),
            Reason::Hidden { flag } => write!(f, "its flag `{flag}` in the index hides changes from git"),
            Reason::OutsideLink { to } => write!(f, "it is a link to `{to}`, and git has the link alone"),
            Reason::Mode => {
                f.write_str("whether it is executable was changed, which `core.fileMode=false` hides from git")
            }
            Reason::Case { of } => {
                write!(f, "git knows it as `{of}`, and `core.ignoreCase` hides the other spelling")
            }
            Reason::Stash => f.write_str("`git stash` put it there during the work"),
            Reason::Branch { commits } => {
                write!(f, "it is a branch that the work made and left again, with {commits} commit(s)")
            }
            Reason::Detached => f.write_str("it is a commit on no branch, made during the work and left again"),
            Reason::Apart => {
                f.write_str("it is the plan of the run or a file that the profile brings, no part of the work")
            }
            Reason::Unreadable { why } => write!(f, "git cannot read it: {why}"),
            Reason::Refused { why } => write!(f, "git refuses it: {why}"),
        }
    }
}

impl LeftOut {
    /// Returns a line for each file, for people; ignored files, of which there may be many, share one.
    pub fn lines(all: &[Self]) -> Vec<String> {
        const SHOWN: usize = 20;
        let (ignored, others): (Vec<&Self>, Vec<&Self>) = all.iter().partition(|one| one.reason == Reason::Ignored);
        let mut lines: Vec<String> = others.iter().take(SHOWN).map(ToString::to_string).collect();
        if others.len() > SHOWN {
            lines.push(format!("{} more files are left out", others.len() - SHOWN));
        }
        let names: Vec<String> = ignored.iter().take(SHOWN).map(|one| format!("`{}`", one.path)).collect();
        let more = ignored.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        if !names.is_empty() {
            lines.push(format!("changed, but ignored by git and so in no commit: {}{more}", names.join(", ")));
        }
        lines
    }
}

/// Returns the reason to leave out a changed or new file; `path` is its name in the repository, `file` its location.
pub(super) fn reason_to_leave_out(path: &[u8], file: &Path, largest: u64) -> Option<Reason> {
    if path.ends_with(b"/") {
        return Some(Reason::Repository);
    }
    let parts: Vec<_> = components(path).collect();
    let (name, folders) = parts.split_last()?;
    if name.starts_with(b".env") || folders.contains(&&b".env"[..]) {
        return Some(Reason::Environment);
    }
    if is_name_of_key(name) {
        return Some(Reason::PrivateKey);
    }
    let about = file.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
    if about.len() > largest {
        return Some(Reason::TooLarge { bytes: about.len() });
    }
    holds_key(name, file).then_some(Reason::PrivateKey)
}

fn is_name_of_key(name: &[u8]) -> bool {
    const NAMES: [&str; 6] = ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk"];
    const ENDS: [&str; 7] = [".key", ".ppk", ".p12", ".pfx", ".jks", ".keystore", ".kdbx"];
    let name = name.to_ascii_lowercase();
    NAMES.iter().any(|known| name == known.as_bytes()) || ENDS.iter().any(|end| name.ends_with(end.as_bytes()))
}

fn holds_key(name: &[u8], file: &Path) -> bool {
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|file| file.take(SNIFFED_BYTES).read_to_end(&mut bytes));
    // Unreadable files are reported by git.
    read.is_ok() && looks_like_key(name.to_ascii_lowercase().ends_with(b".pem"), &bytes)
}

/// Returns whether text starts with a key; in a `.pem`, it may follow certificates.
fn looks_like_key(is_bundle: bool, bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let is_key = |line: &str| line.starts_with("-----BEGIN ") && line.contains("PRIVATE KEY");
    let count = if is_bundle { usize::MAX } else { 1 };
    text.starts_with("PuTTY-User-Key-File-") || text.lines().take(count).any(|line| is_key(line.trim_start()))
}
