//! Where a question stands among those of its task: attempts, the error handler, and subgraphs that are not saved share the
//! task's answers. Knows no question and no answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::ctx::{Answers, Borrowed, TaskCtx};

impl<C> TaskCtx<C> {
    /// The place of the task's next question among all that are asked in the name of the same saved task.
    pub(crate) fn next_place(&self) -> u32 {
        let own = self.asked.fetch_add(1, Ordering::Relaxed);
        let mut inside = self.inside();
        let Some(borrowed) = &self.level.borrowed else {
            return inside.lent.as_ref().map_or(own, |lent| lent.next_place());
        };
        if let Some(place) = inside.places.get(own as usize) {
            return *place;
        }
        let place = borrowed.next_place();
        inside.places.push(place);
        place
    }

    /// A child that is not saved asks in the name of the task it runs in, and counts on from that task's own questions.
    pub(crate) fn lend(&self) -> Arc<Borrowed> {
        let mut inside = self.inside();
        let lend = || {
            let (answers, asked) = (self.answers.clone(), AtomicU32::new(self.asked.load(Ordering::Relaxed)));
            Arc::new(Borrowed { answers, asked, checkpoint: self.checkpoint, task: self.task })
        };
        Arc::clone(inside.lent.get_or_insert_with(lend))
    }

    /// Whether the task has called subgraphs or asked, and so left something behind in `inside`.
    pub(crate) fn left_anything(&self) -> bool {
        self.calls.load(Ordering::Relaxed) > 0 || self.asked.load(Ordering::Relaxed) > 0
    }

    /// An error handler's questions come after those that the body has answers to.
    pub(crate) fn count_on(&self, answered: Option<u32>) {
        let so_far = || match &self.level.borrowed {
            Some(_) => self.inside().places.len() as u32,
            None => answered_so_far(&self.answers),
        };
        self.asked.store(answered.unwrap_or_else(so_far), Ordering::Relaxed);
    }
}

impl Borrowed {
    fn next_place(&self) -> u32 {
        self.asked.fetch_add(1, Ordering::Relaxed)
    }
}

/// The place after those that have answers.
pub(crate) fn answered_so_far(answers: &Answers) -> u32 {
    let last = answers.as_ref().and_then(|answers| answers.keys().next_back());
    last.map_or(0, |last| last + 1)
}
