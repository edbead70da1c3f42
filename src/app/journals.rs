//! Journals of displayed tasks. Must not know a graph's types.

use super::erased::Call;
use super::local::json;
use super::shapes::TaskReport;
use crate::graph::{TaskJournal, TaskSnapshot};

/// Adds journals to displayed tasks and to the tasks of their subgraphs.
pub(super) fn add_journals<'a>(tasks: &'a [TaskSnapshot], shown: &'a mut [TaskReport]) -> Call<'a, ()> {
    Box::pin(async move {
        for (task, shown) in tasks.iter().zip(shown) {
            let mut journal = task.journal().await?;
            load_texts(&mut journal);
            shown.journal = if journal.is_empty() { None } else { Some(json(&journal)?) };
            if let (Some(state), Some(inside)) = (&task.state, &mut shown.inside) {
                add_journals(&state.tasks, &mut inside.tasks).await?;
            }
        }
        Ok(())
    })
}

/// Loads the long texts of prompts, which the journal stores by hash.
#[cfg(feature = "agents")]
fn load_texts(journal: &mut TaskJournal) {
    use crate::graph::JournalKind;
    for entry in &mut journal.entries {
        if let JournalKind::Effect(effect) = &mut entry.kind {
            effect.messages.iter_mut().for_each(|message| crate::nodes::read_texts(&mut message.value));
        }
    }
    journal.messages.iter_mut().for_each(|message| crate::nodes::read_texts(&mut message.value));
}

#[cfg(not(feature = "agents"))]
fn load_texts(_: &mut TaskJournal) {}

/// Loads the long texts of prompts in the JSON of an event.
pub(super) fn load_event_texts(event: &mut serde_json::Value) {
    #[cfg(feature = "agents")]
    event.get_mut("value").into_iter().for_each(crate::nodes::read_texts);
    #[cfg(not(feature = "agents"))]
    let _ = event;
}
