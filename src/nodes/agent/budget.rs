//! The budget of a run: all turns of a thread are counted in one ledger, and a person is asked when its limits are
//! reached. Knows drivers and ledgers; must not know what turns are for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use superstep_base::Fnv;
use superstep_base::moved::present_path;
use superstep_base::time::now;

use super::agents::{AgentSpec, Agents};
use crate::drivers::{
    Account, Driver, DriverError, DriverErrorClass, Finished, Ledger, LimitsAnswer, Metered, NewLimits, RunLimits,
    SessionRef, TurnStatus, Usage,
};
use crate::graph::{Ctx, NodeError};
use crate::nodes::ask::{AfterBudget, BudgetReached, WrittenOverride};
use crate::nodes::git::thread;

/// Returns the agent's driver, with its turns counted in the ledger of the run.
pub(super) fn metered_driver<C: Agents>(
    ctx: &Ctx<C>,
    agent: &AgentSpec,
    ledger: &Ledger,
) -> Result<Metered<Arc<dyn Driver>>, DriverError> {
    let driver = ctx.context().driver(agent)?;
    Ok(Metered::new(driver, ledger.clone()).price(agent.price))
}

/// Opens the ledger of the run. It is kept without limits too, to know the usage of killed turns.
pub(super) fn ledger<C: Agents>(ctx: &Ctx<C>, agent: &AgentSpec) -> Result<Ledger, DriverError> {
    // A folder that cannot be written is reported by what opens it.
    _ = agent.home.as_deref().map(|home| superstep_base::files::hide_from_git(&present_path(home)));
    let ledger = match &agent.home {
        Some(home) => Ledger::open(file(home, &thread(ctx), ctx.birth()))?,
        None if agent.purse.limits.is_none() => Ledger::new(),
        None => Ledger::open(file(Path::new(".superstep"), &thread(ctx), ctx.birth()))?,
    };
    Ok(ledger.limits(agent.purse.limits).at_least(&agent.purse.spent))
}

/// Returns the path of the ledger. A thread that is deleted and recreated has another birth, and so another ledger.
fn file(home: &Path, thread: &str, birth: u64) -> PathBuf {
    let mut hash = Fnv::new();
    hash.mix(thread.as_bytes());
    present_path(home).join("ledgers").join(format!("{birth:08x}-{:016x}.jsonl", hash.finish()))
}

/// Reads the account of the run; `key` is the effect's key within the node.
pub(in crate::nodes) async fn account<C: Agents>(
    ctx: &Ctx<C>,
    key: &str,
    agent: &AgentSpec,
) -> Result<Account, NodeError> {
    let look = |_| async { ledger(ctx, agent).map(|ledger| ledger.account()).map_err(NodeError::permanent) };
    ctx.effect(key, &agent.role, look).await
}

/// A request that exceeded the budget of its run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Overdraft {
    pub(super) account: Account,
    /// Name under which the turn continues; none: it has ended, and is repeated in a new one.
    pub(super) turn: Option<String>,
    /// Session of an ended turn.
    pub(super) session: Option<SessionRef>,
    /// The usage of the turn.
    #[serde(default)]
    pub(super) used: Usage,
}

/// Returns the overdraft if the budget of the run ended the turn.
pub(super) fn overdraft(ledger: &Ledger, ended: &Result<Finished, DriverError>, turn: &str) -> Option<Overdraft> {
    let used = ledger.used_by(turn);
    let (turn, session) = match ended {
        Err(error) if error.class == DriverErrorClass::Budget => (Some(turn.to_owned()), None),
        Ok(finished) if matches!(finished.status, TurnStatus::CostLimit | TurnStatus::TokenLimit) => {
            (None, finished.session.clone())
        }
        Ok(_) | Err(_) => return None,
    };
    let account = ledger.account();
    (!account.reached_limits().is_empty()).then_some(Overdraft { account, turn, session, used })
}

/// The usage of a turn that may not be carried out.
pub(in crate::nodes) struct BlockedTurn<'a> {
    pub(in crate::nodes) agent: &'a AgentSpec,
    pub(in crate::nodes) task: &'a str,
    /// Key of the request within the node.
    pub(in crate::nodes) key: &'a str,
    pub(in crate::nodes) account: Account,
}

/// The answer about a run whose budget is used up.
pub(in crate::nodes) enum BudgetAnswer {
    /// Continue with these limits.
    Raised(NewLimits),
    /// End the run.
    Aborted,
    /// Decide on its task.
    Overridden(WrittenOverride),
}

/// Asks a person for new limits until the run can continue; returns the new ones, or none if the run ends.
pub(in crate::nodes) async fn ask_to_raise<C: Agents>(
    ctx: &Ctx<C>,
    spent: BlockedTurn<'_>,
) -> Result<Option<NewLimits>, NodeError> {
    let refuse =
        |_: &WrittenOverride| Some("there is no decision to override here; answer `raise` or `abort`".to_owned());
    match ask_about_budget(ctx, spent, refuse).await? {
        BudgetAnswer::Raised(limits) => Ok(Some(limits)),
        BudgetAnswer::Aborted | BudgetAnswer::Overridden(_) => Ok(None),
    }
}

/// Asks a person for new limits or for a decision on the task, unless `problem_of` returns why that is invalid.
pub(in crate::nodes) async fn ask_about_budget<C: Agents>(
    ctx: &Ctx<C>,
    spent: BlockedTurn<'_>,
    problem_of: impl Fn(&WrittenOverride) -> Option<String>,
) -> Result<BudgetAnswer, NodeError> {
    let BlockedTurn { agent, task, key, mut account } = spent;
    let mut problem = None;
    for nth in 0.. {
        let question = BudgetReached { problem, ..BudgetReached::of(&account, &agent.role, task) };
        let to = match ctx.interrupt(question)? {
            AfterBudget::Abort => break,
            AfterBudget::Raise(to) => RunLimits::from(to),
            AfterBudget::Override(given) => match problem_of(&given) {
                None => return Ok(BudgetAnswer::Overridden(given)),
                refused => {
                    problem = refused;
                    continue;
                }
            },
        };
        let set = |key: String| async move {
            let ledger = ledger(ctx, agent)?;
            let answer = ledger.set_limits(&key, to, now())?;
            Ok::<_, DriverError>((answer, ledger.account()))
        };
        let (answer, after) = ctx.effect(format!("{key}/raise/{nth}"), &to, set).await?;
        match answer {
            LimitsAnswer::Set(limits) => return Ok(BudgetAnswer::Raised(limits)),
            LimitsAnswer::Refused(why) => (problem, account) = (Some(why), after),
        }
    }
    Ok(BudgetAnswer::Aborted)
}
