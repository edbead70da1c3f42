//! Comparisons: of two checkpoints, and of a thread with its graph as it is now. They run no effect and store nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use serde::Deserialize;
use serde_json::{Value, json};
use superstep::checkpoint::CheckpointId;
use superstep::graph::AnyThread;
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
    let (oldest, newest) = if other == thread { (from.min(to), from.max(to)) } else { (CheckpointId(0), to) };
    new.secrets_between(oldest, newest).await?.hide(&mut shown);
    if other != thread {
        old.secrets_between(CheckpointId(0), from).await?.hide(&mut shown);
    }
    Ok(Json(shown))
}

/// Compares a thread with what its graph does now, up to the first difference.
pub(super) async fn verify(
    State(server): State<Arc<Server>>,
    Path(thread): Path<String>,
    body: Option<Json<ComparisonBody>>,
) -> Answer {
    let from = body.and_then(|Json(body)| body.from).map(CheckpointId);
    let place = Place::of_checkpoint(&server, &thread, &Words::default()).await?;
    let compared = starting_at(&place, from);
    let found = server.replays.run(&command(&thread, "verify", from), async move { compared.verify().await }).await?;
    let mut shown = json!(found);
    shown["verdict"] = json!(found.verdict());
    let differs = found.divergence.iter().map(|found| found.checkpoint).collect();
    hide(&place, (from, differs), &mut shown).await?;
    Ok(Json(shown))
}

/// Returns the state that a thread would have with its graph as it is now.
pub(super) async fn what_if(
    State(server): State<Arc<Server>>,
    Path(thread): Path<String>,
    body: Option<Json<ComparisonBody>>,
) -> Answer {
    let from = body.and_then(|Json(body)| body.from).map(CheckpointId);
    let place = Place::of_checkpoint(&server, &thread, &Words::default()).await?;
    let run = starting_at(&place, from);
    let found = server.replays.run(&command(&thread, "what-if", from), async move { run.what_if().await }).await?;
    let mut shown = json!(found);
    let differ = found.differences.iter().map(|found| found.checkpoint).collect();
    hide(&place, (from, differ), &mut shown).await?;
    Ok(Json(shown))
}

fn starting_at(place: &Place<'_>, from: Option<CheckpointId>) -> AnyThread {
    let thread = place.thread.clone();
    if let Some(from) = from { thread.at(from) } else { thread }
}

/// Returns the command that does the same without a server.
fn command(thread: &str, mode: &str, from: Option<CheckpointId>) -> String {
    let from = from.map(|from| format!(" --from {from}")).unwrap_or_default();
    format!("superstep replay {thread} --mode {mode}{from}")
}

/// Hides copies of the values of secret channels: now, at the checkpoint that a comparison starts from, and at those that differ, which
/// may be of subgraphs.
async fn hide(
    place: &Place<'_>,
    (from, differ): (Option<CheckpointId>, BTreeSet<u64>),
    shown: &mut Value,
) -> ApiResult<()> {
    if !place.graph.has_secrets() {
        return Ok(());
    }
    let mut ids: BTreeSet<_> = from.into_iter().collect();
    for at in differ {
        ids.extend(place.root_of(CheckpointId(at)).await?);
    }
    let ids: Vec<_> = ids.into_iter().collect();
    place.secrets(&ids).await?.hide(shown);
    Ok(())
}
