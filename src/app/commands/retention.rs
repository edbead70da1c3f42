//! Commands that maintain a store.

use serde_json::json;

use super::output::CommandOutput;
use super::session::Session;
use crate::app::args::{Gc, Tag};
use crate::app::failure::Failure;
use crate::app::repository::{repository_of, sweep_repository};
use crate::app::text::clean;
use crate::checkpoint::{CheckpointId, Retention, gc, gc_all, tag, tags, untag};

impl Session {
    pub(super) async fn gc(&self, args: Gc) -> Result<CommandOutput, Failure> {
        let local = self.store_to_clean()?;
        let policy = policy(&args);
        let mut changed = vec![];
        let (mut text, mut json) = match &args.thread {
            None => {
                let swept = gc_all(&*local.store, &policy).await?;
                let threads = swept.threads.iter().filter(|thread| thread.swept.records > 0);
                changed.extend(threads.map(|thread| thread.thread.clone()));
                (swept.to_string(), crate::app::local::json(&swept)?)
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
            self.close_store(local).await; // compaction wants the store for itself
            let compacted = self.store.compact()?;
            text.push_str(&format!("\ncompacted: {compacted}"));
            json["compacted"] = crate::app::local::json(&compacted)?;
        }
        CommandOutput::new(lines(&text), &json)
    }

    pub(super) async fn tag(&self, args: Tag) -> Result<CommandOutput, Failure> {
        let Tag { thread, name, at, remove } = args;
        let local = self.local()?;
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

fn policy(args: &Gc) -> Retention {
    let mut policy = Retention::new().keep_unfinished(!args.drop_unfinished).keep_tagged(!args.drop_tagged);
    if let Some(count) = args.keep_last {
        policy = policy.keep_last(count);
    }
    if let Some(age) = args.max_age {
        policy = policy.max_age(age);
    }
    policy
}

/// Escapes the lines of a report.
pub(super) fn lines(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", clean(line))).collect()
}
