//! Parser for names and ids in a git index, versions 2 to 4. Knows bytes; opens no file. git itself is not run, because
//! a repository can configure programs that it would start.

/// A tracked file, or a folder of them in a sparse index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Path from the root of the work tree; a folder ends with a slash.
    pub(super) path: Vec<u8>,
    /// Id of the content.
    pub(super) id: Vec<u8>,
}

/// Length of the stat fields before the id of an entry.
const STAT: usize = 40;
/// Flag of an entry with two extra bytes of flags.
const EXTENDED: u16 = 0x4000;
/// Bits of the flags that hold the length of the path; also the greatest length they can express.
const LENGTH: u16 = 0x0fff;

/// Parses an index; `None` if it is malformed.
pub(super) fn entries(index: &[u8]) -> Option<Vec<Entry>> {
    // SHA-1 or SHA-256: only with the right one do the path lengths match the entries.
    [20, 32].into_iter().find_map(|id| read(index, id))
}

fn read(index: &[u8], id: usize) -> Option<Vec<Entry>> {
    let rest = index.strip_prefix(b"DIRC")?;
    let (version, rest) = take_u32(rest)?;
    let (count, mut rest) = take_u32(rest)?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut found: Vec<Entry> = vec![];
    for _ in 0..count {
        let before = found.last().map_or(&[][..], |entry| &entry.path);
        let (entry, length) = entry(rest, id, version, before)?;
        rest = rest.get(length..)?;
        found.push(entry);
    }
    Some(found)
}

/// Parses the entry at the start of `bytes`; returns it with its length.
fn entry(bytes: &[u8], id: usize, version: u32, before: &[u8]) -> Option<(Entry, usize)> {
    let flags = u16::from_be_bytes(*bytes.get(STAT + id..)?.first_chunk()?);
    let extended = if flags & EXTENDED != 0 { 2 } else { 0 };
    let start = STAT + id + 2 + extended;
    let (kept, name) = if version == 4 { stripped(bytes.get(start..)?, before)? } else { (&[][..], start) };
    let name = if version == 4 { start + name } else { name };
    let end = name + bytes.get(name..)?.iter().position(|&byte| byte == 0)?;
    let path = [kept, &bytes[name..end]].concat();
    let claimed = usize::from(flags & LENGTH);
    if path.len() != claimed && (claimed != usize::from(LENGTH) || path.len() < claimed) {
        return None;
    }
    let length = if version == 4 { end + 1 } else { end + 8 - end % 8 };
    Some((Entry { path, id: bytes[STAT..STAT + id].to_vec() }, length))
}

/// Parses how many bytes of the previous path are dropped; returns the remaining prefix and the number of bytes read.
fn stripped<'a>(bytes: &[u8], before: &'a [u8]) -> Option<(&'a [u8], usize)> {
    let (mut number, mut length) = (0_usize, 0);
    loop {
        let byte = *bytes.get(length)?;
        number = number.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        length += 1;
        if byte & 0x80 == 0 {
            return Some((before.get(..before.len().checked_sub(number)?)?, length));
        }
        number = number.checked_add(1)?;
    }
}

fn take_u32(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u32::from_be_bytes(*number), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn random_bytes_never_panic(bytes: Vec<u8>, version in 0_u8..6, count in 0_u8..4) {
            entries(&bytes);
            entries(&[&b"DIRC\0\0\0"[..], &[version, 0, 0, 0, count], &bytes].concat());
        }
    }
}
