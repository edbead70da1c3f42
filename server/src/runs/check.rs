//! Requests for runs that cannot be executed, refused before anything is stored. Knows no queue.

use serde_json::{Map, Value};
use superstep_base::gather;

use super::request::RunBody;
use crate::error::{ApiError, ApiResult};
use crate::records::assistant::AssistantRecord;
use crate::server::Server;

/// Request for a run that can be executed.
pub(crate) struct CheckedRun {
    /// The request, with its input as the channels that it writes.
    pub request: Value,
    pub body: RunBody,
    pub assistant: AssistantRecord,
    pub context: Map<String, Value>,
}

impl Server {
    /// Reads a request for a run of a thread, if it has a name already.
    ///
    /// # Errors
    /// For what cannot be executed.
    pub(crate) async fn check_run(&self, thread: Option<&str>, request: &Value) -> ApiResult<CheckedRun> {
        let body = RunBody::parse(request)?;
        body.check_choices()?;
        let assistant = self.assistant_or_graph(&body.assistant_id).await?;
        let graph = assistant.now().map(|version| version.graph.as_str()).unwrap_or_default();
        let mut request = self.read_input(graph, thread, request.clone()).await?;
        add_config(&mut request, &assistant);
        let body = RunBody::parse(&request)?;
        let context = self.check_request(&assistant, &body)?;
        let strategy = body.multitask_strategy.as_deref().unwrap_or_default();
        if body.delay().is_some() && matches!(strategy, "interrupt" | "rollback") {
            return Err(ApiError::invalid(format!("a run with after_seconds cannot have the strategy `{strategy}`")));
        }
        if let Some(url) = &body.webhook {
            self.webhooks.check(url).await?;
        }
        Ok(CheckedRun { request, body, assistant, context })
    }
}

/// Adds the configuration of an assistant to a request, but for its context: what the request has goes before it.
fn add_config(request: &mut Value, assistant: &AssistantRecord) {
    let own = assistant.now().map(|version| version.config.iter().filter(|(name, _)| *name != "configurable"));
    let (Some(own), Some(request)) = (own, request.as_object_mut()) else { return };
    let mut config: Map<_, _> = gather(own.map(|(name, value)| (name.clone(), value.clone())));
    if !config.is_empty() {
        config.extend(request.get("config").and_then(Value::as_object).cloned().unwrap_or_default());
        request.insert("config".into(), config.into());
    }
}
