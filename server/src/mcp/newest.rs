//! The threads of a store, the one that changed last first: read a page at a time, so that the work grows with what is taken. Must not
//! know what is wanted of them.

use std::collections::VecDeque;

use superstep::checkpoint::Order;

use crate::error::ApiResult;
use crate::records::items::Record;
use crate::records::order::{ThreadPlace, ThreadTime};
use crate::records::thread::ThreadRecord;
use crate::server::Server;

/// The number of threads that are read at once.
const PAGE: usize = 64;

/// The threads of a server, one after another.
pub(super) struct NewestThreads<'a> {
    server: &'a Server,
    read: VecDeque<ThreadRecord>,
    /// The key of the last place that was read.
    after: Option<String>,
    is_over: bool,
}

impl<'a> NewestThreads<'a> {
    pub(super) fn new(server: &'a Server) -> Self {
        Self { server, read: VecDeque::new(), after: None, is_over: false }
    }

    pub(super) async fn next(&mut self) -> ApiResult<Option<ThreadRecord>> {
        while self.read.is_empty() && !self.is_over {
            self.read_more().await?;
        }
        Ok(self.read.pop_front())
    }

    async fn read_more(&mut self) -> ApiResult<()> {
        self.server.make_orders().await?;
        let (records, prefix) = (&self.server.records, ThreadTime::Updated.prefix());
        let places = records.scan::<ThreadPlace>(prefix, self.after.as_deref(), (Order::Descending, PAGE)).await?;
        self.is_over = places.len() < PAGE;
        self.after = places.last().map(|place| place.record.key());
        let found = records.get_all::<ThreadRecord>(places.into_iter().map(|place| place.record.thread)).await?;
        self.read = found.into_iter().map(|found| found.record).collect();
        Ok(())
    }
}
