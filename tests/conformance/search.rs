//! A search for threads that differ from their own replay: random graphs and scripts, run and verified after every
//! action. Nothing changes, so nothing may differ. The same in every run; `SUPERSTEP_CONFORMANCE_SEED` selects other
//! cases, and `SUPERSTEP_CONFORMANCE_CASES` their number.

use std::sync::Arc;

use serde_json::{Value, json};
use superstep::graph::DataState;

use crate::counters::Counters;
use crate::draw::draw;
use crate::engine::Subject;
use crate::model::Case;
use crate::report;
use crate::runner::{Failure, Play};
use crate::states::CaseState;
use crate::subject::{Engine, Refusal, Setup, Way};
use crate::typed::Typed;
use crate::ways::can_play;

/// Number of cases in a run of the suite.
const CASES: u64 = 150;

/// Draws cases and runs them.
pub(crate) fn agrees_with_itself() -> Result<(), String> {
    let first = number("SUPERSTEP_CONFORMANCE_SEED").unwrap_or(0) << 32;
    for seed in first..first + number("SUPERSTEP_CONFORMANCE_CASES").unwrap_or(CASES) {
        let drawn = draw(seed);
        let case: Case = serde_json::from_value(drawn.clone()).map_err(|error| format!("seed {seed}: {error}"))?;
        let case = Arc::new(case);
        for way in [Way::Memory, Way::Mapped, Way::Added, Way::Typed].into_iter().filter(|way| can_play(&case, *way)) {
            let play = match way {
                Way::Typed => crate::block_on_any(async { run::<Typed>(Arc::clone(&case), way).await })?,
                _ => crate::block_on_any(async { run::<DataState>(Arc::clone(&case), way).await })?,
            };
            play.map_err(|failure| explain(seed, way, &drawn, &failure))?;
        }
    }
    Ok(())
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

async fn run<S: CaseState>(case: Arc<Case>, way: Way) -> Result<(), Failure> {
    let counters = Arc::new(Counters::default());
    let setup = Setup { case: Arc::clone(&case), counters: Arc::clone(&counters), way };
    match Subject::<S>::open(setup).await {
        Ok(engine) => Play::new(&case, engine, counters).verify_throughout().await,
        Err(Refusal::Error(error)) => Err(format!("it cannot be built: {error:?}").into()),
        Err(Refusal::Broken(text)) => Err(text.into()),
    }
}

fn explain(seed: u64, way: Way, drawn: &Value, failure: &Failure) -> String {
    format!("seed {seed}, {}: {}\n{}", way.as_str(), report::explain(failure), json!([drawn]))
}
