//! Tokens and cost of the runs of the store, by graph, task, role and day.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use serde::{Deserialize, Serialize};
use superstep::checkpoint::spending::{Amount, SpendingRow, ThreadSpending};
use superstep_base::time::{parse, rfc3339};
use utoipa::{IntoParams, ToSchema};

use crate::error::{ApiError, ApiResult};
use crate::inspection::notes::TokensJson;
use crate::server::Server;

const HOUR: u64 = 3_600_000;
/// The most tasks of an answer: those that cost most.
const TASKS: usize = 100;

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(in super::super) struct SpendQuery {
    /// Counts what was spent since this time, from the beginning of its hour on: RFC 3339 in UTC, such as `2026-01-31T09:30:00Z`.
    since: Option<String>,
}

/// Tokens and cost.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = SpendAmount)]
struct AmountJson {
    /// Millionths of a dollar.
    cost: u64,
    tokens: TokensJson,
    /// The number of tokens of unknown cost, which `cost` does not include.
    unpriced: u64,
}

/// Amounts that were spent.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Spend)]
pub(in super::super) struct SpendJson {
    total: AmountJson,
    /// Those that cost most first, as in all lists but that of days.
    by_graph: Vec<GraphSpendJson>,
    /// The 100 tasks that cost most; without those of deleted threads.
    by_task: Vec<TaskSpendJson>,
    by_role: Vec<RoleSpendJson>,
    /// The newest day first.
    by_day: Vec<DaySpendJson>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = GraphSpend)]
struct GraphSpendJson {
    graph: String,
    #[serde(flatten)]
    amount: AmountJson,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TaskSpend)]
struct TaskSpendJson {
    /// The task as its node names it; else the node.
    task: String,
    thread: String,
    graph: String,
    #[serde(flatten)]
    amount: AmountJson,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RoleSpend)]
struct RoleSpendJson {
    /// The role of an agent; else the node.
    role: String,
    #[serde(flatten)]
    amount: AmountJson,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DaySpend)]
struct DaySpendJson {
    /// The day in UTC.
    #[schema(format = Date)]
    day: String,
    #[serde(flatten)]
    amount: AmountJson,
}

pub(super) async fn spend(
    State(server): State<Arc<Server>>,
    Query(query): Query<SpendQuery>,
) -> ApiResult<Json<SpendJson>> {
    let since = query.since.as_deref().map(parse_time).transpose()?.unwrap_or_default();
    let mut sums = Sums::default();
    for spending in ThreadSpending::read_all(&*server.records.0).await? {
        sums.add(spending, since);
    }
    Ok(Json(sums.into_json()))
}

fn parse_time(text: &str) -> ApiResult<u64> {
    let wrong =
        || ApiError::invalid(format!("since is a time in UTC, such as `2026-01-31T09:30:00Z`, and not `{text}`"));
    parse(text).ok_or_else(wrong)
}

/// Amounts by what they were spent on.
#[derive(Debug, Default)]
struct Sums {
    total: Amount,
    graphs: BTreeMap<String, Amount>,
    /// By task, thread and graph.
    tasks: BTreeMap<(String, String, String), Amount>,
    roles: BTreeMap<String, Amount>,
    days: BTreeMap<String, Amount>,
}

impl Sums {
    fn add(&mut self, spending: ThreadSpending, since: u64) {
        let ThreadSpending { thread, graph, rows, .. } = spending;
        for row in rows.into_iter().filter(|row| row.at.saturating_add(HOUR) > since) {
            let SpendingRow { at, role, task, amount, .. } = row;
            self.total = self.total.plus(amount);
            add_to(&mut self.graphs, graph.clone(), amount);
            add_to(&mut self.roles, role, amount);
            add_to(&mut self.days, rfc3339(at).chars().take(10).collect(), amount);
            if !thread.is_empty() {
                add_to(&mut self.tasks, (task, thread.clone(), graph.clone()), amount);
            }
        }
    }

    fn into_json(self) -> SpendJson {
        let by_graph = dearest(self.graphs).into_iter();
        let by_task = dearest(self.tasks).into_iter().take(TASKS);
        let by_role = dearest(self.roles).into_iter();
        SpendJson {
            total: AmountJson::of(self.total),
            by_graph: by_graph.map(|(graph, amount)| GraphSpendJson { graph, amount }).collect(),
            by_task: by_task
                .map(|((task, thread, graph), amount)| TaskSpendJson { task, thread, graph, amount })
                .collect(),
            by_role: by_role.map(|(role, amount)| RoleSpendJson { role, amount }).collect(),
            by_day: self
                .days
                .into_iter()
                .rev()
                .map(|(day, sum)| DaySpendJson { day, amount: AmountJson::of(sum) })
                .collect(),
        }
    }
}

impl AmountJson {
    fn of(amount: Amount) -> Self {
        Self { cost: amount.cost, tokens: TokensJson::of(&amount), unpriced: amount.unpriced }
    }
}

fn add_to<K: Ord>(sums: &mut BTreeMap<K, Amount>, key: K, amount: Amount) {
    let sum = sums.entry(key).or_default();
    *sum = sum.plus(amount);
}

/// Returns sums, those that cost most first, then those of most tokens.
fn dearest<K: Ord>(sums: BTreeMap<K, Amount>) -> Vec<(K, AmountJson)> {
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, amount)| std::cmp::Reverse((amount.cost, amount.tokens())));
    sums.into_iter().map(|(key, amount)| (key, AmountJson::of(amount))).collect()
}
