//! A client of the Model Context Protocol over HTTP that sends what the protocol's text says, without a library. Knows both versions;
//! must not know what is claimed.

use reqwest::Response;
use serde_json::{Value, json};

use crate::api::Api;

pub(crate) const OLD: &str = "2025-06-18";
pub(crate) const NEW: &str = "2026-07-28";

/// What a client says that it can do.
pub(crate) fn tasks() -> Value {
    json!({ "extensions": { "io.modelcontextprotocol/tasks": {} }, "elicitation": { "form": {} } })
}

/// A client of a server.
pub(crate) struct McpClient<'a> {
    pub(crate) api: &'a Api,
    version: &'static str,
    capabilities: Value,
    session: Option<String>,
}

impl<'a> McpClient<'a> {
    /// Returns a client that says in each request what it can do; one of the older version has no session.
    pub(crate) fn of(api: &'a Api, version: &'static str, capabilities: Value) -> Self {
        Self { api, version, capabilities, session: None }
    }

    /// Returns a client of the older version with a session.
    pub(crate) async fn in_session(api: &'a Api, capabilities: Value) -> Self {
        let mut client = Self::of(api, OLD, capabilities);
        let response = client.send("initialize", client.initialize()).await;
        client.session = Some(response.headers()["mcp-session-id"].to_str().unwrap().to_owned());
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(client.post(&ready, "notifications/initialized").await.status(), 202);
        client
    }

    /// Returns the client of the same session at another server.
    pub(crate) fn at<'b>(&self, api: &'b Api) -> McpClient<'b> {
        let (version, capabilities, session) = (self.version, self.capabilities.clone(), self.session.clone());
        McpClient { api, version, capabilities, session }
    }

    pub(crate) fn initialize(&self) -> Value {
        let info = json!({ "name": "tried", "version": "1" });
        json!({ "protocolVersion": self.version, "capabilities": self.capabilities, "clientInfo": info })
    }

    async fn post(&self, body: &Value, method: &str) -> Response {
        let request = self.api.client.post(format!("{}/mcp", self.api.address)).json(body);
        let request = request.header("accept", "application/json, text/event-stream");
        let mut request = request.header("mcp-protocol-version", self.version);
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
        }
        if self.version == NEW {
            request = request.header("mcp-method", method);
            let name = body["params"]["name"].as_str().or(body["params"]["taskId"].as_str());
            request = name.into_iter().fold(request, |request, name| request.header("mcp-name", name));
        }
        request.send().await.unwrap()
    }

    pub(crate) async fn send(&self, method: &str, mut params: Value) -> Response {
        if self.version == NEW {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": NEW,
                "io.modelcontextprotocol/clientInfo": { "name": "tried", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            });
        }
        let body = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        self.post(&body, method).await
    }

    /// Ends the session.
    pub(crate) async fn end(&self) {
        let request = self.api.client.delete(format!("{}/mcp", self.api.address));
        let request = request.header("mcp-session-id", self.session.as_deref().unwrap());
        let response = request.header("mcp-protocol-version", self.version).send().await.unwrap();
        assert!(response.status().is_success(), "{}", response.status());
    }

    /// Sends the answer to a request of the server.
    pub(crate) async fn reply(&self, id: &Value, result: Value) {
        let body = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        assert_eq!(self.post(&body, "").await.status(), 202);
    }

    /// Returns the answer to a request: its result or its error.
    pub(crate) async fn request(&self, method: &str, params: Value) -> Value {
        let mut messages = Messages::of(self.send(method, params).await);
        loop {
            let message = messages.next().await;
            if message["id"] == 7 {
                return if message["error"].is_null() { message["result"].clone() } else { message["error"].clone() };
            }
        }
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    /// Starts a run, and returns its thread.
    pub(crate) async fn start(&self, tool: &str, input: Value) -> String {
        let result = self.call(tool, input).await;
        let thread = result["taskId"].as_str().or(result["structuredContent"]["thread"].as_str());
        thread.unwrap_or_else(|| panic!("{result}")).to_owned()
    }

    pub(crate) async fn task(&self, id: &str) -> Value {
        self.request("tasks/get", json!({ "taskId": id })).await
    }

    /// Polls a task until it has a status.
    pub(crate) async fn task_with(&self, id: &str, status: &str) -> Value {
        loop {
            let task = self.task(id).await;
            if task["status"] == status {
                return task;
            }
            assert!(["working", "input_required"].contains(&task["status"].as_str().unwrap()), "{task}");
            tokio::task::yield_now().await;
        }
    }

    /// Sends a form to the only question of a task; returns the answer to it.
    pub(crate) async fn fill_in(&self, task: &Value, response: Value) -> Value {
        let (question, _) = task["inputRequests"].as_object().unwrap().iter().next().unwrap();
        let responses = json!({ "taskId": task["taskId"], "inputResponses": { question: response } });
        self.request("tasks/update", responses).await
    }
}

/// The messages of an answer: one, or several in a stream.
pub(crate) struct Messages {
    response: Response,
    text: String,
    /// The bytes after the text: a character may come in two pieces.
    rest: Vec<u8>,
    is_stream: bool,
}

impl Messages {
    pub(crate) fn of(response: Response) -> Self {
        let content = response.headers()["content-type"].to_str().unwrap();
        let is_stream = content.starts_with("text/event-stream");
        Self { response, text: String::new(), rest: vec![], is_stream }
    }

    pub(crate) async fn next(&mut self) -> Value {
        loop {
            if let Some(message) = self.take() {
                return message;
            }
            match self.response.chunk().await.unwrap() {
                Some(bytes) => self.add(&bytes),
                None => return serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{}", self.text)),
            }
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.rest.extend(bytes);
        let whole = self.rest.utf8_chunks().next().map_or(0, |chunk| chunk.valid().len());
        self.text += std::str::from_utf8(&self.rest[..whole]).unwrap();
        self.rest.drain(..whole);
    }

    fn take(&mut self) -> Option<Value> {
        while self.is_stream
            && let Some((block, rest)) = self.text.split_once("\n\n")
        {
            let data = block.lines().find_map(|line| line.strip_prefix("data:")).map(|data| data.trim().to_owned());
            self.text = rest.to_owned();
            if let Some(message) = data.and_then(|data| serde_json::from_str(&data).ok()) {
                return Some(message);
            }
        }
        None
    }
}
