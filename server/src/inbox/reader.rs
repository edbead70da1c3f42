//! Items of a page, read from their threads: each thread once. A thread that has continued since its items were found has none of them.

use superstep::checkpoint::ThreadId;
use superstep::graph::{AnyGraph, AnyState, AnyThread, RunError, StateSnapshot, Status, ThreadInfo};

use super::ask::ask_json;
use super::damage::readable;
use super::item::{InboxJson, ItemJson, ReasonText};
use super::place::ItemPlace;
use super::stalls::StallCause;
use super::survey::{all_items, items_of_thread};
use super::waits::{WaitReason, WaitingItem, failure};
use crate::error::ApiResult;
use crate::records::items::{Lookup, path_part};
use crate::records::thread::ThreadRecord;
use crate::security::secrets::Secrets;
use crate::server::Server;

/// The number of bytes of questions after which a page ends.
const PAGE: usize = 8 << 20;

/// The part of the inbox that a client asks for.
#[derive(Debug)]
pub(crate) struct InboxPage {
    /// The place after which it begins; the beginning unless set.
    pub after: Option<ItemPlace>,
    /// The largest number of its items.
    pub limit: usize,
}

impl Server {
    /// Returns items of all threads, the oldest first.
    pub(crate) async fn inbox(&self, page: &InboxPage) -> ApiResult<InboxJson> {
        let items = all_items(self).await?;
        self.read_page(&items, page).await
    }

    /// Returns items of a thread, the oldest first.
    ///
    /// # Errors
    /// 404 if there is no such thread.
    pub(crate) async fn inbox_of(&self, thread: &str, page: &InboxPage) -> ApiResult<InboxJson> {
        let items = match items_of_thread(self, thread).await? {
            Some(items) => items,
            None => self.thread_record(thread).await.map(|_| vec![])?, // one that has not run
        };
        self.read_page(&items, page).await
    }

    /// Returns the number of open questions, and the time since which the oldest waits, in milliseconds since 1970.
    pub(crate) async fn count_questions(&self) -> ApiResult<(usize, Option<u64>)> {
        let items = all_items(self).await?;
        let mut open = items.iter().filter(|item| item.place.question.is_some()).peekable();
        let oldest = open.peek().map(|item| item.place.since);
        Ok((open.count(), oldest))
    }

    /// Reads the items of a page, which ends at its limit or once it is large.
    async fn read_page(&self, items: &[WaitingItem], page: &InboxPage) -> ApiResult<InboxJson> {
        let start = page.after.as_ref().map_or(0, |after| items.partition_point(|item| item.place <= *after));
        let (mut read, mut bytes, mut last) = (vec![], 0, None);
        let mut reader: Option<ItemReader<'_>> = None;
        let mut left = items[start..].iter().take(page.limit);
        while bytes < PAGE
            && let Some(item) = left.next()
        {
            let is_known = reader.as_ref().is_some_and(|reader| *reader.id == item.place.thread);
            let thread = match reader.take() {
                Some(reader) if is_known => reader,
                _ => ItemReader::of(self, item).await?,
            };
            // A damaged thread is one item, of which the first of its questions has the place.
            let is_shown = !(is_known && thread.is_damaged);
            let found = if is_shown { thread.item(item).await? } else { None };
            bytes += found.as_ref().map_or(0, ItemJson::size);
            read.extend(found);
            (reader, last) = (Some(thread), Some(&item.place));
        }
        let has_more = items.last().map(|item| &item.place) > last;
        let next = last.filter(|_| has_more).map(ToString::to_string);
        Ok(InboxJson { items: read, next, waiting: items.len() })
    }
}

/// A thread whose items are read.
struct ItemReader<'a> {
    id: &'a ThreadId,
    server: &'a Server,
    record: Option<ThreadRecord>,
    /// False if the server's record of it cannot be read.
    has_record: bool,
    /// True if that or its state cannot be read.
    is_damaged: bool,
    state: Option<ThreadState<'a>>,
}

/// A thread of a graph with its state, and what hides its secrets.
type ThreadState<'a> = (&'a AnyGraph, AnyThread, StateSnapshot<AnyState>, Secrets);

impl<'a> ItemReader<'a> {
    async fn of(server: &'a Server, item: &'a WaitingItem) -> ApiResult<Self> {
        let id = &item.place.thread;
        let found = server.records.look_up::<ThreadRecord>(&ThreadRecord::key_of(id.as_str())).await?;
        let has_record = !matches!(found, Lookup::Damaged | Lookup::Later);
        let state = match item.reason {
            // Parts of it may be readable: they have secrets that its reason may show.
            WaitReason::Damaged => read_state(server, item).await.ok(),
            _ => readable(read_state(server, item).await)?,
        };
        let (is_damaged, state) = (state.is_none() || !has_record, state.flatten());
        Ok(Self { id, server, record: found.into_record().map(|found| found.record), has_record, is_damaged, state })
    }

    async fn item(&self, item: &WaitingItem) -> ApiResult<Option<ItemJson>> {
        let reason = match item.reason {
            WaitReason::Question(_) if self.is_damaged => WaitReason::Damaged,
            reason => reason,
        };
        let text = match reason {
            WaitReason::Question(_) => ReasonText::default(),
            WaitReason::Damaged => self.damage(item).await,
            WaitReason::Untrusted => self.distrust(),
            WaitReason::Failed => self.failure(item).await?,
            WaitReason::NeedsMigration => self.migration().await?,
            WaitReason::Stalled(cause) => self.stall(cause).await?,
        };
        let question = if self.is_damaged { None } else { self.question(item)? };
        if matches!(reason, WaitReason::Question(_)) && question.is_none() {
            return Ok(None);
        }
        let asked = question.as_ref().and_then(|question| question["value"]["title"].as_str()).map(str::to_owned);
        let of_record = self.record.as_ref().and_then(|record| record.graph.clone()).unwrap_or_default();
        let graph = if item.listed.graph.is_empty() { of_record } else { item.listed.graph.clone() };
        Ok(Some(ItemJson {
            kind: reason.into(),
            thread: self.id.to_string(),
            graph,
            since: ItemJson::since(item.place.since),
            step: item.listed.checkpoint.map(|_| item.listed.step),
            title: self.title(item).map(|title| self.without_secrets(title)).or(asked),
            reason: text.reason.map(|reason| self.without_secrets(reason)),
            help: text.help,
            retry: text.retry,
            question,
        }))
    }

    /// Returns an open question on the wire; `None` if it has an answer by now.
    fn question(&self, item: &WaitingItem) -> ApiResult<Option<serde_json::Value>> {
        let (WaitReason::Question(id), Some((graph, _, snapshot, secrets))) = (item.reason, &self.state) else {
            return Ok(None);
        };
        let mut open = snapshot.questions().filter(|question| !question.is_answered());
        let found = open.find(|question| question.id() == id);
        found.map(|question| ask_json(graph, (snapshot, secrets), question)).transpose()
    }

    /// Returns the title in the metadata of a thread.
    fn title(&self, item: &WaitingItem) -> Option<String> {
        let of_record = self.record.as_ref().and_then(|record| record.metadata.get("title")?.as_str());
        let mut stored = item.listed.metadata.iter();
        let of_checkpoint = || stored.find(|(key, _)| key == "title").map(|(_, title)| title.as_str());
        of_record.or_else(of_checkpoint).map(str::to_owned)
    }

    fn without_secrets(&self, mut text: String) -> String {
        if let Some((_, _, _, secrets)) = &self.state {
            secrets.hide_in_text(&mut text);
        }
        text
    }

    async fn damage(&self, item: &WaitingItem) -> ReasonText {
        let reason = match (&item.listed.reason, self.has_record) {
            (Some(reason), _) => reason.clone(),
            (None, true) => "a record cannot be read".into(),
            (None, false) => "the server's record of it cannot be read".into(),
        };
        let found = ThreadInfo::read(&*self.server.records.0, self.id).await;
        let help = found.err().and_then(|error| error.help());
        ReasonText { help, ..ReasonText::new(reason, "") }
    }

    fn distrust(&self) -> ReasonText {
        let path = path_part(self.id.as_str());
        ReasonText::new(
            "it was made elsewhere and is not trusted: it can be read, but not run",
            format!(
                "if you trust its author and its content, trust it: POST /threads/{path}/trust, or the command `trust`"
            ),
        )
    }

    async fn migration(&self) -> ApiResult<ReasonText> {
        let Some(Status::NeedsMigration { misfits }) = self.status().await? else { return Ok(ReasonText::default()) };
        let misfit = misfits.first();
        let (reason, help) = (misfit.map(ToString::to_string), misfit.map(|misfit| misfit.help()));
        Ok(ReasonText { reason, help, retry: None })
    }

    async fn failure(&self, item: &WaitingItem) -> ApiResult<ReasonText> {
        let failed = failure(&item.listed, self.record.as_ref());
        let of_run = failed.map(|failure| format!("{}: {}", failure.error, failure.message));
        let of_task = match self.status().await? {
            Some(Status::Failed { reason }) => Some(reason),
            _ => None,
        };
        let is_task = of_task.is_some();
        let reason = of_task.or(of_run).unwrap_or_else(|| "its run has failed".into());
        let (help, retry) = self.after_failure(is_task);
        Ok(ReasonText { retry: Some(retry), ..ReasonText::new(reason, help) })
    }

    /// Returns what can be done after a failure, and whether a run without input may get further. A superstep whose tasks have all ended
    /// wrote what cannot be stored: going on would try to store the same.
    fn after_failure(&self, is_task: bool) -> (String, bool) {
        let Some((_, _, snapshot, _)) = self.state.as_ref().filter(|_| is_task) else {
            return ("once the cause is fixed, run it again without input".into(), true);
        };
        let is_refused = snapshot.tasks.iter().all(|task| task.error.is_none());
        match (is_refused, snapshot.next.as_slice()) {
            (false, _) => ("once the cause is fixed, run it again without input".into(), true),
            (true, [start]) if start == "__start__" => {
                ("its input was not applied: run it again with another input".into(), false)
            }
            (true, _) => {
                let id = snapshot.id;
                let text = format!("once the cause is fixed, run its superstep again: a run with `checkpoint_id` {id}");
                (text, false)
            }
        }
    }

    async fn stall(&self, cause: StallCause) -> ApiResult<ReasonText> {
        let reason = match self.status().await? {
            Some(Status::Stopped { next }) => format!("it has stopped at a breakpoint; next is {}", next.join(", ")),
            Some(Status::Pending { next }) if !next.is_empty() => {
                format!("{}; next is {}", cause.text(), next.join(", "))
            }
            _ => cause.text().to_owned(),
        };
        let help = "run it again without input, or delete it if it is not needed";
        Ok(ReasonText { retry: Some(true), ..ReasonText::new(reason, help) })
    }

    async fn status(&self) -> ApiResult<Option<Status>> {
        match &self.state {
            Some((_, thread, ..)) => Ok(readable(thread.status().await)?),
            None => Ok(None),
        }
    }
}

/// Returns the state of a thread with what hides its secrets; `None` if it has none.
async fn read_state<'a>(server: &'a Server, item: &WaitingItem) -> Result<Option<ThreadState<'a>>, RunError> {
    let graph = server.graphs.get(&item.listed.graph)?;
    let thread = graph.thread(item.place.thread.clone());
    let Some(snapshot) = thread.state().await? else { return Ok(None) };
    let secrets = server.secrets_of(graph, item.place.thread.as_str(), &snapshot).await?;
    Ok(Some((graph, thread, snapshot, secrets)))
}
