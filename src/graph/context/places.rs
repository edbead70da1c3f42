//! The places of a task's questions, those of its earlier runs and their answers among them. Attempts, the error handler,
//! effects, and subgraphs that are not saved share the task's answers; each asker has places of its own. A question gets the
//! place of the earlier one that it repeats. Knows no store.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::graph::state::{Canon, value};

/// The questions and answers of a task's earlier runs.
pub(crate) type Answers = Option<Arc<KnownAnswers>>;

/// Questions that a task asked before and the answers it got, by place.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownAnswers {
    pub asked: BTreeMap<u32, EarlierQuestion>,
    pub answers: BTreeMap<u32, Vec<u8>>,
    pub rematch: Rematch,
}

/// The treatment of a question whose payload fits none that was answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rematch {
    /// It is new.
    #[default]
    New,
    /// An attempt asked it and left an answer unused: it gets that one, if no other answer to its type is left.
    ByType,
    /// An attempt asked several such: the node fails.
    Refused,
}

/// A question that a task asked in an earlier run.
#[derive(Clone, Debug)]
pub(crate) struct EarlierQuestion {
    pub asker: String,
    pub name: String,
    /// Unknown if the store holds it no more.
    pub payload: Option<Vec<u8>>,
    /// True if it was asked at the task's own checkpoint: a copy for a fork may have another state.
    pub here: bool,
}

/// The places of a task's questions, by asker.
#[derive(Debug, Default)]
pub(crate) struct Places {
    known: BTreeMap<String, Vec<u32>>,
    next: u32,
}

/// A question on its way to its place.
pub(crate) struct UnplacedQuestion {
    pub asker: String,
    /// The number of questions that the asker has asked before.
    pub nth: usize,
    pub rule: PlaceRule,
    pub name: &'static str,
    pub payload: Option<Canon>,
}

/// The rule by which a question finds the earlier one that it repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaceRule {
    /// By its number alone (LangGraph).
    Position,
    /// By type and payload; by its type where a single answer to that is left.
    Payload,
    /// By its key; the payload must be the same.
    Key,
}

/// The place of a question among those of its task.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Place {
    At(u32),
    /// Nowhere: this one was answered, and is not asked any more.
    Changed(u32),
}

impl Places {
    pub(super) fn of(answers: &Answers) -> Self {
        let mut places = Self::default();
        for (place, asked) in answers.iter().flat_map(|known| &known.asked) {
            places.known.entry(asked.asker.clone()).or_default().push(*place);
            places.next = place + 1;
        }
        places
    }

    /// Returns the place of a question; V15. `taken`: those of the attempt's questions so far.
    pub(super) fn find(&mut self, asking: &UnplacedQuestion, answers: &Answers, taken: impl Fn(u32) -> bool) -> Place {
        if asking.rule == PlaceRule::Position {
            return Place::At(self.place_of(&asking.asker, asking.nth));
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

    fn place_of(&mut self, asker: &str, nth: usize) -> u32 {
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
    asking: &'a UnplacedQuestion,
    known: Option<&'a KnownAnswers>,
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
