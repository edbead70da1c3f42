//! Refusal of a call. Data only.

/// Reason why a tool did not run, for the model.
#[derive(Debug)]
pub(super) struct Refusal(pub(super) String);

impl Refusal {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}
