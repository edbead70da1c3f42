//! Keys of journal entries, read: where an entry was made, and the key that the body gave it. [`JournalPath`](super::JournalPath)
//! writes them. Pure.

use super::ids::HANDLER;

/// The place at which an entry was made, and its own key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EntryKey {
    /// The nodes below the task of the root graph, down to the one that made the entry; empty if that is the task itself.
    pub path: Vec<String>,
    /// True if an error handler made it.
    pub by_handler: bool,
    /// The effects in whose bodies it was made, outermost first.
    pub within: Vec<String>,
    /// The key that the body gave, or the number of an entry without one.
    pub key: String,
}

impl EntryKey {
    /// Reads a key; none if it is not one of an entry.
    pub(crate) fn read(full: &str) -> Option<Self> {
        let (mut found, mut rest) = (Self::default(), full);
        loop {
            rest = match rest.strip_prefix('!') {
                Some(inner) => {
                    found.by_handler = true;
                    inner
                }
                None => rest,
            };
            match rest.chars().next()? {
                '0'..='9' => {
                    let mut parts = rest.splitn(4, '/').skip(2);
                    let (node, inner) = (parts.next()?, parts.next()?);
                    let node = plain(node.split('.').next().unwrap_or_default());
                    found.path.push(node.strip_prefix(HANDLER).map_or_else(|| node.clone(), str::to_owned));
                    (found.by_handler, rest) = (false, inner);
                }
                '@' => {
                    let (key, inner) = rest[1..].split_once('/')?;
                    found.within.push(plain(key.strip_suffix('?').unwrap_or(key)));
                    rest = inner;
                }
                _ => {
                    found.key = rest.split_once(':')?.1.to_owned();
                    return Some(found);
                }
            }
        }
    }

    /// Returns true if the task made it itself, outside of any effect.
    #[cfg_attr(not(feature = "test-util"), allow(dead_code, reason = "only tests script effects"))]
    pub(crate) fn is_own(&self) -> bool {
        self.within.is_empty()
    }
}

/// A name without its escapes.
fn plain(name: &str) -> String {
    let mut parts = name.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let letter = part.get(..2).and_then(|code| u32::from_str_radix(code, 16).ok()).and_then(char::from_u32);
        match letter {
            Some(letter) => {
                text.push(letter);
                text.push_str(&part[2..]);
            }
            None => text.extend(["%", part]),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("e:pay", "  pay")]
    #[case("!e:pay/1", "!  pay/1")]
    #[case("0/1f/inner/e:0/1/2/e:pay", "inner  0/1/2/e:pay")]
    #[case("0/1/e:x/2/0/y.1/!e:pay", "!e:x,y  pay")]
    #[case("!0/1/a%2Eb/v:x", "a.b  x")]
    #[case("@turn%2F1/@hook?/t:0", " turn/1,hook 0")]
    #[case("0/2/__error_handler__a/!@x%40/f:y", "!a x@ y")]
    #[case("0/1/100%/e:k", "100%  k")]
    fn the_place_of_an_entry_is_read(#[case] full: &str, #[case] expected: &str) {
        let EntryKey { path, by_handler, within, key } = EntryKey::read(full).unwrap();
        let mark = if by_handler { "!" } else { "" };
        assert_eq!(format!("{mark}{} {} {key}", path.join(","), within.join(",")), expected);
    }

    #[rstest::rstest]
    #[case("")]
    #[case("e")]
    #[case("0/1/e")]
    #[case("@x")]
    #[case("!")]
    fn what_is_no_entry_is_none(#[case] full: &str) {
        assert_eq!(EntryKey::read(full), None);
    }
}
