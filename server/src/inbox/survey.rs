//! The places of all items. The threads that may wait are found by the store's lists of statuses, so that the work grows with their number
//! and not with that of all threads; a thread that has not changed is not read again.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use superstep::checkpoint::{ListedThread, ThreadQuery};
use superstep::graph::{AnyGraph, InterruptId, Question, Status, StatusKind, ThreadInfo};

use super::damage::readable;
use super::stalls::{PATIENCE, StallCause};
use super::waits::{WaitReason, WaitingItem, is_untrusted, reason_of_idle};
use crate::error::ApiResult;
use crate::progress::waits::KnownPosition;
use crate::records::run::{OpenRun, RunRecord, RunStatus};
use crate::records::thread::ThreadRecord;
use crate::server::Server;

/// The statuses of threads that have not ended.
const OPEN: [StatusKind; 7] = [
    StatusKind::Interrupted,
    StatusKind::Failed,
    StatusKind::Damaged,
    StatusKind::Pending,
    StatusKind::Running,
    StatusKind::Waiting,
    StatusKind::AwaitingSignal,
];

/// Returns the items of all threads, in their order.
pub(super) async fn all_items(server: &Server) -> ApiResult<Vec<WaitingItem>> {
    let mut query = ThreadQuery::default();
    query.statuses = OPEN.to_vec();
    let open = server.records.0.list(&query).await?;
    server.positions.keep(&open);
    items_of(server, open).await
}

/// Returns the items of a thread; `None` if the store does not have it.
pub(super) async fn items_of_thread(server: &Server, thread: &str) -> ApiResult<Option<Vec<WaitingItem>>> {
    let mut query = ThreadQuery::default();
    (query.prefix, query.limit) = (thread.to_owned(), Some(1)); // names are in the order of their lengths
    let found = server.records.0.list(&query).await?.pop().filter(|listed| listed.id.as_str() == thread);
    let Some(listed) = found else { return Ok(None) };
    let open = if OPEN.contains(&listed.status) { vec![listed] } else { vec![] };
    items_of(server, open).await.map(Some)
}

async fn items_of(server: &Server, open: Vec<ListedThread>) -> ApiResult<Vec<WaitingItem>> {
    let survey = Survey::read(server, &open).await?;
    let mut items = vec![];
    for listed in open {
        let record = survey.records.get(listed.id.as_str());
        let reasons = survey.reasons(&listed, record).await?;
        let listed = Arc::new(listed);
        items.extend(reasons.into_iter().map(|reason| WaitingItem::new(&listed, record, reason)));
    }
    items.sort_by(|a, b| a.place.cmp(&b.place));
    Ok(items)
}

/// The records of the server by which the reasons are found.
struct Survey<'a> {
    server: &'a Server,
    now: u64,
    /// The threads with runs that have not ended.
    busy: HashSet<String>,
    /// The records of threads without a run that may be stalled, of damaged ones, and of those with a run.
    records: HashMap<String, ThreadRecord>,
}

impl<'a> Survey<'a> {
    async fn read(server: &'a Server, open: &[ListedThread]) -> ApiResult<Self> {
        let runs = server.records.all::<OpenRun>("").await?;
        let busy: HashSet<String> = runs.into_iter().map(|run| run.record.thread).collect();
        let has_use = |listed: &&ListedThread| {
            matches!(listed.status, StatusKind::Pending | StatusKind::Damaged) || busy.contains(listed.id.as_str())
        };
        let keys = open.iter().filter(has_use).map(|listed| ThreadRecord::key_of(listed.id.as_str()));
        let records = server.records.get_all::<ThreadRecord>(keys).await?.into_iter().map(|found| found.record);
        let records = records.map(|record| (record.thread.clone(), record)).collect();
        Ok(Self { server, now: server.records.time(), busy, records })
    }

    /// Returns why a thread waits for a person: a reason for each item.
    async fn reasons(&self, listed: &ListedThread, record: Option<&ThreadRecord>) -> ApiResult<Vec<WaitReason>> {
        if record.is_some_and(|record| record.is_temporary) {
            return Ok(vec![]);
        }
        if listed.status == StatusKind::Damaged {
            return Ok(vec![WaitReason::Damaged]);
        }
        let Ok(graph) = self.server.graphs.get(&listed.graph) else { return Ok(vec![]) };
        if is_untrusted(listed) {
            return Ok(vec![WaitReason::Untrusted]);
        }
        let is_busy = self.busy.contains(listed.id.as_str());
        let Some(position) = self.position(graph, listed).await? else { return Ok(vec![WaitReason::Damaged]) };
        Ok(match position {
            KnownPosition::NeedsMigration if is_busy => vec![],
            KnownPosition::NeedsMigration => vec![WaitReason::NeedsMigration],
            KnownPosition::Fits(questions) if !questions.is_empty() => unanswered(questions, record),
            KnownPosition::Fits(_) if is_busy => self.reason_of_busy(listed, record).await?.into_iter().collect(),
            KnownPosition::Fits(_) => {
                let has_given_up = self.server.resumes.has_given_up(listed);
                reason_of_idle(listed, record, (has_given_up, self.now)).into_iter().collect()
            }
        })
    }

    /// Returns whether a thread fits its graph, and its open questions; `None` if its records cannot be read.
    async fn position(&self, graph: &AnyGraph, listed: &ListedThread) -> ApiResult<Option<KnownPosition>> {
        if listed.status == StatusKind::Running {
            return Ok(self.open_questions(listed).await?.map(KnownPosition::Fits));
        }
        let may_misfit = listed.fingerprint != graph.fingerprint();
        if listed.status != StatusKind::Interrupted && !may_misfit {
            return Ok(Some(KnownPosition::Fits(vec![])));
        }
        if let Some(known) = self.server.positions.get(listed) {
            return Ok(Some(known));
        }
        let position = match may_misfit && needs_migration(graph, listed).await? {
            true => Some(KnownPosition::NeedsMigration),
            false => self.open_questions(listed).await?.map(KnownPosition::Fits),
        };
        position.iter().for_each(|position| self.server.positions.put(listed, position.clone()));
        Ok(position)
    }

    /// Returns the open questions of a thread; `None` if its records cannot be read.
    async fn open_questions(&self, listed: &ListedThread) -> ApiResult<Option<Vec<InterruptId>>> {
        if !matches!(listed.status, StatusKind::Interrupted | StatusKind::Running) {
            return Ok(Some(vec![]));
        }
        let found = ThreadInfo::from(listed.clone()).read_questions(&*self.server.records.0).await;
        Ok(readable(found)?.map(|questions| questions.iter().map(Question::id).collect()))
    }

    /// Returns why a thread with runs that have not ended waits for a person: no process has its run.
    async fn reason_of_busy(
        &self,
        listed: &ListedThread,
        record: Option<&ThreadRecord>,
    ) -> ApiResult<Option<WaitReason>> {
        let first = record.and_then(|record| record.queue.first());
        let Some(run) = first.filter(|_| listed.status == StatusKind::Pending) else { return Ok(None) };
        if self.server.executing.names().contains(&listed.id) {
            return Ok(None);
        }
        let key = RunRecord::key_of(listed.id.as_str(), *run);
        let Some(run) = self.server.records.look_up::<RunRecord>(&key).await?.into_record() else { return Ok(None) };
        let run = run.record;
        let since = run.updated_at.max(listed.updated_at);
        let is_lost = run.status == RunStatus::Running && since.saturating_add(PATIENCE) <= self.now;
        Ok(is_lost.then_some(WaitReason::Stalled(StallCause::LostRun)))
    }
}

/// Returns the questions that nobody has answered with a run that is still to begin.
fn unanswered(questions: Vec<InterruptId>, record: Option<&ThreadRecord>) -> Vec<WaitReason> {
    let answers = record.map(|record| record.answers.as_slice()).unwrap_or_default();
    let is_answered =
        |id: &InterruptId| answers.iter().any(|answer| !answer.is_vote && answer.question == id.to_string());
    questions.into_iter().filter(|id| !is_answered(id)).map(WaitReason::Question).collect()
}

async fn needs_migration(graph: &AnyGraph, listed: &ListedThread) -> ApiResult<bool> {
    let status = readable(graph.thread(listed.id.clone()).status().await)?;
    Ok(matches!(status, Some(Status::NeedsMigration { .. })))
}
