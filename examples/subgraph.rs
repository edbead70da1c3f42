//! Graphs inside a graph: one over the same state, and one over its own state with an interrupt inside.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use superstep::prelude::*;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Trip {
    to: String,
    #[channel(append)]
    log: Vec<String>,
    price: u32,
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Booking {
    to: String,
    offer: u32,
    is_taken: bool,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool, name = "take_offer")]
struct TakeOffer {
    price: u32,
}

#[derive(NodeId)]
enum Prepare {
    Pack,
    Lock,
}
#[derive(NodeId)]
enum Book {
    Search,
    Take,
}
#[derive(NodeId)]
enum Step {
    Prepare,
    Book,
    Leave,
}

async fn pack(_: Arc<Trip>, _: Ctx) -> Result<TripUpdate, NodeError> {
    Ok(Trip::update().log(["packed"]))
}
async fn lock(_: Arc<Trip>, _: Ctx) -> Result<TripUpdate, NodeError> {
    Ok(Trip::update().log(["locked the door"]))
}
async fn search(booking: Arc<Booking>, _: Ctx) -> Result<BookingUpdate, NodeError> {
    Ok(Booking::update().offer(40 + 10 * u32::try_from(booking.to.len())?))
}
async fn take(booking: Arc<Booking>, ctx: Ctx) -> Result<BookingUpdate, NodeError> {
    Ok(Booking::update().is_taken(ctx.interrupt(TakeOffer { price: booking.offer })?))
}
async fn leave(trip: Arc<Trip>, _: Ctx) -> Result<TripUpdate, NodeError> {
    Ok(Trip::update().log([if trip.price > 0 { format!("left for {}", trip.to) } else { "stayed".into() }]))
}

fn graph() -> Result<CompiledGraph<Trip, Step>, CompileError> {
    let prepare = StateGraph::new()
        .add_node(Prepare::Pack, pack)
        .add_node(Prepare::Lock, lock)
        .add_sequence([Prepare::Pack, Prepare::Lock])
        .compile()?;
    let book = StateGraph::new()
        .add_node(Book::Search, search)
        .add_node(Book::Take, take.asks::<TakeOffer>())
        .add_sequence([Book::Search, Book::Take])
        .compile()?
        .mapped(
            |trip: &Trip| Booking::update().to(trip.to.as_str()),
            |booking: &Booking| Trip::update().price(if booking.is_taken { booking.offer } else { 0 }),
        );
    StateGraph::new()
        .add_subgraph(Step::Prepare, prepare)
        .add_subgraph(Step::Book, book)
        .add_node(Step::Leave, leave)
        .add_sequence([Step::Prepare, Step::Book, Step::Leave])
        .compile()
}

async fn run() -> Result<(), Box<dyn Error>> {
    let thread = graph()?.with_checkpointer(MemoryCheckpointer::new()).thread("trip");
    let outcome = thread.invoke(Trip::update().to("Brest")).await?;
    for question in outcome.questions() {
        let price = question.payload::<TakeOffer>().map(|asked| asked.price).unwrap_or_default();
        println!("{} of {} asks: is {price} a good price?", question.node(), question.namespace().join(" > "));
    }
    let trip = thread.resume::<TakeOffer>(true).await?;
    println!("{}, for {}", trip.state().log.join(", "), trip.state().price);
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Err(error) = run().await else { return ExitCode::SUCCESS };
    eprintln!("error: {error}");
    if let Some(help) = error.downcast_ref::<RunError>().and_then(RunError::help) {
        eprintln!(" help: {help}");
    }
    ExitCode::FAILURE
}
