//! Options of an opening. Data only.

/// How a store is opened.
#[derive(Clone, Debug)]
#[must_use]
pub struct SledOptions {
    /// The most memory for pages, in bytes. Default: 64 MB. sled holds more than that: buffers of what it writes, and pages that it
    /// has let go and not freed yet. With values of 1 MiB that came to another 70 MB.
    pub cache_bytes: u64,
    /// Whether the small reserve of disk space that a store keeps is given back first, so that old checkpoints can be
    /// removed although the disk is full. The next opening without this takes it again, if there is room. Default: no.
    pub spend_reserve: bool,
}

impl Default for SledOptions {
    fn default() -> Self {
        Self { cache_bytes: 64_000_000, spend_reserve: false }
    }
}
