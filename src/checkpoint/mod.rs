//! Checkpoints and their storage: ids, keys, records, the [`Checkpointer`] contract, and its stores.
//!
//! This room handles bytes and names. It knows nothing of states, nodes or graphs, and imports nothing from the rooms
//! above it. Only `sled` and `fjall` name their databases; what both stores share is in `embedded`.

mod checkpointer;
mod chunk;
mod codec;
mod depth;
mod effect_record;
#[cfg(any(feature = "sled", feature = "fjall"))]
mod embedded;
mod envelope;
pub(crate) mod error;
mod event_record;
#[cfg(feature = "test-util")]
mod failing;
#[cfg(feature = "fjall")]
mod fjall;
mod id;
mod key;
pub mod key_bytes;
#[cfg(feature = "test-util")]
pub mod kit;
mod lease;
mod memory;
#[cfg(not(feature = "sled"))]
pub(crate) mod no_sled;
mod record;
#[cfg(any(feature = "sled", feature = "fjall"))]
mod repair;
mod retention;
mod shape;
#[cfg(feature = "sled")]
mod sled;
mod threads;
mod transport;
pub(crate) mod unknown_thread;
mod wait_record;

#[cfg(all(any(feature = "sled", feature = "fjall"), feature = "test-util"))]
pub use self::embedded::StoreFaults;
#[cfg(any(feature = "sled", feature = "fjall"))]
pub use self::embedded::{Compacted, StoreKind};
#[cfg(feature = "fjall")]
pub use self::fjall::{FjallCheckpointer, FjallOptions};
#[cfg(feature = "sled")]
pub use self::sled::{SledCheckpointer, SledOptions};
pub use checkpointer::{BoxFuture, Checkpointer, Commit, Head, Order, Receipt, Record};
pub(crate) use chunk::{Chunk, OpenChunk, chunk_key, is_chunk};
pub use codec::{FORMAT, decode_record, encode_record};
pub(crate) use codec::{encode_again, encode_value, value_deserializer};
pub use effect_record::{EffectEnd, EffectKind, EffectRecord, EffectRun};
pub use error::CheckpointError;
pub use event_record::{EventRecord, EventRecordKind};
#[cfg(feature = "test-util")]
pub use failing::FailingCheckpointer;
pub use id::{CheckpointId, ThreadId};
pub(crate) use key::signal_name;
pub use key::{Key, RowId};
pub use key_bytes::{key_bytes, key_from_bytes};
pub use lease::{Claim, Lease, Leases};
pub use memory::MemoryCheckpointer;
pub use record::{
    AboutRecord, AnswerRecord, CarriedRecord, ChannelShape, CheckpointRecord, ControlRecord, FailureRecord,
    ForeignRecord, GotoRecord, HandledRecord, JoinRecord, LogRange, QuestionRecord, SendRecord, Shape, Slot, Source,
    StopRecord, TagRecord, TaskRecord, TaskStatus, WriteRecord,
};
#[cfg(any(feature = "sled", feature = "fjall"))]
pub use repair::{LostCheckpoint, Repaired, RepairedThread};
pub use retention::{Retention, Swept, SweptStore, SweptThread, gc, gc_all};
pub(crate) use threads::foreign::{about_thread, of_store};
pub use threads::foreign::{foreign, trust};
#[cfg(feature = "agents")]
pub(crate) use threads::hex_ids::hex_ids;
pub(crate) use threads::references::log_name;
pub use threads::tags::{tag, tags, untag};
pub use transport::backup::{BackedUp, backup};
pub use transport::copy::{Copied, copy_threads};
pub use transport::export::{ExportOptions, Exported, export_thread};
#[cfg(feature = "test-util")]
pub(crate) use transport::import::Unpacked;
#[cfg(any(feature = "app", feature = "test-util"))]
pub(crate) use transport::import::unpack;
pub use transport::import::{ImportOptions, Imported, import_thread};
pub use wait_record::{ReceiveRecord, SignalRecord, TermsRecord, VoteRecord};
