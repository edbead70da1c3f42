//! How a node asks a person, and gets the answer when it runs again; and who asks: the task, its error handler, an effect, or a
//! task of a subgraph that is not saved. Knows no store.

use std::any::type_name;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use super::ctx::Ctx;
use super::graph_scope::QuestionOwner;
use super::places::{EarlierQuestion, KnownAnswers, Place, PlaceRule, Places, Rematch, UnplacedQuestion};
use super::task::{AttemptStop, QuestionUse, TaskCtx};
use crate::checkpoint::TermsRecord;
use crate::graph::error::RunError;
use crate::graph::interrupt::{ClosedQuestion, Interrupt, InterruptId, Interrupted, Question, QuestionFormat, Terms};
use crate::graph::records::{clock, escaped_key};
use crate::graph::state::{Canon, reading, value};

impl<C> Ctx<C> {
    /// Returns a number that tells the run's thread from others of its name.
    #[cfg_attr(not(feature = "agents"), allow(dead_code, reason = "only workflows ask for it"))]
    pub(crate) fn birth(&self) -> u64 {
        self.0.birth()
    }

    /// Returns the answer to a question, or stops the node until there is one.
    ///
    /// The node runs again from its beginning once the answer is there. The question is stored with the task, the answer when
    /// it is given. An answer belongs to the question with the same type and payload, in whatever order a node asks; if the
    /// payload has changed because the state was updated meanwhile, it belongs to the only question of its type that is left.
    /// In a loop, or beside others in a `join!`, use [`interrupt_as`](Self::interrupt_as). LangGraph: `interrupt`, which goes by
    /// position alone, as graphs read from data do here.
    ///
    /// A node asks while its body runs. In a task of your own (`tokio::spawn`), await it and pass its error on: a question
    /// that is asked once the body has ended fails the node with [`RunError::QuestionIgnored`], or the run if it comes much
    /// later.
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
    /// [`Interrupted`] is no failure: pass it on with `?`. If the node asks something else than what was answered, it fails
    /// with [`RunError::QuestionChanged`], and no answer is used.
    pub fn interrupt<I: Interrupt>(&self, question: I) -> Result<I::Resume, Interrupted> {
        self.0.answer_or_interrupt(None, &question)
    }

    /// Returns the answer to the question with this key, or stops the node until there is one.
    ///
    /// As [`interrupt`](Self::interrupt), for questions in loops and joins: the key, unique within an attempt of the task, says
    /// which answer belongs to which question. An answer is never used for a question whose payload has changed.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use superstep::prelude::*;
    /// # #[derive(Clone, Debug, Serialize, Deserialize)] struct ToolCall { id: String, command: String }
    /// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    /// # struct Chat { calls: Vec<ToolCall>, #[channel(append)] results: Vec<String> }
    /// # async fn run(call: ToolCall) -> Result<String, std::io::Error> { Ok(call.command) }
    /// #[derive(Serialize, Deserialize)]
    /// struct MayRun(ToolCall);
    /// impl Interrupt for MayRun {
    ///     type Resume = bool;
    ///     const NAME: &'static str = "may_run";
    /// }
    /// async fn tools(chat: Arc<Chat>, ctx: Ctx) -> Result<ChatUpdate, NodeError> {
    ///     let mut results = vec![];
    ///     for call in &chat.calls {
    ///         if ctx.interrupt_as(&call.id, MayRun(call.clone()))? {
    ///             results.push(ctx.effect(&call.id, call, |_| run(call.clone())).await?);
    ///         }
    ///     }
    ///     Ok(Chat::update().results(results))
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`interrupt`](Self::interrupt). A key that is used twice in one attempt fails the node.
    pub fn interrupt_as<I: Interrupt>(&self, key: impl Into<String>, question: I) -> Result<I::Resume, Interrupted> {
        self.0.answer_or_interrupt(Some(&key.into()), &question)
    }
}

/// The result of asking a question.
pub(crate) enum AskOutcome<T> {
    Given(T),
    Closed(ClosedQuestion),
}

impl TaskCtx {
    fn answer_or_interrupt<I: Interrupt>(&self, key: Option<&str>, question: &I) -> Result<I::Resume, Interrupted> {
        let raised = match self.interrupt(key, question, None) {
            Ok(AskOutcome::Given(answer)) => return Ok(answer),
            Ok(AskOutcome::Closed(closed)) => {
                let (node, question) = (Arc::clone(&self.facts.name), I::NAME.to_owned());
                AttemptStop::Wrong(RunError::QuestionClosed { node, reason: closed.error(&question).to_string() })
            }
            Err(raised) => *raised,
        };
        self.raise(raised);
        Err(Interrupted::new())
    }

    /// Returns what a question came to, or what is to be raised.
    pub(crate) fn interrupt<I: Interrupt>(
        &self,
        key: Option<&str>,
        question: &I,
        terms: Option<&TermsRecord>,
    ) -> Result<AskOutcome<I::Resume>, Box<AttemptStop>> {
        let (asker, nth, rule) = self.asks_as(key);
        if let Some(key) = key
            && !self.state().journal.used.insert(format!("={asker}"))
        {
            return Err(boxed_error(RunError::EffectTwice { node: Arc::clone(&self.facts.name), key: key.to_owned() }));
        }
        let payload = Canon::of(|| format!("question `{}`", I::NAME), question).ok();
        let asking = UnplacedQuestion { asker, nth, rule, name: I::NAME, payload };
        let owner = self.question_owner();
        let place = match self.place_of(&asking) {
            Place::At(place) => place,
            Place::Changed(place) => return Err(boxed_error(self.question_changed(&owner, place, &asking))),
        };
        let Some(bytes) = owner.answers.as_ref().and_then(|known| known.answers.get(&place)) else {
            return Err(Box::new(self.ask(place, asking.asker, question, terms)));
        };
        if let Some(differs) = self.asks_otherwise(&owner, place, &asking) {
            return Err(boxed_error(differs));
        }
        if let Some(closed) = ClosedQuestion::decode(bytes) {
            return Ok(AskOutcome::Closed(closed));
        }
        reading::decode(bytes)
            .map(AskOutcome::Given)
            .map_err(|reason| boxed_error(RunError::Codec { what: format!("answer to `{}`", I::NAME), reason }))
    }

    /// A question must be declared, by its type: an answer is checked against what was declared.
    fn check_declared<I: Interrupt>(&self) -> Result<(), RunError> {
        let Some(asks) = &self.facts.asks else { return Ok(()) };
        let (node, question, type_name) = (Arc::clone(&self.facts.name), I::NAME, type_name::<I>());
        match asks.get(question).map(Vec::as_slice) {
            Some(all) if all.iter().any(|asks| asks.type_name == type_name) => Ok(()),
            Some([asks, ..]) => {
                Err(RunError::QuestionNameTaken { node, question, type_name, declared: asks.type_name })
            }
            Some([]) | None => Err(RunError::UndeclaredQuestion { node, question, type_name }),
        }
    }

    fn ask<I: Interrupt>(&self, place: u32, asker: String, question: &I, terms: Option<&TermsRecord>) -> AttemptStop {
        if let Err(error) = self.check_declared::<I>() {
            return AttemptStop::Wrong(error);
        }
        if !self.shared.limits.may_ask {
            return AttemptStop::Wrong(RunError::NoCheckpointer { what: "a graph that asks a question" });
        }
        match value::encode_both_ways(|| format!("question `{}`", I::NAME), type_name::<I>(), question) {
            Ok(payload) => AttemptStop::Ask(Question {
                id: self.question_id(place),
                terms: self.question_terms(place, terms),
                name: I::NAME.to_owned(),
                node: self.facts.name.to_string(),
                namespace: self.scope.names.to_vec(),
                payload,
                shows: QuestionFormat::of::<I>(),
                answered: false,
                asker,
            }),
            Err(error) => AttemptStop::Wrong(error.into()),
        }
    }

    /// The terms of a question that is asked now. The task runs again when it expires.
    fn question_terms(&self, place: u32, terms: Option<&TermsRecord>) -> Terms {
        let Some(terms) = terms else { return Terms::default() };
        self.state().note_wake(terms.expires);
        let QuestionOwner { checkpoint, task, .. } = *self.question_owner();
        Terms { record: TermsRecord { checkpoint, task, place, ..terms.clone() }, votes: vec![] }
    }

    fn question_id(&self, place: u32) -> InterruptId {
        let birth = self.birth();
        let QuestionOwner { checkpoint, task, .. } = *self.question_owner();
        InterruptId { birth, checkpoint, task, place }
    }

    /// Tells the run's thread from others of its name.
    pub(crate) fn birth(&self) -> u64 {
        match &self.shared.recorder {
            Some(recorder) => recorder.birth(),
            None => *self.shared.environment.birth.get_or_init(|| self.shared.random() & clock::BIRTH),
        }
    }

    fn question_changed(&self, owner: &QuestionOwner, place: u32, asking: &UnplacedQuestion) -> RunError {
        let before = earlier_question(owner, place);
        RunError::QuestionChanged {
            node: Arc::clone(&self.facts.name),
            place: place as usize,
            before: before.map(|before| before.name.clone()).unwrap_or_default(),
            before_payload: before
                .and_then(|before| value::canon(before.payload.as_ref()?).ok())
                .as_ref()
                .map(shorten_payload),
            now: asking.name,
            now_payload: asking.payload.as_ref().map(shorten_payload),
        }
    }

    /// Returns the error if a question differs from the answered one in its place: in its type or, in a replay, in its
    /// payload.
    fn asks_otherwise(&self, owner: &QuestionOwner, place: u32, asking: &UnplacedQuestion) -> Option<RunError> {
        let before = earlier_question(owner, place)?;
        if before.name != asking.name {
            return Some(self.question_changed(owner, place, asking));
        }
        if self.shared.replay.as_ref().is_none_or(|replay| replay.goes_on) || !before.here {
            return None;
        }
        let (recorded, now) = (value::canon(before.payload.as_ref()?).ok()?, asking.payload.as_ref()?);
        (recorded != *now).then(|| RunError::Diverged {
            node: Arc::clone(&self.facts.name),
            what: format!("question `{}`", asking.name),
            recorded: recorded.json().to_string(),
            now: now.json().to_string(),
        })
    }
}

fn boxed_error(error: RunError) -> Box<AttemptStop> {
    Box::new(AttemptStop::Wrong(error))
}

fn earlier_question(owner: &QuestionOwner, place: u32) -> Option<&EarlierQuestion> {
    owner.answers.as_ref()?.asked.get(&place)
}

/// A payload in an error, cut to a line.
fn shorten_payload(payload: &Canon) -> String {
    const LONGEST: usize = 200;
    let text = payload.json().to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

impl TaskCtx {
    /// Returns the place of a question among all that are asked in the name of the same saved task.
    fn place_of(&self, asking: &UnplacedQuestion) -> Place {
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
    fn asks_as(&self, key: Option<&str>) -> (String, usize, PlaceRule) {
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
    pub(crate) fn rematch_answers(&self, questions: &[Question]) -> Option<Arc<KnownAnswers>> {
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
        Some(Arc::new(KnownAnswers { rematch, ..KnownAnswers::clone(known) }))
    }

    /// Returns the key or the effects by which the body itself asks as `asker`; none if a task in one of its subgraphs does.
    fn own_part<'a>(&self, asker: &'a str) -> Option<&'a str> {
        asker.strip_prefix(&self.asker()).filter(|part| part.is_empty() || part.starts_with(['=', '@']))
    }

    /// Returns the type of a question of the body's own that was answered before and that this attempt has not asked. What an
    /// effect asked is not asked again once the effect is recorded.
    pub(crate) fn unasked_question(&self) -> Option<String> {
        let known = self.answers.as_ref()?;
        let state = self.state();
        let own = |asked: &EarlierQuestion| self.own_part(&asked.asker).is_some_and(|part| !part.starts_with('@'));
        let mut left = known.answers.keys().filter(|place| !state.questions.places.contains(place));
        let asked = left.find_map(|place| known.asked.get(place).filter(|asked| own(asked)))?;
        Some(asked.name.clone())
    }
}
