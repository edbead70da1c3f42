//! States: their channels, the rules that merge writes, and the encoding of values.
//!
//! Pure. Knows no node, no graph and no store.
//!
//! | file | what it knows |
//! |---|---|
//! | `channel`, `channels` | the description of a channel; the trait `State`: a table of channels |
//! | `put`, `writes` | a write to a channel; an update as a list of writes |
//! | `merge`, `reducers` | the rules that merge writes; the built-in reducers |
//! | `mask`, `log` | sets of channels; lists that share their items between versions |
//! | `value`, `reading`, `stored_value` | values as bytes, and back; their headers |
//! | `canon` | values in a form in which equal ones have equal hashes |
//! | `json_schema` | JSON Schemas of types |
//! | `any`, `any_state` | states and writes without their types; as a state themselves |
//! | `data` | states whose channels are known only at run time |

pub(crate) mod any;
mod any_state;
mod canon;
pub(crate) mod channel;
pub(crate) mod channels;
pub(crate) mod data;
pub(crate) mod json_schema;
pub(crate) mod log;
pub(crate) mod mask;
pub(crate) mod merge;
pub(crate) mod put;
pub(crate) mod reading;
pub mod reducers;
pub(crate) mod stored_value;
pub(crate) mod value;
pub(crate) mod writes;

pub(crate) use any::{AnySchema, AnyState, AnyWrite, AnyWrites, UndoLog};
pub(crate) use canon::Canon;
pub(crate) use channel::SETS;
pub use channel::{Channel, Codec, Storage};
pub(crate) use channels::State;
pub(crate) use data::{DataSchema, DataState};
pub use data::{DataWrite, Kind, SchemaError, UnknownKind};
pub use log::LogIter;
pub(crate) use mask::Mask;
pub use merge::ApplyError;
pub(crate) use merge::Merge;
pub(crate) use reading::DecodeError;
pub(crate) use value::Boxed;
pub use value::{Payload, ValueError};
pub(crate) use writes::Writes;
pub use writes::{InputError, IntoWrites};
