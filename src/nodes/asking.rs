//! The requests of a turn: once each, journalled, after the waits that a busy service or an outage needs, and after a person's
//! answer where a server refuses the session. Knows no task.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::agents::Agents;
use super::folder::thread;
use super::outage::{Progress, Waits, outage_message, wait_until};
use super::prompts::Parts;
use super::purse::{self, Overdraft, Spent};
use super::questions::{AfterRefusal, SessionRefused};
use super::recorded::{Recorded, cut, recorded};
use super::siblings::Group;
use super::submit::Submit;
use super::transcript::Transcript;
use super::turn::{Around, Cut, CutOff, Ended, Then, Turn};
use super::turn_texts::{RecordedTexts, Texts};
use crate::drivers::{
    AgentEvent, AgentRequest, Driver, DriverError, ErrorClass, Finished, Ledger, NewLimits, Place, Session, Usage,
};
use crate::graph::{Ctx, NodeError};

/// The parts of a request that its answer depends on: a recorded answer fits no other request.
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
    /// Long texts are in it by their hashes.
    prompt: &'a Parts,
}

impl Turn {
    /// Asks until there is an answer: after waits for a service that is busy or out, and after a person's answer to `question`
    /// if the server refuses the session. A failure is the task's, and the next attempt of it asks again. With what was tampered
    /// with.
    pub(super) async fn ask<T: Submit, C: Agents>(
        &mut self,
        ctx: &Ctx<C>,
        question: Option<&SessionRefused>,
        refusals: &mut u32,
    ) -> Result<(Ended, Around), NodeError> {
        let (mut progress, mut raised) = (self.progress(), NewLimits::default());
        let mut ended_before = Usage::default();
        loop {
            let failure = Mutex::new(None);
            let (recorded, mut around) = self.guarded::<T, C>(ctx, &progress, question.is_some(), &failure).await?;
            let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
            let recorded = recorded.without(self.counted());
            let used = recorded.used();
            (around.raised, around.used) = (raised, ended_before);
            around.used += used;
            let is_final = self.is_optional || !around.tampered.is_empty();
            let ended = match recorded {
                Recorded::Finished(finished) => Ended::Finished(finished),
                Recorded::SessionLost { .. } => Ended::SessionLost,
                Recorded::Failed { why, .. } | Recorded::Refused { why, .. } | Recorded::Down { why, .. }
                    if is_final =>
                {
                    Ended::Failed(why)
                }
                Recorded::Spent(_) if is_final => Ended::Failed("the budget of the run is used up".into()),
                Recorded::Failed { why, .. } if self.failure_is_answer => Ended::Failed(why),
                Recorded::Stopped { why, .. } => around.cut(Cut::Stopped(why)),
                Recorded::Failed { why, .. } if self.together.is_some() => around.cut(Cut::Failed(why)),
                Recorded::Spent(Overdraft { turn, session, mut used, .. })
                    if self.together.is_some() || self.ends_with_budget =>
                {
                    used += self.counted();
                    around.cut(Cut::Spent(CutOff { turn, session, used }))
                }
                Recorded::Spent(Overdraft { account, turn, session, .. }) => {
                    let key = self.key_of(&progress);
                    let spent = Spent { agent: &self.agent, task: &self.task, key: &key, account };
                    let Some(by) = purse::raised(ctx, spent).await? else {
                        around.is_aborted = true;
                        return Ok((Ended::Refused("its budget was used up".into(), Then::Abort), around));
                    };
                    raised = raised.later(by);
                    if turn.is_none() {
                        ended_before += used; // it is done in a new turn
                    }
                    self.session = session.map_or_else(|| self.session.clone(), Session::Resume);
                    progress.after_raise(turn);
                    continue;
                }
                Recorded::Busy { .. } if !around.tampered.is_empty() => Ended::Failed("the service is busy".into()),
                Recorded::Busy { until, turn, .. } => {
                    ctx.sleep_until(UNIX_EPOCH + Duration::from_millis(until)).await?;
                    progress.next(turn, None);
                    continue;
                }
                Recorded::Down { outage, until, turn, why, .. } => {
                    if failure.is_some() {
                        ctx.emit(outage_message(&why, until, outage, &self.agent.retry)).await;
                    }
                    wait_until(until, ctx).await;
                    progress.next(turn, Some(outage));
                    continue;
                }
                Recorded::Refused { why, turn, .. } => {
                    *refusals += 1;
                    match self.decided(ctx, question, &why, *refusals)? {
                        Some(then) => Ended::Refused(why, then),
                        None => {
                            progress.next(turn, None);
                            continue;
                        }
                    }
                }
                Recorded::Failed { turn, .. } => {
                    if let Some(error) = failure {
                        return Err(failed(error));
                    }
                    progress.next(turn, None); // of an attempt before
                    continue;
                }
            };
            return Ok((ended, around));
        }
    }

    /// Asks a person what becomes of a session that the server refuses. None: the same turn goes on, with the model that they
    /// chose.
    fn decided<C>(
        &mut self,
        ctx: &Ctx<C>,
        question: Option<&SessionRefused>,
        why: &str,
        tries: u32,
    ) -> Result<Option<Then>, NodeError> {
        let Some(question) = question else { return Ok(Some(Then::Done)) };
        let mut asked = SessionRefused {
            role: self.agent.role.clone(),
            task: self.task.clone(),
            driver: self.agent.driver.clone(),
            model: self.agent.model.clone(),
            reason: why.to_owned(),
            tries,
            ..question.clone()
        };
        loop {
            match ctx.interrupt(asked.clone())? {
                AfterRefusal::Skip if self.task.is_empty() => {
                    asked.problem = Some("there is no task yet that could be skipped".into());
                }
                AfterRefusal::Model(name) if name.trim().is_empty() => {
                    asked.problem = Some("the model has no name".into());
                }
                AfterRefusal::Model(name) => {
                    self.agent.model = Some(name);
                    return Ok(None);
                }
                AfterRefusal::Retry => return Ok(None),
                AfterRefusal::Fresh => return Ok(Some(Then::Fresh)),
                AfterRefusal::Skip => return Ok(Some(Then::Skip)),
                AfterRefusal::Abort => return Ok(Some(Then::Abort)),
            }
        }
    }

    /// Asks once, and looks whether git was tampered with meanwhile: what a person changes while nothing runs is their own
    /// business.
    async fn guarded<T: Submit, C: Agents>(
        &self,
        ctx: &Ctx<C>,
        progress: &Progress,
        asks: bool,
        failure: &Mutex<Option<DriverError>>,
    ) -> Result<(Recorded, Around), NodeError> {
        let key = self.key_of(progress);
        let Some(folder) = &self.guard else {
            let around = Around::default();
            return Ok((self.once::<T, C>(ctx, key, (progress, asks), failure).await?, around));
        };
        let at = match &self.at {
            Some(base) => Some(folder.stand(ctx, &format!("{key}/stand"), base).await?),
            None => None,
        };
        let before = folder.guard(ctx, &key).await?;
        let recorded = self.once::<T, C>(ctx, key.clone(), (progress, asks), failure).await?;
        let tampered = folder.tampered(ctx, &key, &before).await?;
        Ok((recorded, Around { tampered, at, ..Around::default() }))
    }

    /// Asks once more, under the name that the turn had first. A failure of now is put into `failure`.
    async fn once<T: Submit, C: Agents>(
        &self,
        ctx: &Ctx<C>,
        key: String,
        (progress, asks): (&Progress, bool),
        failure: &Mutex<Option<DriverError>>,
    ) -> Result<Recorded, NodeError> {
        let digest = self.prompt.parts().digest();
        let prompt = self.prompt.parts().hashed();
        let asked = Asked {
            digest: &digest,
            role: &self.agent.role,
            driver: &self.agent.driver,
            model: self.agent.model.as_deref(),
            session: &self.session,
            submit: T::TOOL,
            prompts: [self.system.name(), self.prompt.name()],
            hashes: [self.system.hash(), self.prompt.hash()],
            prompt: &prompt,
        };
        let first = &progress.turn;
        let body = |turn: String| async move {
            if let Some(folder) = &self.guard {
                folder.hold(ctx).await?;
                if let Some(base) = &self.at {
                    folder.stands(ctx, base).await?; // also after a kill
                }
            }
            let (turn, texts) = (first.clone().unwrap_or(turn), self.texts().await?);
            let begins = self.recorded_texts(ctx.thread().is_some()).await?;
            let mut furthest = 0;
            let ledger = purse::ledger(ctx, &self.agent).map_err(failed)?;
            let group = match &self.together {
                Some(siblings) => Some(siblings.join(ctx).await?),
                None => None,
            };
            let cancel = group.as_ref().map(Group::token).unwrap_or_default();
            let ended = self.run::<T, C>(ctx, &ledger, turn.clone(), (texts, begins), (cancel, &mut furthest)).await;
            if let Some(why) = group.and_then(|group| group.stopped()).filter(|_| ended.is_err()) {
                return Ok(Recorded::Stopped { why, used: ledger.used_by(&turn) });
            }
            if let Some(spent) = purse::overdraft(&ledger, &ended, &turn) {
                return Ok(Recorded::Spent(spent));
            }
            let waits = (!self.is_optional).then_some(Waits { progress, furthest, retry: &self.agent.retry });
            let used = ledger.used_by(&turn);
            let (recorded, error) = recorded(ended, (turn, used), waits, asks);
            *failure.lock().unwrap_or_else(PoisonError::into_inner) = error;
            Ok::<_, NodeError>(recorded)
        };
        let probe = |turn: String| async move {
            let ledger = purse::ledger(ctx, &self.agent).map_err(failed)?;
            let driver = purse::metered(ctx, &self.agent, &ledger).map_err(failed)?;
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

    /// The usage of the turn that was counted when it was cut short.
    fn counted(&self) -> Usage {
        self.from.as_ref().filter(|from| from.turn.is_some()).map(|from| from.used).unwrap_or_default()
    }

    /// Returns the start of the turn: new, or at the end of an earlier task's turn.
    fn progress(&self) -> Progress {
        let mut progress = Progress::default();
        progress.turn = self.from.as_ref().and_then(|from| from.turn.clone());
        progress
    }

    fn key_of(&self, progress: &Progress) -> String {
        match progress.nth {
            0 => self.key.clone(),
            nth => format!("{}/{nth}", self.key),
        }
    }

    /// Carries the turn out; `furthest` grows with what it uses.
    async fn run<T: Submit, C: Agents>(
        &self,
        ctx: &Ctx<C>,
        ledger: &Ledger,
        turn: String,
        (texts, begins): (Texts, RecordedTexts),
        (cancel, furthest): (CancellationToken, &mut u64),
    ) -> Result<Finished, DriverError> {
        if cancel.is_cancelled() {
            return Err(DriverError::new(ErrorClass::Cancelled, "the turn was cancelled"));
        }
        let driver = purse::metered(ctx, &self.agent, ledger)?;
        let request = AgentRequest {
            model: self.agent.model.clone(),
            system: texts.system,
            session: self.session.clone(),
            turn,
            submit: Some(T::tool()),
            access: self.access.clone(),
            files: self.files.clone(),
            place: Place { run: thread(ctx), task: self.task.clone(), attempt: self.attempt },
            limits: self.agent.limits,
            cancel,
            ..AgentRequest::new(&self.agent.role, texts.prompt, &self.directory)
        };
        ctx.keep_message(&self.begins(&begins)).await;
        let mut transcript = Transcript::open(self.transcript.as_deref());
        let mut events = driver.run(request);
        while let Some(event) = events.next().await {
            ctx.heartbeat();
            let event = event?;
            transcript.add(&event);
            if let AgentEvent::Usage(usage) = &event {
                *furthest = usage.tokens().saturating_add(usage.requests).max(*furthest);
            }
            match event {
                AgentEvent::Finished(finished) => {
                    let finished = cut(finished);
                    ctx.keep_message(&AgentEvent::Finished(finished.clone())).await;
                    return Ok(finished);
                }
                AgentEvent::ToolCall { .. } | AgentEvent::ToolResult { .. } => ctx.keep_message(&event).await,
                event => ctx.emit_message(&event).await,
            }
        }
        Err(DriverError::unfinished(""))
    }
}

/// A failure of a driver as one of a node: what cannot succeed is not tried again by a retry policy.
fn failed(error: DriverError) -> NodeError {
    match error.class {
        ErrorClass::Transient | ErrorClass::RateLimited => NodeError::transient(error),
        _ => NodeError::permanent(error),
    }
}
