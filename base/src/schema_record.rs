//! The JSON Schema of a file of settings, recorded while a reader takes them: the keys that it knows, and what it takes of each.
//! So the schema cannot be another one than the reader's. Knows no format and no setting.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The segment of a path for each item of a list.
pub(crate) const EACH_ITEM: &str = "[]";
/// The segment of a path for each table of any name.
pub(crate) const EACH_NAME: &str = "*";

/// A value of the file, and what is known of it so far.
#[derive(Debug, Default)]
pub(crate) struct SchemaRecord {
    known: Map<String, Value>,
    required: Vec<String>,
    properties: BTreeMap<String, SchemaRecord>,
    item: Option<Box<SchemaRecord>>,
    of_any_name: Option<Box<SchemaRecord>>,
}

impl SchemaRecord {
    /// Adds what is known of the value at a path, whose segments are separated by points.
    pub(crate) fn note(&mut self, path: &str, schema: Value) {
        if let Value::Object(known) = schema {
            self.at(path).known.extend(known);
        }
    }

    /// Notes that the section at a path must have a key.
    pub(crate) fn require(&mut self, path: &str, key: &str) {
        self.at(path).required.push(key.to_owned());
    }

    fn at(&mut self, path: &str) -> &mut Self {
        let segments = path.split('.').filter(|segment| !segment.is_empty());
        segments.fold(self, |around, segment| match segment {
            EACH_ITEM => around.item.get_or_insert_default(),
            EACH_NAME => around.of_any_name.get_or_insert_default(),
            name => around.properties.entry(name.to_owned()).or_default(),
        })
    }

    /// Returns the schema. Tables whose keys are known take no others.
    pub(crate) fn schema(self) -> Value {
        let mut schema = Map::new();
        if let Some(item) = self.item {
            schema.extend([("type".into(), json!("array")), ("items".into(), item.schema())]);
        } else if self.of_any_name.is_some() || !self.properties.is_empty() {
            let others = self.of_any_name.map_or(Value::Bool(false), |any| any.schema());
            schema.extend([("type".into(), json!("object")), ("additionalProperties".into(), others)]);
        }
        if !self.properties.is_empty() {
            let properties: Map<_, _> = self.properties.into_iter().map(|(key, value)| (key, value.schema())).collect();
            schema.insert("properties".into(), properties.into());
        }
        if !self.required.is_empty() {
            schema.insert("required".into(), self.required.into());
        }
        schema.extend(self.known);
        schema.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_tables_and_tables_of_any_name_differ() {
        let mut record = SchemaRecord::default();
        record.note("name", json!({ "type": "string" }));
        record.note("prices.*.input", json!({ "type": "number" }));
        record.note("owners.[].id", json!({ "type": "string" }));
        record.require("owners.[]", "id");
        record.note("free", json!({ "type": "object" }));
        let id = json!({ "id": { "type": "string" } });
        let owner = json!({ "type": "object", "properties": id, "required": ["id"], "additionalProperties": false });
        let price = json!({ "input": { "type": "number" } });
        let price = json!({ "type": "object", "properties": price, "additionalProperties": false });
        assert_eq!(
            record.schema(),
            json!({
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "name": { "type": "string" },
                    "prices": { "type": "object", "additionalProperties": price },
                    "owners": { "type": "array", "items": owner },
                    "free": { "type": "object" },
                },
            })
        );
    }
}
