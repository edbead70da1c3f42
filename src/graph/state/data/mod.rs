//! States whose channels are known only at run time: values are JSON, the merge rules those of typed states.

mod kind;
mod messages;
mod reduce;
pub(crate) mod schema;
mod state;

pub use kind::{Kind, UnknownKind};
pub use schema::{DataSchema, DataWrite, SchemaError};
pub use state::DataState;
