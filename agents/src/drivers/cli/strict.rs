//! JSON schemas in the form the agents' programs accept. Codex requires strict schemas: each object closed, each
//! property required, optional ones nullable; results are converted back. Claude Code drops a schema with an unknown
//! format. Pure.

use serde_json::{Map, Value, json};

/// Keys that strict schemas must not contain.
const LEFT_OUT: [&str; 5] = ["$schema", "title", "default", "format", "examples"];

/// Formats that every JSON schema validator knows.
const FORMATS: [&str; 9] = ["date", "time", "date-time", "duration", "email", "hostname", "ipv4", "uri", "uuid"];

/// Removes what Claude Code rejects: formats that only some validators know, such as `uint32`, and keys that do not
/// affect the result.
pub(super) fn plain(schema: &Value) -> Value {
    let Value::Object(fields) = schema else { return schema.clone() };
    let is_known = |format: &Value| format.as_str().is_some_and(|format| FORMATS.contains(&format));
    let mut kept = Map::new();
    for (key, value) in fields {
        let value = match key.as_str() {
            "format" if !is_known(value) => continue,
            "$schema" | "$id" | "examples" => continue,
            "properties" | "patternProperties" | "$defs" | "definitions" => named(value, plain),
            "oneOf" | "anyOf" | "allOf" | "prefixItems" => listed(value, plain),
            "items" | "additionalProperties" | "not" | "if" | "then" | "else" | "contains" => plain(value),
            _ => value.clone(),
        };
        kept.insert(key.clone(), value);
    }
    Value::Object(kept)
}

pub(super) fn schema(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => Value::Object(object(fields)),
        // "Anything", which strict schemas cannot express.
        Value::Bool(true) => json!({"type": ["string", "number", "boolean", "null"]}),
        other => other.clone(),
    }
}

fn object(fields: &Map<String, Value>) -> Map<String, Value> {
    let mut strict = Map::new();
    for (key, value) in fields {
        match key.as_str() {
            key if LEFT_OUT.contains(&key) => {}
            "properties" | "$defs" | "definitions" => drop(strict.insert(key.clone(), named(value, schema))),
            "oneOf" | "anyOf" => drop(strict.insert("anyOf".to_owned(), listed(value, schema))),
            "allOf" | "prefixItems" => drop(strict.insert(key.clone(), listed(value, schema))),
            "items" => drop(strict.insert(key.clone(), schema(value))),
            _ => drop(strict.insert(key.clone(), value.clone())),
        }
    }
    close(fields, &mut strict);
    strict
}

fn named(schemas: &Value, of: fn(&Value) -> Value) -> Value {
    match schemas {
        Value::Object(named) => named.iter().map(|(name, value)| (name.clone(), of(value))).collect(),
        other => other.clone(),
    }
}

fn listed(schemas: &Value, of: fn(&Value) -> Value) -> Value {
    match schemas {
        Value::Array(list) => list.iter().map(of).collect(),
        other => other.clone(),
    }
}

fn close(fields: &Map<String, Value>, strict: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = strict.get_mut("properties") else { return };
    let required: Vec<&str> = match fields.get("required") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    };
    for (_, property) in properties.iter_mut().filter(|(name, _)| !required.contains(&name.as_str())) {
        *property = nullable(property.take());
    }
    let names: Value = properties.keys().cloned().collect();
    strict.insert("required".to_owned(), names);
    strict.insert("additionalProperties".to_owned(), json!(false));
}

fn nullable(schema: Value) -> Value {
    let says_null =
        |types: &Value| types == "null" || types.as_array().is_some_and(|types| types.contains(&json!("null")));
    match schema.get("type") {
        Some(types) if says_null(types) => schema,
        _ => json!({"anyOf": [schema, {"type": "null"}]}),
    }
}

/// Removes the nulls that represent missing properties.
pub(super) fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let said = fields.into_iter().filter(|(_, field)| !field.is_null());
            said.map(|(name, field)| (name, without_nulls(field))).collect()
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        value => value,
    }
}
