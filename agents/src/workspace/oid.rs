//! Conversion of ids to libgit2's, and errors for unknown ones. Knows no repository.

use std::str::FromStr;

use git2::Oid;

use super::error::WorkspaceError;
use super::id::{CommitId, TreeId};

macro_rules! oid {
    ($name:ident, $kind:literal) => {
        impl $name {
            pub(super) fn oid(&self) -> Result<Oid, WorkspaceError> {
                Oid::from_str(&self.0).map_err(|_| self.missing())
            }

            pub(super) fn missing(&self) -> WorkspaceError {
                WorkspaceError::NoSuchObject { id: self.0.clone(), kind: $kind }
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
    };
}

oid!(TreeId, "tree");
oid!(CommitId, "commit");
