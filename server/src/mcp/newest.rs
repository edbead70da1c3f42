//! The threads of a store, the one that changed last first: read a page at a time, so that the work grows with what is taken. Must not
//! know what is wanted of them.
//!
//! Small because `pages` reads.

use std::collections::VecDeque;

use superstep::checkpoint::Order;

use crate::error::ApiResult;
use crate::records::order::{ThreadPlace, ThreadTime};
use crate::records::pages::Pages;
use crate::records::thread::ThreadRecord;
use crate::server::Server;

/// The threads of a server, one after another.
pub(super) struct NewestThreads<'a> {
    server: &'a Server,
    pages: Pages,
    read: VecDeque<ThreadRecord>,
}

impl<'a> NewestThreads<'a> {
    pub(super) fn new(server: &'a Server) -> Self {
        let pages = Pages::new(ThreadTime::Updated.prefix(), Order::Descending);
        Self { server, pages, read: VecDeque::new() }
    }

    pub(super) async fn next(&mut self) -> ApiResult<Option<ThreadRecord>> {
        while self.read.is_empty() && !self.pages.is_over {
            self.server.make_orders().await?;
            let places = self.pages.next::<ThreadPlace>(&self.server.records).await?;
            let keys = places.into_iter().map(|place| place.thread);
            let found = self.server.records.get_all::<ThreadRecord>(keys).await?;
            self.read = found.into_iter().map(|found| found.record).collect();
        }
        Ok(self.read.pop_front())
    }
}
