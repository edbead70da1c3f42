//! Where a question stands among those of its task: attempts, the error handler, and subgraphs that are not saved share the
//! task's answers. Knows no question and no answer.

use std::sync::atomic::Ordering;

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
