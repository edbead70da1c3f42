//! Read-only view of sled's database, read from its log without sled. Writes nothing, so it needs neither write
//! permission nor free space. Knows pages (nodes of sled's tree, and changes of them), their format and their locations.
//!
//! The log is replayed from its first segment: the newest full version of each page counts, with the changes after it.
//! sled's snapshots contain nothing that is not in the log.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sled::IVec;

use super::segment::{Kind, Message, take_number};
use super::survey;
use crate::checkpoint::embedded::engine::{Row, RowIter, RowSource, Tree};
use crate::checkpoint::embedded::files::{damaged_store, io_at};
use crate::checkpoint::{CheckpointError, Order};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Name of the only tree in a store.
const TREE: &[u8] = b"__sled__default";

/// Rows of a closed database.
#[derive(Debug)]
pub(super) struct Image {
    path: PathBuf,
    log: Mutex<File>,
    /// Leaves in key order: each holds the keys from its own first key on.
    leaves: Vec<(Vec<u8>, Page)>,
}

/// Locations of a page's newest full version and of the changes after it.
#[derive(Clone, Debug)]
struct Page {
    head: NodeHead,
    places: Vec<Range<u64>>,
}

/// Pages found so far.
#[derive(Default)]
struct Pages {
    nodes: HashMap<u64, Page>,
    /// Root page of the tree.
    root: Option<u64>,
}

impl Image {
    /// Reads the log of the store in the directory `path`, which must be intact up to the commit `acknowledged`.
    ///
    /// # Errors
    /// [`CheckpointError::DamagedStore`] if it is not; [`CheckpointError::Io`] if it cannot be read.
    pub(super) fn read(path: &Path, acknowledged: Option<u64>) -> Result<Self> {
        let mut pages = Pages::default();
        let file = survey::replay(path, acknowledged, |segment, at, message| pages.apply(segment, at, message))?;
        let leaves = pages.leaves().ok_or_else(|| damaged_store(path, "the index in its log cannot be read"))?;
        Ok(Self { path: path.into(), log: Mutex::new(file), leaves })
    }

    /// Returns the rows of a leaf, with all changes applied.
    fn leaf(&self, page: &Page) -> Result<Leaf> {
        let mut places = page.places.iter().map(|place| io_at(&self.path, "read the log", self.bytes(place)));
        let unreadable = || damaged_store(&self.path, "a page in its log cannot be read");
        let Some(base) = places.next() else { return Ok(Leaf::default()) };
        let mut leaf = Leaf::parse(&base?).ok_or_else(unreadable)?;
        for link in places {
            apply_link(&mut leaf, &link?).ok_or_else(unreadable)?;
        }
        Ok(leaf)
    }

    fn bytes(&self, place: &Range<u64>) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(place.end - place.start).unwrap_or(0)];
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.seek(SeekFrom::Start(place.start))?;
        log.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Returns the index of the leaf that covers a key.
    fn leaf_index(&self, key: &[u8]) -> usize {
        self.leaves.partition_point(|(first, _)| first.as_slice() <= key).saturating_sub(1)
    }

    /// Returns the rows of a leaf between two keys.
    fn rows_between(&self, nth: usize, keys: &(Vec<u8>, Vec<u8>)) -> Vec<Result<Row<IVec>>> {
        let Some((_, page)) = self.leaves.get(nth) else { return vec![] };
        match self.leaf(page) {
            Ok(leaf) => {
                let range = leaf.rows.range(keys.0.clone()..=keys.1.clone());
                range.map(|(key, value)| Ok((IVec::from(key.as_slice()), IVec::from(value.as_slice())))).collect()
            }
            Err(error) => vec![Err(error)],
        }
    }
}

impl RowSource for Image {
    type Bytes = IVec;
    type Snapshot<'a> = &'a Image;

    fn snapshot(&self) -> &Image {
        self
    }
}

impl Tree for &Image {
    type Bytes = IVec;

    fn get(&self, key: &[u8]) -> Result<Option<IVec>> {
        let Some((_, page)) = self.leaves.get(self.leaf_index(key)) else { return Ok(None) };
        Ok(self.leaf(page)?.rows.get(key).map(|value| IVec::from(value.as_slice())))
    }

    fn range<'a>(&'a self, lo: &[u8], hi: &[u8], order: Order) -> RowIter<'a, IVec> {
        if lo > hi {
            return Box::new(std::iter::empty());
        }
        let leaves = self.leaf_index(lo)..self.leaf_index(hi) + 1;
        let keys = (lo.to_vec(), hi.to_vec());
        match order {
            Order::Ascending => Box::new(leaves.flat_map(move |nth| self.rows_between(nth, &keys))),
            Order::Descending => {
                Box::new(leaves.rev().flat_map(move |nth| self.rows_between(nth, &keys).into_iter().rev()))
            }
        }
    }
}

impl Pages {
    /// Applies a message; `None` if it cannot be read.
    fn apply(&mut self, segment: &[u8], at: u64, message: &Message) -> Option<()> {
        let body = segment.get(message.body.clone())?;
        let place = at + message.body.start as u64..at + message.body.end as u64;
        match message.kind()? {
            Kind::Other => {}
            Kind::Free => _ = self.nodes.remove(&message.page),
            Kind::Meta => self.root = root_of(body), // `None` while the tree is being created
            Kind::Node => {
                let page = Page { head: NodeHead::parse(body)?, places: vec![place] };
                self.nodes.insert(message.page, page);
            }
            // A change of a page whose newest version was moved: the moved page follows in the log.
            Kind::Link => {
                if let Some(page) = self.nodes.get_mut(&message.page) {
                    page.places.push(place);
                }
            }
        }
        Some(())
    }

    /// Returns the leaves in order; `None` if the pages do not form a tree.
    fn leaves(mut self) -> Option<Vec<(Vec<u8>, Page)>> {
        let Some(mut at) = self.root else { return Some(vec![]) };
        while let Some(child) = self.nodes.get(&at)?.head.first_child {
            // Each page is visited once, so that a damaged one cannot cause an endless loop.
            self.nodes.remove(&at);
            at = child;
        }
        let mut found = vec![];
        let mut next = Some(at);
        while let Some(at) = next {
            let page = self.nodes.remove(&at)?;
            next = page.head.next;
            found.push((page.head.first_key.clone(), page));
        }
        found.is_sorted_by(|one, other| one.0 < other.0).then_some(found)
    }
}

/// Header of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NodeHead {
    /// Right sibling of the node.
    next: Option<u64>,
    /// Lower bound of its keys.
    first_key: Vec<u8>,
    /// Leftmost child; `None` for a leaf.
    first_child: Option<u64>,
    /// Number of bytes of the first key that all its keys share; they are omitted.
    prefix: usize,
}

/// Rows of a leaf.
#[derive(Debug, Default, PartialEq, Eq)]
struct Leaf {
    prefix: Vec<u8>,
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl NodeHead {
    /// Reads the header of a node; `None` if the bytes are not a node.
    fn parse(bytes: &[u8]) -> Option<Self> {
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
    fn parse(bytes: &[u8]) -> Option<Self> {
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
fn apply_link(leaf: &mut Leaf, mut link: &[u8]) -> Option<()> {
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
fn root_of(mut names: &[u8]) -> Option<u64> {
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
        let head = NodeHead::parse(LEAF).unwrap();
        assert_eq!((head.next, head.first_key.as_slice(), head.first_child), (Some(6), &b"abc"[..], None));
        let mut leaf = Leaf::parse(LEAF).unwrap();
        apply_link(&mut leaf, &[0, 1, b'e', 1, 9]).unwrap();
        apply_link(&mut leaf, &[1, 1, b'c']).unwrap();
        apply_link(&mut leaf, &[4]).unwrap();
        let rows = [(b"abd".to_vec(), vec![8]), (b"abe".to_vec(), vec![9])];
        assert_eq!(leaf.rows.into_iter().collect::<Vec<_>>(), rows);
    }

    #[test]
    fn an_index_names_its_first_child() {
        let index = [0, 0, 0, 0, 0, 0, 1, 2, 0, 1, b'm', 4, 9];
        assert_eq!(NodeHead::parse(&index).unwrap().first_child, Some(4));
        assert_eq!(Leaf::parse(&index), None);
    }

    proptest::proptest! {
        #[test]
        fn random_bytes_never_panic(bytes: Vec<u8>) {
            NodeHead::parse(&bytes);
            root_of(&bytes);
            Leaf::parse(&bytes);
            let _ = apply_link(&mut Leaf::default(), &bytes);
        }
    }
}
