//! Journals of the tasks that are shown. Knows no graph's types.

use super::erased::Call;
use super::local::json;
use super::shapes::ShownTask;
use crate::graph::{TaskJournal, TaskSnapshot};

/// Reads the journals of tasks, and of those in their subgraphs, and adds them to what is shown of them; nothing where there
/// is none.
pub(super) fn add_journals<'a>(tasks: &'a [TaskSnapshot], shown: &'a mut [ShownTask]) -> Call<'a, ()> {
    Box::pin(async move {
        for (task, shown) in tasks.iter().zip(shown) {
            let mut journal = task.journal().await?;
            whole(&mut journal);
            shown.journal = if journal.is_empty() { None } else { Some(json(&journal)?) };
            if let (Some(state), Some(inside)) = (&task.state, &mut shown.inside) {
                add_journals(&state.tasks, &mut inside.tasks).await?;
            }
        }
        Ok(())
    })
}

/// Reads the long texts of prompts, which the journal has by their hashes.
#[cfg(feature = "agents")]
fn whole(journal: &mut TaskJournal) {
    use crate::graph::JournalKind;
    for entry in &mut journal.entries {
        if let JournalKind::Effect(effect) = &mut entry.kind {
            effect.messages.iter_mut().for_each(|message| crate::nodes::read_texts(&mut message.value));
        }
    }
    journal.messages.iter_mut().for_each(|message| crate::nodes::read_texts(&mut message.value));
}

#[cfg(not(feature = "agents"))]
fn whole(_: &mut TaskJournal) {}

/// Reads the long texts of prompts in the JSON of an event.
pub(super) fn whole_event(event: &mut serde_json::Value) {
    #[cfg(feature = "agents")]
    event.get_mut("value").into_iter().for_each(crate::nodes::read_texts);
    #[cfg(not(feature = "agents"))]
    let _ = event;
}
