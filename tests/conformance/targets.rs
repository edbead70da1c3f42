//! Target lists: the targets of a branch or a command. Parses and evaluates them, and maps a branch's labels.

use serde::Deserialize;
use serde_json::Value;

use crate::eval::Env;
use crate::expr::Expr;
use crate::model::{Branch, present};
use crate::python::{self, PythonError, Result, truthy};

/// Zero or more targets; a single one may be written without its list.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(try_from = "Value")]
pub(crate) struct TargetList(Vec<Target>);

#[derive(Debug, Clone)]
enum Target {
    Name(String),
    Send(SendOne),
    SendEach(SendEach),
    If(Either),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct SendOne {
    send: String,
    payload: Option<Expr>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct SendEach {
    send_each: String,
    over: Expr,
    #[serde(default, deserialize_with = "present")]
    payload: Option<Expr>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Either {
    #[serde(rename = "if")]
    cond: Expr,
    then: TargetList,
    #[serde(default, rename = "else")]
    otherwise: TargetList,
}

impl TryFrom<Value> for TargetList {
    type Error = String;

    fn try_from(value: Value) -> std::result::Result<Self, String> {
        match value {
            Value::Array(items) => items.into_iter().map(parse).collect::<std::result::Result<_, _>>().map(Self),
            one => parse(one).map(|target| Self(vec![target])),
        }
    }
}

fn parse(value: Value) -> std::result::Result<Target, String> {
    let shown = value.to_string();
    let parsed = match value {
        Value::String(name) => return Ok(Target::Name(name)),
        value if value.get("send").is_some() => serde_json::from_value(value).map(Target::Send),
        value if value.get("send_each").is_some() => serde_json::from_value(value).map(Target::SendEach),
        value if value.get("if").is_some() => serde_json::from_value(value).map(Target::If),
        _ => return Err(format!("{shown} is not a target")),
    };
    parsed.map_err(|error| format!("bad target {shown}: {error}"))
}

/// One target.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Goto {
    Node(String),
    Start,
    End,
    /// One task of the node with the payload as its whole input. The node may be `END`, which the engine refuses.
    Send {
        node: String,
        payload: Value,
    },
}

impl Goto {
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "START" | "__start__" => Self::Start,
            "END" | "__end__" => Self::End,
            name => Self::Node(name.to_owned()),
        }
    }
}

impl TargetList {
    pub(crate) fn eval(&self, env: &Env) -> Result<Vec<Goto>> {
        let mut out = Vec::new();
        for target in &self.0 {
            match target {
                Target::Name(name) => out.push(Goto::named(name)),
                Target::Send(send) => out.push(send.eval(env)?),
                Target::SendEach(sends) => out.extend(sends.eval(env)?),
                Target::If(either) => out.extend(either.pick(env)?.eval(env)?),
            }
        }
        Ok(out)
    }

    /// Evaluates the list; strings are labels of `branch`.
    fn eval_labels(&self, branch: &Branch, env: &Env) -> std::result::Result<Vec<Goto>, RouteError> {
        let mut out = Vec::new();
        for target in &self.0 {
            match target {
                Target::Name(label) => out.push(labelled(branch, label)?),
                Target::Send(send) => out.push(send.eval(env)?),
                Target::SendEach(sends) => out.extend(sends.eval(env)?),
                Target::If(either) => out.extend(either.pick(env)?.eval_labels(branch, env)?),
            }
        }
        Ok(out)
    }
}

impl SendOne {
    fn eval(&self, env: &Env) -> Result<Goto> {
        let payload = self.payload.as_ref().map_or(Ok(Value::Null), |payload| payload.eval(env))?;
        Ok(Goto::Send { node: self.send.clone(), payload })
    }
}

impl SendEach {
    fn eval(&self, env: &Env) -> Result<Vec<Goto>> {
        let over = self.over.eval(env)?;
        let items = if truthy(&over) { python::iterate(&over)? } else { Vec::new() };
        items.into_iter().enumerate().map(|(index, item)| self.one(item, index, env)).collect()
    }

    fn one(&self, item: Value, index: usize, env: &Env) -> Result<Goto> {
        let node = self.send_each.clone();
        let Some(payload) = &self.payload else { return Ok(Goto::Send { node, payload: item }) };
        let env = Env { item: Some(item), index: Some(index), ..env.clone() };
        Ok(Goto::Send { node, payload: payload.eval(&env)? })
    }
}

impl Either {
    fn pick(&self, env: &Env) -> Result<&TargetList> {
        Ok(if self.cond.test(env)? { &self.then } else { &self.otherwise })
    }
}

/// The reason why a branch has no target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RouteError {
    PythonError(PythonError),
    UnknownLabel(String),
    InvalidDestination,
    SendToEnd,
}

impl From<PythonError> for RouteError {
    fn from(raised: PythonError) -> Self {
        Self::PythonError(raised)
    }
}

fn labelled(branch: &Branch, label: &str) -> std::result::Result<Goto, RouteError> {
    let node = branch.targets.as_ref().and_then(|targets| targets.get(label));
    node.map(|node| Goto::named(node)).ok_or_else(|| RouteError::UnknownLabel(label.to_owned()))
}

impl Branch {
    /// Returns the targets of the branch after a task that reads `env`.
    pub(crate) fn route(&self, env: &Env) -> std::result::Result<Vec<Goto>, RouteError> {
        let to = self.chosen(env)?;
        let labels = self.targets.as_ref().is_some_and(|targets| !targets.is_empty());
        if labels { to.eval_labels(self, env) } else { Ok(to.eval(env)?) }
    }

    fn chosen(&self, env: &Env) -> Result<&TargetList> {
        for case in &self.cases {
            if case.when.test(env)? {
                return Ok(&case.to);
            }
        }
        Ok(&self.otherwise)
    }
}

/// Checks a branch's result as LangGraph does: START is no target, and END takes no send.
pub(crate) fn check_route(ways: &[Goto]) -> std::result::Result<(), RouteError> {
    if ways.contains(&Goto::Start) {
        return Err(RouteError::InvalidDestination);
    }
    let to_end = |way: &Goto| matches!(way, Goto::Send { node, .. } if Goto::named(node) == Goto::End);
    if ways.iter().any(to_end) { Err(RouteError::SendToEnd) } else { Ok(()) }
}
