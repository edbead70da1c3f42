//! A server of chat completions in threads of this process: each request is answered by a function.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// The answer of a server.
pub(crate) enum Reply {
    /// A call of a tool.
    Call(&'static str, Value),
    /// Another status than 200, with headers.
    Refused(u16, &'static str),
}

/// Returns the name of the tool that submits the agent's work, which identifies its role.
pub(crate) fn submits(request: &Value) -> &str {
    let tools = request["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names = tools.iter().filter_map(|tool| tool["function"]["name"].as_str());
    names.into_iter().find(|name| name.starts_with("submit_")).unwrap_or_default()
}

/// Returns the text of the last message.
pub(crate) fn last(request: &Value) -> &str {
    request["messages"].as_array().and_then(|all| all.last()?["content"].as_str()).unwrap_or_default()
}

pub(crate) fn work() -> Reply {
    Reply::Call("submit_work", json!({"status": "done", "summary": "did"}))
}

pub(crate) fn write(path: &str, content: &str) -> Reply {
    Reply::Call("write", json!({"path": path, "content": content}))
}

/// Approves everything.
pub(crate) fn approve(request: &Value) -> Reply {
    match submits(request) {
        "submit_review" => Reply::Call("submit_review", json!({"approved": true, "severity": "none"})),
        _ => Reply::Call("submit_final_review", json!({"approved": true, "summary": "fine"})),
    }
}

pub(crate) struct Server {
    url: String,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Server {
    /// Starts a server; `answer` gets each request and the number of requests before it.
    pub(crate) fn start(answer: impl Fn(&Value, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (requests, answer) = (Arc::<Mutex<Vec<Value>>>::default(), Arc::new(answer));
        let log = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream, &log, &*answer));
            }
        });
        Self { url, requests }
    }

    /// Returns a profile whose agents use this server.
    pub(crate) fn profile(&self, more: &str) -> String {
        format!("driver = 'api'\nmodel = 'm'\n{more}\n[api]\nbase_url = '{}'\n", self.url)
    }

    /// Returns the requests so far.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve(stream: TcpStream, log: &Mutex<Vec<Value>>, answer: &impl Fn(&Value, usize) -> Reply) {
    let mut stream = BufReader::new(stream);
    let (mut line, mut length) = (String::new(), 0);
    while stream.read_line(&mut line).is_ok_and(|read| read > 2) {
        if let Some(given) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = given.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    let request: Value = serde_json::from_slice(&body).unwrap();
    let nth = {
        let mut log = log.lock().unwrap();
        log.push(request.clone());
        log.len() - 1
    };
    let (head, body) = match answer(&request, nth) {
        Reply::Refused(status, headers) => {
            (format!("{status} Refused\r\n{headers}"), json!({"error": {"message": "not now"}}))
        }
        Reply::Call(name, arguments) => {
            let call = json!({"id": format!("call-{nth}"), "type": "function",
                "function": {"name": name, "arguments": arguments.to_string()}});
            let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
            let choice = json!({"index": 0, "message": message, "finish_reason": "tool_calls"});
            (
                "200 OK\r\n".to_owned(),
                json!({"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}),
            )
        }
    };
    let body = body.to_string();
    let length = body.len();
    let head = format!("HTTP/1.1 {head}content-type: application/json\r\ncontent-length: {length}\r\n");
    // A client that has gone needs no answer.
    let _ = stream.get_mut().write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes());
}
