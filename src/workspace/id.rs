//! Ids of trees and commits, as text that can be stored. Knows no repository.

use std::fmt;
use std::str::FromStr;

use git2::Oid;
use serde::{Deserialize, Serialize};

use super::error::WorkspaceError;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Returns the id as hexadecimal digits.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            pub(super) fn oid(&self) -> Result<Oid, WorkspaceError> {
                Oid::from_str(&self.0).map_err(|_| self.missing())
            }

            pub(super) fn missing(&self) -> WorkspaceError {
                WorkspaceError::NoSuchObject { id: self.0.clone(), kind: $kind }
            }
        }

        impl From<Oid> for $name {
            fn from(oid: Oid) -> Self {
                Self(oid.to_string())
            }
        }

        impl FromStr for $name {
            type Err = WorkspaceError;

            fn from_str(text: &str) -> Result<Self, WorkspaceError> {
                let id = Self(text.to_owned());
                if text.len() != 40 {
                    return Err(id.missing());
                }
                id.oid().map(Self::from)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id! {
    /// The id of a tree: all files at one moment.
    TreeId, "tree"
}

id! {
    /// The id of a commit.
    CommitId, "commit"
}

impl CommitId {
    /// Returns the first nine digits, which is what people see.
    pub fn short(&self) -> &str {
        self.0.get(..9).unwrap_or(&self.0)
    }
}
