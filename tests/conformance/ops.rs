//! The ops of a node and its retry policies, as in the case files. Knows the format only.

use serde::Deserialize;

use crate::expr::Expr;
use crate::targets::TargetList;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "Option<RetrySpec>")]
pub(crate) struct Retry(pub(crate) Vec<RetryPolicy>);

#[derive(Deserialize)]
#[serde(untagged)]
enum RetrySpec {
    One(RetryPolicy),
    Many(Vec<RetryPolicy>),
}

impl From<Option<RetrySpec>> for Retry {
    fn from(spec: Option<RetrySpec>) -> Self {
        match spec {
            None => Self(Vec::new()),
            Some(RetrySpec::One(policy)) => Self(vec![policy]),
            Some(RetrySpec::Many(policies)) => Self(policies),
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RetryPolicy {
    #[serde(default = "three")]
    pub(crate) max_attempts: u32,
    #[serde(default)]
    pub(crate) on: RetryOn,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(untagged)]
pub(crate) enum RetryOn {
    #[default]
    #[serde(skip)]
    Unsaid,
    Word(RetryWord),
    Kinds(Vec<FailKind>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RetryWord {
    All,
    Default,
}

impl RetryPolicy {
    /// Returns true if this policy covers a failure of the kind; `None` is an error that no `fail` op raised.
    pub(crate) fn covers(&self, kind: Option<FailKind>) -> bool {
        match &self.on {
            RetryOn::Word(RetryWord::All) => true,
            RetryOn::Word(RetryWord::Default) | RetryOn::Unsaid => kind.is_some_and(|kind| kind != FailKind::NoRetry),
            RetryOn::Kinds(kinds) => kind.is_some_and(|kind| kinds.contains(&kind)),
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum FailKind {
    #[default]
    A,
    B,
    #[serde(rename = "noretry")]
    NoRetry,
}

impl FailKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
            Self::NoRetry => "noretry",
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Op {
    Set {
        key: String,
        expr: Expr,
    },
    Let {
        #[serde(rename = "as")]
        var: String,
        expr: Expr,
    },
    If {
        cond: Expr,
        then: Vec<Op>,
        #[serde(default, rename = "else")]
        otherwise: Vec<Op>,
    },
    Interrupt {
        payload: Expr,
        #[serde(rename = "as")]
        var: Option<String>,
        key: Option<String>,
    },
    Fail {
        times: Option<u64>,
        #[serde(default)]
        error: FailKind,
        counter: Option<String>,
    },
    Emit {
        expr: Expr,
    },
    Sleep {
        ms: f64,
    },
    Command {
        #[serde(default)]
        goto: TargetList,
        update: Option<Expr>,
        graph: Option<UpGraph>,
    },
    Commands {
        items: Vec<CommandItem>,
    },
    Return {
        expr: Expr,
    },
    Call {
        graph: String,
        input: Expr,
        #[serde(rename = "as")]
        var: String,
    },
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommandItem {
    #[serde(default)]
    pub(crate) goto: TargetList,
    pub(crate) update: Option<Expr>,
    pub(crate) graph: Option<UpGraph>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum UpGraph {
    #[serde(rename = "PARENT")]
    Parent,
}

fn three() -> u32 {
    3
}
