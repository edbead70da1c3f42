//! A question as a person answers it: its text, the answers for `approve`, `reject` and `revise`, and the forms of question and answer. Knows no request.

use serde::Serialize;
use serde_json::{Value, json};
use superstep::graph::interrupt::ReplyKind;
use superstep::graph::{AnyGraph, AnyState, Question, QuestionForm, Reply, StateSnapshot};
use utoipa::ToSchema;

use super::cut::{LARGEST, cut_text, cut_value, size};
use crate::error::ApiResult;
use crate::panics::{answer_schema, call_form};
use crate::security::secrets::Secrets;
use crate::wire::terms;
use crate::wire_types::TermsJson;

/// The text in an answer that a client replaces by what the person has written.
const FEEDBACK: &str = "{feedback}";

/// A question as a person answers it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InboxQuestion)]
pub(super) struct AskJson {
    /// The id under which an answer names it: `command: {"resume": {ID: ANSWER}}`.
    pub id: String,
    /// The question, as its node asks it.
    pub value: Value,
    #[schema(inline = false)]
    pub superstep: TermsJson,
    /// The JSON Schema of its answer; null if it is not known.
    #[schema(required, value_type = Option<Object>)]
    pub response_schema: Option<Value>,
    /// The JSON Schema of `value`; null if it is not known.
    #[schema(required, value_type = Option<Object>)]
    pub payload_schema: Option<Value>,
    /// The question in the words of its program.
    #[schema(required)]
    pub text: Option<String>,
    /// The text that may be edited to answer it.
    #[schema(required)]
    pub draft: Option<String>,
    /// True if the client that started the run is not offered it: people answer.
    pub people_only: bool,
    pub replies: RepliesJson,
    /// True if `value`, `text` or `draft` was longer than 1 MiB, and is cut there; or if replies of more than 1 MiB were left out.
    pub cut: bool,
}

/// The answers for `approve`, `reject` and `revise`; one that the question does not have is left out, and all if they are longer than
/// 1 MiB. A client replaces the text `{feedback}` in them by what the
/// person has written.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = InboxReplies)]
pub(super) struct RepliesJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approve: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reject: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revise: Option<Value>,
}

/// Returns a question of a state on the wire, without secrets.
pub(super) fn ask_json(
    graph: &AnyGraph,
    (snapshot, secrets): (&StateSnapshot<AnyState>, &Secrets),
    question: &Question,
) -> ApiResult<Value> {
    let form = graph.form(question.name());
    let mut asked = json!(AskJson {
        id: question.id().to_string(),
        value: question.json(),
        superstep: terms(question),
        response_schema: answer_schema(question),
        payload_schema: call_form(question, "payload_schema", || question.payload_schema()).ok().flatten(),
        text: form.and_then(|form| {
            call_form(question, "describe", || form.describe(&snapshot.values, question)).ok().flatten()
        }),
        draft: form
            .and_then(|form| call_form(question, "draft", || form.draft(&snapshot.values, question)).ok().flatten()),
        people_only: graph.is_answered_by_people() || !question.approvers().is_empty(),
        replies: RepliesJson::of(form, question),
        cut: false,
    });
    secrets.hide(&mut asked);
    let is_cut = ["value", "text", "draft"].map(|name| cut(&mut asked[name])).contains(&true);
    // A part of an answer is another answer.
    let has_long_replies = size(&asked["replies"]) > LARGEST;
    if has_long_replies {
        asked["replies"] = json!({});
    }
    asked["cut"] = (is_cut || has_long_replies).into();
    Ok(asked)
}

fn cut(value: &mut Value) -> bool {
    match value {
        Value::String(text) => cut_text(text, LARGEST),
        value => cut_value(value, LARGEST),
    }
}

impl RepliesJson {
    fn of(form: Option<&QuestionForm>, question: &Question) -> Self {
        let [approve, reject, revise] = ReplyKind::ALL.map(|kind| answer(form, question, kind));
        Self { approve, reject, revise }
    }
}

/// Returns the answer of a kind. One that needs a text has [`FEEDBACK`] in its place.
fn answer(form: Option<&QuestionForm>, question: &Question, kind: ReplyKind) -> Option<Value> {
    let decide = |reply: Reply| match form {
        Some(form) => call_form(question, "decide", || form.decide(question, &reply)).ok().flatten(),
        None => reply.answer_to(question),
    };
    let with = |feedback: Option<&str>| Reply { kind, feedback: feedback.map(str::to_owned), by: None };
    match kind {
        ReplyKind::Revise => decide(with(Some(FEEDBACK))),
        ReplyKind::Approve | ReplyKind::Reject => decide(with(None)).or_else(|| decide(with(Some(FEEDBACK)))),
    }
}
