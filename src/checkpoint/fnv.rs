//! FNV-1a: a hash that is the same on every machine and in every release. Not for security.

/// Hash of the bytes mixed in so far.
pub(crate) struct Fnv(u64);

impl Fnv {
    pub(crate) fn new() -> Self {
        Self::seeded(0)
    }

    /// Returns a hasher with its own seed.
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(0xcbf2_9ce4_8422_2325 ^ seed)
    }

    pub(crate) fn mix(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    }

    pub(crate) fn finish(&self) -> u64 {
        self.0
    }
}
