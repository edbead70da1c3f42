//! Commands that write or remove history: `update`, `fork`, `delete`, `gc`, `tag`.

use serde_json::json;
use superstep::checkpoint::{CheckpointId, Retention, ThreadId, gc, gc_all, tag, tags, untag};
use superstep::graph::{RunError, ThreadInfo};

use super::session::{CommandOutput, Session, json_argument, lines};
use crate::args::{DeleteArgs, ForkArgs, GcArgs, Tag, Update};
use crate::failure::Failure;
use crate::local::Local;
use crate::repository::{clear_repository, keep_repository, repository_of, sweep_repository};
use crate::settings::{ForkWrites, merge_values};
use crate::store::StoreDirectory;
use crate::text::clean;
use crate::threads::{AnyInput, AppThread};

impl Session {
    pub(super) async fn update(&self, args: Update) -> Result<CommandOutput, Failure> {
        let Update { thread: name, values, as_node, at } = args;
        let values = json_argument("--values", &values)?;
        let local = self.local().await?;
        let graph = self.graphs.of_thread(&name, &local.info(&name).await?.graph)?;
        drop(graph.input(&values)?); // before anything is done outside of the store
        let thread = local.thread(&name).await?;
        let own = match at {
            Some(at) => thread.fork_writes(CheckpointId(at), None).await?.unwrap_or_default(),
            None => ForkWrites::default(),
        };
        let values = merge_values(own.values.clone(), Some(values));
        let update = async {
            let writing = graph.input(&values)?;
            thread.update(at.map(CheckpointId), as_node, writing).await
        };
        let dropped = own.undo_on_failure(update.await).await?;
        self.edit_output(&thread, dropped).await
    }

    pub(super) async fn fork(&self, args: ForkArgs) -> Result<CommandOutput, Failure> {
        let ForkArgs { thread: name, at, to, values } = args;
        let values = values.map(|text| json_argument("--values", &text)).transpose()?;
        let local = self.local().await?;
        let graph = self.graphs.of_thread(&name, &local.info(&name).await?.graph)?;
        values.as_ref().map(|values| graph.input(values)).transpose()?;
        let thread = local.thread(&name).await?;
        if let Some(to) = &to {
            forkable(&local, &name, to).await?;
        }
        let (values, own) = match thread.fork_writes(CheckpointId(at), to.as_deref()).await? {
            Some(own) => (Some(merge_values(own.values.clone(), values)), own),
            None => (values, ForkWrites::default()),
        };
        let to = to.as_deref();
        let fork = async {
            let writing = values.map(|values| graph.input(&values)).transpose()?;
            match to {
                Some(to) => forked_to(&local, &thread, (to, CheckpointId(at)), writing).await,
                None => {
                    let dropped = thread.fork(CheckpointId(at), writing).await?;
                    Ok((thread, dropped))
                }
            }
        };
        let (thread, dropped) = own.undo_on_failure(fork.await).await?;
        let mut about = own.text.clone();
        if let Some(to) = to {
            about.extend(keep_repository(&local, &ThreadId::from(to)).await);
        }
        self.fork_output(&thread, dropped, &about).await
    }

    async fn fork_output(
        &self,
        thread: &AppThread,
        dropped: Vec<String>,
        about: &str,
    ) -> Result<CommandOutput, Failure> {
        let mut output = self.edit_output(thread, dropped).await?;
        output.text.push_str(about);
        Ok(output)
    }

    /// Returns the position of a thread after an external update.
    async fn edit_output(&self, thread: &AppThread, dropped: Vec<String>) -> Result<CommandOutput, Failure> {
        let report = thread.report().await?;
        let mut notes = vec![];
        notes.extend((!dropped.is_empty()).then(|| format!("dropped: the finished results of {}", dropped.join(", "))));
        notes.extend((report.status != "finished").then(|| "nothing has run yet".to_owned()));
        let note = notes.join("\n");
        let mut output = self.output_with_note(report, 0, &note)?;
        output.json["dropped"] = json!(dropped);
        Ok(output)
    }

    pub(super) async fn delete(&self, args: DeleteArgs) -> Result<CommandOutput, Failure> {
        let local = self.store_to_clean().await?;
        let id = ThreadId::from(args.thread.as_str());
        if !local.store.threads(None, usize::MAX).await?.contains(&id) {
            local.info(&args.thread).await?; // says which names are near
        }
        let repository = repository_of(&local, &id).await;
        local.delete(&id).await?; // a damaged one too
        let note = clear_repository(&id, repository).await.unwrap_or_default();
        CommandOutput::new(format!("deleted {}\n{note}", args.thread), &json!({ "deleted": args.thread }))
    }

    pub(super) async fn gc(&self, args: GcArgs) -> Result<CommandOutput, Failure> {
        let local = self.store_to_clean().await?;
        let policy = policy(&args);
        let mut changed = vec![];
        let (mut text, mut json) = match &args.thread {
            None => {
                let swept = gc_all(&*local.store, &policy).await?;
                let threads = swept.threads.iter().filter(|thread| thread.swept.records > 0);
                changed.extend(threads.map(|thread| thread.thread.clone()));
                (swept.to_string(), crate::failure::json(&swept)?)
            }
            Some(thread) => {
                let id = local.info(thread).await?.id;
                let swept = gc(&*local.store, &id, &policy).await?;
                changed.push(id);
                (swept.to_string(), json!({ "threads": [{ "thread": thread, "swept": swept }] }))
            }
        };
        for id in &changed {
            let note = sweep_repository(&local, id, repository_of(&local, id).await).await;
            text.extend(note.map(|note| format!("\n{}", note.trim_end())));
        }
        if args.compact {
            let StoreDirectory { kind, path } = self.store_directory("gc --compact")?;
            self.close_store(local).await; // compaction wants the store for itself
            let compacted = kind.compact(path)?;
            text.push_str(&format!("\ncompacted: {compacted}"));
            json["compacted"] = crate::failure::json(&compacted)?;
        }
        CommandOutput::new(lines(&text), &json)
    }

    pub(super) async fn tag(&self, args: Tag) -> Result<CommandOutput, Failure> {
        let Tag { thread, name, at, remove } = args;
        let local = self.local().await?;
        let info = local.info(&thread).await?;
        match (name, remove) {
            (Some(name), true) => {
                if untag(&*local.store, &info.id, &name).await?.is_none() {
                    return Err(Failure::new(format!("thread `{thread}` has no tag `{name}`")));
                }
            }
            (Some(name), false) => {
                let at = at.map(CheckpointId).or(info.checkpoint);
                let at = at.ok_or_else(|| Failure::new(format!("thread `{thread}` has no checkpoint yet")))?;
                tag(&*local.store, &info.id, at, &name).await?;
            }
            (None, _) => {}
        }
        let tags = tags(&*local.store, &info.id).await?;
        let text = tags.iter().map(|(name, at)| format!("{at:>6}  {}\n", clean(name)));
        let text = if tags.is_empty() { "no tags\n".to_owned() } else { text.collect() };
        let json: Vec<_> = tags.iter().map(|(name, at)| json!({ "tag": name, "checkpoint": at })).collect();
        CommandOutput::new(text, &json)
    }
}

/// Forks a thread as a new one.
async fn forked_to(
    local: &Local,
    thread: &AppThread,
    (to, at): (&str, CheckpointId),
    writing: Option<AnyInput>,
) -> Result<(AppThread, Vec<String>), Failure> {
    thread.copy_to(to, at).await?;
    let fork = async {
        let new = local.thread(to).await?;
        let dropped = new.fork(at, writing).await?;
        Ok((new, dropped))
    };
    let forked = fork.await;
    if forked.is_err() {
        local.delete(&ThreadId::from(to)).await?; // half a fork is none
    }
    forked
}

/// Checks that a fork may have this name, before anything is copied.
async fn forkable(local: &Local, name: &str, to: &str) -> Result<(), Failure> {
    if to.is_empty() {
        return Err(Failure::usage("a thread needs a name, and \"\" is empty"));
    }
    if let Some(info) = ThreadInfo::read(&*local.store, &ThreadId::from(to)).await? {
        let error = format!("there is a thread `{to}` already, of the graph `{}`: {}", info.graph, info.status);
        return Err(Failure::new(error).help("give `--to` another name, or delete that thread first"));
    }
    let from = local.info(name).await?;
    match from.foreign.filter(|foreign| !foreign.trusted) {
        Some(_) => Err(RunError::Foreign { thread: from.id }.into()),
        None => Ok(()),
    }
}

fn policy(args: &GcArgs) -> Retention {
    let mut policy = Retention::new().keep_unfinished(!args.drop_unfinished).keep_tagged(!args.drop_tagged);
    if let Some(count) = args.keep_last {
        policy = policy.keep_last(count);
    }
    if let Some(age) = args.max_age {
        policy = policy.max_age(age);
    }
    policy
}
