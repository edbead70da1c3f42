//! The real programs `codex` and `claude` against a model server. Ignored by default: they need hundreds of MB.
//!
//! ```text
//! npm install --prefix agents @openai/codex @anthropic-ai/claude-code @copilotkit/aimock
//! node agents/node_modules/.bin/llmock -p 4010 -f tests/drivers/real.json &
//! PATH="$PWD/agents/node_modules/.bin:$PATH" MODEL_SERVER=http://127.0.0.1:4010 \
//!     cargo test --test drivers real -- --ignored
//! ```

use std::fs;
use std::path::Path;

use serde_json::json;
use superstep::drivers::{
    AgentRequest, CliAgent, DriverError, DriverErrorClass, DriverExt, Finished, Session, SessionRef, Shell, SubmitTool,
};

fn server() -> String {
    std::env::var("MODEL_SERVER").unwrap()
}

fn codex(home: &Path) -> CliAgent {
    let config = format!(
        "model = \"gpt-5\"\nmodel_provider = \"mock\"\n[model_providers.mock]\nname = \"mock\"\nbase_url = \"{}/v1\"\n\
         wire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\n",
        server()
    );
    fs::write(home.join("config.toml"), config).unwrap();
    CliAgent::codex().env("CODEX_HOME", home).env("OPENAI_API_KEY", "sk-mock")
}

fn claude(home: &Path) -> CliAgent {
    let claude = CliAgent::claude().env("HOME", home).env("CLAUDE_CONFIG_DIR", home);
    claude.env("ANTHROPIC_BASE_URL", server()).env("ANTHROPIC_API_KEY", "sk-mock")
}

async fn finish(agent: &CliAgent, request: AgentRequest) -> Result<Finished, DriverError> {
    agent.finish(request, |event| println!("{event:?}")).await
}

/// Runs a turn that writes a file, one in the same session, and one in an unknown session.
async fn works(agent: CliAgent, name: &str) {
    let place = tempfile::tempdir().unwrap();
    let properties = json!({"done": {"type": "boolean"}, "why": {"type": "string"}});
    let schema = json!({"type": "object", "properties": properties, "required": ["done"]});
    let mut request = AgentRequest::new("developer", format!("{name} make it"), place.path());
    request.submit = Some(SubmitTool { name: "submit_work".into(), description: "what was done".into(), schema });
    (request.access.write, request.access.shell) = (true, Some(Shell::default()));
    let first = finish(&agent, request.clone()).await.unwrap();
    assert_eq!(fs::read_to_string(place.path().join("made.txt")).unwrap(), "made");
    assert_eq!((first.submitted, first.usage.output), (Some(json!({"done": true})), 50));

    let session = first.session.unwrap();
    (request.prompt, request.session) = (format!("{name} go on"), Session::Resume(session.clone()));
    let second = finish(&agent, request.clone()).await.unwrap();
    assert_eq!(second.submitted, Some(json!({"done": false, "why": "tea"})));
    assert_eq!((second.session.unwrap().id, second.usage.output), (session.id, 7));

    let unknown = SessionRef { id: "11111111-2222-4333-8444-555555555555".into(), turn: String::new() };
    request.session = Session::Resume(unknown);
    assert_eq!(finish(&agent, request).await.unwrap_err().class, DriverErrorClass::SessionLost);
}

#[tokio::test]
#[ignore = "needs the program and a model server"]
async fn the_real_codex_works() {
    let home = tempfile::tempdir().unwrap();
    works(codex(home.path()), "codex").await;
}

#[tokio::test]
#[ignore = "needs the program and a model server"]
async fn the_real_claude_works() {
    let home = tempfile::tempdir().unwrap();
    works(claude(home.path()), "claude").await;
}
