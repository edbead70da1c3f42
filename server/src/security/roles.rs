//! Roles of keys, and the caller of a request. Must not know routes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// KeyRole of a key. Each role may do what the earlier ones may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyRole {
    /// Reads threads, runs, assistants and streams.
    Read,
    /// Answers questions of threads.
    Answer,
    /// Creates, cancels and changes threads and runs.
    Run,
    /// Deletes, changes assistants, and trusts imported threads.
    Admin,
}

/// The error of a text that names no role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no role `{0}`: the roles are read, answer, run, admin")]
pub struct UnknownRole(String);

impl KeyRole {
    /// All roles, the weakest first.
    pub const ALL: [Self; 4] = [Self::Read, Self::Answer, Self::Run, Self::Admin];

    /// Returns the name of the role.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Answer => "answer",
            Self::Run => "run",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for KeyRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for KeyRole {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        Self::ALL.into_iter().find(|role| role.as_str() == text).ok_or_else(|| UnknownRole(text.to_owned()))
    }
}

/// The caller of a request, in the request's extensions. A server without [keys](crate::Options::api_keys) takes it from there, if
/// a layer around its router has put it there: the authentication of the program that mounts the router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The name of the key. It is recorded as the person who gave an answer.
    pub name: String,
    /// The role of the key.
    pub role: KeyRole,
}
