//! Texts that fields of requests are chosen from, for the description of the routes: each as the schema of its field. The code that
//! reads a field refuses others, or takes them for the first.

use utoipa::openapi::schema::{Object, ObjectBuilder, OneOfBuilder, Schema, Type};

/// Returns the schema of one of these texts.
pub(crate) fn one_of<const N: usize>(texts: [&str; N]) -> Object {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(texts)).build()
}

/// Returns the schema of one of these texts, or null.
fn maybe<const N: usize>(texts: [&str; N]) -> Schema {
    OneOfBuilder::new().item(one_of(texts)).item(Object::with_type(Type::Null)).into()
}

/// Describes `if_exists`.
pub(crate) fn if_exists() -> Schema {
    maybe(["raise", "do_nothing"])
}

/// Describes `if_not_exists`.
pub(crate) fn if_not_exists() -> Schema {
    maybe(["reject", "create"])
}

/// Describes `multitask_strategy`.
pub(crate) fn multitask_strategy() -> Schema {
    maybe(["enqueue", "reject", "interrupt", "rollback"])
}

/// Describes `durability`.
pub(crate) fn durability() -> Schema {
    maybe(["sync", "async", "exit"])
}

/// Describes `on_disconnect`.
pub(crate) fn on_disconnect() -> Schema {
    maybe(["continue", "cancel"])
}

/// Describes `on_completion` and `on_run_completed`.
pub(crate) fn on_completion() -> Schema {
    maybe(["delete", "keep"])
}

/// Describes `sort_order`.
pub(crate) fn sort_order() -> Schema {
    maybe(["desc", "asc"])
}

/// Describes the strategy of a thread's end.
pub(crate) fn ttl_strategy() -> Schema {
    maybe(["delete", "keep_latest"])
}

/// Describes the status of a thread in a search.
pub(crate) fn thread_status() -> Schema {
    maybe(["idle", "busy", "interrupted", "error"])
}

/// Describes the status of runs to cancel.
pub(crate) fn cancel_status() -> Schema {
    maybe(["pending", "running", "all"])
}

/// Describes the way in which runs are stopped.
pub(crate) fn stop_action() -> Object {
    one_of(["interrupt", "rollback"])
}
