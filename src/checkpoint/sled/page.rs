//! Format of sled 0.34's pages: nodes of its tree, and changes of them. Knows bytes; opens no file.

use std::collections::BTreeMap;

use super::segment::take_number;

/// Name of the only tree in a store.
const TREE: &[u8] = b"__sled__default";

/// Header of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NodeHead {
    /// Right sibling of the node.
    pub(super) next: Option<u64>,
    /// Lower bound of its keys.
    pub(super) first_key: Vec<u8>,
    /// Leftmost child; `None` for a leaf.
    pub(super) first_child: Option<u64>,
    /// Number of bytes of the first key that all its keys share; they are omitted.
    prefix: usize,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Leaf {
    prefix: Vec<u8>,
    pub(super) rows: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl NodeHead {
    /// Reads the header of a node; `None` if the bytes are not a node.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (mut head, is_leaf, mut rest) = Self::take(bytes)?;
        if !is_leaf {
            let children = take_number(&mut rest)?;
            for _ in 0..children {
                take_bytes(&mut rest)?;
            }
            head.first_child = Some(take_number(&mut rest).filter(|_| children > 0)?);
        }
        Some(head)
    }

    /// Takes the header, without the first child, and whether the node is a leaf.
    fn take(mut rest: &[u8]) -> Option<(Self, bool, &[u8])> {
        let next = Some(take_number(&mut rest)?).filter(|page| *page > 0);
        take_number(&mut rest)?; // a child that is being merged
        take_byte(&mut rest)?; // set while it is being merged itself
        let prefix = usize::from(take_byte(&mut rest)?);
        let first_key = take_bytes(&mut rest)?.to_vec();
        take_bytes(&mut rest)?; // the first key of the next one
        let is_leaf = match take_byte(&mut rest)? {
            0 => true,
            1 => false,
            _ => return None,
        };
        (prefix <= first_key.len()).then_some((Self { next, first_key, first_child: None, prefix }, is_leaf, rest))
    }
}

impl Leaf {
    /// Reads the rows of a leaf; `None` if the bytes are not a leaf.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (head, is_leaf, mut rest) = NodeHead::take(bytes)?;
        let prefix = head.first_key[..head.prefix].to_vec();
        let count = usize::try_from(take_number(&mut rest).filter(|_| is_leaf)?).ok()?;
        let mut keys = vec![];
        for _ in 0..count {
            keys.push([&prefix, take_bytes(&mut rest)?].concat());
        }
        let rows = keys.into_iter().map(|key| Some((key, take_bytes(&mut rest)?.to_vec())));
        let rows = rows.collect::<Option<_>>()?;
        Some(Self { prefix, rows })
    }
}

/// Applies a change to a leaf; `None` if it cannot be read.
pub(super) fn take_link(leaf: &mut Leaf, mut link: &[u8]) -> Option<()> {
    let kind = take_byte(&mut link)?;
    match kind {
        0 => {
            let key = [&leaf.prefix, take_bytes(&mut link)?].concat();
            leaf.rows.insert(key, take_bytes(&mut link)?.to_vec());
        }
        1 => _ = leaf.rows.remove(&[&leaf.prefix, take_bytes(&mut link)?].concat()),
        2..=4 => {} // merges leave the content unchanged
        _ => return None,
    }
    Some(())
}

/// Reads the root page of the tree.
pub(super) fn root_of(mut names: &[u8]) -> Option<u64> {
    while !names.is_empty() {
        let name = take_bytes(&mut names)?;
        let page = take_number(&mut names)?;
        if name == TREE {
            return Some(page);
        }
    }
    None
}

fn take_byte(rest: &mut &[u8]) -> Option<u8> {
    rest.split_off_first().copied()
}

fn take_bytes<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(take_number(rest)?).ok()?;
    let (bytes, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A leaf whose keys all begin with `ab`.
    const LEAF: &[u8] = &[6, 0, 0, 2, 3, b'a', b'b', b'c', 1, b'b', 0, 2, 1, b'c', 1, b'd', 1, 7, 1, 8];

    #[test]
    fn a_leaf_is_read_with_its_changes() {
        let head = NodeHead::read(LEAF).unwrap();
        assert_eq!((head.next, head.first_key.as_slice(), head.first_child), (Some(6), &b"abc"[..], None));
        let mut leaf = Leaf::read(LEAF).unwrap();
        take_link(&mut leaf, &[0, 1, b'e', 1, 9]).unwrap();
        take_link(&mut leaf, &[1, 1, b'c']).unwrap();
        take_link(&mut leaf, &[4]).unwrap();
        let rows = [(b"abd".to_vec(), vec![8]), (b"abe".to_vec(), vec![9])];
        assert_eq!(leaf.rows.into_iter().collect::<Vec<_>>(), rows);
    }

    #[test]
    fn an_index_names_its_first_child() {
        let index = [0, 0, 0, 0, 0, 0, 1, 2, 0, 1, b'm', 4, 9];
        assert_eq!(NodeHead::read(&index).unwrap().first_child, Some(4));
        assert_eq!(Leaf::read(&index), None);
    }

    proptest::proptest! {
        #[test]
        fn random_bytes_never_panic(bytes: Vec<u8>) {
            NodeHead::read(&bytes);
            root_of(&bytes);
            Leaf::read(&bytes);
            let _ = take_link(&mut Leaf::default(), &bytes);
        }
    }
}
