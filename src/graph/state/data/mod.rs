//! States whose channels are known only at run time: values are JSON, the merge rules those of typed states.
//!
//! Small because it only lists the folder.

mod kind;
mod reduce;
pub(crate) mod schema;
mod state;

pub use kind::{Kind, UnknownKind};
pub use schema::{DataSchema, DataWrite, SchemaError};
pub use state::DataState;
