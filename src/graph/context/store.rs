//! The long-term store as a node uses it: writes are effects, and what reads return is recorded, so that no attempt, resume or
//! replay does them again. Knows the journal, not what a store is made of.

use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use superstep_base::Fnv;
use superstep_base::text::shorten;

use super::ctx::Ctx;
use super::journal::{JournalLookup, entry_name};
use super::task::TaskCtx;
use crate::checkpoint::EffectKind;
use crate::graph::error::{NodeError, RunError};
use crate::graph::state::Canon;
use crate::memory::{
    ItemName, Namespace, NamespaceQuery, Store, StoreError, StoreItem, StoreRead, StoreSearch, StoreWrite,
};

/// The maximum length of the key of a request in bytes, its number aside.
const KEY: usize = 256;

/// The long-term store, as a task uses it. Made by [`Ctx::store`].
#[derive(Debug)]
pub struct NodeStore<'a, C = ()>(&'a Ctx<C>);

impl<C> Ctx<C> {
    /// Returns the long-term store: items that all threads share, beside the threads of the graph's checkpointer unless
    /// [`with_store`](crate::graph::CompiledGraph::with_store) sets another. LangGraph: `runtime.store`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use superstep::memory::StoreWrite;
    /// # use superstep::prelude::*;
    /// # use serde_json::json;
    /// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Chat { user: String, greeting: String }
    /// async fn greet(chat: Arc<Chat>, ctx: Ctx) -> Result<ChatUpdate, NodeError> {
    ///     let known = ctx.store().get(["users", &chat.user], "name").await?;
    ///     if known.is_none() {
    ///         ctx.store().put(StoreWrite::new(["users", &chat.user], "name", json!({"is": chat.user}))).await?;
    ///     }
    ///     Ok(Chat::update().greeting(if known.is_some() { "welcome back" } else { "hello" }))
    /// }
    /// ```
    pub fn store(&self) -> NodeStore<'_, C> {
        NodeStore(self)
    }
}

/// Requests are numbered where their kind and their names are the same: two reads of an item by one task are two entries of its
/// journal. Those of the branches of a `join!` are numbered together, as [`Ctx::now`] is.
impl<C: Send + Sync + 'static> NodeStore<'_, C> {
    /// Writes an item once, as an [effect](Ctx::effect): when this returns, the item and the fact that it was written are on disk,
    /// and no later attempt of the task writes it again.
    ///
    /// # Errors
    /// Those of [`Store::put`]. A graph without a checkpointer and a store ends the task with [`RunError::NoCheckpointer`].
    pub async fn put(&self, write: StoreWrite) -> Result<(), NodeError> {
        let key = self.number(format!("store put {}", write.name));
        let arguments = write.clone();
        self.write(key, &arguments, |store| async move { store.put(write).await }).await
    }

    /// Deletes an item once, as an [effect](Ctx::effect). One that is not there is no error.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub async fn delete(&self, namespace: impl Into<Namespace>, key: impl Into<String>) -> Result<(), NodeError> {
        let name = ItemName::new(namespace, key);
        let (key, arguments) = (self.number(format!("store delete {name}")), name.clone());
        self.write(key, &arguments, |store| async move { store.delete(name).await }).await
    }

    /// Returns an item; `None` if it is not there. Later attempts of the task and replays get what was returned first, as with
    /// [`Ctx::record`].
    ///
    /// # Errors
    /// Those of [`Store::get`], and as [`put`](Self::put).
    pub async fn get(
        &self,
        namespace: impl Into<Namespace>,
        key: impl Into<String>,
    ) -> Result<Option<StoreItem>, NodeError> {
        let read = StoreRead::new(namespace, key);
        let (key, arguments) = (self.number(format!("store get {}", read.name)), read.clone());
        self.read(&key, &arguments, |store| async move { store.get(read).await }).await
    }

    /// Returns the items that a search finds. Later attempts of the task and replays get what was returned first.
    ///
    /// # Errors
    /// Those of [`Store::search`], and as [`put`](Self::put).
    pub async fn search(&self, search: StoreSearch) -> Result<Vec<StoreItem>, NodeError> {
        let key = self.number(format!("store search {}", search.namespace_prefix));
        let arguments = search.clone();
        self.read(&key, &arguments, |store| async move { store.search(search).await }).await
    }

    /// Returns namespaces that have items. Later attempts of the task and replays get what was returned first.
    ///
    /// # Errors
    /// Those of [`Store::list_namespaces`], and as [`put`](Self::put).
    pub async fn list_namespaces(&self, query: NamespaceQuery) -> Result<Vec<Namespace>, NodeError> {
        let key = self.number(format!("store namespaces {}", query.prefix));
        let arguments = query.clone();
        self.read(&key, &arguments, |store| async move { store.list_namespaces(query).await }).await
    }

    async fn write<F>(
        &self,
        key: String,
        arguments: &impl Serialize,
        write: impl FnOnce(Arc<dyn Store>) -> F + Send,
    ) -> Result<(), NodeError>
    where
        F: Future<Output = Result<(), StoreError>> + Send,
    {
        let task = &*self.0.0;
        let write = |_| async move {
            let store = memory(task).map_err(|wrong| task.fail_with(wrong))?;
            write(Arc::clone(store)).await.map_err(NodeError::from)
        };
        self.0.effect(key, arguments, write).await
    }

    async fn read<F, T>(
        &self,
        key: &str,
        arguments: &impl Serialize,
        read: impl FnOnce(Arc<dyn Store>) -> F + Send,
    ) -> Result<T, NodeError>
    where
        F: Future<Output = Result<T, StoreError>> + Send,
        T: Serialize + DeserializeOwned + Send,
    {
        let task = &*self.0.0;
        let arguments = Canon::of(|| format!("arguments of `{key}`"), arguments).map_err(RunError::from);
        let found = task.begin_entry(EffectKind::Value, key, arguments).await;
        let recorded = match found.map_err(|wrong| task.fail_with(wrong))? {
            JournalLookup::Recorded(record) => task.decode_result(key, &record),
            JournalLookup::Failed(_) => Err(not_recorded(task, key)),
            JournalLookup::New(mut entry) => {
                let store = memory(task).map_err(|wrong| task.fail_with(wrong))?;
                let value = read(Arc::clone(store)).await?;
                let noted = entry.set(key, &value).map(|()| task.note(entry));
                noted.and_then(|first| first.map_or(Ok(value), |first| task.decode_result(key, &first)))
            }
        };
        recorded.map_err(|wrong| task.fail_with(wrong))
    }

    /// Returns the key of a request in the journal: cut to a length, with a number from the second of its kind on.
    fn number(&self, request: String) -> String {
        let (task, key) = (&self.0.0, cut(request));
        let scoped = task.entry_key(EffectKind::Value, &key);
        let mut state = task.state();
        let count = state.journal.memory.entry(scoped).and_modify(|count| *count += 1).or_insert(1);
        if *count == 1 { key } else { format!("{key} ({count})") }
    }
}

fn memory(task: &TaskCtx) -> Result<&Arc<dyn Store>, RunError> {
    task.shared.environment.memory.get(task.shared.recorder.as_deref())
}

fn not_recorded(task: &TaskCtx, key: &str) -> RunError {
    RunError::NotRecorded {
        node: task.facts.name.clone(),
        what: entry_name(EffectKind::Value, key),
        now: String::new(),
    }
}

/// Returns a key of a bounded length; of a long one the start, and a hash of the whole.
fn cut(key: String) -> String {
    if key.len() <= KEY {
        return key;
    }
    let mut hash = Fnv::new();
    hash.mix(key.as_bytes());
    format!("{} {:016x}", shorten(&key, KEY - 17), hash.finish())
}
