//! Errors of stores and of everything that reads or writes them.

use std::error::Error;
use std::fmt::{self, Display};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use superstep_base::Printable;

use super::key::{CheckpointId, ItemKey, Key, ThreadId};
use super::owner::LeaseOwner;
use super::store_kind::StoreKind;

/// A failure of a checkpointer. Nothing of a refused commit is stored.
#[derive(Clone, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum CheckpointError {
    /// Another run holds the thread.
    #[error("thread `{thread}` is being run by {owner}", thread = Printable(thread))]
    ThreadBusy {
        /// The thread.
        thread: ThreadId,
        /// The process that runs it.
        owner: Arc<LeaseOwner>,
    },
    /// The lease was lost to a later claim, or has ended.
    #[error("the lease on thread `{thread}` was lost: {}", lost_to(*held, *current, owner.as_deref()), thread = Printable(thread))]
    #[strum(serialize = "lease_lost")]
    StaleLease {
        /// The thread.
        thread: ThreadId,
        /// Epoch of the lost lease.
        held: u64,
        /// Epoch of the newest claim; equal to `held` if the lease ended and nobody has claimed the thread since.
        current: u64,
        /// The process that runs the thread now, if any.
        owner: Option<Arc<LeaseOwner>>,
    },
    /// The head is not where the commit expected it.
    #[error("the head of thread `{thread}` moved: expected checkpoint {expected:?}, found {found:?}", thread = Printable(thread))]
    HeadMoved {
        /// The thread.
        thread: ThreadId,
        /// Checkpoint that the commit expected.
        expected: Option<CheckpointId>,
        /// Checkpoint in the store.
        found: Option<CheckpointId>,
    },
    /// An item is not as a write expected it. Nothing of the commit is stored.
    #[error("the {item} is not as expected: it was written in the meantime")]
    ItemConflict {
        /// The item.
        item: ItemKey,
    },
    /// A record that was to be new is there already. Nothing was stored.
    #[error("thread `{thread}` has a {key} already", thread = Printable(thread))]
    RecordExists {
        /// The thread.
        thread: ThreadId,
        /// The record.
        key: Key,
    },
    /// The store keeps no items.
    #[error("this checkpointer keeps no items beside threads")]
    NoItems,
    /// A live worker of the store has the name.
    #[error("a worker named `{name}` is running: process {pid} on host `{host}`", name = Printable(name), host = Printable(host))]
    WorkerExists {
        /// The name.
        name: String,
        /// The name of its machine.
        host: String,
        /// Its process.
        pid: u32,
    },
    /// A record cannot be read.
    #[error("damaged record {what} of thread `{thread}`: {reason}", what = Printable(what), thread = Printable(thread), reason = Printable(reason))]
    Damaged {
        /// The thread, or empty if it is unknown.
        thread: String,
        /// The record.
        what: String,
        /// Reason.
        reason: String,
    },
    /// The store as a whole cannot be read, or its newest commits are missing.
    #[error("the store at {} is damaged: {reason}", Printable(path.display()), reason = Printable(reason))]
    DamagedStore {
        /// The store.
        path: PathBuf,
        /// Description of the damage.
        reason: String,
    },
    /// A record was written by a release that this one does not know.
    #[error("{what} has format {found}; this release reads up to {known}", what = Printable(what))]
    Format {
        /// The record or store.
        what: String,
        /// Format found.
        found: u16,
        /// Newest known format.
        known: u16,
    },
    /// A value or record is larger than the store accepts.
    #[error("{what} has {bytes} bytes, more than the limit of {limit}", what = Printable(what))]
    TooLarge {
        /// The value or record.
        what: String,
        /// Size in bytes.
        bytes: usize,
        /// Limit in bytes.
        limit: usize,
    },
    /// A value nests more deeply than can be read back.
    #[error("{what} nests deeper than the limit of {limit}", what = Printable(what))]
    TooDeep {
        /// The value.
        what: String,
        /// Maximum nesting of lists, maps and structs.
        limit: usize,
    },
    /// A value could not be encoded or decoded.
    #[error("{what}: {reason}", what = Printable(what), reason = Printable(reason))]
    Codec {
        /// The value.
        what: String,
        /// Reason.
        reason: String,
    },
    /// The store is read-only here.
    #[error("the store at {} cannot be locked for writing: {reason}", Printable(path.display()), reason = Printable(reason))]
    NotWritable {
        /// The store.
        path: PathBuf,
        /// Reason.
        reason: String,
    },
    /// The disk is full. Acknowledged commits are stored.
    #[error("cannot {what} at {}: no space is left on the disk", Printable(path.display()), what = Printable(what))]
    DiskFull {
        /// Operation: "sync the store".
        what: String,
        /// Path.
        path: PathBuf,
    },
    /// The store's directory contains links or files that would make it unsafe to open. Nothing was opened or changed.
    #[error("the store at {} is not safe to open: {reason}", Printable(path.display()), reason = Printable(reason))]
    UnsafeStore {
        /// The store.
        path: PathBuf,
        /// The file, and the reason.
        reason: String,
    },
    /// The directory holds a store of another kind. Nothing was opened or changed.
    #[error("the store at {} is a {found} store, and was opened as a {opened} store", Printable(path.display()))]
    OtherStore {
        /// The store.
        path: PathBuf,
        /// Kind of the store: "fjall".
        found: &'static str,
        /// Kind that was asked for.
        opened: &'static str,
    },
    /// Another process has the store open.
    #[error("the store at {} is open already ({holder})", Printable(path.display()), holder = Printable(holder))]
    Locked {
        /// The store.
        path: PathBuf,
        /// Pid, command and start time, as far as known.
        holder: String,
    },
    /// An earlier commit could not be made durable, so the store has stopped.
    #[error("the store stopped after a failed commit: {reason}", reason = Printable(reason))]
    Poisoned {
        /// The failure.
        reason: Arc<str>,
    },
    /// A file cannot be imported, or a thread cannot be exported. Nothing was written.
    #[error("not a thread that can be imported: {reason}", reason = Printable(reason))]
    BadImport {
        /// Reason.
        reason: String,
    },
    /// The thread does not exist.
    #[error("there is no thread `{thread}`{}", suggestion(near), thread = Printable(thread))]
    UnknownThread {
        /// The thread.
        thread: ThreadId,
        /// Threads with similar names, nearest first.
        near: Vec<ThreadId>,
    },
    /// The store does not support signals.
    #[error("the store of thread `{thread}` takes no signals", thread = Printable(thread))]
    NoMailbox {
        /// The thread.
        thread: ThreadId,
    },
    /// The thread already exists.
    #[error("there is a thread `{thread}` already", thread = Printable(thread))]
    ThreadExists {
        /// The thread.
        thread: ThreadId,
    },
    /// The thread has no such checkpoint.
    #[error("thread `{thread}` has no checkpoint {checkpoint}", thread = Printable(thread))]
    UnknownCheckpoint {
        /// The thread.
        thread: ThreadId,
        /// The checkpoint.
        checkpoint: CheckpointId,
    },
    /// A name is not allowed.
    #[error("{what} needs a name: {reason}", what = Printable(what), reason = Printable(reason))]
    InvalidName {
        /// The thing to name.
        what: String,
        /// Reason.
        reason: String,
    },
    /// The backend of a checkpointer failed: its database, its connection. For your own checkpointers.
    #[error("the store's backend failed: {source}", source = Printable(source))]
    Backend {
        /// Error of the backend.
        source: Arc<dyn Error + Send + Sync>,
    },
    /// The server of a shared store could not be reached, or was not able to answer, for as long as the store waits. What was
    /// acknowledged is stored.
    #[error("the store at {store} cannot be reached: {reason}", store = Printable(store), reason = Printable(reason))]
    #[strum(serialize = "store_outage")]
    Outage {
        /// The store, without its password.
        store: String,
        /// The last failure.
        reason: String,
    },
    /// The server of a shared store refuses to be one: its settings, the caller's rights.
    #[error("the store at {store} cannot be used: {reason}", store = Printable(store), reason = Printable(reason))]
    RefusedStore {
        /// The store, without its password.
        store: String,
        /// Reason.
        reason: String,
        /// A hint for the user.
        advice: &'static str,
    },
    /// The address of a shared store cannot be understood.
    #[error("the store's address is not valid: {reason}", reason = Printable(reason))]
    InvalidAddress {
        /// Reason; never the password.
        reason: String,
    },
    /// A system call failed.
    #[error("cannot {what} at {}: {source}", Printable(path.display()), what = Printable(what), source = Printable(source))]
    Io {
        /// Operation: "create the store".
        what: String,
        /// Path.
        path: PathBuf,
        /// Error of the operating system.
        source: Arc<io::Error>,
    },
}

/// Text by which a stored reason is recognized as a full disk.
const NO_SPACE: &str = "no space is left on the disk";

/// Message and help, as printed by a `main` that returns the error.
impl fmt::Debug for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        self.help().map_or(Ok(()), |help| write!(f, "\n help: {help}"))
    }
}

impl CheckpointError {
    /// Returns [`CheckpointError::Damaged`].
    pub fn damaged_record(thread: &ThreadId, what: impl Display, reason: impl Display) -> Self {
        Self::Damaged { thread: thread.to_string(), what: what.to_string(), reason: reason.to_string() }
    }

    /// Returns [`CheckpointError::Io`].
    pub(crate) fn io(what: &str, path: &Path, source: io::Error) -> Self {
        Self::Io { what: what.into(), path: path.into(), source: Arc::new(source) }
    }

    /// Returns [`CheckpointError::UnknownThread`] without similar names.
    pub(crate) fn unknown_thread(thread: &ThreadId) -> Self {
        Self::UnknownThread { thread: thread.clone(), near: vec![] }
    }

    /// Returns whether the store cannot be written; reads may still be possible.
    pub fn is_unwritable(&self) -> bool {
        matches!(self, Self::NotWritable { .. }) || self.is_full_disk()
    }

    fn is_full_disk(&self) -> bool {
        match self {
            Self::DiskFull { .. } => true,
            Self::Poisoned { reason } => reason.contains(NO_SPACE),
            _ => false,
        }
    }

    /// Returns who runs the thread, if that is the reason.
    pub fn owner(&self) -> Option<&Arc<LeaseOwner>> {
        match self {
            Self::ThreadBusy { owner, .. } => Some(owner),
            Self::StaleLease { owner, .. } => owner.as_ref(),
            _ => None,
        }
    }

    /// Returns [`CheckpointError::Backend`], for your own checkpointers: `.map_err(CheckpointError::backend)`.
    ///
    /// ```
    /// # use superstep::checkpoint::CheckpointError;
    /// let error = CheckpointError::backend(std::io::Error::other("connection reset"));
    /// assert_eq!(error.to_string(), "the store's backend failed: connection reset");
    /// ```
    pub fn backend(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Backend { source: Arc::from(source.into()) }
    }

    /// Returns a hint for the user.
    pub fn help(&self) -> Option<&'static str> {
        Some(match self {
            Self::WorkerExists { .. } => "choose another name, end that worker, or wait until its lease has ended",
            Self::ItemConflict { .. } => "read the item again, and repeat the write with what it is now",
            Self::RecordExists { .. } => "another sender was faster; read what it has stored",
            Self::NoItems => "implement `write_items` for the checkpointer; the stores of this crate have it",
            Self::ThreadBusy { .. } => "wait for the other run to end, or cancel it",
            Self::StaleLease { .. } | Self::HeadMoved { .. } => {
                "load the thread again and repeat; another run has moved it"
            }
            Self::Damaged { .. } => "the rest of the store is readable; restore the thread from a backup, or delete it",
            Self::DamagedStore { .. } => {
                "copy its directory; save the readable part with `superstep repair`, or restore a backup"
            }
            Self::Format { .. } => "open it with the release that wrote it, or a newer one",
            Self::TooLarge { .. } => "keep large data outside the state and store a reference to it; shorten a name",
            Self::TooDeep { .. } => "store a flatter value: a list of parts that name each other, or its text",
            Self::Locked { .. } => {
                "end the other process, or open another store; in one process, share one with `with_shared_checkpointer`"
            }
            Self::NotWritable { .. } => {
                "read it with `--read-only` or `open_read_only`; to write, run as its owner, restore write permission \
                 (`chmod -R u+w`), or open a copy of its directory"
            }
            Self::DiskFull { .. } => {
                "free some space on its disk; `superstep gc --keep-last N --compact` removes old checkpoints and has a small \
                 reserve for that, and reading the store needs no space"
            }
            Self::UnsafeStore { .. } => {
                "a store contains only regular files and directories; find out who created this, and remove it, or copy the \
                 store's own files to a new directory"
            }
            Self::OtherStore { found, .. } => return StoreKind::from_name(found).map(|kind| kind.row().help),
            Self::Poisoned { reason } if reason.contains(NO_SPACE) => {
                "free some space on its disk and open the store again: every acknowledged commit is in it"
            }
            Self::Poisoned { .. } => "open the store again; every acknowledged commit is in it",
            Self::Codec { .. } => "check that the type's `Serialize` and `Deserialize` agree",
            Self::BadImport { .. } => "nothing was written; check the file, or request a new export",
            Self::UnknownThread { .. } => "check the name and the store",
            Self::NoMailbox { .. } => "implement `post` for the checkpointer; the stores of this crate have it",
            Self::ThreadExists { .. } => "choose another name, or delete that thread first",
            Self::UnknownCheckpoint { .. } => "the thread's history lists its checkpoints",
            Self::InvalidName { .. } => "give it a name",
            Self::Backend { .. } => {
                "check that the database or service behind the checkpointer is reachable, then continue the thread with `proceed`"
            }
            Self::Outage { .. } => {
                "check that the server is running and can be reached, then continue the thread with `proceed`; \
                 every acknowledged commit is stored"
            }
            Self::RefusedStore { advice, .. } => advice,
            Self::InvalidAddress { .. } => {
                "write `postgres://USER@HOST/DATABASE?schema=NAME`; the password belongs into PGPASSWORD or `~/.pgpass`"
            }
            Self::Io { .. } => "check the path, its permissions, and the free space on the disk",
        })
    }
}

fn lost_to(held: u64, current: u64, owner: Option<&LeaseOwner>) -> String {
    match owner {
        Some(owner) => format!("the thread is being run by {owner} (epoch {current}, the lost one {held})"),
        None if current == held => format!("it ended and could not be renewed (epoch {held})"),
        None => format!("it has epoch {held}, the store is at {current}"),
    }
}

fn suggestion(near: &[ThreadId]) -> String {
    if near.is_empty() { String::new() } else { format!(": {}", did_you_mean(near)) }
}

/// Returns `did you mean …?` with these names, or an empty string.
pub(crate) fn did_you_mean(near: &[ThreadId]) -> String {
    let names: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() { String::new() } else { format!("did you mean {}?", names.join(" or ")) }
}
