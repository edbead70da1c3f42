//! Checkpoints: lists of them, one of them, the values of its state, one of its tasks.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use serde_json::{Value, json};
use superstep::checkpoint::CheckpointId;
use superstep::graph::view::CheckpointOutline;

use super::place::{Place, not_found};
use super::words::Words;
use crate::error::{ApiError, ApiResult};
use crate::inspection::level::{ENTRIES, LevelPage, MOST_ENTRIES, level};
use crate::inspection::notes::{add_note, add_notes};
use crate::inspection::pointer::Pointer;
use crate::inspection::shapes;
use crate::runs::request::parse_checkpoint;
use crate::server::Server;

/// The default number of checkpoints of a page, and the largest.
const LIMIT: usize = 100;
const LARGEST: usize = 1000;

type Answer = ApiResult<Json<Value>>;

/// Lists the checkpoints of a thread, or of a subgraph, newest first.
pub(super) async fn list(
    State(server): State<Arc<Server>>,
    Path(thread): Path<String>,
    Query(words): Query<Words>,
) -> Answer {
    let (limit, before) = (words.limit(LIMIT, LARGEST)?, words.checkpoint("before")?);
    let Some(place) = Place::find(&server, &thread, &words).await? else {
        return Ok(Json(json!({ "checkpoints": [], "next": null })));
    };
    let mut found = place.outlines(before, limit + 1).await?;
    let next = found.get(limit - 1).filter(|_| found.len() > limit).map(CheckpointOutline::id);
    found.truncate(limit);
    let (path, all_tags, mut checkpoints) = (place.path(), place.tags().await?, vec![]);
    let notes = place.notes(found.iter().flat_map(tasks_of).collect::<Vec<_>>()).await?;
    for outline in &found {
        let tags = all_tags.iter().filter(|(_, at)| *at == outline.id()).map(|(tag, _)| tag.clone());
        let mut listed = shapes::listed(outline, &path, &tags.collect::<Vec<_>>());
        add_notes(&mut listed["tasks"], "id", &notes);
        checkpoints.push(listed);
    }
    // Errors, metadata and tags may have copies of secrets.
    let secrets = place.secrets().await?;
    checkpoints.iter_mut().for_each(|shown| secrets.hide(shown));
    Ok(Json(json!({ "checkpoints": checkpoints, "next": next })))
}

/// Returns a checkpoint with its tasks, without its state.
pub(super) async fn one(
    State(server): State<Arc<Server>>,
    Path((thread, checkpoint)): Path<(String, String)>,
    Query(words): Query<Words>,
) -> Answer {
    let (at, place) = (parse_checkpoint(&checkpoint)?, Place::of_checkpoint(&server, &thread, &words).await?);
    let (outline, shown) = (place.outline(at).await?, place.shown(at).await?);
    let mut json = shown.json(&outline, &place.path());
    add_notes(&mut json["tasks"], "id", &place.notes(tasks_of(&outline)).await?);
    let tags = place.tags().await?.into_iter().filter(|(_, of)| *of == at).map(|(tag, _)| tag);
    json["tags"] = tags.collect();
    place.secrets().await?.hide(&mut json);
    Ok(Json(json))
}

/// Returns the ids of the tasks of a checkpoint.
fn tasks_of(outline: &CheckpointOutline) -> Vec<String> {
    outline.tasks.iter().map(|task| task.id.clone()).collect()
}

/// Returns one level of the state at a checkpoint.
pub(super) async fn value(
    State(server): State<Arc<Server>>,
    Path((thread, checkpoint)): Path<(String, String)>,
    Query(words): Query<Words>,
) -> Answer {
    let (at, place) = (parse_checkpoint(&checkpoint)?, Place::of_checkpoint(&server, &thread, &words).await?);
    let text = words.one("path").unwrap_or_default();
    let pointer = Pointer::parse(text).ok_or_else(|| {
        ApiError::invalid(format!("path is a JSON pointer, such as `/list/0/name`, and not `{text}`"))
    })?;
    let mut json = json!(place.level(at, &pointer, page(&words)?).await?);
    json["path"] = pointer.to_string().into();
    Ok(Json(json))
}

fn page(words: &Words) -> ApiResult<LevelPage> {
    Ok(LevelPage {
        limit: words.limit(ENTRIES, MOST_ENTRIES)?,
        after: words.number("after")?.unwrap_or_default(),
        is_whole: words.is_set("full"),
    })
}

/// Returns a task with its input, one level of it, and its journal.
pub(super) async fn task(
    State(server): State<Arc<Server>>,
    Path((thread, checkpoint, task)): Path<(String, String, String)>,
    Query(words): Query<Words>,
) -> Answer {
    let (at, place) = (parse_checkpoint(&checkpoint)?, Place::of_checkpoint(&server, &thread, &words).await?);
    let (outline, shown) = (place.outline(at).await?, place.shown(at).await?);
    let found = shown.tasks().iter().find(|found| found.id == task).ok_or_else(|| no_task(&outline, at, &task))?;
    let mut json = shapes::task(found, outline.tasks.iter().find(|known| known.id == task), &place.path());
    let (mut input, secrets) = (found.input.json(), place.secrets().await?);
    secrets.hide(&mut input);
    json["journal"] = json!(found.journal().await?);
    add_note(&mut json, place.notes([task.clone()]).await?.get(&task));
    secrets.hide(&mut json);
    json["input"] = json!(level(&input, LevelPage::default()));
    Ok(Json(json))
}

fn no_task(outline: &CheckpointOutline, at: CheckpointId, task: &str) -> ApiError {
    let known: Vec<String> = outline.tasks.iter().map(|task| format!("{} ({})", task.id, task.name)).collect();
    let known = if known.is_empty() { "it has none".into() } else { format!("its tasks are {}", known.join(", ")) };
    not_found(format!("checkpoint {at} has no task `{task}`: {known}"))
}
