//! The refusal of a call. Data only.

/// Why a tool did not do what it was asked, in words for the model.
#[derive(Debug)]
pub(super) struct Refused(pub(super) String);

impl Refused {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}
