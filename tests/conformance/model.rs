//! The format of a case: graphs, channels, nodes and edges, as in the case files. Knows the format only; an unknown key
//! or kind makes the case unreadable, which the runner reports as a failure.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::expr::Expr;
use crate::ops::{Op, Retry};
use crate::script::Action;
use crate::targets::TargetList;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) graphs: BTreeMap<String, Graph>,
    #[serde(default = "main_graph")]
    pub(crate) main: String,
    #[serde(default)]
    pub(crate) store: Store,
    #[serde(default)]
    pub(crate) script: Vec<Action>,
    pub(crate) expected: Expected,
    #[serde(default)]
    pub(crate) quirk: bool,
    #[serde(default)]
    pub(crate) quirk_actions: OneOrMany,
    #[serde(default, rename = "features")]
    _features: Value,
    #[serde(default, rename = "notes")]
    _notes: Value,
    #[serde(default, rename = "seed")]
    _seed: Value,
    #[serde(default, rename = "quirk_why")]
    _quirk_why: Value,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Store {
    #[default]
    Sqlite,
    Memory,
    None,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expected {
    pub(crate) steps: Option<Vec<Value>>,
    pub(crate) build_error: Option<Value>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Graph {
    pub(crate) channels: BTreeMap<String, Channel>,
    pub(crate) input: Option<Vec<String>>,
    pub(crate) output: Option<Vec<String>>,
    pub(crate) nodes: Vec<Node>,
    #[serde(default)]
    pub(crate) edges: Vec<Edge>,
    #[serde(default)]
    pub(crate) branches: Vec<Branch>,
    pub(crate) entry: Option<String>,
    pub(crate) finish: Option<String>,
    pub(crate) interrupt_before: Option<Names>,
    pub(crate) interrupt_after: Option<Names>,
    #[serde(default)]
    pub(crate) checkpointer: SubgraphStore,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SubgraphStore {
    #[default]
    Inherit,
    Own,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Channel {
    pub(crate) kind: ChannelKind,
    /// For `ephemeral` and `untracked`: two writes in one superstep are an error.
    #[serde(default = "yes")]
    pub(crate) guard: bool,
    /// For `topic`: kept over supersteps.
    #[serde(default)]
    pub(crate) accumulate: bool,
    /// For `delta_append`: number of updates after which the full value is stored; not visible in outcomes.
    #[serde(default = "full_value_every")]
    pub(crate) every: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChannelKind {
    LastValue,
    Append,
    Add,
    Concat,
    Union,
    Merge,
    Max,
    OptMin,
    Messages,
    Ephemeral,
    Untracked,
    AnyValue,
    Topic,
    AfterFinish,
    DeltaAppend,
    IsLastStep,
    RemainingSteps,
}

/// `[from, to]`; several sources are a join.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Edge(pub(crate) Sources, pub(crate) String);

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Sources {
    One(String),
    Join(Vec<String>),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Branch {
    pub(crate) from: String,
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) cases: Vec<BranchCase>,
    #[serde(default, rename = "else")]
    pub(crate) otherwise: TargetList,
    /// Labels to node names; without it the strings of a target list are node names.
    #[serde(default)]
    pub(crate) targets: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BranchCase {
    pub(crate) when: Expr,
    pub(crate) to: TargetList,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Node {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) ops: Vec<Op>,
    pub(crate) subgraph: Option<String>,
    pub(crate) input: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) defer: bool,
    #[serde(default)]
    pub(crate) retry: Retry,
    #[serde(default)]
    pub(crate) cache: bool,
    pub(crate) on_error: Option<Vec<Op>>,
    pub(crate) destinations: Option<Vec<String>>,
}

/// `"*"` or a list of node names.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Names {
    Word(EveryNode),
    List(Vec<String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum EveryNode {
    #[serde(rename = "*")]
    All,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "OneOrManyForm")]
pub(crate) struct OneOrMany(pub(crate) Vec<String>);

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrManyForm {
    None,
    One(String),
    Many(Vec<String>),
}

impl From<OneOrManyForm> for OneOrMany {
    fn from(form: OneOrManyForm) -> Self {
        match form {
            OneOrManyForm::None => Self(Vec::new()),
            OneOrManyForm::One(name) => Self(vec![name]),
            OneOrManyForm::Many(names) => Self(names),
        }
    }
}

/// Distinguishes `null` from an absent key.
pub(crate) fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

fn main_graph() -> String {
    "main".to_owned()
}

fn yes() -> bool {
    true
}

fn full_value_every() -> u64 {
    1000
}
