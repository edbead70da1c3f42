//! Graphs defined in documents: parsed, checked and run.

use std::sync::Arc;

use serde_json::{Value, json};
use superstep::graph::interrupt::AnyQuestion;
use superstep::graph::state::Kind;
use superstep::graph::{DataState, GraphSpec, Registry, Writes};
use superstep::prelude::*;
use superstep_app::{App, Register};

const YAML: &str = "
name: support
channels:
  question: last_value
  kind: last_value
  queries: last_value
  notes: append
  key: { kind: last_value, secret: true }
nodes:
  classify: classify
  plan: plan
  search: search
  billing: ask
  answer: answer
edges:
  - { from: START, to: classify }
  - { from: search, to: answer }
  - { from: billing, to: answer }
  - { from: answer, to: END }
routers:
  - { from: classify, field: kind, to: { billing: billing, tech: plan }, otherwise: END }
  - { from: plan, field: queries, each: search, otherwise: answer }
";

type Update = Result<Writes<DataState>, NodeError>;

async fn classify(state: Arc<DataState>, _: Ctx) -> Update {
    let question = state.value("question").and_then(Value::as_str).unwrap_or_default();
    let kind = ["bill", "crash"].iter().position(|word| question.contains(word));
    Ok(state.update(&json!({ "kind": kind.map(|at| ["billing", "tech"][at]) }))?)
}
async fn plan(state: Arc<DataState>, _: Ctx) -> Update {
    Ok(state.update(&json!({ "queries": ["logs", "docs"] }))?)
}
async fn search(query: Arc<Value>, _: Ctx) -> Result<Value, NodeError> {
    Ok(json!({ "notes": [format!("found {query}")] }))
}
async fn ask(state: Arc<DataState>, ctx: Ctx) -> Update {
    let answer = ctx.interrupt(AnyQuestion(json!("which bill?")))?;
    Ok(state.update(&json!({ "notes": [answer] }))?)
}
async fn answer(state: Arc<DataState>, _: Ctx) -> Update {
    Ok(state.update(&json!({ "notes": ["answered"] }))?)
}

fn registry() -> Registry {
    Registry::new()
        .node("classify", classify)
        .node("plan", plan)
        .worker("search", search)
        .node("ask", ask.asks::<AnyQuestion>())
        .node("answer", answer)
}

fn spec() -> GraphSpec {
    serde_norway::from_str(YAML).unwrap()
}

async fn notes(question: &str, answer: Option<Value>) -> Value {
    let graph = spec().compile(&registry()).unwrap().with_checkpointer(MemoryCheckpointer::new());
    let input = Writes::from_json(graph.schema(), &json!({ "question": question, "key": "k" })).unwrap();
    let thread = graph.thread("t");
    let mut outcome = thread.invoke(input).await.unwrap();
    if let Some(answer) = answer {
        outcome = thread.resume::<AnyQuestion>(answer).await.unwrap();
    }
    let state = serde_json::to_value(outcome).unwrap();
    assert_eq!((&state["status"], &state["state"]["key"]), (&"finished".into(), &Value::Null));
    state["state"]["notes"].clone()
}

#[tokio::test]
async fn a_graph_from_a_document_runs() {
    assert_eq!(notes("a crash", None).await, json!(["found \"logs\"", "found \"docs\"", "answered"]));
    assert_eq!(notes("my bill", Some(json!("May"))).await, json!(["May", "answered"]));
    assert_eq!(notes("hello", None).await, json!([]));
}

#[test]
fn a_document_is_the_same_in_every_format() {
    let spec = spec();
    let json = serde_json::to_string(&spec).unwrap();
    assert_eq!(serde_json::from_str::<GraphSpec>(&json).unwrap(), spec);
    let yaml = serde_norway::to_string(&spec).unwrap();
    assert_eq!(serde_norway::from_str::<GraphSpec>(&yaml).unwrap(), spec);
    let toml =
        "[channels]\ntopic = \"last_value\"\n[nodes]\nplan = \"plan\"\n[[edges]]\nfrom = \"START\"\nto = [\"plan\"]\n";
    let read: GraphSpec = toml::from_str(toml).unwrap();
    assert_eq!(read.channels["topic"].kind(), Kind::LastValue);
}

#[test]
fn every_problem_is_reported_at_once() {
    let mut spec = spec();
    spec.nodes.insert("lost".into(), "nobody".into());
    spec.routers[0].field = "kinds".into();
    spec.routers[1].to.insert("x".into(), spec.edges[0].to.clone());
    spec.edges.push(serde_json::from_value(json!({ "from": "answer", "to": "anser" })).unwrap());
    insta::assert_snapshot!(spec.compile(&registry()).unwrap_err().to_string(), @r"
    node `lost` names the body `nobody`, which is not registered
     help: the registered bodies are answer, ask, classify, plan, search
    error: the router after `classify` looks at `kinds`, which is not a channel
     help: the channels are key, kind, notes, queries, question
    error: the router after `plan` over `queries` takes either `to` or `each`
     help: give `to` with a target for each value, or `each` with a worker
    error: `answer` leads to `anser`, which is not a node
     help: add the node `anser`, or correct the name
    ");
    let unknown = serde_norway::from_str::<GraphSpec>("nodes: {}\nedgs: []").unwrap_err().to_string();
    assert!(unknown.contains("unknown field `edgs`"), "{unknown}");
}

#[rstest::rstest]
#[case("last_value", Kind::LastValue)]
#[case("delta_append", Kind::DeltaAppend)]
#[case("topic", Kind::Topic { accumulate: false })]
#[case("topic:accumulate", Kind::Topic { accumulate: true })]
#[case("ephemeral", Kind::Ephemeral { guard: true })]
#[case("untracked:unguarded", Kind::Untracked { guard: false })]
fn a_kind_is_parsed_from_a_word_and_printed_as_it(#[case] word: &str, #[case] kind: Kind) {
    assert_eq!((word.parse::<Kind>().unwrap(), kind.to_string()), (kind, word.to_owned()));
    assert_eq!(serde_json::to_value(kind).unwrap(), word);
    assert_eq!(serde_json::from_value::<Kind>(word.into()).unwrap(), kind);
}

#[test]
fn an_unknown_kind_lists_the_known_ones() {
    let error = "lastvalue".parse::<Kind>().unwrap_err().to_string();
    assert!(error.starts_with("`lastvalue` is not a kind of channel: last_value, append,"), "{error}");
}

#[test]
fn a_mistyped_key_of_a_channel_is_refused() {
    let spec = YAML.replace("secret: true", "secrt: true");
    assert!(serde_norway::from_str::<GraphSpec>(&spec).is_err(), "the channel would be shown");
}

#[rstest::rstest]
#[case::a_kind(
    "  notes: append\n",
    "  notes: apend\n",
    6,
    "channels.notes: `apend` is not a kind of channel: last_value, append, "
)]
#[case::a_kind_among_options(
    "kind: last_value, secret",
    "kind: last_vale, secret",
    7,
    "`last_vale` is not a kind of channel: last_value, "
)]
#[case::a_number(
    "  notes: append\n",
    "  notes: 3\n",
    6,
    "expected a kind of channel, such as `append`, or a map with `kind` and `secret`"
)]
#[case::an_option("secret: true", "secrt: true", 7, "unknown field `secrt`, expected `kind` or `secret`")]
#[case::a_target(
    "from: search, to: answer",
    "from: search, to: 7",
    16,
    "expected the name of a node, or a list of names"
)]
fn an_error_in_a_document_has_its_line_and_the_words_there_are(
    #[case] right: &str,
    #[case] wrong: &str,
    #[case] line: usize,
    #[case] says: &str,
) {
    let document = YAML.trim_start().replacen(right, wrong, 1);
    assert_ne!(document, YAML.trim_start());
    let error = serde_norway::from_str::<GraphSpec>(&document).unwrap_err();
    assert_eq!(error.location().map(|place| place.line()), Some(line), "{error}");
    assert!(error.to_string().contains(says), "{error}");
    let toml = "[channels]\ntopic = \"last_value\"\nlog = \"apend\"\n[nodes]\n";
    let error = toml::from_str::<GraphSpec>(toml).unwrap_err().to_string();
    assert!(error.contains("line 3") && error.contains("`apend` is not a kind of channel: "), "{error}");
}

#[test]
fn a_document_is_a_graph_of_the_command_line_as_any_other() {
    let store = tempfile::tempdir().unwrap();
    let store = store.path().join("runs.sled").display().to_string();
    let run = |spec: &GraphSpec| {
        let app = App::new().graph("support", spec.compile(&registry()));
        app.run_with([
            "tool",
            "run",
            "support",
            "--thread",
            "t",
            "--input",
            r#"{"question": "my bill"}"#,
            "--store",
            &store,
        ])
    };
    let mut broken = spec();
    broken.nodes.insert("lost".into(), "nobody".into());
    assert_eq!((run(&broken), run(&spec())), (1, 10), "it asks which bill");
    let app = App::new().graph("support", spec().compile(&registry()).unwrap().about("Answers questions."));
    assert_eq!(app.run_with(["tool", "resume", "t", "--answer", "\"May\"", "--store", &store]), 0);
}
