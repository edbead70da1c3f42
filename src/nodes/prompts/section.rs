//! The section of a plan in a prompt: a text, or a content. Pure.

use serde::{Deserialize, Serialize};

use super::parts::Parts;
use crate::nodes::contents::Content;

/// The plan's text about a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Section {
    /// The text.
    Text(String),
    /// A reference to the text, which is read when a request is sent.
    Content(Content),
}

impl Default for Section {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl From<String> for Section {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Section {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Content> for Section {
    fn from(content: Content) -> Self {
        Self::Content(content)
    }
}

impl Section {
    pub(super) fn fenced(&self) -> Parts {
        match self {
            Self::Text(text) => Parts::fenced("markdown", text.as_str()),
            Self::Content(content) => Parts::fenced_content("markdown", content.clone()),
        }
    }
}
