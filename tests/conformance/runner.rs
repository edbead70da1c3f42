//! Plays a case's script on an engine and judges every outcome at once. Keeps the data of a case: labels, counters, and
//! the renaming of interrupt ids.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::compare::{Difference, compare};
use crate::counters::Counters;
use crate::deviations::Deviations;
use crate::ids::Ids;
use crate::model::Case;
use crate::outcome::{ErrorView, Verification};
use crate::script::{Action, Verb};
use crate::subject::{Engine, Place, Refusal, Reply, Setup, Way};

/// The result of a case.
#[derive(Debug)]
pub(crate) enum Verdict {
    Passed,
    /// Passed, with intended differences.
    Deviated,
    /// Passed, except for outcomes that are not compared.
    Quirk,
    /// The way cannot express the case.
    NotPlayed,
    Failed(Failure),
}

#[derive(Debug)]
pub(crate) enum Failure {
    /// The first action whose outcome differs; `None` when building the graphs.
    Differs {
        action: Option<(usize, Verb)>,
        difference: Box<Difference>,
    },
    Broken(String),
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self::Broken(text)
    }
}

/// Plays the case; `deviations` are this case's own.
pub(crate) async fn play<E: Engine>(case: &Arc<Case>, way: Way, deviations: &Deviations) -> Verdict {
    match judge::<E>(case, way, deviations).await {
        Err(failure) => Verdict::Failed(failure),
        Ok(()) if !deviations.is_empty() => Verdict::Deviated,
        Ok(()) if case.quirk || !case.quirk_actions.0.is_empty() => Verdict::Quirk,
        Ok(()) => Verdict::Passed,
    }
}

async fn judge<E: Engine>(case: &Arc<Case>, way: Way, deviations: &Deviations) -> Result<(), Failure> {
    if let Some(wrong) = deviations.misplaced(case) {
        return Err(wrong.into());
    }
    let counters = Arc::new(Counters::default());
    let setup = Setup { case: Arc::clone(case), counters: Arc::clone(&counters), way };
    let opened = E::open(setup).await;
    let build = match &opened {
        Ok(_) => json!({}),
        Err(Refusal::Error(error)) => json!({"build_error": error}),
        Err(Refusal::Broken(text)) => return Err(text.clone().into()),
    };
    judge_build(case, &build, deviations)?;
    let Ok(engine) = opened else { return deviations.first_action().map_or(Ok(()), refuse) };
    let expected = expected_steps(case, deviations)?;
    Play::new(case, engine, counters).script(&expected, deviations).await
}

/// Compares the outcome of building the graphs: `{}` or `{"build_error"}`.
fn judge_build(case: &Case, build: &Value, deviations: &Deviations) -> Result<(), Failure> {
    let langgraph = build_outcome(case.expected.build_error.as_ref());
    let ours = deviations.outcome(None).map(|whole| build_outcome(whole.get("build_error")));
    if case.quirk {
        return Ok(());
    }
    if ours.as_ref().is_some_and(|ours| *ours == langgraph && *ours != json!({})) {
        return Err("a deviation says what LangGraph does".to_owned().into());
    }
    compare(ours.as_ref().unwrap_or(&langgraph), build, &mut Ids::default())
        .map_err(|difference| Failure::Differs { action: None, difference })
}

fn build_outcome(error: Option<&Value>) -> Value {
    error.map_or_else(|| json!({}), |error| json!({"build_error": error}))
}

/// Returns the outcomes to compare with, one per action, before the deviations of single actions.
fn expected_steps(case: &Case, deviations: &Deviations) -> Result<Vec<Value>, Failure> {
    let whole = deviations.outcome(None).and_then(|whole| whole.get("steps")).and_then(Value::as_array);
    let steps = whole.or(case.expected.steps.as_ref()).cloned();
    let steps = if case.quirk { steps.or_else(|| Some(vec![Value::Null; case.script.len()])) } else { steps };
    let steps = steps.ok_or_else(|| "the case expects no outcome of its actions".to_owned())?;
    if whole.is_some_and(|whole| Some(whole) == case.expected.steps.as_ref()) {
        return Err("a deviation says what LangGraph does".to_owned().into());
    }
    if steps.len() == case.script.len() {
        Ok(steps)
    } else {
        Err(format!("{} actions, but {} expected outcomes", case.script.len(), steps.len()).into())
    }
}

/// A case being played.
pub(crate) struct Play<'a, E: Engine> {
    pub(crate) case: &'a Case,
    pub(crate) engine: E,
    counters: Arc<Counters>,
    pub(crate) labels: BTreeMap<String, E::Point>,
    pub(crate) ids: Ids,
    /// Set to print entries for the table of deviations.
    writes_entries: bool,
    /// Number of outcomes that differed while entries were printed.
    differed: usize,
}

impl<'a, E: Engine> Play<'a, E> {
    pub(crate) fn new(case: &'a Case, engine: E, counters: Arc<Counters>) -> Self {
        let writes_entries = std::env::var_os("SUPERSTEP_CONFORMANCE_ENTRIES").is_some();
        Self { case, engine, counters, labels: BTreeMap::new(), ids: Ids::default(), writes_entries, differed: 0 }
    }
}

impl<E: Engine> Play<'_, E> {
    async fn script(mut self, expected: &[Value], deviations: &Deviations) -> Result<(), Failure> {
        for (index, (action, langgraph)) in self.case.script.iter().zip(expected).enumerate() {
            self.engine.begin(index);
            let outcome = self.outcome(action).await?;
            let ours = deviations.outcome(Some(index));
            if !self.counts(action) {
                ours.map_or(Ok(()), |_| refuse(index))?;
                continue;
            }
            if let Err(difference) = self.judge(langgraph, ours, &outcome) {
                if self.writes_entries {
                    println!("{}", crate::deviations::entry(&self.case.name, index, &outcome));
                    self.differed += 1;
                    continue;
                }
                return Err(Failure::Differs { action: Some((index, action.verb)), difference });
            }
        }
        match self.differed {
            0 => self.verify().await,
            differed => Err(format!("{differed} outcomes differ: their entries are printed").into()),
        }
    }

    /// Runs every action and verifies the threads after each; the outcomes are not compared.
    pub(crate) async fn verify_throughout(mut self) -> Result<(), Failure> {
        for (index, action) in self.case.script.iter().enumerate() {
            self.engine.begin(index);
            self.outcome(action).await?;
            self.verify().await?;
        }
        Ok(())
    }

    /// Verifies every thread: the graphs have not changed, so nothing may differ.
    async fn verify(&mut self) -> Result<(), Failure> {
        let mut graphs = BTreeMap::<String, BTreeSet<String>>::new();
        for place in self.case.script.iter().map(|action| self.latest(action)) {
            graphs.entry(place.thread).or_default().insert(place.graph);
        }
        let of_one_graph = graphs.into_iter().filter(|(_, graphs)| graphs.len() == 1);
        for (thread, graph) in of_one_graph.filter_map(|(thread, graphs)| Some((thread, graphs.into_iter().next()?))) {
            let found = self.engine.verify(&Place { graph, thread: thread.clone(), at: None }).await;
            match found {
                Ok(None | Some(Verification { difference: None, .. })) => {}
                Ok(Some(Verification { difference: Some(difference), .. })) => {
                    return Err(format!("a replay of thread {thread} differs: {difference}").into());
                }
                Err(Refusal::Error(error)) => return Err(format!("no replay of thread {thread}: {error:?}").into()),
                Err(Refusal::Broken(text)) => return Err(format!("no replay of thread {thread}: {text}").into()),
            }
        }
        Ok(())
    }

    /// Returns true if the outcome of this action is compared.
    fn counts(&self, action: &Action) -> bool {
        !self.case.quirk && !self.case.quirk_actions.0.iter().any(|name| name == action.verb.as_str())
    }

    /// Compares with our own outcome where we differ on purpose; LangGraph's must then be different.
    fn judge(&mut self, langgraph: &Value, ours: Option<&Value>, outcome: &Value) -> Result<(), Box<Difference>> {
        let Some(ours) = ours else { return compare(langgraph, outcome, &mut self.ids) };
        if compare(langgraph, outcome, &mut self.ids.clone()).is_ok() {
            return Err(Box::new(Difference {
                path: "$".to_owned(),
                what: "listed as a deviation, but equal to LangGraph's".to_owned(),
                expected: ours.clone(),
                actual: outcome.clone(),
            }));
        }
        compare(ours, outcome, &mut self.ids)
    }

    /// Runs one action; returns its outcome with the bodies it started.
    async fn outcome(&mut self, action: &Action) -> Result<Value, Failure> {
        let mut outcome = match self.act(action).await {
            Ok(outcome) => outcome,
            Err(Refusal::Error(error)) => json!({"error": error}),
            Err(Refusal::Broken(text)) => return Err(text.into()),
        };
        if let (Some(runs), Some(map)) = (self.counters.take_runs(), outcome.as_object_mut()) {
            map.insert("runs".to_owned(), runs);
        }
        Ok(outcome)
    }

    /// Returns the place that an action names, on the latest checkpoint.
    pub(crate) fn latest(&self, action: &Action) -> Place<E::Point> {
        let graph = action.graph.as_ref().unwrap_or(&self.case.main).clone();
        Place { graph, thread: action.thread.clone(), at: None }
    }

    pub(crate) async fn place(&mut self, action: &Action) -> Reply<Place<E::Point>> {
        let at = match &action.at {
            Some(reference) => Some(self.resolve(action, reference).await?),
            None => None,
        };
        Ok(Place { at, ..self.latest(action) })
    }

    pub(crate) fn save(&mut self, action: &Action, point: E::Point) {
        if let Some(label) = &action.save {
            self.labels.insert(label.clone(), point);
        }
    }
}

/// A deviation of an action that is not compared has no effect.
fn refuse(action: usize) -> Result<(), Failure> {
    Err(format!("a deviation names action {action}, whose outcome does not count").into())
}

/// Returns Python's error for a faulty script.
pub(crate) fn other<T>(class: &str) -> Reply<T> {
    Err(ErrorView::other(class).into())
}
