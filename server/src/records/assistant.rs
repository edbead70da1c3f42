//! Assistants: graphs with a configuration, in numbered versions. Each graph has one by itself.

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

use super::items::Record;
use super::time::time_text;
use crate::error::{ApiError, ApiResult};

/// The namespace of the ids of assistants that graphs have by themselves.
const DEFAULTS: Uuid = Uuid::from_bytes(*b"superstep-server");

/// Record of an assistant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AssistantRecord {
    pub assistant: Uuid,
    pub created_at: u64,
    /// The number of the current version.
    pub current: u64,
    /// Oldest first; version 1 is the first.
    pub versions: Vec<AssistantVersion>,
}

/// Contents of a version of an assistant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AssistantVersion {
    pub version: u64,
    pub graph: String,
    pub name: String,
    pub description: Option<String>,
    pub config: Map<String, Value>,
    pub context: Map<String, Value>,
    pub metadata: Map<String, Value>,
    pub created_at: u64,
}

/// An assistant: a graph with a configuration.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Assistant)]
pub(crate) struct AssistantJson<'a> {
    assistant_id: Uuid,
    graph_id: &'a str,
    name: &'a str,
    #[schema(required)]
    description: Option<&'a str>,
    config: &'a Map<String, Value>,
    context: &'a Map<String, Value>,
    metadata: &'a Map<String, Value>,
    version: u64,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    updated_at: String,
}

impl Record for AssistantRecord {
    const NAMESPACE: &'static str = "superstep.server.assistants";

    fn key(&self) -> String {
        self.assistant.to_string()
    }
}

/// Returns the id of the assistant that a graph has by itself: the same on every server.
pub(crate) fn default_id(graph: &str) -> Uuid {
    Uuid::new_v5(&DEFAULTS, graph.as_bytes())
}

impl AssistantVersion {
    /// Sets the configuration and the context, as far as they are given. Older clients send the context as `configurable` of the
    /// configuration: each is the other.
    ///
    /// # Errors
    /// 400 if both are given.
    pub(crate) fn configure(
        &mut self,
        config: Option<&Map<String, Value>>,
        context: Option<&Map<String, Value>>,
    ) -> ApiResult<()> {
        let configurable = config.and_then(|config| config.get("configurable")).and_then(Value::as_object);
        let configurable = configurable.filter(|fields| !fields.is_empty());
        if configurable.is_some() && context.is_some_and(|context| !context.is_empty()) {
            let detail = "give the context or `config.configurable`, which is the same, and not both";
            return Err(ApiError::new(StatusCode::BAD_REQUEST, detail));
        }
        config.iter().for_each(|config| self.config.clone_from(config));
        if let Some(context) = configurable.or(context) {
            self.context.clone_from(context);
        }
        if !self.context.is_empty() || self.config.contains_key("configurable") {
            self.config.insert("configurable".into(), self.context.clone().into());
        }
        Ok(())
    }
}

impl AssistantRecord {
    /// Returns the assistant that a graph has by itself.
    pub(crate) fn default_of(graph: &str, now: u64) -> Self {
        let metadata = Map::from_iter([("created_by".to_owned(), "system".into())]);
        let version = AssistantVersion {
            version: 1,
            graph: graph.to_owned(),
            name: graph.to_owned(),
            description: None,
            config: Map::new(),
            context: Map::new(),
            metadata,
            created_at: now,
        };
        Self { assistant: default_id(graph), created_at: now, current: 1, versions: vec![version] }
    }

    /// Returns the current version.
    pub(crate) fn now(&self) -> Option<&AssistantVersion> {
        self.versions.iter().find(|version| version.version == self.current)
    }

    /// Returns the assistant on the wire; `None` if it has no current version.
    pub(crate) fn json(&self) -> Option<Value> {
        Some(self.version_json(self.now()?))
    }

    /// Returns one of its versions on the wire.
    pub(crate) fn version_json(&self, version: &AssistantVersion) -> Value {
        json!(AssistantJson {
            assistant_id: self.assistant,
            graph_id: &version.graph,
            name: &version.name,
            description: version.description.as_deref(),
            config: &version.config,
            context: &version.context,
            metadata: &version.metadata,
            version: version.version,
            created_at: time_text(self.created_at),
            updated_at: time_text(version.created_at),
        })
    }
}
