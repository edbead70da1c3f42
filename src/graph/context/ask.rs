//! Questions with terms: a time, a default, several people who answer.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use super::ctx::Ctx;
use super::interrupt::AskOutcome;
use super::lazy::Lazy;
use super::record::PLAIN;
use super::task::TaskCtx;
use crate::checkpoint::{EffectKind, TermsRecord};
use crate::graph::error::RunError;
use crate::graph::interrupt::{AskError, Interrupt, Interrupted};
use crate::graph::state::{Boxed, value};

/// A question on its way, with its terms: await it. Made by [`Ctx::ask`].
#[must_use = "a question is asked when it is awaited"]
pub struct Ask<'a, C, I: Interrupt>(Lazy<'a, NewAsk<'a, C, I>, Result<I::Resume, AskError>>);

/// A question that was not polled yet.
struct NewAsk<'a, C, I: Interrupt> {
    ctx: &'a Ctx<C>,
    question: I,
    key: Option<String>,
    expires: Option<Duration>,
    default: Option<I::Resume>,
    approvals: u32,
    approvers: Vec<String>,
}

impl<C, I: Interrupt> std::fmt::Debug for Ask<'_, C, I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.settings() {
            Some(new) => write!(f, "Ask({} of {:?})", I::NAME, new.ctx),
            None => write!(f, "Ask({})", I::NAME),
        }
    }
}

impl<C: Send + Sync + 'static> Ctx<C> {
    /// Asks a question that may expire, be cancelled, or need several people, as [`interrupt`](Self::interrupt) asks one that
    /// does not. Await it:
    ///
    /// ```
    /// # use std::{sync::Arc, time::Duration};
    /// # use superstep::graph::AskError;
    /// # use superstep::prelude::*;
    /// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Draft { public: bool }
    /// # #[derive(Serialize, Deserialize)] struct MayPublish;
    /// # impl Interrupt for MayPublish { type Resume = bool; const NAME: &'static str = "may_publish"; }
    /// async fn publish(_: Arc<Draft>, ctx: Ctx) -> Result<DraftUpdate, NodeError> {
    ///     let asked = ctx.ask(MayPublish).expires_after(Duration::from_secs(24 * 3600)).approvals(2).await;
    ///     let public = match asked {
    ///         Ok(answer) => answer,
    ///         Err(AskError::Expired { .. } | AskError::Cancelled { .. }) => false,
    ///         Err(other) => return Err(other.into()), // among them: there is no answer yet
    ///     };
    ///     Ok(Draft::update().public(public))
    /// }
    /// ```
    ///
    /// # Errors
    /// [`AskError::Interrupted`] is no failure: pass it on with `?`. The others say why there is no answer.
    pub fn ask<I: Interrupt>(&self, question: I) -> Ask<'_, C, I> {
        let (key, expires, default, approvers) = (None, None, None, vec![]);
        Ask(Lazy::New(NewAsk { ctx: self, question, key, expires, default, approvals: 1, approvers }))
    }
}

impl<C, I: Interrupt> Ask<'_, C, I> {
    /// Names the question within the task, as [`Ctx::interrupt_as`] does.
    pub fn key(self, key: impl Into<String>) -> Self {
        Self(self.0.set(|ask| ask.key = Some(key.into())))
    }

    /// Lets the question expire, counted from when it is asked first, across processes. From then on the next
    /// [`proceed`](crate::graph::Thread::proceed), or a [runner](crate::graph::runner()) by itself, answers it with its
    /// [default](Self::default), by `expiry`; without a default the node gets [`AskError::Expired`].
    pub fn expires_after(self, time: Duration) -> Self {
        Self(self.0.set(|ask| ask.expires = Some(time)))
    }

    /// Sets the answer that counts once the question has expired.
    pub fn default(self, answer: I::Resume) -> Self {
        Self(self.0.set(|ask| ask.default = Some(answer)))
    }

    /// Asks several people: the first answer that so many of them give is the answer. Each answers once, under a name
    /// ([`Answer::by`](crate::graph::Answer::by)). 1 unless set, 0 counts as 1.
    pub fn approvals(self, count: u32) -> Self {
        Self(self.0.set(|ask| ask.approvals = count.max(1)))
    }

    /// Lets only these people answer. Once no answer can get enough [approvals](Self::approvals) from those who are left, the
    /// node gets [`AskError::Disagreed`].
    pub fn approvers(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(self.0.set(|ask| {
            ask.approvers = names.into_iter().map(Into::into).collect();
            ask.approvers.sort_unstable();
            ask.approvers.dedup();
        }))
    }
}

impl<'a, C: Send + Sync + 'static, I: Interrupt + Sync> Ask<'a, C, I>
where
    I::Resume: Sync,
{
    /// Returns the question as a boxed future.
    pub fn into_future(self) -> Boxed<'a, Result<I::Resume, AskError>> {
        Box::pin(self)
    }
}

impl<C: Send + Sync + 'static, I: Interrupt + Sync> Future for Ask<'_, C, I>
where
    I::Resume: Sync,
{
    type Output = Result<I::Resume, AskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll(cx, NewAsk::run, || Err(Interrupted::new().into())) // its answer was taken
    }
}

impl<'a, C: Send + Sync + 'static, I: Interrupt + Sync> NewAsk<'a, C, I>
where
    I::Resume: Sync,
{
    fn run(self) -> Boxed<'a, Result<I::Resume, AskError>> {
        Box::pin(async move {
            let task = &*self.ctx.0;
            let terms = match task.terms(&self).await {
                Ok(terms) => terms,
                Err(error) => {
                    task.fail_with(error);
                    return Err(Interrupted::new().into());
                }
            };
            match task.interrupt(self.key.as_deref(), &self.question, Some(&terms)) {
                Ok(AskOutcome::Given(answer)) => Ok(answer),
                Ok(AskOutcome::Closed(closed)) => Err(closed.error(I::NAME)),
                Err(raised) => {
                    task.raise(*raised);
                    Err(Interrupted::new().into())
                }
            }
        })
    }
}

impl TaskCtx {
    /// The terms of a question, with the time that the first attempt noted.
    async fn terms<C, I: Interrupt>(&self, ask: &NewAsk<'_, C, I>) -> Result<Arc<TermsRecord>, RunError> {
        let many = ask.approvers.len();
        if many > 0 && (ask.approvals as usize) > many {
            let what = format!(
                "question `{}` of node `{}` needs {} approvals of {many} people",
                I::NAME,
                self.facts.name,
                ask.approvals
            );
            return Err(RunError::InvalidConfig { what });
        }
        let expires = match ask.expires {
            Some(time) => Some(self.expires::<I>(ask.key.as_deref(), time).await?),
            None => None,
        };
        let encode = |answer| {
            let what = || format!("default answer to `{}`", I::NAME);
            value::encode_both_ways(what, std::any::type_name::<I::Resume>(), answer)
        };
        let default = ask.default.as_ref().map(encode).transpose()?;
        let (approvals, approvers) = (ask.approvals, ask.approvers.clone());
        Ok(Arc::new(TermsRecord { expires, default, approvals, approvers, ..TermsRecord::default() }))
    }

    async fn expires<I: Interrupt>(&self, key: Option<&str>, time: Duration) -> Result<u64, RunError> {
        let key = match key {
            Some(key) => format!("{}={key}", I::NAME),
            None => self.next_key(EffectKind::Sleep, I::NAME),
        };
        let length = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.get_or_record(EffectKind::Sleep, (&key, PLAIN), || self.shared.now().saturating_add(length)).await
    }
}
