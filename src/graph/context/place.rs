//! Where a task writes in the journal: the same place in every attempt, resume and replay, whatever numbers its checkpoints
//! get. Tells tasks of subgraphs apart by the way down to them.

use std::fmt::Write;
use std::sync::Arc;

use super::task::TaskCtx;
use crate::checkpoint::EffectKind;
use crate::graph::records::{Journal, SENT};

impl<C> TaskCtx<C> {
    /// The journal of the root graph's task that this one is, or is inside of.
    pub(crate) fn journal(&self) -> &Arc<Journal> {
        let own = || Arc::new(Journal::new(self.at.checkpoint, self.at.task, self.at.step));
        let found = self.level.journal.journal.as_ref().unwrap_or_else(|| self.journal.get_or_init(own));
        if self.attempt.again || self.attempt.number > 1 {
            found.begin_again();
        }
        found
    }

    /// The journal, if anything of this task has written to it.
    pub(crate) fn written_journal(&self) -> Option<&Arc<Journal>> {
        self.level.journal.journal.as_ref().or_else(|| self.journal.get())
    }

    /// The key of an entry; within an effect, under the effect's key.
    pub(crate) fn entry_key(&self, kind: EffectKind, key: &str) -> String {
        let scope = self.effect_scope();
        self.key_within(scope.as_ref().map_or("", |scope| scope.path()), kind, key)
    }

    fn key_within(&self, effects: &str, kind: EffectKind, key: &str) -> String {
        let kind = match kind {
            EffectKind::Effect => 'e',
            EffectKind::Value => 'v',
            EffectKind::Time => 't',
            EffectKind::Random => 'r',
            EffectKind::Sleep => 's',
            EffectKind::Failure => 'f',
            EffectKind::Signal => 'g',
        };
        format!("{}{effects}{kind}:{key}", self.place())
    }

    /// Returns the prefix of the keys of this task's own effects.
    pub(crate) fn own_effects(&self) -> String {
        self.key_within("", EffectKind::Effect, "")
    }

    /// A number drawn at random. With a seed it is the task's own, whatever ran before it.
    pub(crate) fn drawn(&self) -> u64 {
        let scope = self.effect_scope();
        let (within, nth) = match &scope {
            Some(scope) => (scope.path(), scope.used(EffectKind::Random)),
            None => ("", self.inside().journal.nth[EffectKind::Random as usize]),
        };
        let place = || {
            format!(
                "{} {} {:x} {} {within}{nth}",
                self.level.journal.place, self.at.step, self.at.task, self.facts.name
            )
        };
        self.shared.environment.outside.noise_at(place)
    }

    /// Returns the number of entries of a kind without keys of their own that this attempt has used.
    pub(crate) fn nth(&self, kind: EffectKind) -> u32 {
        if let Some(scope) = self.effect_scope() {
            return scope.next(kind);
        }
        let nth = &mut self.inside().journal.nth[kind as usize];
        *nth += 1;
        *nth - 1
    }

    /// The place of what a subgraph of this task writes.
    pub(crate) fn place_below(&self, call: u32) -> String {
        let first = self.inside().subgraphs.first_call;
        format!("{}{}/", self.place(), call.saturating_sub(first))
    }

    /// Superstep of the activation and task, as long as they are not the journal's own; handlers apart from bodies.
    fn place(&self) -> String {
        let mut place = self.level.journal.place.clone();
        if self.level.journal.journal.is_some() {
            let _ = write!(
                place,
                "{:x}/{}",
                self.at.version.saturating_sub(self.level.journal.base),
                escaped(&self.facts.first_name)
            );
            if self.at.task >= SENT {
                let _ = write!(place, ".{:x}", self.at.task - SENT);
            }
            place.push('/');
        }
        if self.facts.handler {
            place.push('!');
        }
        place
    }
}

pub(crate) fn escaped(name: &str) -> String {
    name.replace('%', "%25").replace('/', "%2F").replace('.', "%2E")
}
