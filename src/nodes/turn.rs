//! A turn of an agent as a step of a node: done once, its answer read as a type, asked for again once if it cannot be read. All
//! that happens outside goes through the task's journal.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::agents::{AgentSpec, Agents};
use super::folder::{Folder, thread, told_tampering};
use super::prompts::Prompt;
use super::submit::{Submit, submitted};
use crate::drivers::{
    Access, AgentEvent, AgentRequest, Driver, DriverError, ErrorClass, Finished, Place, Session, SessionRef, Status,
    Usage, fenced_json,
};
use crate::graph::{Ctx, NodeError};

/// How much of what an agent said last is stored, in bytes; the rest is in the session.
const SAID: usize = 16 * 1024;
/// How often one turn waits for a service that is busy.
const WAITS: u32 = 50;
/// How long it waits if the service does not say.
const WAIT: Duration = Duration::from_secs(60);

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
    /// The service is busy until then, in milliseconds since 1970.
    Busy(u64),
    SessionLost,
}

/// What a request depends on: if it is another than the one recorded, its answer is no answer to it.
#[derive(Serialize)]
struct Asked<'a> {
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
            session: Session::New,
            access: Access::default(),
            guard: Some(folder.clone()),
            task: String::new(),
            attempt: 0,
        }
    }

    /// Carries the turn out, once: a turn that has ended is never asked again, whatever happens to the process. A service that
    /// is busy for longer than a moment lets the task wait, without a process.
    ///
    /// # Errors
    /// The driver's failure, if it failed in another way than by losing the session; the run's own.
    pub async fn take<T: Submit, C: Agents>(self, ctx: &Ctx<C>) -> Result<Turned<T>, NodeError> {
        let (first, tampered) = self.ask::<T, C>(ctx).await?;
        let Some(first) = first else { return Ok(lost(tampered)) };
        let why = match submitted::<T>(&first) {
            Ok(given) => return Ok(turned(Answer::Given(given), first, tampered)),
            Err(why) => why,
        };
        if first.status != Status::Done {
            let why = format!("it used up what a turn may use ({:?})", first.status);
            return Ok(turned(Answer::Unusable(why), first, tampered));
        }
        if !tampered.is_empty() {
            return Ok(turned(Answer::Unusable(why), first, tampered));
        }
        let usage = first.usage;
        let (second, tampered) = self.again::<T>(&first, &why).ask::<T, C>(ctx).await?;
        let Some(second) = second else { return Ok(turned(Answer::Unusable(why), first, tampered)) };
        let answer = submitted::<T>(&second).map_or_else(Answer::Unusable, Answer::Given);
        let mut turned = turned(answer, second, tampered);
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

    /// Asks until the service is not busy; none if the session is lost. With what was tampered with.
    async fn ask<T: Submit, C: Agents>(&self, ctx: &Ctx<C>) -> Result<(Option<Finished>, Vec<String>), NodeError> {
        for wait in 0..WAITS {
            let key = if wait == 0 { self.key.clone() } else { format!("{}/{wait}", self.key) };
            let (recorded, tampered) = self.guarded::<T, C>(ctx, key).await?;
            match recorded {
                Recorded::Finished(finished) => return Ok((Some(finished), tampered)),
                Recorded::SessionLost => return Ok((None, tampered)),
                Recorded::Busy(_) if !tampered.is_empty() => {
                    return Err(NodeError::permanent(told_tampering("the agent", &tampered)));
                }
                Recorded::Busy(until) => ctx.sleep_until(UNIX_EPOCH + Duration::from_millis(until)).await?,
            }
        }
        let what = format!("`{}` was busy {WAITS} times, each time for as long as it had said", self.agent.driver);
        Err(NodeError::transient(what))
    }

    /// Asks once, and looks whether git was tampered with meanwhile: what a person changes while nothing runs is their own
    /// business.
    async fn guarded<T: Submit, C: Agents>(
        &self,
        ctx: &Ctx<C>,
        key: String,
    ) -> Result<(Recorded, Vec<String>), NodeError> {
        let Some(folder) = &self.guard else { return Ok((self.once::<T, C>(ctx, key).await?, vec![])) };
        let before = folder.guard(ctx, &key).await?;
        let recorded = self.once::<T, C>(ctx, key.clone()).await?;
        let tampered = folder.tampered(ctx, &key, &before).await?;
        Ok((recorded, tampered))
    }

    async fn once<T: Submit, C: Agents>(&self, ctx: &Ctx<C>, key: String) -> Result<Recorded, NodeError> {
        let asked = Asked {
            role: &self.agent.role,
            driver: &self.agent.driver,
            model: self.agent.model.as_deref(),
            session: &self.session,
            submit: T::TOOL,
            prompts: [self.system.name(), self.prompt.name()],
            hashes: [self.system.hash(), self.prompt.hash()],
            prompt: self.prompt.text(),
        };
        let body = |turn: String| async move {
            if let Some(folder) = &self.guard {
                folder.hold(ctx).await?;
            }
            recorded(self.run::<T, C>(ctx, turn).await)
        };
        let probe = |turn: String| async move {
            let driver = driver(ctx, &self.agent)?;
            let session = match &self.session {
                Session::Resume(session) => Some(session),
                Session::New => None,
            };
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

fn turned<T>(answer: Answer<T>, finished: Finished, tampered: Vec<String>) -> Turned<T> {
    Turned { answer, session: finished.session, usage: finished.usage, tampered }
}

fn lost<T>(tampered: Vec<String>) -> Turned<T> {
    Turned { answer: Answer::SessionLost, session: None, usage: Usage::default(), tampered }
}

/// What is stored of how a request ended. A failure is not: the next attempt of the task asks again.
fn recorded(ended: Result<Finished, DriverError>) -> Result<Recorded, NodeError> {
    match ended {
        Ok(finished) => Ok(Recorded::Finished(cut(finished))),
        Err(error) if error.class == ErrorClass::SessionLost => Ok(Recorded::SessionLost),
        Err(error) if error.class == ErrorClass::RateLimited => {
            let until = std::time::SystemTime::now() + error.retry_after.unwrap_or(WAIT);
            let until = until.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis());
            Ok(Recorded::Busy(u64::try_from(until).unwrap_or(u64::MAX)))
        }
        Err(error) => Err(failed(error)),
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
