//! States: their channels, the rules that merge writes, and the encoding of values.
//!
//! Pure. Knows no node, no graph and no store.

pub(crate) mod any;
mod canon;
pub(crate) mod channel;
pub(crate) mod channels;
mod convert;
pub(crate) mod data;
pub(crate) mod header;
pub(crate) mod json;
mod log;
pub(crate) mod mask;
pub(crate) mod merge;
mod not_an_id;
pub(crate) mod payload;
pub(crate) mod put;
pub(crate) mod reading;
pub mod reducers;
mod serialized;
pub(crate) mod type_name;
pub(crate) mod undo;
pub(crate) mod value;
mod value_error;
pub(crate) mod writes;

pub use channel::{Channel, Codec, Stored};
pub use channels::{State, no_channel};
pub use data::{DataSchema, DataState, DataWrite, Kind, SchemaError, UnknownKind};
pub use json::InputError;
pub use log::{Log, LogIter, Prefix};
pub use mask::Mask;
pub use merge::{ApplyError, Merge};
pub use not_an_id::NotAnId;
pub use payload::{Boxed, Payload};
pub use put::{ByOverwrite, ByReduce, IntoPut, Overwrite, Put};
pub use value_error::ValueError;
pub use writes::{IntoItems, IntoList, IntoText, IntoWrites, Writes, overwrite};

pub(crate) use any::{AnySchema, AnyState, AnyWrite, AnyWrites};
pub(crate) use canon::Canon;
pub(crate) use channel::SETS;
pub(crate) use reading::Misread;
pub(crate) use undo::Undo;
