//! Threads whose state type has changed since they were stored: fields renamed, upgraded, unknown, dropped or refused,
//! in threads that are finished, interrupted, failed, or in the middle of a superstep.

use std::sync::Arc;

use rstest::rstest;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use superstep::graph::reducers::{Change, Keyed};
use superstep::graph::{CompiledGraph, Incompatibility, Name, State, Thread, Unreadable};
use superstep::prelude::*;

use crate::pad::{Approve, id};
use crate::stores::Store;

/// The progress of the thread when the code changed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// It has finished.
    Finished,
    /// `left` has finished; `right` is interrupted.
    Paused,
    /// `left` has finished; `right` failed.
    Failed,
}

/// `left` writes, `right` gets as far as `came`, then `end`.
fn graph<S: State<Schema = ()>>(left: impl Into<Writes<S>>, stage: Stage) -> CompiledGraph<S, Name> {
    let left: Writes<S> = left.into();
    let write = move |_: Arc<S>, _: Ctx| std::future::ready(Ok::<_, NodeError>(left.clone()));
    let wait = move |_: Arc<S>, ctx: Ctx| async move {
        match stage {
            Stage::Finished => {}
            Stage::Paused => drop(ctx.interrupt(Approve)?),
            Stage::Failed => return Err(NodeError::permanent("no luck")),
        }
        Ok(())
    };
    let end = |_: Arc<S>, _: Ctx| std::future::ready(Ok::<(), NodeError>(()));
    StateGraph::<S, Name>::new()
        .add_node(id("left"), write)
        .add_node(id("right"), wait.asks::<Approve>())
        .add_node(id("end"), end)
        .add_edge(START, [id("left"), id("right")])
        .add_edge([id("left"), id("right")], id("end"))
        .compile()
        .unwrap()
}

fn on<S: State<Schema = ()>>(store: &Store, graph: CompiledGraph<S, Name>) -> Thread<S, Name> {
    graph.with_shared_checkpointer(Arc::clone(&store.store)).thread("t")
}

/// Stores a thread with the old code.
async fn stored<S: State<Schema = ()>>(
    store: &Store,
    stage: Stage,
    input: impl Into<Writes<S>>,
    left: impl Into<Writes<S>>,
) {
    let ended = on(store, graph::<S>(left, stage)).invoke(input.into()).await;
    assert_eq!(ended.is_err(), stage == Stage::Failed);
}

/// Runs to the end with the new code.
async fn ended<S: State<Schema = ()> + Serialize>(store: &Store, stage: Stage) -> Result<Value, RunError> {
    let thread = on(store, graph::<S>(Writes::default(), if stage == Stage::Paused { stage } else { Stage::Finished }));
    let outcome = match stage {
        Stage::Finished => return shown::<S>(store).await,
        Stage::Paused => thread.resume::<Approve>(true).await?,
        Stage::Failed => thread.proceed().await?,
    };
    let state = outcome.finished().unwrap();
    let again = shown::<S>(store).await?;
    assert_eq!(serde_json::to_value(&*state).unwrap(), again, "the stored state is the returned one");
    Ok(again)
}

async fn shown<S: State<Schema = ()> + Serialize>(store: &Store) -> Result<Value, RunError> {
    let snapshot = on(store, graph::<S>(Writes::default(), Stage::Finished)).state().await?.unwrap();
    if let Some(Incompatibility::Value(unread)) =
        snapshot.misfits.into_iter().find(|misfit| matches!(misfit, Incompatibility::Value(_)))
    {
        return Err(RunError::Unreadable(unread));
    }
    Ok(serde_json::to_value(&*snapshot.values).unwrap())
}

async fn carried<S: State<Schema = ()>>(store: &Store) -> Vec<String> {
    on(store, graph::<S>(Writes::default(), Stage::Finished)).state().await.unwrap().unwrap().carried
}

fn unreadable(error: RunError) -> Unreadable {
    match error {
        RunError::Unreadable(unreadable) => *unreadable,
        other => panic!("{other:?}"),
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    id: String,
    text: String,
}

impl Keyed for Entry {
    fn id(&self) -> &str {
        &self.id
    }
}

fn entry(id: &str, text: &str) -> Entry {
    Entry { id: id.into(), text: text.into() }
}

mod before {
    use super::*;

    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    pub(super) struct Draft {
        pub(super) subject: String,
        #[channel(append)]
        pub(super) notes: Vec<String>,
        #[channel(append)]
        pub(super) marks: Vec<u32>,
        #[channel(add)]
        pub(super) sum: u32,
        #[channel(messages)]
        pub(super) chat: Vec<Entry>,
        #[channel(reduce = longer, write = String)]
        pub(super) length: u64,
        #[channel(max)]
        pub(super) best: Option<u32>,
        #[channel(topic(accumulate))]
        pub(super) seen: Vec<String>,
        #[channel(untracked)]
        pub(super) scratch: String,
    }

    fn longer(length: &mut u64, text: String) {
        *length += text.len() as u64;
    }

    pub(super) fn input() -> DraftUpdate {
        Draft::update()
            .subject("tides")
            .notes(["in"])
            .marks([1])
            .sum(1)
            .chat([entry("a", "hello")])
            .length("abc".to_owned())
    }

    pub(super) fn left() -> DraftUpdate {
        let chat = [Change::from(entry("b", "moon")), Change::remove("a")];
        Draft::update()
            .subject("moons")
            .notes(["left"])
            .marks([2, 3])
            .sum(2)
            .chat(chat)
            .length("de".to_owned())
            .best(7)
            .seen(["x"])
    }
}

/// The same channels under other names.
mod renamed {
    use super::*;

    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    pub(super) struct Draft {
        #[channel(append, was = "marks")]
        pub(super) numbers: Vec<u32>,
        #[channel(was = "subject")]
        pub(super) topic: String,
        #[channel(append, was = "older", was = "notes")]
        pub(super) remarks: Vec<String>,
        #[channel(add, was = "sum")]
        pub(super) total: u32,
        #[channel(messages, was = "chat")]
        pub(super) talk: Vec<Entry>,
        #[channel(reduce = longer, write = String, was = "length")]
        pub(super) size: u64,
        #[channel(max, was = "best")]
        pub(super) most: Option<u32>,
        #[channel(topic(accumulate), was = "seen")]
        pub(super) met: Vec<String>,
        pub(super) fresh: Option<u32>,
    }

    fn longer(length: &mut u64, text: String) {
        *length += text.len() as u64;
    }
}

#[rstest]
#[tokio::test]
async fn a_value_stored_under_a_former_name_belongs_to_the_field(
    #[values(Stage::Finished, Stage::Paused, Stage::Failed)] stage: Stage,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    stored::<before::Draft>(&store, stage, before::input(), before::left()).await;
    let end = json!({
        "topic": "moons", "remarks": ["in", "left"], "numbers": [1, 2, 3], "total": 3, "size": 5, "most": 7,
        "talk": [{"id": "b", "text": "moon"}], "met": ["x"], "fresh": null,
    });
    assert_eq!(shown::<renamed::Draft>(&store).await.unwrap(), end, "read only");
    assert_eq!(ended::<renamed::Draft>(&store, stage).await.unwrap(), end);
    let more = renamed::Draft::update().topic("suns").remarks(["more"]).total(1).numbers([4]).fresh(Some(1));
    let more = more.talk([entry("c", "sun")]);
    on(&store, graph::<renamed::Draft>(Writes::default(), Stage::Finished)).invoke(more).await.unwrap();
    let now = shown::<renamed::Draft>(&store).await.unwrap();
    assert_eq!((&now["remarks"], &now["numbers"]), (&json!(["in", "left", "more"]), &json!([1, 2, 3, 4])));
    assert_eq!((&now["total"], now["talk"][1]["text"].as_str()), (&json!(4), Some("sun")));
    assert!(carried::<renamed::Draft>(&store).await.is_empty());
}

/// Almost all fields are removed.
mod narrow {
    use super::*;

    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    pub(super) struct Draft {
        #[channel(add)]
        pub(super) sum: u32,
        #[channel(new)]
        pub(super) other: String,
    }
}

#[rstest]
#[tokio::test]
async fn unknown_channels_are_kept_and_found_again(
    #[values(Stage::Finished, Stage::Paused, Stage::Failed)] stage: Stage,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    stored::<before::Draft>(&store, stage, before::input(), before::left()).await;
    assert_eq!(ended::<narrow::Draft>(&store, stage).await.unwrap(), json!({ "sum": 3, "other": "" }));
    assert_eq!(carried::<narrow::Draft>(&store).await, names(stage));
    let thread = on(&store, graph(narrow::Draft::update().sum(10).other("new"), Stage::Finished));
    thread.invoke(narrow::Draft::update().other("newer")).await.unwrap();
    let checkpoint = thread.state().await.unwrap().unwrap().id;
    thread.at(checkpoint).update_state(narrow::Draft::update().sum(100)).await.unwrap();
    assert_eq!(carried::<narrow::Draft>(&store).await, names(stage), "on a fork too");
    let back = shown::<before::Draft>(&store).await.unwrap();
    let values = ["subject", "notes", "marks", "chat"].map(|name| back[name].clone());
    let chat = json!([{"id": "b", "text": "moon"}]);
    assert_eq!(values, [json!("moons"), json!(["in", "left"]), json!([1, 2, 3]), chat]);
    assert_eq!(back["sum"], json!(113));
    assert_eq!(carried::<before::Draft>(&store).await, ["other"]);
    let left = before::Draft::update().notes(["left"]).marks([4]).chat([entry("c", "sun")]);
    on(&store, graph(left, Stage::Finished)).invoke(before::Draft::update().notes(["again"])).await.unwrap();
    let back = shown::<before::Draft>(&store).await.unwrap();
    assert_eq!((&back["notes"], &back["marks"]), (&json!(["in", "left", "again", "left"]), &json!([1, 2, 3, 4])));
    assert_eq!(back["chat"].as_array().map(Vec::len), Some(2));
    assert_eq!(shown::<narrow::Draft>(&store).await.unwrap()["other"], json!("new"));
}

/// A change that needs its reducer is lost with it: `best` and `seen` were first written by `left`.
fn names(stage: Stage) -> Vec<&'static str> {
    let mut names = vec!["subject", "notes", "marks", "chat", "length"];
    names.extend(["best", "seen"]);
    if stage != Stage::Finished {
        names.truncate(5);
    }
    names
}

mod dropped {
    use super::*;

    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    #[state(removed("subject", "notes"), removed("marks", "chat", "length", "best", "seen"))]
    pub(super) struct Draft {
        #[channel(add)]
        pub(super) sum: u32,
    }
}

#[rstest]
#[tokio::test]
async fn a_removed_channel_is_dropped_silently(
    #[values(Stage::Finished, Stage::Paused, Stage::Failed)] stage: Stage,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    stored::<before::Draft>(&store, stage, before::input(), before::left()).await;
    assert!(carried::<dropped::Draft>(&store).await.is_empty());
    assert_eq!(ended::<dropped::Draft>(&store, stage).await.unwrap(), json!({ "sum": 3 }));
    let next = dropped::Draft::update().sum(1);
    on(&store, graph::<dropped::Draft>(Writes::default(), Stage::Finished)).invoke(next).await.unwrap();
    assert_eq!(shown::<before::Draft>(&store).await.unwrap()["notes"], json!([]));
}

/// The same names, other types.
mod upgraded {
    use super::*;

    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    pub(super) struct Draft {
        #[channel(version = 2, upgrade = title)]
        pub(super) subject: Entry,
        #[channel(append, version = 3, upgrade = entries)]
        pub(super) notes: Vec<Entry>,
        #[channel(append, version = 2, upgrade = texts)]
        pub(super) marks: Vec<String>,
        #[channel(add, version = 2, upgrade = tenfold)]
        pub(super) sum: i64,
        #[channel(messages, version = 2, upgrade = louder, upgrade_write = louder_changes)]
        pub(super) chat: Vec<Entry>,
        #[channel(reduce = longer, write = u64, version = 2, upgrade = tenfold_length, upgrade_write = counted)]
        pub(super) length: u64,
    }

    fn longer(length: &mut u64, more: u64) {
        *length += more;
    }

    fn title(old: Value, from: u32) -> Result<Entry, &'static str> {
        assert_eq!(from, 1);
        Ok(entry("title", old.as_str().ok_or("no text")?))
    }

    fn entries(old: Value, from: u32) -> Result<Vec<Entry>, serde_json::Error> {
        assert_eq!(from, 1);
        Ok(typed::<Vec<String>>(old)?.iter().map(|text| entry("n", text)).collect())
    }

    fn texts(old: Value, _: u32) -> Result<Vec<String>, serde_json::Error> {
        Ok(typed::<Vec<u32>>(old)?.iter().map(u32::to_string).collect())
    }

    fn tenfold(old: Value, _: u32) -> Result<i64, String> {
        old.as_i64().map(|sum| sum * 10).ok_or_else(|| format!("{old} is no number"))
    }

    fn tenfold_length(old: Value, _: u32) -> Result<u64, serde_json::Error> {
        Ok(typed::<u64>(old)? * 10)
    }

    fn counted(old: Value, _: u32) -> Result<u64, serde_json::Error> {
        Ok(typed::<String>(old)?.len() as u64 * 10)
    }

    fn louder(old: Value, _: u32) -> Result<Vec<Entry>, serde_json::Error> {
        Ok(typed::<Vec<Entry>>(old)?.into_iter().map(loud).collect())
    }

    fn louder_changes(old: Value, _: u32) -> Result<Vec<Change<Entry>>, serde_json::Error> {
        let put = |change| match change {
            Change::Put(entry) => Change::Put(loud(entry)),
            other => other,
        };
        Ok(typed::<Vec<Change<Entry>>>(old)?.into_iter().map(put).collect())
    }

    fn loud(entry: Entry) -> Entry {
        Entry { text: entry.text.to_uppercase(), ..entry }
    }

    fn typed<T: DeserializeOwned>(old: Value) -> Result<T, serde_json::Error> {
        serde_json::from_value(old)
    }
}

#[rstest]
#[tokio::test]
async fn an_upgrade_converts_the_old_value(
    #[values(Stage::Finished, Stage::Paused, Stage::Failed)] stage: Stage,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    stored::<before::Draft>(&store, stage, before::input(), before::left()).await;
    let end = json!({
        "subject": {"id": "title", "text": "moons"}, "marks": ["1", "2", "3"], "sum": 30, "length": 50,
        "notes": [{"id": "n", "text": "in"}, {"id": "n", "text": "left"}], "chat": [{"id": "b", "text": "MOON"}],
    });
    assert_eq!(shown::<upgraded::Draft>(&store).await.unwrap(), end, "read only");
    assert_eq!(ended::<upgraded::Draft>(&store, stage).await.unwrap(), end);
    let more = upgraded::Draft::update().sum(1).marks(["four"]).notes([entry("m", "more")]);
    let more = more.chat([entry("c", "sun")]).length(1);
    on(&store, graph::<upgraded::Draft>(Writes::default(), Stage::Finished)).invoke(more).await.unwrap();
    let now = shown::<upgraded::Draft>(&store).await.unwrap();
    assert_eq!((&now["sum"], &now["length"], &now["marks"]), (&json!(31), &json!(51), &json!(["1", "2", "3", "four"])));
    assert_eq!((&now["chat"][0]["text"], &now["chat"][1]["text"]), (&json!("MOON"), &json!("sun")));
    let newer = unreadable(shown::<before::Draft>(&store).await.unwrap_err());
    assert_eq!((newer.stored_version, newer.expected_version), (2, 1));
    assert_eq!(newer.help(), "run the thread with the code that stored it, or a later one");
}

/// One field, in versions that differ in its type only.
macro_rules! one_field {
    ($name:ident, $(#[$channel:meta])? $type:ty) => {
        mod $name {
            use super::*;
            #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
            pub(super) struct Draft {
                $(#[$channel])?
                pub(super) field: $type,
            }
        }
    };
}

mod shapes {
    use super::*;

    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    #[serde(default)]
    pub(super) struct Note {
        pub(super) text: String,
    }
    pub(super) mod moved {
        use super::*;
        #[derive(Clone, Debug, Default, Serialize, Deserialize)]
        #[serde(default)]
        pub(crate) struct Note {
            text: String,
            by: String,
        }
    }
    /// All of its fields have defaults, so any map fits.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    #[serde(default)]
    pub(super) struct Memo {
        body: String,
    }
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    #[serde(default)]
    pub(super) struct Remark {
        text: String,
        by: Option<String>,
    }
}

one_field!(number, u32);
one_field!(wide, u64);
one_field!(signed, i16);
one_field!(real, f64);
one_field!(text, String);
one_field!(maybe_number, Option<u32>);
one_field!(maybe_text, Option<String>);
one_field!(truth, bool);
one_field!(note, shapes::Note);
one_field!(note_moved, shapes::moved::Note);
one_field!(memo, shapes::Memo);
one_field!(remark, shapes::Remark);
one_field!(list, Vec<String>);
one_field!(log, #[channel(append)] Vec<String>);
one_field!(numbers, Vec<u32>);
one_field!(wides, Vec<u64>);
one_field!(number_log, #[channel(append)] Vec<u32>);
one_field!(wide_log, #[channel(append)] Vec<u64>);
one_field!(
    sum,
    #[channel(add)]
    u32
);
one_field!(
    most,
    #[channel(max)]
    u32
);
one_field!(union, #[channel(union)] std::collections::BTreeSet<String>);
one_field!(chat, #[channel(messages)] Vec<Entry>);
one_field!(entries, Vec<Entry>);
one_field!(
    barred,
    #[channel(version = 2)]
    String
);

/// Reads what one version stored with another: finished, and while a task has written.
macro_rules! changes {
    ($old:ident = $value:expr => $new:ident) => {{
        let mut seen = vec![];
        for stage in [Stage::Finished, Stage::Paused] {
            let store = Store::memory();
            stored::<$old::Draft>(&store, stage, Writes::default(), $old::Draft::update().field($value)).await;
            let now = shown::<$new::Draft>(&store).await;
            let end = ended::<$new::Draft>(&store, stage).await;
            let described = |read: Result<Value, RunError>| match read {
                Ok(mut value) => value["field"].take().to_string(),
                Err(error) => error.to_string(),
            };
            let (now, end) = (described(now), described(end));
            seen.push(if now == end { now } else { format!("{now}, then {end}") });
        }
        seen.dedup();
        seen.join("; half done: ")
    }};
}

const THEN: &str = "stored as";

#[rstest]
#[tokio::test]
async fn a_changed_type_reads_only_values_it_keeps_completely() {
    let note = || shapes::Note { text: "hi".into() };
    let cases = [
        (changes!(number = 7 => wide), "7"),
        (changes!(wide = 7 => number), "7"),
        (changes!(number = 7 => signed), "7"),
        (changes!(number = 7 => real), "7.0"),
        (changes!(number = 7 => maybe_number), "7"),
        (changes!(maybe_number = Some(7) => number), "7"),
        (changes!(text = "hi" => maybe_text), r#""hi""#),
        (changes!(note = note() => note_moved), r#"{"by":"","text":"hi"}"#),
        (changes!(note = note() => remark), r#"{"by":null,"text":"hi"}"#),
        (changes!(numbers = vec![1, 2] => wides), "[1,2]"),
        (changes!(number_log = [1, 2] => wide_log), "[1,2]"),
        (changes!(list = vec!["a".to_owned()] => log), r#"["a"]"#),
        (changes!(numbers = vec![1] => number_log), "[1]"),
        (changes!(number = 7 => sum), "7"),
        (changes!(entries = vec![entry("a", "b")] => chat), r#"[{"id":"a","text":"b"}]"#),
    ];
    for (at, (seen, expected)) in cases.iter().enumerate() {
        assert_eq!(seen, expected, "row {at}");
    }
    let refused = [
        changes!(number = 7 => text),
        changes!(text = "7" => number),
        changes!(number = 7 => truth),
        changes!(wide = 1 << 40 => number),
        changes!(real = 7.5 => number),
        changes!(note = note() => memo),
        changes!(text = "hi" => list),
        changes!(text = "hi" => barred),
    ];
    for (at, seen) in refused.iter().enumerate() {
        assert!(seen.contains(THEN), "row {at}: {seen}");
    }
}

/// Reduces to one of two: a value itself, or a change to be reduced.
#[rstest]
#[tokio::test]
async fn a_changed_rule_accepts_values_and_refuses_pending_writes_of_the_old_rule() {
    let refused = "; half done: ";
    let log = changes!(log = ["a", "b"] => list);
    assert!(log.starts_with(&format!(r#"["a","b"]{refused}"#)) && log.contains("rule `append`"), "{log}");
    let sum = changes!(sum = 7 => number);
    assert!(
        sum.starts_with(&format!("7{refused}"))
            && sum.contains("rule `add`, but the channel has the rule `last_value` now"),
        "{sum}"
    );
    let most = changes!(sum = 7 => most);
    assert!(most.starts_with(&format!("7{refused}")) && most.contains("the rule `max` now"), "{most}");
    let union = changes!(log = ["b", "a"] => union);
    assert!(union.starts_with(&format!(r#"["a","b"]{refused}"#)), "{union}");
    let chat = changes!(chat = [Change::from(entry("a", "b"))] => entries);
    assert!(chat.contains("by the rule `messages`, which the channel no longer has"), "{chat}");
}

#[tokio::test]
async fn an_unreadable_value_is_reported_with_both_types_and_help() {
    let store = Store::memory();
    stored::<number::Draft>(&store, Stage::Finished, number::Draft::update().field(7), Writes::default()).await;
    let error = shown::<text::Draft>(&store).await.unwrap_err();
    assert!(error.help().unwrap().starts_with("give the channel `version = 2` and `upgrade = <fn>`"), "{error:?}");
    let parts = unreadable(error);
    let parts = (parts.what, parts.stored, parts.expected, parts.thread, parts.checkpoint.to_string(), parts.reason);
    let words = ("invalid type: integer `7`, expected a string").to_owned();
    assert_eq!(parts, ("channel `field`".into(), "u32".into(), "String".into(), "t".into(), "4".into(), words));
    let error = ended::<barred::Draft>(&store, Stage::Finished).await.unwrap_err();
    assert!(error.help().unwrap().starts_with("let `upgrade = <fn>` of the channel take version 1"), "{error:?}");
}

mod two_fields {
    use super::*;
    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    pub(super) struct Draft {
        pub(super) field: u32,
        pub(super) other: String,
        #[channel(append)]
        pub(super) log: Vec<String>,
        #[channel(append)]
        pub(super) marks: Vec<String>,
    }
}

mod two_changed {
    use super::*;
    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    pub(super) struct Draft {
        pub(super) field: String,
        pub(super) other: String,
        #[channel(append)]
        pub(super) log: Vec<String>,
        #[channel(append)]
        pub(super) marks: Vec<bool>,
    }
}

#[rstest]
#[tokio::test]
async fn channels_that_cannot_be_read_leave_the_others_readable(
    #[values(Stage::Finished, Stage::Paused, Stage::Failed)] stage: Stage,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let input = two_fields::Draft::update().field(7).other("tides").log(["a"]).marks(["x"]);
    stored::<two_fields::Draft>(&store, stage, input, Writes::default()).await;
    let thread = on(&store, graph::<two_changed::Draft>(Writes::default(), stage));
    let snapshot = thread.state().await.unwrap().unwrap();
    let values = (snapshot.values.field.as_str(), snapshot.values.other.as_str(), &snapshot.values.log[..]);
    assert_eq!(values, ("", "tides", &["a".to_owned()][..]));
    let unread = |misfits: &[Incompatibility]| -> Vec<String> {
        let values = misfits
            .iter()
            .filter_map(|misfit| if let Incompatibility::Value(unread) = misfit { Some(unread) } else { None });
        values.map(|unread| unread.what.clone()).collect()
    };
    assert_eq!(unread(&snapshot.misfits), ["channel `field`", "channel `marks`"]);
    let Status::NeedsMigration { misfits } = thread.status().await.unwrap() else { panic!("it cannot continue") };
    assert_eq!(unread(&misfits), ["channel `field`", "channel `marks`"]);
    let mut steps = thread.history().await.unwrap();
    while let Some(step) = steps.next().await {
        step.unwrap();
    }
    let before = thread.state().await.unwrap().unwrap().id;
    unreadable(thread.proceed().await.unwrap_err());
    let input = two_changed::Draft::update().other("moons");
    unreadable(thread.clone().discard_pending().invoke(input.clone()).await.unwrap_err());
    unreadable(thread.clone().at(before).proceed().await.unwrap_err());
    unreadable(thread.update_state(input).await.unwrap_err());
    assert_eq!(thread.state().await.unwrap().unwrap().id, before, "nothing was written");
}

#[rstest]
#[tokio::test]
async fn forks_of_the_old_and_the_new_code_are_separate(#[values(Store::memory(), Store::disk())] store: Store) {
    stored::<before::Draft>(&store, Stage::Paused, before::input(), before::left()).await;
    let old = || on(&store, graph::<before::Draft>(before::left(), Stage::Paused));
    let paused = old().state().await.unwrap().unwrap().id;
    ended::<renamed::Draft>(&store, Stage::Paused).await.unwrap();
    let new = on(&store, graph::<renamed::Draft>(Writes::default(), Stage::Finished));
    new.invoke(renamed::Draft::update().remarks(["new"])).await.unwrap();
    let newest = new.state().await.unwrap().unwrap().id;
    let end = old().at(paused).proceed().await.unwrap();
    assert_eq!((end.questions().len(), &end.state().notes[..]), (1, &["in", "left"].map(String::from)[..]));
    let end = old().resume::<Approve>(true).await.unwrap().finished().unwrap();
    assert_eq!((&end.notes[..], end.sum), (&["in", "left"].map(String::from)[..], 3));
    old().update_state(before::Draft::update().notes(["old"])).await.unwrap();
    let then = new.clone().at(newest).state().await.unwrap().unwrap();
    assert_eq!(then.values.remarks, ["in", "left", "new"]);
    new.clone().at(newest).update_state(renamed::Draft::update().remarks(["newer"])).await.unwrap();
    assert_eq!(shown::<renamed::Draft>(&store).await.unwrap()["remarks"], json!(["in", "left", "new", "newer"]));
    let all = new.history().await.unwrap().all().await.unwrap();
    let lengths: Vec<usize> = all.iter().map(|step| step.values.remarks.len()).collect();
    assert_eq!(lengths.first(), Some(&4), "{lengths:?}");
    assert_eq!(all.iter().filter(|step| step.values.remarks.last().is_some_and(|last| last == "old")).count(), 1);
}

#[tokio::test]
async fn a_data_defined_state_declares_its_past_in_the_same_way() {
    let store = Store::memory();
    let graph = |schema: superstep::graph::DataSchema| {
        let idle = |_: Arc<superstep::graph::DataState>, _: Ctx| std::future::ready(Ok::<(), NodeError>(()));
        let graph = StateGraph::<superstep::graph::DataState, Name>::with_schema(schema).add_node(id("a"), idle);
        graph.add_sequence([id("a")]).compile().unwrap().with_shared_checkpointer(Arc::clone(&store.store))
    };
    let schema = |names: [&str; 3]| {
        use superstep::graph::DataSchema;
        use superstep::graph::state::Kind;
        DataSchema::new(names.into_iter().zip([Kind::LastValue, Kind::Append, Kind::Add])).unwrap()
    };
    let old = graph(schema(["subject", "notes", "mood"]));
    let input = old.schema().writes(json!({"subject": "tides", "notes": ["a"], "mood": 3}).as_object().unwrap());
    old.thread("t").invoke(input).await.unwrap();
    let louder =
        |old: Value, _: u32| old.as_str().map(|text| text.to_uppercase().into()).ok_or_else(|| "no text".into());
    let new = schema(["topic", "remarks", "fresh"]).was("topic", "subject").unwrap().was("remarks", "notes").unwrap();
    let carries = graph(new.clone().with_upgrade("topic", 2, louder).unwrap());
    let snapshot = carries.thread("t").state().await.unwrap().unwrap();
    assert_eq!(snapshot.values.to_json(carries.schema()), json!({"topic": "TIDES", "remarks": ["a"], "fresh": 0}));
    assert_eq!(snapshot.carried, ["mood"]);
    let drops = graph(new.with_removed("mood").unwrap());
    assert!(drops.thread("t").state().await.unwrap().unwrap().carried.is_empty());
    assert!(schema(["a", "b", "c"]).was("a", "b").is_err() && schema(["a", "b", "c"]).with_removed("c").is_err());
}
