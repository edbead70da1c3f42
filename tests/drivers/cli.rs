//! Coding agents that are programs: shell scripts that write the output of the real ones, and fail as programs do. The
//! lines are those of codex 0.169 and claude 2.1.

use std::fs;
use std::path::Path;
use std::time::Duration;

use insta::assert_snapshot;
use rstest::rstest;
use serde_json::{Value, json};
use superstep::drivers::{
    AgentEvent, AgentRequest, CliAgent, Driver, DriverError, DriverErrorClass, DriverExt, Finished, Session,
    SessionRef, SessionStore, Shell, SubmitTool, TurnStatus,
};
use superstep::nodes::Submit;
use superstep::plan::{FinalReview, PlanProposal, Review, WorkReport};
use tempfile::TempDir;

use crate::kit::{Alive, script};

/// Records the arguments, prompt and environment; the prompt is read to its end, as the real programs do.
const RECORD: &str = "printf '%s\\n' \"$@\" > args; cat > prompt; env > environment";

struct Stage {
    place: TempDir,
}

impl Stage {
    fn with(body: &str) -> Self {
        let place = tempfile::tempdir().unwrap();
        script(place.path(), "agent", &format!("{RECORD}\n{body}"));
        Self { place }
    }

    fn path(&self) -> &Path {
        self.place.path()
    }

    fn codex(&self) -> CliAgent {
        CliAgent::codex().program(self.path().join("agent")).grace(Duration::from_millis(100))
    }

    fn claude(&self) -> CliAgent {
        CliAgent::claude().program(self.path().join("agent")).grace(Duration::from_millis(100))
    }

    fn request(&self) -> AgentRequest {
        let mut request = AgentRequest::new("developer", "Mend it.", self.path());
        request.system = "You are careful.".into();
        let schema = json!({"type": "object", "properties": {"done": {"type": "boolean"}, "why": {"type": "string"}}, "required": ["done"]});
        request.submit = Some(SubmitTool { name: "submit_work".into(), description: "what was done".into(), schema });
        request
    }

    fn read(&self, name: &str) -> String {
        let text = fs::read_to_string(self.path().join(name)).unwrap();
        text.replace(self.path().to_str().unwrap(), "PLACE")
    }
}

async fn run(driver: CliAgent, request: AgentRequest) -> (Vec<String>, Result<Finished, DriverError>) {
    let mut events = vec![];
    let finished = driver.finish(request, |event| events.push(serde_json::to_string(event).unwrap())).await;
    let timeless = finished.map(|mut finished| {
        finished.usage.ms = 0;
        finished
    });
    (events, timeless)
}

fn resume(request: AgentRequest, id: &str) -> AgentRequest {
    AgentRequest { session: Session::Resume(SessionRef { id: id.into(), turn: String::new() }), ..request }
}

// --- output ---

const CODEX: &str = r#"cat <<'END'
{"type":"thread.started","thread_id":"0199-a"}
{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Model metadata for `m` not found."}}
{"type":"turn.started"}
Reading additional input from stdin...
{"type":"item.completed","item":{"id":"item_1","type":"reasoning","text":"**Looking**"}}
{"type":"item.started","item":{"id":"item_2","type":"command_execution","command":"bash -lc ls","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_2","type":"command_execution","command":"bash -lc ls","aggregated_output":"a.txt\n","exit_code":0,"status":"completed"}}
{"type":"item.completed","item":{"id":"item_3","type":"file_change","changes":[{"path":"a.txt","kind":"update"}],"status":"completed"}}
{"type":"item.completed","item":{"id":"item_4","type":"mcp_tool_call","server":"docs","tool":"find","arguments":{"q":1},"result":null,"error":{"message":"gone"},"status":"failed"}}
{"type":"item.updated","item":{"id":"item_5","type":"todo_list","items":[]}}
{"type":"item.completed","item":{"id":"item_6","type":"hologram","shape":"cube"}}
{"type":"weather.changed"}
{"type":"error","message":"Reconnecting... 1/5"}
{"type":"item.completed","item":{"id":"item_7","type":"agent_message","text":"{\"done\":true,\"why\":null}"}}
{"type":"turn.completed","usage":{"input_tokens":1200,"cached_input_tokens":200,"output_tokens":345,"reasoning_output_tokens":100}}
END
sleep 600"#;

#[tokio::test]
async fn the_output_of_codex_is_read() {
    let stage = Stage::with(CODEX);
    let (events, finished) = run(stage.codex(), stage.request()).await;
    assert_snapshot!(events.join("\n"), @r#"
    {"started":{"id":"0199-a","turn":""}}
    {"notice":"Model metadata for `m` not found."}
    {"notice":"no JSON: Reading additional input from stdin..."}
    {"thinking":"**Looking**"}
    {"tool_call":{"id":"item_2","name":"shell","arguments":{"command":"bash -lc ls"}}}
    {"tool_result":{"id":"item_2","ok":true,"text":"a.txt\n"}}
    {"tool_call":{"id":"item_3","name":"edit","arguments":{"changes":[{"kind":"update","path":"a.txt"}]}}}
    {"tool_result":{"id":"item_3","ok":true,"text":""}}
    {"tool_call":{"id":"item_4","name":"docs.find","arguments":{"q":1}}}
    {"tool_result":{"id":"item_4","ok":false,"text":"{\"message\":\"gone\"}"}}
    {"notice":"unknown item `hologram`"}
    {"notice":"unknown message `weather.changed`"}
    {"notice":"Reconnecting... 1/5"}
    {"text":"{\"done\":true,\"why\":null}"}
    {"usage":{"input":1000,"output":345,"cache_read":200,"cache_write":0,"cost":0,"requests":1,"ms":0,"estimated":false}}
    "#);
    let finished = finished.unwrap();
    assert_eq!(finished.submitted, Some(json!({"done": true})));
    assert_eq!((finished.usage.tokens(), finished.usage.input, finished.usage.cache_read), (1545, 1000, 200));
    assert_eq!(finished.session, Some(SessionRef { id: "0199-a".into(), turn: "1200,200,0,345".into() }));
}

const CLAUDE: &str = r#"cat <<'END'
{"type":"system","subtype":"init","cwd":"/w","session_id":"c-1","tools":["Read"],"model":"m","permissionMode":"acceptEdits"}
{"type":"assistant","message":{"id":"msg_1","role":"assistant","content":[{"type":"thinking","thinking":"hm"}],"usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":2}},"parent_tool_use_id":null,"session_id":"c-1"}
{"type":"assistant","message":{"id":"msg_1","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Read","input":{"file_path":"a"}}],"usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":2}},"parent_tool_use_id":null,"session_id":"c-1"}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":[{"type":"text","text":"no such file"}]}]},"session_id":"c-1"}
{"type":"assistant","message":{"id":"msg_2","content":[{"type":"text","text":"the helper speaks"}]},"parent_tool_use_id":"toolu_9"}
{"type":"system","subtype":"compact_boundary"}
{"type":"aurora"}
{"type":"assistant","message":{"id":"msg_3","content":[{"type":"text","text":"All done."}],"usage":{"input_tokens":7,"output_tokens":1}},"parent_tool_use_id":null}
{"type":"result","subtype":"success","is_error":false,"duration_ms":900,"num_turns":2,"result":"All done.","session_id":"c-1","total_cost_usd":0.0123456,"usage":{"input_tokens":17,"cache_creation_input_tokens":3,"cache_read_input_tokens":5,"output_tokens":9},"structured_output":{"done":true}}
END"#;

#[tokio::test]
async fn the_output_of_claude_is_read() {
    let stage = Stage::with(CLAUDE);
    let (events, finished) = run(stage.claude(), stage.request()).await;
    assert_snapshot!(events.join("\n"), @r#"
    {"started":{"id":"c-1","turn":""}}
    {"thinking":"hm"}
    {"usage":{"input":10,"output":2,"cache_read":5,"cache_write":0,"cost":0,"requests":1,"ms":0,"estimated":false}}
    {"tool_call":{"id":"toolu_1","name":"Read","arguments":{"file_path":"a"}}}
    {"tool_result":{"id":"toolu_1","ok":false,"text":"no such file"}}
    {"thinking":"the helper speaks"}
    {"notice":"unknown message `system.compact_boundary`"}
    {"notice":"unknown message `aurora`"}
    {"text":"All done."}
    {"usage":{"input":17,"output":3,"cache_read":5,"cache_write":0,"cost":0,"requests":2,"ms":0,"estimated":false}}
    {"usage":{"input":17,"output":9,"cache_read":5,"cache_write":3,"cost":12346,"requests":2,"ms":0,"estimated":false}}
    "#);
    assert_snapshot!(serde_json::to_string(&finished.unwrap()).unwrap(), @r#"{"status":"done","text":"All done.","submitted":{"done":true},"session":{"id":"c-1","turn":""},"usage":{"input":17,"output":9,"cache_read":5,"cache_write":3,"cost":12346,"requests":2,"ms":0,"estimated":false}}"#);
}

#[tokio::test]
async fn a_result_is_also_found_in_the_text() {
    let stage = Stage::with(
        r#"printf '%s\n' '{"type":"result","subtype":"success","is_error":false,"result":"So:\n```json\n{\"done\": false}\n```","session_id":"c"}'"#,
    );
    let finished = run(stage.claude(), stage.request()).await.1.unwrap();
    assert_eq!(finished.submitted, Some(json!({"done": false})));
    assert_eq!(finished.session.map(|session| session.id).as_deref(), Some("c"), "without a beginning that names it");
}

// --- arguments ---

#[tokio::test]
async fn codex_gets_the_prompt_on_standard_input() {
    let stage = Stage::with(&format!("cat \"$(sed -n '/output-schema/{{n;p}}' args)\" > schema\n{CODEX}"));
    let mut request = stage.request();
    request.model = Some("m".into());
    request.access.write = true;
    let codex = stage.codex().args(["-c", "a=1"]).env("EXTRA_TOKEN", "t0ken-t0ken");
    run(codex, request).await.1.unwrap();
    let args = stage.read("args").replace('\n', " ");
    let (before, after) = args.split_once("--output-schema ").unwrap();
    assert_snapshot!(before, @"exec -s workspace-write -C PLACE --json --skip-git-repo-check -m m");
    let (schema, after) = after.split_once(' ').unwrap();
    assert_eq!(after, "-c a=1 - ");
    assert!(!Path::new(schema).exists(), "the schema's file is gone");
    assert_snapshot!(stage.read("prompt"), @r#"
    You are careful.
    
    Mend it.
    
    When you are done, hand over your result (`submit_work`: what was done). There is no tool of this name here: your last message is the result. It is one JSON object that fits this schema, and nothing else:
    
    ```json
    {"properties":{"done":{"type":"boolean"},"why":{"type":"string"}},"required":["done"],"type":"object"}
    ```
    "#);
    assert_snapshot!(stage.read("schema"), @r#"{"additionalProperties":false,"properties":{"done":{"type":"boolean"},"why":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["done","why"],"type":"object"}"#);
    let environment = stage.read("environment");
    assert!(environment.contains("EXTRA_TOKEN=") && !environment.contains("CARGO_MANIFEST_DIR"), "{environment}");
}

#[rstest]
#[case::read_only(false)]
#[case::all(true)]
#[tokio::test]
async fn claude_is_called_with_the_tools_the_turn_may_use(#[case] all: bool) {
    let stage = Stage::with(CLAUDE);
    let mut request = resume(stage.request(), "c-1");
    request.limits.cost = Some(1_500_000);
    request.access.write = all;
    request.access.shell = all.then(Shell::default);
    run(stage.claude(), request).await.1.unwrap();
    let args = stage.read("args").replace('\n', " ");
    let tools = if all { "Read,Grep,Glob,Edit,Write,Bash" } else { "Read,Grep,Glob" };
    let mode = if all { "acceptEdits" } else { "dontAsk" };
    let common = format!(
        "-p --output-format stream-json --verbose --tools {tools} --allowed-tools {tools} --permission-mode {mode}"
    );
    assert!(
        args.starts_with(&format!("{common} --max-turns 200 --max-budget-usd 1.500000 --json-schema {{")),
        "{args}"
    );
    assert!(args.ends_with(" --resume c-1 "), "{args}");
    assert!(stage.read("prompt").starts_with("Mend it.\n\nWhen you are done"), "the system prompt was told before");
}

#[tokio::test]
async fn codex_resumes_a_session() {
    let stage = Stage::with(CODEX);
    run(stage.codex(), resume(stage.request(), "0199-a")).await.1.unwrap();
    let args = stage.read("args").replace('\n', " ");
    assert!(args.starts_with("exec -s read-only -C PLACE resume 0199-a --json --skip-git-repo-check"), "{args}");
}

#[tokio::test]
async fn the_usage_of_a_codex_turn_is_the_increase_of_its_session() {
    let line = |input, output| {
        format!(
            "echo '{{\"type\":\"turn.completed\",\"usage\":{{\"input_tokens\":{input},\"output_tokens\":{output}}}}}'"
        )
    };
    let first = Stage::with(&format!("echo '{{\"type\":\"thread.started\",\"thread_id\":\"a\"}}'\n{}", line(1000, 50)));
    let finished = run(first.codex(), first.request()).await.1.unwrap();
    let second = Stage::with(&line(1500, 57));
    let request = AgentRequest { session: Session::Resume(finished.session.unwrap()), ..second.request() };
    let usage = run(second.codex(), request).await.1.unwrap().usage;
    assert_eq!((usage.input, usage.output, usage.estimated), (500, 7, false));
    let usage = run(second.codex(), resume(second.request(), "a")).await.1.unwrap().usage;
    assert_eq!((usage.input, usage.output, usage.estimated), (1500, 57, true));
}

#[rstest]
#[tokio::test]
async fn a_sandbox_wraps_the_whole_agent(#[values(true, false)] codex: bool) {
    let stage = Stage::with(if codex { CODEX } else { CLAUDE });
    let sandbox = script(stage.path(), "sandbox", "printf '%s ' \"$1\" > inside; shift; exec \"$@\"");
    let behind = |agent: CliAgent| agent.run_in([sandbox.to_str().unwrap(), "--strict"]);
    let agent = behind(if codex { stage.codex() } else { stage.claude() });
    run(agent, stage.request()).await.1.unwrap();
    assert_eq!(stage.read("inside"), "--strict ");
    assert!(stage.read("args").starts_with(if codex { "exec\n-s\n" } else { "-p\n" }), "{}", stage.read("args"));
    let missing = run(stage.codex().run_in(["no-such-sandbox"]), stage.request()).await.1.unwrap_err();
    assert!(missing.message.starts_with("cannot start `no-such-sandbox`, which the agent is to run in: "), "{missing}");
    assert_eq!(missing.help, "install it, or change `command_prefix` in the profile");
}

#[rstest]
#[case::codex(true, r#"echo "{\"type\":\"item.completed\",\"item\":{\"id\":\"1\",\"type\":\"command_execution\",\"command\":\"env\",\"aggregated_output\":\"EXTRA_TOKEN=$EXTRA_TOKEN\"}}"
echo "{\"type\":\"item.completed\",\"item\":{\"id\":\"2\",\"type\":\"agent_message\",\"text\":\"{\\\"done\\\":true,\\\"why\\\":\\\"$EXTRA_TOKEN, sk-learn-is-there\\\"}\"}}"
echo '{"type":"turn.completed","usage":{}}'"#)]
#[case::claude(false, r#"echo "{\"type\":\"assistant\",\"message\":{\"id\":\"1\",\"content\":[{\"type\":\"text\",\"text\":\"It is $EXTRA_TOKEN\"}]}}"
echo "{\"type\":\"result\",\"subtype\":\"success\",\"result\":\"$EXTRA_TOKEN\",\"session_id\":\"c\",\"structured_output\":{\"done\":true,\"why\":\"$EXTRA_TOKEN, sk-learn-is-there\"}}""#)]
#[tokio::test]
async fn no_output_of_an_agent_contains_its_keys(#[case] codex: bool, #[case] body: &str) {
    let stage = Stage::with(body);
    let agent = if codex { stage.codex() } else { stage.claude() };
    let agent = agent.env("EXTRA_TOKEN", "hush-hush").with_store(SessionStore::new(stage.path().join("kept")));
    let request = AgentRequest { turn: "t".into(), ..stage.request() };
    let (events, finished) = run(agent.clone(), request).await;
    let finished = finished.unwrap();
    assert_eq!(finished.submitted, Some(json!({"done": true, "why": "[redacted], sk-learn-is-there"})));
    let ended = agent.finished_turn(None, "t").await.unwrap();
    let all = format!("{events:?}{finished:?}{ended:?}");
    assert!(!all.contains("hush-hush") && events.iter().any(|event| event.contains("[redacted]")), "{all}");
}

// --- the schemas of the workflow ---

/// Collects the parts of a schema that its program does not support, with their places.
fn unsupported(schema: &Value, at: &str, is_strict: bool, found: &mut Vec<String>) {
    let Value::Object(fields) = schema else { return };
    found.extend(fields.get("format").filter(|format| format.is_string()).map(|format| format!("{at}: {format}")));
    if is_strict && let Some(Value::Object(properties)) = fields.get("properties") {
        let names: Value = properties.keys().cloned().collect();
        if (&fields["required"], &fields["additionalProperties"]) != (&names, &json!(false)) {
            found.push(format!("{at} is open"));
        }
    }
    for (key, value) in fields {
        match value {
            Value::Object(_) => unsupported(value, &format!("{at}/{key}"), is_strict, found),
            Value::Array(list) => {
                list.iter().for_each(|value| unsupported(value, &format!("{at}/{key}"), is_strict, found))
            }
            _ => {}
        }
    }
}

#[rstest]
#[case::plan(PlanProposal::tool())]
#[case::work(WorkReport::tool())]
#[case::review(Review::tool())]
#[case::final_review(FinalReview::tool())]
#[tokio::test]
async fn each_program_gets_the_submit_schemas_in_its_dialect(
    #[case] submit: SubmitTool,
    #[values(true, false)] codex: bool,
) {
    let body = "while [ $# -gt 1 ]; do case $1 in --output-schema) cp \"$2\" schema;; --json-schema) printf %s \"$2\" > schema;; esac; shift; done";
    let stage = Stage::with(&format!("{body}\n{}", if codex { CODEX } else { CLAUDE }));
    let agent = if codex { stage.codex() } else { stage.claude() };
    let names = submit.schema["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    run(agent, AgentRequest { submit: Some(submit), ..stage.request() }).await.1.unwrap();
    let given: Value = serde_json::from_str(&stage.read("schema")).unwrap();
    let mut found = vec![];
    unsupported(&given, "", codex, &mut found);
    assert_eq!(found, Vec::<String>::new(), "{given:#}");
    assert_eq!(given["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>(), names);
}

// --- after a kill ---

#[rstest]
#[tokio::test]
async fn the_result_of_a_turn_is_found_by_its_key_in_another_process(#[values(true, false)] codex: bool) {
    let stage = Stage::with(if codex { CODEX } else { CLAUDE });
    let agent = || {
        let agent = if codex { stage.codex() } else { stage.claude() };
        agent.with_store(SessionStore::new(stage.path().join("kept")))
    };
    let keyed = |request: AgentRequest, turn: &str| AgentRequest { turn: turn.to_owned(), ..request };
    let first = agent().finish(keyed(stage.request(), "A/1"), |_| ()).await.unwrap();
    let session = SessionRef { id: "s".into(), turn: "7".into() };
    let resumed = AgentRequest { session: Session::Resume(session.clone()), ..stage.request() };
    let second = agent().finish(keyed(resumed, "A/2"), |_| ()).await.unwrap();
    agent().finish(stage.request(), |_| ()).await.unwrap();

    assert_eq!(agent().finished_turn(None, "A/1").await.unwrap(), Some(first));
    assert_eq!(agent().finished_turn(Some(&session), "A/2").await.unwrap(), Some(second));
    for (session, turn) in [(None, "A/2"), (Some(&session), "A/1"), (None, "A/3"), (None, "")] {
        assert_eq!(agent().finished_turn(session, turn).await.unwrap(), None, "{session:?} {turn}");
    }
    let without_store = if codex { stage.codex() } else { stage.claude() };
    assert_eq!(without_store.finished_turn(None, "A/1").await.unwrap(), None);
}

#[tokio::test]
async fn the_result_of_a_turn_is_stored_before_its_program_ends() {
    let lines = CLAUDE.to_owned()
        + "\nuntil cat kept/*/*.jsonl > seen 2>/dev/null && grep -q ended seen; do sleep 0.01; done; echo > in-time";
    let stage = Stage::with(&lines);
    let agent = stage.claude().with_store(SessionStore::new(stage.path().join("kept"))).grace(Duration::from_secs(120));
    agent.finish(AgentRequest { turn: "t".into(), ..stage.request() }, |_| ()).await.unwrap();
    assert_eq!(stage.read("in-time"), "\n");
}

#[rstest]
#[case::failed(r#"echo '{"type":"turn.failed","error":{"message":"stream disconnected"}}'"#)]
#[case::broken_off("echo '{\"type\":\"turn.started\"}'; exit 1")]
#[tokio::test]
async fn a_failed_turn_is_not_stored(#[case] body: &str) {
    let stage = Stage::with(body);
    let agent = stage.codex().with_store(SessionStore::new(stage.path().join("kept")));
    agent.finish(AgentRequest { turn: "t".into(), ..stage.request() }, |_| ()).await.unwrap_err();
    assert_eq!(agent.finished_turn(None, "t").await.unwrap(), None);
}

#[tokio::test]
async fn a_turn_that_ended_has_ended_even_if_it_cannot_be_stored() {
    let stage = Stage::with(CLAUDE);
    fs::write(stage.path().join("kept"), "no folder").unwrap();
    let agent = stage.claude().with_store(SessionStore::new(stage.path().join("kept")));
    let (events, finished) = run(agent, AgentRequest { turn: "t".into(), ..stage.request() }).await;
    assert_eq!(finished.unwrap().status, TurnStatus::Done);
    assert!(events.last().unwrap().contains("is lost if this process is killed now"), "{events:?}");
}

// --- failures ---

#[rstest]
#[case::codex_lost(
    true,
    "echo 'Error: thread/resume: thread/resume failed: no rollout found for thread id x (code -32600)\n\nStack backtrace:\n   0: <unknown>' >&2; exit 1",
    DriverErrorClass::SessionLost
)]
#[case::claude_lost(false, r#"echo '{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,"session_id":"x","total_cost_usd":0,"errors":["No conversation found with session ID: x"]}'; exit 1"#, DriverErrorClass::SessionLost)]
#[case::claude_logged_out(false, r#"echo '{"type":"assistant","message":{"id":"1","content":[{"type":"text","text":"Not logged in · Please run /login"}]},"parent_tool_use_id":null,"error":"authentication_failed"}
{"type":"result","subtype":"success","is_error":true,"api_error_status":null,"result":"Not logged in · Please run /login"}'; exit 1"#, DriverErrorClass::Auth)]
#[case::claude_limited(false, r#"echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"API Error: slow down"}'"#, DriverErrorClass::RateLimited)]
#[case::claude_overloaded(false, r#"echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"result":"API Error: Overloaded"}'"#, DriverErrorClass::Transient)]
#[case::claude_shapeless(
    false,
    r#"echo '{"type":"result","subtype":"error_max_structured_output_retries","is_error":true}'"#,
    DriverErrorClass::Content
)]
#[case::codex_failed(
    true,
    r#"echo '{"type":"turn.failed","error":{"message":"stream disconnected before completion"}}'"#,
    DriverErrorClass::Transient
)]
#[case::codex_limited(
    true,
    r#"echo '{"type":"turn.failed","error":{"message":"Rate limit reached. Please try again in 12s."}}'"#,
    DriverErrorClass::RateLimited
)]
#[case::codex_logged_out(
    true,
    r#"echo '{"type":"error","message":"unexpected status 401 Unauthorized"}'; exit 1"#,
    DriverErrorClass::Auth
)]
#[case::codex_old(
    true,
    "echo \"error: unexpected argument '--output-schema' found\" >&2; exit 2",
    DriverErrorClass::Fatal
)]
#[case::codex_lacks_a_variable(
    true,
    r#"echo '{"type":"turn.failed","error":{"message":"Missing environment variable: `MY_PROVIDER_KEY`. Check it."}}'"#,
    DriverErrorClass::Fatal
)]
#[case::codex_lacks_a_provider(
    true,
    "echo 'Error: Model provider `mine` not found' >&2; exit 1",
    DriverErrorClass::Fatal
)]
#[case::codex_panics(
    true,
    "echo 'thread main panicked\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace' >&2; exit 101",
    DriverErrorClass::Transient
)]
#[case::claude_with_a_bad_key(
    false,
    r#"echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":null,"result":"Invalid API key · Please run /login"}'; exit 1"#,
    DriverErrorClass::Auth
)]
#[case::claude_expired(
    false,
    r#"echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"result":"API Error: OAuth token has expired."}'; exit 1"#,
    DriverErrorClass::Auth
)]
#[case::claude_with_an_unknown_model(
    false,
    r#"echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":404,"result":"There is an issue with the selected model (x). It may not exist or you may not have access to it."}'; exit 1"#,
    DriverErrorClass::Fatal
)]
#[case::silent(true, "exit 0", DriverErrorClass::Transient)]
#[case::a_signal(false, "kill -KILL $$", DriverErrorClass::Transient)]
#[tokio::test]
async fn failures_have_their_class(#[case] codex: bool, #[case] body: &str, #[case] class: DriverErrorClass) {
    let stage = Stage::with(body);
    let driver = if codex { stage.codex() } else { stage.claude() };
    let error = run(driver, resume(stage.request(), "x")).await.1.unwrap_err();
    assert_eq!(error.class, class, "{error}");
    assert_eq!(error.retry_after, body.contains("12s").then_some(Duration::from_secs(12)));
}

#[rstest]
#[case::variable(
    true,
    r#"echo '{"type":"turn.failed","error":{"message":"Missing environment variable: `MY_PROVIDER_KEY`."}}'"#,
    r#"set `MY_PROVIDER_KEY` where superstep runs, and let the agent see it with `pass = ["MY_PROVIDER_KEY"]` in the profile"#
)]
#[case::login(
    false,
    r#"echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"result":"API Error: no"}'; exit 1"#,
    r#"log in with the agent's own program, or set its key in the environment; `pass = ["NAME"]` in the profile lets it see a variable"#
)]
#[case::model(
    false,
    r#"echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":404,"result":"model: x"}'; exit 1"#,
    r#"name a model that the agent knows with `model = "NAME"` in the profile"#
)]
#[tokio::test]
async fn an_agent_that_cannot_work_as_configured_says_what_to_set(
    #[case] codex: bool,
    #[case] body: &str,
    #[case] help: &str,
) {
    let stage = Stage::with(body);
    let driver = if codex { stage.codex() } else { stage.claude() };
    assert_eq!(run(driver, stage.request()).await.1.unwrap_err().help, help);
}

#[rstest]
#[case::claude_too_long(false, r#"echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":400,"result":"Prompt is too long"}'"#, [true, true])]
#[case::claude_400(false, r#"echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":400,"result":"API Error: 400 tool_use ids"}'"#, [false, true])]
#[case::codex_too_long(true, r#"echo '{"type":"turn.failed","error":{"message":"Codex ran out of room in the model context window."}}'"#, [true, true])]
#[case::codex_400(true, r#"echo '{"type":"turn.failed","error":{"message":"unexpected status 400 Bad Request: invalid arguments"}}'"#, [false, true])]
#[tokio::test]
async fn a_session_rejected_by_the_server_is_distinguished_from_other_failures(
    #[case] codex: bool,
    #[case] body: &str,
    #[case] refused: [bool; 2],
) {
    for (is_resumed, refused) in [false, true].into_iter().zip(refused) {
        let stage = Stage::with(body);
        let driver = if codex { stage.codex() } else { stage.claude() };
        let request = if is_resumed { resume(stage.request(), "x") } else { stage.request() };
        let error = run(driver, request).await.1.unwrap_err();
        assert_eq!((error.refusal, error.class == DriverErrorClass::Content), (refused, refused), "{error}");
    }
}

#[tokio::test]
async fn a_broken_stream_keeps_its_transcript_and_shows_no_secret() {
    let body = r#"echo '{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"half of it, sk-abcdefghijkl"}}'
echo "Error: request with Bearer abcdef123456 and $EXTRA_TOKEN refused" >&2
printf '{"type":"turn.comp'
exit 1"#;
    let stage = Stage::with(body);
    let codex = stage.codex().env("EXTRA_TOKEN", "hush-hush");
    let error = run(codex, stage.request()).await.1.unwrap_err();
    assert_snapshot!(format!("{error}\n{}", error.transcript), @"
    codex ended with code 1 and without a result: Error: request with Bearer [redacted] and [redacted] refused
    half of it, [redacted]
    ");
    assert_eq!(error.class, DriverErrorClass::Transient);
}

#[tokio::test]
async fn a_giant_line_is_skipped() {
    let stage = Stage::with(&format!("head -c 9000000 /dev/zero | tr '\\0' x; echo\n{CLAUDE}"));
    let (events, finished) = run(stage.claude(), stage.request()).await;
    assert_eq!(events[0], r#"{"notice":"a message of 9000000 bytes was left out"}"#);
    assert_eq!(finished.unwrap().status, TurnStatus::Done);
}

#[tokio::test]
async fn the_error_for_a_missing_program_tells_how_to_install_it() {
    let stage = Stage::with("");
    let missing = run(stage.codex().program("no-such-codex"), stage.request()).await.1.unwrap_err();
    assert_snapshot!(format!("{missing}\n{}", missing.help), @"
    cannot start `no-such-codex`: No such file or directory (os error 2)
    install it with `npm install -g @openai/codex` and log in with `codex login`
    ");
    let request = AgentRequest { directory: "/no/such/folder".into(), ..stage.request() };
    let nowhere = run(stage.claude(), request).await.1.unwrap_err();
    assert_eq!(
        (nowhere.class, nowhere.message.as_str()),
        (DriverErrorClass::Fatal, "there is no folder /no/such/folder")
    );
}

#[rstest]
#[case::requests(r#"{"type":"result","subtype":"error_max_turns","is_error":true,"session_id":"c","errors":["Reached maximum number of turns (2)"]}"#, TurnStatus::TurnLimit)]
#[case::cost(
    r#"{"type":"result","subtype":"error_max_budget_usd","is_error":true,"session_id":"c"}"#,
    TurnStatus::CostLimit
)]
#[case::tokens(
    r#"{"type":"assistant","message":{"id":"1","content":[],"usage":{"input_tokens":101}}}"#,
    TurnStatus::TokenLimit
)]
#[tokio::test]
async fn limits_end_a_turn(#[case] line: &str, #[case] status: TurnStatus) {
    let stage = Stage::with(&format!("echo '{line}'; sleep 600"));
    let mut request = stage.request();
    request.limits.tokens = Some(100);
    assert_eq!(run(stage.claude(), request).await.1.unwrap().status, status);
}

#[rstest]
#[case::cancelled(DriverErrorClass::Cancelled, "codex: cancelled")]
#[case::out_of_time(DriverErrorClass::Budget, "codex: its time is up")]
#[case::silent(DriverErrorClass::Budget, "codex: it wrote nothing for 200ms")]
#[tokio::test]
async fn a_hanging_turn_is_killed_with_its_children(#[case] class: DriverErrorClass, #[case] message: &str) {
    let hangs = "trap '' TERM; exec 3> alive; (trap '' TERM; sleep 600) &
echo '{\"type\":\"item.completed\",\"item\":{\"id\":\"1\",\"type\":\"agent_message\",\"text\":\"I begin.\"}}'
wait; sleep 600";
    let stage = Stage::with(hangs);
    let alive = Alive::in_folder(stage.path());
    let mut request = stage.request();
    match message {
        "codex: its time is up" => request.limits.wall = Duration::from_millis(500),
        "codex: cancelled" => {}
        _ => request.limits.idle = Duration::from_millis(200),
    }
    let cancel = request.cancel.clone();
    let turn = tokio::spawn(run(stage.codex(), request));
    let pipe = alive.opened().await;
    if class == DriverErrorClass::Cancelled {
        cancel.cancel();
    }
    let error = turn.await.unwrap().1.unwrap_err();
    assert_eq!((error.class, error.message.as_str()), (class, message));
    pipe.closed().await;
}

#[tokio::test]
async fn dropping_the_events_kills_the_program_and_its_children() {
    let stage = Stage::with("exec 3> alive; sleep 600 & echo '{\"type\":\"turn.started\"}{'; wait");
    let alive = Alive::in_folder(stage.path());
    let mut events = stage.codex().run(stage.request());
    let (pipe, event) = tokio::join!(alive.opened(), events.next());
    assert!(matches!(event, Some(Ok(AgentEvent::Notice(_)))), "{event:?}");
    drop(events);
    pipe.closed().await;
}
