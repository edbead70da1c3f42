//! Databases below an embedded store: a sorted map of rows, read at one moment and changed in durable batches; how
//! tests make one fail, and how its panics become errors without a report. Must not know what a row is.

use std::cell::Cell;
use std::fmt::Debug;
use std::io;
use std::panic::{set_hook, take_hook};
use std::sync::Once;
#[cfg(feature = "test-util")]
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use superstep_base::panics::catch_panic;

use crate::checkpoint::{CheckpointError, Order};

/// Bytes of a row or its key, shared with the database's cache.
pub(in crate::checkpoint) trait Bytes:
    AsRef<[u8]> + Clone + Debug + for<'a> From<&'a [u8]> + Send + Sync + 'static
{
}

impl<B: AsRef<[u8]> + Clone + Debug + for<'a> From<&'a [u8]> + Send + Sync + 'static> Bytes for B {}

/// Key of a row, and the row.
pub(in crate::checkpoint) type Row<B> = (B, B);

/// Rows in key order, or in reverse.
pub(in crate::checkpoint) type RowIter<'a, B> = Box<dyn Iterator<Item = Result<Row<B>, CheckpointError>> + 'a>;

/// Rows after a change, in key order; `None` for a row that is removed.
pub(in crate::checkpoint) type Rows = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// Read access to rows by key.
pub(in crate::checkpoint) trait Tree {
    type Bytes: Bytes;

    fn get(&self, key: &[u8]) -> Result<Option<Self::Bytes>, CheckpointError>;

    /// Returns the rows between two keys, both included; `lo` must not be after `hi`.
    fn range<'a>(&'a self, lo: &[u8], hi: &[u8], order: Order) -> RowIter<'a, Self::Bytes>;
}

/// A database that can be read.
pub(in crate::checkpoint) trait RowSource: Debug + Send + Sync + 'static {
    type Bytes: Bytes;
    type Snapshot<'a>: Tree<Bytes = Self::Bytes>;

    /// Returns the rows at this moment. If the engine [shows unsynced rows](Engine::SHOWS_UNSYNCED), also later changes
    /// may be read through it.
    fn snapshot(&self) -> Self::Snapshot<'_>;
}

/// A database that can be changed. One thread writes.
pub(in crate::checkpoint) trait Engine: RowSource {
    /// True if readers see a change before it is on disk: the store then covers the changed rows meanwhile.
    const SHOWS_UNSYNCED: bool;

    /// Changes rows atomically, and returns when the change is on disk. After an error it is not called again.
    fn write(&self, rows: Rows) -> Result<(), CheckpointError>;

    /// Changes rows atomically and in order with other writes, without waiting for the disk.
    fn write_soon(&self, rows: Rows) -> Result<(), CheckpointError>;

    /// Does work that can wait; called between two writes.
    fn maintain(&self);

    /// Does what makes the next opening cheap; called after the last write. All that was written is on disk without it.
    fn settle(&self) {}

    /// Drops the database after an error and returns the error.
    fn discard(self, error: CheckpointError) -> CheckpointError;

    #[cfg_attr(not(feature = "test-util"), allow(dead_code, reason = "for tests of stores"))]
    fn faults(&self) -> &Faults;
}

/// A write that a test makes fail once.
#[derive(Clone, Debug, Default)]
pub(in crate::checkpoint) struct FaultSwitch {
    #[cfg(feature = "test-util")]
    fails: Arc<AtomicBool>,
}

impl FaultSwitch {
    /// Fails if a test has chosen so.
    pub(in crate::checkpoint) fn check(&self) -> io::Result<()> {
        #[cfg(feature = "test-util")]
        if self.fails.swap(false, Ordering::SeqCst) {
            return Err(io::Error::other("chosen to fail"));
        }
        Ok(())
    }

    #[cfg(feature = "test-util")]
    pub(in crate::checkpoint) fn fail_next(&self) {
        self.fails.store(true, Ordering::SeqCst);
    }
}

/// Pending failures of syncs, shared by all clones.
#[derive(Clone, Debug, Default)]
pub(in crate::checkpoint) struct Faults {
    sync: FaultSwitch,
    #[cfg(feature = "test-util")]
    waits: Arc<AtomicBool>,
    #[cfg(feature = "test-util")]
    gate: Arc<Mutex<()>>,
}

impl Faults {
    /// Called before each sync.
    pub(in crate::checkpoint) fn before_sync(&self) -> io::Result<()> {
        #[cfg(feature = "test-util")]
        self.wait_at_gate();
        self.sync.check()
    }
}

#[cfg(feature = "test-util")]
impl Faults {
    fn wait_at_gate(&self) {
        self.waits.store(true, Ordering::SeqCst);
        drop(self.gate.lock().unwrap_or_else(PoisonError::into_inner));
        self.waits.store(false, Ordering::SeqCst);
    }

    /// Makes the next sync fail.
    pub(in crate::checkpoint) fn fail_next_sync(&self) {
        self.sync.fail_next();
    }

    /// Returns whether a sync waits at the gate.
    pub(in crate::checkpoint) fn is_waiting(&self) -> bool {
        self.waits.load(Ordering::SeqCst)
    }

    /// Runs `action` while no sync can start.
    pub(in crate::checkpoint) fn hold_syncs<T>(&self, action: impl FnOnce() -> T) -> T {
        let _held = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        action()
    }
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs a call to a database and returns the text of its panic as the error, without calling the panic hook.
pub(in crate::checkpoint) fn catch_quietly<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    filter_reports();
    let was = QUIET.replace(true);
    let done = catch_panic(call);
    QUIET.set(was);
    done
}

/// Wraps the panic hook in a filter, once.
fn filter_reports() {
    static ONCE: Once = Once::new();
    if std::thread::panicking() {
        return; // a panicking thread cannot set a hook
    }
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !QUIET.try_with(Cell::get).unwrap_or(false) {
                before(panic);
            }
        }));
    });
}
