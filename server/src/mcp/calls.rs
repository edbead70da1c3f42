//! Calls of tools: each in the words of the server's own requests, so that a run of a client of this protocol is one of every other.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{CallToolResponse, CreateTaskResult, InputResponses};
use rmcp::service::Peer;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::answers::Answers;
use super::client::Client;
use super::forms::read_value;
use super::newest::NewestThreads;
use super::position::{Position, STARTER};
use super::results::{bounded_steps, of_json, of_position, summary};
use super::tasks::{cancel, new_task};
use super::tools::{AnswerArgs, Call, HistoryArgs, ListArgs, StatusArgs, WaitArgs};
use super::waiting::{LONGEST, WaitCall, settle};
use crate::error::{ApiError, ApiResult};
use crate::runs::creation::Reader;
use crate::security::KeyRole;
use crate::server::Server;
use crate::wire::state;

/// The time that a run has to stop before a call of `cancel` returns.
const STOP: Duration = Duration::from_secs(5);
/// The number of items of a list, unless it is asked for, and the largest.
const LIMIT: usize = 20;
const LARGEST: usize = 100;

/// The context of a call.
pub(super) struct CallContext<'a> {
    pub server: &'a Arc<Server>,
    pub client: &'a Client,
    pub peer: &'a Peer<RoleServer>,
    pub responses: Option<InputResponses>,
}

impl CallContext<'_> {
    /// Performs a call.
    pub(super) async fn perform(&self, call: Call<'_>) -> ApiResult<CallToolResponse> {
        match call {
            Call::Run(graph, input) => self.run(graph.name(), input).await,
            Call::Wait(args) => self.wait(args).await,
            Call::Status(args) => self.status(args).await,
            Call::Answer(args) => self.answer(args).await,
            Call::Cancel(args) => self.cancel(&args.thread).await,
            Call::History(args) => self.history(args).await,
            Call::ListRuns(args) => self.list_runs(args).await,
        }
    }

    async fn run(&self, graph: &str, input: Value) -> ApiResult<CallToolResponse> {
        self.client.check(KeyRole::Run)?;
        let request = json!({
            "assistant_id": graph,
            "input": input,
            "metadata": { "created_by": "mcp", STARTER: self.client.key() },
            "on_completion": "keep",
        });
        let (run, _) = self.server.create_run(None, request, Reader::OfEvents).await?;
        let position = self.position(&run.thread).await?;
        match self.client.takes_tasks {
            true => Ok(CreateTaskResult::new(new_task(&position)).into()),
            false => Ok(of_position(&position).into()),
        }
    }

    async fn wait(&self, args: WaitArgs) -> ApiResult<CallToolResponse> {
        self.client.check(KeyRole::Read)?;
        let seconds = args.seconds.filter(|seconds| seconds.is_finite()).unwrap_or(LONGEST.as_secs_f64());
        let time = Duration::from_secs_f64(seconds.clamp(0.0, LONGEST.as_secs_f64()));
        let Self { server, client, peer, responses } = self;
        let wait = WaitCall { server, client, peer, thread: &args.thread, until: Instant::now() + time };
        wait.run(responses.as_ref()).await
    }

    async fn status(&self, args: StatusArgs) -> ApiResult<CallToolResponse> {
        self.client.check(KeyRole::Read)?;
        let mut position = self.position(&args.thread).await?;
        if let Some(channel) = args.channel {
            let value = position.state.get(&channel).cloned();
            let value = value.ok_or_else(|| ApiError::not_found("value of the channel", &channel))?;
            position.state = json!({ channel: value });
        }
        Ok(of_position(&position).into())
    }

    async fn answer(&self, args: AnswerArgs) -> ApiResult<CallToolResponse> {
        let position = self.position(&args.thread).await?;
        let open = position.question(args.question.as_deref())?;
        let value = read_value(&open.question, &args.answer);
        let mut answers = Answers::of(&position);
        answers.add(self.server, open, value)?;
        answers.send(self.server, self.client).await?;
        Ok(of_position(&self.position(&args.thread).await?).into())
    }

    async fn cancel(&self, thread: &str) -> ApiResult<CallToolResponse> {
        cancel(self.server, self.client, thread).await?;
        let position = settle(self.server, self.client, thread, Instant::now() + STOP).await?;
        Ok(of_position(&position).into())
    }

    async fn history(&self, args: HistoryArgs) -> ApiResult<CallToolResponse> {
        self.client.check(KeyRole::Read)?;
        let unknown = || ApiError::not_found("run of the thread", &args.thread);
        let (graph, thread) = self.server.thread(&args.thread).await?.ok_or_else(unknown)?;
        let (mut past, mut steps) = (thread.history().await?, vec![]);
        while steps.len() < limit(args.limit)
            && let Some(snapshot) = past.next().await
        {
            let snapshot = snapshot?;
            let secrets = self.server.secrets_of(graph, &args.thread, &snapshot).await?;
            let shown = state(graph, &args.thread, &snapshot, &secrets);
            steps.push(json!({
                "checkpoint": shown["checkpoint_id"], "step": shown["metadata"]["step"],
                "source": shown["metadata"]["source"], "next": shown["next"], "created_at": shown["created_at"],
                "state": shown["values"],
            }));
        }
        let (steps, note) = bounded_steps(steps, &args.thread);
        let structured = json!({ "thread": args.thread, "graph": graph.name(), "history": steps, "note": note });
        let lines: String =
            steps.iter().map(|step| format!("\n{step}")).chain(note.map(|note| format!("\n({note})"))).collect();
        Ok(of_json(format!("thread `{}`, the newest step first:{lines}", args.thread), structured).into())
    }

    async fn list_runs(&self, args: ListArgs) -> ApiResult<CallToolResponse> {
        self.client.check(KeyRole::Read)?;
        self.server.find_foreign().await?;
        let (mut runs, mut lines) = (vec![], String::new());
        let mut threads = NewestThreads::new(self.server);
        while runs.len() < limit(args.limit)
            && let Some(thread) = threads.next().await?
        {
            let is_wanted = args.graph.as_ref().is_none_or(|wanted| thread.graph.as_ref() == Some(wanted));
            if thread.graph.is_none() || !is_wanted {
                continue;
            }
            let Ok(position) = self.position(&thread.thread).await else { continue }; // deleted meanwhile
            let (status, updated) = (json!(position.status), json!(position.updated_at));
            if args.status.as_ref().is_none_or(|wanted| status == **wanted) {
                lines += &format!("\n{}", summary(&position));
                runs.push(json!({
                    "thread": position.thread, "graph": position.graph, "status": status, "updated_at": updated,
                }));
            }
        }
        let count = runs.len();
        Ok(of_json(format!("{count} runs{lines}"), json!({ "runs": runs })).into())
    }

    async fn position(&self, thread: &str) -> ApiResult<Position> {
        Position::read(self.server, thread, self.client).await
    }
}

fn limit(asked: Option<usize>) -> usize {
    asked.unwrap_or(LIMIT).clamp(1, LARGEST)
}
