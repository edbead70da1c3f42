//! Secret channels, which are never shown, and untracked channels, which are never stored.

use std::sync::Arc;

use rstest::rstest;
use superstep::graph::Boxed;
use superstep::prelude::*;

use crate::pad::Approve;
use crate::stores::Store;

/// A value that no output may contain.
const SECRET: &str = "open sesame";

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Vault {
    #[channel(secret)]
    key: String,
    #[channel(append, secret)]
    tries: Vec<String>,
    #[channel(untracked)]
    scratch: u32,
    door: String,
}

#[derive(NodeId)]
enum Step {
    Turn,
    Ask,
}

async fn turn(vault: Arc<Vault>, ctx: Ctx) -> Result<VaultUpdate, NodeError> {
    ctx.emit("turning").await;
    Ok(Vault::update().tries([vault.key.clone()]).key(format!("{} again", vault.key)).scratch(7).door("ajar"))
}

async fn ask(vault: Arc<Vault>, ctx: Ctx) -> Result<VaultUpdate, NodeError> {
    ctx.interrupt(Approve)?;
    Ok(Vault::update().door(format!("scratch {}", vault.scratch)))
}

fn graph(
    ask: impl Fn(Arc<Vault>, Ctx) -> Boxed<'static, Result<VaultUpdate, NodeError>> + Send + Sync + 'static,
) -> CompiledGraph<Vault, Step> {
    let graph = StateGraph::new().add_node(Step::Turn, turn).add_node(Step::Ask, ask.asks::<Approve>());
    graph.add_sequence([Step::Turn, Step::Ask]).compile().unwrap()
}

fn vault() -> CompiledGraph<Vault, Step> {
    graph(|vault, ctx| Box::pin(ask(vault, ctx)))
}

#[tokio::test]
async fn a_secret_channel_shows_in_no_event() {
    let store = Store::memory();
    let thread = vault().with_shared_checkpointer(Arc::clone(&store.store)).thread("t");
    let modes = [Mode::Values, Mode::Updates, Mode::Custom, Mode::Tasks, Mode::Checkpoints];
    let mut events = thread.stream(Request::input(Vault::update().key(SECRET)), modes);
    let mut shown = String::new();
    while let Some(event) = events.next().await {
        shown += &format!("{event:?}\n");
    }
    let mut events = thread.stream(Request::answers([Answer::new::<Approve>(&true)]), modes);
    while let Some(event) = events.next().await {
        shown += &format!("{event:?}\n");
    }
    assert!(shown.contains("ajar") && shown.contains("turning"), "{shown}");
    assert!(!shown.contains(SECRET) && !shown.contains("tries"), "{shown}");
}

#[tokio::test]
async fn a_secret_channel_shows_in_no_result_of_a_task() {
    let store = Store::memory();
    let thread = vault().with_shared_checkpointer(Arc::clone(&store.store)).thread("t");
    thread.invoke(Vault::update().key(SECRET)).await.unwrap();
    let history = thread.history().await.unwrap().all().await.unwrap();
    let shown = format!("{:?}", history.iter().map(|made| &made.tasks).collect::<Vec<_>>());
    assert!(shown.contains("ajar") && !shown.contains(SECRET), "{shown}");
    assert_eq!(thread.state().await.unwrap().unwrap().values.tries, [SECRET]);
}

#[rstest]
#[case::another_handle(true)]
#[case::the_same_handle(false)]
#[tokio::test]
async fn an_untracked_channel_has_its_default_in_the_resumed_run(
    #[case] fresh: bool,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let thread = || vault().with_shared_checkpointer(Arc::clone(&store.store)).thread("t");
    let first = thread();
    let outcome = first.invoke(Vault::update().key(SECRET)).await.unwrap();
    assert_eq!(outcome.state().scratch, 7);
    let second = if fresh { thread() } else { first };
    let end = second.resume::<Approve>(true).await.unwrap().finished().unwrap();
    assert_eq!((end.door.as_str(), end.scratch), ("scratch 0", 0));
}

#[rstest]
#[case::another_handle(true)]
#[case::the_same_handle(false)]
#[tokio::test]
async fn an_untracked_channel_has_its_default_in_the_next_turn(#[case] fresh: bool) {
    let store = Store::memory();
    let graph =
        StateGraph::new().add_node(Step::Turn, turn).add_node(Step::Ask, |vault: Arc<Vault>, _: Ctx| async move {
            Ok::<_, NodeError>(Vault::update().door(format!("{}, scratch {}", vault.door, vault.scratch)))
        });
    let graph = graph.add_edge(START, Step::Ask).add_edge(Step::Ask, Step::Turn).compile().unwrap();
    let thread = || graph.clone().with_shared_checkpointer(Arc::clone(&store.store)).thread("t");
    let first = thread();
    assert_eq!(first.invoke(Vault::update().key(SECRET)).await.unwrap().state().scratch, 7);
    let second = if fresh { thread() } else { first };
    let mut events = second.stream(Request::input(Vault::update().key(SECRET)), [Mode::Updates]);
    let event = events.next().await.unwrap();
    assert!(format!("{event:?}").contains("ajar, scratch 0"), "{event:?}");
}

#[tokio::test]
async fn a_secret_channel_shows_in_no_debug_of_an_outcome_or_a_snapshot() {
    let store = Store::memory();
    let thread = vault().with_shared_checkpointer(Arc::clone(&store.store)).thread("t");
    let outcome = thread.invoke(Vault::update().key(SECRET)).await.unwrap();
    let now = thread.state_deep().await.unwrap();
    let history = thread.history().await.unwrap().all().await.unwrap();
    let end = thread.resume::<Approve>(true).await.unwrap();
    let shown = format!("{outcome:?} {now:?} {history:?} {end:?}");
    assert!(shown.contains("ajar") && !shown.contains(SECRET), "{shown}");
    assert_eq!(format!("{end:?}"), r#"Finished({"door":"scratch 0","scratch":0})"#);
    assert_eq!(end.finished().unwrap().tries, [SECRET]);
}

/// A key whose errors contain the key itself.
#[derive(Clone, Debug, Default, PartialEq)]
struct Key(String);

impl Serialize for Key {
    fn serialize<E: serde::Serializer>(&self, out: E) -> Result<E::Ok, E::Error> {
        if self.0 == SECRET { Err(serde::ser::Error::custom(&self.0)) } else { self.0.serialize(out) }
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from).map(Self)
    }
}

fn turned(key: &mut String, with: String) -> Result<(), String> {
    let refused = with == SECRET;
    key.clone_from(&with);
    if refused { Err(with) } else { Ok(()) }
}

fn jammed(key: &mut String, with: String) {
    assert_ne!(with, SECRET);
    *key = with;
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Lock {
    #[channel(secret)]
    key: Key,
    #[channel(secret, reduce = turned, fallible)]
    turned: String,
    #[channel(secret, reduce = jammed)]
    jammed: String,
}

#[rstest]
#[case::a_type_that_refuses(
    Lock::update().key(Key(SECRET.into())),
    "channel `key`: the reason is hidden because the channel is secret"
)]
#[case::a_reducer_that_refuses(
    Lock::update().turned(SECRET.to_owned()),
    "channel `turned` refused a write of `A` in superstep 1: the reason is hidden because the channel is secret"
)]
#[case::a_reducer_that_panics(
    Lock::update().jammed(SECRET.to_owned()),
    "channel `jammed` refused a write of `A` in superstep 1: the reason is hidden because the channel is secret"
)]
#[tokio::test]
async fn an_error_about_a_secret_channel_does_not_show_the_value(#[case] update: LockUpdate, #[case] expected: &str) {
    #[derive(NodeId)]
    enum Step {
        A,
    }
    let store = Store::memory();
    let node = move |_: Arc<Lock>, _: Ctx| std::future::ready(Ok::<_, NodeError>(update.clone()));
    let graph = StateGraph::new().add_node(Step::A, node).add_sequence([Step::A]).compile().unwrap();
    let thread = graph.with_shared_checkpointer(Arc::clone(&store.store)).thread("t");
    let error = thread.invoke(Lock::update()).await.unwrap_err();
    assert_eq!(error.to_string(), expected);
    let shown = format!("{error:?} {:?} {:?}", thread.status().await.unwrap(), thread.state().await.unwrap());
    assert!(shown.contains(expected) && !shown.contains(SECRET), "{shown}");
}

#[tokio::test]
async fn a_secret_that_another_version_cannot_read_is_not_shown() {
    mod later {
        use superstep::prelude::*;
        #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
        pub(super) struct Vault {
            #[channel(secret)]
            pub(super) key: Vec<String>,
        }
    }
    let store = Store::memory();
    let thread = vault().with_shared_checkpointer(Arc::clone(&store.store)).thread("t");
    thread.invoke(Vault::update().key(SECRET)).await.unwrap();
    let graph = StateGraph::new().add_node(Step::Turn, |_: Arc<later::Vault>, _: Ctx| async { Ok::<_, NodeError>(()) });
    let graph = graph.add_node(Step::Ask, |_: Arc<later::Vault>, _: Ctx| async { Ok::<_, NodeError>(()) });
    let graph = graph.add_sequence([Step::Turn, Step::Ask]).compile().unwrap();
    let later = graph.with_shared_checkpointer(Arc::clone(&store.store)).thread("t");
    let now = later.state().await.unwrap().unwrap();
    let error = later.proceed().await.unwrap_err();
    let expected = "channel `key` at checkpoint 3 of thread `t`: stored as `String` (version 1), cannot be read as \
                `Vec<String>` (version 1): the reason is hidden because the channel is secret";
    assert_eq!(error.to_string(), expected);
    assert!(!format!("{now:?}").contains(SECRET) && now.misfits[0].to_string() == expected, "{:?}", now.misfits);
}
