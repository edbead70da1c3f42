//! A run that stores nothing and that nobody watches does what one does that is watched, and what one does that is stored: scripts of what
//! nodes can do, one after the other.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use superstep::graph::{Boxed, CancellationToken, Mode, Name, Request, Worker};
use superstep::prelude::*;

use crate::pad::{Approve, Builder, Graph, Pad, PadThread, id, start};
use crate::stores::Store;

const WORKER: fn() -> Worker<Name, i64> = || Worker::new(id("worker"));

/// The action of a node.
#[derive(Clone, Copy, Debug)]
enum Act {
    Writes,
    WritesNothing,
    Overspends,
    Yields,
    Sleeps,
    GoesAside,
    Sends(i64),
    Fails,
    Panics,
    Asks,
    Emits,
    KeepsContext,
    AsksLater,
    LeavesContextToATask,
    Cancels,
    Drains,
    CallsAGraph,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        12 => Just(Act::Writes),
        2 => Just(Act::WritesNothing),
        1 => Just(Act::Overspends),
        2 => Just(Act::Yields),
        1 => Just(Act::Sleeps),
        2 => Just(Act::GoesAside),
        2 => (0_i64..3).prop_map(Act::Sends),
        1 => Just(Act::Fails),
        1 => Just(Act::Panics),
        1 => Just(Act::Asks),
        1 => Just(Act::Emits),
        2 => Just(Act::KeepsContext),
        1 => Just(Act::AsksLater),
        1 => Just(Act::LeavesContextToATask),
        1 => Just(Act::Cancels),
        1 => Just(Act::Drains),
        1 => Just(Act::CallsAGraph),
    ]
}

/// A script, and what its nodes share.
#[derive(Clone)]
struct Play {
    script: Arc<[Act]>,
    cancel: CancellationToken,
    drain: CancellationToken,
    kept: Arc<Mutex<Vec<Ctx>>>,
}

impl Play {
    fn new(script: &[Act]) -> Self {
        let (cancel, drain) = Default::default();
        Self { script: script.into(), cancel, drain, kept: Arc::default() }
    }

    async fn act(self, nth: usize, ctx: Ctx) -> Result<Command<Pad, Name>, NodeError> {
        let command = Command::update(Pad::update().notes([format!("{nth}")]).sum(1));
        match self.script[nth] {
            Act::Writes => {}
            Act::WritesNothing => return Ok(Command::update(Pad::update().sum(1))),
            Act::Overspends => return Ok(Command::update(Pad::update().sum(1).spent(200))),
            Act::Yields => tokio::task::yield_now().await,
            Act::Sleeps => tokio::time::sleep(std::time::Duration::from_millis(1)).await,
            Act::GoesAside => return Ok(command.goto(id("aside"))),
            Act::Sends(count) => return Ok(command.goto(WORKER().each(0..count))),
            Act::Fails => return Err(NodeError::permanent("it fails")),
            Act::Panics => panic!("it panics"),
            Act::Asks => drop(ctx.interrupt(Approve)?),
            Act::Emits => ctx.emit("word").await,
            Act::KeepsContext => self.kept.lock().unwrap().push(ctx),
            Act::AsksLater => {
                let kept = self.kept.lock().unwrap().pop();
                if let Some(kept) = kept {
                    _ = kept.interrupt(Approve);
                }
            }
            Act::LeavesContextToATask => {
                let left = tokio::spawn(async move {
                    tokio::task::yield_now().await;
                    drop(ctx);
                });
                drop(left);
            }
            Act::Cancels if self.is_alone(nth) => self.cancel.cancel(),
            Act::Cancels => {} // the clock decides which siblings end before it
            Act::Drains => self.drain.cancel(),
            Act::CallsAGraph => {
                let noted = crate::pad::chain(Builder::new().add_node(id("x"), crate::pad::note("x")), &["x"]);
                drop(noted.invoke(start()).await.map_err(|error| NodeError::permanent(error.to_string()))?);
            }
        }
        Ok(command)
    }

    /// Returns true if the superstep of an act has no other task.
    fn is_alone(&self, nth: usize) -> bool {
        nth == 0 || !matches!(self.script[nth - 1], Act::GoesAside | Act::Sends(_))
    }

    fn body(&self) -> impl Fn(Arc<Pad>, Ctx) -> Boxed<'static, Result<Command<Pad, Name>, NodeError>> + Clone + use<> {
        let play = self.clone();
        move |pad, ctx| Box::pin(play.clone().act(usize::try_from(pad.sum).unwrap(), ctx))
    }

    /// Two nodes in turn, which act as long as the script goes on.
    fn graph(&self) -> Graph {
        let next = |to: &'static str, acts: usize| {
            move |pad: &Pad| if usize::try_from(pad.sum).unwrap() < acts { Target::Node(id(to)) } else { Target::End }
        };
        let acts = self.script.len();
        let aside = |_: Arc<Pad>, _: Ctx| async { Ok::<_, NodeError>(Pad::update().notes(["aside"])) };
        let worker =
            |n: Arc<i64>, _: Ctx| async move { Ok::<_, NodeError>(Pad::update().notes([format!("sent {n}")])) };
        Builder::new()
            .add_node(id("a"), self.body().goes_to([id("aside"), id("worker")]))
            .add_node(id("b"), self.body().goes_to([id("aside"), id("worker")]))
            .add_node(id("aside"), aside)
            .add_worker(WORKER(), worker)
            .add_edge(START, id("a"))
            .add_conditional_edges_to(id("a"), next("b", acts), ends_or("b"))
            .add_conditional_edges_to(id("b"), next("a", acts), ends_or("a"))
            .compile()
            .unwrap()
    }

    fn thread(&self, thread: PadThread, limit: u64) -> PadThread {
        thread.recursion_limit(limit).cancel_with(self.cancel.clone()).drain_with(self.drain.clone())
    }
}

fn ends_or(node: &str) -> Vec<(String, Target<Name>)> {
    vec![("on".to_owned(), Target::Node(id(node))), ("end".to_owned(), Target::End)]
}

/// Returns the outcome of a run, or its error, as text. Of questions it has the number only, as each has an ID.
fn outcome_text(ended: Result<Outcome<Pad>, RunError>) -> String {
    match ended {
        Ok(outcome) => {
            let mut text = serde_json::to_value(&outcome).unwrap();
            text["questions"] = outcome.questions().len().into();
            text.to_string()
        }
        Err(error) => error.to_string(),
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(future)
}

fn unwatched(script: &[Act], limit: u64) -> String {
    let play = Play::new(script);
    run(async { outcome_text(play.thread(play.graph().detached_thread(()), limit).invoke(start()).await) })
}

fn watched(script: &[Act], limit: u64) -> String {
    let play = Play::new(script);
    run(async {
        let mut events = play
            .thread(play.graph().detached_thread(()), limit)
            .stream(Request::input(start()), [Mode::Values, Mode::Debug]);
        while events.next().await.is_some() {}
        outcome_text(events.outcome().await)
    })
}

fn stored(script: &[Act], limit: u64) -> String {
    let (play, store) = (Play::new(script), Store::memory());
    run(async { outcome_text(play.thread(store.thread(&play.graph()), limit).invoke(start()).await) })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_ends_as_a_run_that_is_watched_or_stored(
        script in proptest::collection::vec(act(), 1..24),
        limit in prop_oneof![3 => Just(10_000_u64), 1 => 1_u64..20],
    ) {
        let unwatched = unwatched(&script, limit);
        prop_assert_eq!(&unwatched, &watched(&script, limit), "watched");
        prop_assert_eq!(&unwatched, &stored(&script, limit), "stored");
    }
}

/// Other tasks of the runtime have their turns.
#[test]
fn it_lets_others_run() {
    let turns = run(async {
        let script = vec![Act::Writes; 60_000];
        let play = Play::new(&script);
        let others = tokio::spawn(async {
            for turn in 1.. {
                tokio::task::yield_now().await;
                if turn == 3 {
                    return turn;
                }
            }
            0
        });
        play.thread(play.graph().detached_thread(()), 100_000).invoke(Pad::update()).await.unwrap();
        others.is_finished()
    });
    assert!(turns);
}
