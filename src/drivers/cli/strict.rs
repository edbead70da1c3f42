//! JSON schemas as servers with strict output want them: each object closed, each property required, what may be missing
//! may be null. And the way back. Pure.

use serde_json::{Map, Value, json};

/// Keys that strict schemas must not hold.
const LEFT_OUT: [&str; 5] = ["$schema", "title", "default", "format", "examples"];

/// Makes a schema strict.
pub(super) fn schema(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => Value::Object(object(fields)),
        // "Anything", which strict schemas cannot say.
        Value::Bool(true) => json!({"type": ["string", "number", "boolean", "null"]}),
        other => other.clone(),
    }
}

fn object(fields: &Map<String, Value>) -> Map<String, Value> {
    let mut strict = Map::new();
    for (key, value) in fields {
        match key.as_str() {
            key if LEFT_OUT.contains(&key) => {}
            "properties" | "$defs" | "definitions" => drop(strict.insert(key.clone(), each(value))),
            "oneOf" | "anyOf" => drop(strict.insert("anyOf".to_owned(), all(value))),
            "allOf" | "prefixItems" => drop(strict.insert(key.clone(), all(value))),
            "items" => drop(strict.insert(key.clone(), schema(value))),
            _ => drop(strict.insert(key.clone(), value.clone())),
        }
    }
    close(fields, &mut strict);
    strict
}

fn each(schemas: &Value) -> Value {
    match schemas {
        Value::Object(named) => named.iter().map(|(name, value)| (name.clone(), schema(value))).collect(),
        other => other.clone(),
    }
}

fn all(schemas: &Value) -> Value {
    match schemas {
        Value::Array(list) => list.iter().map(schema).collect(),
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

/// Takes the nulls out again that stand for what is missing.
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
