//! What the journal of a task has of the turns of agents, without any events being recorded.

use superstep::drivers::Status;
use superstep::nodes::AgentTurn;

use crate::agent::{Agent, approved, rejected, work};
use crate::repository::write;
use crate::scene::{Scene, plan, profile};

#[tokio::test]
async fn a_task_has_the_prompts_and_answers_of_its_agents() {
    let agent = Agent::crew(
        |asked, folder, _| {
            write(folder, "part-1.txt", &asked.attempt.to_string());
            work()
        },
        |asked, _| if asked.attempt == 1 { rejected("it is red") } else { approved() },
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
    let told: Vec<_> = turns.iter().map(|turn| (turn.asked.role.as_str(), turn.asked.attempt)).collect();
    assert_eq!(told, [("developer", 1), ("reviewer", 1), ("developer", 2), ("reviewer", 2)]);
    let asked: Vec<_> = scene.agent.log.lock().unwrap().iter().map(|asked| asked.prompt.clone()).collect();
    assert_eq!(turns.iter().map(|turn| turn.asked.prompt.clone()).collect::<Vec<_>>(), asked);
    assert!(asked[0].len() > 2048 && turns[0].asked.system.is_some());
    let finished = turns[1].finished.as_ref().unwrap();
    assert_eq!((finished.status, finished.submitted.as_ref().unwrap()), (Status::Done, &rejected("it is red")));
}
