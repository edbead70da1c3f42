//! Differences between two checkpoints, as text and as JSON.

use std::collections::BTreeMap;
use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::CheckpointId;
use superstep::graph::{Boxed, Diff};
use superstep::prelude::*;

use crate::stores::{Counting, Store};

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Essay {
    title: String,
    text: String,
    #[channel(append)]
    notes: Vec<String>,
    #[channel(add)]
    rounds: u32,
    facts: BTreeMap<String, Vec<u32>>,
    #[channel(secret)]
    key: String,
    #[channel(append, secret)]
    tries: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Approve {
    title: String,
}
impl Interrupt for Approve {
    type Resume = bool;
    const NAME: &'static str = "approve";
}

#[derive(NodeId)]
enum Step {
    Plan,
    Write,
    Review,
}

type Ended = Result<EssayUpdate, NodeError>;
type Graph = CompiledGraph<Essay, Step>;

async fn plan(_: Arc<Essay>, _: Ctx) -> Ended {
    let facts = [("sea".to_owned(), vec![1, 2, 3]), ("moon".to_owned(), vec![7])];
    let update = Essay::update().facts(facts.into_iter().collect()).notes(["salt", "foam"]);
    Ok(update.text("Tides.\nThey come.\nThey stay.\nThey go.\nAgain.\n").key("open sesame").tries(["sesame"]))
}

async fn write(essay: Arc<Essay>, _: Ctx) -> Ended {
    let mut facts = essay.facts.clone();
    facts.remove("moon");
    facts.insert("sea".into(), vec![1, 3, 4]);
    let text = essay.text.replace("They stay.\n", "They wait.\nAnd wait.\n");
    Ok(Essay::update().facts(facts).notes(["sand"]).rounds(1).text(text).key("open barley").tries(["barley"]))
}

async fn review(essay: Arc<Essay>, ctx: Ctx) -> Ended {
    let approved = ctx.interrupt(Approve { title: essay.title.clone() })?;
    Ok(Essay::update().notes([format!("approved: {approved}")]))
}

fn graph() -> Graph {
    let nodes = StateGraph::new().add_node(Step::Plan, plan).add_node(Step::Write, write);
    let nodes = nodes.add_node(Step::Review, review.asks::<Approve>());
    nodes.add_sequence([Step::Plan, Step::Write, Step::Review]).compile().unwrap()
}

fn thread(store: &Store, id: &str) -> Thread<Essay, Step> {
    graph().with_shared_checkpointer(Arc::clone(&store.store)).thread(id)
}

/// Returns the thread with its question answered, and its checkpoints, oldest first.
async fn answered(store: &Store) -> (Thread<Essay, Step>, Vec<CheckpointId>) {
    let thread = thread(store, "essay-1");
    thread.invoke(Essay::update().title("tides")).await.unwrap();
    thread.resume::<Approve>(true).await.unwrap();
    let mut steps: Vec<CheckpointId> =
        thread.history().await.unwrap().metadata_only().await.unwrap().iter().map(|made| made.id).collect();
    steps.reverse();
    (thread, steps)
}

/// Applies the operations of a JSON Patch, as RFC 6902 defines them.
fn patched(mut state: Value, patch: &Value) -> Value {
    for edit in patch.as_array().unwrap() {
        let (above, last) = edit["path"].as_str().unwrap().rsplit_once('/').unwrap();
        let place = || last.parse::<usize>().unwrap();
        match (state.pointer_mut(above).unwrap(), edit["op"].as_str().unwrap()) {
            (Value::Object(map), "remove") => drop(map.remove(last)),
            (Value::Object(map), _) => drop(map.insert(last.to_owned(), edit["value"].clone())),
            (Value::Array(list), "add") if last == "-" => list.push(edit["value"].clone()),
            (Value::Array(list), "add") => list.insert(place(), edit["value"].clone()),
            (Value::Array(list), "remove") => drop(list.remove(place())),
            (Value::Array(list), _) => list[place()] = edit["value"].clone(),
            (other, op) => panic!("{op} in {other}"),
        }
    }
    state
}

/// Returns the state of a checkpoint without its secrets.
async fn shown(thread: &Thread<Essay, Step>, at: CheckpointId) -> Value {
    let snapshot = thread.clone().at(at).state().await.unwrap().unwrap();
    let mut state = serde_json::to_value(&*snapshot.values).unwrap();
    let fields = state.as_object_mut().unwrap();
    assert!(fields.remove("key").is_some() && fields.remove("tries").is_some());
    state
}

#[rstest]
#[tokio::test]
async fn the_text_of_a_diff_shows_changes_of_a_superstep(#[values(Store::memory(), Store::disk())] store: Store) {
    let (thread, steps) = answered(&store).await;

    let diff = thread.diff(steps[2], steps[3]).await.unwrap();

    insta::allow_duplicates! {
        insta::assert_snapshot!(diff, @r#"
        from essay-1 #3, superstep 1 (loop)
        to   essay-1 #4, superstep 2 (loop)
        ~ next: Write -> Review
        + question approve of Review: {"title":"tides"}
        ~ text:
            @@ -1,5 +1,6 @@
             Tides.
             They come.
            -They stay.
            +They wait.
            +And wait.
             They go.
             Again.
        + notes: "sand"
        ~ rounds: 0 -> 1
        - facts/moon: [7]
        - facts/sea/1: 2
        + facts/sea: 4
        ~ key: changed (secret)
        ~ tries: changed (secret)
        "#);
    }
}

#[tokio::test]
async fn the_text_of_a_diff_shows_questions_and_next_nodes() {
    let (thread, steps) = answered(&Store::memory()).await;
    let interrupted = thread.diff(steps[0], steps[3]).await.unwrap();
    let answered = thread.diff(steps[3], steps[4]).await.unwrap();
    insta::assert_snapshot!(format!("{interrupted}\n\n{answered}"), @r#"
    from essay-1 #1, superstep -1 (input)
    to   essay-1 #4, superstep 2 (loop)
    ~ next: __start__ -> Review
    + question approve of Review: {"title":"tides"}
    ~ title: "" -> "tides"
    ~ text:
        @@ -0,0 +1,6 @@
        +Tides.
        +They come.
        +They wait.
        +And wait.
        +They go.
        +Again.
    + notes: "salt"
    + notes: "foam"
    + notes: "sand"
    ~ rounds: 0 -> 1
    + facts/sea: [1,3,4]
    ~ key: changed (secret)
    ~ tries: changed (secret)

    from essay-1 #4, superstep 2 (loop)
    to   essay-1 #6, superstep 3 (loop)
    ~ next: Review -> nothing
    - question approve of Review: {"title":"tides"}
    + notes: "approved: true"
    "#);
}

#[tokio::test]
async fn the_json_of_a_diff_has_the_same_content() {
    let (thread, steps) = answered(&Store::memory()).await;
    let diff = thread.diff(steps[3], steps[4]).await.unwrap();
    let mut json = serde_json::to_value(&diff).unwrap();
    json["gone"][0]["id"] = "an id".into();
    insta::assert_snapshot!(serde_json::to_string_pretty(&json).unwrap(), @r#"
    {
      "asked": [],
      "channels": [
        {
          "change": "changed",
          "channel": "notes",
          "patch": [
            {
              "op": "add",
              "path": "/notes/-",
              "value": "approved: true"
            }
          ]
        }
      ],
      "from": {
        "checkpoint": 4,
        "next": [
          "Review"
        ],
        "source": "loop",
        "step": 2,
        "thread": "essay-1"
      },
      "gone": [
        {
          "id": "an id",
          "name": "approve",
          "namespace": [],
          "node": "Review",
          "payload": {
            "title": "tides"
          }
        }
      ],
      "subgraphs": [],
      "to": {
        "checkpoint": 6,
        "next": [],
        "source": "loop",
        "step": 3,
        "thread": "essay-1"
      }
    }
    "#);
}

#[rstest]
#[tokio::test]
async fn the_patch_converts_either_state_into_the_other(#[values(Store::memory(), Store::disk())] store: Store) {
    let (thread, steps) = answered(&store).await;
    for &from in &steps {
        for &to in &steps {
            let diff = thread.diff(from, to).await.unwrap();
            let patch = serde_json::to_value(diff.patch()).unwrap();
            assert_eq!(
                patched(shown(&thread, from).await, &patch),
                shown(&thread, to).await,
                "{from} to {to}: {patch}"
            );
            assert_eq!(diff.is_empty(), from == to, "{diff}");
        }
    }
}

#[tokio::test]
async fn a_changed_secret_is_named_and_not_shown() {
    let (thread, steps) = answered(&Store::memory()).await;
    let diffs = [(1, 2), (2, 3), (3, 2), (0, 4)].map(|(from, to)| (steps[from], steps[to]));
    for (from, to) in diffs {
        let diff = thread.diff_deep(from, to).await.unwrap();
        let shown = format!("{diff} {diff:?} {}", serde_json::to_string(&diff).unwrap());
        assert!(!shown.contains("sesame") && !shown.contains("barley"), "{shown}");
        assert!(shown.contains("key: changed (secret)") && shown.contains("tries: changed (secret)"), "{shown}");
    }
    assert!(!thread.diff(steps[3], steps[4]).await.unwrap().to_string().contains("secret"));
}

#[tokio::test]
async fn forks_are_compared_with_the_branch_they_left() {
    let (thread, steps) = answered(&Store::memory()).await;
    thread.clone().at(steps[2]).update_state(Essay::update().notes(["kelp"]).title("moons")).await.unwrap();
    thread.proceed().await.unwrap();

    let diff = thread.clone().at(steps[3]).diff_to(&thread).await.unwrap();

    let state = thread.state().await.unwrap().unwrap();
    let patch = serde_json::to_value(diff.patch()).unwrap();
    assert_eq!(patched(shown(&thread, steps[3]).await, &patch), shown(&thread, state.id).await);
    insta::assert_snapshot!(diff, @r#"
    from essay-1 #4, superstep 2 (loop)
    to   essay-1 #9, superstep 3 (loop)
    - question approve of Review: {"title":"tides"}
    + question approve of Review: {"title":"moons"}
    ~ title: "tides" -> "moons"
    + notes/2: "kelp"
    "#);
}

/// Another version of the graph: one channel removed, one added, one of another type.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Paper {
    title: String,
    text: String,
    #[channel(append)]
    notes: Vec<String>,
    #[channel(add)]
    rounds: f64,
    key: String,
    author: String,
}

#[derive(NodeId)]
enum Print {
    Print,
}

#[tokio::test]
async fn threads_of_two_graphs_are_compared_by_the_names_of_their_channels() {
    let (essay, steps) = answered(&Store::memory()).await;
    async fn print(_: Arc<Paper>, _: Ctx) -> Result<PaperUpdate, NodeError> {
        Ok(Paper::update().notes(["salt", "chalk", "foam"]).text("Tides.").key("open sesame").author("ada").rounds(0.5))
    }
    let printed =
        StateGraph::<Paper, Print>::new().add_node(Print::Print, print).add_sequence([Print::Print]).compile().unwrap();
    let paper = printed.with_checkpointer(MemoryCheckpointer::new()).thread("paper-1");
    paper.invoke(Paper::update().title("tides")).await.unwrap();

    let diff = essay.at(steps[2]).diff_to(&paper).await.unwrap();

    insta::assert_snapshot!(diff, @r#"
    from essay-1 #3, superstep 1 (loop)
    to   paper-1 #3, superstep 1 (loop)
    ~ next: Write -> nothing
    ~ text:
        @@ -1,5 +1 @@
        -Tides.
        -They come.
        -They stay.
        -They go.
        -Again.
        +Tides.
    + notes/1: "chalk"
    ~ rounds: 0 -> 0.5
    + author: "ada"
    - facts: {"moon":[7],"sea":[1,2,3]}
    ~ tries: changed (secret)
    "#);
}

/// A body that asks in a subgraph.
fn nested(store: &Store) -> Thread<Essay, Step> {
    let inside = graph();
    let outer = StateGraph::<Essay, Step>::new()
        .add_node(Step::Plan, |_: Arc<Essay>, _: Ctx| -> Boxed<'static, Ended> {
            Box::pin(async { Ok(Essay::update()) })
        })
        .add_subgraph(Step::Write, inside)
        .add_node(Step::Review, |_: Arc<Essay>, _: Ctx| -> Boxed<'static, Ended> {
            Box::pin(async { Ok(Essay::update()) })
        })
        .add_sequence([Step::Plan, Step::Write, Step::Review]);
    outer.compile().unwrap().with_shared_checkpointer(Arc::clone(&store.store)).thread("nested")
}

#[rstest]
#[tokio::test]
async fn subgraphs_are_compared_on_request(#[values(Store::memory(), Store::disk())] store: Store) {
    let thread = nested(&store);
    thread.invoke(Essay::update().title("tides")).await.unwrap();
    let waiting = thread.state().await.unwrap().unwrap();
    let other = nested(&Store::memory());
    other.invoke(Essay::update().title("moons")).await.unwrap();

    let began = thread.diff_deep(waiting.parent.unwrap(), waiting.id).await.unwrap();
    let apart = thread.diff_deep_to(&other).await.unwrap();
    let flat = thread.diff_to(&other).await.unwrap();

    insta::allow_duplicates! {
        insta::assert_snapshot!(format!("{began}\n\n{apart}"), @r#"
        from nested #2, superstep 0 (loop)
        to   nested #3, superstep 1 (loop)
        ~ next: Plan -> Write
        + question approve of Write/Review: {"title":"tides"}
        + in Write: nested #7, superstep 2 (loop)

        from nested #3, superstep 1 (loop)
        to   nested #3, superstep 1 (loop)
        - question approve of Write/Review: {"title":"tides"}
        + question approve of Write/Review: {"title":"moons"}
        ~ title: "tides" -> "moons"
        ~ in Write: #7 -> #7
          - question approve of Write/Review: {"title":"tides"}
          + question approve of Write/Review: {"title":"moons"}
          ~ title: "tides" -> "moons"
        "#);
    }
    assert!(flat.subgraphs.is_empty());
}

#[tokio::test]
async fn an_unknown_checkpoint_is_named() {
    let (thread, steps) = answered(&Store::memory()).await;
    let error = thread.diff(steps[0], CheckpointId(99)).await.unwrap_err();
    assert_eq!(error.to_string(), "thread `essay-1` has no checkpoint 99");
    let error = thread.diff_to(&self::thread(&Store::memory(), "essay-2")).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no thread `essay-2`");
}

#[tokio::test]
async fn long_values_are_cut_and_control_characters_escaped() {
    let store = Store::memory();
    let thread = thread(&store, "essay-1");
    let long = format!("{}tides{}", "a".repeat(150), "b".repeat(150));
    thread
        .invoke(Essay::update().title(&long).notes(["\u{1b}[2J gone\u{202e}".to_owned(), long.clone()]))
        .await
        .unwrap();
    let before = thread.state().await.unwrap().unwrap().id;
    thread.clone().discard_pending().update_state(Essay::update().title(long.replace("tides", "moons"))).await.unwrap();
    let first = thread.history().await.unwrap().all().await.unwrap().pop().unwrap().id;
    let changed = thread.clone().at(before).diff_to(&thread).await.unwrap();
    let began: Diff = thread.diff(first, before).await.unwrap();
    insta::assert_snapshot!(format!("{changed}\n\n{began}"), @r#"
    from essay-1 #4, superstep 2 (loop)
    to   essay-1 #6, superstep 3 (update)
    - question approve of Review: {"title":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa... (197 more characters)
    ~ title: ..."aaaaaaaaaaaaaaaaaaaaaaaatidesbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb... (61 more characters) -> ..."aaaaaaaaaaaaaaaaaaaaaaaamoonsbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb... (61 more characters)

    from essay-1 #1, superstep -1 (input)
    to   essay-1 #4, superstep 2 (loop)
    ~ next: __start__ -> Review
    + question approve of Review: {"title":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa... (197 more characters)
    ~ title: "" -> "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa... (187 more characters)
    ~ text:
        @@ -0,0 +1,6 @@
        +Tides.
        +They come.
        +They wait.
        +And wait.
        +They go.
        +Again.
    + notes: "\u001b[2J gone\u{202e}"
    + notes: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa... (187 more characters)
    + notes: "salt"
    + notes: "foam"
    + notes: "sand"
    ~ rounds: 0 -> 1
    + facts/sea: [1,3,4]
    ~ key: changed (secret)
    ~ tries: changed (secret)
    "#);
    assert_eq!(json!(changed.patch())[0]["value"], json!(long.replace("tides", "moons")));
}

#[tokio::test]
async fn values_that_both_checkpoints_share_are_not_read() {
    let counting = Counting::new(&Store::memory());
    let thread = graph().with_shared_checkpointer(counting.clone()).thread("essay-1");
    thread.invoke(Essay::update().title("t".repeat(100_000)).notes(vec!["n".repeat(1_000); 100])).await.unwrap();
    thread.resume::<Approve>(true).await.unwrap();
    let head = thread.state().await.unwrap().unwrap();
    thread.update_state(Essay::update().notes(["kelp"]).text("waves")).await.unwrap();

    counting.read();
    let diff = thread.clone().at(head.id).diff_to(&thread).await.unwrap();

    assert_eq!(json!(diff.patch())[1], json!({"op": "add", "path": "/notes/-", "value": "kelp"}));
    let read = counting.read();
    assert!(read < 3_000, "{read} bytes were read");
}
