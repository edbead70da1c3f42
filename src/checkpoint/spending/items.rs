//! Amounts and notes as items of a store: read, written with the commits of a run, and deleted with the thread, whose amounts stay in a
//! sum of its graph.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde::de::DeserializeOwned;
use superstep_base::Fnv;
use superstep_base::text::{percent_encode, shorten};

use super::amount::{Amount, Expense};
use super::note::TaskNote;
use super::thread::{SpendingRow, ThreadSpending};
use crate::checkpoint::{CheckpointError, Checkpointer, ExpectedItem, ItemKey, ItemScan, ItemWrite, Lease, ThreadId};

/// The amounts of threads.
const THREADS: &str = "superstep.spending.threads";
/// The notes of tasks.
const TASKS: &str = "superstep.spending.tasks";
/// The amounts of deleted threads, by graph.
const DELETED: &str = "superstep.spending.deleted";
/// The number of items that are read or deleted at once.
const PAGE: usize = 256;
/// The number of times a sum is changed again after somebody else has changed it meanwhile.
const TRIES: usize = 64;
/// The longest role and the longest name of a task, in bytes.
const NAMED: usize = 200;
/// The longest name of a thread, escaped, that is part of a key as it is.
const NAME: usize = 1500;

impl ThreadSpending {
    /// Returns what a thread has spent; `None` if its tasks have reported nothing.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn read(store: &dyn Checkpointer, thread: &ThreadId) -> Result<Option<Self>, CheckpointError> {
        Ok(first(store, thread_key(thread.as_str())).await?.and_then(|bytes| decode(&bytes)))
    }

    /// Returns what all threads have spent, and for each graph the sum of its deleted ones.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn read_all(store: &dyn Checkpointer) -> Result<Vec<Self>, CheckpointError> {
        let mut all = vec![];
        for namespace in [THREADS, DELETED] {
            let mut scan = ItemScan::of(namespace).limit(PAGE);
            loop {
                let page = store.scan_items(&scan).await?;
                all.extend(page.iter().filter_map(|(_, bytes)| decode::<Self>(bytes)));
                let Some((last, _)) = page.last().filter(|_| page.len() == PAGE) else { break };
                scan = scan.after(last.clone());
            }
        }
        Ok(all)
    }
}

impl TaskNote {
    /// Returns the notes of tasks, by their ids ([`Ctx::task_id`](crate::graph::Ctx::task_id)); none for a task that reported nothing.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn read_all(
        store: &dyn Checkpointer,
        thread: &ThreadId,
        tasks: impl IntoIterator<Item = String> + Send,
    ) -> Result<BTreeMap<String, Self>, CheckpointError> {
        let (tasks, mut notes): (Vec<String>, _) = (tasks.into_iter().collect(), BTreeMap::new());
        for page in tasks.chunks(PAGE) {
            let keys = page.iter().map(|task| task_key(thread.as_str(), task)).collect();
            let found = store.get_items(keys).await?;
            let read = |(task, bytes): (&String, Option<Vec<u8>>)| Some((task.clone(), decode(&bytes?)?));
            notes.extend(page.iter().zip(found).filter_map(read));
        }
        Ok(notes)
    }
}

/// Deletes a thread with the notes of its tasks. What it has spent stays in the sum of its graph.
///
/// # Errors
/// As [`Checkpointer::delete_thread`]; if items cannot be written.
pub async fn delete_thread(store: &dyn Checkpointer, lease: &Lease) -> Result<(), CheckpointError> {
    delete_items(store, lease.thread().as_str()).await?;
    store.delete_thread(lease).await
}

async fn delete_items(store: &dyn Checkpointer, thread: &str) -> Result<(), CheckpointError> {
    for _ in 0..TRIES {
        let Some(bytes) = first(store, thread_key(thread)).await? else { break };
        let gone: ThreadSpending = decode(&bytes).unwrap_or_default();
        let sum_key = ItemKey::new(DELETED, key_part(&gone.graph));
        let before = first(store, sum_key.clone()).await?;
        let mut sum: ThreadSpending = before.as_deref().and_then(decode).unwrap_or_default();
        sum.graph.clone_from(&gone.graph);
        sum.add_all(gone);
        let expected = before.map_or(ExpectedItem::Absent, ExpectedItem::Value);
        let writes = vec![
            ItemWrite::put(sum_key, encode(&sum)).expecting(expected),
            ItemWrite::delete(thread_key(thread)).expecting(ExpectedItem::Value(bytes)),
        ];
        match store.write_items(writes).await {
            Err(CheckpointError::ItemConflict { .. }) => tokio::task::yield_now().await,
            written => {
                written?;
                break;
            }
        }
    }
    delete_notes(store, thread).await
}

async fn delete_notes(store: &dyn Checkpointer, thread: &str) -> Result<(), CheckpointError> {
    let scan = ItemScan::of(TASKS).prefix(tasks_of(thread)).limit(PAGE);
    loop {
        let page = store.scan_items(&scan).await?;
        let is_last = page.len() < PAGE;
        if !page.is_empty() {
            store.write_items(page.into_iter().map(|(key, _)| ItemWrite::delete(key)).collect()).await?;
        }
        if is_last {
            return Ok(());
        }
    }
}

async fn first(store: &dyn Checkpointer, key: ItemKey) -> Result<Option<Vec<u8>>, CheckpointError> {
    Ok(store.get_items(vec![key]).await?.into_iter().flatten().next())
}

/// A thread as a run of it reports: its name, its birth and its graph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpendingThread<'a> {
    pub thread: &'a ThreadId,
    pub birth: u64,
    pub graph: &'a str,
}

/// A task that reports, and the time.
#[derive(Clone, Debug)]
pub(crate) struct Reporter {
    pub task: String,
    /// The tasks in whose subgraphs it is.
    pub above: Vec<String>,
    pub node: String,
    /// In milliseconds since 1970.
    pub at: u64,
}

/// A report of a task.
#[derive(Clone, Debug)]
pub(crate) enum TaskReport {
    Label(String),
    Summary(String),
    Spent(Expense),
}

/// Items of a run that has the lease of its thread, and which of them the next commit takes along.
#[derive(Debug, Default)]
pub(crate) struct RunItems {
    thread: Option<ThreadSpending>,
    notes: BTreeMap<String, TaskNote>,
    changed: BTreeSet<String>,
    has_spent: bool,
}

/// Items of a run as the store has them.
#[derive(Debug)]
pub(crate) struct StoredItems {
    thread: Option<ThreadSpending>,
    notes: BTreeMap<String, TaskNote>,
}

/// Reads the items that a run needs for a report: those of its thread, unless it `has_thread`, and of tasks. Items of an earlier
/// thread of that name are deleted.
pub(crate) async fn read_for_run(
    store: &dyn Checkpointer,
    of: SpendingThread<'_>,
    has_thread: bool,
    tasks: Vec<String>,
) -> Result<StoredItems, CheckpointError> {
    let fresh = || ThreadSpending {
        thread: of.thread.as_str().to_owned(),
        graph: of.graph.to_owned(),
        birth: of.birth,
        rows: vec![],
    };
    let thread = match has_thread {
        true => None,
        false => Some(match ThreadSpending::read(store, of.thread).await? {
            Some(known) if known.birth == of.birth => known,
            Some(_) => {
                delete_items(store, of.thread.as_str()).await?;
                fresh()
            }
            None => fresh(),
        }),
    };
    let mut notes = match tasks.is_empty() {
        true => BTreeMap::new(),
        false => TaskNote::read_all(store, of.thread, tasks).await?,
    };
    notes.retain(|_, note| note.birth == of.birth);
    Ok(StoredItems { thread, notes })
}

impl RunItems {
    pub(crate) fn has_thread(&self) -> bool {
        self.thread.is_some()
    }

    pub(crate) fn has_note(&self, task: &str) -> bool {
        self.notes.contains_key(task)
    }

    /// Returns true if something waits for the next commit.
    pub(crate) fn has_changed(&self) -> bool {
        self.has_spent || !self.changed.is_empty()
    }

    /// Takes in what the store has.
    pub(crate) fn know(&mut self, stored: StoredItems) {
        self.thread = self.thread.take().or(stored.thread);
        for (task, note) in stored.notes {
            self.notes.entry(task).or_insert(note);
        }
    }

    /// Takes in a report of a task of a thread with this birth.
    pub(crate) fn add(&mut self, from: Reporter, report: TaskReport, birth: u64) {
        let Reporter { task, above, node, at } = from;
        let note = self.notes.entry(task.clone()).or_default();
        note.birth = birth;
        match report {
            TaskReport::Label(label) => note.set_label(&label),
            TaskReport::Summary(summary) => note.set_summary(&summary),
            TaskReport::Spent(expense) => {
                let amount = note.add(&expense);
                if amount == Amount::default() {
                    return;
                }
                let name = expense.task.or_else(|| note.label.clone()).unwrap_or_else(|| node.clone());
                let role = expense.role.unwrap_or(node);
                let row = SpendingRow { at, role: shorten(&role, NAMED), task: shorten(&name, NAMED), amount };
                self.thread.get_or_insert_default().add(row);
                self.has_spent = true;
                for task in above {
                    let note = self.notes.entry(task.clone()).or_default();
                    note.birth = birth;
                    note.add_inside(amount);
                    self.changed.insert(task);
                }
            }
        }
        self.changed.insert(task);
    }

    /// Returns the writes of what has changed.
    pub(crate) fn take_writes(&mut self, thread: &ThreadId) -> Vec<ItemWrite> {
        let changed = std::mem::take(&mut self.changed);
        let notes = changed.iter().filter_map(|task| Some((task, self.notes.get(task)?)));
        let mut writes: Vec<_> =
            notes.map(|(task, note)| ItemWrite::put(task_key(thread.as_str(), task), encode(note))).collect();
        let spent = self.thread.as_ref().filter(|_| std::mem::take(&mut self.has_spent));
        writes.extend(spent.map(|spent| ItemWrite::put(thread_key(thread.as_str()), encode(spent))));
        writes
    }
}

fn thread_key(thread: &str) -> ItemKey {
    ItemKey::new(THREADS, key_part(thread))
}

fn task_key(thread: &str, task: &str) -> ItemKey {
    ItemKey::new(TASKS, format!("{}{}", tasks_of(thread), key_part(task)))
}

fn tasks_of(thread: &str) -> String {
    format!("{}/", key_part(thread))
}

/// Returns a name as a part of a key: it contains no `/`, and a very long one is its hash.
fn key_part(name: &str) -> String {
    let escaped = percent_encode(name, |letter| !letter.is_ascii_alphanumeric() && !matches!(letter, '-' | '_' | '.'));
    if escaped.len() <= NAME {
        return escaped;
    }
    let hash = |seed: u64| {
        let mut hash = Fnv::with_seed(seed);
        hash.mix(name.as_bytes());
        hash.finish()
    };
    format!("%{:016x}{:016x}", hash(0), hash(1))
}

fn encode<T: Serialize>(item: &T) -> Vec<u8> {
    serde_json::to_vec(item).unwrap_or_default()
}

/// Returns an item; `None` for one that this release cannot read.
fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("essay-1", "essay-1")]
    #[case("a/b é", "a%2Fb%20%C3%A9")]
    #[case("", "")]
    fn names_in_keys(#[case] name: &str, #[case] part: &str) {
        assert_eq!(key_part(name), part);
    }

    #[test]
    fn names_of_any_length_are_keys() {
        let names = ["é".repeat(1000), "é".repeat(1001)];
        let [one, two] = names.map(|name| task_key(&name, "3-0"));
        assert!(one.key.len() < ItemKey::MAX_KEY && one != two);
    }

    #[test]
    fn only_what_has_changed_is_written() {
        let (mut items, thread) = (RunItems::default(), ThreadId::from("t"));
        let from = |task: &str, above: &[&str]| Reporter {
            task: task.into(),
            above: above.iter().map(|task| (*task).to_owned()).collect(),
            node: "ask".into(),
            at: 5,
        };
        let keys = |writes: Vec<ItemWrite>| writes.iter().map(|write| write.key.key.to_string()).collect::<Vec<_>>();
        items.add(from("1-0", &[]), TaskReport::Label("tides".into()), 7);
        assert_eq!(keys(items.take_writes(&thread)), ["t/1-0"]);
        items.add(from("2-0", &["1-0"]), TaskReport::Spent(Expense::tokens(1, 1)), 7);
        assert_eq!(keys(items.take_writes(&thread)), ["t/1-0", "t/2-0", "t"]);
        assert!(!items.has_changed() && items.take_writes(&thread).is_empty());
    }
}
