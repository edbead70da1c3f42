//! Calls that wait for a thread: until it is done, asks, or the time is over. If it asks a client that has forms, a person answers in
//! one: as a part of the call's result, or as a request in the call's stream.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{CallToolResponse, ClientResult, InputRequiredResult, InputResponses, ServerRequest};
use rmcp::service::{Peer, PeerRequestOptions};
use serde_json::json;
use superstep_base::gather;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

use super::answers::respond;
use super::client::Client;
use super::forms::form;
use super::position::{OpenQuestion, Position, PositionStatus};
use super::results::of_position;
use super::tasks::requests;
use crate::error::ApiResult;
use crate::server::Server;

/// The longest time of a call: clients give one up after a minute.
pub(super) const LONGEST: Duration = Duration::from_secs(50);
/// The time that a person has for a form in the stream of a call, and that a thread has for the answer.
const FORM: Duration = Duration::from_secs(600);
const AFTER_FORM: Duration = Duration::from_secs(10);
/// The interval at which a thread is read that nobody executes: at least, and at most where the store sends no hint.
const REST: Duration = Duration::from_millis(100);
const PAUSE: Duration = Duration::from_millis(500);

/// Waits until a thread is done, asks, or the time is over.
pub(super) async fn settle(server: &Arc<Server>, client: &Client, thread: &str, until: Instant) -> ApiResult<Position> {
    let mut watch = server.records.0.watch();
    loop {
        let position = Position::read(server, thread, client).await?;
        if position.status != PositionStatus::Working || Instant::now() >= until || server.closing.is_cancelled() {
            return Ok(position);
        }
        let queue = server.thread_record(thread).await?.record.queue;
        let change = async {
            if let Some(run) = queue.first()
                && let Ok(run) = server.records.run(thread, *run).await
            {
                return server.wait_for_end(&run.record).await;
            }
            sleep(REST).await;
            _ = timeout(PAUSE, watch.changed()).await;
            Ok(())
        };
        tokio::select! {
            changed = change => changed?,
            () = sleep_until(until) => {}
            () = server.closing.cancelled() => {}
        }
    }
}

/// A call that waits for a thread.
pub(super) struct WaitCall<'a> {
    pub server: &'a Arc<Server>,
    pub client: &'a Client,
    pub peer: &'a Peer<RoleServer>,
    pub thread: &'a str,
    pub until: Instant,
}

impl WaitCall<'_> {
    /// Waits, after the forms were read that a person has filled in.
    pub(super) async fn run(mut self, responses: Option<&InputResponses>) -> ApiResult<CallToolResponse> {
        let mut left = match responses {
            None => BTreeSet::new(),
            Some(responses) => {
                let position = Position::read(self.server, self.thread, self.client).await?;
                respond(self.server, self.client, &position, responses).await?
            }
        };
        loop {
            let mut position = settle(self.server, self.client, self.thread, self.until).await?;
            let shown = of_position(&position);
            position.questions.retain(|open| !left.contains(&open.id()));
            let Some(open) = position.questions.first().filter(|_| self.client.takes_forms) else {
                return Ok(shown.into());
            };
            if self.client.has_form_results {
                return Ok(InputRequiredResult::from_input_requests(requests(&position)?).into());
            }
            if !self.ask(&position, open).await? {
                left.insert(open.id());
            }
        }
    }

    /// Shows a form in the stream of the call; returns whether a person has answered.
    async fn ask(&mut self, position: &Position, open: &OpenQuestion) -> ApiResult<bool> {
        let request = ServerRequest::ElicitRequest(form(open)?);
        let options = PeerRequestOptions::with_timeout(FORM);
        let Ok(sent) = self.peer.send_cancellable_request(request, options).await else { return Ok(false) };
        let answered = timeout_at(Instant::now() + FORM, sent.await_response()).await;
        let Ok(Ok(ClientResult::ElicitResult(result))) = answered else { return Ok(false) };
        let responses = gather([(open.id(), json!(result))]);
        let left = respond(self.server, self.client, position, &responses).await?;
        self.until = self.until.max(Instant::now() + AFTER_FORM);
        Ok(left.is_empty())
    }
}
