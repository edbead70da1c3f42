//! The table of embedded stores: for each kind its names, how a directory shows it, and its type. Opens no file, and must
//! not know how a store is opened: every store imports it, to recognize the others.

use std::fmt;

/// Database of an embedded store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    /// `SledCheckpointer`.
    Sled,
    /// `FjallCheckpointer`.
    Fjall,
}

/// Row of the table.
pub(super) struct StoreRow {
    /// Name of the kind, and of its feature.
    name: &'static str,
    /// Names of files that only this kind has.
    pub(super) files: &'static [&'static str],
    /// Text before the number in the file `format`.
    pub(super) format_prefix: &'static str,
    /// Hint for a store of this kind that was opened as another one.
    pub(super) help: &'static str,
}

impl StoreKind {
    /// All kinds, oldest first.
    pub const ALL: &[Self] = &[Self::Sled, Self::Fjall];

    pub(super) const fn row(self) -> StoreRow {
        match self {
            Self::Sled => StoreRow {
                name: "sled",
                files: &["db", "conf"],
                format_prefix: "",
                help: "open it with `SledCheckpointer`; on the command line, give its path alone or after `sled:`",
            },
            Self::Fjall => StoreRow {
                name: "fjall",
                files: &["keyspaces", "version"],
                format_prefix: "fjall ",
                help: "open it with `FjallCheckpointer`; on the command line, put `fjall:` before its path",
            },
        }
    }

    /// Returns the name of the kind, such as `sled`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the kind of this name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

/// Evaluates `$call` with `$store` as the type of a kind's store; fails if the feature of the kind is off.
#[cfg(feature = "_embedded")]
macro_rules! with_store {
    ($kind:expr, $missing:expr, $store:ident => $call:expr) => {
        match $kind {
            #[cfg(feature = "sled")]
            checkpoint::StoreKind::Sled => {
                type $store = checkpoint::SledCheckpointer;
                $call
            }
            #[cfg(feature = "fjall")]
            checkpoint::StoreKind::Fjall => {
                type $store = checkpoint::FjallCheckpointer;
                $call
            }
            #[allow(unreachable_patterns, reason = "all features may be on")]
            kind => Err($missing(kind)),
        }
    };
}
#[cfg(feature = "_embedded")]
pub(super) use with_store;

impl fmt::Display for StoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
