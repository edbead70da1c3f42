//! A small growing bit set. Knows no meaning of its bits.

use serde::{Deserialize, Serialize};

/// A growing bit set; the first 64 bits need no heap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mask {
    head: u64,
    tail: Vec<u64>,
}

impl Mask {
    /// Sets a bit. Returns true if it was unset.
    #[inline]
    pub fn insert(&mut self, bit: usize) -> bool {
        let word = if bit < 64 { &mut self.head } else { self.word(bit / 64) };
        let (flag, before) = (1 << (bit % 64), *word);
        *word |= flag;
        before & flag == 0
    }

    /// Unsets a bit.
    pub fn remove(&mut self, bit: usize) {
        if self.contains(bit) {
            *self.word(bit / 64) &= !(1 << (bit % 64));
        }
    }

    /// Returns true if a bit is set.
    #[inline]
    pub fn contains(&self, bit: usize) -> bool {
        let word = if bit < 64 { self.head } else { self.tail.get(bit / 64 - 1).copied().unwrap_or(0) };
        word & (1 << (bit % 64)) != 0
    }

    /// Returns the number of set bits.
    pub fn count(&self) -> usize {
        (self.head.count_ones() + self.tail.iter().map(|word| word.count_ones()).sum::<u32>()) as usize
    }

    /// Returns true if no bit is set.
    pub fn is_empty(&self) -> bool {
        self.head == 0 && self.tail.iter().all(|word| *word == 0)
    }

    /// Unsets every bit.
    pub fn clear(&mut self) {
        self.head = 0;
        self.tail.clear(); // not `fill(0)`: a memset of nothing costs more than the whole step
    }

    /// Returns the set bits, smallest first.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let words = std::iter::once(self.head).chain(self.tail.iter().copied());
        words.enumerate().flat_map(|(at, word)| Bits(word).map(move |bit| at * 64 + bit))
    }

    /// Returns true if the two sets share a bit.
    pub fn intersects(&self, other: &Self) -> bool {
        self.head & other.head != 0 || self.tail.iter().zip(&other.tail).any(|(a, b)| a & b != 0)
    }

    pub(crate) fn words(&self) -> Vec<u64> {
        std::iter::once(self.head).chain(self.tail.iter().copied()).collect()
    }

    pub(crate) fn from_words(words: &[u64]) -> Self {
        let (head, tail) = words.split_first().map_or((0, &[][..]), |(head, tail)| (*head, tail));
        Self { head, tail: tail.to_vec() }
    }

    fn word(&mut self, at: usize) -> &mut u64 {
        if at == 0 {
            return &mut self.head;
        }
        if self.tail.len() < at {
            self.tail.resize(at, 0);
        }
        &mut self.tail[at - 1]
    }
}

impl FromIterator<usize> for Mask {
    fn from_iter<I: IntoIterator<Item = usize>>(bits: I) -> Self {
        let mut mask = Self::default();
        for bit in bits {
            mask.insert(bit);
        }
        mask
    }
}

impl Extend<usize> for Mask {
    fn extend<I: IntoIterator<Item = usize>>(&mut self, bits: I) {
        for bit in bits {
            self.insert(bit);
        }
    }
}

struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let bit = self.0.trailing_zeros() as usize;
        (self.0 != 0).then(|| {
            self.0 &= self.0 - 1;
            bit
        })
    }
}
