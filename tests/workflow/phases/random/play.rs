//! Runs a script: the graph, a repository, agents that write files; the run is cut if the script says so.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use superstep::checkpoint::{Checkpointer, FailingCheckpointer};
use superstep::nodes::{AfterHalt, AgentQuestion, AgentReply, ApprovePlan, Halted};
use superstep::plan::Decision;
use superstep::prelude::*;
use superstep_workflows::phased::{PhaseStep, SubtaskState, graph};
use superstep_workflows::task_based::ExecutionState;
use superstep_workflows::{PhasedSettings, Profile};

use super::crew::{Crew, REPLY, files};
use super::script::{Cut, Files, Script, begin, id, list};
use super::seen::{End, Halt, Seen, line, phase};
use crate::phases::stage::{Cast, Stage};
use crate::repository::Repository;

type Phases = Thread<ExecutionState, PhaseStep, Arc<Cast>>;

/// A run under way.
struct Play<'s> {
    script: &'s Script,
    stage: Stage,
    crew: Arc<Crew>,
    agents: Arc<Cast>,
    store: Arc<MemoryCheckpointer>,
    /// For each question about a phase or a subtask the index of its answer.
    places: HashMap<InterruptId, usize>,
}

/// Runs a script, and returns its observations.
pub(super) async fn play(script: &Script) -> Seen {
    let mut play = Play::new(script);
    let state = play.run_to_end().await;
    play.seen(&state).await
}

impl<'s> Play<'s> {
    fn new(script: &'s Script) -> Self {
        let repository = Repository::new();
        repository.write("list.txt", &list(&begin()));
        repository.git(&["add", "."]);
        repository.git(&["commit", "-q", "--amend", "--no-edit"]);
        let crew = Crew::new(script, repository.path());
        let (agents, store) = (crew.cast(), Arc::new(MemoryCheckpointer::new()));
        let first: Arc<dyn Checkpointer> = match script.cut {
            Some(Cut::Write(at)) => Arc::new(FailingCheckpointer::new(store.clone(), at)),
            Some(Cut::Acknowledgement(at)) => Arc::new(FailingCheckpointer::losing_ack(store.clone(), at)),
            Some(Cut::Turn(_)) | None => store.clone(),
        };
        let thread = thread(first, &agents);
        Self { script, stage: Stage { repository, thread }, crew, agents, store, places: HashMap::new() }
    }

    /// Runs, and resumes once after a cut.
    async fn run_to_end(&mut self) -> Arc<ExecutionState> {
        let (crew, mut cut) = (Arc::clone(&self.crew), self.script.cut);
        loop {
            let ran = tokio::select! {
                ran = self.advance() => Some(ran),
                () = crew.cut.notified() => None,
            };
            match ran {
                Some(Ok(Outcome::Finished(state))) => return state,
                Some(Ok(_)) => continue,
                Some(Err(error)) => assert!(format!("{error:?}").contains("chosen to fail"), "{error:?}"),
                None => {}
            }
            assert!(cut.take().is_some(), "a run is cut once");
            self.stage.thread = thread(self.store.clone(), &self.agents);
        }
    }

    /// Starts, answers or resumes, whichever is next.
    async fn advance(&mut self) -> Result<Outcome<ExecutionState>, RunError> {
        let thread = &self.stage.thread;
        if thread.state().await?.is_none() {
            return thread.invoke(self.stage.input(&self.script.plan(), profile(self.script))).await;
        }
        let Status::Interrupted { questions } = thread.status().await? else { return thread.proceed().await };
        let question = questions.last().unwrap().clone();
        match question.name() {
            ApprovePlan::NAME => {
                assert_eq!(question.json()["problems"], serde_json::json!([]));
                thread.resume::<ApprovePlan>(approval(self.script)).await
            }
            Halted::NAME => {
                let answer = self.halted(&question).await;
                self.stage.thread.resume::<Halted>(answer).await
            }
            other => {
                assert_eq!(other, AgentQuestion::NAME);
                let payload: AgentQuestion = question.payload().unwrap();
                self.crew.seen.lock().unwrap().questions.insert(payload.question);
                let reply = AgentReply::Reply { text: REPLY.into() };
                thread.answer(Answer::new::<AgentQuestion>(&reply).to(question.id())).await
            }
        }
    }

    /// Records a question about a phase or a subtask once, and returns its answer.
    async fn halted(&mut self, question: &Question) -> AfterHalt {
        self.stage.tidy();
        let next = self.places.len();
        let place = *self.places.entry(question.id()).or_insert(next);
        if place == next {
            let halt = self.halt(question).await;
            self.crew.seen.lock().unwrap().halts.push(halt);
        }
        self.script.answers.get(place).cloned().unwrap_or(AfterHalt::Abort)
    }

    async fn halt(&self, question: &Question) -> Halt {
        let payload = question.json();
        let references: Vec<String> = serde_json::from_value(payload["salvage"].clone()).unwrap();
        references.iter().for_each(|name| drop(self.stage.repository.git(&["rev-parse", "--verify", "--quiet", name])));
        let state = self.stage.state().await;
        let shown = serde_json::to_value(&state).unwrap();
        let at = shown["phase_index"].as_u64().unwrap() as usize;
        assert_eq!((&shown["outcome"], &shown["phases"][at]["status"]), (&"halted".into(), &"failed".into()));
        let phases = state.phased.phases;
        Halt {
            phase: serde_json::from_value(payload["phase"].clone()).unwrap(),
            subtask: serde_json::from_value(payload["subtask"].clone()).unwrap(),
            reason: payload["reason"].as_str().unwrap().to_owned(),
            lines: phases.into_iter().flat_map(|phase| phase.subtasks).collect(),
        }
    }

    async fn seen(self, state: &ExecutionState) -> Seen {
        let repository = &self.stage.repository;
        self.stage.tidy();
        self.stage.agrees().await;
        assert_eq!(repository.subjects("main"), ["begin"], "the user's branch stays");
        assert_eq!(repository.git(&["for-each-ref", "refs/superstep/clock/integrated"]), "");
        let log = repository.git(&["log", "--reverse", "--format=%H", "superstep/clock"]);
        let mut seen = std::mem::take(&mut *self.crew.seen.lock().unwrap());
        seen.bases = state.phased.phases.iter().map(|phase| phase.pre_phase_commit.clone()).collect();
        seen.log = log.lines().map(str::to_owned).collect();
        seen.end = End {
            outcome: state.result.outcome,
            phases: state
                .phased
                .phases
                .iter()
                .map(|one| format!("{}: {}", phase(one), subtasks(&one.subtasks)))
                .collect(),
            commits: commits(repository),
            kept: kept_work(repository),
            files: files(&repository.path()),
        };
        seen
    }
}

fn subtasks(all: &[SubtaskState]) -> String {
    all.iter().map(line).collect::<Vec<_>>().join(", ")
}

fn thread(store: Arc<dyn Checkpointer>, agents: &Arc<Cast>) -> Phases {
    let graph = graph::<Arc<Cast>>().unwrap().with_shared_checkpointer(store);
    graph.thread_with("clock", Arc::new(Arc::clone(agents)))
}

fn profile(script: &Script) -> Profile {
    let settings = &script.settings;
    Profile {
        max_task_review_iterations: settings.max_turns,
        on_exhausted: settings.on_exhausted,
        retry_session: settings.retry_session,
        final_review: false,
        phased: PhasedSettings {
            max_parallel: settings.max_parallel,
            max_attempts: settings.max_phase_attempts,
            on_failure: settings.on_failure,
            strict_files: settings.strict_files,
            subtask_review: settings.subtask_review,
            ..PhasedSettings::default()
        },
        ..Profile::default()
    }
}

fn approval(script: &Script) -> Decision {
    match &script.approved {
        Some(tasks) => Decision::approve_only(tasks.iter().map(|at| id(*at).parse().unwrap())),
        None => Decision::approve(),
    }
}

fn commits(repository: &Repository) -> Vec<String> {
    let value = |key: &str| format!("%(trailers:key=Superstep-{key},valueonly,separator=%x2C)");
    let format = format!("--format=%s: {} {} {}", value("Task"), value("Phase"), value("Attempt"));
    let log = repository.git(&["log", "--reverse", &format, "main..superstep/clock"]);
    log.lines().map(str::to_owned).collect()
}

/// Returns the work under every reference that keeps some.
fn kept_work(repository: &Repository) -> BTreeMap<String, Files> {
    let names = repository.git(&["for-each-ref", "--format=%(refname)", "refs/superstep/clock"]);
    let short = |name: &str| name.trim_start_matches("refs/superstep/clock/").to_owned();
    let kept = names.lines().filter(|name| !crate::scene::of_run(name));
    kept.map(|name| (short(name), unpacked(repository, name))).collect()
}

fn unpacked(repository: &Repository, reference: &str) -> Files {
    let (folder, archive) = (tempfile::tempdir().unwrap(), tempfile::NamedTempFile::new().unwrap());
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    repository.git(&["archive", "--format=tar", "-o", &path(archive.path()), reference]);
    let tar =
        std::process::Command::new("tar").args(["-xf", &path(archive.path()), "-C", &path(folder.path())]).status();
    assert!(tar.unwrap().success());
    files(folder.path())
}
