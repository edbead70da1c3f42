//! The graph that a request is about: that of a thread, or, with `within`, a subgraph that one of its tasks ran. Knows no answer.

use std::collections::BTreeMap;

use serde_json::Value;
use superstep::checkpoint::spending::TaskNote;
use superstep::checkpoint::{CheckpointId, ThreadId};
use superstep::graph::thread::SubgraphRun;
use superstep::graph::view::{CheckpointOutline, NestedSnapshot, TaskSnapshot};
use superstep::graph::{AnyGraph, AnyState, AnyThread, StateSnapshot};

use super::words::Words;
use crate::error::{ApiError, ApiResult};
use crate::inspection::level::{LevelJson, LevelPage, level};
use crate::inspection::pointer::Pointer;
use crate::inspection::shapes;
use crate::security::secrets::Secrets;
use crate::server::Server;

/// The graph that a request is about.
pub(super) struct Place<'a> {
    pub graph: &'a AnyGraph,
    pub thread: AnyThread,
    server: &'a Server,
    name: &'a str,
    /// The tasks that lead to a subgraph, and its run.
    namespace: Vec<String>,
    inside: Option<SubgraphRun>,
}

/// A checkpoint with its state.
pub(super) enum CheckpointState {
    Root(Box<StateSnapshot<AnyState>>),
    Nested(Box<NestedSnapshot>),
}

impl<'a> Place<'a> {
    /// Finds the place of a request; none if the thread has never run.
    ///
    /// # Errors
    /// 404 if the thread is not there, or a task in `within` ran no subgraph.
    pub(super) async fn find(server: &'a Server, name: &'a str, words: &Words) -> ApiResult<Option<Self>> {
        let Some((graph, thread)) = server.thread(name).await? else { return Ok(None) };
        let mut place = Self { graph, thread, server, name, namespace: vec![], inside: None };
        for within in words.all("within") {
            place.enter(parse_task(within)?).await?;
        }
        Ok(Some(place))
    }

    /// Returns what tasks have reported, by their ids.
    pub(super) async fn notes(
        &self,
        tasks: impl IntoIterator<Item = String> + Send,
    ) -> ApiResult<BTreeMap<String, TaskNote>> {
        Ok(TaskNote::read_all(&*self.server.records.0, &ThreadId::from(self.name), tasks).await?)
    }

    /// Goes into the subgraph that a task ran.
    async fn enter(&mut self, (checkpoint, task): (CheckpointId, String)) -> ApiResult<()> {
        let outline = match self.outline(checkpoint).await {
            Err(error) if error.is_not_found() => None,
            found => Some(found?),
        };
        let called = outline.iter().flat_map(|outline| &outline.tasks).find(|found| found.id == task);
        self.namespace.extend(called.map(|called| format!("{}:{task}", called.name)));
        self.inside = match called {
            Some(_) => self.thread.subgraph_run(&self.namespace).await?,
            None => None,
        };
        match self.inside {
            Some(_) => Ok(()),
            None => Err(not_found(format!(
                "no subgraph of task `{task}` of checkpoint {checkpoint} is stored: `has_inside` of a task shows whether one is"
            ))),
        }
    }

    /// Finds the place of a request about a checkpoint.
    ///
    /// # Errors
    /// As [`find`](Self::find); 404 if the thread has never run.
    pub(super) async fn of_checkpoint(server: &'a Server, name: &'a str, words: &Words) -> ApiResult<Self> {
        let missing = || not_found(format!("the thread `{name}` has no checkpoint before its first run"));
        Self::find(server, name, words).await?.ok_or_else(missing)
    }

    /// Returns the nodes of the tasks whose subgraphs it is in.
    pub(super) fn path(&self) -> Vec<String> {
        self.inside.as_ref().map(SubgraphRun::path).unwrap_or_default()
    }

    /// Returns checkpoints before one of them, or the newest ones, newest first.
    pub(super) async fn outlines(
        &self,
        before: Option<CheckpointId>,
        limit: usize,
    ) -> ApiResult<Vec<CheckpointOutline>> {
        if let Some(inside) = &self.inside {
            return Ok(inside.outline(before, limit).await?);
        }
        let history = self.thread.history().await?.limit(limit);
        let history = before.into_iter().fold(history, |history, before| history.before(before));
        Ok(history.outline_with_tasks().await?)
    }

    /// Returns one checkpoint in outline.
    pub(super) async fn outline(&self, at: CheckpointId) -> ApiResult<CheckpointOutline> {
        let found = match &self.inside {
            Some(inside) => inside.checkpoint(at).await?,
            None => self.outlines(Some(CheckpointId(at.0.saturating_add(1))), 1).await?.pop(),
        };
        found.filter(|found| found.id() == at).ok_or_else(|| self.no_checkpoint(at))
    }

    /// Returns one checkpoint with its state.
    pub(super) async fn shown(&self, at: CheckpointId) -> ApiResult<CheckpointState> {
        let found = match &self.inside {
            Some(inside) => inside.state_at(at).await?.map(|found| CheckpointState::Nested(Box::new(found))),
            None => self.thread.clone().at(at).state().await?.map(|found| CheckpointState::Root(Box::new(found))),
        };
        found.ok_or_else(|| self.no_checkpoint(at))
    }

    /// Returns one level of the state at a checkpoint. The channel alone is read, where no secrets have to be found to be hidden.
    pub(super) async fn level(&self, at: CheckpointId, pointer: &Pointer, page: LevelPage) -> ApiResult<LevelJson> {
        let mut state = match pointer.first().filter(|_| self.inside.is_none() && !self.graph.has_secrets()) {
            Some(channel) => self.thread.clone().at(at).channel_values(&[channel]).await?.into(),
            None => self.shown(at).await?.state(self.graph),
        };
        self.secrets().await?.hide(&mut state);
        let missing = |missing| not_found(format!("the state at checkpoint {at} has no `{pointer}`: {missing}"));
        Ok(level(pointer.find(&state).map_err(missing)?, page))
    }

    /// Returns the tags of a checkpoint.
    pub(super) async fn tags(&self) -> ApiResult<Vec<(String, CheckpointId)>> {
        Ok(if self.inside.is_none() { self.thread.tags().await? } else { vec![] })
    }

    /// Returns the values that the secret channels of the thread have, and have had.
    pub(super) async fn secrets(&self) -> ApiResult<Secrets> {
        let secrets = self.server.past_secrets.of(self.graph, self.name).await?;
        if self.graph.has_secrets()
            && let Some(now) = self.thread.state_deep().await?
        {
            secrets.add_deep(self.graph, &now);
        }
        Ok(secrets)
    }

    fn no_checkpoint(&self, at: CheckpointId) -> ApiError {
        match self.inside.is_some() {
            true => not_found(format!("the subgraph `{}` has no checkpoint {at} there", self.path().join("/"))),
            false => not_found(format!("thread `{}` has no checkpoint {at}", self.name)),
        }
    }
}

impl CheckpointState {
    pub(super) fn state(&self, graph: &AnyGraph) -> Value {
        match self {
            Self::Root(snapshot) => snapshot.json(graph.schema()),
            Self::Nested(snapshot) => snapshot.values.json(),
        }
    }

    pub(super) fn tasks(&self) -> &[TaskSnapshot] {
        match self {
            Self::Root(snapshot) => &snapshot.tasks,
            Self::Nested(snapshot) => &snapshot.tasks,
        }
    }

    /// Returns the checkpoint as JSON, without its state.
    pub(super) fn json(&self, outline: &CheckpointOutline, path: &[String]) -> Value {
        match self {
            Self::Root(snapshot) => shapes::checkpoint(snapshot, outline, path),
            Self::Nested(snapshot) => shapes::checkpoint(snapshot, outline, path),
        }
    }
}

/// Parses `CHECKPOINT:TASK`.
fn parse_task(text: &str) -> ApiResult<(CheckpointId, String)> {
    let parts = text.split_once(':').and_then(|(at, task)| Some((CheckpointId(at.parse().ok()?), task.to_owned())));
    parts.ok_or_else(|| ApiError::invalid(format!("within is CHECKPOINT:TASK, such as `3:3-0`, and not `{text}`")))
}

pub(super) fn not_found(detail: String) -> ApiError {
    ApiError::new(axum::http::StatusCode::NOT_FOUND, detail)
}
