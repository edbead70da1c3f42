//! What an agent says while it works, and what a turn comes to. Plain data, stored by those who record turns.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::request::SessionRef;

/// Something that happened in a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AgentEvent {
    /// The agent began, in this session.
    Started(SessionRef),
    /// It said something, or a piece of it.
    Text(String),
    /// It thought.
    Thinking(String),
    /// It uses a tool.
    ToolCall {
        /// Tells calls apart.
        id: String,
        /// The tool.
        name: String,
        /// What it was given.
        arguments: Value,
    },
    /// A tool answered.
    ToolResult {
        /// The call's.
        id: String,
        /// Whether it did what it was asked.
        ok: bool,
        /// The answer, cut where it is long.
        text: String,
    },
    /// What the turn has used so far.
    Usage(Usage),
    /// Something to know that changes nothing: a message of an unknown kind, a request that is tried again.
    Notice(String),
    /// The turn has ended; the last event.
    Finished(Finished),
}

/// What a turn came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// Why it ended.
    pub status: Status,
    /// What the agent said last.
    pub text: String,
    /// What it handed to the submit tool; not yet checked against its schema.
    pub submitted: Option<Value>,
    /// How to go on in the same session; none if the driver cannot.
    pub session: Option<SessionRef>,
    /// What it used.
    pub usage: Usage,
}

/// Why a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Status {
    /// The agent was done.
    Done,
    /// It used as many requests as it may.
    TurnLimit,
    /// It used as many tokens as it may.
    TokenLimit,
    /// It cost as much as it may.
    CostLimit,
}

/// What turns use. Adds up with `+=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens read, without those from a cache.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Tokens read from a cache.
    pub cache_read: u64,
    /// Tokens written to a cache.
    pub cache_write: u64,
    /// Millionths of a dollar.
    pub cost: u64,
    /// Requests to a model.
    pub requests: u64,
    /// Milliseconds.
    pub ms: u64,
    /// Whether any of it is estimated.
    pub estimated: bool,
    /// Tokens whose cost is not known: it is not part of `cost`.
    #[serde(skip_serializing_if = "is_zero")]
    pub unpriced: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Usage {
    /// Returns what was used since then.
    #[must_use]
    pub fn since(self, then: Self) -> Self {
        Self {
            input: self.input.saturating_sub(then.input),
            output: self.output.saturating_sub(then.output),
            cache_read: self.cache_read.saturating_sub(then.cache_read),
            cache_write: self.cache_write.saturating_sub(then.cache_write),
            cost: self.cost.saturating_sub(then.cost),
            requests: self.requests.saturating_sub(then.requests),
            ms: self.ms.saturating_sub(then.ms),
            estimated: self.estimated,
            unpriced: self.unpriced.saturating_sub(then.unpriced),
        }
    }

    /// Returns all tokens.
    pub fn tokens(&self) -> u64 {
        [self.input, self.output, self.cache_read, self.cache_write].into_iter().fold(0, u64::saturating_add)
    }
}

impl Usage {
    /// Returns what is used beyond another usage.
    #[must_use]
    pub fn beyond(self, before: Self) -> Self {
        Self {
            input: self.input.saturating_sub(before.input),
            output: self.output.saturating_sub(before.output),
            cache_read: self.cache_read.saturating_sub(before.cache_read),
            cache_write: self.cache_write.saturating_sub(before.cache_write),
            cost: self.cost.saturating_sub(before.cost),
            requests: self.requests.saturating_sub(before.requests),
            ms: self.ms.saturating_sub(before.ms),
            estimated: self.estimated,
            unpriced: self.unpriced.saturating_sub(before.unpriced),
        }
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        let add = |to: &mut u64, more: u64| *to = to.saturating_add(more);
        add(&mut self.input, other.input);
        add(&mut self.output, other.output);
        add(&mut self.cache_read, other.cache_read);
        add(&mut self.cache_write, other.cache_write);
        add(&mut self.cost, other.cost);
        add(&mut self.requests, other.requests);
        add(&mut self.ms, other.ms);
        add(&mut self.unpriced, other.unpriced);
        self.estimated = self.estimated || other.estimated;
    }
}
