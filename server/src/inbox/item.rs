//! An item of the inbox on the wire. Must not know how it is read.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::cut::size;
use super::waits::WaitReason;
use crate::records::time::time_text;

/// Kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[schema(as = InboxItemKind)]
pub(super) enum ItemKind {
    /// An open question.
    Question,
    /// The newest run has failed, and the thread has not finished since.
    Failed,
    /// Another version of the graph has stored the thread, and the present one cannot run it.
    NeedsMigration,
    /// The thread was made elsewhere, and nobody has trusted it.
    Untrusted,
    /// Records of the thread cannot be read.
    Damaged,
    /// Nodes are left to run, and nothing runs the thread.
    Stalled,
}

impl From<WaitReason> for ItemKind {
    fn from(reason: WaitReason) -> Self {
        match reason {
            WaitReason::Question(_) => Self::Question,
            WaitReason::Failed => Self::Failed,
            WaitReason::NeedsMigration => Self::NeedsMigration,
            WaitReason::Untrusted => Self::Untrusted,
            WaitReason::Damaged => Self::Damaged,
            WaitReason::Stalled(_) => Self::Stalled,
        }
    }
}

/// One thing that waits for a person.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InboxItem)]
pub(super) struct ItemJson {
    pub(super) kind: ItemKind,
    pub(super) thread: String,
    /// The name of its graph; empty if a damaged thread does not say.
    pub(super) graph: String,
    /// The time of the thread's newest checkpoint; of an untrusted thread, the time of its import.
    #[schema(format = DateTime)]
    pub(super) since: String,
    /// The last superstep; null if the thread has none.
    #[schema(required)]
    pub(super) step: Option<i64>,
    /// `title` of the thread's metadata, or of the question.
    #[schema(required)]
    pub(super) title: Option<String>,
    /// The reason why it cannot continue without a person; null for a question.
    #[schema(required)]
    pub(super) reason: Option<String>,
    /// The next action of a person; null for a question.
    #[schema(required)]
    pub(super) help: Option<String>,
    /// True if a run without input may get further; null unless the thread has failed or is stalled.
    #[schema(required)]
    pub(super) retry: Option<bool>,
    #[schema(required, value_type = Option<super::ask::AskJson>)]
    pub(super) question: Option<Value>,
}

/// The reason of an item, and what a person can do.
#[derive(Debug, Default)]
pub(super) struct ReasonText {
    pub reason: Option<String>,
    pub help: Option<String>,
    pub retry: Option<bool>,
}

impl ReasonText {
    pub(super) fn new(reason: impl Into<String>, help: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), help: Some(help.into()), retry: None }
    }
}

/// A page of the inbox, the oldest items first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Inbox)]
pub(crate) struct InboxJson {
    pub(super) items: Vec<ItemJson>,
    /// The place after which the next page begins: its `after`; null after the last page.
    #[schema(required)]
    pub(super) next: Option<String>,
    /// The number of all items.
    pub(super) waiting: usize,
}

impl ItemJson {
    /// Returns the approximate number of bytes of its question.
    pub(super) fn size(&self) -> usize {
        self.question.as_ref().map_or(0, size)
    }

    /// Returns the time of an item on the wire.
    pub(super) fn since(millis: u64) -> String {
        time_text(millis)
    }
}
