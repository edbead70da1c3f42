//! Notices for people that any step of a node may find: each is in the log once, and is passed to the next step that
//! returns notices. Knows no task.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;

use crate::graph::Ctx;

/// Notices until a step returns them.
type Pending = Arc<Mutex<Vec<String>>>;

/// Emits a notice for the log, once in a process: each arrival finds the same moves.
pub(super) async fn note_once<C: Send + Sync + 'static>(ctx: &Ctx<C>, notice: String) {
    let noted = ctx.kept("notes", || Arc::new(Mutex::new(BTreeSet::<String>::new()))).await;
    let is_new = noted.is_none_or(|noted| noted.lock().unwrap_or_else(PoisonError::into_inner).insert(notice.clone()));
    if is_new {
        ctx.keep_event(&json!({ "note": notice })).await;
    }
}

/// Puts a notice into the log, and keeps it for the next step that returns notices.
pub(super) async fn note_pending<C: Send + Sync + 'static>(ctx: &Ctx<C>, notice: String) {
    ctx.keep_event(&json!({ "note": notice })).await;
    if let Some(pending) = ctx.kept("pending notices", Pending::default).await {
        pending.lock().unwrap_or_else(PoisonError::into_inner).push(notice);
    }
}

/// Returns the notices that no step has returned yet.
pub(super) async fn pending_notices<C: Send + Sync + 'static>(ctx: &Ctx<C>) -> Vec<String> {
    let pending = ctx.kept("pending notices", Pending::default).await;
    pending.map_or(vec![], |pending| std::mem::take(&mut *pending.lock().unwrap_or_else(PoisonError::into_inner)))
}
