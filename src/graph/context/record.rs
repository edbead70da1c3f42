//! What a task learns and must learn again the same: values, the time, chance; and waiting for a time. Entries ride on the
//! next commit of the task.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde::de::DeserializeOwned;
use superstep_base::time::millis;

use super::ctx::Ctx;
use super::journal::{JournalLookup, entry_name};
use super::task::{AttemptStop, TaskCtx};
use crate::checkpoint::EffectKind;
use crate::graph::error::{NodeError, RunError};
use crate::graph::interrupt::Interrupted;
use crate::graph::records::HALF_ID;
use crate::graph::records::ids::uuid;
use crate::graph::state::Canon;

/// The key of a value that is recorded as it is.
pub(crate) const PLAIN: &str = "";

impl<C: Send + Sync + 'static> Ctx<C> {
    /// Records a value under a key, and returns what was recorded there first: every later attempt of the task gets that, as
    /// does a replay. It rides on the task's next commit: a killed process may record another. For what has to be on disk
    /// before it is used there is [`effect`](Self::effect).
    ///
    /// # Errors
    /// If the key is used twice by one attempt, or the value cannot be stored or read back: the task ends with that.
    pub async fn record<T>(&self, key: impl Into<String>, value: T) -> Result<T, NodeError>
    where
        T: Serialize + DeserializeOwned + Send,
    {
        let key = key.into();
        self.0.get_or_record(EffectKind::Value, (&key, PLAIN), || value).await.map_err(|wrong| self.0.fail_with(wrong))
    }

    /// Returns the time, the same in every attempt and replay of the task: the n-th call gets the n-th recorded time. To the
    /// millisecond.
    ///
    /// Calls are counted per node, and per effect inside one. The branches of a `join!` are counted together: where one of
    /// them may interrupt or fail, call this inside an [`effect`](Self::effect) of the branch, or use
    /// [`record`](Self::record), which goes by key. The same holds for `random`, `new_id` and `sleep`.
    ///
    /// # Errors
    /// If it cannot be read back, or nothing may be recorded any more (10,000 entries): the task ends with that.
    pub async fn now(&self) -> Result<SystemTime, NodeError> {
        let now = self.record_number(EffectKind::Time, PLAIN, || self.0.shared.now()).await?;
        Ok(UNIX_EPOCH + Duration::from_millis(now))
    }

    /// Returns a number drawn at random, the same in every attempt and replay of the task. Not for secrets.
    ///
    /// # Errors
    /// As [`now`](Self::now).
    pub async fn random(&self) -> Result<u64, NodeError> {
        self.record_number(EffectKind::Random, PLAIN, || self.0.draw_random()).await
    }

    /// Returns a name that nothing else has, the same in every attempt and replay of the task: a random UUID, version 4.
    ///
    /// # Errors
    /// As [`now`](Self::now).
    pub async fn new_id(&self) -> Result<String, NodeError> {
        let half = || self.record_number(EffectKind::Random, HALF_ID, || self.0.draw_random());
        let (high, low) = (half().await?, half().await?);
        Ok(uuid(high, low))
    }

    /// Waits for a time, across processes: the run ends with [`Outcome::Waiting`](crate::graph::Outcome) once nothing else is
    /// left to do, and [`proceed`](crate::graph::Thread::proceed) runs the node again, from its beginning, when the time
    /// has come. The n-th wait of a task keeps the time it was given first. Without a store it waits in place.
    ///
    /// ```
    /// # use std::{sync::Arc, time::Duration};
    /// # use superstep::prelude::*;
    /// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Order { paid: bool }
    /// async fn remind(order: Arc<Order>, ctx: Ctx) -> Result<OrderUpdate, NodeError> {
    ///     ctx.sleep(Duration::from_secs(7 * 24 * 3600)).await?; // the process may end meanwhile
    ///     Ok(Order::update())
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Interrupted`] is no failure: pass it on with `?`.
    pub async fn sleep_until(&self, time: SystemTime) -> Result<(), Interrupted> {
        self.wait_until(millis(time)).await
    }

    /// Waits for this time; see [`sleep_until`](Self::sleep_until).
    ///
    /// # Errors
    /// As [`sleep_until`](Self::sleep_until).
    pub async fn sleep(&self, duration: Duration) -> Result<(), Interrupted> {
        let length = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        self.wait_until(self.0.shared.now().saturating_add(length)).await
    }

    async fn wait_until(&self, until: u64) -> Result<(), Interrupted> {
        let task = &*self.0;
        let key = task.nth(EffectKind::Sleep).to_string();
        let raised = match task.get_or_record(EffectKind::Sleep, (&key, PLAIN), || until).await {
            Err(wrong) => AttemptStop::Wrong(wrong),
            Ok(until) => {
                let left = until.saturating_sub(task.shared.now());
                if left == 0 || task.journal().is_replay() {
                    return Ok(());
                }
                if task.shared.recorder.is_none() && task.shared.environment.stage.is_none() {
                    tokio::time::sleep(Duration::from_millis(left)).await;
                    return Ok(());
                }
                AttemptStop::Sleep(until)
            }
        };
        task.raise(raised);
        Err(Interrupted::new())
    }

    async fn record_number(
        &self,
        kind: EffectKind,
        shown: &'static str,
        value: impl FnOnce() -> u64 + Send,
    ) -> Result<u64, NodeError> {
        let key = self.0.nth(kind).to_string();
        self.0.get_or_record(kind, (&key, shown), value).await.map_err(|wrong| self.0.fail_with(wrong))
    }
}

impl TaskCtx {
    /// Returns what was recorded under a key first, or records a value. `shown` says of a number what it is part of.
    pub(crate) async fn get_or_record<T>(
        &self,
        kind: EffectKind,
        (key, shown): (&str, &'static str),
        value: impl FnOnce() -> T + Send,
    ) -> Result<T, RunError>
    where
        T: Serialize + DeserializeOwned + Send,
    {
        let task = self;
        match task.begin_entry(kind, key, Ok(Canon::Nil)).await? {
            JournalLookup::Recorded(record) => task.decode_result(key, &record),
            JournalLookup::Failed(_) => Err(RunError::NotRecorded {
                node: task.facts.name.clone(),
                what: entry_name(kind, key),
                now: String::new(),
            }),
            JournalLookup::New(mut entry) => {
                let value = value();
                entry.set(key, &value)?;
                shown.clone_into(&mut entry.record.shown);
                task.note(entry).map_or(Ok(value), |first| task.decode_result(key, &first))
            }
        }
    }
}
