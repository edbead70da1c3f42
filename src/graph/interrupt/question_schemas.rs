//! The JSON Schemas of a question and of its answer. Knows no question's text and no graph.
//!
//! Small because the schemas are made by `state`.

use serde_json::Value;

use crate::graph::state::json_schema::{SchemaSide, TypeSchema, plain};

/// The JSON Schemas of a question. One that is not known is `None`: that of a type without `#[interrupt(schema)]` that is
/// neither a text, nor a number, nor a truth value.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct QuestionSchemas {
    /// The payload, as readers get it.
    pub payload: Option<Value>,
    /// The answer, as it is given.
    pub answer: Option<Value>,
}

impl QuestionSchemas {
    /// Returns what is known of a question that does not opt in.
    pub(super) fn plain<Q: 'static, A: 'static>() -> Self {
        Self { payload: plain::<Q>(), answer: plain::<A>() }
    }
}

/// Returns the schemas of a question of type `Q` with answers of type `A`.
pub fn question_schemas<Q: TypeSchema, A: TypeSchema>() -> QuestionSchemas {
    QuestionSchemas { payload: Some(Q::document(SchemaSide::Value)), answer: Some(A::document(SchemaSide::Write)) }
}
