//! Ids of trees and commits, as text that can be stored. Knows no repository.

use std::fmt;

use git2::Oid;
use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub(super) String);

        impl $name {
            /// Returns the id as hexadecimal digits.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<Oid> for $name {
            fn from(oid: Oid) -> Self {
                Self(oid.to_string())
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
    /// Id of a tree: all files at one moment.
    TreeId
}

id! {
    /// Id of a commit.
    CommitId
}

impl CommitId {
    /// Returns the first nine digits, for people.
    pub fn short(&self) -> &str {
        self.0.get(..9).unwrap_or(&self.0)
    }
}
