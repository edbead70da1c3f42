//! Texts that fields of requests are chosen from, for the description of the routes: each as the schema of its field. The code that
//! reads a field refuses others, or takes them for the first.

use serde_json::Value;
use utoipa::openapi::schema::{Object, ObjectBuilder, SchemaType, Type};

/// Returns the schema of one of these texts, or null.
fn one_of(texts: &[&str]) -> Object {
    let values = texts.iter().map(|text| Value::from(*text)).chain([Value::Null]);
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
        .enum_values(Some(values.collect::<Vec<_>>()))
        .build()
}

/// Describes `if_exists`.
pub(crate) fn if_exists() -> Object {
    one_of(&["raise", "do_nothing"])
}

/// Describes `if_not_exists`.
pub(crate) fn if_not_exists() -> Object {
    one_of(&["reject", "create"])
}

/// Describes `multitask_strategy`.
pub(crate) fn multitask_strategy() -> Object {
    one_of(&["enqueue", "reject", "interrupt", "rollback"])
}

/// Describes `durability`.
pub(crate) fn durability() -> Object {
    one_of(&["sync", "async", "exit"])
}

/// Describes `on_disconnect`.
pub(crate) fn on_disconnect() -> Object {
    one_of(&["continue", "cancel"])
}

/// Describes `on_completion` and `on_run_completed`.
pub(crate) fn on_completion() -> Object {
    one_of(&["delete", "keep"])
}

/// Describes `sort_order`.
pub(crate) fn sort_order() -> Object {
    one_of(&["desc", "asc"])
}

/// Describes the strategy of a thread's end.
pub(crate) fn ttl_strategy() -> Object {
    one_of(&["delete", "keep_latest"])
}

/// Describes the status of a thread in a search.
pub(crate) fn thread_status() -> Object {
    one_of(&["idle", "busy", "interrupted", "error"])
}

/// Describes the status of runs to cancel.
pub(crate) fn cancel_status() -> Object {
    one_of(&["pending", "running", "all"])
}

/// Describes the way in which runs are stopped.
pub(crate) fn stop_action() -> Object {
    one_of(&["interrupt", "rollback"])
}
