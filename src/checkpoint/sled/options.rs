//! Options for opening a store. Data only.

/// Options of [`SledCheckpointer::open_with`](super::SledCheckpointer::open_with).
#[derive(Clone, Debug)]
#[must_use]
pub struct SledOptions {
    /// Size of the page cache in bytes. Default: 64 MB. sled uses more memory than that, for write buffers and for
    /// evicted pages that are not freed yet: about 70 MB more with values of 1 MiB.
    pub cache_bytes: u64,
    /// Set to release the small reserve of disk space that a store keeps, so that old checkpoints can be removed
    /// although the disk is full. The next opening without it takes the reserve again, if there is space. Default:
    /// false.
    pub spend_reserve: bool,
}

impl Default for SledOptions {
    fn default() -> Self {
        Self { cache_bytes: 64_000_000, spend_reserve: false }
    }
}
