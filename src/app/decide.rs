//! `approve`, `reject`, `revise`: how they become answers. Knows the types of answers, must not know a thread.

use std::any::type_name;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::graph::{Interrupt, Question};

/// One of `approve`, `reject` and `revise`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Go ahead.
    Approve,
    /// Do not.
    Reject,
    /// Do it again, differently.
    Revise,
}

impl Verdict {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Revise => "revise",
        }
    }
}

/// A person's decision in plain words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The command.
    pub verdict: Verdict,
    /// The text of `--feedback`. Always there with [`Verdict::Revise`].
    pub feedback: Option<String>,
    /// The name of `--by`.
    pub by: Option<String>,
}

/// A question that `approve`, `reject` or `revise` can answer. Questions answered by a `bool` or a `plan::Decision` do
/// not need it; register others with [`Entry::decides`](super::Entry::decides).
///
/// ```
/// use superstep::app::{Decide, Reply, Verdict};
/// use superstep::prelude::*;
///
/// #[derive(Serialize, Deserialize)]
/// struct Publish(String);
/// #[derive(Serialize, Deserialize)]
/// enum Word { Now, Never, Again(String) }
/// impl Interrupt for Publish {
///     type Resume = Word;
///     const NAME: &'static str = "publish";
/// }
/// impl Decide for Publish {
///     fn decide(&self, reply: &Reply) -> Option<Word> {
///         match reply.verdict {
///             Verdict::Approve => Some(Word::Now),
///             Verdict::Reject => Some(Word::Never),
///             Verdict::Revise => reply.feedback.clone().map(Word::Again),
///         }
///     }
/// }
/// ```
pub trait Decide: Interrupt {
    /// Converts a reply into an answer; none if it cannot answer this question.
    fn decide(&self, reply: &Reply) -> Option<Self::Resume>;
}

/// Converts a reply into the JSON of an answer.
pub(crate) type Decider = fn(&Question, &Reply) -> Option<Value>;

pub(crate) fn decider<I: Decide>() -> (&'static str, Decider) {
    (I::NAME, |question, reply| {
        let answer = question.payload::<I>()?.decide(reply)?;
        serde_json::to_value(answer).ok()
    })
}

/// Returns the name of an answer: a word, or the one key of an object.
pub(crate) fn name_of(answer: &Value) -> String {
    match answer {
        Value::String(word) => word.clone(),
        Value::Object(fields) if fields.len() == 1 => fields.keys().next().cloned().unwrap_or_default(),
        other => other.to_string(),
    }
}

/// Converts a reply to a question whose answer type is well known.
pub(crate) fn known(question: &Question, reply: &Reply) -> Option<Value> {
    match question.answer_type() {
        name if name == type_name::<bool>() => match reply.verdict {
            Verdict::Approve => Some(Value::Bool(true)),
            Verdict::Reject => Some(Value::Bool(false)),
            Verdict::Revise => None,
        },
        #[cfg(feature = "agents")]
        name if name == type_name::<crate::plan::Decision>() => serde_json::to_value(of_plan(reply)).ok(),
        _ => None,
    }
}

#[cfg(feature = "agents")]
fn of_plan(reply: &Reply) -> crate::plan::Decision {
    use crate::plan::Decision;
    let feedback = reply.feedback.clone().unwrap_or_default();
    match reply.verdict {
        Verdict::Approve => Decision::approve(),
        Verdict::Reject => Decision::reject(feedback),
        Verdict::Revise => Decision::revise(feedback),
    }
}

#[cfg(feature = "agents")]
impl Decide for crate::workflows::demo::essay::Approve {
    fn decide(&self, reply: &Reply) -> Option<Self::Resume> {
        use crate::workflows::demo::essay::Review;
        match reply.verdict {
            Verdict::Approve => Some(Review::Verdict(true)),
            Verdict::Reject => Some(Review::Verdict(false)),
            Verdict::Revise => Some(Review::Again { revise: reply.feedback.clone().unwrap_or_default() }),
        }
    }
}

#[cfg(feature = "agents")]
mod agents {
    use super::{Decide, Reply, Verdict};
    use crate::nodes::{
        AfterBudget, AfterGivingUp, AfterHalt, AfterMove, AfterRefusal, AgentQuestion, AgentReply, BranchMoved,
        BudgetReached, DecideTask, GaveUp, Halted, PlanChanged, ReviewUnavailable, SessionRefused, WhichPlan,
        WithoutReview, WrittenOverride,
    };

    impl Decide for Halted {
        fn decide(&self, reply: &Reply) -> Option<AfterHalt> {
            match reply.verdict {
                Verdict::Approve => Some(AfterHalt::Accept),
                Verdict::Reject => Some(AfterHalt::Abort),
                Verdict::Revise => Some(AfterHalt::Retry { attempts: 1, note: reply.feedback.clone()? }),
            }
        }
    }

    /// Approving accepts the work as it is, which needs a reason: the feedback.
    fn after_giving_up(reply: &Reply) -> Option<AfterGivingUp> {
        match (reply.verdict, reply.feedback.clone()) {
            (Verdict::Approve, why) => {
                let given = WrittenOverride { decision: "DONE".into(), why: why?, by: reply.by.clone() };
                Some(AfterGivingUp::Override(given))
            }
            (Verdict::Reject, _) => Some(AfterGivingUp::Abort),
            (Verdict::Revise, note) => Some(AfterGivingUp::Retry { attempts: 1, note: note? }),
        }
    }

    impl Decide for GaveUp {
        fn decide(&self, reply: &Reply) -> Option<AfterGivingUp> {
            after_giving_up(reply)
        }
    }

    impl Decide for DecideTask {
        fn decide(&self, reply: &Reply) -> Option<AfterGivingUp> {
            after_giving_up(reply)
        }
    }

    impl Decide for BudgetReached {
        fn decide(&self, reply: &Reply) -> Option<AfterBudget> {
            match reply.verdict {
                Verdict::Reject => Some(AfterBudget::Abort),
                Verdict::Approve | Verdict::Revise => None,
            }
        }
    }

    impl Decide for ReviewUnavailable {
        fn decide(&self, reply: &Reply) -> Option<WithoutReview> {
            match reply.verdict {
                Verdict::Approve => Some(WithoutReview::Accept),
                Verdict::Reject => Some(WithoutReview::Abort),
                Verdict::Revise => None,
            }
        }
    }

    impl Decide for SessionRefused {
        fn decide(&self, reply: &Reply) -> Option<AfterRefusal> {
            match reply.verdict {
                Verdict::Approve => Some(AfterRefusal::Fresh),
                Verdict::Reject => Some(AfterRefusal::Abort),
                Verdict::Revise => None,
            }
        }
    }

    impl Decide for BranchMoved {
        fn decide(&self, reply: &Reply) -> Option<AfterMove> {
            match reply.verdict {
                Verdict::Approve => Some(AfterMove::Keep),
                Verdict::Reject => Some(AfterMove::Abort),
                Verdict::Revise => None,
            }
        }
    }

    impl Decide for PlanChanged {
        fn decide(&self, reply: &Reply) -> Option<WhichPlan> {
            match reply.verdict {
                Verdict::Approve => Some(WhichPlan::Adopt),
                Verdict::Reject => Some(WhichPlan::Keep),
                Verdict::Revise => None,
            }
        }
    }

    impl Decide for AgentQuestion {
        fn decide(&self, reply: &Reply) -> Option<AgentReply> {
            match reply.verdict {
                Verdict::Revise => Some(AgentReply::Reply { text: reply.feedback.clone()? }),
                Verdict::Approve | Verdict::Reject => None,
            }
        }
    }
}
