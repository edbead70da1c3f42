//! Inputs in a form of the program's own: read before anything is stored, and stored as the channels that they write. Must not know how
//! a run is created.

use std::sync::Arc;

use serde_json::Value;
use superstep::checkpoint::ThreadId;
use superstep::graph::{AnyGraph, ThreadInfo};
use tokio::task::spawn_blocking;

use crate::error::{ApiError, ApiResult};
use crate::panics::task_result;
use crate::server::Server;

impl Server {
    /// Returns the JSON Schema of what clients give to a graph.
    pub(crate) fn input_schema(&self, graph: &AnyGraph) -> Value {
        self.readers.get(graph.name()).map_or_else(|| graph.schemas().input, |reader| reader.schema())
    }

    /// Returns a request whose input is the channels that it writes.
    ///
    /// # Errors
    /// 422 for an input that the graph's reader refuses, 409 for a second one of a thread that takes one.
    pub(crate) async fn read_input(&self, graph: &str, thread: Option<&str>, mut request: Value) -> ApiResult<Value> {
        let Some(reader) = self.readers.get(graph).map(Arc::clone) else { return Ok(request) };
        let has_command = request.get("command").is_some_and(|command| !command.is_null());
        let Some(Value::Object(input)) = request.get_mut("input").filter(|_| !has_command).map(Value::take) else {
            return Ok(request);
        };
        if let Some(thread) = thread.filter(|_| reader.takes_one_input()) {
            self.check_first_input(graph, thread).await?;
        }
        let thread = thread.map(str::to_owned);
        let read = task_result(spawn_blocking(move || reader.read(thread.as_deref(), &input)).await)?;
        request["input"] = read.map_err(|reason| ApiError::invalid(format!("input: {reason}")))?;
        Ok(request)
    }

    async fn check_first_input(&self, graph: &str, thread: &str) -> ApiResult<()> {
        let found = ThreadInfo::read(&*self.records.0, &ThreadId::from(thread)).await?;
        match found.is_some_and(|found| found.checkpoint.is_some()) {
            true => Err(ApiError::conflict(format!(
                "the thread `{thread}` has its input, and the graph `{graph}` takes one: create another thread"
            ))),
            false => Ok(()),
        }
    }
}
