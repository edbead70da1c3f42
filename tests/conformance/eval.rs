//! Evaluates expressions. Special writes are plain objects that the state layer interprets: `{"$overwrite": v}`,
//! `{"$remove": id}`, `{"$remove_all": true}`; a message is `{"id", "type", "content"}`.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::expr::{Expr, Func};
use crate::number::Number;
use crate::python::{self, PythonError, Result, truthy, type_error};

/// The values that an expression can read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Env {
    /// The node's whole input: an object of channels, or any JSON for a task of a send.
    pub(crate) input: Value,
    pub(crate) vars: BTreeMap<String, Value>,
    pub(crate) item: Option<Value>,
    pub(crate) index: Option<usize>,
    /// Number of starts of this node in this case.
    pub(crate) runs: u64,
    /// In an error handler: `{"node", "kind"}`.
    pub(crate) error: Option<Value>,
}

impl Env {
    pub(crate) fn over(input: Value) -> Self {
        Self { input, ..Self::default() }
    }

    /// The environment of an action's own expressions.
    pub(crate) fn of_action() -> Self {
        Self::over(Value::Object(Map::new()))
    }
}

impl Expr {
    pub(crate) fn eval(&self, env: &Env) -> Result<Value> {
        match self {
            Self::Value(value) => Ok(value.clone()),
            Self::List(items) => items.iter().map(|item| item.eval(env)).collect(),
            Self::Object(entries) => entries.iter().map(|(key, expr)| Ok((key.clone(), expr.eval(env)?))).collect(),
            Self::Channel(name) => Ok(env.input.get(name).cloned().unwrap_or_default()),
            Self::HasChannel(name) => Ok(env.input.get(name).is_some().into()),
            Self::Var(name) => Ok(env.vars.get(name).cloned().unwrap_or_default()),
            Self::Input => Ok(env.input.clone()),
            Self::Item => bound(env.item.clone(), "item"),
            Self::Index => bound(env.index.map(Value::from), "index"),
            Self::Runs => Ok(env.runs.into()),
            Self::Error(part) => match &env.error {
                Some(error) => key_of(error, part),
                None => type_error("no error is being handled"),
            },
            Self::If(parts) => {
                let [cond, then, otherwise] = &**parts;
                if cond.test(env)? { then.eval(env) } else { otherwise.eval(env) }
            }
            Self::And(items) => first_that_is(items, env, false).map(|found| Value::from(!found)),
            Self::Or(items) => first_that_is(items, env, true).map(Value::from),
            Self::Apply(func, argument) => apply(*func, &argument.eval(env)?),
        }
    }

    pub(crate) fn test(&self, env: &Env) -> Result<bool> {
        self.eval(env).map(|value| truthy(&value))
    }
}

fn bound(value: Option<Value>, name: &str) -> Result<Value> {
    value.ok_or_else(|| PythonError::new("KeyError", name))
}

fn key_of(object: &Value, key: &str) -> Result<Value> {
    object.get(key).cloned().ok_or_else(|| PythonError::new("KeyError", key))
}

/// Returns whether any expression has this truth value; later ones are not evaluated.
fn first_that_is(items: &[Expr], env: &Env, wanted: bool) -> Result<bool> {
    for item in items {
        if item.test(env)? == wanted {
            return Ok(true);
        }
    }
    Ok(false)
}

fn apply(func: Func, value: &Value) -> Result<Value> {
    match func {
        Func::Not => Ok((!truthy(value)).into()),
        Func::Add => sum(value),
        Func::Sum => sum(or_empty(value)),
        Func::Sub => arithmetic(value, |left, right| Ok(left.sub(right))),
        Func::Mod => modulo(value),
        Func::Mul => python::iterate(value)?.iter().try_fold(Value::from(1), |product, factor| times(&product, factor)),
        Func::Concat => concat(value),
        Func::Str => Ok(if value.is_null() { "null".into() } else { python::text(value).into() }),
        Func::Len => Ok(if value.is_null() { 0.into() } else { python::len(value)?.into() }),
        Func::Sort => sort(or_empty(value)),
        Func::Last => {
            if truthy(value) {
                python::index(value, -1)
            } else {
                Ok(Value::Null)
            }
        }
        Func::Range => range(value),
        Func::Get => get(value),
        Func::Eq => pair(value).map(|(left, right)| python::equal(&left, &right).into()),
        Func::Ne => pair(value).map(|(left, right)| (!python::equal(&left, &right)).into()),
        Func::Lt => compare(value, Ordering::is_lt),
        Func::Le => compare(value, Ordering::is_le),
        Func::Gt => compare(value, Ordering::is_gt),
        Func::Ge => compare(value, Ordering::is_ge),
        Func::Overwrite => Ok(json!({"$overwrite": value})),
        Func::Message => message(value),
        Func::Remove => Ok(json!({"$remove": value})),
        Func::RemoveAll => Ok(json!({"$remove_all": true})),
    }
}

fn or_empty(value: &Value) -> &Value {
    static EMPTY: Value = Value::Array(Vec::new());
    if truthy(value) { value } else { &EMPTY }
}

fn pair(value: &Value) -> Result<(Value, Value)> {
    Ok((python::index(value, 0)?, python::index(value, 1)?))
}

fn sum(value: &Value) -> Result<Value> {
    let mut total = Number::Whole(0);
    for item in python::iterate(value)? {
        total = total.add(Number::operand(&item)?);
    }
    Ok(total.value())
}

fn arithmetic(value: &Value, operate: fn(Number, Number) -> Result<Number>) -> Result<Value> {
    let (left, right) = pair(value)?;
    operate(Number::operand(&left)?, Number::operand(&right)?).map(Number::value)
}

/// Returns the remainder; only the left side may be null.
fn modulo(value: &Value) -> Result<Value> {
    match pair(value)? {
        (_, Value::Null) => type_error("modulo by null"),
        _ => arithmetic(value, Number::modulo),
    }
}

/// Returns a product; text or a list times a whole number is repeated that many times.
fn times(left: &Value, right: &Value) -> Result<Value> {
    match (left, right) {
        (Value::String(text), count) | (count, Value::String(text)) => Ok(text.repeat(repetitions(count)?).into()),
        (Value::Array(items), count) | (count, Value::Array(items)) => {
            Ok(vec![items.clone(); repetitions(count)?].concat().into())
        }
        _ => Ok(Number::operand(left)?.mul(Number::operand(right)?).value()),
    }
}

fn repetitions(count: &Value) -> Result<usize> {
    match Number::operand(count)? {
        Number::Whole(count) => Ok(usize::try_from(count).unwrap_or(0)),
        Number::Float(count) => type_error(format!("{count} is not a whole number")),
    }
}

fn concat(value: &Value) -> Result<Value> {
    let parts: Vec<Value> = python::iterate(value)?.into_iter().filter(|part| !part.is_null()).collect();
    if !parts.iter().any(Value::is_array) {
        return Ok(parts.iter().map(python::text).collect::<String>().into());
    }
    let lists: Result<Vec<Vec<Value>>> = parts.iter().map(python::iterate).collect();
    Ok(lists?.concat().into())
}

fn sort(value: &Value) -> Result<Value> {
    let mut items = python::iterate(value)?;
    items.sort_by_cached_key(python::dumps);
    Ok(items.into())
}

fn range(value: &Value) -> Result<Value> {
    match Number::operand(value)? {
        Number::Whole(end) => Ok((0..i64::try_from(end).unwrap_or(0)).collect()),
        Number::Float(end) => type_error(format!("{end} is not a whole number")),
    }
}

fn get(value: &Value) -> Result<Value> {
    let parts = python::iterate(value)?;
    let [from, key] = parts.as_slice() else {
        return Err(PythonError::new("ValueError", format!("`$get` takes two values, not {}", parts.len())));
    };
    match (from, key) {
        (Value::Object(map), Value::String(key)) => Ok(map.get(key).cloned().unwrap_or_default()),
        (Value::Object(_), Value::Array(_) | Value::Object(_)) => type_error(format!("{key} cannot be a key")),
        (Value::Object(_), _) => Ok(Value::Null),
        (Value::Array(items), key) => match Number::of(key) {
            Some(Number::Whole(position)) => Ok(python::at(items, position).cloned().unwrap_or_default()),
            Some(Number::Float(position)) if !within(position, items.len()) => Ok(Value::Null),
            Some(Number::Float(_)) | None => type_error(format!("{key} is not a position")),
        },
        _ => Ok(Value::Null),
    }
}

/// Returns true if a position is in range; Python checks this before it rejects a position that is not a whole number.
fn within(position: f64, count: usize) -> bool {
    let count = count as f64;
    (-count..count).contains(&position)
}

fn compare(value: &Value, holds: fn(Ordering) -> bool) -> Result<Value> {
    let (left, right) = pair(value)?;
    let ordering = python::order(&or_zero(left), &or_zero(right))?;
    Ok(ordering.is_some_and(holds).into())
}

fn or_zero(value: Value) -> Value {
    if value.is_null() { 0.into() } else { value }
}

fn message(value: &Value) -> Result<Value> {
    let kind = key_of(value, "type")?;
    if kind != "human" && kind != "ai" {
        return Err(PythonError::new("KeyError", python::text(&kind)));
    }
    let id = value.get("id").cloned().unwrap_or_default();
    Ok(json!({"id": id, "type": kind, "content": key_of(value, "content")?}))
}
