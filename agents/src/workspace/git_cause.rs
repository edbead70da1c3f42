//! The cause of a failure inside libgit2, in words without its codes.

use std::fmt;

use git2::{ErrorClass, ErrorCode};

/// A failure of libgit2. Displays what a person can use; `Debug` has class and code.
pub struct GitCause(git2::Error);

impl GitCause {
    /// Returns the error of libgit2.
    pub fn error(&self) -> &git2::Error {
        &self.0
    }
}

impl From<git2::Error> for GitCause {
    fn from(error: git2::Error) -> Self {
        Self(error)
    }
}

impl fmt::Debug for GitCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Names forms of a repository that libgit2 does not read.
fn unsupported(message: &str) -> Option<&'static str> {
    match message {
        text if text.contains("refstorage") => Some("its references are in reftables"),
        text if text.contains("object format") || text.contains("objectformat") => Some("its ids are not SHA-1"),
        text if text.contains("unsupported extension") => Some("it has an extension that is not supported"),
        _ => None,
    }
}

impl fmt::Display for GitCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = self.0.message().trim();
        let lower = message.to_lowercase();
        if let Some(what) = unsupported(&lower) {
            return f.write_str(what);
        }
        let what = match (self.0.class(), self.0.code()) {
            _ if lower.contains("no space left") => "the disk is full",
            _ if lower.contains("permission denied") => "a file of the repository may not be read or written",
            _ if lower.contains("read-only file system") => "the file system is read-only",
            _ if ["cannot be peeled", "cannot retrieve", "object not found"]
                .iter()
                .any(|text| lower.contains(text)) =>
            {
                "an object of the repository is missing or damaged"
            }
            (_, ErrorCode::Locked) => "another git program holds a lock",
            (ErrorClass::Odb | ErrorClass::Object | ErrorClass::Zlib | ErrorClass::Sha1, _) => {
                "an object of the repository is missing or damaged"
            }
            (ErrorClass::Config, _) => "git's configuration cannot be read",
            (ErrorClass::Index, _) => "the index cannot be read",
            (ErrorClass::Reference, ErrorCode::Exists) => "the reference is there already",
            (ErrorClass::Reference, ErrorCode::Modified) => "the reference was moved meanwhile",
            (ErrorClass::Reference, ErrorCode::InvalidSpec) => "the name of a reference is invalid",
            (ErrorClass::Reference, _) => "a reference cannot be read or written",
            (ErrorClass::Os | ErrorClass::Filesystem, _) => "a file of the repository cannot be read or written",
            (ErrorClass::Filter, _) => "a filter of the repository failed",
            _ => "git's files are not as expected",
        };
        if message.is_empty() { f.write_str(what) } else { write!(f, "{what} ({message})") }
    }
}
