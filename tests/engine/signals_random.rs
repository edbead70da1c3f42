//! Random graphs that receive, interrupt and fail, with random scripts of sending, cutting and resuming: each signal is
//! received once, in order, and the records agree with the run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use superstep::checkpoint::FailingCheckpointer;
use superstep::graph::interrupt::SignalRequest;
use superstep::graph::{Answer, Boxed, Persistence, ThreadInfo};
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::Store;

/// One step of a node.
#[derive(Clone, Copy, Debug)]
enum Part {
    Hear(Kind),
    /// Receives a signal that is there already.
    Look(Kind),
    /// Receives inside an effect.
    Within(Kind),
    Ask,
    Note,
    /// Fails the first time.
    Fail,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Red,
    Blue,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Red => Red::NAME,
            Self::Blue => Blue::NAME,
        }
    }
}

/// One action on the thread.
#[derive(Clone, Copy, Debug)]
enum Step {
    Send(Kind),
    Proceed,
    /// Proceeds until a commit fails.
    Cut {
        at: u64,
        ack_lost: bool,
    },
    Answer,
    Retry,
}

#[derive(Clone, Debug)]
struct Plan {
    nodes: Vec<Vec<Part>>,
    is_chain: bool,
    inside: Option<Persistence>,
    durability: Durability,
    script: Vec<Step>,
}

#[derive(Signal, Serialize, Deserialize)]
struct Red(u32);

#[derive(Signal, Serialize, Deserialize)]
struct Blue(u32);

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![3 => Just(Kind::Red), 1 => Just(Kind::Blue)]
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        5 => kind().prop_map(Part::Hear),
        1 => kind().prop_map(Part::Look),
        1 => kind().prop_map(Part::Within),
        1 => Just(Part::Ask),
        1 => Just(Part::Note),
        1 => Just(Part::Fail),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => kind().prop_map(Step::Send),
        4 => Just(Step::Proceed),
        3 => (1_u64..6, any::<bool>()).prop_map(|(at, ack_lost)| Step::Cut { at, ack_lost }),
        1 => Just(Step::Answer),
        1 => Just(Step::Retry),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let inside = prop_oneof![
        3 => Just(None),
        1 => Just(Some(Persistence::Inherit)),
        1 => Just(Some(Persistence::PerThread)),
        1 => Just(Some(Persistence::Stateless)),
    ];
    let durability = prop_oneof![Just(Durability::Sync), Just(Durability::Async), Just(Durability::Exit)];
    let nodes = prop::collection::vec(prop::collection::vec(part(), 1..5), 1..4);
    let script = prop::collection::vec(step(), 0..14);
    (nodes, any::<bool>(), inside, durability, script).prop_map(|(nodes, is_chain, inside, durability, script)| Plan {
        nodes,
        is_chain,
        inside,
        durability,
        script,
    })
}

async fn receive<T: Signal>(ctx: &Ctx, now: bool) -> Result<Option<T>, NodeError> {
    if now { Ok(ctx.receive_within(Duration::ZERO).await?) } else { Ok(Some(ctx.receive().await?)) }
}

async fn receive_kind(ctx: &Ctx, kind: Kind, now: bool) -> Result<Option<String>, NodeError> {
    Ok(match kind {
        Kind::Red => receive::<Red>(ctx, now).await?.map(|red| format!("red {}", red.0)),
        Kind::Blue => receive::<Blue>(ctx, now).await?.map(|blue| format!("blue {}", blue.0)),
    })
}

async fn run_part(ctx: &Ctx, part: Part, place: &str, failed: &Tally) -> Result<Option<String>, NodeError> {
    match part {
        Part::Hear(kind) => receive_kind(ctx, kind, false).await,
        Part::Look(kind) => receive_kind(ctx, kind, true).await,
        Part::Within(kind) => Ok(ctx.effect(place, &(), |_| receive_kind(ctx, kind, false)).await?),
        Part::Ask => Ok(Some(format!("{}", ctx.interrupt_as(place, Approve)?))),
        Part::Note => Ok(Some(ctx.record(place, "note".to_owned()).await?)),
        Part::Fail if failed.names().iter().all(|known| known != place) => {
            failed.add(place);
            Err("the first time".into())
        }
        Part::Fail => Ok(None),
    }
}

fn body(
    name: String,
    parts: Vec<Part>,
    failed: &Tally,
) -> impl Fn(Arc<Pad>, Ctx) -> Boxed<'static, Ended> + Clone + use<> {
    let failed = failed.clone();
    move |_, ctx| {
        let (name, parts, failed) = (name.clone(), parts.clone(), failed.clone());
        Box::pin(async move {
            let mut notes = vec![];
            for (at, part) in parts.into_iter().enumerate() {
                let note = run_part(&ctx, part, &format!("{name}.{at}"), &failed).await?;
                notes.extend(note.map(|note| format!("{name}: {note}")));
            }
            Ok(Pad::update().notes(notes))
        })
    }
}

fn graph(plan: &Plan) -> Graph {
    let (mut builder, failed, mut names) = (Builder::new(), Tally::default(), vec![]);
    for (at, parts) in plan.nodes.iter().enumerate() {
        let name = format!("n{at}");
        let node = body(name.clone(), parts.clone(), &failed);
        builder = builder.add_node(id(&name), node.receives::<Red>().receives::<Blue>().asks::<Approve>().replayable());
        names.push(name);
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let graph = if plan.is_chain { chain(builder, &names) } else { fan(builder, &names) };
    match plan.inside {
        Some(kept) => chain(Builder::new().add_subgraph(id("outer"), graph.persistence(kept)), &["outer"]),
        None => graph,
    }
}

/// A thread under test, and the signals sent to it.
struct Trial {
    plan: Plan,
    store: Store,
    graph: Graph,
    sent: BTreeMap<Kind, u32>,
}

impl Trial {
    fn thread(&self) -> PadThread {
        self.store.thread(&self.graph).durability(self.plan.durability)
    }

    async fn send(&mut self, kind: Kind) {
        let number = self.sent.entry(kind).or_default();
        let request = match kind {
            Kind::Red => SignalRequest::new(&Red(*number)),
            Kind::Blue => SignalRequest::json(kind.name(), &serde_json::json!(*number)),
        };
        *number += 1;
        self.thread().send(request).await.unwrap();
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Send(kind) => self.send(kind).await,
            Step::Proceed => _ = self.thread().proceed().await,
            Step::Retry => _ = self.thread().retry().await,
            Step::Cut { at, ack_lost } => {
                let inner = Arc::clone(&self.store.store);
                let cut = if ack_lost { FailingCheckpointer::losing_ack } else { FailingCheckpointer::new };
                let thread = self.graph.clone().with_checkpointer(cut(inner, at)).thread("t");
                _ = thread.durability(self.plan.durability).proceed().await;
            }
            Step::Answer => self.answer().await,
        }
        self.check_listed().await;
    }

    async fn answer(&self) {
        let Status::Interrupted { questions } = self.thread().status().await.unwrap() else { return };
        let answers = questions.iter().map(|question| Answer::new::<Approve>(&true).to(question.id()));
        _ = self.thread().run(Request::answers(answers)).await;
    }

    /// Checks that a list shows the thread as its graph does.
    async fn check_listed(&self) {
        let status = self.thread().status().await.unwrap();
        let info = ThreadInfo::read(&*self.store.store, &"t".into()).await.unwrap().unwrap();
        assert_eq!(info.status, status.kind(), "{status:?}");
    }

    /// Sends, answers and resumes until the thread is finished.
    async fn finish(&mut self) {
        for _ in 0..200 {
            match self.thread().status().await.unwrap() {
                Status::Finished => return,
                Status::Interrupted { .. } => self.answer().await,
                Status::AwaitingSignal { signals, .. } => {
                    let red = signals.iter().any(|signal| signal.name == Red::NAME);
                    self.send(if red { Kind::Red } else { Kind::Blue }).await;
                }
                Status::Pending { .. } | Status::Failed { .. } => _ = self.thread().proceed().await,
                other => panic!("{other:?}"),
            }
            self.check_listed().await;
        }
        panic!("it never ends: {:?}", self.thread().status().await);
    }

    /// Checks that each signal is in the notes or in the mailbox, once, and that those in the mailbox were sent last.
    async fn check(&self) {
        let notes = self.thread().state().await.unwrap().unwrap().values.notes.clone();
        let mailbox = self.thread().mailbox().await.unwrap();
        for (kind, sent) in &self.sent {
            let number = |note: &String| {
                let (node, text) = note.split_once(": ")?;
                Some((node.to_owned(), text.strip_prefix(&format!("{} ", kind.name()))?.parse::<u32>().unwrap()))
            };
            let received_by: Vec<(String, u32)> = notes.iter().filter_map(number).collect();
            let of_kind = mailbox.iter().filter(|letter| letter.name == kind.name());
            let left: Vec<u32> = of_kind.map(|letter| letter.value.as_u64().unwrap() as u32).collect();
            let mut received: Vec<u32> = received_by.iter().map(|(_, number)| *number).collect();
            if self.plan.is_chain {
                assert!(received.is_sorted(), "out of order: {notes:?}");
            }
            received.sort_unstable();
            let all: Vec<u32> = received.iter().chain(&left).copied().collect();
            assert_eq!(all, (0..*sent).collect::<Vec<_>>(), "{kind:?}: {notes:?}, left {left:?}");
            for node in 0..self.plan.nodes.len() {
                let name = format!("n{node}");
                let own = received_by.iter().filter(|(node, _)| *node == name).map(|(_, number)| number);
                assert!(own.is_sorted(), "out of order in {name}: {notes:?}");
            }
        }
    }
}

async fn check_plan(plan: Plan) {
    let (store, graph) = (Store::memory(), graph(&plan));
    let mut trial = Trial { plan, store, graph, sent: BTreeMap::new() };
    _ = trial.thread().invoke(start()).await;
    trial.check_listed().await;
    for step in trial.plan.script.clone() {
        trial.step(step).await;
    }
    trial.finish().await;
    trial.check().await;
    let verified = trial.thread().verify().await.unwrap();
    assert!(verified.divergence.is_none(), "{verified}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn every_signal_is_received_once_and_in_order(plan in plan()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(check_plan(plan));
    }
}
