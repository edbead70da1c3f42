//! The scope of an effect's body. The body does not run once the effect is recorded, so whatever it asks, records or draws is
//! counted under the effect's key, apart from what the node does beside it. Knows no journal and no question.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::task::TaskCtx;
use crate::checkpoint::EffectKind;
use crate::graph::records::JournalPath;

tokio::task_local! {
    static CURRENT: Arc<EffectScope>;
}

/// The body, or the probe, of an effect that is running.
#[derive(Debug)]
pub(crate) struct EffectScope {
    /// The address of the task's context: an effect may run other graphs, which have tasks of their own.
    task: usize,
    key: String,
    /// The keys of the effects on the way down, the way journals and askers name them.
    path: JournalPath,
    outer: Option<Arc<EffectScope>>,
    asked: AtomicU32,
    drawn: [AtomicU32; EffectKind::COUNT],
    /// Set once the body has interrupted or started to wait: its result does not count.
    stopped: AtomicBool,
}

impl EffectScope {
    fn is_of(&self, task: &TaskCtx) -> bool {
        self.task == address(task)
    }

    /// Returns the key of the effect.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Returns the keys of the effects on the way down.
    pub(crate) fn path(&self) -> &JournalPath {
        &self.path
    }

    /// Returns the keys of the effects on the way down, as their bodies gave them.
    pub(crate) fn keys(&self) -> Vec<String> {
        let outer = self.outer.as_ref().filter(|outer| outer.task == self.task);
        outer.map(|outer| outer.keys()).unwrap_or_default().into_iter().chain([self.key.clone()]).collect()
    }

    /// Returns how many questions were asked here before this one.
    pub(crate) fn next_question(&self) -> u32 {
        self.asked.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns how many entries of a kind were used here.
    pub(crate) fn used(&self, kind: EffectKind) -> u32 {
        self.drawn[kind as usize].load(Ordering::Relaxed)
    }

    /// Returns the number of the next entry of a kind.
    pub(crate) fn next(&self, kind: EffectKind) -> u32 {
        self.drawn[kind as usize].fetch_add(1, Ordering::Relaxed)
    }

    /// Marks the body, and those of the effects around it, as stopped.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.outer.iter().filter(|outer| outer.task == self.task).for_each(|outer| outer.stop());
    }

    pub(crate) fn has_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

impl TaskCtx {
    /// Returns the effect of this task whose body is being polled.
    pub(crate) fn effect_scope(&self) -> Option<Arc<EffectScope>> {
        let mut scope = CURRENT.try_with(Arc::clone).ok();
        while let Some(inner) = scope.take_if(|scope| !scope.is_of(self)) {
            scope.clone_from(&inner.outer);
        }
        scope
    }

    /// Makes the scope of an effect under this key. `part` tells a probe from a body.
    pub(crate) fn new_effect_scope(&self, key: &str, part: &str) -> Arc<EffectScope> {
        let outer = CURRENT.try_with(Arc::clone).ok();
        let path = self.effect_scope().map(|scope| scope.path.clone()).unwrap_or_default().effect(key, part);
        Arc::new(EffectScope {
            task: address(self),
            key: key.to_owned(),
            path,
            outer,
            asked: AtomicU32::default(),
            drawn: Default::default(),
            stopped: AtomicBool::default(),
        })
    }
}

/// Runs the body of an effect in its scope.
pub(crate) async fn within<T>(scope: Arc<EffectScope>, body: impl Future<Output = T>) -> T {
    CURRENT.scope(scope, body).await
}

fn address(task: &TaskCtx) -> usize {
    std::ptr::from_ref(task) as usize
}
