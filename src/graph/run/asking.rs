//! How a node asks a person, and gets the answer when it runs again. Knows no store.

use std::any::type_name;
use std::sync::Arc;

use super::clock;
use super::ctx::{Borrowed, Ctx, Raised, TaskCtx};
use super::error::RunError;
use crate::graph::channels::canon::Canon;
use crate::graph::channels::{reading, value};
use crate::graph::define::interrupt::{Interrupt, InterruptId, Interrupted, Question, Shows};

impl<C> Ctx<C> {
    /// Returns a number that tells the run's thread from others of its name.
    #[cfg_attr(not(feature = "agents"), allow(dead_code, reason = "only workflows ask for it"))]
    pub(crate) fn birth(&self) -> u64 {
        self.0.birth()
    }

    /// Returns the answer to a question, or stops the node until there is one.
    ///
    /// The node runs again from its beginning once the answer is there; its k-th question gets its k-th answer. The question
    /// is stored with the task, the answer when it is given. LangGraph: `interrupt`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use superstep::prelude::*;
    /// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Draft { title: String }
    /// # #[derive(Serialize, Deserialize)] struct Title { old: String }
    /// # impl Interrupt for Title { type Resume = String; const NAME: &'static str = "title"; }
    /// async fn entitle(draft: Arc<Draft>, ctx: Ctx) -> Result<DraftUpdate, NodeError> {
    ///     let title: String = ctx.interrupt(Title { old: draft.title.clone() })?; // on the node: `.asks::<Title>()`
    ///     Ok(Draft::update().title(title))
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Interrupted`] is no failure: pass it on with `?`.
    pub fn interrupt<I: Interrupt>(&self, question: I) -> Result<I::Resume, Interrupted> {
        let lent = self.0.lend();
        let place = self.0.next_place();
        let raised = match lent.answers.as_ref().and_then(|known| known.answers.get(&place)) {
            Some((name, _)) if name != I::NAME => Raised::Wrong(self.0.changed::<I>(place, name)),
            Some(_) if let Some(differs) = self.0.asks_otherwise(&lent, place, &question) => Raised::Wrong(differs),
            Some((_, bytes)) => match reading::decode(bytes) {
                Ok(value) => return Ok(value),
                Err(reason) => Raised::Wrong(RunError::Codec { what: format!("answer to `{}`", I::NAME), reason }),
            },
            None => self.0.ask(place, &question),
        };
        self.0.raise(raised);
        Err(Interrupted::new())
    }
}

impl<C> TaskCtx<C> {
    fn ask<I: Interrupt>(&self, place: u32, question: &I) -> Raised {
        if self.facts.asks.as_ref().is_some_and(|asks| !asks.contains_key(I::NAME)) {
            let (node, type_name) = (Arc::clone(&self.facts.name), type_name::<I>());
            return Raised::Wrong(RunError::UndeclaredQuestion { node, question: I::NAME, type_name });
        }
        if !self.shared.may_ask {
            return Raised::Wrong(RunError::NoCheckpointer { what: "a graph that asks a question" });
        }
        match value::encode_both_ways(|| format!("question `{}`", I::NAME), type_name::<I>(), question) {
            Ok(payload) => Raised::Ask(Question {
                id: self.question_id(place),
                name: I::NAME.to_owned(),
                node: self.facts.name.to_string(),
                namespace: self.level.names.to_vec(),
                payload,
                shows: Shows::of::<I>(),
                answered: false,
                asker: self.asker(),
            }),
            Err(error) => Raised::Wrong(error),
        }
    }

    fn question_id(&self, place: u32) -> InterruptId {
        let birth = self.birth();
        let Borrowed { checkpoint, task, .. } = *self.lend();
        InterruptId { birth, checkpoint, task, place }
    }

    /// Tells the run's thread from others of its name.
    pub(crate) fn birth(&self) -> u64 {
        match &self.shared.recorder {
            Some(recorder) => recorder.birth(),
            None => *self.shared.birth.get_or_init(|| self.shared.noise() & clock::BIRTH),
        }
    }

    fn changed<I: Interrupt>(&self, place: u32, before: &str) -> RunError {
        let (node, before) = (Arc::clone(&self.facts.name), before.to_owned());
        RunError::QuestionChanged { node, place: place as usize, before, now: I::NAME }
    }

    /// In a replay: how a question differs from the one that was asked in its place.
    fn asks_otherwise<I: Interrupt>(&self, lent: &Borrowed, place: u32, question: &I) -> Option<RunError> {
        let before = value::canon(lent.answers.as_ref()?.payloads.get(&place)?).ok()?;
        let now = Canon::of(String::new, question).ok()?;
        let told = |value: &Canon| value.json().to_string();
        (before != now).then(|| RunError::Diverged {
            node: Arc::clone(&self.facts.name),
            what: format!("question `{}`", I::NAME),
            recorded: told(&before),
            now: told(&now),
        })
    }
}
