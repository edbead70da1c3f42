//! How deeply a MessagePack value nests. Knows the markers; must not know what is in the value.

/// Returns whether arrays and maps nest deeper than `limit`; bytes that are no MessagePack count as flat.
pub(super) fn is_deeper(bytes: &[u8], limit: usize) -> bool {
    // A level costs at least one byte.
    bytes.len() > limit && Walk { rest: bytes, open: Vec::new() }.passes(limit)
}

struct Walk<'a> {
    rest: &'a [u8],
    /// How many elements each open array or map still expects.
    open: Vec<u64>,
}

enum Item {
    Skip(usize),
    Open(u64),
}

impl Walk<'_> {
    fn passes(mut self, limit: usize) -> bool {
        while let Some(item) = self.next_item() {
            match item {
                Item::Skip(bytes) => self.rest = self.rest.get(bytes..).unwrap_or_default(),
                Item::Open(elements) => self.open.push(elements),
            }
            if self.open.len() > limit {
                return true;
            }
            self.close_finished();
        }
        false
    }

    fn next_item(&mut self) -> Option<Item> {
        let marker = self.number(1)?;
        if let Some(elements) = self.open.last_mut() {
            *elements = elements.saturating_sub(1);
        }
        Some(match marker {
            0x80..=0x8f => Item::Open(2 * (marker & 0x0f)),
            0x90..=0x9f => Item::Open(marker & 0x0f),
            0xa0..=0xbf => skip(marker & 0x1f),
            0xc4 | 0xd9 => skip(self.number(1)?),
            0xc5 | 0xda => skip(self.number(2)?),
            0xc6 | 0xdb => skip(self.number(4)?),
            0xc7..=0xc9 => skip(1 + self.number(1 << (marker - 0xc7))?),
            0xcc | 0xd0 => skip(1),
            0xcd | 0xd1 => skip(2),
            0xca | 0xce | 0xd2 => skip(4),
            0xcb | 0xcf | 0xd3 => skip(8),
            0xd4..=0xd8 => skip(1 + (1 << (marker - 0xd4))),
            0xdc => Item::Open(self.number(2)?),
            0xdd => Item::Open(self.number(4)?),
            0xde => Item::Open(2 * self.number(2)?),
            0xdf => Item::Open(2 * self.number(4)?),
            _ => skip(0),
        })
    }

    fn number(&mut self, width: usize) -> Option<u64> {
        let (bytes, rest) = self.rest.split_at_checked(width)?;
        self.rest = rest;
        Some(bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn close_finished(&mut self) {
        while self.open.last() == Some(&0) {
            self.open.pop();
        }
    }
}

fn skip(bytes: u64) -> Item {
    Item::Skip(usize::try_from(bytes).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siblings_do_not_add_up() {
        let bytes = rmp_serde::to_vec(&vec![vec![1.5_f64; 3]; 50]).unwrap();
        assert!(!is_deeper(&bytes, 2));
        assert!(is_deeper(&bytes, 1));
    }

    #[test]
    fn every_kind_of_value_is_stepped_over() {
        let value = ("x".repeat(300), i64::MIN, u64::MAX, 'c', -1, 1_u8, "y".repeat(70_000), None::<u8>, true);
        let mut bytes = rmp_serde::to_vec(&(value, [[1]])).unwrap();
        assert!(!is_deeper(&bytes, 3));
        assert!(is_deeper(&bytes, 2));
        bytes.truncate(70_000);
        assert!(!is_deeper(&bytes, 3));
    }
}
