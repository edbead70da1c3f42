//! Comparisons: of two checkpoints, and of a thread with its graph as it is now. They run no effect and store nothing.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use serde::Deserialize;
use serde_json::{Value, json};
use superstep::checkpoint::CheckpointId;
use superstep::graph::{AnyThread, RunError};
use utoipa::ToSchema;

use super::place::Place;
use super::words::Words;
use crate::error::ApiResult;
use crate::server::Server;

type Answer = ApiResult<Json<Value>>;

/// The part of a thread that is compared with its graph.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = Comparison)]
pub(in super::super) struct ComparisonBody {
    /// The checkpoint from which on it is compared; the first unless set.
    from: Option<u64>,
}

/// Returns the difference between two checkpoints, of one thread or of two.
pub(super) async fn diff(
    State(server): State<Arc<Server>>,
    Path(thread): Path<String>,
    Query(words): Query<Words>,
) -> Answer {
    let (from, to) = (words.required("from")?, words.required("to")?);
    let (root, other) = (Words::default(), words.one("other").unwrap_or(&thread));
    let old = Place::of_checkpoint(&server, &thread, &root).await?;
    let new = Place::of_checkpoint(&server, other, &root).await?;
    let (one, two) = (old.thread.clone().at(from), new.thread.clone().at(to));
    let command = match other == thread {
        true => format!("superstep diff {thread} {from} {to}"),
        false => "Thread::diff_deep_to".into(), // the command compares checkpoints of one thread
    };
    let found = server.replays.run(&command, async move { one.diff_deep_to(&two).await }).await?;
    let mut shown = json!(found);
    new.secrets().await?.hide(&mut shown);
    if other != thread {
        old.secrets().await?.hide(&mut shown);
    }
    Ok(Json(shown))
}

/// Compares a thread with what its graph does now, up to the first difference.
pub(super) async fn verify(
    State(server): State<Arc<Server>>,
    Path(thread): Path<String>,
    body: Option<Json<ComparisonBody>>,
) -> Answer {
    compare(&server, &thread, ("verify", body), |thread| async move {
        let found = thread.verify().await?;
        let mut shown = json!(found);
        shown["verdict"] = json!(found.verdict());
        Ok::<_, RunError>(shown)
    })
    .await
}

/// Returns the state that a thread would have with its graph as it is now.
pub(super) async fn what_if(
    State(server): State<Arc<Server>>,
    Path(thread): Path<String>,
    body: Option<Json<ComparisonBody>>,
) -> Answer {
    compare(
        &server,
        &thread,
        ("what-if", body),
        |thread| async move { Ok::<_, RunError>(json!(thread.what_if().await?)) },
    )
    .await
}

/// Compares a thread with its graph in one of the modes of the command line. What the graph makes now, the engine hides; the secrets that
/// the thread has had may be in what both have in common.
async fn compare<F>(
    server: &Server,
    thread: &str,
    (mode, body): (&str, Option<Json<ComparisonBody>>),
    comparison: fn(AnyThread) -> F,
) -> Answer
where
    F: Future<Output = Result<Value, RunError>> + Send + 'static,
{
    let from = body.and_then(|Json(body)| body.from).map(CheckpointId);
    let place = Place::of_checkpoint(server, thread, &Words::default()).await?;
    let compared = from.into_iter().fold(place.thread.clone(), AnyThread::at);
    let mut shown = server.replays.run(&command(thread, mode, from), comparison(compared)).await?;
    place.secrets().await?.hide(&mut shown);
    Ok(Json(shown))
}

/// Returns the command that does the same without a server.
fn command(thread: &str, mode: &str, from: Option<CheckpointId>) -> String {
    let from = from.map(|from| format!(" --from {from}")).unwrap_or_default();
    format!("superstep replay {thread} --mode {mode}{from}")
}
