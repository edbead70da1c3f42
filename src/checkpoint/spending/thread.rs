//! The amounts of a thread by hour, role and task. Pure.

use serde::{Deserialize, Serialize};

use super::amount::Amount;

const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;
/// The most rows of a thread: the oldest become rows of days, then of roles alone, then of months.
const ROWS: usize = 400;
/// The number of days whose rows stay as they are.
const RECENT: u64 = 2 * DAY;

/// Amounts that a thread has spent in one hour, for one role and task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SpendingRow {
    /// The beginning of the hour, in milliseconds since 1970; of a day or of 30 days in a thread with many rows.
    pub at: u64,
    /// The role; the name of a node that set none.
    #[serde(default)]
    pub role: String,
    /// The task, as people know it; empty where many were put together.
    #[serde(default)]
    pub task: String,
    /// The amount.
    pub amount: Amount,
}

/// Amounts that a thread has spent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ThreadSpending {
    /// The thread; empty in the sum of a graph's deleted threads.
    pub thread: String,
    /// The name of its graph.
    pub graph: String,
    /// Tells a thread from an earlier one of its name.
    pub(super) birth: u64,
    /// The amounts, the newest last.
    pub rows: Vec<SpendingRow>,
}

impl ThreadSpending {
    /// Returns the sum of all rows.
    pub fn total(&self) -> Amount {
        self.rows.iter().fold(Amount::default(), |sum, row| sum.plus(row.amount))
    }

    /// Adds an amount that was spent now.
    pub(super) fn add(&mut self, row: SpendingRow) {
        self.put(SpendingRow { at: row.at - row.at % HOUR, ..row });
        if self.rows.len() > ROWS {
            self.compact();
        }
    }

    fn put(&mut self, row: SpendingRow) {
        let is_same = |known: &&mut SpendingRow| (known.at, &known.role, &known.task) == (row.at, &row.role, &row.task);
        match self.rows.iter_mut().rev().find(is_same) {
            Some(known) => known.amount = known.amount.plus(row.amount),
            None => self.rows.push(row),
        }
    }

    /// Puts rows together until they are few enough, the oldest first, and then those of now too.
    fn compact(&mut self) {
        let newest = self.rows.iter().map(|row| row.at).max().unwrap_or_default();
        let steps: [fn(SpendingRow) -> SpendingRow; 3] = [
            |row| SpendingRow { at: row.at - row.at % DAY, ..row },
            |row| SpendingRow { task: String::new(), ..row },
            |row| SpendingRow { at: row.at - row.at % (30 * DAY), role: String::new(), ..row },
        ];
        for recent in [RECENT, 0] {
            for step in steps {
                if self.rows.len() <= ROWS / 2 {
                    return;
                }
                for row in std::mem::take(&mut self.rows) {
                    let is_old = row.at.saturating_add(recent) <= newest;
                    self.put(if is_old { step(row) } else { row });
                }
            }
        }
    }

    /// Adds all rows of another thread, without their tasks.
    pub(super) fn add_all(&mut self, other: Self) {
        other.rows.into_iter().for_each(|row| self.add(SpendingRow { task: String::new(), ..row }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(at: u64, role: &str, task: &str) -> SpendingRow {
        let amount = Amount { input: 2, cost: 3, ..Amount::default() };
        SpendingRow { at, role: role.into(), task: task.into(), amount }
    }

    #[test]
    fn what_is_spent_in_an_hour_for_a_role_and_a_task_is_one_row() {
        let mut spending = ThreadSpending::default();
        for (at, role, task) in [(HOUR, "a", "1"), (HOUR + 5, "a", "1"), (HOUR, "b", "1"), (2 * HOUR, "a", "1")] {
            spending.add(row(at, role, task));
        }
        let rows: Vec<_> = spending.rows.iter().map(|row| (row.at / HOUR, &*row.role, row.amount.cost)).collect();
        assert_eq!(rows, [(1, "a", 6), (1, "b", 3), (2, "a", 3)]);
        assert_eq!(spending.total(), Amount { input: 8, cost: 12, ..Amount::default() });
    }

    #[rstest::rstest]
    #[case::hours(|nth: u64| row(nth * HOUR, "a", "1"))]
    #[case::days_of_years(|nth: u64| row(nth * DAY, "a", "1"))]
    #[case::tasks_of_an_hour(|nth: u64| row(0, "a", &nth.to_string()))]
    #[case::roles_of_an_hour(|nth: u64| row(0, &nth.to_string(), ""))]
    fn many_rows_become_few_and_lose_nothing(#[case] make: fn(u64) -> SpendingRow) {
        let mut spending = ThreadSpending::default();
        (0..5_000).for_each(|nth| spending.add(make(nth)));
        assert!(spending.rows.len() <= ROWS, "{}", spending.rows.len());
        assert_eq!(spending.total(), Amount { input: 10_000, cost: 15_000, ..Amount::default() });
    }

    #[test]
    fn rows_of_the_last_two_days_stay_as_they_are() {
        let mut spending = ThreadSpending::default();
        (0..=ROWS as u64).for_each(|nth| spending.add(row(nth * HOUR, "a", "1")));
        let newest: Vec<_> = spending.rows.iter().rev().take(48).map(|row| row.at / HOUR).collect();
        assert_eq!(newest, (353..=400).rev().collect::<Vec<_>>());
    }
}
