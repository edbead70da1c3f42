//! A turn of an agent as a step of a node: taken once, its result parsed as a type, and requested once more if it
//! cannot be. All side effects go through the task's journal.

use serde::{Deserialize, Serialize};

use super::agents::{AgentSpec, Agents};
use super::submit::{Submit, parse_submission};
use crate::drivers::{Access, Finished, NewLimits, Session, SessionRef, TurnStatus, Usage};
use crate::graph::{Ctx, NodeError};
use crate::nodes::ask::SessionRefused;
use crate::nodes::events::Notes;
use crate::nodes::git::{Base, Folder};
use crate::nodes::prompts::{Brief, Prompt};
use crate::nodes::siblings::Siblings;

/// A turn: the agent, its prompt and its folder.
#[derive(Clone, Debug)]
pub struct Turn {
    /// Key within the task.
    pub key: String,
    /// The agent.
    pub agent: AgentSpec,
    /// The part of the prompt that stays the same for the session.
    pub system: Prompt,
    /// The prompt.
    pub prompt: Prompt,
    /// Working directory.
    pub directory: std::path::PathBuf,
    /// Files elsewhere that the agent may read, by absolute path.
    pub files: Vec<std::path::PathBuf>,
    /// The session.
    pub session: Session,
    /// The tools and rights of the agent beside reading.
    pub access: Access,
    /// The repository whose hooks and configuration are guarded; none: no repository.
    pub guard: Option<Folder>,
    /// The task's number in the plan; empty if it belongs to none.
    pub task: String,
    /// Number of the phase that the turn reviews as a whole; none: it is about the task.
    pub phase: Option<u32>,
    /// The number of the attempt at the task, from 1; 0 if there is none.
    pub attempt: u32,
    /// The base of the task: HEAD is put on its branch before each request, for a person may have been elsewhere. None:
    /// HEAD stays.
    pub at: Option<Base>,
    /// True if the work can do without it: a failure is an answer that cannot be used, and nothing waits for a busy
    /// service.
    pub is_optional: bool,
    /// True if a failure is an answer that cannot be used. Unlike in an optional turn, a busy service, an outage and
    /// the budget are waited for.
    pub failure_is_answer: bool,
    /// The group of parallel tasks of its task: it is stopped with them, and what cuts it short is a [`CutReason`] instead of
    /// a failure or a question of the task. None: it works alone.
    pub together: Option<Siblings>,
    /// The end of an earlier task's turn that continues in this one; none: it is a new one.
    pub from: Option<CutOff>,
    /// True if the turn is cut short when the budget of the run is used up, also outside of a group: nobody is asked
    /// then.
    pub ends_with_budget: bool,
    /// The task for people who look on.
    pub about: TurnTask,
    /// A file that gets the events of the agent, a line of JSON each; none: they are in the journal alone.
    pub transcript: Option<std::path::PathBuf>,
    /// Notices for people that the turn adds: branches that were moved around it.
    pub notes: Notes,
    /// The time at which its last request began by the file system, in nanoseconds since 1970.
    pub started: Option<u64>,
}

/// The task of a turn for people who look on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnTask {
    /// Its title.
    pub title: String,
    /// Its position among all tasks, from 1; 0 if there is only one.
    pub position: usize,
    /// The number of tasks; 0 if there is only one.
    pub total: usize,
}

impl From<&Brief> for TurnTask {
    fn from(brief: &Brief) -> Self {
        let Brief { title, position, total, .. } = brief;
        let (position, total) = if *total > 1 { (*position, *total) } else { (0, 0) };
        Self { title: title.clone(), position, total }
    }
}

/// The result of a turn.
#[derive(Clone, Debug)]
pub struct TurnResult<T> {
    /// The answer of the agent.
    pub answer: AgentAnswer<T>,
    /// The session, to resume; none if the driver cannot.
    pub session: Option<SessionRef>,
    /// The usage of the turn, with all repeated requests.
    pub usage: Usage,
    /// Changes of git's hooks and configuration meanwhile. If there are any, no git command may be run.
    pub tampered: Vec<String>,
    /// The base of its task with the branches before the last request, if the turn has one: on top of commits that people
    /// made meanwhile.
    pub at: Option<Base>,
    /// The limits of the run that a person set.
    pub raised: NewLimits,
    /// True if a person ended the run instead of raising its budget; there is no answer then.
    pub is_aborted: bool,
    /// Set if the turn was cut short by its group; there is no answer then.
    pub cut: Option<CutReason>,
}

impl<T> TurnResult<T> {
    /// Adds the usage of the previous turn, and the limits that were set then.
    pub(in crate::nodes) fn with_previous(mut self, before: (Usage, NewLimits)) -> Self {
        self.usage += before.0;
        self.raised = self.raised.latest(before.1);
        self
    }
}

/// The answer of an agent.
#[derive(Clone, Debug)]
pub enum AgentAnswer<T> {
    /// The result.
    Given(T),
    /// Nothing readable, in two requests: neither a yes nor a no.
    Unusable(String),
    /// The session to resume is not known any more.
    SessionLost,
}

/// The reason why a turn among siblings was cut short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CutReason {
    /// Its driver failed.
    Failed(String),
    /// The budget of the run is used up.
    Spent(CutOff),
    /// The group was stopped.
    Stopped(String),
}

/// The end of a turn that the budget cut off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutOff {
    /// Name under which it continues; none: it has ended, and is repeated in a new one.
    pub turn: Option<String>,
    /// Session of an ended turn.
    pub session: Option<SessionRef>,
    /// Usage until then, which is already counted.
    #[serde(default)]
    pub used: Usage,
}

/// A turn's result, and a person's decision if its session was refused.
pub(in crate::nodes) struct DecidedTurn<T> {
    pub(in crate::nodes) turned: TurnResult<T>,
    /// Model that a person chose; none: unchanged.
    pub(in crate::nodes) model: Option<String>,
    pub(in crate::nodes) then: NextStep,
    /// The number of refusals of the session so far.
    refusals: u32,
}

/// The step after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::nodes) enum NextStep {
    /// Use its answer.
    Done,
    /// Repeat the work in a new session.
    Fresh,
    /// Skip the task.
    Skip,
    /// End the run.
    Abort,
}

impl Turn {
    /// Returns a turn in a new session for a result of type `T`, in a repository whose hooks and configuration are
    /// guarded. It may read, and belongs to no task.
    pub fn new<T: Submit>(key: impl Into<String>, agent: AgentSpec, prompt: Prompt, folder: &Folder) -> Self {
        Self {
            key: key.into(),
            system: Prompt::system(&agent.role, T::TOOL),
            agent,
            prompt,
            directory: folder.directory.clone(),
            files: vec![],
            session: Session::New,
            access: Access::default(),
            guard: Some(folder.clone()),
            task: String::new(),
            phase: None,
            attempt: 0,
            at: None,
            is_optional: false,
            failure_is_answer: false,
            together: None,
            from: None,
            ends_with_budget: false,
            transcript: None,
            about: TurnTask::default(),
            notes: Notes::default(),
            started: None,
        }
    }

    /// Takes the turn, once: a finished request is never sent again, even if the process dies. For a service that is
    /// busy for longer than a moment the task sleeps, without a process; an outage is waited for as long as
    /// [`AgentSpec::retry`] allows. A failure is the task's: its next attempt continues the turn.
    ///
    /// # Errors
    /// The driver's failure, unless it lost the session or the turn is optional; the run's own.
    pub async fn take<T: Submit, C: Agents>(self, ctx: &Ctx<C>) -> Result<TurnResult<T>, NodeError> {
        Ok(self.run_once::<T, C>(ctx, None).await?.turned)
    }

    /// Takes the turn. If the server refuses the session, a person is asked `question`; `fresh` creates the turn in a
    /// new session, under the given key, if that is the answer.
    pub(in crate::nodes) async fn take_or_ask<T, C, F, Fut>(
        self,
        ctx: &Ctx<C>,
        mut question: SessionRefused,
        fresh: F,
    ) -> Result<DecidedTurn<T>, NodeError>
    where
        T: Submit,
        C: Agents,
        F: Fn(String) -> Fut,
        Fut: Future<Output = Result<Self, NodeError>>,
    {
        let (key, mut nth) = (self.key.clone(), 0_u32);
        let (mut turn, mut usage, mut model) = (self, Usage::default(), None);
        let mut raised = NewLimits::default();
        loop {
            let mut taken = turn.run_once::<T, C>(ctx, Some(&question)).await?;
            taken.turned = taken.turned.with_previous((usage, raised));
            taken.model = taken.model.or(model);
            if taken.then != NextStep::Fresh {
                return Ok(taken);
            }
            nth += 1;
            question.tries = taken.refusals;
            (usage, model, raised) = (taken.turned.usage, taken.model, taken.turned.raised);
            turn = fresh(format!("{key}/fresh/{nth}")).await?;
            turn.agent.model = model.clone().or(turn.agent.model);
        }
    }

    async fn run_once<T: Submit, C: Agents>(
        mut self,
        ctx: &Ctx<C>,
        question: Option<&SessionRefused>,
    ) -> Result<DecidedTurn<T>, NodeError> {
        let before = self.agent.model.clone();
        let mut refusals = question.map_or(0, |question| question.tries);
        let (turned, then) = self.request_result::<T, C>(ctx, question, &mut refusals).await?;
        let model = self.agent.model.filter(|model| before.as_ref() != Some(model));
        Ok(DecidedTurn { turned, model, then, refusals })
    }

    /// Sends the request, and sends it once more if the result cannot be parsed.
    async fn request_result<T: Submit, C: Agents>(
        &mut self,
        ctx: &Ctx<C>,
        question: Option<&SessionRefused>,
        refusals: &mut u32,
    ) -> Result<(TurnResult<T>, NextStep), NodeError> {
        let (first, around) = self.send_with_retries::<T, C>(ctx, question, refusals).await?;
        let first = match first {
            RequestEnd::Finished(first) => first,
            RequestEnd::SessionLost => return Ok((without_result(AgentAnswer::SessionLost, around), NextStep::Done)),
            RequestEnd::Failed(why) => return Ok((without_result(AgentAnswer::Unusable(why), around), NextStep::Done)),
            RequestEnd::Refused(why, then) => return Ok((without_result(AgentAnswer::Unusable(why), around), then)),
        };
        let why = match parse_submission::<T>(&first) {
            Ok(given) => return Ok((with_result(AgentAnswer::Given(given), first, around), NextStep::Done)),
            Err(why) => why,
        };
        // A second request does not help a turn that ended at one of its limits.
        if first.status != TurnStatus::Done {
            let why = format!("it reached a limit of the turn ({:?})", first.status);
            return Ok((with_result(AgentAnswer::Unusable(why), first, around), NextStep::Done));
        }
        // No further request after tampering.
        if !around.tampered.is_empty() {
            return Ok((with_result(AgentAnswer::Unusable(why), first, around), NextStep::Done));
        }
        // One repair request, whose usage and limits are added to those of the first.
        let (mut usage, raised) = (first.usage, around.raised);
        usage += around.used;
        let mut again = self.repair_turn::<T>(&first, &why);
        let (second, mut around) = again.send_with_retries::<T, C>(ctx, question, refusals).await?;
        // `again` is a copy: its new model and position belong to this turn.
        self.agent.model = again.agent.model;
        self.at = again.at;
        around.raised = around.raised.latest(raised);
        let second = match second {
            RequestEnd::Finished(second) => second,
            RequestEnd::Refused(why, then) => {
                return Ok((with_result(AgentAnswer::Unusable(why), Finished { usage, ..first }, around), then));
            }
            RequestEnd::SessionLost | RequestEnd::Failed(_) => {
                return Ok((
                    with_result(AgentAnswer::Unusable(why), Finished { usage, ..first }, around),
                    NextStep::Done,
                ));
            }
        };
        let answer = parse_submission::<T>(&second).map_or_else(AgentAnswer::Unusable, AgentAnswer::Given);
        let mut turned = with_result(answer, second, around);
        turned.usage += usage;
        Ok((turned, NextStep::Done))
    }

    /// Returns the turn that asks for a readable result.
    fn repair_turn<T: Submit>(&self, first: &Finished, why: &str) -> Self {
        let repair = Prompt::repair(T::TOOL, why);
        let (session, prompt) = match &first.session {
            Some(session) => (Session::Resume(session.clone()), repair),
            None => (Session::New, self.prompt.followed_by(&repair)),
        };
        Self { key: format!("{}/again", self.key), session, prompt, from: None, ..self.clone() }
    }
}

fn with_result<T>(answer: AgentAnswer<T>, finished: Finished, around: RequestState) -> TurnResult<T> {
    let Finished { session, usage, .. } = finished;
    let mut turned = TurnResult { session, ..without_result(answer, around) };
    turned.usage += usage;
    turned
}

fn without_result<T>(answer: AgentAnswer<T>, around: RequestState) -> TurnResult<T> {
    let RequestState { tampered, at, raised, used: usage, is_aborted, cut } = around;
    TurnResult { answer, session: None, usage, tampered, at, raised, is_aborted, cut }
}

/// The end of a turn, after all waits.
pub(super) enum RequestEnd {
    Finished(Finished),
    SessionLost,
    Failed(String),
    /// The server refused the session, and a person decided.
    Refused(String, NextStep),
}

/// The findings about the repository and the budget around a request.
#[derive(Default)]
pub(super) struct RequestState {
    pub(super) tampered: Vec<String>,
    pub(super) at: Option<Base>,
    pub(super) raised: NewLimits,
    /// The usage of turns that ended without an answer, and do not continue.
    pub(super) used: Usage,
    /// True if a person ended the run when its budget was used up.
    pub(super) is_aborted: bool,
    /// The reason why the turn was cut short among siblings.
    pub(super) cut: Option<CutReason>,
}

impl RequestState {
    /// Records what cut the turn short; it has no answer then.
    pub(super) fn cut_short(&mut self, cut: CutReason) -> RequestEnd {
        self.cut = Some(cut);
        RequestEnd::Failed("it was cut short".into())
    }
}
