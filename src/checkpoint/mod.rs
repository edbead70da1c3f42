//! Checkpoints and their storage: names, keys, records, the [`Checkpointer`] contract, and its stores.
//!
//! This room handles bytes and names. It knows nothing of states, nodes or graphs, and imports nothing from the rooms
//! above it. Only `sled`, `fjall` and `postgres` name their databases; what the first two share is in `embedded`.
//!
//! | file | what it knows |
//! |---|---|
//! | `key`, `key_bytes` | names of threads, checkpoints, values and records; keys as bytes that sort like them |
//! | `thread_record`, `checkpoint_record`, `task_record` | what is stored, by how long it lives |
//! | `codec`, `depth` | records and user values as bytes, and how deeply those may nest |
//! | `chunk` | copies of consecutive log entries in one record |
//! | `envelope` | rows that name themselves and carry a checksum |
//! | `error` | errors of stores and of everything that reads or writes them |
//! | `commit`, `item`, `checkpointer`, `leases` | the contract of a store; values beside threads; one writer for each thread, places, workers |
//! | `owner` | the holder of a lease |
//! | `watch` | hints that a store has changed |
//! | `listing`, `index` | threads as lists show them, and queries for them; an index that answers those |
//! | `memory`, `failing`, `no_sled` | a store in memory, one that fails on demand, a placeholder |
//! | `store_kind`, `open_kind` | the table of stores in a directory, and one whose kind is known at run time |
//! | `embedded`, `sled`, `fjall` | stores in a directory, for one process |
//! | `postgres` | a store in PostgreSQL, for any number of processes |
//! | `threads` | threads as sets of records: references, reachability |
//! | `spending` | tokens and cost of threads and tasks, and the words that tasks have for people |
//! | `retention`, `expiry`, `transport`, `repair` | removal, copies and files, recovery from damage |
//! | `kit` | conformance checks for stores |

mod checkpoint_record;
mod checkpointer;
mod chunk;
mod codec;
mod commit;
mod depth;
#[cfg(feature = "_embedded")]
mod embedded;
mod envelope;
pub(crate) mod error;
mod expiry;
#[cfg(feature = "test-util")]
mod failing;
#[cfg(feature = "fjall")]
mod fjall;
mod index;
mod item;
mod key;
mod key_bytes;
#[cfg(feature = "test-util")]
pub mod kit;
mod leases;
pub(crate) mod listing;
mod memory;
mod message_pack;
#[cfg(not(feature = "sled"))]
pub(crate) mod no_sled;
#[cfg(feature = "_embedded")]
mod open_kind;
mod owner;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "_embedded")]
mod repair;
mod retention;
mod row;
#[cfg(feature = "sled")]
mod sled;
pub mod spending;
#[cfg_attr(not(feature = "_embedded"), allow(dead_code, unreachable_pub, reason = "only errors name stores"))]
mod store_kind;
mod task_record;
mod thread_record;
mod threads;
mod transport;
mod watch;

#[cfg(feature = "_embedded")]
pub use self::embedded::CompactionReport;
#[cfg(all(feature = "_embedded", feature = "test-util"))]
pub use self::embedded::StoreFaults;
#[cfg(feature = "fjall")]
pub use self::fjall::{FjallCheckpointer, FjallOptions};
#[cfg(feature = "postgres")]
pub use self::postgres::{PostgresBuilder, PostgresCheckpointer};
#[cfg(feature = "sled")]
pub use self::sled::{SledCheckpointer, SledOptions};
pub use checkpoint_record::{
    CarriedRecord, CheckpointRecord, ControlRecord, GotoRecord, JoinRecord, LogRange, SendRecord, Slot, Source,
    WriteRecord,
};
pub use checkpointer::{Checkpointer, similar_threads};
pub(crate) use chunk::{Chunk, OpenChunk, chunk_key, is_chunk};
pub use codec::{FORMAT, decode_record, encode_record};
pub(crate) use codec::{decode_json, encode_again, encode_value, read_json, value_deserializer};
pub use commit::{BoxFuture, Commit, Receipt, Record, ThreadHead};
pub use error::CheckpointError;
pub use expiry::{Expiry, ExpiryReport, expire_threads};
#[cfg(feature = "test-util")]
pub use failing::FailingCheckpointer;
pub use item::{ExpectedItem, Item, ItemScan, ItemWrite};
pub use key::{CheckpointId, ItemKey, Key, Order, RowId, ThreadId};
pub(crate) use key::{KEYED, POSTED_ANSWERS, signal_name};
pub use key_bytes::{key_bytes, key_from_bytes};
pub use leases::handle::{LeaseHandle, OwnerRequest};
pub use leases::lease::{Claim, Lease, LeaseKeeper, Leases};
pub use leases::place::ThreadPlace;
pub use leases::worker::{StoreWorker, WorkerGuard};
pub(crate) use listing::due::note_version;
pub use listing::due::{DueQuery, DueThreads};
pub use listing::query::ThreadQuery;
pub use listing::summary::ListedThread;
pub(crate) use listing::summary::Progress;
pub(crate) use listing::summary_reader::SummaryReader;
pub(crate) use listing::waits::{
    ArrivedSignals, TaskRecords, is_failed, is_resting, posted_answers, question_name, sent_signals,
};
pub use memory::MemoryCheckpointer;
pub use owner::LeaseOwner;
#[cfg(feature = "_embedded")]
pub use repair::{LostCheckpoint, RepairReport, RepairedThread};
pub use retention::{GcCounts, Retention, StoreGcReport, ThreadGcReport, gc, gc_all, rewind, rewind_claimed};
pub use row::Row;
#[cfg(feature = "_embedded")]
pub use store_kind::StoreKind;
pub use task_record::{
    AnswerRecord, EffectEnd, EffectKind, EffectRecord, EffectRun, EventRecord, EventRecordKind, FailureRecord,
    HandledRecord, QuestionRecord, ReceiveRecord, TaskRecord, TaskStatus, TermsRecord, VoteRecord,
};
pub use thread_record::{AboutRecord, ChannelShape, ForeignRecord, Shape, SignalRecord, StopRecord, TagRecord};
pub use threads::marks::{about_thread, foreign, tag, tags, trust, untag};
pub(crate) use threads::marks::{effective_origin, request_run};
#[cfg(feature = "agents")]
pub(crate) use threads::pages::hex_ids;
pub(crate) use threads::thread_records::log_name;
pub use transport::copy::{BackupReport, CopyReport, backup, copy_thread, copy_threads};
pub use transport::export::{ExportOptions, ExportReport, export_thread};
pub use transport::import::{ImportOptions, ImportReport, ThreadArchive, import_thread};
pub use watch::StoreWatch;
