//! Parts of the driver that all its turns share: server, sessions, limits. Data only.

use super::http::Http;
use crate::drivers::tools::ToolLimits;
use crate::drivers::{Price, SessionStore};

#[derive(Debug)]
pub(super) struct Parts {
    pub(super) http: Http,
    pub(super) store: SessionStore,
    pub(super) price: Option<Price>,
    pub(super) tools: ToolLimits,
}
