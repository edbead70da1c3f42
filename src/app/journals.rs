//! Journals of the tasks that are shown. Knows no graph's types.

use super::erased::Call;
use super::local::json;
use super::shapes::ShownTask;
use crate::graph::TaskSnapshot;

/// Reads the journals of tasks, and of those in their subgraphs, and adds them to what is shown of them; nothing where there
/// is none.
pub(super) fn add_journals<'a>(tasks: &'a [TaskSnapshot], shown: &'a mut [ShownTask]) -> Call<'a, ()> {
    Box::pin(async move {
        for (task, shown) in tasks.iter().zip(shown) {
            let journal = task.journal().await?;
            shown.journal = if journal.is_empty() { None } else { Some(json(&journal)?) };
            if let (Some(state), Some(inside)) = (&task.state, &mut shown.inside) {
                add_journals(&state.tasks, &mut inside.tasks).await?;
            }
        }
        Ok(())
    })
}
