//! Model verifiers: a read-only agent is shown the changes, and submits a judgement. Its role is the verifier's id. A failed
//! turn is a finding, and does not end the run.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write;
use std::time::Duration;

use superstep_base::moved::present_path;

use super::answers::{self, Alignment, CriterionMet, Findings, Quote, Risks, Style};
use super::job::{RunVerifier, VerifierResult, failure};
use crate::findings::{Finding, FindingKind, Severity, Verdict, VerifierReport};
use crate::graph::{Ctx, NodeError};
use crate::nodes::agent::{AgentAnswer, AgentSpec, Agents, CutReason, Submit, Turn};
use crate::nodes::git::{DIFF_LIMIT, NAMED, failed, lines};
use crate::nodes::job::Context;
use crate::nodes::prompts::{Prompt, PromptDiff, Verification};
use crate::spec::VerifierEntry;
use crate::verifiers::{Neighbour, VerifierTask};

/// The maximum size of a file in which a quote is looked for, in bytes.
const LONGEST_FILE: usize = 8 * 1024 * 1024;

/// A model verifier at work.
struct ModelRun<'a, C> {
    job: &'a RunVerifier,
    ctx: &'a Ctx<C>,
    diff: PromptDiff,
    result: VerifierResult,
}

pub(super) async fn ask_model<C: Agents>(job: &RunVerifier, ctx: &Ctx<C>) -> Result<VerifierResult, NodeError> {
    let trees = [&job.base.tree, &job.tree];
    if let Some(why) = nothing_to_judge(job) {
        let report = VerifierReport::of([Finding::info(FindingKind::Other("NOTHING_TO_VERIFY".into()), why)]);
        return Ok(VerifierResult { report, ..VerifierResult::default() });
    }
    let leaked = ctx.effect(job.key("keys"), &trees, |_| job.folder.leaked_keys(trees[0], trees[1])).await?;
    if !leaked.is_empty() {
        let why = format!("the changes hold keys, so that no model is shown them: {}", leaked.join(", "));
        let report = VerifierReport::of([Finding::error(FindingKind::Secret, why)]);
        return Ok(VerifierResult { report, ..VerifierResult::default() });
    }
    let diff = shown_changes(job, ctx).await?;
    let mut run = ModelRun { job, ctx, diff, result: VerifierResult::default() };
    match job.entry.id.as_str() {
        "alignment" => run.alignment().await?,
        "bigpicture" => run.risks().await?,
        "style" => run.style().await?,
        _ => run.own().await?,
    }
    Ok(run.result())
}

/// Returns why a verifier need not run.
fn nothing_to_judge(job: &RunVerifier) -> Option<&'static str> {
    match job.entry.id.as_str() {
        "alignment" if job.task.acceptance.is_empty() => Some("the task has no acceptance criteria"),
        "bigpicture" if job.task.parent.is_none() && job.task.next.is_empty() => {
            Some("the task has no parent and no next tasks")
        }
        _ => None,
    }
}

impl<C: Agents> ModelRun<'_, C> {
    /// Requests judgements on the criteria, as many per turn as the settings allow.
    async fn alignment(&mut self) -> Result<(), NodeError> {
        let window = self.job.entry.config.model.acceptance_window.map_or(usize::MAX, |window| window.max(1) as usize);
        for (nth, criteria) in self.job.task.acceptance.chunks(window).enumerate() {
            let prompt = Prompt::alignment(&self.verification(criteria));
            let Some(given) = self.answer::<Alignment>(nth, prompt).await? else { return Ok(()) };
            let quotes = self.quotes(nth, &given).await?;
            let of = |judged: &CriterionMet| quotes.get(&quote_of(judged)).copied().unwrap_or(Quote::None);
            self.add_findings(answers::findings(self.job, criteria, &given, of));
        }
        Ok(())
    }

    async fn risks(&mut self) -> Result<(), NodeError> {
        let prompt = Prompt::big_picture(&self.verification(&[]));
        if let Some(given) = self.answer::<Risks>(0, prompt).await? {
            self.add_findings(answers::risks(self.job, &given));
        }
        Ok(())
    }

    async fn style(&mut self) -> Result<(), NodeError> {
        let prompt = Prompt::style(&self.verification(&[]));
        if let Some(given) = self.answer::<Style>(0, prompt).await? {
            self.add_findings(answers::suggestions(&given));
            self.result.report.verdict = Some(Verdict::Advisory);
        }
        Ok(())
    }

    async fn own(&mut self) -> Result<(), NodeError> {
        if self.job.entry.config.model.prompt.is_none() {
            let why = format!("there is no prompt: set `config.prompt` of the verifier `{}`", self.job.entry.id);
            self.add_findings([failure(why)]);
            return Ok(());
        }
        let prompt = Prompt::own_verifier(&self.verification(&self.job.task.acceptance));
        if let Some(given) = self.answer::<Findings>(0, prompt).await? {
            self.add_findings(answers::own(&given));
        }
        Ok(())
    }

    fn add_findings(&mut self, findings: impl IntoIterator<Item = Finding>) {
        findings.into_iter().for_each(|finding| self.result.report.push(finding));
    }

    fn verification<'b>(&'b self, criteria: &'b [String]) -> Verification<'b> {
        let settings = &self.job.entry.config.model;
        let next: &[Neighbour] = &self.job.task.next;
        let most = settings.consider_next_tasks.map_or(usize::MAX, |most| most as usize);
        let next = &next[..next.len().min(most)];
        Verification { task: &self.job.task, criteria, next, own: settings.prompt.as_deref(), diff: &self.diff }
    }

    /// Takes a turn; returns none, with a finding, if the result is unusable.
    async fn answer<T: Submit>(&mut self, nth: usize, prompt: Prompt) -> Result<Option<T>, NodeError> {
        let turned = self.turn::<T>(nth, prompt).take::<T, C>(self.ctx).await?;
        self.result.usage += turned.usage;
        self.result.raised = self.result.raised.latest(turned.raised);
        self.result.tampered.extend(turned.tampered);
        if matches!(turned.cut, Some(CutReason::Spent(_))) {
            self.result.is_spent = true;
            self.add_findings([failure("the budget of the run is used up")]);
            return Ok(None);
        }
        let why = match turned.answer {
            AgentAnswer::Given(given) => return Ok(Some(given)),
            AgentAnswer::Unusable(why) => why,
            AgentAnswer::SessionLost => "its session was lost".to_owned(),
        };
        self.add_findings([failure(format!("the verifier handed over nothing that can be used: {why}"))]);
        Ok(None)
    }

    fn turn<T: Submit>(&self, nth: usize, prompt: Prompt) -> Turn {
        let job = self.job;
        let agent = agent(job);
        Turn {
            system: Prompt::verifier_system(&agent.role, T::TOOL),
            task: job.task.id.clone(),
            attempt: job.attempt,
            files: self.diff.file().into_iter().collect(),
            failure_is_answer: true,
            ends_with_budget: true,
            ..Turn::new::<T>(job.key(&format!("turn/{}", nth + 1)), agent, prompt, &job.folder)
        }
    }

    /// Checks whether quotes are in the files that they name, in the verified tree.
    async fn quotes(&self, nth: usize, given: &Alignment) -> Result<HashMap<(String, String), Quote>, NodeError> {
        let quotes: Vec<(String, String)> =
            given.criteria.iter().map(quote_of).filter(|(_, quote)| !quote.is_empty()).collect();
        let key = self.job.key(&format!("quotes/{}", nth + 1));
        let found: Vec<bool> = self.ctx.effect(key, &quotes, |_| find_quotes(self.job, &quotes)).await?;
        let quote = |is_found| if is_found { Quote::Found } else { Quote::Missing };
        Ok(quotes.into_iter().zip(found.into_iter().map(quote)).collect())
    }

    fn result(self) -> VerifierResult {
        let mut result = self.result;
        result.ms = result.usage.ms;
        let verdict = if result.report.severity == Severity::Error { Verdict::Fail } else { Verdict::Pass };
        let has_failed = result.report.findings.iter().any(|finding| finding.kind == FindingKind::VerifierFail);
        result.report.verdict = result.report.verdict.or(Some(verdict)).filter(|_| !has_failed);
        result
    }
}

/// Returns the length of a verifier's prompt without any changes, in bytes.
pub(super) fn prompt_length(entry: &VerifierEntry, task: &VerifierTask) -> usize {
    let diff = PromptDiff::Text(String::new());
    let own = entry.config.model.prompt.as_deref();
    let shown = Verification { task, criteria: &task.acceptance, next: &task.next, own, diff: &diff };
    let prompt = match entry.id.as_str() {
        "alignment" => Prompt::alignment(&shown),
        "bigpicture" => Prompt::big_picture(&shown),
        "style" => Prompt::style(&shown),
        _ => Prompt::own_verifier(&shown),
    };
    prompt.text().len()
}

/// Returns the agent: the settings of the verifier take precedence.
fn agent(job: &RunVerifier) -> AgentSpec {
    let settings = &job.entry.config;
    let mut agent = AgentSpec { role: job.entry.id.clone(), ..job.agent.clone() };
    if let Some(driver) = settings.model.driver.clone().filter(|driver| *driver != agent.driver) {
        // Address, key and model are those of another service.
        agent = AgentSpec { driver, base_url: None, api_key_env: None, model: None, ..agent };
    }
    agent.model = settings.model.model.clone().or(agent.model);
    agent.limits.wall = Duration::from_secs(settings.timeout_sec.into());
    agent
}

/// Returns the file and the quote of a judgement, both empty if there is none.
fn quote_of(judged: &CriterionMet) -> (String, String) {
    let shown = judged.evidence.clone().unwrap_or_default();
    (shown.file.unwrap_or_default(), shown.quote.unwrap_or_default().trim().to_owned())
}

async fn find_quotes(job: &RunVerifier, quotes: &[(String, String)]) -> Result<Vec<bool>, NodeError> {
    let workspace = job.folder.open().await?;
    let normalizer = job.normalizer();
    let mut all = vec![];
    for (file, quote) in quotes {
        let file = normalizer.relative(file);
        let text = workspace.text_of(&job.tree, &file, LONGEST_FILE).await.map_err(failed)?;
        all.push(text.is_some_and(|text| answers::has_quote(&text, quote)));
    }
    Ok(all)
}

/// Returns the changes, limited by the verifier's settings.
async fn shown_changes<C: Context>(job: &RunVerifier, ctx: &Ctx<C>) -> Result<PromptDiff, NodeError> {
    ctx.effect(job.key("diff"), &[&job.base.tree, &job.tree], |_| read_diff(job)).await
}

async fn read_diff(job: &RunVerifier) -> Result<PromptDiff, NodeError> {
    let workspace = job.folder.open().await?;
    let (from, to, most) = (&job.base.tree, &job.tree, job.entry.config.max_diff_bytes as usize);
    let diff = workspace.diff(from, to, DIFF_LIMIT.min(most)).await.map_err(failed)?;
    if let Some(text) = diff.text {
        return Ok(PromptDiff::Text(text));
    }
    fs::create_dir_all(present_path(&job.host.long_diffs))?;
    let (text, is_all) = workspace.diff_start(from, to, most).await.map_err(failed)?;
    let name = if is_all { format!("{from}-{to}.diff") } else { format!("{from}-{to}-{most}.diff") };
    let path = job.host.long_diffs.join(name);
    let mut file = File::create(present_path(&path))?;
    file.write_all(text.as_bytes())?;
    if !is_all {
        writeln!(file, "[the rest is left out: the diff has {} bytes]", diff.bytes)?;
    }
    Ok(PromptDiff::File { path: path.display().to_string(), files: lines(&diff.files, NAMED) })
}
