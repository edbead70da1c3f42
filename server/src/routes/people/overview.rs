//! The graphs of the server, and how much work waits: for processes, and for people.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use superstep::checkpoint::StoreWorker;
use superstep_base::time::rfc3339;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::error::ApiResult;
use crate::records::items::StoredRecord;
use crate::records::run::OpenRun;
use crate::server::Server;

/// Amount of work that waits.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Health)]
pub(in super::super) struct HealthJson {
    queue: QueueJson,
    /// The processes that run threads of a store which several share; empty for any other store.
    #[schema(value_type = Vec<Object>)]
    workers: Vec<StoreWorker>,
    questions: QuestionsJson,
}

/// The runs that have not ended.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = HealthQueue)]
struct QueueJson {
    /// The number of runs that wait for their turn.
    pending: usize,
    running: usize,
    /// The time at which the oldest run that waits was created.
    #[schema(required, format = DateTime)]
    oldest_at: Option<String>,
}

/// The open questions.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = HealthQuestions)]
struct QuestionsJson {
    open: usize,
    /// The time since which the oldest of them waits.
    #[schema(required, format = DateTime)]
    oldest_at: Option<String>,
}

/// A graph of the server.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Graph)]
pub(in super::super) struct GraphJson {
    /// Its name.
    graph: String,
    /// The graph in a sentence.
    #[schema(required)]
    about: Option<String>,
    assistants: Vec<GraphAssistantJson>,
    /// True if a thread takes no second input.
    takes_one_input: bool,
    /// True if the client that started a run is not offered its questions.
    answered_by_people: bool,
}

/// An assistant of a graph.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = GraphAssistant)]
struct GraphAssistantJson {
    assistant_id: Uuid,
    name: String,
}

pub(super) async fn health(State(server): State<Arc<Server>>) -> ApiResult<Json<HealthJson>> {
    let (open, oldest) = server.count_questions().await?;
    Ok(Json(HealthJson {
        queue: QueueJson::of(&server.records.all::<OpenRun>("").await?),
        workers: server.records.0.workers().await?,
        questions: QuestionsJson { open, oldest_at: oldest.map(rfc3339) },
    }))
}

impl QueueJson {
    /// Counts open runs. The records of the runs themselves have their requests, which may be large.
    fn of(open: &[StoredRecord<OpenRun>]) -> Self {
        let pending = open.iter().filter(|open| !open.record.is_running);
        let oldest = pending.clone().filter_map(|open| open.record.created_at).min();
        let pending = pending.count();
        Self { pending, running: open.len() - pending, oldest_at: oldest.map(rfc3339) }
    }
}

pub(super) async fn graphs(State(server): State<Arc<Server>>) -> ApiResult<Json<Vec<GraphJson>>> {
    let all = server.assistants().await?;
    let assistants = |name: &str| {
        let of_graph = all.iter().filter_map(|found| Some((found.record.assistant, found.record.now()?)));
        let of_graph = of_graph.filter(|(_, version)| version.graph == name);
        of_graph
            .map(|(assistant_id, version)| GraphAssistantJson { assistant_id, name: version.name.clone() })
            .collect()
    };
    let shown = server.graphs.iter().map(|graph| GraphJson {
        graph: graph.name().to_owned(),
        about: graph.about().map(str::to_owned),
        assistants: assistants(graph.name()),
        takes_one_input: server.readers.get(graph.name()).is_some_and(|reader| reader.takes_one_input()),
        answered_by_people: graph.is_answered_by_people(),
    });
    Ok(Json(shown.collect()))
}
