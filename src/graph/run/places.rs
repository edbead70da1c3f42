//! Where a question stands among those of its task: attempts, the error handler, and subgraphs that are not saved share the
//! task's answers. Each asker keeps its places, whoever else asks and in whatever order. Knows no question and no answer.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use super::ctx::{Answers, Borrowed, TaskCtx};

/// The places of a task's questions, by asker.
#[derive(Debug, Default)]
pub(crate) struct Places {
    known: BTreeMap<String, Vec<u32>>,
    next: u32,
}

impl Places {
    /// Those of questions that were asked before, and of answers.
    fn of(answers: &Answers) -> Self {
        let mut places = Self::default();
        for (place, asker) in answers.iter().flat_map(|known| &known.askers) {
            places.known.entry(asker.clone()).or_default().push(*place);
            places.next = place + 1;
        }
        places
    }

    /// The place of an asker's k-th question.
    fn of_question(&mut self, asker: String, k: usize) -> u32 {
        let Self { known, next } = self;
        let known = known.entry(asker).or_default();
        while known.len() <= k {
            known.push(*next);
            *next += 1;
        }
        known[k]
    }
}

impl<C> TaskCtx<C> {
    /// The place of the task's next question among all that are asked in the name of the same saved task.
    pub(crate) fn next_place(&self) -> u32 {
        let k = self.asked.fetch_add(1, Ordering::Relaxed) as usize;
        let lent = self.lend();
        lent.places.lock().unwrap_or_else(PoisonError::into_inner).of_question(self.asker(), k)
    }

    /// The nearest task that is saved: it asks in its own name, and tasks of a child that is not saved in that name too.
    pub(crate) fn lend(&self) -> Arc<Borrowed> {
        if let Some(borrowed) = &self.level.borrowed {
            return Arc::clone(borrowed);
        }
        let lend = || {
            let (answers, places) = (self.answers.clone(), Mutex::new(Places::of(&self.answers)));
            Arc::new(Borrowed { answers, places, checkpoint: self.checkpoint, task: self.task, id: self.id() })
        };
        Arc::clone(self.inside().lent.get_or_insert_with(lend))
    }

    /// Which of those that ask in one name this is: the same in each attempt, and when the subgraphs it is in start over.
    pub(crate) fn asker(&self) -> String {
        let by = if self.facts.handler { "!" } else { "" };
        match &self.level.borrowed {
            Some(_) => format!("{}:{}.{:x}{by}", self.level.asker, self.step, self.task),
            None => by.to_owned(),
        }
    }

    /// The same for the tasks of a subgraph that this task calls, before their own part. Another attempt calls anew.
    pub(crate) fn asker_inside(&self, call: u32) -> String {
        format!("{}/{}", self.asker(), call - self.inside().first_call)
    }

    /// Whether the task has called subgraphs or asked, and so left something behind in `inside`.
    pub(crate) fn left_anything(&self) -> bool {
        self.calls.load(Ordering::Relaxed) > 0 || self.asked.load(Ordering::Relaxed) > 0
    }
}
