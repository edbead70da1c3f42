//! Agents and a verifier for tasks in attempts. They are code, so they cost little, but they really change files.

use std::path::Path;

use serde_json::{Value, json};
use superstep::drivers::{
    AgentEvents, AgentRequest, Capabilities, Driver, Finished, SessionRef, TurnStatus, Usage, events,
};
use superstep::findings::{Finding, FindingKind, VerifierReport};
use superstep::verifiers::{Verifier, VerifierError, VerifierJob};

/// The number of files with an error in a task that is split.
const PARTS: u32 = 27;

/// The behaviour of agents.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// This many attempts, each but the last with a different error.
    Line { attempts: u32 },
    /// Tasks fail and are split into three down to this depth, where they fix their part.
    Tree { depth: u32 },
}

impl Shape {
    /// Does the work of one turn.
    fn work(self, request: &AgentRequest) {
        let (root, task, attempt) = (&request.directory, &request.place.task, request.place.attempt);
        write(root, &format!("notes/{task}.txt"), &format!("attempt {attempt}\n"));
        match self {
            Self::Line { attempts } if attempt == attempts => write(root, &path(0), "right"),
            Self::Line { .. } => write(root, &path(0), &format!("wrong{attempt}")),
            Self::Tree { .. } if task == "tides" => (0..PARTS).for_each(|part| write(root, &path(part), "wrong")),
            Self::Tree { depth } => mended(task, depth).for_each(|part| write(root, &path(part), "right")),
        }
    }
}

fn path(part: u32) -> String {
    format!("parts/part{part}.txt")
}

/// Returns the parts that a task fixes, by its id: `tides.1.3` is the last third of the first third.
fn mended(task: &str, depth: u32) -> std::ops::Range<u32> {
    let thirds = task.split('.').skip(1).map(|third| third.parse::<u32>().unwrap() - 1);
    let (first, left) = thirds.fold((0, PARTS), |(first, left), third| (first + third * left / 3, left / 3));
    let is_deepest = task.split('.').count() == depth as usize + 1;
    first..first + if is_deepest { left } else { 0 }
}

pub(crate) fn write(root: &Path, path: &str, text: &str) {
    let file = root.join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

/// Reports an error for each wrong file of `parts`.
pub(crate) struct Parts;

impl Verifier for Parts {
    async fn verify(&self, job: &VerifierJob) -> Result<VerifierReport, VerifierError> {
        let mut report = VerifierReport::pass();
        for part in 0..PARTS {
            let Ok(text) = std::fs::read_to_string(job.folder.join(path(part))) else { continue };
            if text != "right" {
                let finding = Finding::error(FindingKind::BuildFail, format!("part{part} is {text}"));
                report.push(finding.at(path(part), 1));
            }
        }
        Ok(report)
    }
}

/// An agent that follows its shape, and splits tasks on request.
pub(crate) struct Agent(pub(crate) Shape);

impl Driver for Agent {
    fn name(&self) -> &str {
        "bench"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { sessions: true, submits: true, ..Capabilities::default() }
    }

    fn run(&self, request: AgentRequest) -> AgentEvents {
        let shape = self.0;
        events(move |_| async move {
            let submitted = if request.role == "splitter" {
                split(&request.prompt)
            } else {
                shape.work(&request);
                json!({"status": "done", "summary": "It is written."})
            };
            let session = Some(SessionRef { id: request.place.task, turn: request.turn });
            let (submitted, usage) = (Some(submitted), Usage::default());
            Ok(Finished { status: TurnStatus::Done, text: String::new(), submitted, session, usage })
        })
    }
}

/// Returns three children for the errors of a prompt, whose lines have a fingerprint and a message each.
fn split(prompt: &str) -> Value {
    let words: Vec<&str> = prompt.split_whitespace().collect();
    let error = |pair: &[&str]| {
        let part = pair[1].strip_prefix("part")?.parse::<u32>().ok()?;
        (pair[0].len() == 32).then(|| (part, pair[0].to_owned()))
    };
    let mut errors: Vec<(u32, String)> = words.windows(2).filter_map(error).collect();
    errors.sort();
    let child = |errors: &[(u32, String)]| {
        let parts: Vec<String> = errors.iter().map(|(part, _)| part.to_string()).collect();
        let covers: Vec<&String> = errors.iter().map(|(_, error)| error).collect();
        json!({"title": format!("Parts {}", parts.join(" ")), "goal": parts.join(" "), "covers_fingerprints": covers})
    };
    json!({"order": "sequence", "children": errors.chunks(errors.len().div_ceil(3).max(1)).map(child).collect::<Vec<_>>()})
}
