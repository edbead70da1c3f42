//! The requests of a turn: each is journalled and sent once, after waits for a busy service or an outage, or after a
//! person's answer if the server refuses the session. Knows no task.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use serde::Serialize;
use superstep_base::moved::{present_path, text};
use tokio_util::sync::CancellationToken;

use super::agents::Agents;
use super::budget::{self, BlockedTurn, Overdraft};
use super::journal::{RecordCopy, RecordedTexts, Texts, Transcript};
use super::outcome::{Progress, RequestRecord, RetryContext, outage_message, record_end, truncate_text, wait_until};
use super::submit::Submit;
use super::tool_spans::ToolSpans;
use super::turn::{CutOff, CutReason, NextStep, RequestEnd, RequestState, Turn};
use crate::drivers::{
    AgentEvent, AgentRequest, Driver, DriverError, DriverErrorClass, Finished, Ledger, NewLimits, Session, TurnPlace,
    Usage,
};
use crate::graph::{Ctx, NodeError};
use crate::nodes::ask::{AfterRefusal, SessionRefused};
use crate::nodes::events::note_pending;
use crate::nodes::git::{Base, failed as git_failed, thread};
use crate::nodes::prompts::Parts;
use crate::nodes::siblings::Group;

/// Time after the start of a turn from which no lock of git is one of its agent.
const AGENT_LIMIT: Duration = Duration::from_secs(24 * 3600);

/// The parts of a request that its answer depends on: a recorded answer fits no other request.
#[derive(Serialize)]
struct RequestKey<'a> {
    /// Hash of the whole prompt, since long texts are not part of the key.
    digest: &'a str,
    role: &'a str,
    driver: &'a str,
    model: Option<&'a str>,
    session: &'a Session,
    submit: &'static str,
    prompts: [&'a str; 2],
    hashes: [&'a str; 2],
    /// Long texts are replaced by their hashes.
    prompt: &'a Parts,
}

impl Turn {
    /// Sends the request until there is a response: after waits for a busy service or an outage, and after a person's
    /// answer to `question` if the server refuses the session. A failure is the task's; its next attempt sends the
    /// request again.
    pub(super) async fn send_with_retries<T: Submit, C: Agents>(
        &mut self,
        ctx: &Ctx<C>,
        question: Option<&SessionRefused>,
        refusals: &mut u32,
    ) -> Result<(RequestEnd, RequestState), NodeError> {
        let (mut progress, mut raised) = (self.progress(), NewLimits::default());
        let (mut ended_before, mut ended_turns) = (Usage::default(), 0);
        self.report_label(ctx).await;
        loop {
            // Set by the body of the effect only: it stays empty if the request is read from the journal.
            let failure = Mutex::new(None);
            let guarded = self.send_guarded::<T, C>(ctx, &progress, question.is_some(), &failure).await?;
            let Some((recorded, mut around)) = guarded else {
                let around = RequestState { raised, used: ended_before, is_aborted: true, ..RequestState::default() };
                return Ok((RequestEnd::Refused("the branch of the run was moved".into(), NextStep::Abort), around));
            };
            let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
            let recorded = recorded.without_usage(self.counted_usage());
            self.report_request(ctx, ended_turns, &recorded).await;
            let used = recorded.unreported_usage();
            (around.raised, around.used) = (raised, ended_before);
            around.used += used;
            // No further request after tampering: what git runs may have been changed.
            let is_final = self.is_optional || !around.tampered.is_empty();
            let ended = match recorded {
                RequestRecord::Finished(finished) => RequestEnd::Finished(finished),
                RequestRecord::SessionLost { .. } => RequestEnd::SessionLost,
                RequestRecord::Failed { why, .. }
                | RequestRecord::Refused { why, .. }
                | RequestRecord::Down { why, .. }
                    if is_final =>
                {
                    RequestEnd::Failed(why)
                }
                RequestRecord::Spent(_) if is_final => RequestEnd::Failed("the budget of the run is used up".into()),
                RequestRecord::Failed { why, .. } if self.failure_is_answer => RequestEnd::Failed(why),
                RequestRecord::Stopped { why, .. } => around.cut_short(CutReason::Stopped(why)),
                RequestRecord::Failed { why, .. } if self.together.is_some() => {
                    around.cut_short(CutReason::Failed(why))
                }
                RequestRecord::Spent(Overdraft { turn, session, mut used, .. })
                    if self.together.is_some() || self.ends_with_budget =>
                {
                    used += self.counted_usage();
                    around.cut_short(CutReason::Spent(CutOff { turn, session, used }))
                }
                RequestRecord::Spent(Overdraft { account, turn, session, .. }) => {
                    let key = self.key_of(&progress);
                    let spent = BlockedTurn { agent: &self.agent, task: &self.task, key: &key, account };
                    let Some(by) = budget::ask_to_raise(ctx, spent).await? else {
                        around.is_aborted = true;
                        return Ok((RequestEnd::Refused("its budget was used up".into(), NextStep::Abort), around));
                    };
                    raised = raised.latest(by);
                    if turn.is_none() {
                        ended_before += used; // it is done in a new turn
                        ended_turns += 1;
                    }
                    self.session = session.map_or_else(|| self.session.clone(), Session::Resume);
                    progress.after_raise(turn);
                    continue;
                }
                RequestRecord::Busy { .. } if !around.tampered.is_empty() => {
                    RequestEnd::Failed("the service is busy".into())
                }
                RequestRecord::Busy { until, turn, .. } => {
                    ctx.sleep_until(UNIX_EPOCH + Duration::from_millis(until)).await?;
                    progress.next(turn, None);
                    continue;
                }
                RequestRecord::Down { outage, until, turn, why, .. } => {
                    if failure.is_some() {
                        ctx.emit(outage_message(&why, until, outage, &self.agent.retry)).await;
                    }
                    wait_until(until, ctx).await;
                    progress.next(turn, Some(outage));
                    continue;
                }
                RequestRecord::Refused { why, turn, .. } => {
                    *refusals += 1;
                    match self.ask_about_refusal(ctx, question, &why, *refusals)? {
                        Some(then) => RequestEnd::Refused(why, then),
                        None => {
                            progress.next(turn, None);
                            continue;
                        }
                    }
                }
                RequestRecord::Failed { turn, .. } => {
                    if let Some(error) = failure {
                        return Err(driver_error(error));
                    }
                    progress.next(turn, None); // of an attempt before
                    continue;
                }
            };
            return Ok((ended, around));
        }
    }

    /// Asks a person about a session that the server refuses. None: continue the same turn, with the model that they
    /// chose.
    fn ask_about_refusal<C>(
        &mut self,
        ctx: &Ctx<C>,
        question: Option<&SessionRefused>,
        why: &str,
        tries: u32,
    ) -> Result<Option<NextStep>, NodeError> {
        let Some(question) = question else { return Ok(Some(NextStep::Done)) };
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
                    asked.problem = Some("there is no task to skip yet".into());
                }
                AfterRefusal::Model(name) if name.trim().is_empty() => {
                    asked.problem = Some("the name of the model is empty".into());
                }
                AfterRefusal::Model(name) => {
                    self.agent.model = Some(name);
                    return Ok(None);
                }
                AfterRefusal::Retry => return Ok(None),
                AfterRefusal::Fresh => return Ok(Some(NextStep::Fresh)),
                AfterRefusal::Skip => return Ok(Some(NextStep::Skip)),
                AfterRefusal::Abort => return Ok(Some(NextStep::Abort)),
            }
        }
    }

    /// Sends the request once, and checks whether git was tampered with during it: changes that a person makes while
    /// nothing runs are allowed. None: a person ended the run, because its branch was moved.
    async fn send_guarded<T: Submit, C: Agents>(
        &mut self,
        ctx: &Ctx<C>,
        progress: &Progress,
        asks: bool,
        failure: &Mutex<Option<DriverError>>,
    ) -> Result<Option<(RequestRecord, RequestState)>, NodeError> {
        let key = self.key_of(progress);
        let Some(folder) = self.guard.clone() else {
            let around = RequestState::default();
            return Ok(Some((self.send_once::<T, C>(ctx, key, (progress, asks), failure).await?, around)));
        };
        let at = match &self.at {
            Some(base) => match folder.arrive(ctx, &format!("{key}/stand"), base).await? {
                Some(arrival) => Some(arrival),
                None => return Ok(None),
            },
            None => None,
        };
        if let Some(arrival) = &at {
            self.notes.add(arrival.notices.clone());
            self.at = Some(arrival.base.clone());
            self.started = arrival.turn.started;
        }
        let before = folder.guard(ctx, &key).await?;
        let recorded = self.send_once::<T, C>(ctx, key.clone(), (progress, asks), failure).await?;
        let Some(arrival) = at else {
            let tampered = folder.tampering_since(ctx, &key, &before).await?;
            return Ok(Some((recorded, RequestState { tampered, ..RequestState::default() })));
        };
        let after = folder.after_request(ctx, &key, &before, &arrival.turn).await?;
        let (tampered, notices, at) = after.into_parts();
        self.notes.add(notices);
        // A person may have made commits beneath those of the agent, while a killed process waited to be repeated.
        let arrival = folder.settle(ctx, &format!("{key}/after"), &arrival, at).await?;
        self.notes.add(arrival.notices.clone());
        let at = Some(Base { at: arrival.turn, tree: arrival.base.tree });
        Ok(Some((recorded, RequestState { tampered, at, ..RequestState::default() })))
    }

    /// Sends the request under the turn's first name. A new failure is put into `failure`.
    async fn send_once<T: Submit, C: Agents>(
        &self,
        ctx: &Ctx<C>,
        key: String,
        (progress, asks): (&Progress, bool),
        failure: &Mutex<Option<DriverError>>,
    ) -> Result<RequestRecord, NodeError> {
        let digest = self.prompt.parts().digest();
        let prompt = self.prompt.parts().with_hashes();
        let asked = RequestKey {
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
            // Before the agent: HEAD is put in place, and git locks, HEAD's moves and task records are watched.
            let (mut note, mut watch) = (None, None);
            if let Some(folder) = &self.guard {
                let workspace = folder.hold(ctx).await?;
                if let Some(base) = &self.at {
                    folder.checkout_head(ctx, base, self.started).await?; // also after a kill
                }
                let noted = workspace.note_agent(AGENT_LIMIT).await.map_err(git_failed)?;
                let main = workspace.common_dir().parent().unwrap_or(workspace.root()).to_owned();
                let records = RecordCopy::of(&[workspace.root(), &main]);
                watch = Some(workspace.watch_turn(&thread(ctx), &ctx.task_id()).await.map_err(git_failed)?);
                note = Some((workspace, noted, records));
            }
            let (turn, texts) = (first.clone().unwrap_or(turn), self.texts().await?);
            let start_message = self.recorded_texts(ctx.thread().is_some()).await?;
            let mut furthest = 0;
            let ledger = budget::ledger(ctx, &self.agent).map_err(driver_error)?;
            // A sibling that fails stops this turn through the token of the group.
            let group = match &self.together {
                Some(siblings) => Some(siblings.join(ctx).await?),
                None => None,
            };
            let cancel = group.as_ref().map(Group::token).unwrap_or_default();
            let ended =
                self.run::<T, C>(ctx, &ledger, turn.clone(), (texts, start_message), (cancel, &mut furthest)).await;
            drop(watch); // what is committed from now on is a person's
            if let Some((workspace, note, records)) = note {
                workspace.agent_ended(note).await.map_err(git_failed)?;
                for notice in records.put_back() {
                    note_pending(ctx, notice).await;
                }
            }
            if let Some(why) = group.and_then(|group| group.stop_reason()).filter(|_| ended.is_err()) {
                return Ok(RequestRecord::Stopped { why, used: ledger.used_by(&turn) });
            }
            // After the check for a stop of the group, since the error of a stopped turn is not its own.
            if let Some(spent) = budget::overdraft(&ledger, &ended, &turn) {
                return Ok(RequestRecord::Spent(spent));
            }
            // Nothing waits for a service in an optional turn: its failure is final.
            let waits = (!self.is_optional).then_some(RetryContext { progress, furthest, retry: &self.agent.retry });
            let used = ledger.used_by(&turn);
            let (recorded, error) = record_end(ended, (turn, used), waits, asks);
            *failure.lock().unwrap_or_else(PoisonError::into_inner) = error;
            Ok::<_, NodeError>(recorded)
        };
        // After a kill, the driver may know the end of a turn that the journal has not recorded.
        let probe = |turn: String| async move {
            let ledger = budget::ledger(ctx, &self.agent).map_err(driver_error)?;
            let driver = budget::metered_driver(ctx, &self.agent, &ledger).map_err(driver_error)?;
            let session = match &self.session {
                Session::Resume(session) => Some(session),
                Session::New => None,
            };
            let turn = first.clone().unwrap_or(turn);
            let ended = driver.finished_turn(session, &turn).await.map_err(driver_error)?;
            Ok::<_, NodeError>(ended.map(|finished| RequestRecord::Finished(truncate_text(finished))))
        };
        ctx.effect(key, &asked, body).probe(probe).await
    }

    /// Returns the usage that was already counted when the turn was cut short.
    fn counted_usage(&self) -> Usage {
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

    /// Runs the turn; `furthest` grows with its usage.
    async fn run<T: Submit, C: Agents>(
        &self,
        ctx: &Ctx<C>,
        ledger: &Ledger,
        turn: String,
        (texts, start_message): (Texts, RecordedTexts),
        (cancel, furthest): (CancellationToken, &mut u64),
    ) -> Result<Finished, DriverError> {
        if cancel.is_cancelled() {
            return Err(DriverError::new(DriverErrorClass::Cancelled, "the turn was cancelled"));
        }
        let driver = budget::metered_driver(ctx, &self.agent, ledger)?;
        let request = AgentRequest {
            model: self.agent.model.clone(),
            system: text(&texts.system).into_owned(),
            session: self.session.clone(),
            turn,
            submit: Some(T::tool()),
            access: self.access.clone(),
            files: self.files.iter().map(present_path).collect(),
            place: TurnPlace { run: thread(ctx), task: self.task.clone(), attempt: self.attempt },
            limits: self.agent.limits,
            cancel,
            ..AgentRequest::new(&self.agent.role, text(&texts.prompt), present_path(&self.directory))
        };
        // In the journal, each turn starts with its prompts.
        ctx.keep_message(&self.start_message(&start_message)).await;
        let (mut transcript, mut tools) = (Transcript::open(self.transcript.as_deref()), ToolSpans::default());
        let mut events = driver.run(request);
        while let Some(event) = events.next().await {
            ctx.heartbeat();
            let event = event?;
            transcript.add(&event);
            tools.on_event(&event);
            if let AgentEvent::Usage(usage) = &event {
                *furthest = usage.tokens().saturating_add(usage.requests).max(*furthest);
            }
            match event {
                AgentEvent::Finished(finished) => {
                    let finished = truncate_text(finished);
                    ctx.keep_message(&AgentEvent::Finished(finished.clone())).await;
                    return Ok(finished);
                }
                // Tool calls belong to the journal; texts and usage are only streamed.
                AgentEvent::ToolCall { .. } | AgentEvent::ToolResult { .. } => ctx.keep_message(&event).await,
                event => ctx.emit_message(&event).await,
            }
        }
        // The driver ended its stream without a result.
        Err(DriverError::no_result(""))
    }
}

/// Converts a driver's failure: a permanent one is not retried by a retry policy.
fn driver_error(error: DriverError) -> NodeError {
    match error.class {
        DriverErrorClass::Transient | DriverErrorClass::RateLimited => NodeError::transient(error),
        _ => NodeError::permanent(error),
    }
}
