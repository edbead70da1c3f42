//! What waits for a person: questions with what is needed to answer them, threads that do not go on by themselves, pages of all that; and
//! answers that are checked before they are given.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use reqwest::{Method, StatusCode};
use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::{ExportOptions, ImportOptions, MemoryCheckpointer, export_thread, import_thread};
use superstep::graph::interrupt::ReplyKind;
use superstep::graph::{AnyGraph, Graphs, HumanQuestion, Reply};
use superstep::prelude::*;
use superstep_server::{KeyRole, Options};

use crate::api::{Api, all_graphs};
use crate::security::Locked;
use crate::watched_store::WatchedStore;

const SECRET: &str = "correct-horse-battery";

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(schema)]
struct Post {
    #[channel(secret)]
    token: String,
    text: String,
    verdict: String,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = Verdict, name = "publish")]
struct Publish {
    title: String,
    text: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Now,
    Never { why: String },
    Edit { text: String },
}

impl HumanQuestion<Post> for Publish {
    fn decide(&self, reply: &Reply) -> Option<Verdict> {
        match reply.kind {
            ReplyKind::Approve => Some(Verdict::Now),
            ReplyKind::Reject => Some(Verdict::Never { why: reply.feedback.clone()? }),
            ReplyKind::Revise => Some(Verdict::Edit { text: reply.feedback.clone()? }),
        }
    }

    fn describe(&self, state: &Post) -> Option<String> {
        Some(format!("publish with {}?\n{}", state.token, self.text))
    }

    fn check(&self, answer: &Verdict) -> Option<String> {
        matches!(answer, Verdict::Edit { text } if text.is_empty()).then(|| "the text is empty".into())
    }

    fn remarks(&self, answer: &Verdict) -> Vec<String> {
        let is_short = matches!(answer, Verdict::Edit { text } if text.len() < 4);
        if is_short { vec!["the text is short".into()] } else { vec![] }
    }

    fn draft(&self, state: &Post) -> Option<String> {
        Some(state.text.clone())
    }
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Step {
    Check,
}

async fn ask(state: Arc<Post>, ctx: Ctx) -> Result<PostUpdate, NodeError> {
    let asked = Publish { title: "Tides".into(), text: format!("{} ({})", state.text, state.token) };
    let asked = ctx.ask(asked).approvals(2).approvers(["ada", "ben", "cy"]).expires_after(Duration::from_secs(3600));
    let verdict = asked.default(Verdict::Now).await?;
    Ok(Post::update().verdict(serde_json::to_string(&verdict).unwrap_or_default()))
}

fn posts() -> Graphs {
    let graph = StateGraph::new().add_node(Step::Check, ask.asks::<Publish>()).add_edge(START, Step::Check).compile();
    let graph = AnyGraph::from(graph.unwrap().named("posts")).question::<Post, Publish>().answered_by_people();
    all_graphs().unwrap().with(graph)
}

async fn start() -> (Api, Arc<MemoryCheckpointer>) {
    let store = Arc::new(MemoryCheckpointer::new());
    (Api::start_graphs(posts(), Options::default(), store.clone()).await, store)
}

/// Runs a thread of the name until it stops.
async fn run(api: &Api, thread: &str, graph: &str, input: Value) -> Value {
    let body = json!({ "assistant_id": graph, "input": input, "if_not_exists": "create" });
    api.post(&format!("/threads/{thread}/runs/wait"), body).await
}

async fn answer(api: &Api, thread: &str, command: Value) -> (StatusCode, Value) {
    let body = json!({ "assistant_id": "posts", "command": command });
    let response = api.send(Method::POST, &format!("/threads/{thread}/runs/wait"), Some(body)).await;
    (response.status(), response.json().await.unwrap())
}

/// Returns the items as pairs of kind and thread.
fn kinds(inbox: &Value) -> Vec<(&str, &str)> {
    let items = inbox["items"].as_array().unwrap().iter();
    items.map(|item| (item["kind"].as_str().unwrap(), item["thread"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn a_question_has_what_is_needed_to_answer_it_and_leaves_with_its_answer() {
    let (api, _) = start().await;
    run(&api, "a b", "posts", json!({ "text": "moon", "token": SECRET })).await;
    let inbox = api.get("/inbox").await;
    assert!(!inbox.to_string().contains(SECRET), "{inbox}");
    assert_eq!(
        (kinds(&inbox), &inbox["waiting"], &inbox["next"]),
        (vec![("question", "a b")], &json!(1), &Value::Null)
    );
    let item = &inbox["items"][0];
    assert_eq!((&item["graph"], &item["step"], &item["title"]), (&json!("posts"), &json!(0), &json!("Tides")));
    assert_eq!((&item["reason"], &item["help"], &item["retry"]), (&Value::Null, &Value::Null, &Value::Null));
    let asked = &item["question"];
    assert_eq!(asked["value"], json!({ "title": "Tides", "text": "moon ([secret])" }));
    assert_eq!(asked["text"], "publish with [secret]?\nmoon ([secret])");
    assert_eq!((&asked["draft"], &asked["people_only"], &asked["cut"]), (&json!("moon"), &json!(true), &json!(false)));
    assert_eq!(
        asked["replies"],
        json!({ "approve": "now", "reject": { "never": { "why": "{feedback}" } }, "revise": { "edit": { "text": "{feedback}" } } })
    );
    let terms = &asked["superstep"];
    assert_eq!((&terms["approvals"], &terms["default"]), (&json!(2), &json!("now")));
    assert!(terms["expires"].as_str().unwrap() > item["since"].as_str().unwrap(), "{item}");
    assert_eq!(api.get("/threads/a%20b/inbox").await["items"], inbox["items"]);

    let vote = |by: &str| json!({ "resume": { asked["id"].as_str().unwrap(): "now" }, "by": by });
    assert_eq!(answer(&api, "a%20b", vote("ada")).await.0, StatusCode::OK);
    let voted = api.get("/inbox").await;
    assert_eq!(voted["items"][0]["question"]["superstep"]["votes"][0]["by"], "ada");
    assert_eq!(answer(&api, "a%20b", vote("ben")).await.1["verdict"], "\"now\"");
    assert_eq!(api.get("/inbox").await, json!({ "items": [], "next": null, "waiting": 0 }));
    assert_eq!(api.get("/threads/a%20b/inbox").await["items"], json!([]));
}

#[tokio::test]
async fn a_question_whose_answer_waits_for_its_run_is_not_asked_again() {
    let (api, _) = start().await;
    run(&api, "t", "approval", json!({ "request": "x" })).await;
    let id = api.get("/inbox").await["items"][0]["question"]["id"].as_str().unwrap().to_owned();
    let later = json!({ "assistant_id": "approval", "command": { "resume": { id: "yes" } } });
    let created = api.post("/threads/t/runs", later).await;
    assert_eq!(kinds(&api.get("/inbox").await), []);
    api.get(&format!("/threads/t/runs/{}/join", created["run_id"].as_str().unwrap())).await;
    assert_eq!(kinds(&api.get("/threads/t/inbox").await), []);
}

#[tokio::test]
async fn a_failed_thread_says_why_and_whether_another_run_may_help() {
    let (api, _) = start().await;
    run(&api, "bad", "fails", json!({ "reason": "no paper" })).await;
    let inbox = api.get("/inbox").await;
    assert_eq!(kinds(&inbox), [("failed", "bad")]);
    let item = &inbox["items"][0];
    assert!(item["reason"].as_str().unwrap().contains("boom: no paper"), "{item}");
    assert_eq!((&item["retry"], &item["question"]), (&json!(true), &Value::Null));
    assert!(item["help"].as_str().unwrap().contains("run it again without input"), "{item}");
    api.send(Method::DELETE, "/threads/bad", None).await;
    assert_eq!(kinds(&api.get("/inbox").await), []);
}

#[tokio::test]
async fn a_thread_whose_run_was_cancelled_is_stalled() {
    let (api, _) = start().await;
    let body = json!({ "assistant_id": "slow", "input": { "steps": 100_000, "ms": 1 }, "if_not_exists": "create" });
    let created = api.post("/threads/slow/runs", body).await;
    api.until("/threads/slow", |thread| thread["values"]["ticks"].as_u64() > Some(0)).await;
    assert_eq!(kinds(&api.get("/inbox").await), [], "it is running");
    let cancel = format!("/threads/slow/runs/{}/cancel?wait=true", created["run_id"].as_str().unwrap());
    api.send(Method::POST, &cancel, Some(json!({}))).await;
    let inbox = api.get("/inbox").await;
    assert_eq!(kinds(&inbox), [("stalled", "slow")]);
    let item = &inbox["items"][0];
    assert_eq!(
        (&item["reason"], &item["retry"]),
        (&json!("its run was cancelled, and nodes are left to run; next is tick"), &json!(true))
    );
}

#[tokio::test]
async fn a_thread_at_a_breakpoint_is_stalled() {
    let (api, _) = start().await;
    let body =
        json!({ "assistant_id": "counter", "input": {}, "if_not_exists": "create", "interrupt_before": ["step2"] });
    api.post("/threads/t/runs/wait", body).await;
    let inbox = api.get("/threads/t/inbox").await;
    assert_eq!(kinds(&inbox), [("stalled", "t")]);
    let reason = inbox["items"][0]["reason"].as_str().unwrap();
    assert!(reason.ends_with("next is step2"), "{reason}");
}

#[tokio::test]
async fn an_imported_thread_waits_for_trust_and_then_for_its_answer() {
    let (elsewhere, first) = start().await;
    run(&elsewhere, "foreign", "approval", json!({ "request": "x" })).await;
    let mut file = vec![];
    export_thread(&*first, &"foreign".into(), &ExportOptions::new(), &mut file).await.unwrap();
    let (api, second) = start().await;
    import_thread(&*second, &file[..], &ImportOptions::new()).await.unwrap();
    let inbox = api.get("/inbox").await;
    assert_eq!(kinds(&inbox), [("untrusted", "foreign")]);
    let help = inbox["items"][0]["help"].as_str().unwrap();
    assert!(help.contains("POST /threads/foreign/trust"), "{help}");
    let check = api.status(Method::POST, "/threads/foreign/check", Some(json!({ "resume": {} }))).await;
    assert_eq!(check, 403);
    api.post("/threads/foreign/trust", json!({})).await;
    assert_eq!(kinds(&api.get("/inbox").await), [("question", "foreign")]);
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum OtherStep {
    Other,
}

#[tokio::test]
async fn a_thread_that_its_graph_cannot_run_any_more_needs_a_migration() {
    let (first, store) = start().await;
    run(&first, "old", "posts", json!({ "text": "moon" })).await;
    let other = async |_: Arc<Post>, _: Ctx| Ok::<_, NodeError>(Post::update());
    let changed =
        StateGraph::new().add_node(OtherStep::Other, other).add_edge(START, OtherStep::Other).compile().unwrap();
    let graphs = Graphs::new().with(changed.named("posts"));
    let api = Api::start_graphs(graphs, Options::default(), store).await;
    let inbox = api.get("/inbox").await;
    assert_eq!(kinds(&inbox), [("needs-migration", "old")]);
    let status = api.get("/threads/old/inbox").await;
    let item = &status["items"][0];
    assert!(item["reason"].as_str().unwrap().contains("check"), "{item}");
    assert!(item["help"].is_string() && item["question"].is_null(), "{item}");
}

#[tokio::test]
async fn pages_have_each_item_once_while_others_are_answered() {
    let (api, _) = start().await;
    for number in 0..23 {
        run(&api, &format!("t{number}"), "approval", json!({ "request": "x" })).await;
    }
    let all: BTreeSet<String> = (0..23).map(|number| format!("t{number}")).collect();
    let (mut seen, mut answered, mut after) = (vec![], BTreeSet::new(), String::new());
    loop {
        let page = api.get(&format!("/inbox?limit=4{after}")).await;
        assert_eq!(page["waiting"], 23 - answered.len());
        seen.extend(kinds(&page).into_iter().map(|(_, thread)| thread.to_owned()));
        // One before the cursor leaves, and one after it.
        for thread in [
            seen.first().unwrap().clone(),
            all.iter().rfind(|name| !seen.contains(name) && !answered.contains(*name)).cloned().unwrap_or_default(),
        ] {
            if !thread.is_empty() && answered.insert(thread.clone()) {
                let body = json!({ "assistant_id": "approval", "command": { "resume": "yes" } });
                api.post(&format!("/threads/{thread}/runs/wait"), body).await;
            }
        }
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    let once: BTreeSet<String> = seen.iter().cloned().collect();
    assert_eq!(seen.len(), once.len(), "{seen:?}");
    let missed: Vec<_> = all.difference(&once).filter(|name| !answered.contains(*name)).collect();
    assert_eq!(missed, [""; 0]);
    assert!(once.len() < all.len(), "answers took items off later pages");
}

#[tokio::test]
async fn threads_that_have_ended_are_not_read() {
    let store = WatchedStore::new(MemoryCheckpointer::new(), 1 << 20);
    let api = Api::start_with(Options::default(), store.clone()).await;
    for number in 0..60 {
        run(&api, &format!("t{number}"), "counter", json!({})).await;
    }
    run(&api, "asks", "approval", json!({ "request": "x" })).await;
    assert_eq!(kinds(&api.get("/inbox").await), [("question", "asks")]);
    let before = store.reads.load(Ordering::SeqCst);
    assert_eq!(kinds(&api.get("/inbox").await), [("question", "asks")]);
    let reads = store.reads.load(Ordering::SeqCst) - before;
    assert!(reads < 60, "{reads} reads");
}

#[tokio::test]
async fn long_texts_are_cut() {
    let (api, _) = start().await;
    let text = "ü".repeat(600_000);
    run(&api, "t", "posts", json!({ "text": text })).await;
    let asked = &api.get("/inbox").await["items"][0]["question"];
    assert_eq!(asked["cut"], true);
    for name in ["text", "draft"] {
        let bytes = asked[name].as_str().unwrap().len();
        assert!(((1 << 20) - 1..=1 << 20).contains(&bytes), "{name}: {bytes}");
    }
    assert_eq!((&asked["value"]["title"], asked["value"].to_string().len() <= (1 << 20) + 40), (&json!("Tides"), true));
}

#[rstest]
#[case::fits(json!("now"), Some("ada"), &[], &[])]
#[case::no_approver(json!("now"), Some("eve"), &["eve"], &[])]
#[case::nobody(json!("now"), None, &["with a name only"], &[])]
#[case::of_another_type(json!(5), Some("ada"), &["Verdict"], &[])]
#[case::refused_by_the_question(json!({ "edit": { "text": "" } }), Some("ada"), &["the text is empty"], &["the text is short"])]
#[case::remarked(json!({ "edit": { "text": "abc" } }), Some("ada"), &[], &["the text is short"])]
#[tokio::test]
async fn an_answer_is_checked_as_it_is_stored(
    #[case] given: Value,
    #[case] by: Option<&str>,
    #[case] problems: &[&str],
    #[case] remarks: &[&str],
) {
    let (api, _) = start().await;
    run(&api, "t", "posts", json!({ "text": "moon" })).await;
    let id = api.get("/inbox").await["items"][0]["question"]["id"].as_str().unwrap().to_owned();
    let command = json!({ "resume": { &id: given }, "by": by });
    let found = api.post("/threads/t/check", command.clone()).await;
    for (name, expected) in [("problems", problems), ("remarks", remarks)] {
        let texts = found[name].as_array().unwrap();
        assert_eq!(texts.len(), expected.len(), "{found}");
        for (text, expected) in texts.iter().zip(expected) {
            assert_eq!(text["id"], id.as_str());
            assert!(text["text"].as_str().unwrap().contains(expected), "{found}");
        }
    }
    assert_eq!(api.get("/inbox").await["items"][0]["question"]["superstep"]["votes"], json!([]), "nothing is stored");
    if remarks.is_empty() {
        let (status, stored) = answer(&api, "t", command).await;
        assert_eq!(status.is_success(), problems.is_empty(), "{stored}");
        if !problems.is_empty() {
            assert_eq!(found["problems"][0]["text"], stored["detail"]);
        }
    }
}

#[rstest]
#[case::no_id("x")]
#[case::gone("35b63513-3-0-0")]
#[tokio::test]
async fn an_answer_to_no_open_question_is_a_problem(#[case] id: &str) {
    let (api, _) = start().await;
    run(&api, "t", "approval", json!({ "request": "x" })).await;
    let found = api.post("/threads/t/check", json!({ "resume": { id: "yes" } })).await;
    assert_eq!((&found["problems"][0]["id"], found["problems"].as_array().unwrap().len()), (&json!(id), 1));
}

#[rstest]
#[case("/inbox?limit=0", 422)]
#[case("/inbox?limit=501", 422)]
#[case("/inbox?after=x", 422)]
#[case("/threads/nobody/inbox", 404)]
#[tokio::test]
async fn a_request_that_cannot_be_answered_is_refused(#[case] path: &str, #[case] status: u16) {
    let (api, _) = start().await;
    let answer = api.send(Method::GET, path, None).await;
    assert_eq!(answer.status(), status);
    assert!(answer.json::<Value>().await.unwrap()["detail"].is_string());
    assert_eq!(api.status(Method::POST, "/threads/nobody/check", Some(json!({ "resume": {} }))).await, 404);
}

#[tokio::test]
async fn a_reader_sees_the_inbox_and_only_who_answers_checks() {
    let locked = Locked::start().await;
    let body = json!({ "assistant_id": "approval", "input": { "request": "x" }, "if_not_exists": "create" });
    locked.post(KeyRole::Run, "/threads/t/runs/wait", &body).await;
    let inbox = locked.request(KeyRole::Read, Method::GET, "/inbox").send().await.unwrap();
    let inbox: Value = inbox.json().await.unwrap();
    assert_eq!(kinds(&inbox), [("question", "t")]);
    let check = json!({ "resume": { inbox["items"][0]["question"]["id"].as_str().unwrap(): "yes" } });
    assert_eq!(locked.post(KeyRole::Read, "/threads/t/check", &check).await.0, StatusCode::FORBIDDEN);
    let (status, found) = locked.post(KeyRole::Answer, "/threads/t/check", &check).await;
    assert_eq!((status, found), (StatusCode::OK, json!({ "problems": [], "remarks": [] })));
}
