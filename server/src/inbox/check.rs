//! Answers that would be refused, without storing them: by the same checks as those of a request for a run, then by the question's own.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use superstep::graph::{AnyGraph, InterruptId, Question, RunError};
use superstep_base::gather;
use utoipa::ToSchema;

use crate::error::{ApiError, ApiResult};
use crate::panics::call_form;
use crate::runs::answers::check_each_answer;
use crate::runs::queue::IS_ANSWERED;
use crate::runs::request::CommandBody;
use crate::security::secrets::Secrets;
use crate::server::Server;

/// Answers to check, as in the `command` of a run.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = AnswerCheck)]
pub(crate) struct CheckBody {
    /// The answers by the ids of their questions.
    #[schema(value_type = std::collections::HashMap<String, Value>)]
    pub resume: Map<String, Value>,
    /// The person who answers; the name of the key if the request has one.
    pub by: Option<String>,
}

/// Remarks on answers.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = AnswerProblems)]
pub(crate) struct ChecksJson {
    /// The reasons for which answers would be refused, or cannot be followed.
    problems: Vec<RemarkJson>,
    /// Things that the author of an answer probably did not mean: it can be followed all the same.
    remarks: Vec<RemarkJson>,
}

/// A remark on an answer.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AnswerRemark)]
struct RemarkJson {
    /// The id of the question.
    id: String,
    text: String,
}

impl Server {
    /// Checks answers to the open questions of a thread.
    ///
    /// # Errors
    /// 404 if there is no such thread or it has not run, 403 if it is not trusted.
    pub(crate) async fn check_inbox(&self, thread: &str, body: CheckBody) -> ApiResult<ChecksJson> {
        self.check_trusted(thread).await?;
        let Some((graph, handle)) = self.thread(thread).await? else {
            return Err(ApiError::not_found("run of the thread", thread));
        };
        let record = self.thread_record(thread).await?.record;
        let snapshot = handle.state().await?.ok_or_else(|| ApiError::not_found("run of the thread", thread))?;
        let secrets = self.secrets_of(graph, thread, &snapshot).await?;
        let questions: Vec<Question> = snapshot.questions().cloned().collect();
        let mut checks = ChecksJson::default();
        // What a thread that is run asks next is not known, and not refused.
        let may_ask_more = !record.queue.is_empty();
        let known = checks.add_unknown(&body.resume, &questions, may_ask_more);
        let resume = (!known.is_empty()).then(|| json!(known));
        let command = CommandBody { resume, by: body.by, ..CommandBody::default() };
        let results = check_each_answer(&handle, &command, &questions).await?;
        for ((id, answer), result) in known.iter().zip(results) {
            match result {
                Ok(found) if record.takes_no(&found) => checks.add_problem(id, Some(IS_ANSWERED.into())),
                Ok(_) => checks.add_form(graph, &questions, (id, answer)),
                Err(refusal) => checks.add_problem(id, Some(refusal.detail)),
            }
        }
        checks.hide(&secrets);
        Ok(checks)
    }
}

impl ChecksJson {
    fn add_problem(&mut self, id: &str, text: Option<String>) {
        self.problems.extend(text.map(|text| RemarkJson { id: id.to_owned(), text }));
    }

    /// Adds problems for the answers to no question of the thread, unless it may ask more. Returns the other answers.
    fn add_unknown(
        &mut self,
        answers: &Map<String, Value>,
        questions: &[Question],
        may_ask_more: bool,
    ) -> Map<String, Value> {
        let ids: BTreeSet<InterruptId> = gather(questions.iter().map(Question::id));
        let mut known = Map::new();
        for (id, answer) in answers {
            match id.parse::<InterruptId>() {
                Err(error) => self.add_problem(id, Some(error.to_string())),
                Ok(found) if ids.contains(&found) => _ = known.insert(id.clone(), answer.clone()),
                Ok(_) if may_ask_more => {}
                Ok(_) => {
                    let unknown = RunError::UnknownQuestion { question: id.clone() };
                    self.add_problem(id, Some(unknown.to_string()));
                }
            }
        }
        known
    }

    /// Adds the remarks of the question itself on an answer.
    fn add_form(&mut self, graph: &AnyGraph, questions: &[Question], (id, answer): (&str, &Value)) {
        let found = id.parse().ok().and_then(|id: InterruptId| questions.iter().find(|question| question.id() == id));
        let Some(question) = found else { return };
        let Some(form) = graph.form(question.name()) else { return };
        self.add_problem(id, call_form(question, "check", || form.check(question, answer)).unwrap_or_else(Some));
        let remarks = call_form(question, "remarks", || form.remarks(question, answer)).unwrap_or_default();
        self.remarks.extend(remarks.into_iter().map(|text| RemarkJson { id: id.to_owned(), text }));
    }

    fn hide(&mut self, secrets: &Secrets) {
        let all = self.problems.iter_mut().chain(&mut self.remarks);
        all.for_each(|remark| secrets.hide_in_text(&mut remark.text));
    }
}
