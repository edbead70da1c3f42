//! The code that the derives generate, through the public API: channels, updates, rules, encoding, node ids, labels.

#![deny(missing_docs, missing_debug_implementations, unreachable_pub, clippy::pedantic)]

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use superstep::__private::strum::IntoEnumIterator;
use superstep::__private::{Mask, Merge};
use superstep::graph::node::IntoCommand;
use superstep::graph::reducers::{Change, Keyed};
use superstep::graph::state::{ApplyError, Channel, Storage};
use superstep::graph::*;

/// A state with every rule.
#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// Its subject.
    topic: String,
    approved: bool,
    r#type: Option<String>,
    #[channel(append)]
    notes: Vec<String>,
    #[channel(append)]
    scores: Vec<u64>,
    #[channel(add)]
    rounds: u32,
    #[channel(union)]
    tags: BTreeSet<String>,
    #[channel(merge)]
    links: BTreeMap<String, u8>,
    #[channel(max)]
    best: i64,
    #[channel(min)]
    least: Option<f32>,
    #[channel(messages)]
    messages: Vec<Message>,
    #[channel(topic)]
    queries: Vec<String>,
    #[channel(topic(accumulate))]
    visited: Vec<u16>,
    #[channel(ephemeral)]
    hint: Option<Hint>,
    #[channel(any_value, secret)]
    token: Hint,
    #[channel(untracked, version = 3)]
    cache: Vec<u8>,
    #[channel(reduce = merge, write = Fact)]
    facts: BTreeMap<String, Fact>,
    #[channel(reduce = checked, fallible)]
    budget: u8,
}

/// Something that only lives in these tests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hint(String);

/// A message with an id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Message(String, String);

impl Keyed for Message {
    fn id(&self) -> &str {
        &self.0
    }
}

/// A fact that is written one at a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    about: String,
    says: String,
}

// Called like a parameter of the generated code.
fn merge(facts: &mut BTreeMap<String, Fact>, fact: Fact) {
    facts.insert(fact.about.clone(), fact);
}

fn checked(budget: &mut u8, more: u8) -> Result<(), &'static str> {
    *budget = budget.checked_add(more).ok_or("the budget is spent")?;
    Ok(())
}

/// Names that the generated code must not take from the user.
#[derive(State, Clone, Default)]
struct N {
    facts: M,
    #[channel(add)]
    m: u8,
    #[channel(add)]
    m_: u8,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct M;

/// A channel whose writes are smaller than its value.
#[derive(State, Clone, Default)]
struct Ledger {
    #[channel(reduce = merge, write = Fact, delta)]
    facts: BTreeMap<String, Fact>,
}

#[test]
fn a_channel_with_a_reducer_and_delta_is_stored_by_its_writes() {
    let Some(channel) = Ledger::channels(&()).first() else { panic!("there is a channel") };
    assert_eq!((channel.name(), channel.storage(), channel.rule_name()), ("facts", Storage::Delta, "reduce"));
}

/// Values before the first write.
#[derive(State, Clone, Debug, PartialEq)]
struct Limits {
    #[channel(default = Self::MOST)]
    attempts: u32,
    #[channel(add, default = 100)]
    budget: u32,
    #[channel(default = vec!["main".to_owned(), "next".to_owned()], secret)]
    branches: Vec<String>,
    #[channel(default = Level(3), untracked)]
    level: Level,
    note: String,
}

impl Limits {
    const MOST: u32 = 5;
}

/// A type without a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Level(u8);

#[test]
fn a_default_is_the_value_before_the_first_write() {
    let mut limits = Limits::empty(&());
    assert_eq!(limits, Limits::default());
    assert_eq!((limits.attempts, limits.level.0, limits.note.as_str()), (5, 3, ""));
    for write in Writes::from(Limits::update().attempts(2).budget(1).branches(vec![])).0 {
        limits.apply(&(), write, &mut Merge::default()).unwrap();
    }
    assert_eq!(limits, Limits { attempts: 2, budget: 101, branches: vec![], ..Limits::default() });
}

/// The plan of a job.
#[derive(Channels, Clone, Debug, PartialEq)]
struct Plan {
    #[channel(default = Self::MOST, was = "tries")]
    attempts: u32,
    text: Option<String>,
}

impl Plan {
    const MOST: u32 = 5;
}

/// The costs of a job.
#[derive(Channels, Clone, Debug, Default, PartialEq)]
struct Costs {
    #[channel(add)]
    tokens: u64,
    #[channel(append)]
    notices: Vec<String>,
    #[channel(ephemeral)]
    hint: Option<String>,
}

/// A state of two groups, between fields of its own.
#[derive(State, Clone, Debug, Default, PartialEq)]
struct Job {
    name: String,
    #[channel(group)]
    plan: Plan,
    #[channel(group)]
    costs: Costs,
    done: bool,
}

#[test]
fn the_fields_of_a_group_are_channels_of_the_state() {
    let names: Vec<&str> = Job::channels(&()).iter().map(Channel::name).collect();
    assert_eq!(names, ["name", "attempts", "text", "tokens", "notices", "hint", "done"]);
    let mut job = Job::empty(&());
    assert_eq!((&job, job.plan.attempts), (&Job::default(), 5));
    let mut merge = Merge::default();
    let update = Job::update().text("# Plan").tokens(2).tokens(3).notices(["late"]).hint("soon").done(true);
    assert_eq!(update.written(), ["text", "tokens", "tokens", "notices", "hint", "done"]);
    for write in Writes::from(update).0 {
        job.apply(&(), write, &mut merge).unwrap();
    }
    let plan = Plan { text: Some("# Plan".into()), ..Plan::default() };
    let costs = Costs { tokens: 5, notices: vec!["late".into()], hint: Some("soon".into()) };
    assert_eq!(job, Job { plan, costs, done: true, ..Job::default() });
    job.end_step(&(), &Mask::default(), &mut Mask::default());
    assert_eq!(job.costs.hint, None);
}

struct Steps {
    draft: Draft,
    changed: Vec<&'static str>,
}

impl Steps {
    fn start() -> Self {
        Self { draft: Draft::empty(&()), changed: vec![] }
    }

    fn step(&mut self, updates: impl IntoIterator<Item = DraftUpdate>) -> Result<(), ApplyError> {
        let (mut merge, mut changed) = (Merge::default(), Mask::default());
        for write in updates.into_iter().flat_map(|update| Writes::from(update).0) {
            self.draft.apply(&(), write, &mut merge)?;
        }
        self.draft.end_step(&(), merge.written(), &mut changed);
        self.changed = changed.iter().map(name).collect();
        Ok(())
    }
}

fn after(updates: impl IntoIterator<Item = DraftUpdate>) -> Draft {
    let mut steps = Steps::start();
    steps.step(updates).unwrap();
    steps.draft
}

fn name(channel: usize) -> &'static str {
    Draft::channels(&())[channel].name()
}

fn index(channel: &str) -> usize {
    Draft::channels(&()).iter().position(|known| known.name() == channel).unwrap()
}

fn full() -> DraftUpdate {
    Draft::update()
        .topic("tides")
        .approved(true)
        .r#type(Some("essay".to_owned()))
        .notes(["salt", "wind"])
        .scores(vec![1, 2])
        .rounds(1)
        .tags(BTreeSet::from(["sea".to_owned()]))
        .links(BTreeMap::from([("a".to_owned(), 1)]))
        .best(7)
        .least(0.5)
        .messages([Message("1".into(), "hello".into())])
        .queries(["moon"])
        .visited([1, 2])
        .hint(Some(Hint("h".into())))
        .token(Hint("hunter2".into()))
        .cache(vec![1])
        .facts(Fact { about: "moon".into(), says: "round".into() })
        .budget(200)
}

#[test]
fn channels_follow_the_fields() {
    let rows: Vec<_> = Draft::channels(&()).iter().map(row).collect();
    assert_eq!(
        rows.join("\n"),
        "topic String Value MessagePack 1\n\
         approved bool Value Bincode 1\n\
         type Option<String> Value MessagePack 1\n\
         notes Vec<String> Log MessagePack 1\n\
         scores Vec<u64> Log Bincode 1\n\
         rounds u32 Full Bincode 1\n\
         tags BTreeSet<String> Delta MessagePack 1\n\
         links BTreeMap<String,u8> Delta MessagePack 1\n\
         best i64 Full Bincode 1\n\
         least Option<f32> Full MessagePack 1\n\
         messages Vec<Message> Delta MessagePack 1\n\
         queries Vec<String> Full MessagePack 1\n\
         visited Vec<u16> Full Bincode 1\n\
         hint Option<Hint> Value MessagePack 1\n\
         token Hint Value MessagePack 1 secret\n\
         cache Vec<u8> Never Bincode 3\n\
         facts BTreeMap<String,Fact> Full MessagePack 1\n\
         budget u8 Full Bincode 1"
    );
}

fn row(channel: &Channel) -> String {
    let (name, type_name, version) = (channel.name(), channel.type_name(), channel.schema_version());
    let secret = if channel.is_secret() { " secret" } else { "" };
    format!("{name} {type_name} {:?} {:?} {version}{secret}", channel.storage(), channel.value_codec())
}

#[test]
fn an_update_shows_its_channels_and_no_value() {
    let update = Draft::update().topic("tides").token(Hint("hunter2".into())).topic("moons");
    assert_eq!(update.written(), ["topic", "token", "topic"]);
    assert_eq!(format!("{update:?}"), r#"DraftUpdate(["topic", "token", "topic"])"#);
    assert!(Draft::update().written().is_empty());
}

#[test]
fn every_setter_writes_its_own_channel() {
    let all: Vec<_> = Draft::channels(&()).iter().map(Channel::name).collect();
    assert_eq!(full().written(), all);
}

#[test]
fn writes_are_reduced() {
    let more = Draft::update()
        .notes(vec!["foam".to_owned()])
        .scores(vec![3])
        .rounds(2)
        .tags(BTreeSet::from(["air".to_owned()]))
        .links(BTreeMap::from([("a".to_owned(), 2)]))
        .best(3)
        .least(0.25)
        .messages([Change::remove("1"), Message("2".into(), "bye".into()).into()])
        .queries(vec!["sun".to_owned()])
        .visited(Some(3))
        .facts(Fact { about: "moon".into(), says: "far".into() });
    let draft = after([full(), more]);
    assert_eq!(draft.notes, ["salt", "wind", "foam"]);
    assert_eq!(draft.scores, [1, 2, 3]);
    assert_eq!((draft.rounds, draft.best, draft.least), (3, 7, Some(0.25)));
    assert_eq!(draft.tags.len(), 2);
    assert_eq!(draft.links["a"], 2);
    assert_eq!(draft.messages, [Message("2".into(), "bye".into())]);
    assert_eq!(draft.queries, ["moon", "sun"]);
    assert_eq!(draft.visited, [1, 2, 3]);
    assert_eq!(draft.facts["moon"].says, "far");
}

#[test]
fn an_overwrite_replaces_a_reduced_value() {
    let update = Draft::update().notes(overwrite(vec![])).rounds(overwrite(9)).messages(overwrite(vec![]));
    let update = update.least(overwrite(None)).facts(overwrite(BTreeMap::new())).scores(overwrite(vec![]));
    let flags: Vec<_> = Writes::from(update.clone()).0.iter().map(Draft::overwrites).collect();
    assert_eq!(flags, [true; 6]);
    let mut steps = Steps::start();
    steps.step([full()]).unwrap();
    steps.step([update]).unwrap();
    let Draft { notes, rounds, messages, least, facts, scores, .. } = steps.draft;
    assert_eq!((notes, rounds, messages, least, facts, scores), (vec![], 9, vec![], None, BTreeMap::new(), vec![]));
}

#[test]
fn a_last_value_takes_one_write_and_any_value_takes_many() {
    for (update, name) in
        [(Draft::update().topic("a").topic("b"), "topic"), (Draft::update().hint(None).hint(None), "hint")]
    {
        let refused = Steps::start().step([update]).unwrap_err();
        assert_eq!(refused, ApplyError::Concurrent { channel: index(name) });
    }
    let draft = after([Draft::update().token(Hint("a".into())), Draft::update().token(Hint("b".into()))]);
    assert_eq!(draft.token, Hint("b".into()));
}

#[test]
fn a_reducer_can_refuse() {
    let refused = Steps::start().step([full(), full().topic("x")].map(|_| Draft::update().budget(200))).unwrap_err();
    assert_eq!(refused, ApplyError::Refused { channel: index("budget"), reason: "the budget is spent".into() });
}

#[test]
fn short_lived_channels_are_emptied_when_not_written() {
    let mut steps = Steps::start();
    steps.step([full()]).unwrap();
    assert!(steps.changed.is_empty());
    steps.step([Draft::update().queries(["sun"])]).unwrap();
    // The type `Hint` may compare in any way, so `token` always counts.
    assert_eq!((steps.draft.queries.as_slice(), &steps.changed), (&["sun".to_owned()][..], &vec!["hint", "token"]));
    steps.step([]).unwrap();
    assert_eq!(steps.changed, ["queries", "token"]);
    let Draft { queries, hint, token, visited, cache, topic, .. } = steps.draft;
    assert_eq!((queries, hint, token), (vec![], None, Hint::default()));
    assert_eq!((visited, cache, topic.as_str()), (vec![1, 2], vec![1], "tides"));
}

// A type that comes through a macro is still seen.
macro_rules! short {
    ($($field:ident: $type:ty),*) => {
        #[derive(State, Clone, Default)]
        struct Short { $(#[channel(ephemeral)] $field: $type),* }
    };
}

short!(text: String, number: f32, flag: bool, list: Vec<u8>, maybe: Option<u8>, other: (u8, u8));

#[test]
fn emptying_what_is_empty_is_no_change() {
    let (mut short, mut changed) = (Short::default(), Mask::default());
    short.end_step(&(), &Mask::default(), &mut changed);
    assert_eq!(changed.iter().collect::<Vec<_>>(), [5]);
    short = Short { text: "x".into(), number: 0.5, flag: true, list: vec![1], maybe: Some(0), other: (0, 0) };
    short.end_step(&(), &Mask::default(), &mut changed);
    assert_eq!(changed.count(), 6);
    assert_eq!((short.text.as_str(), short.flag, short.maybe), ("", false, None));
}

#[test]
fn writes_and_values_survive_encoding() {
    let mut copy = Draft::default();
    for write in Writes::from(full().rounds(overwrite(4))).0 {
        let (channel, overwrites) = (Draft::channel_of(&write), Draft::overwrites(&write));
        let json = Draft::encode_write(&(), &write, serde_json::value::Serializer).unwrap();
        let again = Draft::decode_write(&(), channel, overwrites, json).unwrap();
        copy.apply(&(), again, &mut Merge::default()).unwrap();
    }
    assert_eq!(copy, after([full().rounds(overwrite(4))]));
    assert_eq!(copied(&copy), copy);
}

fn copied(draft: &Draft) -> Draft {
    let mut copy = Draft::default();
    for channel in 0..Draft::channels(&()).len() {
        let json = draft.encode_channel(&(), channel, serde_json::value::Serializer).unwrap();
        copy.decode_channel(&(), channel, json).unwrap();
    }
    copy
}

#[test]
fn the_present_value_can_be_written_again() {
    let (draft, mut copy, mut merge) = (after([full()]), Draft::default(), Merge::default());
    for channel in 0..Draft::channels(&()).len() {
        let write = draft.write_of(&(), channel).unwrap();
        copy.apply(&(), write, &mut merge).unwrap();
    }
    assert_eq!(copy, draft);
}

#[test]
fn an_update_is_a_command_of_any_graph_over_the_state() {
    fn takes<S: State, N>(_: &impl IntoCommand<S, N>) {}
    takes::<Draft, Step>(&Draft::update());
    takes::<N, ()>(&N::update().facts(M).m(1).m_(1));
}

/// Steps.
#[derive(NodeId)]
pub enum Step {
    /// Plans.
    Plan,
    /// Writes.
    #[node(name = "write-up")]
    Write,
}

#[test]
fn node_ids_have_names_and_a_list() {
    fn is_id<T: Copy + Eq + std::hash::Hash + std::fmt::Debug + Send + Sync>(_: T) {}
    is_id(Step::Plan);
    let names: Vec<_> = Step::iter().map(|step| step.as_ref().to_owned()).collect();
    assert_eq!(names, ["Plan", "write-up"]);
    assert_eq!(format!("{:?}", Step::iter().rev().collect::<Vec<_>>()), "[Write, Plan]");
    assert_ne!(Step::Plan, Step::Write);
}

/// Steps in another case.
#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Renamed {
    Plan,
    AskURL,
    #[node(name = "WriteUp")]
    Write,
}

#[test]
fn node_ids_are_renamed_all_at_once() {
    let all = Renamed::all();
    let names = ["plan", "ask_url", "WriteUp"];
    assert_eq!(all.iter().map(Renamed::name).collect::<Vec<_>>(), names);
    assert_eq!(all.iter().map(Renamed::to_name).collect::<Vec<_>>(), names.map(Name::from));
    assert_eq!(format!("{all:?}"), "[Plan, AskURL, Write]");
}

/// Outcomes.
#[derive(Labels, Debug, PartialEq)]
pub enum AfterReview {
    /// Again.
    Revise {
        /// The reason.
        why: String,
    },
    /// To some.
    Ask(u8, Vec<Step>),
    /// Done.
    Publish,
}

#[test]
fn outcomes_have_labels_and_a_list() {
    let all: Vec<_> = AfterReview::iter().collect();
    let expected = [AfterReview::Revise { why: String::new() }, AfterReview::Ask(0, vec![]), AfterReview::Publish];
    assert_eq!(all, expected);
    assert_eq!(all.iter().map(AsRef::as_ref).collect::<Vec<&str>>(), ["Revise", "Ask", "Publish"]);
}

/// Outcomes with their targets.
#[derive(Route, Debug)]
pub enum AfterPlan {
    /// One node.
    #[to(Step::Write)]
    Write,
    /// Several.
    #[to(Step::Plan, Step::Write, END)]
    Both,
    /// A worker, once for each field.
    #[to(SEARCH.each(queries).empty(Step::Write))]
    Search {
        /// The queries.
        queries: Vec<String>,
    },
    /// A worker, for a field without a name.
    #[to(SEARCH.send(_0))]
    One(String),
    /// Nowhere.
    #[to(END)]
    Done,
}

const SEARCH: Worker<Step, String> = Worker::new(Step::Plan);
const FIRST: Step = Step::Plan;

/// Outcomes whose targets do not show the type of the node ids.
#[derive(Route, Debug)]
#[route(Step)]
pub enum AfterAll {
    /// To a constant.
    #[to(FIRST)]
    First,
}

#[test]
fn outcomes_name_their_targets() {
    let names = AfterPlan::iter().map(|outcome| outcome.as_ref().to_owned());
    let targets = AfterPlan::iter().map(AfterPlan::target);
    let shown: Vec<_> = names.zip(targets).map(|(name, target)| format!("{name}: {target:?}")).collect();
    let expected = [
        "Write: Node(Write)",
        "Both: Many([Node(Plan), Node(Write), End])",
        "Search: Sends(0 × Plan(alloc::string::String))",
        "One: Sends(1 × Plan(alloc::string::String))",
        "Done: End",
    ];
    assert_eq!(shown, expected);
    assert!(matches!(AfterAll::First.target(), Target::Node(Step::Plan)));
}

/// A question with a name of its own.
#[derive(Interrupt, Debug, Serialize, Deserialize)]
#[interrupt(resume = Option<u8>, name = "how-many")]
pub struct HowMany(String);

/// A question that is named like its type.
#[derive(Interrupt, Debug, Serialize, Deserialize)]
#[interrupt(resume = bool)]
pub enum MayPublish {
    /// Now.
    Now,
}

#[test]
fn questions_have_a_name_and_the_type_of_an_answer() {
    assert_eq!([HowMany::NAME, MayPublish::NAME], ["how-many", "may_publish"]);
    let answer: <HowMany as Interrupt>::Resume = Some(3);
    assert_eq!((answer, HowMany::answer_shape()), (Some(3), "number or null".to_owned()));
}

/// Options, of text and of others.
#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Options {
    text: Option<String>,
    number: Option<u8>,
    hint: Option<Hint>,
}

#[test]
fn setters_of_options_take_the_inner_value_too() {
    let set = |update: OptionsUpdate| {
        let mut options = Options::default();
        for write in Writes::from(update).0 {
            options.apply(&(), write, &mut Merge::default()).unwrap();
        }
        options
    };
    let expected = Options { text: Some("a".into()), number: Some(1), hint: Some(Hint("b".into())) };
    assert_eq!(set(Options::update().text("a").number(1).hint(Hint("b".into()))), expected);
    let text = String::from("a");
    assert_eq!(set(Options::update().text(&text)).text, set(Options::update().text(Some(text.clone()))).text);
    assert_eq!(
        set(Options::update().text(Some("a".into())).text(None).number(Some(1)).number(None)),
        Options::default()
    );
}
