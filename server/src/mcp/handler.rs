//! The methods of the protocol. A server of the store answers each from what is stored, so that no request needs an earlier one.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, ErrorData, GetTaskParams, GetTaskResult, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, UpdateTaskParams,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};

use super::answers::respond;
use super::calls::CallContext;
use super::client::Client;
use super::position::Position;
use super::results::{of_error, protocol_error};
use super::tasks::{cancel, task};
use super::tools::{Call, tools};
use crate::panics::catch_panic_of;
use crate::security::KeyRole;
use crate::server::Server;

const INSTRUCTIONS: &str = "Each tool `run_…` starts a durable run and returns its thread at once; the run goes on by itself, also \
                            when this session ends. `wait` returns its result or its questions. Keep the thread: `status`, `wait` \
                            and `answer` take it in any later session, and `list_runs` finds it again. Questions that are for \
                            people are not shown here: tell the user, and wait.";

/// The graphs as tools.
#[derive(Clone)]
pub(super) struct GraphTools(pub Arc<Server>);

impl ServerHandler for GraphTools {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tasks().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("superstep", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools(&self.0)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let call = match Call::parse(&self.0.graphs, &request.name, arguments) {
            Some(Ok(call)) => call,
            Some(Err(reason)) => return Err(ErrorData::invalid_params(reason, None)),
            None => return Err(ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None)),
        };
        let client = Client::of(&context);
        let responses = request.input_responses;
        let calls = CallContext { server: &self.0, client: &client, peer: &context.peer, responses };
        Ok(catch_panic_of(calls.perform(call)).await.unwrap_or_else(|error| of_error(&error).into()))
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let client = Client::of(&context);
        client.check(KeyRole::Read).map_err(protocol_error)?;
        let read = async { task(&Position::read(&self.0, &request.task_id, &client).await?) };
        catch_panic_of(read).await.map(GetTaskResult::new).map_err(protocol_error)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let client = Client::of(&context);
        let responded = async {
            let position = Position::read(&self.0, &request.task_id, &client).await?;
            respond(&self.0, &client, &position, &request.input_responses).await
        };
        catch_panic_of(responded).await.map(drop).map_err(protocol_error)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let client = Client::of(&context);
        catch_panic_of(cancel(&self.0, &client, &request.task_id)).await.map_err(protocol_error)
    }
}
