//! A chat agent: two tools, one of which needs an approval; tokens as they arrive; a memory over turns and processes.
//! `chat [THREAD] [STORE]`; see `docs/guide/chat.md`.
#![cfg_attr(rustfmt, rustfmt_skip)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

// <state>
use std::io::{Write, stdin, stdout};
use std::{error::Error, process::ExitCode, sync::Arc};

use serde_json::{Value, json};
use superstep::drivers::DriverError;
use superstep::drivers::api::{ApiConfig, Client, CompletionRequest, Message, Tool, ToolCall};
use superstep::prelude::*;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Chat { #[channel(append)] messages: Vec<Message> }
#[derive(NodeId)]
enum Step { Model, Tools }
#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool)]
struct MayRun(ToolCall);
// </state>

// <tools>
fn tools() -> [Tool; 2] {
    let text = || json!({ "type": "string" });
    let arguments = |fields: Value| json!({ "type": "object", "properties": fields });
    [
        Tool::new("tide", "Returns the time of high tide", arguments(json!({ "port": text() }))),
        Tool::new("send_mail", "Sends a mail", arguments(json!({ "to": text(), "text": text() }))),
    ]
}
#[derive(Deserialize)]
struct Tide { port: String }
#[derive(Deserialize)]
struct Mail { to: String, text: String }

async fn run_tool(call: &ToolCall) -> Result<String, NodeError> {
    Ok(match call.name.as_str() {
        "tide" => call.parse().map(|Tide { port }| format!("high tide in {port} is at nine"))?,
        "send_mail" => call.parse().map(|Mail { to, text }| format!("sent to {to}: {text}"))?,
        other => format!("there is no tool `{other}`"),
    })
}
// </tools>

// <nodes>
async fn model(chat: Arc<Chat>, ctx: Ctx<Client>) -> Result<ChatUpdate, NodeError> {
    let request = CompletionRequest::new("gpt-5-mini", &chat.messages).system("You help sailors.").tools(tools());
    let ask = |_key| ctx.context().complete(request, |piece| ctx.emit_message(piece)); // streams, then returns it all
    let answer = ctx.effect("answer", &chat.messages.len(), ask).await?; // stored: never paid for twice
    Ok(Chat::update().messages([answer.message]))
}
async fn run_tools(chat: Arc<Chat>, ctx: Ctx<Client>) -> Result<ChatUpdate, NodeError> {
    let mut results = vec![];
    for call in chat.messages.last().iter().flat_map(|last| &last.tool_calls) {
        if call.name == "send_mail" && !ctx.interrupt_as(&call.id, MayRun(call.clone()))? {
            results.push(Message::result(call, "error: the user does not allow it"));
            continue;
        }
        let run = |_key| async { Ok::<_, NodeError>(run_tool(call).await.unwrap_or_else(|error| format!("error: {error}"))) };
        results.push(Message::result(call, ctx.effect(&call.id, call, run).await?));
    }
    Ok(Chat::update().messages(results))
}
// </nodes>

// <graph>
#[derive(Route)]
enum Next { #[to(Step::Tools)] Tools, #[to(END)] Done }
fn next(chat: &Chat) -> Next {
    let calls_tools = chat.messages.last().is_some_and(|last| !last.tool_calls.is_empty());
    if calls_tools { Next::Tools } else { Next::Done }
}
fn graph() -> Result<CompiledGraph<Chat, Step, Client>, CompileError> {
    StateGraph::new()
        .add_node(Step::Model, model.retry(RetryPolicy::attempts(4).when_error(DriverError::is_temporary)))
        .add_node(Step::Tools, run_tools.asks::<MayRun>())
        .add_edge(START, Step::Model)
        .add_conditional_edges(Step::Model, next)
        .add_edge(Step::Tools, Step::Model)
        .compile()
}
// </graph>

// <chat>
async fn chat(thread: Thread<Chat, Step, Client>) -> Result<(), Box<dyn Error>> {
    loop {
        let request = match thread.status().await? {
            Status::New | Status::Finished => {
                let Some(line) = read("> ")? else { return Ok(()) };
                Request::input(Chat::update().messages([Message::user(line)]))
            }
            Status::Interrupted { questions } => {
                let Some(line) = read(&format!("allow {}? [y/n] ", questions[0].json()))? else { return Ok(()) };
                Request::answers([Answer::new::<MayRun>(&(line == "y")).to(questions[0].id())])
            }
            _ => Request::proceed(), // the run failed, or was killed: it resumes
        };
        let mut run = thread.stream(request, [Mode::Messages]);
        while let Some(event) = run.next().await {
            let EventKind::Message { value, .. } = event.kind else { continue };
            print!("{}", value["text"].as_str().unwrap_or_default());
            stdout().flush()?;
        }
        run.outcome().await?;
        println!();
    }
}
fn read(prompt: &str) -> std::io::Result<Option<String>> {
    print!("{prompt}");
    stdout().flush()?;
    let mut line = String::new();
    Ok((stdin().read_line(&mut line)? > 0).then(|| line.trim().to_owned()))
}
async fn start() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (id, store) = (words.next().unwrap_or("first".into()), words.next().unwrap_or("chat.sled".into()));
    let graph = graph()?.with_checkpointer(SledCheckpointer::open(store).map_err(RunError::from)?);
    chat(graph.thread_with(id, Client::new(ApiConfig::from_env())?)).await
}
// </chat>

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Err(error) = start().await else { return ExitCode::SUCCESS };
    eprintln!("error: {error}");
    ExitCode::FAILURE
}
