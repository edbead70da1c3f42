//! The turns of agents in the journal of a task, without recorded events.

use superstep::drivers::TurnStatus;
use superstep::nodes::AgentTurn;

use crate::agent::{Agent, approved, rejected, work};
use crate::repository::write;
use crate::scene::{Scene, plan, profile};

#[tokio::test]
async fn a_task_has_the_prompts_and_answers_of_its_agents() {
    let agent = Agent::crew(
        |call, folder, _| {
            write(folder, "part-1.txt", &call.attempt.to_string());
            work()
        },
        |call, _| if call.attempt == 1 { rejected("it is red") } else { approved() },
    );
    let scene = Scene::new(agent);
    let long = format!("{} {}", plan(1), "with care ".repeat(400));
    scene.run(&long, profile()).await.finished().unwrap();
    let mut turns = vec![];
    for snapshot in scene.thread.history().await.unwrap().all().await.unwrap().iter().rev() {
        for task in &snapshot.tasks {
            turns.extend(AgentTurn::all(&task.journal().await.unwrap()));
        }
    }
    let roles: Vec<_> = turns.iter().map(|turn| (turn.asked.role.as_str(), turn.asked.attempt)).collect();
    assert_eq!(roles, [("developer", 1), ("reviewer", 1), ("developer", 2), ("reviewer", 2)]);
    let prompts: Vec<_> = scene.agent.log.lock().unwrap().iter().map(|prompts| prompts.prompt.clone()).collect();
    assert_eq!(turns.iter().map(|turn| turn.asked.prompt.clone()).collect::<Vec<_>>(), prompts);
    assert!(prompts[0].len() > 2048 && turns[0].asked.system.is_some());
    let finished = turns[1].finished.as_ref().unwrap();
    assert_eq!((finished.status, finished.submitted.as_ref().unwrap()), (TurnStatus::Done, &rejected("it is red")));
}
