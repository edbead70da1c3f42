//! Questions as forms, whose fields are texts, numbers and truth values only, and filled-in forms as answers. An answer that is no
//! object is the field `answer`; a part of an answer that no field can have is text with JSON in it. Knows no thread.

use rmcp::model::{ElicitRequest, ElicitRequestParams, ElicitationSchema, PrimitiveSchemaDefinition};
use serde_json::{Map, Value, json};
use superstep::graph::Question;
use superstep_base::gather;

use super::position::OpenQuestion;
use crate::error::{ApiError, ApiResult};
use crate::panics::answer_schema;

/// The field of an answer that is no object.
const ANSWER: &str = "answer";

/// Returns a question as a form.
///
/// # Errors
/// If its schema is none that clients take.
pub(super) fn form(open: &OpenQuestion) -> ApiResult<ElicitRequest> {
    let form = Form::of(&open.question);
    let schema: ElicitationSchema = serde_json::from_value(form.schema())?;
    let params =
        ElicitRequestParams::FormElicitationParams { meta: None, message: open.text.clone(), requested_schema: schema };
    Ok(ElicitRequest::new(params))
}

/// Returns the answer that a filled-in form is.
///
/// # Errors
/// 422 if the form has no answer in it.
pub(super) fn read(question: &Question, content: &Value) -> ApiResult<Value> {
    Form::of(question).read(content)
}

/// Returns an answer that was given without a form: text with JSON in it, where the answer is no text.
pub(super) fn read_value(question: &Question, value: &Value) -> Value {
    match (answer_schema(question), value.as_str()) {
        (Some(schema), Some(text)) if schema["type"] != "string" => parse(text),
        _ => value.clone(),
    }
}

/// The fields of an answer.
#[derive(Debug, PartialEq)]
enum Form {
    /// The fields of an object, and the names of those that must be there.
    Fields(Vec<(String, Field)>, Value),
    /// The answer itself.
    One(Field),
}

/// A field of a form: the schema of the form's field, and whether it is text with JSON in it.
#[derive(Debug, PartialEq)]
struct Field {
    schema: Value,
    is_json: bool,
}

impl Form {
    fn of(question: &Question) -> Self {
        let shape = question.answer_shape();
        match answer_schema(question) {
            Some(schema) => Self::of_schema(&schema, &shape),
            None => Self::One(Field::json(&shape)),
        }
    }

    fn of_schema(schema: &Value, shape: &str) -> Self {
        let whole = simplify(schema, schema);
        match whole["properties"].as_object().filter(|fields| !fields.is_empty()) {
            None => Self::One(Field::of(&whole, shape)),
            Some(fields) => {
                let field = |(name, part)| (String::clone(name), Field::of(&simplify(schema, part), "any JSON"));
                Self::Fields(fields.iter().map(field).collect(), whole["required"].clone())
            }
        }
    }

    fn schema(&self) -> Value {
        let property = |(name, field): &(String, Field)| (name.clone(), field.schema.clone());
        match self {
            Self::One(field) => {
                json!({ "type": "object", "properties": { ANSWER: field.schema }, "required": [ANSWER] })
            }
            Self::Fields(fields, required) => {
                let properties: Map<String, Value> = gather(fields.iter().map(property));
                let mut schema = json!({ "type": "object", "properties": properties });
                if required.is_array() {
                    schema["required"] = required.clone();
                }
                schema
            }
        }
    }

    fn read(&self, content: &Value) -> ApiResult<Value> {
        match self {
            Self::One(field) => {
                let missing = || ApiError::invalid(format!("the form has no field `{ANSWER}`"));
                content.get(ANSWER).map(|value| field.read(value)).ok_or_else(missing)
            }
            Self::Fields(fields, _) => {
                let filled = |(name, field): &(String, Field)| Some((name.clone(), field.read(content.get(name)?)));
                Ok(Value::Object(gather(fields.iter().filter_map(filled))))
            }
        }
    }
}

impl Field {
    fn of(schema: &Value, shape: &str) -> Self {
        match serde_json::from_value::<PrimitiveSchemaDefinition>(schema.clone()) {
            Ok(_) => Self { schema: schema.clone(), is_json: false },
            Err(_) => Self::json(schema["description"].as_str().unwrap_or(shape)),
        }
    }

    fn json(shape: &str) -> Self {
        Self { schema: json!({ "type": "string", "description": format!("text, or JSON: {shape}") }), is_json: true }
    }

    fn read(&self, value: &Value) -> Value {
        value.as_str().filter(|_| self.is_json).map_or_else(|| value.clone(), parse)
    }
}

/// Returns a part of a schema as plainly as fields of forms are: without references, without null, and with a list of words where it
/// is one of several.
fn simplify(whole: &Value, part: &Value) -> Value {
    let found = part["$ref"].as_str().and_then(|path| whole.pointer(path.trim_start_matches('#'))).unwrap_or(part);
    if let [only] = filter_out(&found["anyOf"], |choice| choice["type"] == "null")[..] {
        return with_text(simplify(whole, only), part);
    }
    let mut plain = words(found).unwrap_or_else(|| found.clone());
    if let [kind] = filter_out(&found["type"], |kind| kind == "null")[..] {
        plain["type"] = kind.clone();
    }
    with_text(plain, part)
}

fn filter_out(list: &Value, is_left_out: fn(&Value) -> bool) -> Vec<&Value> {
    list.as_array().into_iter().flatten().filter(|item| !is_left_out(item)).collect()
}

/// Returns a schema that is one of some words as a list of them.
fn words(schema: &Value) -> Option<Value> {
    let own = |choice: &Value| match (choice["const"].as_str(), choice["enum"].as_array()) {
        (Some(word), _) => Some(vec![json!(word)]),
        (None, several) => several.cloned(),
    };
    let all: Option<Vec<Vec<Value>>> = schema["oneOf"].as_array()?.iter().map(own).collect();
    Some(json!({ "type": "string", "enum": all?.concat() }))
}

/// Returns a schema with the description that another one has.
fn with_text(mut schema: Value, of: &Value) -> Value {
    if let (Some(text), Some(fields)) = (of["description"].as_str(), schema.as_object_mut()) {
        fields.insert("description".into(), text.into());
    }
    schema
}

/// Returns text as the JSON that it is, or as text.
fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::truth(json!({ "type": "boolean" }), json!({ "answer": true }), json!(true))]
    #[case::text(json!({ "type": "string" }), json!({ "answer": "7" }), json!("7"))]
    #[case::list(json!({ "type": "array" }), json!({ "answer": "[1, 2]" }), json!([1, 2]))]
    #[case::word(json!({}), json!({ "answer": "yes" }), json!("yes"))]
    #[case::choice(json!({ "type": "string", "enum": ["a", "b"] }), json!({ "answer": "b" }), json!("b"))]
    #[case::words(json!({ "oneOf": [{ "const": "a", "type": "string" }, { "type": "string", "enum": ["b"] }] }), json!({ "answer": "b" }), json!("b"))]
    #[case::fields(
        json!({ "type": "object", "properties": { "ok": { "type": "boolean" }, "why": { "type": ["string", "null"] } } }),
        json!({ "ok": true, "why": "1" }),
        json!({ "ok": true, "why": "1" })
    )]
    #[case::deep(
        json!({ "type": "object", "properties": { "parts": { "type": "array" } }, "required": ["parts"] }),
        json!({ "parts": "[\"a\"]" }),
        json!({ "parts": ["a"] })
    )]
    fn a_filled_in_form_is_the_answer(#[case] schema: Value, #[case] content: Value, #[case] answer: Value) {
        let form = Form::of_schema(&schema, "any JSON");
        assert!(serde_json::from_value::<ElicitationSchema>(form.schema()).is_ok(), "{form:?}");
        assert_eq!(form.read(&content).unwrap(), answer);
    }

    #[rstest::rstest]
    #[case::reference(json!({ "$ref": "#/$defs/Word" }))]
    #[case::optional(json!({ "anyOf": [{ "$ref": "#/$defs/Word" }, { "type": "null" }] }))]
    fn a_word_of_a_list_is_chosen(#[case] field: Value) {
        let words = json!({ "oneOf": [{ "const": "now" }, { "enum": ["later", "never"] }] });
        let schema = json!({ "type": "object", "properties": { "when": field }, "$defs": { "Word": words } });
        let form = Form::of_schema(&schema, "any JSON").schema();
        assert_eq!(form["properties"]["when"]["enum"], json!(["now", "later", "never"]), "{form}");
    }

    #[test]
    fn a_form_without_its_answer_is_refused() {
        let form = Form::of_schema(&json!({ "type": "boolean" }), "true or false");
        assert_eq!(form.read(&json!({})).unwrap_err().detail, "the form has no field `answer`");
    }
}
