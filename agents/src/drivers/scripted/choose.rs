//! Which turn of a scenario a request gets. Pure, but for the log it asks.

use super::log::{Entry, Log, What};
use super::scenario::{Begun, Fits, Scenario, Turn};
use crate::drivers::{AgentRequest, DriverError, ErrorClass, Finished, Session};

/// The turn a request got.
pub(super) struct Chosen<'a> {
    /// Its place in the scenario, from 0.
    pub(super) number: usize,
    pub(super) turn: &'a Turn,
}

/// Chooses a turn and notes it.
pub(super) fn turn<'a>(scenario: &'a Scenario, log: &Log, request: &AgentRequest) -> Result<Chosen<'a>, DriverError> {
    let number = log.begin(request, |entries| {
        let again = begun(entries, request).filter(|number| *number < scenario.turns.len());
        again.or_else(|| next(scenario, entries, request)).ok_or_else(|| none_fits(scenario, entries, request))
    })?;
    Ok(Chosen { number, turn: &scenario.turns[number] })
}

/// The turn that the same request got before, if it has not ended.
fn begun(entries: &[Entry], request: &AgentRequest) -> Option<usize> {
    let is_same = |entry: &&Entry| entry.run == request.place.run && entry.key == request.turn;
    let last = entries.iter().rev().find(is_same).filter(|_| !request.turn.is_empty())?;
    matches!(last.what, What::Begun).then_some(last.turn)
}

/// The first turn that fits and is not used up.
fn next(scenario: &Scenario, entries: &[Entry], request: &AgentRequest) -> Option<usize> {
    let free = |(number, turn): &(usize, &Turn)| turn.times.allow(had(entries, *number, request));
    let mut fitting = scenario.turns.iter().enumerate().filter(|(_, turn)| turn.fits.why_not(request).is_none());
    fitting.find(free).map(|(number, _)| number)
}

/// How often the run had a turn. A turn without a key counts when it begins, others when they end.
fn had(entries: &[Entry], number: usize, request: &AgentRequest) -> usize {
    let counts = |entry: &&Entry| match entry.what {
        What::Begun => entry.key.is_empty() || is_open(entries, entry),
        What::Finished(_) | What::Failed(_) => !entry.key.is_empty(),
    };
    entries.iter().filter(|entry| entry.turn == number && entry.run == request.place.run).filter(counts).count()
}

/// Whether this is the last that is known of a turn that has begun: another request must not get it meanwhile.
fn is_open(entries: &[Entry], begun: &Entry) -> bool {
    let last = entries.iter().rev().find(|entry| entry.run == begun.run && entry.key == begun.key);
    last.is_some_and(|last| std::ptr::eq(last, begun))
}

impl Fits {
    /// Says what keeps a request from fitting.
    fn why_not(&self, request: &AgentRequest) -> Option<String> {
        let place = &request.place;
        let begun = if request.session == Session::New { Begun::New } else { Begun::Resumed };
        if let Some(role) = self.role.as_ref().filter(|role| **role != request.role) {
            return Some(format!("is for the {role}"));
        }
        if let Some(task) = self.task.as_ref().filter(|task| **task != place.task) {
            return Some(format!("is for task `{task}`"));
        }
        if let Some(attempt) = self.attempt.filter(|attempt| *attempt != place.attempt) {
            return Some(format!("is for attempt {attempt}"));
        }
        if let Some(session) = self.session.filter(|session| *session != begun) {
            return Some(format!("is for a {session} session"));
        }
        let missing = self.contains.iter().find(|text| !request.prompt.contains(text.as_str()))?;
        Some(format!("asks for `{missing}` in the prompt"))
    }
}

fn none_fits(scenario: &Scenario, entries: &[Entry], request: &AgentRequest) -> DriverError {
    let asked = match (request.place.task.as_str(), request.place.attempt) {
        ("", _) => request.role.clone(),
        (task, 0) => format!("{}, task `{task}`", request.role),
        (task, attempt) => format!("{}, task `{task}`, attempt {attempt}", request.role),
    };
    let is_near = |turn: &Turn| turn.fits.role.as_ref().is_none_or(|role| *role == request.role);
    let why = |number: usize, turn: &Turn| match turn.fits.why_not(request) {
        Some(why) => why,
        None => match had(entries, number, request) {
            1 => "was had".to_owned(),
            times => format!("was had {times} times"),
        },
    };
    let near = scenario.turns.iter().enumerate().filter(|(_, turn)| is_near(turn));
    let near: Vec<String> =
        near.map(|(number, turn)| format!("turn {} {}", number + 1, why(number, turn))).take(8).collect();
    let help = match near.is_empty() {
        true => format!("add a turn with `role: {}`", request.role),
        false => near.join("; "),
    };
    DriverError::new(ErrorClass::Fatal, format!("no turn of {} fits: {asked}", scenario.shown())).help(help)
}

impl Log {
    /// Notes what a turn came to. One that was cancelled is as one whose process was killed: it comes again.
    pub(super) fn ended(
        &self,
        chosen: &Chosen<'_>,
        request: &AgentRequest,
        ended: &Result<Finished, DriverError>,
    ) -> Result<(), DriverError> {
        let what = match ended {
            Ok(finished) => What::Finished(finished.clone()),
            Err(error) if error.class == ErrorClass::Cancelled => return Ok(()),
            Err(error) => What::Failed(error.class),
        };
        self.append(&mut self.held(), Entry::of(request, chosen.number, what))
    }
}
