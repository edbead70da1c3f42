//! Commands that write or remove history.

use serde_json::json;

use super::json_input;
use super::output::CommandOutput;
use super::session::Session;
use crate::app::args::{Delete, Fork, Update};
use crate::app::erased::AnyThread;
use crate::app::failure::Failure;
use crate::app::forks::merged;
use crate::app::local::Local;
use crate::app::repository::{clear_repository, repository_of};
use crate::checkpoint::{CheckpointId, ThreadId};
use crate::graph::{RunError, ThreadInfo};

impl Session {
    pub(super) async fn update(&self, args: Update) -> Result<CommandOutput, Failure> {
        let Update { thread: name, values, as_node, at } = args;
        let values = json_input::json("--values", &values)?;
        let local = self.local()?;
        let graph = self.graphs.of_thread(&name, &local.info(&name).await?.graph)?;
        graph.input(&values)?;
        let thread = local.thread(&name).await?;
        let own = match at {
            Some(at) => thread.fork_writes(CheckpointId(at), None).await?,
            None => None,
        };
        let values = own.map_or(values.clone(), |own| merged(own.values, Some(values)));
        let writing = graph.input(&values)?;
        let dropped = thread.update(at.map(CheckpointId), as_node, writing).await?;
        self.edit_output(&*thread, dropped).await
    }

    pub(super) async fn fork(&self, args: Fork) -> Result<CommandOutput, Failure> {
        let Fork { thread: name, at, to, values } = args;
        let mut values = values.map(|text| json_input::json("--values", &text)).transpose()?;
        let local = self.local()?;
        let graph = self.graphs.of_thread(&name, &local.info(&name).await?.graph)?;
        values.as_ref().map(|values| graph.input(values)).transpose()?;
        let mut thread = local.thread(&name).await?;
        if let Some(to) = &to {
            forkable(&local, &name, to).await?;
        }
        let mut about = String::new();
        if let Some(own) = thread.fork_writes(CheckpointId(at), to.as_deref()).await? {
            values = Some(merged(own.values, values));
            about = own.text;
        }
        let writing = values.map(|values| graph.input(&values)).transpose()?;
        let Some(to) = to else {
            let dropped = thread.fork(CheckpointId(at), writing).await?;
            return self.fork_output(&*thread, dropped, &about).await;
        };
        thread.copy_to(&to, CheckpointId(at)).await?;
        thread = local.thread(&to).await?;
        match thread.fork(CheckpointId(at), writing).await {
            Ok(dropped) => self.fork_output(&*thread, dropped, &about).await,
            Err(failure) => {
                local.delete(&ThreadId::from(to.as_str())).await?; // half a fork is none
                Err(failure)
            }
        }
    }

    async fn fork_output(
        &self,
        thread: &dyn AnyThread,
        dropped: Vec<String>,
        about: &str,
    ) -> Result<CommandOutput, Failure> {
        let mut output = self.edit_output(thread, dropped).await?;
        output.text.push_str(about);
        Ok(output)
    }

    /// Returns the position of a thread after an external update.
    async fn edit_output(&self, thread: &dyn AnyThread, dropped: Vec<String>) -> Result<CommandOutput, Failure> {
        let report = thread.report().await?;
        let mut notes = vec![];
        notes.extend((!dropped.is_empty()).then(|| format!("dropped: the finished results of {}", dropped.join(", "))));
        notes.extend((report.status != "finished").then(|| "nothing has run yet".to_owned()));
        let note = notes.join("\n");
        let mut output = self.noted_output(report, 0, &note)?;
        output.json["dropped"] = json!(dropped);
        Ok(output)
    }

    pub(super) async fn delete(&self, args: Delete) -> Result<CommandOutput, Failure> {
        let local = self.store_to_clean()?;
        let id = ThreadId::from(args.thread.as_str());
        if !local.store.threads(None, usize::MAX).await?.contains(&id) {
            local.info(&args.thread).await?; // says which names are near
        }
        let repository = repository_of(&local, &id).await;
        local.delete(&id).await?; // a damaged one too
        let note = clear_repository(&id, repository).await.unwrap_or_default();
        CommandOutput::new(format!("deleted {}\n{note}", args.thread), &json!({ "deleted": args.thread }))
    }
}

/// Checks that a fork may have this name, before anything is copied.
async fn forkable(local: &Local, name: &str, to: &str) -> Result<(), Failure> {
    if to.is_empty() {
        return Err(Failure::usage("a thread needs a name: \"\" is none"));
    }
    if let Some(info) = ThreadInfo::read(&*local.store, &ThreadId::from(to)).await? {
        let error = format!("there is a thread `{to}` already, of the graph `{}`: {}", info.graph, info.standing);
        return Err(Failure::new(error).help("give `--to` another name, or delete that thread first"));
    }
    let from = local.info(name).await?;
    match from.foreign.filter(|foreign| !foreign.trusted) {
        Some(_) => Err(RunError::Foreign { thread: from.id }.into()),
        None => Ok(()),
    }
}
