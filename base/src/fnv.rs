//! FNV-1a: a hash that is the same on every machine and in every release, and that nobody relies on for safety.

/// The hash of the bytes mixed in so far.
#[derive(Debug)]
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self::new()
    }
}

impl Fnv {
    /// Returns the hash of no bytes.
    pub fn new() -> Self {
        Self::with_seed(0)
    }

    /// Other seeds, other hashes.
    pub fn with_seed(seed: u64) -> Self {
        Self(0xcbf2_9ce4_8422_2325 ^ seed)
    }

    /// Mixes bytes in.
    pub fn mix(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    }

    /// Returns the hash.
    pub fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Fnv;

    /// The test vectors of its authors: hashes are stored, so these never change.
    #[test]
    fn hashes_are_those_of_fnv_1a() {
        for (text, expected) in
            [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)]
        {
            let mut hash = Fnv::new();
            hash.mix(text.as_bytes());
            assert_eq!(hash.finish(), expected, "of {text:?}");
        }
    }
}
