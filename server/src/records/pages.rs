//! The records under a prefix, a page at a time, so that the work grows with what is taken. Must not know what is wanted of them.
//!
//! Small because it only counts pages.

use superstep::checkpoint::{CheckpointError, Order};

use super::items::{Record, Records};

/// The number of records of the first page, and of the largest.
const SIZES: (usize, usize) = (32, 512);

/// Reader of pages, each larger than the one before: who reads on has found few of what is wanted.
#[derive(Clone, Debug)]
pub(crate) struct Pages {
    prefix: &'static str,
    order: Order,
    /// Key of the last record that was read.
    after: Option<String>,
    size: usize,
    /// Set if there are no more pages.
    pub is_over: bool,
}

impl Pages {
    /// Returns a reader of the records under a prefix.
    pub(crate) fn new(prefix: &'static str, order: Order) -> Self {
        Self { prefix, order, after: None, size: SIZES.0, is_over: false }
    }

    /// Returns the next page.
    pub(crate) async fn next<R: Record>(&mut self, records: &Records) -> Result<Vec<R>, CheckpointError> {
        let page = records.scan::<R>(self.prefix, self.after.as_deref(), (self.order, self.size)).await?;
        self.is_over = page.len() < self.size;
        self.after = page.last().map(|last| last.record.key());
        self.size = (2 * self.size).min(SIZES.1);
        Ok(page.into_iter().map(|found| found.record).collect())
    }
}
