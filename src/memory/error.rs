//! Errors of stores. Knows no store.

use std::error::Error;

use superstep_base::Printable;

use super::embed::EmbedError;
use crate::checkpoint::CheckpointError;

/// Failure of a store. Nothing of a refused write is stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// An item without a namespace.
    #[error("the item `{key}` has an empty namespace", key = Printable(key))]
    EmptyNamespace {
        /// Key of the item.
        key: String,
    },
    /// A value that is no object.
    #[error("the value of `{item}` is {found}, not an object")]
    NotAnObject {
        /// The item.
        item: String,
        /// Kind of its value.
        found: &'static str,
    },
    /// A namespace and a key that are too long together.
    #[error("the name of the item `{item}` takes {bytes} bytes, more than {limit}")]
    NameTooLong {
        /// Start of the name.
        item: String,
        /// Size of the namespace and the key as they are stored.
        bytes: usize,
        /// Maximum size.
        limit: usize,
    },
    /// A lifetime that is no positive number.
    #[error("a lifetime of {minutes} minutes is not possible")]
    InvalidTtl {
        /// The lifetime.
        minutes: f64,
    },
    /// A condition with an operator that does not exist.
    #[error("there is no operator `{operator}` for the field `{field}` of a filter", operator = Printable(operator), field = Printable(field))]
    UnknownOperator {
        /// The field.
        field: String,
        /// The operator.
        operator: String,
    },
    /// A filter that is no object.
    #[error("a filter is an object with a condition for each field")]
    InvalidFilter,
    /// An embedding that failed.
    #[error("the texts could not be embedded")]
    Embedding {
        /// The error of the embedding.
        source: EmbedError,
    },
    /// An embedding that returned other vectors than it was asked for.
    #[error("the embedding returned {reason}")]
    InvalidVectors {
        /// Difference to what was expected.
        reason: String,
    },
    /// An item that cannot be read.
    #[error("the stored item `{item}` cannot be read: {reason}")]
    Unreadable {
        /// The item.
        item: String,
        /// The reason.
        reason: String,
    },
    /// A failure of the checkpointer that has the items.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A failure of another store.
    #[error("the store failed")]
    Backend {
        /// Its error.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl StoreError {
    /// Returns the suggested fix.
    pub fn help(&self) -> Option<&'static str> {
        Some(match self {
            Self::EmptyNamespace { .. } => "give the namespace at least one label",
            Self::NotAnObject { .. } => "wrap the value in an object: `{\"value\": …}`",
            Self::NameTooLong { .. } => "shorten the labels or the key, and keep long texts in the value",
            Self::InvalidTtl { .. } => "give a positive number of minutes, or none for an item that stays",
            Self::UnknownOperator { .. } => "use `$eq`, `$ne`, `$gt`, `$gte`, `$lt` or `$lte`",
            Self::InvalidFilter => "write it as `{\"field\": value}` or `{\"field\": {\"$gt\": value}}`",
            Self::InvalidVectors { .. } => "return one vector for each text, all of the same length, without NaN",
            Self::Unreadable { .. } => "update superstep if a later release wrote it; else write the item again",
            Self::Checkpoint(error) => return error.help(),
            Self::Embedding { .. } | Self::Backend { .. } => return None,
        })
    }
}
