//! Where there are no such sockets: nobody is asked, and nobody answers.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::live::Live;
use crate::app::{
    desk::{Ask, Desk, Tell},
    erased::Call,
    failure::Failure,
    local::Local,
};

pub(crate) enum Serving {}

impl Serving {
    pub(super) async fn close(self) {
        match self {}
    }
}

pub(super) fn serve(_: &Local, _: &Arc<Live>, _: &Path) -> Option<Serving> {
    None
}

pub(crate) enum Remote {}

impl Remote {
    pub(super) async fn connect(_: &Path) -> Result<Option<Self>, Failure> {
        Ok(None)
    }
}

impl Desk for Remote {
    fn ask(&self, _: Ask) -> Call<'_, Value> {
        match *self {}
    }

    fn follow<'a>(&'a self, _: Ask, _: Tell<'a>) -> Call<'a, ()> {
        match *self {}
    }
}
