//! The threads in the stores to be damaged, and their acknowledged content. Knows nothing of damage.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use superstep::checkpoint::{CheckpointError, Checkpointer};
use superstep::graph::Thread;
use superstep::prelude::*;

/// A book that is written in rounds, then approved.
#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Book {
    bytes: u64,
    wanted: u64,
    #[channel(add)]
    rounds: u64,
    text: String,
    #[channel(append)]
    log: Vec<String>,
    agreed: bool,
}

#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Talk {
    about: u64,
    agreed: bool,
}

#[derive(Serialize, Deserialize)]
struct Agree {
    rounds: u64,
}
impl Interrupt for Agree {
    type Resume = bool;
    const NAME: &'static str = "agree";
}

#[derive(NodeId)]
enum Step {
    Write,
    Note,
    Join,
    Talk,
}
#[derive(NodeId)]
enum TalkStep {
    Weigh,
    Ask,
}
#[derive(Route)]
enum After {
    #[to(Step::Write, Step::Note)]
    More,
    #[to(Step::Talk)]
    Enough,
}

type Books = CompiledGraph<Book, Step>;

fn text(bytes: u64, round: u64) -> String {
    format!("round {round:02}, ").repeat(usize::try_from(bytes / 10).unwrap())
}

async fn write(book: Arc<Book>, _: Ctx) -> Result<BookUpdate, NodeError> {
    Ok(Book::update().text(text(book.bytes, book.rounds)).log([format!("wrote {}", book.rounds)]))
}
async fn note(book: Arc<Book>, _: Ctx) -> Result<BookUpdate, NodeError> {
    tokio::task::yield_now().await;
    Ok(Book::update().log([format!("noted {}", book.rounds)]))
}
async fn join(_: Arc<Book>, _: Ctx) -> Result<BookUpdate, NodeError> {
    Ok(Book::update().rounds(1_u64))
}
async fn weigh(_: Arc<Talk>, _: Ctx) -> Result<TalkUpdate, NodeError> {
    Ok(Talk::update().agreed(false))
}
async fn ask(talk: Arc<Talk>, ctx: Ctx) -> Result<TalkUpdate, NodeError> {
    Ok(Talk::update().agreed(ctx.interrupt(Agree { rounds: talk.about })?))
}
fn after(book: &Book) -> After {
    if book.rounds < book.wanted { After::More } else { After::Enough }
}

fn books(store: Arc<dyn Checkpointer>) -> Books {
    let talk = StateGraph::new()
        .add_node(TalkStep::Weigh, weigh)
        .add_node(TalkStep::Ask, ask.asks::<Agree>())
        .add_sequence([TalkStep::Weigh, TalkStep::Ask])
        .compile()
        .unwrap();
    let (give, take) = (
        |book: &Book| Talk::update().about(book.rounds),
        |talk: &Talk| Book::update().agreed(talk.agreed).log(["agreed"]),
    );
    StateGraph::new()
        .add_node(Step::Write, write)
        .add_node(Step::Note, note)
        .add_node(Step::Join, join)
        .add_subgraph(Step::Talk, talk.mapped(give, take))
        .add_edge(START, [Step::Write, Step::Note])
        .add_edge([Step::Write, Step::Note], Step::Join)
        .add_conditional_edges(Step::Join, after)
        .compile()
        .unwrap()
        .with_shared_checkpointer(store)
}

/// The content of a store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filling {
    pub(super) threads: u64,
    pub(super) rounds: u64,
    /// Text size of every third thread; the others' is small.
    pub(super) bytes: u64,
}

/// A digest of each thread's acknowledged content.
pub(super) type Acknowledged = BTreeMap<String, String>;

/// Runs the threads of a new store; every second one is left waiting for an answer.
pub(super) async fn fill(store: &Arc<dyn Checkpointer>, filling: Filling) -> Acknowledged {
    let books = books(Arc::clone(store));
    for number in 0..filling.threads {
        let bytes = if number.is_multiple_of(3) { filling.bytes } else { 200 };
        let thread = books.thread(name(number));
        let outcome = thread.invoke(Book::update().bytes(bytes).wanted(filling.rounds)).await.unwrap();
        assert_eq!(outcome.questions().len(), 1);
        if number.is_multiple_of(2) {
            thread.resume::<Agree>(true).await.unwrap().finished().unwrap();
        }
    }
    let mut acknowledged = Acknowledged::new();
    for number in 0..filling.threads {
        acknowledged.insert(name(number), digest(&books.thread(name(number))).await.unwrap());
    }
    acknowledged
}

fn name(number: u64) -> String {
    format!("book-{number}")
}

/// Returns a digest of a thread: status, state, history, subgraphs.
async fn digest(thread: &Thread<Book, Step>) -> Result<String, RunError> {
    let status = format!("{:?}", thread.status().await?);
    let Some(now) = thread.state_deep().await? else { return Ok("nothing".into()) };
    let tasks = format!("{:?}", now.tasks);
    let mut past = vec![];
    for made in thread.history().await?.all().await? {
        let book = &made.values;
        let meta = (made.id.0, made.parent.map(|id| id.0), made.step, made.created_at, book.rounds, book.agreed);
        past.push((meta, hash(&(&book.text, &book.log))));
    }
    let values = (&now.values.text, &now.values.log, now.values.rounds, now.values.agreed);
    Ok(format!("{} {:x} {:x} {:x}", now.id, hash(&values), hash(&(status, tasks)), hash(&past)))
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The findings of reading a store.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) intact: usize,
    /// Reported damage.
    pub(super) errors: Vec<RunError>,
    /// Threads that differ from their acknowledged content, without an error.
    pub(super) lost: Vec<String>,
}

/// Reads every thread, then continues it; `expected` is updated.
pub(super) async fn look(store: Arc<dyn Checkpointer>, expected: &mut Acknowledged) -> Result<Seen, CheckpointError> {
    let mut seen = Seen::default();
    let listed = store.threads(None, usize::MAX).await;
    let books = books(Arc::clone(&store));
    let names: Vec<String> = expected.keys().cloned().collect();
    if let Ok(listed) = &listed {
        let missing = names.iter().filter(|name| listed.iter().all(|listed| listed.as_str() != name.as_str()));
        seen.lost.extend(missing.map(|name| format!("{name} is not listed")));
    }
    for name in names {
        let thread = books.thread(name.as_str());
        match digest(&thread).await {
            Err(error) => seen.errors.push(error),
            Ok(found) if found == expected[&name] => resume_thread(&thread, &name, expected, &mut seen).await,
            Ok(found) => seen.lost.push(format!("{name}: acknowledged {}, found {found}", expected[&name])),
        }
    }
    listed.map(|_| seen)
}

async fn resume_thread(thread: &Thread<Book, Step>, name: &str, expected: &mut Acknowledged, seen: &mut Seen) {
    seen.intact += 1;
    let resumed = match thread.status().await {
        Ok(Status::Interrupted { .. }) => thread.resume::<Agree>(true).await.map(|_| ()),
        Ok(_) => thread.invoke(Book::update().bytes(100_u64)).await.map(|_| ()),
        Err(error) => Err(error),
    };
    match resumed {
        // A failed run may have committed any number of supersteps.
        Err(error) => {
            expected.remove(name);
            seen.errors.push(error);
        }
        Ok(()) => match digest(thread).await {
            Ok(digest) => drop(expected.insert(name.to_owned(), digest)),
            Err(error) => seen.errors.push(error),
        },
    }
}
