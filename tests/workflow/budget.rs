//! The budget of a run: one ledger for all agents, which survives kills, and the question once it is used up.

use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};
use superstep::drivers::{
    AgentEvent, AgentEvents, AgentRequest, Capabilities, Driver, DriverExt, DriverName, Finished, Price, RunLimits,
    Usage, events,
};
use superstep::nodes::{AfterBudget, ApprovePlan, BudgetReached, RaisedLimits};
use superstep::plan::{Decision, Issue};
use superstep::prelude::*;
use superstep_workflows::task_based::{ExecutionState, RunOutcome, graph, summary};
use superstep_workflows::{AgentSettings, Profile, Role};
use tokio::sync::mpsc;

use crate::agent::{Agent, COST};
use crate::repository::Repository;
use crate::scene::{RunResult, Scene, asks, done, plan, profile};

/// A profile with limits; each turn of an agent costs 100 millionths and takes 15 tokens.
fn budget(limits: RunLimits) -> Profile {
    Profile { budget: limits, ..profile() }
}

fn cost(cost: u64) -> Profile {
    budget(RunLimits::default().cost(cost))
}

fn raise(cost: u64) -> AfterBudget {
    AfterBudget::Raise(RaisedLimits { cost: Some(cost), ..RaisedLimits::default() })
}

fn question(outcome: &RunResult) -> BudgetReached {
    assert_eq!(asks(outcome), "budget");
    outcome.questions()[0].payload().unwrap()
}

#[tokio::test]
async fn a_run_with_a_used_up_budget_interrupts_and_continues_with_more() {
    let scene = Scene::new(Agent::willing());
    let outcome = scene.run(&plan(2), cost(300)).await;
    let pending = question(&outcome);
    assert_eq!(
        (pending.role.as_str(), pending.task.as_str(), pending.cost, pending.tokens),
        ("reviewer", "2", 300, 45)
    );
    assert_eq!(
        (pending.reached, pending.spent),
        (vec!["cost".to_owned()], vec!["cost: $0.0003 of $0.0003".to_owned()])
    );
    let again = scene.thread.resume::<BudgetReached>(AfterBudget::Raise(RaisedLimits::default())).await.unwrap();
    let unnamed = "the limit `cost` of $0.0003 is still reached: $0.0003 is used; set a higher limit";
    assert_eq!(question(&again).problem.unwrap(), unnamed);
    let again = scene.thread.resume::<BudgetReached>(raise(300)).await.unwrap();
    assert_eq!(question(&again).problem.unwrap(), "the new limit `cost`, $0.0003, is not above what is used, $0.0003");
    let state = scene.thread.resume::<BudgetReached>(raise(400)).await.unwrap().finished().unwrap();
    let limit = state.result.raised.cost.unwrap().limit;
    assert_eq!((state.result.outcome, state.result.usage.cost, limit), (Some(RunOutcome::Completed), 400, 400));
    assert_eq!((scene.commits(), scene.agent.count("developer")), (vec![done(1), done(2)], 2));
    assert!(summary(&state).contains("budget: cost: $0.0004 of $0.0004"), "{}", summary(&state));
    assert!(scene.thread.verify().await.unwrap().agrees());
}

#[tokio::test]
async fn each_answer_replaces_the_limit_before() {
    let scene = Scene::new(Agent::willing());
    question(&scene.run(&plan(2), cost(100)).await);
    assert_eq!(question(&scene.thread.resume::<BudgetReached>(raise(200)).await.unwrap()).cost, 200);
    let pending = question(&scene.thread.resume::<BudgetReached>(raise(300)).await.unwrap());
    assert_eq!(pending.spent, ["cost: $0.0003 of $0.0003"]);
    let state = scene.thread.resume::<BudgetReached>(raise(50_000)).await.unwrap().finished().unwrap();
    assert!(summary(&state).contains("budget: cost: $0.0004 of $0.0500"), "{}", summary(&state));
    assert!(scene.thread.verify().await.unwrap().agrees());
}

#[rstest]
#[case::developer(200, "developer")]
#[case::reviewer(300, "reviewer")]
#[tokio::test]
async fn a_person_ends_a_run_with_a_used_up_budget(#[case] limit: u64, #[case] role: &str) {
    let scene = Scene::new(Agent::willing());
    assert_eq!(question(&scene.run(&plan(2), cost(limit)).await).role, role);
    let state = scene.thread.resume::<BudgetReached>(AfterBudget::Abort).await.unwrap().finished().unwrap();
    assert_eq!((state.result.outcome, scene.commits()), (Some(RunOutcome::Cancelled), vec![done(1)]));
    assert!(scene.thread.verify().await.unwrap().agrees());
}

#[tokio::test]
async fn an_architect_whose_run_is_ended_writes_no_plan() {
    let scene = Scene::new(Agent::willing());
    let issue = Issue { id: "c".into(), title: "Clock".into(), description: String::new() };
    let input = ExecutionState::update().working_dir(scene.repository.path()).issue(Some(issue));
    let nothing = budget(RunLimits::default().tokens(0));
    assert_eq!(question(&scene.thread.invoke(input.profile(nothing)).await.unwrap()).role, "architect");
    let state = scene.thread.resume::<BudgetReached>(AfterBudget::Abort).await.unwrap().finished().unwrap();
    assert_eq!((state.result.outcome, scene.agent.count("architect")), (Some(RunOutcome::Cancelled), 0));
}

#[test]
fn answers_are_written_in_dollars_numbers_and_times() {
    let read = |answer: Value| serde_json::from_value::<AfterBudget>(answer);
    assert_eq!(read(json!({"raise": {"cost": 10}})).unwrap(), raise(10_000_000));
    let all = RaisedLimits { cost: Some(500_000), tokens: Some(7), wall: Some(std::time::Duration::from_secs(1800)) };
    let all = AfterBudget::Raise(all);
    assert_eq!(read(json!({"raise": {"cost": 0.5, "tokens": 7, "wall": "30m"}})).unwrap(), all);
    assert_eq!(read(serde_json::to_value(&all).unwrap()).unwrap(), all);
    assert_eq!(read(json!("abort")).unwrap(), AfterBudget::Abort);
    for wrong in [json!({"raise": {"cost": -1}}), json!({"raise": {"wall": "soon"}}), json!({"raise": {"money": 1}})] {
        assert!(read(wrong.clone()).is_err(), "{wrong}");
    }
}

/// An agent that reports its usage, and whose first turn never ends.
struct Slow {
    agent: Arc<Agent>,
    usage: Usage,
    reached: Option<mpsc::UnboundedSender<()>>,
    capabilities: Capabilities,
}

impl Driver for Slow {
    fn name(&self) -> &str {
        "slow"
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn run(&self, request: AgentRequest) -> AgentEvents {
        let (agent, usage, reached) = (Arc::clone(&self.agent), self.usage, self.reached.clone());
        events(move |tell| async move {
            tell.send(AgentEvent::Usage(usage)).await;
            if let Some(reached) = reached {
                reached.send(()).unwrap();
                std::future::pending::<()>().await;
            }
            let finished = agent.finish(request, |_| ()).await?;
            Ok(superstep::drivers::Finished { usage, ..finished })
        })
    }
}

fn slow(usage: Usage, reached: Option<mpsc::UnboundedSender<()>>) -> Arc<Slow> {
    let capabilities = Capabilities { sessions: true, submits: true, ..Capabilities::default() };
    Arc::new(Slow { agent: Agent::willing(), usage, reached, capabilities })
}

#[tokio::test]
async fn the_usage_of_a_killed_turn_is_counted() {
    let (repository, store) = (Repository::new(), Arc::new(MemoryCheckpointer::new()));
    let (sender, mut reached) = mpsc::unbounded_channel();
    let thread = |driver: Arc<Slow>| {
        let graph = graph::<Arc<Slow>>().unwrap().with_shared_checkpointer(store.clone());
        graph.thread_with("clock", Arc::new(driver))
    };
    let used = Usage { input: 60, cost: 600, requests: 1, ..Usage::default() };
    let killed = thread(slow(used, Some(sender)));
    let input = ExecutionState::update().working_dir(repository.path()).plan_markdown(Some(plan(1)));
    killed.invoke(input.profile(cost(1_000))).await.unwrap();
    tokio::select! {
        outcome = killed.resume::<ApprovePlan>(Decision::approve()) => panic!("{outcome:?}"),
        _ = reached.recv() => {}
    }
    drop(killed);
    let again = thread(slow(used, None));
    let pending = question(&again.proceed().await.unwrap());
    assert_eq!(
        (pending.role.as_str(), pending.cost, pending.tokens),
        ("reviewer", 1_200, 120),
        "600 before, 600 after the kill"
    );
    let state = again.resume::<BudgetReached>(raise(9_000)).await.unwrap().finished().unwrap();
    assert_eq!((state.result.usage.cost, state.run.tasks[0].used[&Role::Developer].cost), (1_800, 1_200));
}

#[tokio::test]
async fn a_model_has_the_price_of_the_profile() {
    let used = Usage { input: 1_000, output: 100, requests: 1, ..Usage::default() };
    let repository = Repository::new();
    let graph = graph::<Arc<Slow>>().unwrap().with_checkpointer(MemoryCheckpointer::new());
    let thread = graph.thread_with("clock", Arc::new(slow(used, None)));
    let model = |model: &str| AgentSettings { driver: Some(DriverName::Codex), model: Some(model.into()) };
    let profile = Profile {
        prices: [("big".into(), Price { input: 3_000_000, output: 15_000_000, cache_read: 0 })].into(),
        agents: [(Role::Developer, model("big")), (Role::Reviewer, model("odd")), (Role::Architect, model("odd"))]
            .into(),
        ..profile()
    };
    let input = ExecutionState::update().working_dir(repository.path()).plan_markdown(Some(plan(1)));
    let outcome = thread.invoke(input.profile(profile)).await.unwrap();
    let unknown = "cli:codex (architect, reviewer) reports tokens and no cost; add `[prices.\"odd\"]` to the profile";
    assert_eq!(outcome.questions()[0].payload::<ApprovePlan>().unwrap().warnings, [unknown]);
    let state = thread.resume::<ApprovePlan>(Decision::approve()).await.unwrap().finished().unwrap();
    let lines = summary(&state);
    let lines: Vec<&str> = lines.lines().filter(|line| line.contains("tokens") || line.contains("cost")).collect();
    assert!(lines[..2].iter().all(|line| line.starts_with("    ")), "of the task: {lines:?}");
    insta::assert_snapshot!(lines[2..].join("\n"), @r#"
    developer: 1100 tokens, $0.0045
    reviewer: 1100 tokens
    cost: $0.0045
    tokens: 2200
    cost unknown: cli:codex (architect, reviewer) reports tokens and no cost; add `[prices."odd"]` to the profile
    "#);
}

/// A driver whose developers first exceed the budget.
struct OverBudget {
    agent: Arc<Agent>,
    /// Set if they end by themselves.
    ends: bool,
}

impl Driver for OverBudget {
    fn name(&self) -> &str {
        "over"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { sessions: true, submits: true, ..Capabilities::default() }
    }

    fn run(&self, request: AgentRequest) -> AgentEvents {
        let (agent, ends) = (Arc::clone(&self.agent), self.ends);
        let is_first = request.role == "developer" && agent.count("developer") == 0;
        events(move |tell| async move {
            let finished = agent.finish(request, |_| ()).await?;
            if !is_first {
                return Ok(finished);
            }
            let usage = Usage { cost: 400, ..finished.usage };
            if ends {
                return Ok(Finished {
                    status: superstep::drivers::TurnStatus::CostLimit,
                    submitted: None,
                    usage,
                    ..finished
                });
            }
            loop {
                tell.send(AgentEvent::Usage(usage)).await;
                tell.send(AgentEvent::Notice("works on".into())).await;
            }
        })
    }
}

#[rstest]
#[tokio::test]
async fn the_usage_of_a_turn_over_the_budget_is_in_the_state(
    #[values(true, false)] ends: bool,
    #[values(true, false)] is_raised: bool,
) {
    let repository = Repository::new();
    let graph = graph::<Arc<OverBudget>>().unwrap().with_checkpointer(MemoryCheckpointer::new());
    let thread = graph.thread_with("clock", Arc::new(Arc::new(OverBudget { agent: Agent::willing(), ends })));
    let input = ExecutionState::update().working_dir(repository.path()).plan_markdown(Some(plan(1)));
    thread.invoke(input.profile(cost(300))).await.unwrap();
    let pending = question(&thread.resume::<ApprovePlan>(Decision::approve()).await.unwrap());
    assert_eq!((pending.role.as_str(), pending.cost), ("developer", 400));
    let decision = if is_raised { raise(1_000) } else { AfterBudget::Abort };
    let state = thread.resume::<BudgetReached>(decision).await.unwrap().finished().unwrap();
    let used = if is_raised { 400 + 2 * COST } else { 400 };
    assert_eq!(
        (state.result.usage.cost, state.result.used[&Role::Developer].cost),
        (used, used - if is_raised { COST } else { 0 })
    );
    assert!(thread.verify().await.unwrap().agrees());
}
