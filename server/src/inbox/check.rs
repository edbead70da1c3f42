//! Answers that would be refused, without storing them: by the same checks as those of a request for a run, then by the question's own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use superstep::graph::{AnyGraph, InterruptId, Question};
use utoipa::ToSchema;

use crate::error::{ApiError, ApiResult};
use crate::form_calls::call_form;
use crate::records::thread::ThreadRecord;
use crate::runs::answers::check_answers;
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
        let secrets = Secrets::of_thread(graph, &handle, &snapshot).await?;
        let questions: BTreeMap<String, &Question> =
            snapshot.questions().map(|question| (question.id().to_string(), question)).collect();
        let check = AnswerCheck { graph, thread, by: body.by, record: &record, questions };
        let mut checks = ChecksJson::default();
        for (id, answer) in &body.resume {
            check.add_to(&mut checks, (id, answer)).await?;
        }
        checks.hide(&secrets);
        Ok(checks)
    }
}

/// A check of answers to the questions of a thread.
struct AnswerCheck<'a> {
    graph: &'a AnyGraph,
    thread: &'a str,
    by: Option<String>,
    record: &'a ThreadRecord,
    questions: BTreeMap<String, &'a Question>,
}

impl AnswerCheck<'_> {
    /// Adds the remarks on an answer.
    async fn add_to(&self, checks: &mut ChecksJson, (id, answer): (&str, &Value)) -> ApiResult<()> {
        if let Err(error) = id.parse::<InterruptId>() {
            checks.add_problem(id, Some(error.to_string()));
            return Ok(());
        }
        let question = self.questions.get(id).copied();
        // What a thread that is run asks next is not known, and not refused.
        if question.is_none() && !self.record.queue.is_empty() {
            return Ok(());
        }
        match self.refusal(id, answer).await? {
            Some(refusal) => checks.add_problem(id, Some(refusal)),
            None => checks.add_form(self.graph, question, (id, answer)),
        }
        Ok(())
    }

    /// Returns why a run with an answer would be refused.
    async fn refusal(&self, id: &str, answer: &Value) -> ApiResult<Option<String>> {
        let resume = Some(json!({ id: answer }));
        let command = CommandBody { resume, by: self.by.clone(), ..CommandBody::default() };
        match check_answers(self.graph, self.thread, &command).await {
            Err(error) if error.status.is_server_error() => Err(error),
            Err(error) => Ok(Some(error.detail)),
            Ok(answers) if answers.iter().any(|answer| self.record.takes_no(answer)) => Ok(Some(IS_ANSWERED.into())),
            Ok(_) => Ok(None),
        }
    }
}

impl ChecksJson {
    fn add_problem(&mut self, id: &str, text: Option<String>) {
        self.problems.extend(text.map(|text| RemarkJson { id: id.to_owned(), text }));
    }

    /// Adds what the question itself says about an answer.
    fn add_form(&mut self, graph: &AnyGraph, question: Option<&Question>, (id, answer): (&str, &Value)) {
        let Some(question) = question else { return };
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
