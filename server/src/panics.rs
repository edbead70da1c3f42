//! Panics in the code of the program: its graphs, their types and questions, and its hooks. Each is an error of the one request or run in
//! which it happened, and ends no connection and no task of the server. The text of a panic may have secrets: it is not in an answer,
//! but on the program's standard error, where its panic hook writes it. Knows no route.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use superstep::graph::Question;
use superstep_base::panics::{catch_panic, catch_panic_in};
use tokio::task::JoinError;
use tokio::time::sleep;
use tower_http::catch_panic::CatchPanicLayer;

use crate::error::{ApiError, ApiResult};

/// The pause before a task of the server that has panicked is started again.
const PAUSE: Duration = Duration::from_secs(1);

/// The answer to a request in which the program has panicked.
type PanicResponse = fn(Box<dyn Any + Send>) -> Response;

/// Returns the layer that answers a request with 500 if its handler panics.
pub(crate) fn catch_panics() -> CatchPanicLayer<PanicResponse> {
    CatchPanicLayer::custom((|_| panic_error().into_response()) as PanicResponse)
}

/// Returns the error of something in which the program has panicked.
pub(crate) fn panic_error() -> ApiError {
    let detail = "the code of the program panicked: the reason is on its standard error";
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
}

/// Returns the result of a future; an error if it panics.
pub(crate) async fn catch_panic_of<T, E: From<ApiError>>(work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    catch_panic_in(work).await.unwrap_or_else(|_| Err(panic_error().into()))
}

/// Returns the result of a task; an error if it has panicked or was stopped.
pub(crate) fn task_result<T>(joined: Result<T, JoinError>) -> ApiResult<T> {
    joined.map_err(|_| panic_error())
}

/// Calls a method of a question's form, or makes its schema.
///
/// # Errors
/// If it panics: a sentence with the text of the panic, which is logged.
pub(crate) fn call_form<T>(question: &Question, method: &str, call: impl FnOnce() -> T) -> Result<T, String> {
    catch_panic(call).map_err(|panic| {
        let name = question.name();
        tracing::error!(question = name, method, panic, "a method of a question panicked");
        format!("`{method}` of the question `{name}` panicked: {panic}")
    })
}

/// Returns the schema of a question's answers; none if the program panics while it makes it.
pub(crate) fn answer_schema(question: &Question) -> Option<Value> {
    call_form(question, "answer_schema", || question.answer_schema()).ok().flatten()
}

/// Starts a task of the server, and starts it again if it panics.
pub(crate) fn spawn_task<S, F>(server: &Arc<S>, name: &'static str, task: fn(Arc<S>) -> F)
where
    S: Send + Sync + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let server = Arc::clone(server);
    tokio::spawn(async move {
        while catch_panic_in(task(Arc::clone(&server))).await.is_err() {
            tracing::error!(task = name, "a task of the server panicked: it is started again");
            sleep(PAUSE).await;
        }
    });
}
