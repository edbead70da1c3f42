//! A question and an answer as JSON.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use superstep_base::time::rfc3339;

use super::fields::{serialize_as, time};
use crate::graph::interrupt::{AnswerInfo, InterruptId, Question};
use crate::graph::node::body::node_path;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct QuestionShape {
    pub id: String,
    pub name: String,
    /// The node, after the nodes whose subgraphs it is in: `Research/Ask`.
    pub node: String,
    pub payload: Value,
    /// A description of the answer's JSON.
    pub takes: String,
    /// The time it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// The answer on expiry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The number of equal answers it needs, if several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvals: Option<u32>,
    /// The people who may answer, if restricted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<String>,
    /// The answers so far, if it needs several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub votes: Vec<AnswerShape>,
    /// True if it has an answer that its task has not used yet.
    #[serde(default, skip_serializing_if = "is_false")]
    pub answered: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl From<&Question> for QuestionShape {
    fn from(question: &Question) -> Self {
        Self {
            id: question.id().to_string(),
            name: question.name().to_owned(),
            node: node_path(question.namespace(), question.node()),
            payload: question.json(),
            takes: question.answer_shape(),
            expires: question.expires().map(time),
            default: question.default_answer(),
            approvals: Some(question.approvals()).filter(|&count| count > 1),
            approvers: question.approvers().to_vec(),
            votes: question.votes().iter().map(AnswerShape::from).collect(),
            answered: question.is_answered(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AnswerShape {
    pub name: String,
    pub value: Value,
    pub by: Option<String>,
    pub at: String,
    pub note: Option<String>,
}

impl From<&AnswerInfo> for AnswerShape {
    fn from(answer: &AnswerInfo) -> Self {
        Self {
            name: answer.name.clone(),
            value: answer.value.clone(),
            by: answer.by.clone(),
            at: rfc3339(answer.at),
            note: answer.note.clone(),
        }
    }
}

serialize_as!(Question => QuestionShape::from);
serialize_as!(AnswerInfo => AnswerShape::from);

impl Serialize for InterruptId {
    fn serialize<W: Serializer>(&self, out: W) -> Result<W::Ok, W::Error> {
        out.collect_str(self)
    }
}
