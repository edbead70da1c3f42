//! The script of a case: actions, their configuration, commands and references to checkpoints. Knows the format only.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::expr::Expr;
use crate::model::{Names, OneOrMany, present};
use crate::ops::UpGraph;
use crate::targets::TargetList;

/// One action, with the keys of every verb, so that an unknown key is refused.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Action {
    #[serde(rename = "do")]
    pub(crate) verb: Verb,
    #[serde(default = "first_thread")]
    pub(crate) thread: String,
    pub(crate) graph: Option<String>,
    pub(crate) at: Option<Reference>,
    pub(crate) input: Option<Expr>,
    pub(crate) command: Option<CommandInput>,
    #[serde(default)]
    pub(crate) config: Config,
    #[serde(default)]
    pub(crate) modes: Vec<Mode>,
    #[serde(default)]
    pub(crate) subgraphs: bool,
    pub(crate) save: Option<String>,
    pub(crate) limit: Option<usize>,
    pub(crate) before: Option<Reference>,
    #[serde(default)]
    pub(crate) filter: Map<String, Value>,
    pub(crate) values: Option<Expr>,
    pub(crate) as_node: Option<String>,
    #[serde(default)]
    pub(crate) supersteps: Vec<Vec<UpdateWrite>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verb {
    Invoke,
    Stream,
    GetState,
    History,
    Update,
    BulkUpdate,
    Restart,
    /// Not in LangGraph: compares the thread with the present graph.
    Verify,
}

impl Verb {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Invoke => "invoke",
            Self::Stream => "stream",
            Self::GetState => "get_state",
            Self::History => "history",
            Self::Update => "update",
            Self::BulkUpdate => "bulk_update",
            Self::Restart => "restart",
            Self::Verify => "verify",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    Values,
    Updates,
    Custom,
    Tasks,
    Checkpoints,
    Debug,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// Limit of supersteps. May be invalid (0, negative): then `invalid_config`.
    #[serde(default = "fifty")]
    pub(crate) recursion_limit: i64,
    #[serde(default)]
    pub(crate) durability: Durability,
    pub(crate) interrupt_before: Option<Names>,
    pub(crate) interrupt_after: Option<Names>,
}

impl Default for Config {
    fn default() -> Self {
        let durability = Durability::default();
        Self { recursion_limit: fifty(), durability, interrupt_before: None, interrupt_after: None }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Durability {
    #[default]
    Sync,
    Async,
    Exit,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommandInput {
    /// Distinguishes `null` from no answer.
    #[serde(default, deserialize_with = "present")]
    pub(crate) resume: Option<Expr>,
    pub(crate) resume_map: Option<Vec<Answer>>,
    pub(crate) goto: Option<TargetList>,
    pub(crate) update: Option<Expr>,
    pub(crate) graph: Option<UpGraph>,
}

/// One named answer: by the question's payload, by its number in this case, or by an unknown id.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    #[serde(default, rename = "match", deserialize_with = "present")]
    pub(crate) payload: Option<Value>,
    pub(crate) raw_id: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) value: Expr,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reference {
    pub(crate) history: Option<i64>,
    pub(crate) label: Option<String>,
    pub(crate) task: Option<OneOrMany>,
    /// With `task`: the latest checkpoint of that subgraph, whatever it is.
    #[serde(default)]
    pub(crate) latest: bool,
    /// With `task`: the k-th newest checkpoint of that subgraph.
    pub(crate) sub_history: Option<i64>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateWrite {
    pub(crate) values: Option<Expr>,
    pub(crate) as_node: Option<String>,
}

fn first_thread() -> String {
    "t1".to_owned()
}

fn fifty() -> i64 {
    50
}
