//! Inputs: checked against the schema of their graph, and turned into writes. An error begins with the field, as in
//! `input.items[2]: …`. Knows no run and no thread.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::paths::{Location, LocationSegment};
use jsonschema::{ValidationError, Validator};
use serde_json::{Map, Value};
use superstep::graph::state::InputError;
use superstep::graph::{AnyGraph, AnyState, Writes};

use crate::error::{ApiError, ApiResult};

/// The number of problems of a field that an error names.
const NAMED: usize = 3;
/// The number of bytes of a problem from which on the value is left out.
const LONG: usize = 300;

/// Checks the inputs of each graph; the schemas are compiled once.
#[derive(Default)]
pub(crate) struct InputChecks(Mutex<HashMap<String, Arc<Fields>>>);

/// The checks of the fields of an input, by the names of the channels.
type Fields = HashMap<String, FieldCheck>;

struct FieldCheck {
    validator: Validator,
    /// Set if no value of the field may be shown.
    is_secret: bool,
}

impl InputChecks {
    /// Checks an input or an update; `what` it is in errors. Fields that are no channels are ignored, and so are those with
    /// `$overwrite`, whose values the graph itself checks.
    pub(crate) fn check(&self, graph: &AnyGraph, what: &str, input: &Value) -> ApiResult<()> {
        let Some(given) = input.as_object() else { return Ok(()) };
        let fields = self.fields(graph);
        let known = given.iter().filter(|(_, value)| !is_overwrite(value));
        let checked = known.filter_map(|(name, value)| Some((name, value, fields.get(name)?)));
        let mut wrong = checked.flat_map(|(name, value, check)| check.problems(&format!("{what}.{name}"), value));
        let Some(first) = wrong.next() else { return Ok(()) };
        Err(ApiError::invalid(wrong.fold(first, |all, problem| format!("{all}; {problem}"))))
    }

    fn fields(&self, graph: &AnyGraph) -> Arc<Fields> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fields = all.entry(graph.name().to_owned()).or_insert_with(|| Arc::new(compile(graph)));
        Arc::clone(fields)
    }
}

/// Compiles the schema of each channel whose type is known.
fn compile(graph: &AnyGraph) -> Fields {
    let input = graph.schemas().input;
    let properties = input["properties"].as_object().into_iter().flatten();
    properties.filter_map(|(name, schema)| Some((name.clone(), FieldCheck::of(schema, &input["$defs"])?))).collect()
}

impl FieldCheck {
    fn of(schema: &Value, definitions: &Value) -> Option<Self> {
        let is_secret = schema.get("writeOnly").is_some();
        let mut schema = schema.clone();
        if !definitions.is_null() {
            schema.as_object_mut()?.insert("$defs".into(), definitions.clone());
        }
        // A schema that is none describes nothing: a type's own `JsonSchema` may be wrong.
        let made = jsonschema::draft202012::new(&schema);
        let validator = made.inspect_err(|error| tracing::warn!(%error, "a channel's schema cannot be used")).ok()?;
        Some(Self { validator, is_secret })
    }

    fn problems(&self, path: &str, value: &Value) -> Vec<String> {
        let problem =
            |error: ValidationError<'_>| format!("{path}{}: {}", place(error.instance_path()), self.reason(&error));
        self.validator.iter_errors(value).take(NAMED).map(problem).collect()
    }

    fn reason(&self, error: &ValidationError<'_>) -> String {
        let shown = error.to_string();
        if self.is_secret || shown.len() > LONG { error.masked().to_string() } else { shown }
    }
}

/// Returns the place inside a field: `.name` for a field of an object, `[1]` for an item of a list.
fn place(path: &Location) -> String {
    let segment = |segment: LocationSegment<'_>| match segment {
        LocationSegment::Property(name) => format!(".{name}"),
        LocationSegment::Index(at) => format!("[{at}]"),
    };
    path.iter().map(segment).collect()
}

fn is_overwrite(value: &Value) -> bool {
    value.as_object().is_some_and(|fields: &Map<_, _>| fields.len() == 1 && fields.contains_key("$overwrite"))
}

/// Returns the writes of an input or an update; `what` it is in errors.
///
/// # Errors
/// 422 for a value that is no object, and for one that does not fit its channel.
pub(crate) fn writes(graph: &AnyGraph, what: &str, input: &Value) -> ApiResult<Writes<AnyState>> {
    graph.input(input).map_err(|error| match error {
        InputError::Mistyped { channel, expected, reason } => {
            ApiError::invalid(format!("{what}.{channel}: takes `{expected}`: {reason}"))
        }
        error => ApiError::invalid(error.to_string()),
    })
}
