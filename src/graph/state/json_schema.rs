//! JSON Schemas of types: of channels, questions and answers that opt in, and of the plain types, which everybody knows. Knows
//! no graph and no channel.

use std::any::TypeId;

use serde_json::{Map, Value, json};

/// The dialect of all schemas.
pub(crate) const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The side from which a schema describes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaSide {
    /// The value as readers get it: as it serializes.
    Value,
    /// A write, or an answer: as it deserializes.
    Write,
}

/// Makes the schemas of one document, whose types share their definitions.
#[derive(Debug)]
pub struct SchemaWriter {
    side: SchemaSide,
    #[cfg(feature = "schema")]
    generator: schemars::SchemaGenerator,
}

#[cfg(feature = "schema")]
fn generator(side: SchemaSide) -> schemars::SchemaGenerator {
    let settings = schemars::generate::SchemaSettings::draft2020_12();
    match side {
        SchemaSide::Value => settings.for_serialize(),
        SchemaSide::Write => {
            settings.for_deserialize().with_transform(schemars::transform::RecursiveTransform(allow_repeats))
        }
    }
    .into_generator()
}

/// Removes what a `Deserialize` does not check: a set is read from a list in which an item is repeated.
#[cfg(feature = "schema")]
fn allow_repeats(schema: &mut schemars::Schema) {
    schema.remove("uniqueItems");
}

impl SchemaWriter {
    pub(crate) fn new(side: SchemaSide) -> Self {
        Self {
            side,
            #[cfg(feature = "schema")]
            generator: generator(side),
        }
    }

    /// Returns the side that is described.
    pub(crate) fn side(&self) -> SchemaSide {
        self.side
    }

    /// Returns the schema of a channel with values `V` and writes `W`; `docs` is the documentation of its field.
    pub fn channel<V: TypeSchema, W: TypeSchema>(&mut self, docs: &str) -> Value {
        let mut schema = object(match self.side {
            SchemaSide::Value => V::schema(self),
            SchemaSide::Write => W::schema(self),
        });
        if !docs.is_empty() {
            schema.insert("description".into(), docs.into());
        }
        Value::Object(schema)
    }

    /// Returns the definitions to which the schemas refer.
    pub(crate) fn definitions(self) -> Map<String, Value> {
        #[cfg(feature = "schema")]
        let definitions = {
            let mut generator = self.generator;
            generator.take_definitions(true)
        };
        #[cfg(not(feature = "schema"))]
        let definitions = Map::new();
        definitions
    }
}

/// Returns a schema as an object: `true`, which any value fits, is `{}`.
fn object(schema: Value) -> Map<String, Value> {
    match schema {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// A type with a JSON Schema: one that implements `schemars::JsonSchema`.
#[cfg_attr(
    feature = "schema",
    diagnostic::on_unimplemented(
        message = "`{Self}` has no JSON Schema, which the word `schema` in the attribute asks for",
        label = "no `JsonSchema`",
        note = "add `#[derive(schemars::JsonSchema)]`, of schemars 1, to the type and to those in it, or leave `schema` out"
    )
)]
#[cfg_attr(
    not(feature = "schema"),
    diagnostic::on_unimplemented(
        message = "the word `schema` in the attribute needs the feature `schema` of superstep",
        label = "the feature `schema` is off",
        note = "add it: `cargo add superstep --features schema`, with the same path or git source"
    )
)]
pub trait TypeSchema: 'static {
    /// Returns the schema as a part of a document.
    fn schema(to: &mut SchemaWriter) -> Value;

    /// Returns the schema as a document.
    fn document(side: SchemaSide) -> Value;
}

#[cfg(feature = "schema")]
#[diagnostic::do_not_recommend]
impl<T: schemars::JsonSchema + 'static> TypeSchema for T {
    fn schema(to: &mut SchemaWriter) -> Value {
        let mut schema = to.generator.subschema_for::<T>();
        to.generator.transforms_mut().for_each(|transform| transform.transform(&mut schema));
        schema.to_value()
    }

    fn document(side: SchemaSide) -> Value {
        Value::Object(object(generator(side).into_root_schema_for::<T>().to_value()))
    }
}

/// Returns the schema of a type that everybody knows: a truth value, a text, a number; `None` for any other.
pub(crate) fn plain<T: 'static>() -> Option<Value> {
    macro_rules! is_one_of {
        ($($known:ty),*) => { [$(TypeId::of::<$known>()),*].contains(&TypeId::of::<T>()) };
    }
    if is_one_of!(bool) {
        return Some(json!({ "type": "boolean" }));
    }
    if is_one_of!(String) {
        return Some(json!({ "type": "string" }));
    }
    if is_one_of!(u8, u16, u32, u64, usize) {
        return Some(json!({ "type": "integer", "minimum": 0 }));
    }
    if is_one_of!(i8, i16, i32, i64, isize) {
        return Some(json!({ "type": "integer" }));
    }
    is_one_of!(f32, f64).then(|| json!({ "type": "number" }))
}

/// The lists of channels are lists in JSON.
#[cfg(feature = "schema")]
mod lists {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator};

    use crate::graph::state::log::Log;

    impl<T: JsonSchema> JsonSchema for Log<T> {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> Cow<'static, str> {
            Vec::<T>::schema_name()
        }

        fn schema_id() -> Cow<'static, str> {
            Vec::<T>::schema_id()
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            Vec::<T>::json_schema(generator)
        }
    }
}
