//! The event protocol over a WebSocket: commands and events both ways. What a client does not take yet stays where it is stored, so a slow
//! one slows no run.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, State};
use axum::response::Response;
use serde_json::{Value, json};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, timeout};
use uuid::Uuid;

use crate::error::ApiResult;
use crate::panics::catch_panic_of;
use crate::protocol::command::{CommandError, CommandResult, ProtocolCommand};
use crate::protocol::commands::execute;
use crate::protocol::event::ProtocolEvent;
use crate::protocol::filter::Filter;
use crate::protocol::subscriptions::Subscriptions;
use crate::security::Caller;
use crate::security::guard::LastingRequest;
use crate::server::Server;

/// The longest command, in bytes.
const COMMAND: usize = 4 << 20;
/// The interval of pings. A client that sends nothing between two of them is gone.
const PING: Duration = Duration::from_secs(10);
/// The time in which a client must take what is sent to it.
const PATIENCE: Duration = Duration::from_secs(30);
/// The number of subscriptions of one connection.
const SUBSCRIPTIONS: usize = 256;
/// The code with which a server that stops closes a connection: clients connect again.
const RESTART: u16 = 1012;
/// The code for a key that is not accepted any more: 4000 and the status of a refused request, so that clients do not connect again.
const REFUSED: u16 = 4401;
/// The code for an error of the server.
const ERROR: u16 = 1011;

pub(super) async fn connect(
    State(server): State<Arc<Server>>,
    Path(thread): Path<String>,
    (caller, lasting): (Option<Extension<Caller>>, Option<Extension<LastingRequest>>),
    upgrade: WebSocketUpgrade,
) -> Response {
    let client = SocketClient { name: caller.map(|caller| caller.0.name), lasting: lasting.map(|lasting| lasting.0) };
    let upgrade = upgrade.max_message_size(COMMAND).max_frame_size(COMMAND);
    upgrade.on_upgrade(|socket| async move {
        let mut connection = Connection::new(server, thread, (client, socket));
        while connection.step().await.is_some() {}
    })
}

/// The client of a connection.
struct SocketClient {
    /// The name of its key.
    name: Option<String>,
    lasting: Option<LastingRequest>,
}

impl SocketClient {
    /// Returns whether its key was not revoked.
    fn is_accepted(&self) -> bool {
        self.lasting.as_ref().is_none_or(LastingRequest::is_accepted)
    }
}

/// A connection of a client.
struct Connection {
    client: SocketClient,
    server: Arc<Server>,
    thread: String,
    socket: WebSocket,
    subscriptions: Subscriptions,
    heartbeat: Interval,
    /// Set while a ping has no answer.
    is_silent: bool,
    /// The number up to which the commands so far were applied.
    applied_through: u64,
}

impl Connection {
    fn new(server: Arc<Server>, thread: String, (client, socket): (SocketClient, WebSocket)) -> Self {
        let mut heartbeat = interval_at(Instant::now() + PING, PING);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let subscriptions = Subscriptions::new(Arc::clone(&server), thread.clone());
        Self { client, server, thread, socket, subscriptions, heartbeat, is_silent: false, applied_through: 0 }
    }

    /// Does what comes next; `None` at the end of the connection.
    async fn step(&mut self) -> Option<()> {
        let closing = self.server.closing.clone();
        tokio::select! {
            biased; // commands come before events: what a client subscribes to together begins together
            () = closing.cancelled() => self.close(RESTART, "the server stops").await,
            frame = self.socket.recv() => self.receive(frame?.ok()?).await,
            _ = self.heartbeat.tick() => {
                if std::mem::replace(&mut self.is_silent, true) {
                    return None;
                }
                self.send(Message::Ping(Bytes::new())).await
            }
            Some(events) = self.subscriptions.next() => match self.client.is_accepted() {
                true => self.send_events(events).await,
                false => self.close(REFUSED, "the key was revoked").await,
            },
        }
    }

    async fn receive(&mut self, frame: Message) -> Option<()> {
        self.is_silent = false;
        let bytes = match frame {
            Message::Text(text) => Bytes::from(text),
            Message::Binary(bytes) => bytes,
            Message::Ping(_) | Message::Pong(_) => return Some(()),
            Message::Close(_) => return None,
        };
        if !self.client.is_accepted() {
            return self.close(REFUSED, "the key was revoked").await;
        }
        let name = self.client.name.as_deref();
        let answer = match ProtocolCommand::parse(&bytes).map(|command| command.of_caller(name)) {
            Ok(command) => command.answer(self.execute_counted(&command).await),
            Err(refusal) => refusal,
        };
        self.send_json(&answer).await
    }

    /// Executes a command that counts as a request of the client.
    async fn execute_counted(&mut self, command: &ProtocolCommand) -> Result<CommandResult, CommandError> {
        if let Some(lasting) = &self.client.lasting {
            lasting.count()?;
        }
        self.execute(command).await
    }

    async fn execute(&mut self, command: &ProtocolCommand) -> Result<CommandResult, CommandError> {
        let result = match command.method.as_str() {
            "subscription.subscribe" => self.subscribe(&command.params)?,
            "subscription.unsubscribe" => self.unsubscribe(&command.params)?,
            "subscription.reconnect" => self.reconnect(&command.params).await?,
            _ => {
                let done = catch_panic_of(execute(&self.server, &self.thread, command)).await?;
                self.applied_through = self.applied_through.max(done.applied_through);
                done.result
            }
        };
        Ok(CommandResult { result, applied_through: self.applied_through })
    }

    fn subscribe(&mut self, params: &Value) -> Result<Value, CommandError> {
        let filter = Filter::parse(params).map_err(CommandError::invalid)?;
        if self.subscriptions.len() == SUBSCRIPTIONS {
            return Err(CommandError::invalid(format!("a connection has at most {SUBSCRIPTIONS} subscriptions")));
        }
        Ok(json!({ "subscription_id": self.subscriptions.add(filter) }))
    }

    fn unsubscribe(&mut self, params: &Value) -> Result<Value, CommandError> {
        let id = params["subscription_id"].as_str().unwrap_or_default();
        match self.subscriptions.remove(id) {
            true => Ok(json!({})),
            false => Err(CommandError::new("no_such_subscription", format!("there is no subscription `{id}`"))),
        }
    }

    /// Returns whether the subscriptions of a client are there. Those of an earlier connection are not: it subscribes again, with the
    /// number of the last event that it has.
    async fn reconnect(&mut self, params: &Value) -> Result<Value, CommandError> {
        let run = params["run_id"].as_str().unwrap_or_default();
        let none = || CommandError::new("no_such_run", format!("the thread `{}` has no run `{run}`", self.thread));
        let id = run.parse::<Uuid>().map_err(|_| none())?;
        match self.server.records.run(&self.thread, id).await {
            Err(error) if error.is_not_found() => return Err(none()),
            found => drop(found?),
        }
        let asked = params["subscriptions"].as_array().map_or(&[][..], Vec::as_slice);
        let has = |id: &Value| id.as_str().is_some_and(|id| self.subscriptions.contains(id));
        Ok(json!({ "restored": !asked.is_empty() && asked.iter().all(has) }))
    }

    async fn send_events(&mut self, events: ApiResult<Vec<ProtocolEvent>>) -> Option<()> {
        match events {
            Ok(events) => {
                for event in events {
                    self.send_json(&event.json()).await?;
                }
                Some(())
            }
            Err(error) => {
                self.send_json(&CommandError::from(error).answer(None)).await?;
                self.close(ERROR, "the events of the thread cannot be read").await
            }
        }
    }

    async fn send_json(&mut self, value: &Value) -> Option<()> {
        self.send(Message::Text(value.to_string().into())).await
    }

    async fn send(&mut self, message: Message) -> Option<()> {
        timeout(PATIENCE, self.socket.send(message)).await.ok()?.ok()
    }

    async fn close(&mut self, code: u16, reason: &'static str) -> Option<()> {
        let frame = CloseFrame { code, reason: reason.into() };
        self.send(Message::Close(Some(frame))).await?;
        None
    }
}
