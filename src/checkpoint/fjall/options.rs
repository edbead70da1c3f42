//! Options for opening a store. Data only.

/// Options of [`FjallCheckpointer::open_with`](super::FjallCheckpointer::open_with).
#[derive(Clone, Debug)]
#[must_use]
pub struct FjallOptions {
    /// Size of the block cache in bytes. Default: 32 MB. fjall uses more memory than that: up to 64 MB for records that
    /// are only in its journal.
    pub cache_bytes: u64,
    /// Set to release the small reserve of disk space that a store keeps, so that old checkpoints can be removed
    /// although the disk is full. The next opening without it takes the reserve again, if there is space. Default:
    /// false.
    pub spend_reserve: bool,
}

impl Default for FjallOptions {
    fn default() -> Self {
        Self { cache_bytes: 32_000_000, spend_reserve: false }
    }
}
