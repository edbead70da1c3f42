//! Platforms without Unix sockets: no process serves, none connects.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::active_runs::ActiveRuns;
use crate::failure::{Call, Failure};
use crate::local::Local;
use crate::service::{EventSink, ThreadRequest, ThreadService};

pub(crate) enum Serving {}

impl Serving {
    pub(super) async fn close(self) {
        match self {}
    }
}

pub(super) fn serve(_: &Local, _: &Arc<ActiveRuns>, _: &Path) -> Option<Serving> {
    None
}

pub(crate) enum Remote {}

impl Remote {
    pub(super) async fn connect(_: &Path) -> Result<Option<Self>, Failure> {
        Ok(None)
    }
}

impl ThreadService for Remote {
    fn call(&self, _: ThreadRequest) -> Call<'_, Value> {
        match *self {}
    }

    fn follow<'a>(&'a self, _: ThreadRequest, _: EventSink<'a>) -> Call<'a, ()> {
        match *self {}
    }
}
