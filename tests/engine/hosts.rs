//! Hosts of any graphs: a registry that knows no types is enough to list, run, answer, read, rewrite and debug their threads.

use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};
use superstep::graph::interrupt::ReplyKind;
use superstep::graph::runner::{RunnerTurn, TurnEnd, Until};
use superstep::graph::state::Kind;
use superstep::graph::{
    AnyGraph, AnyState, AnyThread, DataSchema, DataState, Graphs, HumanQuestion, Name, Reply, Request, StateUpdate,
    ThreadFilter, runner,
};
use superstep::prelude::*;

use crate::pad::{Approve, Builder, Pad, approval, chain, id};
use crate::stores::Store;

// --- a host, as a program outside would write it ---

type Answered = Result<Value, RunError>;

async fn list(graphs: &Graphs) -> Answered {
    let threads = graphs.threads(ThreadFilter::new()).await?.threads;
    Ok(threads.iter().map(|info| json!([info.id, info.graph, info.status.as_str()])).collect())
}

fn describe(graph: &AnyGraph) -> Value {
    let channels = graph.channels().iter().map(|channel| (channel.name().to_owned(), channel.type_name().into()));
    json!({
        "nodes": graph.nodes().collect::<Vec<_>>(),
        "channels": channels.collect::<serde_json::Map<_, _>>(),
        "questions": graph.questions().iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        "drawing": graph.mermaid(0).lines().count(),
    })
}

async fn show(thread: &AnyThread) -> Answered {
    let state = thread.state().await?.map(|now| now.json(thread.graph().schema()));
    let status = serde_json::to_value(thread.status().await?).unwrap_or_default();
    Ok(json!({"state": state, "status": status["status"], "questions": status["questions"]}))
}

async fn host(graphs: &Graphs, call: &str, name: &str, input: Value) -> Answered {
    let input_of = |thread: &AnyThread, json: &Value| {
        thread.graph().input(json).map_err(|error| RunError::InvalidConfig { what: error.to_string() })
    };
    match call {
        "list" => return list(graphs).await,
        "describe" => return Ok(describe(graphs.get(name)?)),
        "run" => {
            let graph = input["graph"].as_str().unwrap_or_default();
            let thread = graphs.get(graph)?.thread(name);
            thread.run(Request::input(input_of(&thread, &input["input"])?)).await?;
        }
        "answer" => drop(graphs.thread(name).await?.answer(Answer::json(&input)).await?),
        "update" => {
            let thread = graphs.thread(name).await?;
            let node = input["as"].as_str().and_then(|node| thread.graph().node(node));
            let update = StateUpdate::new(input_of(&thread, &input["values"])?);
            thread.update(node.into_iter().fold(update, StateUpdate::as_node)).await?;
        }
        _ => {}
    }
    show(&graphs.thread(name).await?).await
}

// --- what it can do ---

/// A graph of types, and one of data.
fn graphs(store: &Store) -> Graphs {
    let typed = chain(Builder::new().add_node(id("ask"), approval.asks::<Approve>()), &["ask"]).named("typed");
    let schema = DataSchema::new([("word", Kind::LastValue), ("seen", Kind::Append)]).unwrap();
    let builder = StateGraph::<DataState, Name>::with_schema(schema.clone());
    let look = move |state: Arc<DataState>, _: Ctx| {
        let word = state.by_name(&schema, "word").cloned().unwrap_or_default();
        let write = schema.write("seen", json!([word])).unwrap();
        async move { Ok::<_, NodeError>(Writes::default().with(write)) }
    };
    let data = builder.add_node(id("look"), look).add_sequence([id("look")]).compile().unwrap().named("data");
    Graphs::new().with(typed).with(data).with_shared_checkpointer(Arc::clone(&store.store))
}

#[rstest]
#[tokio::test]
async fn a_host_needs_no_types(#[values(Store::memory(), Store::disk())] store: Store) {
    let graphs = graphs(&store);
    let call = async |call: &str, name: &str, input: Value| host(&graphs, call, name, input).await.unwrap();
    let described = (call("describe", "typed", Value::Null).await, call("describe", "data", Value::Null).await);
    let ran = call("run", "a", json!({"graph": "typed", "input": {"notes": ["go"]}})).await;
    let looked = call("run", "b", json!({"graph": "data", "input": {"word": "tide"}})).await;
    let list = call("list", "", Value::Null).await;
    let answered = call("answer", "a", true.into()).await;
    let updated = call("update", "b", json!({"as": "look", "values": {"seen": ["ebb"]}})).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(described.0, @r#"{"channels":{"notes":"Vec<String>","spent":"u8","sum":"i64","title":"String"},"drawing":4,"nodes":["ask"],"questions":["approve"]}"#);
        insta::assert_snapshot!(described.1, @r#"{"channels":{"seen":"append","word":"last_value"},"drawing":4,"nodes":["look"],"questions":[]}"#);
        insta::assert_snapshot!(ran["state"], @r#"{"notes":["go"],"spent":0,"sum":0,"title":""}"#);
        insta::assert_snapshot!(ran["questions"][0]["takes"], @r#""true or false""#);
        insta::assert_snapshot!(looked, @r#"{"questions":[],"state":{"seen":["tide"],"word":"tide"},"status":"finished"}"#);
        insta::assert_snapshot!(list, @r#"[["a","typed","interrupted"],["b","data","finished"]]"#);
        insta::assert_snapshot!(answered, @r#"{"questions":[],"state":{"notes":["go","approved: true"],"spent":0,"sum":0,"title":""},"status":"finished"}"#);
        insta::assert_snapshot!(updated, @r#"{"questions":[],"state":{"seen":["tide","ebb"],"word":"tide"},"status":"finished"}"#);
    }
    let thread = graphs.thread("a").await.unwrap();
    assert!(thread.verify().await.unwrap().divergence.is_none());
    let history = thread.history().await.unwrap().all().await.unwrap();
    let (first, last) = (history.last().unwrap().id, history[0].id);
    assert!(!thread.diff(first, last).await.unwrap().to_string().is_empty());
}

#[rstest]
#[tokio::test]
async fn a_mistake_is_reported_with_what_there_is(#[values(Store::memory())] store: Store) {
    let graphs = graphs(&store);
    let call = async |call: &str, name: &str, input: Value| {
        let error = host(&graphs, call, name, input).await.unwrap_err();
        format!("{error}\n help: {}", error.help().unwrap_or_default())
    };
    host(&graphs, "run", "b", json!({"graph": "data", "input": {"word": "tide"}})).await.unwrap();
    insta::assert_snapshot!(call("describe", "typedd", Value::Null).await, @r#"
    there is no graph `typedd`
     help: did you mean `typed`? the graphs are typed, data
    "#);
    insta::assert_snapshot!(call("describe", "x", Value::Null).await, @r#"
    there is no graph `x`
     help: the graphs are typed, data
    "#);
    insta::assert_snapshot!(call("show", "bb", Value::Null).await, @r#"
    there is no thread `bb`
     help: did you mean `b`?
    "#);
    insta::assert_snapshot!(call("update", "b", json!({"values": {"word": 1, "words": 2}})).await, @r"
    the input has the key `words`, but there is no such channel
     help: correct the setting, or use the handle that supports it: `graph.thread(..)`
    ");
    insta::assert_snapshot!(call("update", "b", json!({"values": []})).await, @r#"
    the input is a list, not an object of channels
     help: correct the setting, or use the handle that supports it: `graph.thread(..)`
    "#);
    let fewer = Graphs::new().with(graphs.get("typed").unwrap().clone());
    let error = fewer.thread("b").await.unwrap_err();
    insta::assert_snapshot!(format!("{error}\n help: {}", error.help().unwrap_or_default()), @r#"
    thread `b` belongs to the graph `data`, which is not registered
     help: the graphs are typed
    "#);
    let error = Graphs::new().get("typed").unwrap_err();
    insta::assert_snapshot!(format!("{error}\n help: {}", error.help().unwrap_or_default()), @r#"
    there is no graph `typed`
     help: register it: there are no graphs
    "#);
}

#[tokio::test]
async fn the_type_of_a_state_is_found_again() {
    let store = Store::memory();
    let graphs = graphs(&store);
    let thread = graphs.get("typed").unwrap().thread("a");
    let input = thread.graph().input(&json!({"notes": ["go"]})).unwrap();
    thread.run(Request::input(input)).await.unwrap();
    let now = thread.state().await.unwrap().unwrap();
    assert_eq!(now.values.downcast_ref::<Pad>().unwrap().notes, ["go"]);
    assert!(now.values.downcast_ref::<DataState>().is_none());
    assert!(now.values.downcast_ref::<AnyState>().is_some());
}

#[tokio::test]
async fn writes_for_another_graph_are_refused() {
    let store = Store::memory();
    let graphs = graphs(&store);
    let (typed, data) = (graphs.get("typed").unwrap(), graphs.get("data").unwrap());
    let other = typed.input(&json!({"notes": ["go"]})).unwrap();
    let error = data.thread("a").run(Request::input(other.clone())).await.unwrap_err();
    insta::assert_snapshot!(error, @"the writes were made for another graph than `data`");
    host(&graphs, "run", "a", json!({"graph": "data", "input": {"word": "tide"}})).await.unwrap();
    let error = data.thread("a").update_state(other).await.unwrap_err();
    insta::assert_snapshot!(error, @"the writes were made for another graph than `data`");
}

/// A graph that notes the context of its run.
#[tokio::test]
async fn a_thread_runs_with_the_context_that_its_graph_was_registered_with() {
    async fn note(_: Arc<Pad>, ctx: Ctx<String>) -> Result<Writes<Pad>, NodeError> {
        Ok(Pad::update().notes([ctx.context().clone()]).into())
    }
    let graph = StateGraph::<Pad, Name, String>::new().add_node(id("note"), note).add_sequence([id("note")]);
    let graph = AnyGraph::with(graph.compile().unwrap().named("noted"), "harbour".to_owned());
    let graphs = Graphs::new().with(graph).with_checkpointer(MemoryCheckpointer::new());
    let thread = graphs.get("noted").unwrap().thread("a");
    thread.run(Request::input(thread.graph().input(&json!({})).unwrap())).await.unwrap();
    let now = graphs.thread("a").await.unwrap().state().await.unwrap().unwrap();
    assert_eq!(now.json(thread.graph().schema())["notes"], json!(["harbour"]));
}

#[tokio::test]
async fn the_clock_of_the_registry_is_that_of_its_threads() {
    let store = Store::memory();
    let moment = std::time::UNIX_EPOCH + std::time::Duration::from_secs(86_400);
    let graphs = graphs(&store).with_clock(move || moment);
    host(&graphs, "run", "a", json!({"graph": "data", "input": {"word": "tide"}})).await.unwrap();
    let history = graphs.thread("a").await.unwrap().history().await.unwrap().all().await.unwrap();
    assert!(history.iter().all(|made| made.created_at == 86_400_000));
}

impl HumanQuestion<Pad> for Approve {
    const EXIT_CODE: u8 = 42;

    fn describe(&self, pad: &Pad) -> Option<String> {
        Some(format!("may these go out: {}?", pad.notes.join(", ")))
    }

    fn check(&self, answer: &bool) -> Option<String> {
        (!answer).then(|| "it is out already".into())
    }

    fn commands(&self, _: &Pad) -> Vec<String> {
        vec!["approve".into()]
    }

    fn draft(&self, pad: &Pad) -> Option<String> {
        Some(pad.notes.join("\n"))
    }

    fn from_draft(text: String) -> Option<bool> {
        Some(text.is_empty())
    }
}

#[tokio::test]
async fn a_question_declares_how_people_see_and_answer_it() {
    let store = Store::memory();
    let graph = graphs(&store).get("typed").unwrap().clone().question::<Pad, Approve>();
    let thread = graph.thread("a");
    let asked = thread.run(Request::input(graph.input(&json!({"notes": ["salt"]})).unwrap())).await.unwrap();
    let (state, question) = (asked.state(), &asked.questions()[0]);
    let form = graph.form(question.name()).unwrap();
    assert_eq!(form.exit_code(), 42);
    assert_eq!(form.describe(state, question).unwrap(), "may these go out: salt?");
    assert_eq!(form.check(question, &json!(false)).unwrap(), "it is out already");
    assert_eq!(form.check(question, &json!("of another type")), None);
    assert_eq!(form.commands(state, question), ["approve"]);
    assert_eq!(form.draft(state, question).unwrap(), "salt");
    assert_eq!(form.answer_from_draft(String::new()), Some(json!(true)));
    let reply = |kind| Reply { kind, feedback: None, by: None };
    let answers = ReplyKind::ALL.map(|kind| form.decide(question, &reply(kind)));
    assert_eq!(answers, [Some(json!(true)), Some(json!(false)), None]);
    assert_eq!(ReplyKind::ALL.map(|kind| reply(kind).answer_to(question)), answers);
    assert!(graph.form("another").is_none());
}

/// The function of a host drives the turns of a runner over its registry.
#[tokio::test]
async fn a_host_drives_the_turns_of_a_runner() {
    let store = Store::memory();
    let graphs = graphs(&store);
    for (name, graph) in [("a", "typed"), ("b", "data")] {
        let thread = graphs.get(graph).unwrap().thread(name).max_supersteps(0);
        thread.run(Request::input(thread.graph().input(&json!({})).unwrap())).await.unwrap();
    }
    let drive = async |RunnerTurn { thread, .. }: RunnerTurn| {
        if thread.graph().name() == "data" {
            return Ok(TurnEnd { is_cancelled: true, ..TurnEnd::default() });
        }
        Ok(TurnEnd { error: thread.proceed().await.err(), ..TurnEnd::default() })
    };
    let report = runner(graphs.clone()).drive_with(drive).run(Until::Idle).await.unwrap();
    assert_eq!((report.turns, report.errors), (2, 0));
    let list = host(&graphs, "list", "", Value::Null).await.unwrap();
    assert_eq!(list, json!([["a", "typed", "interrupted"], ["b", "data", "pending"]]));
}
