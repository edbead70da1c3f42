//! The declaration of a question, without its types.

use serde::Deserialize;

use super::answer::Answer;
use super::question::{Interrupt, Shows};
use crate::graph::state::reading;

/// Checks an answer against its type, and returns the bytes to store.
pub(crate) type TakeAnswer = fn(&Answer, Vec<u8>) -> Result<Vec<u8>, String>;

#[derive(Clone, Copy, Debug)]
pub(crate) struct DeclaredQuestion {
    pub type_name: &'static str,
    pub answer: &'static str,
    pub take: TakeAnswer,
    pub shows: Shows,
}

pub(crate) fn encode_checked<I: Interrupt>(answer: &Answer, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let Some(json) = &answer.json else { return reading::decode::<I::Resume>(&bytes).map(|_| bytes) };
    let value = I::Resume::deserialize(json).map_err(|error| error.to_string())?;
    Answer::new::<I>(&value).bytes.map_err(|error| error.to_string())
}
