//! A turn of an agent as a step of a node: done once, its answer read as a type, asked for again once if it cannot be read. All
//! that happens outside goes through the task's journal.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::agents::{AgentSpec, Agents};
use super::folder::{Base, Folder, thread};
use super::prompts::Prompt;
use super::submit::{Submit, submitted};
use crate::drivers::{
    Access, AgentEvent, AgentRequest, Driver, DriverError, ErrorClass, Finished, Place, Session, SessionRef, Status,
    Usage, fenced_json,
};
use crate::graph::{Ctx, NodeError};
use crate::workspace::Standing;

/// How much of what an agent said last is stored, in bytes; the rest is in the session.
const SAID: usize = 16 * 1024;
/// How long a turn waits for a service that is busy and does not say for how long: at first, and at most.
const WAIT: Duration = Duration::from_secs(60);
const LONGEST_WAIT: Duration = Duration::from_secs(60 * 60);
/// How long it waits at most for one that says: then it asks again.
const MONTH: Duration = Duration::from_secs(30 * 86_400);

/// One turn: who is asked what, where.
#[derive(Clone, Debug)]
pub struct Turn {
    /// Names it within the task.
    pub key: String,
    /// Who.
    pub agent: AgentSpec,
    /// What stays the same for the session.
    pub system: Prompt,
    /// What.
    pub prompt: Prompt,
    /// In which folder.
    pub directory: std::path::PathBuf,
    /// Files elsewhere that they may read, by their absolute paths.
    pub files: Vec<std::path::PathBuf>,
    /// In which session.
    pub session: Session,
    /// What it may do besides reading.
    pub access: Access,
    /// The repository whose hooks and configuration the agent must leave alone; none: it works in none.
    pub guard: Option<Folder>,
    /// The task's number in the plan; empty if it belongs to none.
    pub task: String,
    /// Which attempt at the task it is, from 1; 0 if it is none.
    pub attempt: u32,
    /// Where the task began: HEAD is put on its branch before each request, for a person may have been elsewhere. None: HEAD stays.
    pub at: Option<Base>,
    /// Whether the work can do without it: a failure is an answer that cannot be used, and nothing waits for a busy service.
    pub is_optional: bool,
}

/// What a turn came to.
#[derive(Clone, Debug)]
pub struct Turned<T> {
    /// What was handed over.
    pub answer: Answer<T>,
    /// The session, to go on in; none if the driver cannot.
    pub session: Option<SessionRef>,
    /// What it used, with everything that was asked again.
    pub usage: Usage,
    /// What was changed meanwhile of git's hooks and configuration. If anything was, no git command may be run.
    pub tampered: Vec<String>,
    /// Where the branches stood before the last request, if the turn says where its task began.
    pub at: Option<Standing>,
}

/// What an agent handed over.
#[derive(Clone, Debug)]
pub enum Answer<T> {
    /// The result.
    Given(T),
    /// Nothing that can be read, though it was asked for twice: neither a yes nor a no.
    Unusable(String),
    /// The session to go on in is not known any more.
    SessionLost,
}

/// What the journal has of one request to an agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Recorded {
    Finished(Finished),
    /// The service is busy until then, in milliseconds since 1970. Then the turn goes on under its first name.
    Busy {
        until: u64,
        turn: String,
    },
    /// It failed. Another attempt of the task goes on with the turn, under its first name.
    Failed {
        why: String,
        turn: String,
    },
    SessionLost,
}

/// What is known of the repository around a request.
struct Around {
    tampered: Vec<String>,
    at: Option<Standing>,
}

/// How a turn ended, after all waiting.
enum Ended {
    Finished(Finished),
    SessionLost,
    Failed(String),
}

/// What a request depends on: if it is another than the one recorded, its answer is no answer to it.
#[derive(Serialize)]
struct Asked<'a> {
    /// The hash of the whole prompt: what is shown of a long one may be the same.
    digest: &'a str,
    role: &'a str,
    driver: &'a str,
    model: Option<&'a str>,
    session: &'a Session,
    submit: &'static str,
    prompts: [&'a str; 2],
    hashes: [&'a str; 2],
    prompt: &'a str,
}

impl Turn {
    /// Returns a turn in a new session for a result of type `T`, in a repository whose hooks and configuration are looked
    /// after. It may read, and belongs to no task.
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
            attempt: 0,
            at: None,
            is_optional: false,
        }
    }

    /// Carries the turn out, once: a turn that has ended is never asked again, whatever happens to the process. A service that
    /// is busy for longer than a moment lets the task wait, without a process. A failure is the task's: its next attempt goes
    /// on with the turn.
    ///
    /// # Errors
    /// The driver's failure, unless it lost the session or the turn is optional; the run's own.
    pub async fn take<T: Submit, C: Agents>(self, ctx: &Ctx<C>) -> Result<Turned<T>, NodeError> {
        let (first, around) = self.ask::<T, C>(ctx).await?;
        let first = match first {
            Ended::Finished(first) => first,
            Ended::SessionLost => return Ok(without(Answer::SessionLost, around)),
            Ended::Failed(why) => return Ok(without(Answer::Unusable(why), around)),
        };
        let why = match submitted::<T>(&first) {
            Ok(given) => return Ok(turned(Answer::Given(given), first, around)),
            Err(why) => why,
        };
        if first.status != Status::Done {
            let why = format!("it used up what a turn may use ({:?})", first.status);
            return Ok(turned(Answer::Unusable(why), first, around));
        }
        if !around.tampered.is_empty() {
            return Ok(turned(Answer::Unusable(why), first, around));
        }
        let usage = first.usage;
        let (second, around) = self.again::<T>(&first, &why).ask::<T, C>(ctx).await?;
        let Ended::Finished(second) = second else { return Ok(turned(Answer::Unusable(why), first, around)) };
        let answer = submitted::<T>(&second).map_or_else(Answer::Unusable, Answer::Given);
        let mut turned = turned(answer, second, around);
        turned.usage += usage;
        Ok(turned)
    }

    /// The turn that asks for what could not be read.
    fn again<T: Submit>(&self, first: &Finished, why: &str) -> Self {
        let repair = Prompt::repair(T::TOOL, why);
        let (session, prompt) = match &first.session {
            Some(session) => (Session::Resume(session.clone()), repair),
            None => (Session::New, self.prompt.followed_by(&repair)),
        };
        Self { key: format!("{}/again", self.key), session, prompt, ..self.clone() }
    }

    /// Asks until the service is not busy. A failure is the task's, and the next attempt of it asks again. With what was
    /// tampered with.
    async fn ask<T: Submit, C: Agents>(&self, ctx: &Ctx<C>) -> Result<(Ended, Around), NodeError> {
        let (mut nth, mut turn) = (0, None);
        loop {
            let key = if nth == 0 { self.key.clone() } else { format!("{}/{nth}", self.key) };
            let failure = Mutex::new(None);
            let (recorded, around) = self.guarded::<T, C>(ctx, key, (nth, turn), &failure).await?;
            let ended = match recorded {
                Recorded::Finished(finished) => Ended::Finished(finished),
                Recorded::SessionLost => Ended::SessionLost,
                Recorded::Failed { why, .. } if self.is_optional || !around.tampered.is_empty() => Ended::Failed(why),
                Recorded::Busy { .. } if !around.tampered.is_empty() => Ended::Failed("the service is busy".into()),
                Recorded::Busy { until, turn: first } => {
                    ctx.sleep_until(UNIX_EPOCH + Duration::from_millis(until)).await?;
                    (nth, turn) = (nth + 1, Some(first));
                    continue;
                }
                Recorded::Failed { turn: first, .. } => {
                    if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
                        return Err(failed(error));
                    }
                    (nth, turn) = (nth + 1, Some(first)); // of an attempt before
                    continue;
                }
            };
            return Ok((ended, around));
        }
    }

    /// Asks once, and looks whether git was tampered with meanwhile: what a person changes while nothing runs is their own
    /// business.
    async fn guarded<T: Submit, C: Agents>(
        &self,
        ctx: &Ctx<C>,
        key: String,
        nth: (u32, Option<String>),
        failure: &Mutex<Option<DriverError>>,
    ) -> Result<(Recorded, Around), NodeError> {
        let Some(folder) = &self.guard else {
            let around = Around { tampered: vec![], at: None };
            return Ok((self.once::<T, C>(ctx, key, nth, failure).await?, around));
        };
        let at = match &self.at {
            Some(base) => Some(folder.stand(ctx, &format!("{key}/stand"), base).await?),
            None => None,
        };
        let before = folder.guard(ctx, &key).await?;
        let recorded = self.once::<T, C>(ctx, key.clone(), nth, failure).await?;
        let tampered = folder.tampered(ctx, &key, &before).await?;
        Ok((recorded, Around { tampered, at }))
    }

    /// Asks for the `nth` time, under the name the turn had at first. A failure of now is put into `failure`.
    async fn once<T: Submit, C: Agents>(
        &self,
        ctx: &Ctx<C>,
        key: String,
        (nth, first): (u32, Option<String>),
        failure: &Mutex<Option<DriverError>>,
    ) -> Result<Recorded, NodeError> {
        let digest = crate::plan::hash(self.prompt.text());
        let asked = Asked {
            digest: &digest,
            role: &self.agent.role,
            driver: &self.agent.driver,
            model: self.agent.model.as_deref(),
            session: &self.session,
            submit: T::TOOL,
            prompts: [self.system.name(), self.prompt.name()],
            hashes: [self.system.hash(), self.prompt.hash()],
            prompt: self.prompt.text(),
        };
        let first = &first;
        let body = |turn: String| async move {
            if let Some(folder) = &self.guard {
                folder.hold(ctx).await?;
                if let Some(base) = &self.at {
                    folder.stands(ctx, base).await?; // also after a kill
                }
            }
            let turn = first.clone().unwrap_or(turn);
            let ended = self.run::<T, C>(ctx, turn.clone()).await;
            let (recorded, error) = recorded(ended, turn, (!self.is_optional).then(|| wait(nth)));
            *failure.lock().unwrap_or_else(PoisonError::into_inner) = error;
            Ok::<_, NodeError>(recorded)
        };
        let probe = |turn: String| async move {
            let driver = driver(ctx, &self.agent)?;
            let session = match &self.session {
                Session::Resume(session) => Some(session),
                Session::New => None,
            };
            let turn = first.clone().unwrap_or(turn);
            let ended = driver.ended(session, &turn).await.map_err(failed)?;
            Ok::<_, NodeError>(ended.map(|finished| Recorded::Finished(cut(finished))))
        };
        ctx.effect(key, &asked, body).probe(probe).await
    }

    async fn run<T: Submit, C: Agents>(&self, ctx: &Ctx<C>, turn: String) -> Result<Finished, DriverError> {
        let driver = ctx.context().driver(&self.agent)?;
        let request = AgentRequest {
            model: self.agent.model.clone(),
            system: self.system.text().to_owned(),
            session: self.session.clone(),
            turn,
            submit: Some(T::tool()),
            access: self.access.clone(),
            files: self.files.clone(),
            place: Place { run: thread(ctx), task: self.task.clone(), attempt: self.attempt },
            limits: self.agent.limits,
            ..AgentRequest::new(&self.agent.role, self.prompt.text(), &self.directory)
        };
        let mut events = driver.run(request);
        while let Some(event) = events.next().await {
            ctx.heartbeat();
            match event? {
                AgentEvent::Finished(finished) => return Ok(finished),
                event => ctx.emit_message(&event).await,
            }
        }
        Err(DriverError::unfinished(""))
    }
}

fn driver<C: Agents>(ctx: &Ctx<C>, agent: &AgentSpec) -> Result<Arc<dyn Driver>, NodeError> {
    ctx.context().driver(agent).map_err(failed)
}

fn turned<T>(answer: Answer<T>, finished: Finished, Around { tampered, at }: Around) -> Turned<T> {
    Turned { answer, session: finished.session, usage: finished.usage, tampered, at }
}

fn without<T>(answer: Answer<T>, Around { tampered, at }: Around) -> Turned<T> {
    Turned { answer, session: None, usage: Usage::default(), tampered, at }
}

/// How long the `nth` wait for a busy service is, if the service does not say.
fn wait(nth: u32) -> Duration {
    WAIT.saturating_mul(1 << nth.min(10)).min(LONGEST_WAIT)
}

/// What is stored of how a request ended; and its failure, if it is one. `wait`: for a busy service that does not say how long;
/// none: nothing waits for it.
fn recorded(
    ended: Result<Finished, DriverError>,
    turn: String,
    wait: Option<Duration>,
) -> (Recorded, Option<DriverError>) {
    match (ended, wait) {
        (Ok(finished), _) => (Recorded::Finished(cut(finished)), None),
        (Err(error), _) if error.class == ErrorClass::SessionLost => (Recorded::SessionLost, None),
        (Err(error), Some(wait)) if error.class == ErrorClass::RateLimited || error.retry_after.is_some() => {
            let until = std::time::SystemTime::now() + error.retry_after.unwrap_or(wait).min(MONTH);
            let until = until.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis());
            (Recorded::Busy { until: u64::try_from(until).unwrap_or(u64::MAX), turn }, None)
        }
        (Err(error), _) => (Recorded::Failed { why: error.to_string(), turn }, Some(error)),
    }
}

/// A failure of a driver as one of a node: what cannot succeed is not tried again by a retry policy.
fn failed(error: DriverError) -> NodeError {
    match error.class {
        ErrorClass::Transient | ErrorClass::RateLimited => NodeError::transient(error),
        _ => NodeError::permanent(error),
    }
}

/// A result in the text is found before the text is cut.
fn cut(mut finished: Finished) -> Finished {
    finished.submitted = finished.submitted.or_else(|| fenced_json(&finished.text));
    if finished.text.len() > SAID {
        let end = (0..=SAID).rev().find(|&at| finished.text.is_char_boundary(at)).unwrap_or(0);
        finished.text.truncate(end);
    }
    finished
}
