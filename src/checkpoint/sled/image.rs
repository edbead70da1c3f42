//! Read-only view of sled's database, read from its log without sled. Writes nothing, so it needs neither write
//! permission nor free space. Knows pages and their locations; the format of a page is in `page`.
//!
//! The log is replayed from its first segment: the newest full version of each page counts, with the changes after it.
//! sled's snapshots contain nothing that is not in the log.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sled::IVec;

use super::page::{Leaf, NodeHead, root_of, take_link};
use super::segment::{Kind, Message};
use super::survey;
use crate::checkpoint::embedded::engine::{Row, RowIter, Source, Tree};
use crate::checkpoint::embedded::files::{broken, io_at};
use crate::checkpoint::{CheckpointError, Order};

type Result<T> = std::result::Result<T, CheckpointError>;

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
        let leaves = pages.leaves().ok_or_else(|| broken(path, "the index in its log cannot be read"))?;
        Ok(Self { path: path.into(), log: Mutex::new(file), leaves })
    }

    /// Returns the rows of a leaf, with all changes applied.
    fn leaf(&self, page: &Page) -> Result<Leaf> {
        let mut places = page.places.iter().map(|place| io_at(&self.path, "read the log", self.bytes(place)));
        let unreadable = || broken(&self.path, "a page in its log cannot be read");
        let Some(base) = places.next() else { return Ok(Leaf::default()) };
        let mut leaf = Leaf::read(&base?).ok_or_else(unreadable)?;
        for link in places {
            take_link(&mut leaf, &link?).ok_or_else(unreadable)?;
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
    fn place(&self, key: &[u8]) -> usize {
        self.leaves.partition_point(|(first, _)| first.as_slice() <= key).saturating_sub(1)
    }

    /// Returns the rows of a leaf between two keys.
    fn between(&self, nth: usize, keys: &(Vec<u8>, Vec<u8>)) -> Vec<Result<Row<IVec>>> {
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

impl Source for Image {
    type Bytes = IVec;
    type Snapshot<'a> = &'a Image;

    fn snapshot(&self) -> &Image {
        self
    }
}

impl Tree for &Image {
    type Bytes = IVec;

    fn get(&self, key: &[u8]) -> Result<Option<IVec>> {
        let Some((_, page)) = self.leaves.get(self.place(key)) else { return Ok(None) };
        Ok(self.leaf(page)?.rows.get(key).map(|value| IVec::from(value.as_slice())))
    }

    fn range<'a>(&'a self, lo: &[u8], hi: &[u8], order: Order) -> RowIter<'a, IVec> {
        if lo > hi {
            return Box::new(std::iter::empty());
        }
        let leaves = self.place(lo)..self.place(hi) + 1;
        let keys = (lo.to_vec(), hi.to_vec());
        match order {
            Order::Ascending => Box::new(leaves.flat_map(move |nth| self.between(nth, &keys))),
            Order::Descending => Box::new(leaves.rev().flat_map(move |nth| self.between(nth, &keys).into_iter().rev())),
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
                let page = Page { head: NodeHead::read(body)?, places: vec![place] };
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
