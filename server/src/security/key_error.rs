//! Errors of the file of keys. No message has a key.

use std::io;
use std::path::{Path, PathBuf};

/// The reason why a file of keys is not used or not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeysError {
    /// The file is not there.
    #[error("there is no file of keys at {}", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// Other users of the machine may read the file.
    #[error("other users may read the file of keys {}: its mode is {mode:04o}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The file cannot be read or written.
    #[error("the file of keys {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is no file of keys.
    #[error("{} is no file of keys: {reason}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A name that cannot be that of a key.
    #[error("`{}` cannot be the name of a key", name.escape_debug())]
    InvalidName {
        /// The name.
        name: String,
    },
    /// There is a key of that name.
    #[error("there is a key `{name}` already")]
    Taken {
        /// The name.
        name: String,
    },
    /// There is no key of that name.
    #[error("there is no key `{}`", name.escape_debug())]
    Unknown {
        /// The name.
        name: String,
    },
    /// The system has no random numbers.
    #[error("the system has no random numbers to make a key of")]
    NoRandomness,
}

impl KeysError {
    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing { path },
            _ => Self::Io { path, source },
        }
    }

    /// Returns the suggested fix, if there is one.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Missing { path } => {
                Some(format!("`keys add NAME --role ROLE --api-keys {}` makes it with its first key", path.display()))
            }
            Self::Open { path, .. } => Some(format!("`chmod 600 {}` closes it to others", path.display())),
            Self::InvalidName { .. } => Some("give a name of 1 to 64 characters, without control characters".into()),
            Self::Taken { name } => Some(format!("choose another name, or `keys revoke {name}` first")),
            Self::Unknown { .. } => Some("`keys list` shows the names".into()),
            Self::Io { .. } | Self::Invalid { .. } | Self::NoRandomness => None,
        }
    }
}
