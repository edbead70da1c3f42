//! Who asks: the task, its error handler, an effect, or a task of a subgraph that is not saved.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use super::graph_scope::QuestionOwner;
use super::known::{EarlierQuestion, Known, Rematch};
use super::places::{Asking, Place, PlaceRule, Places};
use super::task::{QuestionUse, TaskCtx};
use crate::graph::interrupt::Question;
use crate::graph::records::escaped_key;

impl TaskCtx {
    /// Returns the place of a question among all that are asked in the name of the same saved task.
    pub(crate) fn place_of(&self, asking: &Asking) -> Place {
        let owner = self.question_owner();
        let mut places = owner.places.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.state();
        let QuestionUse { places: taken, .. } = &mut state.questions;
        let place = places.find(asking, &owner.answers, |place| taken.contains(&place));
        if let Place::At(place) = place {
            taken.insert(place);
        }
        place
    }

    /// Returns who asks, how many questions it has asked before, and by which rule: the node, or the effect that it is in.
    pub(crate) fn asks_as(&self, key: Option<&str>) -> (String, usize, PlaceRule) {
        let scope = self.effect_scope();
        let asker = format!("{}{}", self.asker(), scope.as_ref().map_or("", |scope| scope.path().as_str()));
        if let Some(key) = key {
            return (format!("{asker}={}", escaped_key(key)), 0, PlaceRule::Key);
        }
        let nth = match scope {
            Some(scope) => scope.next_question(),
            None => self.progress.asked.fetch_add(1, Ordering::Relaxed),
        };
        (asker, nth as usize, if self.facts.by_position { PlaceRule::Position } else { PlaceRule::Payload })
    }

    /// The nearest task that is saved: it asks in its own name, and tasks of a child that is not saved in that name too.
    pub(crate) fn question_owner(&self) -> Arc<QuestionOwner> {
        if let Some(owner) = &self.scope.questions.owner {
            return Arc::clone(owner);
        }
        let make_owner = || {
            let (answers, places) = (self.answers.clone(), Mutex::new(Places::of(&self.answers)));
            Arc::new(QuestionOwner {
                answers,
                places,
                checkpoint: self.at.checkpoint,
                task: self.at.task,
                id: self.id(),
            })
        };
        Arc::clone(self.state().questions.owner.get_or_insert_with(make_owner))
    }

    /// Returns the asker among those that share a saved task: stable across attempts, and when enclosing subgraphs
    /// start over.
    pub(crate) fn asker(&self) -> String {
        let by = if self.facts.handler { "!" } else { "" };
        match &self.scope.questions.owner {
            Some(_) => format!("{}:{}.{:x}{by}", self.scope.questions.asker, self.at.step, self.at.task),
            None => by.to_owned(),
        }
    }

    /// The same for the tasks of a subgraph that this task calls, before their own part. Another attempt calls anew.
    pub(crate) fn asker_inside(&self, call: u32) -> String {
        format!("{}/{}", self.asker(), call - self.state().subgraphs.first_call)
    }

    /// Returns true if the task has called subgraphs or asked questions.
    pub(crate) fn left_anything(&self) -> bool {
        self.progress.calls.load(Ordering::Relaxed) > 0 || self.progress.asked.load(Ordering::Relaxed) > 0
    }

    /// Returns the answers for another run of the body if it asked something new and left answers unused: the state may have
    /// been updated, or the payload varies. Only the end of an attempt shows this, as branches of a join ask in any order.
    pub(crate) fn rematched(&self, questions: &[Question]) -> Option<Arc<Known>> {
        let known = self.answers.as_ref().filter(|known| known.rematch == Rematch::New && !self.facts.by_position)?;
        let state = self.state();
        let is_unused = |asker: &str, place: &u32| {
            !state.questions.places.contains(place) && known.asked.get(place).is_some_and(|asked| asked.asker == asker)
        };
        let is_new = |asked: &&Question| {
            let own = (asked.id.checkpoint, asked.id.task) == (self.at.checkpoint, self.at.task);
            own && self.own_part(&asked.asker).is_some() && !known.asked.contains_key(&asked.id.place)
        };
        let stray = |asked: &&Question| known.answers.keys().any(|place| is_unused(&asked.asker, place));
        let mut types = BTreeSet::new();
        let stray: Vec<&Question> = questions.iter().filter(is_new).filter(stray).collect();
        let rematch = match stray.iter().all(|asked| types.insert((&asked.asker, &asked.name))) {
            _ if stray.is_empty() => return None,
            true => Rematch::ByType,
            false => Rematch::Refused,
        };
        Some(Arc::new(Known { rematch, ..Known::clone(known) }))
    }

    /// Returns the key or the effects by which the body itself asks as `asker`; none if a task in one of its subgraphs does.
    fn own_part<'a>(&self, asker: &'a str) -> Option<&'a str> {
        asker.strip_prefix(&self.asker()).filter(|part| part.is_empty() || part.starts_with(['=', '@']))
    }

    /// Returns the type of a question of the body's own that was answered before and that this attempt has not asked. What an
    /// effect asked is not asked again once the effect is recorded.
    pub(crate) fn unasked(&self) -> Option<String> {
        let known = self.answers.as_ref()?;
        let state = self.state();
        let own = |asked: &EarlierQuestion| self.own_part(&asked.asker).is_some_and(|part| !part.starts_with('@'));
        let mut left = known.answers.keys().filter(|place| !state.questions.places.contains(place));
        let asked = left.find_map(|place| known.asked.get(place).filter(|asked| own(asked)))?;
        Some(asked.name.clone())
    }
}
