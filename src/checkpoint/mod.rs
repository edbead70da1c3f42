//! What a checkpoint is and where it is kept: ids, keys, records, the [`Checkpointer`] contract, and its stores.
//!
//! This room deals in bytes and names. It knows nothing of states, nodes or graphs, and imports nothing from the rooms
//! above it. Only `sled` names the embedded store.

mod checkpointer;
mod error;
mod id;
mod key;
mod lease;

pub use checkpointer::{BoxFuture, Checkpointer, Commit, Head, Order, Receipt};
pub use error::CheckpointError;
pub use id::{CheckpointId, ThreadId};
pub use key::{Key, RowId};
pub use lease::{Claim, Lease, Leases};
