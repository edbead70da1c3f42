//! The runs of an effect: in which attempt of its task, how long, how they ended. Knows no body.

use super::effect::Entry;
use super::task::TaskCtx;
use crate::checkpoint::{EffectEnd, EffectRun};

impl TaskCtx {
    /// Returns the number of the attempt over all runs.
    pub(crate) fn nth_attempt(&self) -> u32 {
        self.attempt.earlier + self.attempt.number
    }

    /// The run of an effect that starts with an entry made now, and ends with it.
    pub(super) fn run(&self, at: u64, end: EffectEnd) -> EffectRun {
        let took = self.shared.now().saturating_sub(at);
        EffectRun { attempt: self.nth_attempt(), before: 0, took, end }
    }

    /// The run of an effect that an earlier attempt started and did not end.
    pub(super) fn dropped(&self, key: &str, at: u64) -> Vec<EffectRun> {
        let run = |(attempt, started)| EffectRun {
            attempt,
            before: at.saturating_sub(started),
            took: 0,
            end: EffectEnd::Dropped,
        };
        self.journal().stop(key).map(run).into_iter().collect()
    }

    /// Notes that the body of an effect starts.
    pub(super) fn starts(&self, entry: &Entry) {
        self.journal().start(&entry.key, self.nth_attempt(), self.shared.now());
    }
}

impl Entry {
    /// Adds the run that came to its result.
    pub(super) fn ends(&mut self, task: &TaskCtx, end: EffectEnd) {
        let run = task.run(self.record.at, end);
        self.record.runs.push(run);
    }
}
