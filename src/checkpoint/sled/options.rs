//! Options for opening a store. Data only.

/// Options of [`SledCheckpointer::open_with`](super::SledCheckpointer::open_with).
#[derive(Clone, Debug)]
#[must_use]
pub struct SledOptions {
    /// Size of the page cache in bytes, as sled counts: small values take more than twice as much in memory. Default:
    /// 8 MB, because the operating system keeps the file in its own cache. sled uses more memory than that: about 70
    /// bytes for each KiB of the log for the places of its pages, and with values of 1 MiB about 70 MB for write buffers
    /// and for evicted pages that are not freed yet.
    pub cache_bytes: u64,
    /// Set to release the small reserve of disk space that a store keeps, so that old checkpoints can be removed
    /// although the disk is full. The next opening without it takes the reserve again, if there is space. Default:
    /// false.
    pub spend_reserve: bool,
}

impl Default for SledOptions {
    fn default() -> Self {
        Self { cache_bytes: 8_000_000, spend_reserve: false }
    }
}
