//! Questions to people that come up while agents work, and their answers: an agent's own, a review that cannot be read, a
//! session that is refused, a budget that is used up. Plain data.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::work::WrittenOverride;
use crate::drivers::{Account, RunLimits};
use crate::graph::__private::question_schemas;
use crate::graph::interrupt::ReplyKind;
use crate::graph::{HumanQuestion, Interrupt, QuestionSchemas, Reply};

/// A question of a developer that is blocked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Interrupt, JsonSchema)]
#[interrupt(resume = AgentReply, name = "question", schema)]
pub struct AgentQuestion {
    /// The task's number.
    pub task: String,
    /// Its title.
    pub title: String,
    /// The question.
    #[schemars(extend("format" = "markdown"))]
    pub question: String,
    /// The work until then.
    #[schemars(extend("format" = "markdown"))]
    pub summary: String,
}

impl<S> HumanQuestion<S> for AgentQuestion {
    fn decide(&self, reply: &Reply) -> Option<AgentReply> {
        match reply.kind {
            ReplyKind::Revise => Some(AgentReply::Reply { text: reply.feedback.clone()? }),
            ReplyKind::Approve | ReplyKind::Reject => None,
        }
    }
}

/// The reply to a developer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AgentReply {
    /// The answer.
    Reply {
        /// As text.
        #[schemars(extend("format" = "markdown"))]
        text: String,
    },
}

/// Asks how to continue with work without a readable review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Interrupt, JsonSchema)]
#[interrupt(resume = AfterMissingReview, name = "review_unavailable", schema)]
pub struct ReviewUnavailable {
    /// The task's number.
    pub task: String,
    /// Its title.
    pub title: String,
    /// The reason why the last answer could not be read.
    pub reason: String,
    /// The number of reviews so far.
    pub tries: u32,
}

impl<S> HumanQuestion<S> for ReviewUnavailable {
    fn decide(&self, reply: &Reply) -> Option<AfterMissingReview> {
        match reply.kind {
            ReplyKind::Approve => Some(AfterMissingReview::Accept),
            ReplyKind::Reject => Some(AfterMissingReview::Abort),
            ReplyKind::Revise => None,
        }
    }
}

/// The decision on work that nobody has judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AfterMissingReview {
    /// Request a review again.
    Retry,
    /// Approve it.
    Accept,
    /// End the run.
    Abort,
}

/// Asks how to continue with a session that the server always refuses: it is too long, is blocked by a filter, or its
/// requests are considered invalid.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Interrupt, JsonSchema)]
#[interrupt(resume = AfterRefusal, name = "session_refused", schema)]
pub struct SessionRefused {
    /// The role of the session: `developer`.
    pub role: String,
    /// The task's number; empty if the session belongs to none.
    pub task: String,
    /// The title of the task.
    pub title: String,
    /// The driver.
    pub driver: String,
    /// The model; none: the driver's own choice.
    pub model: Option<String>,
    /// The message of the server.
    pub reason: String,
    /// The number of refusals.
    pub tries: u32,
    /// The reason why the answer before could not be followed.
    #[serde(default)]
    pub problem: Option<String>,
}

impl<S> HumanQuestion<S> for SessionRefused {
    fn decide(&self, reply: &Reply) -> Option<AfterRefusal> {
        match reply.kind {
            ReplyKind::Approve => Some(AfterRefusal::Fresh),
            ReplyKind::Reject => Some(AfterRefusal::Abort),
            ReplyKind::Revise => None,
        }
    }
}

/// The decision on a session that the server refuses. As JSON: `"fresh"`, `{"model": "NAME"}`, `"retry"`, `"skip"` or
/// `"abort"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AfterRefusal {
    /// Continue in a new session, with the task, the findings and the changes so far.
    Fresh,
    /// Continue the session with another model, for the rest of the task.
    Model(String),
    /// Send the same request again.
    Retry,
    /// Set the task aside, and start the next.
    Skip,
    /// End the run.
    Abort,
}

/// Asks how to continue with a run that has used up its budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetReached {
    /// The limits that are reached: `cost`, `tokens`, `wall`.
    pub reached: Vec<String>,
    /// The usage, a line for each limit: `cost: $5.0213 of $5.0000`.
    pub spent: Vec<String>,
    /// Role of the agent whose turn cannot start or continue.
    pub role: String,
    /// The number of its task; empty if it has none.
    pub task: String,
    /// The cost in all, in millionths of a dollar.
    pub cost: u64,
    /// The number of tokens in all.
    pub tokens: u64,
    /// The number of those whose cost is not known.
    #[serde(default)]
    pub unpriced: u64,
    /// The working time of all agents, in seconds.
    pub seconds: u64,
    /// The reason why the answer before could not be followed.
    #[serde(default)]
    pub problem: Option<String>,
}

/// The decision on a run whose budget is used up. As JSON: `{"raise": {"cost": 10}}` or `"abort"`; for a task that is
/// decided by rules also `{"override": {"decision": "DONE", "why": ".."}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AfterBudget {
    /// Continue with new limits.
    Raise(RaisedLimits),
    /// End the run.
    Abort,
    /// Decide on its task in place of the rules. Other runs refuse this answer.
    Override(WrittenOverride),
}

impl AfterBudget {
    /// Returns the answer that a reply gives: nothing but the end; new limits are numbers.
    pub fn of(reply: &Reply) -> Option<Self> {
        (reply.kind == ReplyKind::Reject).then_some(Self::Abort)
    }
}

/// New limits of a run, which replace the current ones. A limit that is not given is unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RaisedLimits {
    /// Dollars, stored in millionths.
    #[serde(with = "dollars", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>", range(min = 0.000_001, max = 1e9))]
    pub cost: Option<u64>,
    /// Tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Working time of agents: seconds, or a text such as `90s`, `10m`, `1h`.
    #[serde(with = "span", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "span::schema")]
    pub wall: Option<Duration>,
}

impl From<RaisedLimits> for RunLimits {
    fn from(raised: RaisedLimits) -> Self {
        let mut limits = Self::default();
        (limits.cost, limits.tokens, limits.wall) = (raised.cost, raised.tokens, raised.wall);
        limits
    }
}

#[diagnostic::do_not_recommend]
impl Interrupt for BudgetReached {
    type Resume = AfterBudget;
    const NAME: &'static str = "budget";

    fn answer_shape() -> String {
        r#"{"raise": {"cost": DOLLARS, "tokens": NUMBER, "wall": "30m"}}, the new limits of the whole run, above what is used, or "abort""#.into()
    }

    fn schemas() -> QuestionSchemas {
        question_schemas::<Self, AfterBudget>()
    }
}

impl BudgetReached {
    /// Returns the question about an account, asked for a turn of a role and task.
    pub fn of(account: &Account, role: &str, task: &str) -> Self {
        let Account { spent, worked_ms, .. } = account;
        Self {
            reached: account.reached_limits().into_iter().map(str::to_owned).collect(),
            spent: account.lines(),
            role: role.to_owned(),
            task: task.to_owned(),
            cost: spent.cost,
            tokens: spent.tokens(),
            unpriced: spent.unpriced,
            seconds: worked_ms / 1000,
            problem: None,
        }
    }
}

/// Dollars in JSON, millionths in memory.
mod dollars {
    use serde::de::Error;

    use super::{Deserialize, Deserializer, Serializer};

    #[allow(clippy::cast_precision_loss, clippy::ref_option, reason = "exact up to a billion dollars; serde's shape")]
    pub(in crate::nodes) fn serialize<S: Serializer>(cost: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
        match cost {
            Some(cost) => to.serialize_f64(*cost as f64 / 1e6),
            None => to.serialize_none(),
        }
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
    pub(in crate::nodes) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
        let Some(dollars) = Option::<f64>::deserialize(from)? else { return Ok(None) };
        let is_amount = (0.000_001..=1e9).contains(&dollars);
        let wrong = || D::Error::custom(format!("`{dollars}` is not an amount of dollars above 0"));
        if is_amount { Ok(Some((dollars * 1e6).round() as u64)) } else { Err(wrong()) }
    }
}

/// A time as seconds or as text.
mod span {
    use std::time::Duration;

    use schemars::{Schema, SchemaGenerator, json_schema};
    use serde::de::Error;

    use super::{Deserialize, Deserializer, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum SpanValue {
        Seconds(u64),
        Text(String),
    }

    #[allow(clippy::ref_option, reason = "serde's shape")]
    pub(in crate::nodes) fn serialize<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => to.serialize_u64(time.as_secs()),
            None => to.serialize_none(),
        }
    }

    pub(in crate::nodes) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        let seconds = match Option::<SpanValue>::deserialize(from)? {
            None => return Ok(None),
            Some(SpanValue::Seconds(seconds)) => Some(seconds),
            Some(SpanValue::Text(text)) => seconds(&text),
        };
        let wrong = || D::Error::custom("a time must be a number of seconds, or a string such as `90s`, `10m`, `1h`");
        seconds.map(Duration::from_secs).map(Some).ok_or_else(wrong)
    }

    pub(super) fn schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "integer", "minimum": 0 },
            { "type": "string", "pattern": r"^\s*\+?[0-9]+\s*[smh]$" },
            { "type": "null" },
        ] })
    }

    fn seconds(text: &str) -> Option<u64> {
        let (number, factor) = [("s", 1), ("m", 60), ("h", 3600)]
            .into_iter()
            .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
        number.trim().parse::<u64>().ok()?.checked_mul(factor)
    }
}
