//! The places of a task's questions. Attempts, the error handler, effects, and subgraphs that are not saved share the
//! task's answers; each asker has places of its own. A question gets the place of the earlier one that it repeats. Knows no
//! store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use super::ctx::{Answers, Borrowed, EarlierQuestion, Inside, Known, Rematch, TaskCtx};
use super::effect_scope::escaped;
use crate::graph::channels::canon::Canon;
use crate::graph::channels::value;
use crate::graph::define::interrupt::Question;

/// The places of a task's questions, by asker.
#[derive(Debug, Default)]
pub(crate) struct Places {
    known: BTreeMap<String, Vec<u32>>,
    next: u32,
}

/// A question on its way to its place.
pub(crate) struct Asking {
    pub asker: String,
    /// How many questions the asker has asked before.
    pub nth: usize,
    pub rule: PlaceRule,
    pub name: &'static str,
    pub payload: Option<Canon>,
}

/// How a question finds the earlier one that it repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaceRule {
    /// By its number alone (LangGraph).
    Position,
    /// By type and payload; by its type where a single answer to that is left.
    Payload,
    /// By its key; the payload must be the same.
    Key,
}

/// Where a question belongs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Place {
    At(u32),
    /// Nowhere: this one was answered, and is not asked any more.
    Changed(u32),
}

impl Places {
    fn of(answers: &Answers) -> Self {
        let mut places = Self::default();
        for (place, asked) in answers.iter().flat_map(|known| &known.asked) {
            places.known.entry(asked.asker.clone()).or_default().push(*place);
            places.next = place + 1;
        }
        places
    }

    /// Returns the place of a question; V15. `taken`: those of the attempt's questions so far.
    fn find(&mut self, asking: &Asking, answers: &Answers, taken: impl Fn(u32) -> bool) -> Place {
        if asking.rule == PlaceRule::Position {
            return Place::At(self.numbered(&asking.asker, asking.nth));
        }
        let earlier = Earlier { asking, known: answers.as_deref() };
        let mine = self.known.get(&asking.asker).map_or(&[][..], Vec::as_slice);
        let at_number = mine.get(asking.nth).copied().filter(|place| !taken(*place));
        let mut free = mine.iter().copied().filter(|place| !taken(*place));
        let found = at_number.filter(|place| earlier.fits(*place)).or_else(|| free.find(|place| earlier.fits(*place)));
        if let Some(place) = found {
            return Place::At(place);
        }
        if let Some(place) = at_number.filter(|place| earlier.question(*place).is_none()) {
            return Place::At(place); // of an attempt before this one, which left nothing in the store
        }
        let unused = |place: &u32| !taken(*place) && earlier.is_answered(*place);
        let answered: Vec<u32> = mine.iter().copied().filter(unused).collect();
        let same_type: Vec<u32> = answered.iter().copied().filter(|place| earlier.is_of_type(*place)).collect();
        let at_number = at_number.filter(|place| answered.contains(place));
        let (first, rematch) = (at_number.or(same_type.first().copied()), earlier.rematch());
        match (first, &same_type[..]) {
            (Some(first), _) if asking.rule == PlaceRule::Key => Place::Changed(first),
            (Some(_), [only]) if rematch == Rematch::ByType => Place::At(*only),
            (Some(first), _) if rematch != Rematch::New => Place::Changed(first),
            _ => Place::At(self.add(&asking.asker)),
        }
    }

    fn numbered(&mut self, asker: &str, nth: usize) -> u32 {
        while self.known.get(asker).is_none_or(|known| known.len() <= nth) {
            self.add(asker);
        }
        self.known[asker][nth]
    }

    fn add(&mut self, asker: &str) -> u32 {
        let place = self.next;
        self.known.entry(asker.to_owned()).or_default().push(place);
        self.next += 1;
        place
    }
}

/// The earlier questions, beside the one that is asked.
struct Earlier<'a> {
    asking: &'a Asking,
    known: Option<&'a Known>,
}

impl Earlier<'_> {
    fn question(&self, place: u32) -> Option<&EarlierQuestion> {
        self.known?.asked.get(&place)
    }

    fn is_of_type(&self, place: u32) -> bool {
        self.question(place).is_some_and(|earlier| earlier.name == self.asking.name)
    }

    fn is_answered(&self, place: u32) -> bool {
        self.known.is_some_and(|known| known.answers.contains_key(&place))
    }

    fn rematch(&self) -> Rematch {
        self.known.map_or(Rematch::New, |known| known.rematch)
    }

    fn fits(&self, place: u32) -> bool {
        let payload =
            self.question(place).filter(|_| self.is_of_type(place)).and_then(|earlier| earlier.payload.as_ref());
        payload.is_some_and(|bytes| value::canon(bytes).ok() == self.asking.payload)
    }
}

impl<C> TaskCtx<C> {
    /// Returns the place of a question among all that are asked in the name of the same saved task.
    pub(crate) fn place_of(&self, asking: &Asking) -> Place {
        let lent = self.lend();
        let mut places = lent.places.lock().unwrap_or_else(PoisonError::into_inner);
        let mut inside = self.inside();
        let Inside { places: taken, .. } = &mut *inside;
        let place = places.find(asking, &lent.answers, |place| taken.contains(&place));
        if let Place::At(place) = place {
            taken.insert(place);
        }
        place
    }

    /// Returns who asks, how many questions it has asked before, and by which rule: the node, or the effect that it is in.
    pub(crate) fn asks_as(&self, key: Option<&str>) -> (String, usize, PlaceRule) {
        let scope = self.effect_scope();
        let asker = format!("{}{}", self.asker(), scope.as_ref().map_or("", |scope| scope.path()));
        if let Some(key) = key {
            return (format!("{asker}={}", escaped(key)), 0, PlaceRule::Key);
        }
        let nth = match scope {
            Some(scope) => scope.next_question(),
            None => self.asked.fetch_add(1, Ordering::Relaxed),
        };
        (asker, nth as usize, if self.facts.by_position { PlaceRule::Position } else { PlaceRule::Payload })
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

    /// Returns the answers for another run of the body if it asked something new and left answers unused: the state may have
    /// been updated, or the payload varies. Only the end of an attempt shows this, as branches of a join ask in any order.
    pub(crate) fn rematched(&self, questions: &[Question]) -> Option<Arc<Known>> {
        let known = self.answers.as_ref().filter(|known| known.rematch == Rematch::New && !self.facts.by_position)?;
        let inside = self.inside();
        let is_unused = |asker: &str, place: &u32| {
            !inside.places.contains(place) && known.asked.get(place).is_some_and(|asked| asked.asker == asker)
        };
        let is_new = |asked: &&Question| {
            let own = (asked.id.checkpoint, asked.id.task) == (self.checkpoint, self.task);
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
        let inside = self.inside();
        let own = |asked: &EarlierQuestion| self.own_part(&asked.asker).is_some_and(|part| !part.starts_with('@'));
        let mut left = known.answers.keys().filter(|place| !inside.places.contains(place));
        let asked = left.find_map(|place| known.asked.get(place).filter(|asked| own(asked)))?;
        Some(asked.name.clone())
    }
}
