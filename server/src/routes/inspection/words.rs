//! The parameters of a query, of which some come several times. Must not know what they mean to a route.

use serde::Deserialize;
use superstep::checkpoint::CheckpointId;

use crate::error::{ApiError, ApiResult};

/// The words of a query.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct Words(Vec<(String, String)>);

impl Words {
    pub(super) fn one(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns a number of entries: from 1 to `most`, `usual` unless set.
    ///
    /// # Errors
    /// 422 for anything else.
    pub(super) fn limit(&self, usual: usize, most: usize) -> ApiResult<usize> {
        let Some(text) = self.one("limit") else { return Ok(usual) };
        let limit = text.parse().ok().filter(|limit| (1..=most).contains(limit));
        limit.ok_or_else(|| ApiError::invalid(format!("limit is 1 to {most}, and not `{text}`")))
    }

    /// Returns a whole number, if it is there.
    ///
    /// # Errors
    /// 422 for anything else.
    pub(super) fn number(&self, name: &str) -> ApiResult<Option<usize>> {
        let number = |text: &str| text.parse().map_err(|_| wrong(name, "a whole number", text));
        self.one(name).map(number).transpose()
    }

    /// Returns a checkpoint, if it is there.
    ///
    /// # Errors
    /// 422 for anything else.
    pub(super) fn checkpoint(&self, name: &str) -> ApiResult<Option<CheckpointId>> {
        let id =
            |text: &str| text.parse().map(CheckpointId).map_err(|_| wrong(name, "the number of a checkpoint", text));
        self.one(name).map(id).transpose()
    }

    /// Returns a checkpoint that must be there.
    ///
    /// # Errors
    /// 422 if it is not.
    pub(super) fn required(&self, name: &str) -> ApiResult<CheckpointId> {
        self.checkpoint(name)?
            .ok_or_else(|| ApiError::invalid(format!("`{name}` is missing: the number of a checkpoint")))
    }

    pub(super) fn is_set(&self, name: &str) -> bool {
        self.one(name).is_some_and(|text| text == "1" || text.eq_ignore_ascii_case("true"))
    }
}

fn wrong(name: &str, expected: &str, text: &str) -> ApiError {
    ApiError::invalid(format!("{name} is {expected}, and not `{text}`"))
}
