//! Questions with terms: a time, a default, several people who answer.

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use super::asking::Answered;
use super::ctx::Ctx;
use super::recorded::PLAIN;
use super::task::TaskCtx;
use crate::checkpoint::{EffectKind, TermsRecord};
use crate::graph::error::RunError;
use crate::graph::interrupt::{AskError, Interrupt, Interrupted};
use crate::graph::state::{Boxed, value};

/// A question on its way, with its terms: await it. Made by [`Ctx::ask`].
#[must_use = "a question is asked when it is awaited"]
pub struct Ask<'a, C, I: Interrupt> {
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
        write!(f, "Ask({} of {:?})", I::NAME, self.ctx)
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
        Ask { ctx: self, question, key, expires, default, approvals: 1, approvers }
    }
}

impl<C, I: Interrupt> Ask<'_, C, I> {
    /// Names the question within the task, as [`Ctx::interrupt_as`] does.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Lets the question expire, counted from when it is asked first, across processes. From then on the next
    /// [`proceed`](crate::graph::Thread::proceed), or a [runner](crate::graph::runner()) by itself, answers it with its
    /// [default](Self::default), by `expiry`; without a default the node gets [`AskError::Expired`].
    pub fn expires_after(mut self, time: Duration) -> Self {
        self.expires = Some(time);
        self
    }

    /// Sets the answer that counts once the question has expired.
    pub fn default(mut self, answer: I::Resume) -> Self {
        self.default = Some(answer);
        self
    }

    /// Asks several people: the first answer that so many of them give is the answer. Each answers once, under a name
    /// ([`Answer::by`](crate::graph::Answer::by)). 1 unless set, 0 counts as 1.
    pub fn approvals(mut self, count: u32) -> Self {
        self.approvals = count.max(1);
        self
    }

    /// Lets only these people answer. Once no answer can get enough [approvals](Self::approvals) from those who are left, the
    /// node gets [`AskError::Disagreed`].
    pub fn approvers(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.approvers = names.into_iter().map(Into::into).collect();
        self.approvers.sort_unstable();
        self.approvers.dedup();
        self
    }
}

impl<'a, C: Send + Sync + 'static, I: Interrupt + Sync> IntoFuture for Ask<'a, C, I>
where
    I::Resume: Sync,
{
    type Output = Result<I::Resume, AskError>;
    type IntoFuture = Boxed<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let task = &*self.ctx.0;
            let terms = match task.terms(&self).await {
                Ok(terms) => terms,
                Err(error) => {
                    task.wrong(error);
                    return Err(Interrupted::new().into());
                }
            };
            match task.interrupt(self.key.as_deref(), &self.question, Some(&terms)) {
                Ok(Answered::Given(answer)) => Ok(answer),
                Ok(Answered::Closed(closed)) => Err(closed.error(I::NAME)),
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
    async fn terms<C, I: Interrupt>(&self, ask: &Ask<'_, C, I>) -> Result<Arc<TermsRecord>, RunError> {
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
            None => self.counted(EffectKind::Sleep, I::NAME),
        };
        let length = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.recorded(EffectKind::Sleep, (&key, PLAIN), || self.shared.now().saturating_add(length)).await
    }
}
