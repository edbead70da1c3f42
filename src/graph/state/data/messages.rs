//! Messages as JSON: parses a write into changes and assigns ids; the typed reducer merges.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::{Map, Value};

use super::reduce::type_error;
use crate::graph::state::reducers::{self, Change, Keyed};

const MESSAGE: &str = "a message or a list of messages";
const REMOVE: &str = "$remove";
const REMOVE_ALL: &str = "$remove_all";

#[derive(Serialize)]
struct Entry(Value);

impl Keyed for Entry {
    fn id(&self) -> &str {
        id_of(&self.0).unwrap_or_default()
    }
}

pub(crate) fn messages(list: &mut Value, write: Value) -> Result<(), String> {
    let Value::Array(list) = list else { return Err(type_error(MESSAGE, &write)) };
    let mut incoming = if let Value::Array(many) = write { many } else { vec![write] };
    incoming.iter().try_for_each(check)?;
    give_ids(list, &mut incoming);
    let changes = incoming.into_iter().map(change).collect();
    let mut entries = std::mem::take(list).into_iter().map(Entry).collect();
    let merged = reducers::messages(&mut entries, changes);
    list.extend(entries.into_iter().map(|entry| entry.0));
    merged
}

/// Returns the messages of an overwrite, with ids assigned.
pub(crate) fn normalize(list: Value) -> Result<Value, String> {
    let Value::Array(mut list) = list else { return Err(type_error("a list of messages", &list)) };
    list.iter().try_for_each(check)?;
    if list.iter().any(|message| message.get(REMOVE).or(message.get(REMOVE_ALL)).is_some()) {
        return Err("cannot remove messages while all are replaced".into());
    }
    give_ids(&[], &mut list);
    Ok(Value::Array(list))
}

fn check(message: &Value) -> Result<(), String> {
    let Value::Object(fields) = message else { return Err(type_error(MESSAGE, message)) };
    let (id, remove, all) = (fields.get("id"), fields.get(REMOVE), fields.get(REMOVE_ALL));
    if !matches!(id, None | Some(Value::Null | Value::String(_))) {
        return Err("takes messages whose `id` is a string".into());
    }
    if !matches!(remove, None | Some(Value::String(_))) {
        return Err(format!("takes the id of a message as `{REMOVE}`"));
    }
    if !matches!(all, None | Some(Value::Bool(true))) {
        return Err(format!("takes nothing but `true` as `{REMOVE_ALL}`"));
    }
    Ok(())
}

fn change(message: Value) -> Change<Entry> {
    match (message.get(REMOVE_ALL), message.get(REMOVE).and_then(Value::as_str)) {
        (Some(_), _) => Change::RemoveAll,
        (None, Some(id)) => Change::remove(id),
        (None, None) => Change::Put(Entry(message)),
    }
}

fn id_of(message: &Value) -> Option<&str> {
    message.get("id")?.as_str()
}

fn has_no_id(fields: &Map<String, Value>) -> bool {
    !fields.contains_key(REMOVE) && !fields.contains_key(REMOVE_ALL) && !fields.get("id").is_some_and(Value::is_string)
}

/// Assigns an id to each message without one. Applying a write again assigns the same ids.
fn give_ids(list: &[Value], incoming: &mut [Value]) {
    if !incoming.iter().filter_map(Value::as_object).any(has_no_id) {
        return;
    }
    let known = list.iter().chain(incoming.iter()).filter_map(id_of).map(str::to_owned);
    let mut taken: HashSet<String> = known.collect();
    for (at, message) in incoming.iter_mut().enumerate() {
        let content = crc32c::crc32c(message.to_string().as_bytes());
        if let Some(fields) = message.as_object_mut().filter(|fields| has_no_id(fields)) {
            let id = reducers::free_id(&mut taken, list.len() + at, content);
            fields.insert("id".into(), id.into());
        }
    }
}
