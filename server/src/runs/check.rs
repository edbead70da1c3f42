//! Requests for runs that cannot be executed, refused before anything is stored. Knows no queue.
//!
//! Small because each part checks itself.

use serde_json::{Map, Value};

use super::request::RunBody;
use crate::error::{ApiError, ApiResult};
use crate::records::assistant::AssistantRecord;
use crate::server::Server;

/// Request for a run that can be executed.
pub(crate) struct CheckedRun {
    pub body: RunBody,
    pub assistant: AssistantRecord,
    pub context: Map<String, Value>,
}

impl Server {
    /// Reads a request for a run.
    ///
    /// # Errors
    /// For what cannot be executed.
    pub(crate) async fn check_run(&self, request: &Value) -> ApiResult<CheckedRun> {
        let body = RunBody::parse(request)?;
        let assistant = self.assistant_or_graph(&body.assistant_id).await?;
        let context = self.check_request(&assistant, &body)?;
        let strategy = body.multitask_strategy.as_deref().unwrap_or_default();
        if body.delay().is_some() && matches!(strategy, "interrupt" | "rollback") {
            return Err(ApiError::invalid(format!("a run with after_seconds cannot have the strategy `{strategy}`")));
        }
        if let Some(url) = &body.webhook {
            self.webhooks.check(url).await?;
        }
        Ok(CheckedRun { body, assistant, context })
    }
}
