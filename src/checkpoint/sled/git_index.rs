//! The names and ids in a git index, versions 2 to 4. Knows bytes; opens no file. git itself is not run: a repository may
//! name programs that it would start.

/// One tracked file, or a folder of them in a sparse index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The path from the root of the work tree; a folder ends with a slash.
    pub(super) path: Vec<u8>,
    /// The id of the content.
    pub(super) id: Vec<u8>,
}

/// The stat fields before the id of an entry.
const STAT: usize = 40;
/// The flag of an entry that has two more bytes of flags.
const EXTENDED: u16 = 0x4000;
/// The bits of the flags that hold the length of the path, and the greatest length that they can say.
const LENGTH: u16 = 0x0fff;

/// Reads an index; none if it is not one.
pub(super) fn entries(index: &[u8]) -> Option<Vec<Entry>> {
    // SHA-1, or SHA-256: only one of them gives paths of the lengths that the entries claim.
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

/// Reads the entry at the front; returns it with its length.
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

/// Reads how much of the path before is left out; returns what is kept of it, and the bytes read.
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
