//! Texts, drafts and checks of a graph's questions, as its program registered them. Still typed.

use std::sync::Arc;

use serde_json::Value;

use crate::graph::{Interrupt, Question};

type Text<S> = Arc<dyn Fn(&S, &Question) -> Option<String> + Send + Sync>;
type Suggestions<S> = Arc<dyn Fn(&S, &Question) -> Option<Vec<String>> + Send + Sync>;
type Answer = Arc<dyn Fn(String) -> Option<Value> + Send + Sync>;
type Check = Arc<dyn Fn(&Question, &Value) -> Option<String> + Send + Sync>;

/// Registered functions by the name of the question.
pub(crate) struct Questions<S> {
    described: Vec<(&'static str, Text<S>)>,
    edited: Vec<(&'static str, Text<S>, Answer)>,
    checked: Vec<(&'static str, Check)>,
    suggested: Vec<(&'static str, Suggestions<S>)>,
}

impl<S> Default for Questions<S> {
    fn default() -> Self {
        Self { described: vec![], edited: vec![], checked: vec![], suggested: vec![] }
    }
}

impl<S: 'static> Questions<S> {
    pub(crate) fn describe<I: Interrupt>(&mut self, text: fn(&S, &I) -> String) {
        let text = move |state: &S, question: &Question| Some(text(state, &question.payload::<I>()?));
        self.described.push((I::NAME, Arc::new(text)));
    }

    pub(crate) fn edit<I: Interrupt>(&mut self, text: fn(&S, &I) -> Option<String>, answer: fn(String) -> I::Resume) {
        let text = move |state: &S, question: &Question| text(state, &question.payload::<I>()?);
        let answer = move |edited| serde_json::to_value(answer(edited)).ok();
        self.edited.push((I::NAME, Arc::new(text), Arc::new(answer)));
    }

    pub(crate) fn suggest<I: Interrupt>(&mut self, commands: fn(&S, &I) -> Vec<String>) {
        let commands = move |state: &S, question: &Question| Some(commands(state, &question.payload::<I>()?));
        self.suggested.push((I::NAME, Arc::new(commands)));
    }

    pub(crate) fn check<I: Interrupt>(&mut self, problem: fn(&I, &I::Resume) -> Option<String>) {
        let check = move |question: &Question, answer: &Value| {
            problem(&question.payload::<I>()?, &serde_json::from_value(answer.clone()).ok()?)
        };
        self.checked.push((I::NAME, Arc::new(check)));
    }
}

impl<S> Questions<S> {
    /// Returns the question as lines for people; none without a registered text.
    pub(crate) fn text(&self, state: &S, question: &Question) -> Option<String> {
        let (_, text) = self.described.iter().find(|(name, _)| *name == question.name())?;
        text(state, question)
    }

    /// Returns the registered commands that answer it, without program and thread; none are registered for most.
    pub(crate) fn suggestions(&self, state: &S, question: &Question) -> Vec<String> {
        let found = self.suggested.iter().find(|(name, _)| *name == question.name());
        found.and_then(|(_, commands)| commands(state, question)).unwrap_or_default()
    }

    /// Returns the reason why an answer cannot be followed; none if it can, or is not of the question's type.
    pub(crate) fn problem(&self, question: &Question, answer: &Value) -> Option<String> {
        let (_, check) = self.checked.iter().find(|(name, _)| *name == question.name())?;
        check(question, answer)
    }

    /// Returns the text that a person edits to answer it; none if it is not answered so.
    pub(crate) fn draft(&self, state: &S, question: &Question) -> Option<String> {
        let (_, text, _) = self.edited.iter().find(|(name, ..)| *name == question.name())?;
        text(state, question)
    }

    pub(crate) fn answer(&self, question: &Question, edited: String) -> Option<Value> {
        let (.., answer) = self.edited.iter().find(|(name, ..)| *name == question.name())?;
        answer(edited)
    }
}
