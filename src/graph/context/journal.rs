//! The journal of a task, and the path below which the task writes in it. The path is the same in every attempt, resume and
//! replay, and distinguishes the tasks of subgraphs.

use std::sync::Arc;

use super::task::TaskCtx;
use crate::checkpoint::EffectKind;
use crate::graph::records::{Journal, JournalPath, PathTask, SENT};

impl TaskCtx {
    /// The journal of the root graph's task that this one is, or is inside of.
    pub(crate) fn journal(&self) -> &Arc<Journal> {
        let own = || Arc::new(Journal::new(self.at.checkpoint, self.at.task, self.at.step));
        let found = self.scope.journal.journal.as_ref().unwrap_or_else(|| self.journal.get_or_init(own));
        if self.attempt.again || self.attempt.number > 1 {
            found.begin_again();
        }
        found
    }

    /// The journal, if anything of this task has written to it.
    pub(crate) fn written_journal(&self) -> Option<&Arc<Journal>> {
        self.scope.journal.journal.as_ref().or_else(|| self.journal.get())
    }

    /// The key of an entry; within an effect, under the effect's key.
    pub(crate) fn entry_key(&self, kind: EffectKind, key: &str) -> String {
        let path = self.journal_path();
        let scope = self.effect_scope();
        let path = if let Some(scope) = &scope { path.within(scope.path()) } else { path };
        path.entry(kind, key)
    }

    /// Returns the prefix of the keys of this task's own effects.
    pub(crate) fn own_effects(&self) -> String {
        self.journal_path().entry(EffectKind::Effect, "")
    }

    /// A number drawn at random. With a seed it is the task's own, whatever ran before it.
    pub(crate) fn drawn(&self) -> u64 {
        let scope = self.effect_scope();
        let (within, nth) = match &scope {
            Some(scope) => (scope.path().as_str(), scope.used(EffectKind::Random)),
            None => ("", self.state().journal.nth[EffectKind::Random as usize]),
        };
        let place = || {
            format!(
                "{} {} {:x} {} {within}{nth}",
                self.scope.journal.path.as_str(),
                self.at.step,
                self.at.task,
                self.facts.name
            )
        };
        self.shared.environment.host.random_at(place)
    }

    /// Returns the number of entries of a kind without keys of their own that this attempt has used.
    pub(crate) fn nth(&self, kind: EffectKind) -> u32 {
        if let Some(scope) = self.effect_scope() {
            return scope.next(kind);
        }
        let nth = &mut self.state().journal.nth[kind as usize];
        *nth += 1;
        *nth - 1
    }

    /// The path of what a subgraph of this task writes.
    pub(crate) fn path_below(&self, call: u32) -> JournalPath {
        let first = self.state().subgraphs.first_call;
        self.journal_path().subgraph(call.saturating_sub(first))
    }

    /// The path of what this task writes; handlers apart from bodies.
    fn journal_path(&self) -> JournalPath {
        let scope = &self.scope.journal;
        let own = || PathTask {
            round: self.at.version.saturating_sub(scope.base),
            node: &self.facts.first_name,
            sent: self.at.task.checked_sub(SENT),
        };
        let path = if scope.journal.is_some() { scope.path.task(own()) } else { scope.path.clone() };
        if self.facts.handler { path.handler() } else { path }
    }
}
