//! Events and result of a turn, its usage, and prices of tokens for drivers that report no cost. Plain data, also stored
//! by recordings.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::request::SessionRef;

/// An event of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentEvent {
    /// The agent started, in this session.
    Started(SessionRef),
    /// Output text, or a piece of it.
    Text(String),
    /// Reasoning text.
    Thinking(String),
    /// Start of a tool call.
    ToolCall {
        /// Id of the call.
        id: String,
        /// The tool.
        name: String,
        /// Arguments of the call.
        arguments: Value,
    },
    /// Result of a tool call.
    ToolResult {
        /// Id of the call.
        id: String,
        /// Set if the call succeeded.
        ok: bool,
        /// Result, truncated if long.
        text: String,
    },
    /// Usage of the turn so far.
    Usage(Usage),
    /// Information without effect: a message of an unknown kind, a retry.
    Notice(String),
    /// The turn has ended; the last event.
    Finished(Finished),
}

/// Result of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// Reason why it ended.
    pub status: TurnStatus,
    /// Last message of the agent.
    pub text: String,
    /// Arguments of the submit tool; not yet validated against its schema.
    pub submitted: Option<Value>,
    /// Reference for resuming the session; `None` if the driver cannot.
    pub session: Option<SessionRef>,
    /// Usage.
    pub usage: Usage,
}

/// Reason why a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TurnStatus {
    /// The agent finished.
    Done,
    /// The limit of requests was reached.
    TurnLimit,
    /// The limit of tokens was reached.
    TokenLimit,
    /// The limit of cost was reached.
    CostLimit,
}

/// Usage of turns. Adds up with `+=`.
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
    /// Set if any value is estimated.
    pub estimated: bool,
    /// Tokens of unknown cost, which is not included in `cost`.
    #[serde(skip_serializing_if = "is_zero")]
    pub unpriced: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Usage {
    /// Returns the difference to an earlier usage.
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
    /// Returns the excess over another usage.
    #[must_use]
    pub fn saturating_sub(self, before: Self) -> Self {
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

/// Prices of a model's tokens, in millionths of a dollar per million tokens: 3 dollars are 3 000 000. Tokens written to
/// a cache cost the same as tokens read.
///
/// ```
/// # use superstep_agents as superstep;
/// use superstep::drivers::{Price, Usage};
/// let price = Price { input: 3_000_000, output: 15_000_000, cache_read: 300_000 };
/// let usage = Usage { input: 1_000, output: 100, ..Usage::default() };
/// assert_eq!(price.of(&usage), 4_500);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Price {
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Tokens read from a cache.
    pub cache_read: u64,
}

/// Formats millionths of a dollar for people, to the hundredth of a cent: `$0.0160`.
pub fn dollars(millionths: u64) -> String {
    format!("${}.{:04}", millionths / 1_000_000, millionths % 1_000_000 / 100)
}

impl Price {
    /// Returns the cost of the tokens of a usage, in millionths of a dollar, rounded up.
    pub fn of(&self, usage: &Usage) -> u64 {
        let part = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let read = usage.input.saturating_add(usage.cache_write);
        let sum = part(read, self.input) + part(usage.output, self.output) + part(usage.cache_read, self.cache_read);
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}
