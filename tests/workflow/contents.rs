//! Long texts of prompts: stored once with the sessions, by hash in the journal, and read when an agent is called.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use rstest::rstest;
use superstep::nodes::{AgentTurn, Brief, Content, ContentError, Contents, Feedback, Prompt, PromptDiff, ReviewedWork};

use crate::agent::Agent;
use crate::scene::{Scene, plan, profile};

const CARE: &str = "with care with care";

async fn turns(scene: &Scene) -> (Vec<AgentTurn>, String) {
    let (mut turns, mut recorded) = (vec![], String::new());
    for snapshot in scene.thread.history().await.unwrap().all().await.unwrap().iter().rev() {
        for task in &snapshot.tasks {
            let journal = task.journal().await.unwrap();
            turns.extend(AgentTurn::all(&journal));
            recorded.push_str(&serde_json::to_string(&journal).unwrap());
        }
    }
    (turns, recorded)
}

#[tokio::test]
async fn a_long_plan_is_stored_once_for_all_turns() {
    let scene = Scene::new(Agent::willing());
    let long = format!("{} {}\n", plan(1), "with care ".repeat(400));
    scene.run(&long, profile()).await.finished().unwrap();
    let folder = scene.repository.path().join(".superstep/contents");
    let with_care: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| fs::read_to_string(path).unwrap().contains(CARE))
        .collect();
    let [file] = with_care.as_slice() else { panic!("{with_care:?}") };
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    let (turns_read, recorded) = turns(&scene).await;
    assert!(!recorded.contains(CARE), "the journal has the hash alone");
    let prompts: Vec<_> = scene.agent.log.lock().unwrap().iter().map(|call| call.prompt.clone()).collect();
    assert_eq!(turns_read.iter().map(|turn| turn.asked.prompt.clone()).collect::<Vec<_>>(), prompts);
    assert!(prompts.iter().all(|prompt| prompt.contains(CARE)) && prompts.len() == 2);

    scene.repository.git(&["clean", "-ffdxq"]);
    let (turns_read, _) = turns(&scene).await;
    assert_eq!(turns_read.iter().map(|turn| turn.asked.prompt.clone()).collect::<Vec<_>>(), prompts);
    assert!(!folder.exists());

    fs::remove_dir_all(scene.repository.path().join(".git/superstep/contents")).unwrap();
    let (turns_read, _) = turns(&scene).await;
    let hash = file.file_name().unwrap().to_str().unwrap();
    let prompt = &turns_read[0].asked.prompt;
    assert!(prompt.contains(hash) && prompt.contains(&format!("is missing: there is no file {}", file.display())));
    assert!(scene.thread.verify().await.unwrap().agrees(), "verify needs no file");
}

#[rstest]
#[case("# Clock\n")]
#[case("Use ```` for code")]
#[case(&"long ".repeat(300))]
#[case(&"````\n".repeat(300))]
fn a_prompt_from_a_hash_equals_the_one_from_the_text(#[case] section: &str) {
    let home = tempfile::tempdir().unwrap();
    let contents = Contents::at(home.path());
    let content = contents.put(section).unwrap();
    let brief = |section| Brief { id: "1".into(), position: 1, total: 1, section, ..Brief::default() };
    let prompts = |brief: Brief| {
        let work = ReviewedWork {
            kind: "general",
            diff: &PromptDiff::Text("+a\n".into()),
            delta: "",
            checks: &[],
            earlier: &[],
        };
        [Prompt::developer(&brief, &Feedback::default(), None), Prompt::reviewer(&brief, &work)]
    };
    let known = prompts(brief(section.into()));
    let hashed = prompts(brief(content.clone().into()));
    for (known, hashed) in known.iter().zip(&hashed) {
        assert!(known.text().contains(section));
        assert!(!hashed.text().contains(section) && hashed.text().contains(&content.hash));
        assert_eq!(hashed.resolve(&contents).unwrap(), known.text());
        assert_eq!(known.resolve(&contents).unwrap(), known.text());
        let stored = serde_json::to_string(hashed).unwrap();
        assert_eq!(serde_json::from_str::<Prompt>(&stored).unwrap(), *hashed);
    }
}

#[test]
fn a_short_prompt_is_stored_as_before() {
    let old = r#"{"name":"letter","hash":"0","text":"Write."}"#;
    let prompt: Prompt = serde_json::from_str(old).unwrap();
    assert_eq!((prompt.text().as_ref(), serde_json::to_string(&prompt).unwrap().as_str()), ("Write.", old));
}

#[test]
fn the_error_for_an_unreadable_content_names_its_file() {
    let home = tempfile::tempdir().unwrap();
    let contents = Contents::at(home.path());
    let content = contents.put("a plan").unwrap();
    assert_eq!((contents.put("a plan").unwrap(), content.bytes), (content.clone(), 6));
    let file = home.path().join("contents").join(&content.hash);
    assert_eq!(fs::read_dir(home.path().join("contents")).unwrap().count(), 1);

    fs::write(&file, "a clan").unwrap();
    let damaged = contents.get(&content).unwrap_err();
    assert!(matches!(damaged, ContentError::Damaged { .. }) && damaged.to_string().contains(&content.hash));
    contents.put("a plan").unwrap();
    assert_eq!(contents.get(&content).unwrap(), "a plan", "what is damaged is written again");

    let elsewhere = home.path().join("elsewhere");
    fs::rename(&file, &elsewhere).unwrap();
    let missing = contents.get(&content).unwrap_err();
    assert!(missing.to_string().ends_with(&file.display().to_string()) && missing.help().contains("backup"));
    symlink(&elsewhere, &file).unwrap();
    assert!(matches!(contents.get(&content), Err(ContentError::Unreadable { .. })), "a link is not followed");
    let odd = Content { hash: "../elsewhere".into(), bytes: 6 };
    assert!(matches!(contents.get(&odd), Err(ContentError::Invalid { .. })));
}

#[test]
fn nothing_is_written_through_a_linked_folder() {
    let home = tempfile::tempdir().unwrap();
    let target = tempfile::tempdir().unwrap();
    symlink(target.path(), home.path().join("contents")).unwrap();
    let refused = Contents::at(home.path()).put("a plan").unwrap_err();
    assert!(matches!(refused, ContentError::Unwritable { .. }), "{refused}");
    assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0);
}
