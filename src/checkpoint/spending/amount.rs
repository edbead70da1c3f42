//! Tokens and cost, and what a task reports of them. Pure.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Tokens by kind, and their cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Amount {
    /// Tokens read, without those from a cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub input: u64,
    /// Tokens written.
    #[serde(skip_serializing_if = "is_zero")]
    pub output: u64,
    /// Tokens read from a cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_read: u64,
    /// Tokens written to a cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write: u64,
    /// Millionths of a dollar.
    #[serde(skip_serializing_if = "is_zero")]
    pub cost: u64,
    /// The tokens of unknown cost, which `cost` does not include.
    #[serde(skip_serializing_if = "is_zero")]
    pub unpriced: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Amount {
    /// Returns the tokens of a message in LangChain's form, in which cached tokens are part of the input; `None` for one without
    /// `usage_metadata`.
    pub fn of_message(message: &Value) -> Option<Self> {
        let usage = message.get("usage_metadata").filter(|usage| usage.is_object())?;
        let number = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
        let cache_read = number("/input_token_details/cache_read");
        let cache_write = number("/input_token_details/cache_creation");
        let input = number("/input_tokens").saturating_sub(cache_read).saturating_sub(cache_write);
        Some(Self { input, output: number("/output_tokens"), cache_read, cache_write, ..Self::default() })
    }

    /// Returns all tokens.
    pub fn tokens(&self) -> u64 {
        [self.input, self.output, self.cache_read, self.cache_write].into_iter().fold(0, u64::saturating_add)
    }

    /// Returns the sum of two amounts.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.join(other, u64::saturating_add)
    }

    /// Returns the excess over another amount.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.join(other, u64::saturating_sub)
    }

    /// Returns the larger of each part.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        self.join(other, u64::max)
    }

    fn join(self, other: Self, join: fn(u64, u64) -> u64) -> Self {
        Self {
            input: join(self.input, other.input),
            output: join(self.output, other.output),
            cache_read: join(self.cache_read, other.cache_read),
            cache_write: join(self.cache_write, other.cache_write),
            cost: join(self.cost, other.cost),
            unpriced: join(self.unpriced, other.unpriced),
        }
    }
}

/// An expense of a task: what a call of a model, or of anything else that costs, has used.
///
/// ```
/// use superstep::checkpoint::spending::Expense;
/// let expense = Expense::tokens(900, 120).cost(4_000).role("writer"); // 0.4 cents
/// assert_eq!((expense.amount().tokens(), expense.amount().cost), (1_020, 4_000));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "an expense counts once a task reports it"]
pub struct Expense {
    amount: Amount,
    pub(crate) key: Option<String>,
    pub(crate) role: Option<String>,
    pub(crate) task: Option<String>,
}

impl Expense {
    /// Returns an expense of this amount.
    pub fn new(amount: Amount) -> Self {
        Self { amount, ..Self::default() }
    }

    /// Returns an expense of tokens read and written, of unknown cost.
    pub fn tokens(input: u64, output: u64) -> Self {
        Self::new(Amount { input, output, unpriced: input.saturating_add(output), ..Amount::default() })
    }

    /// Sets the cost of all tokens, in millionths of a dollar.
    pub fn cost(mut self, cost: u64) -> Self {
        (self.amount.cost, self.amount.unpriced) = (cost, 0);
        self
    }

    /// Sets the role that it was for; the name of the node, unless set.
    pub fn role(self, role: impl Into<String>) -> Self {
        Self { role: Some(role.into()), ..self }
    }

    /// Sets the work that it was for, as people know it; the label of the task or the name of the node, unless set.
    pub fn task(self, task: impl Into<String>) -> Self {
        Self { task: Some(task.into()), ..self }
    }

    /// Makes it the whole amount so far of what has this key within the task: a later report replaces it, the same one again
    /// changes nothing.
    pub fn key(self, key: impl Into<String>) -> Self {
        Self { key: Some(key.into()), ..self }
    }

    /// Returns the amount.
    pub fn amount(&self) -> Amount {
        self.amount
    }
}
