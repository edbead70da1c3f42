//! Expressions of case files, parsed once. An operation that is not in the format is refused here, before a case runs.
//! Evaluation is in `eval`.

use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Value")]
pub(crate) enum Expr {
    Value(Value),
    List(Vec<Expr>),
    Object(Vec<(String, Expr)>),
    Channel(String),
    HasChannel(String),
    Var(String),
    Input,
    Item,
    Index,
    Runs,
    Error(String),
    If(Box<[Expr; 3]>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Apply(Func, Box<Expr>),
}

/// An operation that evaluates its argument first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Func {
    Not,
    Add,
    Sub,
    Mul,
    Mod,
    Sum,
    Concat,
    Str,
    Len,
    Sort,
    Last,
    Range,
    Get,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Overwrite,
    Message,
    Remove,
    RemoveAll,
}

impl TryFrom<Value> for Expr {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value {
            Value::Array(items) => parse_all(items).map(Self::List),
            Value::Object(map) => {
                let mut entries: Vec<(String, Value)> = map.into_iter().collect();
                match entries.as_slice() {
                    [(op, _)] if op.starts_with('$') => {
                        let (op, argument) = entries.remove(0);
                        parse_op(&op, argument)
                    }
                    _ => parse_entries(entries).map(Self::Object),
                }
            }
            scalar => Ok(Self::Value(scalar)),
        }
    }
}

fn parse_all(items: Vec<Value>) -> Result<Vec<Expr>, String> {
    items.into_iter().map(Expr::try_from).collect()
}

fn parse_entries(entries: Vec<(String, Value)>) -> Result<Vec<(String, Expr)>, String> {
    entries.into_iter().map(|(key, value)| Ok((key, Expr::try_from(value)?))).collect()
}

fn parse_op(op: &str, argument: Value) -> Result<Expr, String> {
    match op {
        "$lit" => Ok(Expr::Value(argument)),
        "$ch" => name(op, argument).map(Expr::Channel),
        "$has" => name(op, argument).map(Expr::HasChannel),
        "$var" => name(op, argument).map(Expr::Var),
        "$error" => name(op, argument).map(Expr::Error),
        "$input" => Ok(Expr::Input),
        "$item" => Ok(Expr::Item),
        "$index" => Ok(Expr::Index),
        "$runs" => Ok(Expr::Runs),
        "$if" => three(list(op, argument)?).map(Expr::If),
        "$and" => list(op, argument).map(Expr::And),
        "$or" => list(op, argument).map(Expr::Or),
        other => {
            let func = func(other).ok_or_else(|| format!("unknown expression `{other}`"))?;
            Ok(Expr::Apply(func, Box::new(Expr::try_from(argument)?)))
        }
    }
}

fn func(op: &str) -> Option<Func> {
    Some(match op {
        "$not" => Func::Not,
        "$add" => Func::Add,
        "$sub" => Func::Sub,
        "$mul" => Func::Mul,
        "$mod" => Func::Mod,
        "$sum" => Func::Sum,
        "$concat" => Func::Concat,
        "$str" => Func::Str,
        "$len" => Func::Len,
        "$sort" => Func::Sort,
        "$last" => Func::Last,
        "$range" => Func::Range,
        "$get" => Func::Get,
        "$eq" => Func::Eq,
        "$ne" => Func::Ne,
        "$lt" => Func::Lt,
        "$le" => Func::Le,
        "$gt" => Func::Gt,
        "$ge" => Func::Ge,
        "$overwrite" => Func::Overwrite,
        "$msg" => Func::Message,
        "$remove" => Func::Remove,
        "$remove_all" => Func::RemoveAll,
        _ => return None,
    })
}

fn name(op: &str, argument: Value) -> Result<String, String> {
    match argument {
        Value::String(name) => Ok(name),
        other => Err(format!("`{op}` takes a name, not {other}")),
    }
}

fn list(op: &str, argument: Value) -> Result<Vec<Expr>, String> {
    match argument {
        Value::Array(items) => parse_all(items),
        other => Err(format!("`{op}` takes a list, not {other}")),
    }
}

fn three(items: Vec<Expr>) -> Result<Box<[Expr; 3]>, String> {
    let count = items.len();
    <[Expr; 3]>::try_from(items).map(Box::new).map_err(|_| format!("`$if` takes three expressions, not {count}"))
}
