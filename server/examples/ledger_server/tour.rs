//! A graph of subgraphs, with pauses: three in parallel in each of its rounds, one of them in two levels, one called twice by a node.
//! Knows no ledger.

use std::sync::Arc;
use std::time::Duration;

use superstep::graph::RetryPolicy;
use superstep::prelude::*;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(schema)]
pub(crate) struct Tour {
    rounds: u64,
    round: u64,
    /// The pause in each node, in milliseconds.
    ms: u64,
    /// Set if the shared subgraph asks in the first round.
    asks: bool,
    #[channel(append)]
    log: Vec<String>,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = String, name = "guide")]
struct Guide;

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
pub(crate) enum Stage {
    Begin,
    Mapped,
    Calls,
    Shared,
    End,
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Trip {
    legs: u64,
    leg: u64,
    ms: u64,
    #[channel(append)]
    log: Vec<String>,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Leg {
    Go,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Journey {
    Pack,
    Legs,
    Unpack,
}

async fn pause(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

/// Goes one leg. The first attempt of each second one fails.
async fn go(trip: Arc<Trip>, ctx: Ctx) -> Result<TripUpdate, NodeError> {
    pause(trip.ms).await;
    if trip.leg % 2 == 1 && ctx.attempt() == 1 {
        return Err("not at once".into());
    }
    let leg = trip.leg + 1;
    Ok(Trip::update().leg(leg).log([format!("leg {leg}")]))
}

#[derive(Route)]
enum AfterLeg {
    #[to(Leg::Go)]
    Again,
    #[to(END)]
    Enough,
}

fn legs() -> Result<CompiledGraph<Trip, Leg>, CompileError> {
    let retry = RetryPolicy::attempts(5).pause(Duration::ZERO);
    StateGraph::new()
        .add_node(Leg::Go, go.retry(retry))
        .add_edge(START, Leg::Go)
        .add_conditional_edges(
            Leg::Go,
            |trip: &Trip| if trip.leg < trip.legs { AfterLeg::Again } else { AfterLeg::Enough },
        )
        .compile()
}

fn journey() -> Result<CompiledGraph<Trip, Journey>, CompileError> {
    let note = |word: &'static str| {
        move |trip: Arc<Trip>, _: Ctx| async move {
            pause(trip.ms).await;
            Ok::<_, NodeError>(Trip::update().log([word]))
        }
    };
    StateGraph::new()
        .add_node(Journey::Pack, note("pack"))
        .add_subgraph(Journey::Legs, legs()?)
        .add_node(Journey::Unpack, note("unpack"))
        .add_sequence([Journey::Pack, Journey::Legs, Journey::Unpack])
        .compile()
}

fn note(
    word: &'static str,
) -> impl Fn(Arc<Tour>, Ctx) -> superstep::graph::Boxed<'static, Result<TourUpdate, NodeError>> + Clone {
    move |tour, _| {
        Box::pin(async move {
            pause(tour.ms).await;
            Ok(Tour::update().log([word]))
        })
    }
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Visit {
    Arrive,
    Ask,
    Leave,
}

async fn ask(tour: Arc<Tour>, ctx: Ctx) -> Result<TourUpdate, NodeError> {
    let answer = if tour.asks && tour.round == 0 { ctx.interrupt(Guide)? } else { "alone".to_owned() };
    pause(tour.ms).await;
    Ok(Tour::update().log([answer]))
}

fn visit() -> Result<CompiledGraph<Tour, Visit>, CompileError> {
    StateGraph::new()
        .add_node(Visit::Arrive, note("arrive"))
        .add_node(Visit::Ask, ask.asks::<Guide>())
        .add_node(Visit::Leave, note("leave"))
        .add_sequence([Visit::Arrive, Visit::Ask, Visit::Leave])
        .compile()
}

#[derive(Route)]
enum AfterRound {
    #[to(Stage::Begin)]
    Again,
    #[to(END)]
    Enough,
}

/// Returns the graph `tour`.
pub(crate) fn tour() -> Result<CompiledGraph<Tour, Stage>, CompileError> {
    let called = legs()?;
    let child = called.clone();
    let calls = move |tour: Arc<Tour>, ctx: Ctx| {
        let child = child.clone();
        async move {
            let input = || Trip::update().legs(2).ms(tour.ms);
            let first = ctx.call(&child, input()).await?;
            let second = ctx.call(&child, input()).await?;
            Ok::<_, NodeError>(
                Tour::update().log([first.log.len(), second.log.len()].map(|legs| format!("{legs} legs"))),
            )
        }
    };
    let mapped = journey()?.mapped(
        |tour: &Tour| Trip::update().legs(3).ms(tour.ms),
        |trip: &Trip| Tour::update().log([trip.log.join(", ")]),
    );
    let end = async |tour: Arc<Tour>, _: Ctx| Ok::<_, NodeError>(Tour::update().round(tour.round + 1));
    let next = |tour: &Tour| if tour.round < tour.rounds { AfterRound::Again } else { AfterRound::Enough };
    StateGraph::new()
        .add_node(Stage::Begin, note("begin"))
        .add_subgraph(Stage::Mapped, mapped)
        .add_node(Stage::Calls, calls)
        .calls(&Stage::Calls, &called)
        .add_subgraph(Stage::Shared, visit()?)
        .add_node(Stage::End, end)
        .add_edge(START, Stage::Begin)
        .add_edge(Stage::Begin, [Stage::Mapped, Stage::Calls, Stage::Shared])
        .add_edge([Stage::Mapped, Stage::Calls, Stage::Shared], Stage::End)
        .add_conditional_edges(Stage::End, next)
        .compile()
}
