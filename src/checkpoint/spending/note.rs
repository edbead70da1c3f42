//! The words that a task has for people, and the amounts that it has spent. Pure.

use serde::{Deserialize, Serialize};
use superstep_base::text::shorten;

use super::amount::{Amount, Expense};

/// The longest label and the longest summary, in bytes.
const LABEL: usize = 200;
const SUMMARY: usize = 600;

/// The words that a task has for people, and the amounts that it has spent, over all of its attempts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TaskNote {
    /// The work that it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The result of its work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The amounts of its expenses without a key.
    #[serde(skip_serializing_if = "is_nothing")]
    own: Amount,
    /// Those of expenses with a key.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    keyed: Vec<(String, Amount)>,
    /// Those of the tasks of its subgraphs.
    #[serde(skip_serializing_if = "is_nothing")]
    inside: Amount,
    /// Tells its thread from an earlier one of that name.
    pub(super) birth: u64,
}

fn is_nothing(amount: &Amount) -> bool {
    *amount == Amount::default()
}

impl TaskNote {
    /// Returns the amount that it has spent, with the tasks of its subgraphs.
    pub fn total(&self) -> Amount {
        self.keyed.iter().fold(self.own.plus(self.inside), |sum, (_, amount)| sum.plus(*amount))
    }

    pub(super) fn set_label(&mut self, label: &str) {
        self.label = Some(shorten(label, LABEL));
    }

    pub(super) fn set_summary(&mut self, summary: &str) {
        self.summary = Some(shorten(summary, SUMMARY));
    }

    /// Adds an expense; returns the amount that was not known before.
    pub(super) fn add(&mut self, expense: &Expense) -> Amount {
        let amount = expense.amount();
        let Some(key) = &expense.key else {
            self.own = self.own.plus(amount);
            return amount;
        };
        match self.keyed.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) => {
                let added = amount.minus(*known);
                *known = known.max(amount);
                added
            }
            None => {
                self.keyed.push((key.clone(), amount));
                amount
            }
        }
    }

    pub(super) fn add_inside(&mut self, amount: Amount) {
        self.inside = self.inside.plus(amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expense_with_a_key_counts_once() {
        let mut note = TaskNote::default();
        let added = [
            note.add(&Expense::tokens(5, 1).cost(10).key("turn")),
            note.add(&Expense::tokens(5, 1).cost(10).key("turn")),
            note.add(&Expense::tokens(9, 1).cost(30).key("turn")),
            note.add(&Expense::tokens(1, 1).key("other")),
            note.add(&Expense::tokens(1, 1)),
            note.add(&Expense::tokens(1, 1)),
        ];
        assert_eq!(
            added.map(|amount| (amount.tokens(), amount.cost)),
            [(6, 10), (0, 0), (4, 20), (2, 0), (2, 0), (2, 0)]
        );
        note.add_inside(Amount { cost: 7, ..Amount::default() });
        let total = note.total();
        assert_eq!((total.tokens(), total.cost, total.unpriced), (16, 37, 6));
    }

    #[test]
    fn words_are_cut() {
        let mut note = TaskNote::default();
        note.set_label(&"long ".repeat(1000));
        assert_eq!(note.label, Some("long ".repeat(LABEL / 5) + "…"));
    }
}
