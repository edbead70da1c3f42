//! The body of a request for a run, and what it asks of the engine. Knows no store and no connection.

use std::collections::BTreeSet;

use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value};
use superstep::checkpoint::CheckpointId;
use superstep::graph::{
    Answer, AnyGraph, AnyState, AnyThread, Command, Durability, InterruptId, Mode, Name, Request, Target,
};
use superstep_base::gather;
use utoipa::ToSchema;

use crate::choices::{DURABILITY, IF_NOT_EXISTS, MULTITASK, ON_COMPLETION, ON_DISCONNECT, check_choice};
use crate::error::{ApiError, ApiResult};
use crate::inputs::{InputChecks, writes};
use crate::message_form::known_channels;
use crate::records::assistant::AssistantVersion;
use crate::wire::metadata_texts;

/// The body of a request for a run. Fields that it does not name are accepted and ignored.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[schema(as = RunRequest)]
pub(crate) struct RunBody {
    /// The id of an assistant, or the name of a graph.
    #[serde(default)]
    #[schema(required)]
    pub assistant_id: String,
    /// Null continues from the newest checkpoint.
    pub input: Option<Value>,
    pub command: Option<CommandBody>,
    pub config: Option<ConfigBody>,
    /// The metadata of the run and of its checkpoints.
    pub metadata: Option<Map<String, Value>>,
    /// The checkpoint from which the run starts; the newest without it.
    pub checkpoint: Option<CheckpointBody>,
    pub checkpoint_id: Option<String>,
    pub interrupt_before: Option<Nodes>,
    pub interrupt_after: Option<Nodes>,
    /// `values` (unless set), `updates`, `messages`, `messages-tuple`, `custom`, `tasks`, `checkpoints`, `debug` or `events`.
    pub stream_mode: Option<OneOrMany>,
    /// Numbers the events, so that a reader can come back with `last-event-id`.
    #[serde(default)]
    pub stream_resumable: bool,
    #[serde(default)]
    pub stream_subgraphs: bool,
    /// Action if the thread has another run.
    #[schema(schema_with = crate::choices::multitask_strategy)]
    pub multitask_strategy: Option<String>,
    /// Action if the thread is unknown.
    #[schema(schema_with = crate::choices::if_not_exists)]
    pub if_not_exists: Option<String>,
    #[schema(schema_with = crate::choices::durability)]
    pub durability: Option<String>,
    /// The name that older clients have for a durability: `async` if true, `exit` if false.
    pub checkpoint_during: Option<bool>,
    /// The context of the nodes, over that of the assistant.
    pub context: Option<Map<String, Value>>,
    /// An address to which the run is sent when it has ended.
    pub webhook: Option<String>,
    /// The seconds before the run starts.
    pub after_seconds: Option<f64>,
    #[schema(schema_with = crate::choices::on_disconnect)]
    pub on_disconnect: Option<String>,
    /// Fate of the thread of a run that was created without one.
    #[schema(schema_with = crate::choices::on_completion)]
    pub on_completion: Option<String>,
}

/// Answers to questions, an update, or the nodes that run next. It is in the place of an input.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[schema(as = Command)]
pub(crate) struct CommandBody {
    /// The answer to the one open question, or answers by the ids of questions.
    pub resume: Option<Value>,
    /// The person who answers; `note` is theirs.
    pub by: Option<String>,
    pub note: Option<String>,
    /// Values of channels.
    pub update: Option<Value>,
    /// The name of a node, `{node, input}` with the payload of a worker, or a list of them.
    pub goto: Option<Value>,
}

#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[schema(as = RunConfig)]
pub(crate) struct ConfigBody {
    pub recursion_limit: Option<u64>,
    /// The context of clients that know no other way to give one.
    pub configurable: Option<Map<String, Value>>,
}

#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[schema(as = CheckpointName)]
pub(crate) struct CheckpointBody {
    pub checkpoint_id: Option<String>,
    /// The subgraph whose checkpoint it is, as its task names it; null or empty for the thread's own graph.
    pub checkpoint_ns: Option<String>,
}

/// The maximum number of parts of a namespace: tasks, and the numbers of their calls.
const NAMESPACE_PARTS: usize = 64;

impl CheckpointBody {
    /// Returns the tasks on the way down to the subgraph; none for the thread's own graph.
    ///
    /// # Errors
    /// 422 if the namespace is longer than that of any subgraph.
    pub(crate) fn namespace(&self) -> ApiResult<Vec<String>> {
        let parts = self.checkpoint_ns.iter().flat_map(|namespace| namespace.split('|'));
        let parts: Vec<_> = parts.filter(|part| !part.is_empty()).take(NAMESPACE_PARTS + 1).collect();
        if parts.len() > NAMESPACE_PARTS {
            let detail = format!(
                "`checkpoint_ns` has more than {NAMESPACE_PARTS} parts: send the namespace of a task's `checkpoint`"
            );
            return Err(ApiError::invalid(detail));
        }
        Ok(parts.into_iter().map(str::to_owned).collect())
    }
}

/// Names of nodes, or `*` for all.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Nodes {
    All(AllNodes),
    Some(Vec<String>),
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
pub(crate) enum AllNodes {
    #[serde(rename = "*")]
    All,
}

/// One name, or several.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

/// The end of a graph, as a target.
const END: &str = "__end__";

/// The stream modes: the name, the modes of the engine, and the names of the events.
const MODES: [(&str, &[Mode], &[&str]); 9] = [
    ("values", &[Mode::Values], &["values"]),
    ("updates", &[Mode::Updates], &["updates"]),
    ("messages", &[Mode::Messages, Mode::Updates], &["messages/metadata", "messages/partial", "messages/complete"]),
    ("messages-tuple", &[Mode::Messages, Mode::Updates], &["messages"]),
    ("custom", &[Mode::Custom], &["custom"]),
    ("tasks", &[Mode::Tasks], &["tasks"]),
    ("checkpoints", &[Mode::Checkpoints], &["checkpoints"]),
    ("debug", &[Mode::Tasks, Mode::Checkpoints], &["debug"]),
    ("events", &[], &[]),
];

/// The modes that a reader asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamModes(BTreeSet<&'static str>);

impl StreamModes {
    /// Reads the names of modes; `values` without any.
    pub(crate) fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> ApiResult<Self> {
        let row = |name: &str| MODES.iter().find(|(known, ..)| *known == name);
        let mut modes = BTreeSet::new();
        for name in names.into_iter().filter(|name| !name.is_empty()) {
            let known = || MODES.map(|(name, ..)| name).join(", ");
            let (known, ..) = row(name).ok_or_else(|| {
                ApiError::invalid(format!("there is no stream mode `{name}`: the modes are {}", known()))
            })?;
            modes.insert(*known);
        }
        if modes.is_empty() {
            modes.insert("values");
        }
        Ok(Self(modes))
    }

    /// Returns the engine's modes of all of them.
    pub(crate) fn of_engine(&self) -> BTreeSet<Mode> {
        gather(self.rows().flat_map(|(_, modes, _)| modes.iter().copied()))
    }

    /// Returns whether an event is one that the reader asked for, of whichever graph.
    pub(crate) fn has(&self, event: &str) -> bool {
        let event = event.split('|').next().unwrap_or(event);
        matches!(event, "metadata" | "error" | "gap") || self.rows().any(|(.., events)| events.contains(&event))
    }

    /// Returns whether messages are asked for.
    pub(crate) fn has_messages(&self) -> bool {
        self.0.contains("messages") || self.has_tuples()
    }

    /// Returns whether pieces of messages are sent with their metadata, which goes before the other form.
    pub(crate) fn has_tuples(&self) -> bool {
        self.0.contains("messages-tuple")
    }

    fn rows(&self) -> impl Iterator<Item = &'static (&'static str, &'static [Mode], &'static [&'static str])> {
        MODES.iter().filter(|(name, ..)| self.0.contains(name))
    }
}

impl RunBody {
    pub(crate) fn parse(body: &Value) -> ApiResult<Self> {
        let body = Self::deserialize(body);
        let mut body = body.map_err(|error| ApiError::invalid(format!("the request cannot be read: {error}")))?;
        if let Some(update) = body.command.as_mut().and_then(|command| command.update.as_mut()) {
            read_pairs(update);
        }
        Ok(body)
    }

    /// Returns the milliseconds before which the run does not start; `None` if it starts at once.
    pub(crate) fn delay(&self) -> Option<u64> {
        let seconds = self.after_seconds.filter(|seconds| *seconds > 0.0)?;
        Some((seconds * 1000.0) as u64)
    }

    pub(crate) fn modes(&self) -> ApiResult<StreamModes> {
        match &self.stream_mode {
            None => StreamModes::parse([]),
            Some(OneOrMany::One(name)) => StreamModes::parse([name.as_str()]),
            Some(OneOrMany::Many(names)) => StreamModes::parse(names.iter().map(String::as_str)),
        }
    }

    /// Returns the checkpoint from which the run starts; none for the newest.
    ///
    /// # Errors
    /// 422 for one of a subgraph, and for a text that is no id.
    pub(crate) fn start(&self) -> ApiResult<Option<CheckpointId>> {
        let namespace = self.checkpoint.as_ref().and_then(|checkpoint| checkpoint.checkpoint_ns.as_deref());
        if namespace.is_some_and(|namespace| !namespace.is_empty()) {
            return Err(ApiError::invalid(
                "a run cannot start from a checkpoint of a subgraph: leave out `checkpoint_ns`",
            ));
        }
        let nested = self.checkpoint.as_ref().and_then(|checkpoint| checkpoint.checkpoint_id.as_deref());
        let configurable = self.config.as_ref().and_then(|config| config.configurable.as_ref());
        let configured = configurable.and_then(|fields| fields.get("checkpoint_id")).and_then(Value::as_str);
        nested.or(self.checkpoint_id.as_deref()).or(configured).map(parse_checkpoint).transpose()
    }

    fn durability(&self) -> Option<&str> {
        let during = self.checkpoint_during.map(|during| if during { "async" } else { "exit" });
        self.durability.as_deref().or(during)
    }

    /// Checks the fields whose text is one of several.
    pub(crate) fn check_choices(&self) -> ApiResult<()> {
        check_choice("multitask_strategy", self.multitask_strategy.as_deref(), &MULTITASK)?;
        check_choice("if_not_exists", self.if_not_exists.as_deref(), &IF_NOT_EXISTS)?;
        check_choice("durability", self.durability.as_deref(), &DURABILITY)?;
        check_choice("on_disconnect", self.on_disconnect.as_deref(), &ON_DISCONNECT)?;
        check_choice("on_completion", self.on_completion.as_deref(), &ON_COMPLETION)
    }

    /// Sets up a thread as the request asks.
    pub(crate) fn configure(&self, mut thread: AnyThread) -> ApiResult<AnyThread> {
        if let Some(limit) = self.config.as_ref().and_then(|config| config.recursion_limit) {
            thread = thread.recursion_limit(limit);
        }
        for (key, text) in self.metadata.iter().flat_map(metadata_texts) {
            thread = thread.metadata(key, text);
        }
        let thread = match &self.interrupt_before {
            None => thread,
            Some(Nodes::All(_)) => thread.interrupt_before_all(),
            Some(Nodes::Some(nodes)) => thread.interrupt_before(nodes.iter().map(|node| Name::from(node.as_str()))),
        };
        let thread = match &self.interrupt_after {
            None => thread,
            Some(Nodes::All(_)) => thread.interrupt_after_all(),
            Some(Nodes::Some(nodes)) => thread.interrupt_after(nodes.iter().map(|node| Name::from(node.as_str()))),
        };
        Ok(match self.durability() {
            None | Some("sync") => thread.durability(Durability::Sync),
            Some("async") => thread.durability(Durability::Async),
            Some("exit") => thread.durability(Durability::Exit),
            Some(other) => return Err(ApiError::invalid(format!("there is no durability `{other}`"))),
        })
    }

    /// Returns the context of the run: that of its assistant, with the values of the request in the place of the assistant's.
    pub(crate) fn context_over(&self, assistant: &AssistantVersion) -> Map<String, Value> {
        let mut context = assistant.context.clone();
        let configurable = self.config.as_ref().and_then(|config| config.configurable.as_ref());
        let given = self.context.as_ref().or(configurable);
        context.extend(given.cloned().unwrap_or_default());
        context
    }

    /// Returns the request for the engine. A command is in the place of an input.
    pub(crate) fn request(&self, graph: &AnyGraph) -> ApiResult<Request<AnyState, Name>> {
        if let Some(command) = &self.command {
            return command.request(graph);
        }
        match &self.input {
            None | Some(Value::Null) => Ok(Request::proceed()),
            Some(input) => {
                let known = known_channels(graph, input);
                Ok(Request::input(writes(graph, "input", &known)?))
            }
        }
    }

    /// Checks the input, or the update of a command, against the schema of the graph.
    pub(crate) fn check_input(&self, checks: &InputChecks, graph: &AnyGraph) -> ApiResult<()> {
        let (what, given) = match (&self.command, &self.input) {
            (Some(command), _) => ("command.update", &command.update),
            (None, input) => ("input", input),
        };
        given.iter().try_for_each(|given| checks.check(graph, what, &known_channels(graph, given)))
    }

    /// Returns whether the run begins with new input.
    pub(crate) fn has_input(&self) -> bool {
        self.command.is_none() && self.input.as_ref().is_some_and(|input| !input.is_null())
    }
}

impl CommandBody {
    fn request(&self, graph: &AnyGraph) -> ApiResult<Request<AnyState, Name>> {
        let request = Request::answers(self.answers()?);
        let mut command: Option<Command<AnyState, Name>> = None;
        if let Some(update) = self.update.as_ref().filter(|update| !update.is_null()) {
            command = Some(Command::update(writes(graph, "command.update", &known_channels(graph, update))?));
        }
        if let Some(target) = self.target(graph)? {
            command = Some(match command {
                Some(command) => command.goto(target),
                None => Command::to(target),
            });
        }
        Ok(match command {
            Some(command) => request.and(command),
            None => request,
        })
    }

    /// Returns the answers: a value for the one question, or a map from ids of questions to values.
    pub(super) fn answers(&self) -> ApiResult<Vec<Answer>> {
        let Some(value) = &self.resume else { return Ok(vec![]) };
        let by_id: Option<Vec<(InterruptId, &Value)>> = value
            .as_object()
            .filter(|fields| !fields.is_empty())
            .and_then(|fields| fields.iter().map(|(id, value)| Some((id.parse().ok()?, value))).collect());
        Ok(match by_id {
            Some(answers) => answers.into_iter().map(|(id, value)| self.answer(value).to(id)).collect(),
            None => vec![self.answer(value)],
        })
    }

    fn answer(&self, value: &Value) -> Answer {
        let answer = self.by.iter().fold(Answer::json(value), |answer, by| answer.by(by.as_str()));
        self.note.iter().fold(answer, |answer, note| answer.note(note.as_str()))
    }

    fn target(&self, graph: &AnyGraph) -> ApiResult<Option<Target<Name>>> {
        let target = |value: &Value| {
            let name = value.as_str().or_else(|| value.get("node").and_then(Value::as_str));
            let name = name.ok_or_else(|| ApiError::invalid(format!("`goto` names no node: {value}")))?;
            let unknown = || ApiError::new(StatusCode::BAD_REQUEST, format!("there is no node `{name}`"));
            let payload = value.get("input").filter(|payload| !payload.is_null());
            if let Some(send) = payload.and_then(|payload| graph.send_json(name, payload)) {
                let misfit = |error| ApiError::invalid(format!("goto.input of `{name}`: {error}"));
                return send.map(Target::Sends).map_err(misfit);
            }
            match name {
                END => Ok(Target::End),
                name => graph.node(name).map(Target::Node).ok_or_else(unknown),
            }
        };
        match &self.goto {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Array(all)) => Ok(Some(Target::Many(all.iter().map(target).collect::<ApiResult<_>>()?))),
            Some(one) => Ok(Some(target(one)?)),
        }
    }
}

/// Reads an update that is a list of pairs of a channel and its value as an object.
fn read_pairs(update: &mut Value) {
    let pair = |pair: &Value| match pair.as_array().map(Vec::as_slice) {
        Some([Value::String(channel), value]) => Some((channel.clone(), value.clone())),
        _ => None,
    };
    let pairs = update.as_array().and_then(|pairs| pairs.iter().map(pair).collect::<Option<Map<_, _>>>());
    if let Some(fields) = pairs {
        *update = fields.into();
    }
}

/// Reads the id of a checkpoint.
pub(crate) fn parse_checkpoint(text: &str) -> ApiResult<CheckpointId> {
    let number = text.parse().map_err(|_| ApiError::not_found("checkpoint", text))?;
    Ok(CheckpointId(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_of_more_parts_than_subgraphs_have_is_refused() {
        let namespace = |parts: usize| {
            let checkpoint_ns = Some(format!("child:3-0{}", "|#0".repeat(parts - 1)));
            CheckpointBody { checkpoint_ns, ..CheckpointBody::default() }.namespace()
        };
        assert_eq!(namespace(NAMESPACE_PARTS).unwrap().len(), NAMESPACE_PARTS);
        let error = namespace(NAMESPACE_PARTS + 1).unwrap_err();
        assert_eq!(error.status, StatusCode::UNPROCESSABLE_ENTITY);
    }
}
