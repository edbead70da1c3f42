//! The graph that a request is about: that of a thread, or, with `within`, a subgraph that one of its tasks ran. Knows no answer.

use serde_json::Value;
use superstep::checkpoint::CheckpointId;
use superstep::graph::thread::NestedRun;
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
    name: &'a str,
    /// The tasks that lead to a subgraph, and its run.
    within: Vec<(CheckpointId, String)>,
    inside: Option<NestedRun>,
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
        let within = words.all("within").map(parse_task).collect::<ApiResult<Vec<_>>>()?;
        let inside = thread.inside(&within).await?;
        if let (Some((checkpoint, task)), None) = (within.last(), &inside) {
            return Err(ApiError::new(
                axum::http::StatusCode::NOT_FOUND,
                format!(
                    "no subgraph of task `{task}` of checkpoint {checkpoint} is stored: `has_inside` of a task shows whether one is"
                ),
            ));
        }
        Ok(Some(Self { graph, thread, name, within, inside }))
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
        self.inside.as_ref().map(NestedRun::path).unwrap_or_default()
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
            Some(inside) => inside.state(at).await?.map(|found| CheckpointState::Nested(Box::new(found))),
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
        self.secrets(&[at]).await?.hide(&mut state);
        let missing = |missing| not_found(format!("the state at checkpoint {at} has no `{pointer}`: {missing}"));
        Ok(level(pointer.find(&state).map_err(missing)?, page))
    }

    /// Returns the tags of a checkpoint.
    pub(super) async fn tags(&self) -> ApiResult<Vec<(String, CheckpointId)>> {
        Ok(if self.inside.is_none() { self.thread.tags().await? } else { vec![] })
    }

    /// Returns the values of secret channels: at checkpoints, in all subgraphs that their tasks ran, and now. Those at checkpoints of a
    /// subgraph are those of the task in whose subgraph they are.
    pub(super) async fn secrets(&self, checkpoints: &[CheckpointId]) -> ApiResult<Secrets> {
        let secrets = Secrets::default();
        if !self.graph.has_secrets() {
            return Ok(secrets);
        }
        if let Some(now) = self.thread.state_deep().await? {
            secrets.add_deep(self.graph, &now);
        }
        let within = self.within.first();
        let roots = within.map_or(checkpoints, |(root, _)| std::slice::from_ref(root));
        for root in roots {
            let Some(found) = self.thread.clone().at(*root).state().await? else { continue };
            secrets.add_state(self.graph, &found.values);
            let mut tasks = found.tasks;
            tasks.retain(|found| within.is_none_or(|(_, task)| found.id == *task));
            secrets.add_tasks(&self.thread, &tasks).await?;
        }
        Ok(secrets)
    }

    /// Returns the values of secret channels at the checkpoints of the thread from one to another, and now.
    pub(super) async fn secrets_between(&self, from: CheckpointId, to: CheckpointId) -> ApiResult<Secrets> {
        if !self.graph.has_secrets() {
            return Ok(Secrets::default());
        }
        let after = CheckpointId(to.0.saturating_add(1));
        let mut ids: Vec<_> = self.outlines(Some(after), usize::MAX).await?.iter().map(CheckpointOutline::id).collect();
        ids.retain(|id| *id >= from);
        self.secrets(&ids).await
    }

    /// Returns the checkpoint of the thread's own graph in whose superstep another one was made, or the same if it is of that graph.
    pub(super) async fn root_of(&self, at: CheckpointId) -> ApiResult<Option<CheckpointId>> {
        let after = CheckpointId(at.0.saturating_add(1));
        Ok(self.outlines(Some(after), 1).await?.first().map(CheckpointOutline::id))
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
