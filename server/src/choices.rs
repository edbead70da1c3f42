//! Texts that fields of requests are chosen from: each as the schema of its field for the description of the routes, and to refuse others.

use utoipa::openapi::schema::{Object, ObjectBuilder, OneOfBuilder, Schema, Type};

use crate::error::{ApiError, ApiResult};

pub(crate) const IF_EXISTS: [&str; 2] = ["raise", "do_nothing"];
pub(crate) const IF_NOT_EXISTS: [&str; 2] = ["reject", "create"];
pub(crate) const MULTITASK: [&str; 4] = ["enqueue", "reject", "interrupt", "rollback"];
pub(crate) const DURABILITY: [&str; 3] = ["sync", "async", "exit"];
pub(crate) const ON_DISCONNECT: [&str; 2] = ["continue", "cancel"];
pub(crate) const ON_COMPLETION: [&str; 2] = ["delete", "keep"];
pub(crate) const SORT_ORDER: [&str; 2] = ["desc", "asc"];
pub(crate) const THREAD_STATUS: [&str; 4] = ["idle", "busy", "interrupted", "error"];

/// Checks a field whose text is one of several.
///
/// # Errors
/// 422 for another text.
pub(crate) fn check_choice(field: &str, text: Option<&str>, known: &[&str]) -> ApiResult<()> {
    match text {
        Some(text) if !known.contains(&text) => {
            Err(ApiError::invalid(format!("{field} is one of {}, and not `{text}`", known.join(", "))))
        }
        _ => Ok(()),
    }
}

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
    maybe(IF_EXISTS)
}

/// Describes `if_not_exists`.
pub(crate) fn if_not_exists() -> Schema {
    maybe(IF_NOT_EXISTS)
}

/// Describes `multitask_strategy`.
pub(crate) fn multitask_strategy() -> Schema {
    maybe(MULTITASK)
}

/// Describes `durability`.
pub(crate) fn durability() -> Schema {
    maybe(DURABILITY)
}

/// Describes `on_disconnect`.
pub(crate) fn on_disconnect() -> Schema {
    maybe(ON_DISCONNECT)
}

/// Describes `on_completion` and `on_run_completed`.
pub(crate) fn on_completion() -> Schema {
    maybe(ON_COMPLETION)
}

/// Describes `sort_order`.
pub(crate) fn sort_order() -> Schema {
    maybe(SORT_ORDER)
}

/// Describes the strategy of a thread's end.
pub(crate) fn ttl_strategy() -> Schema {
    maybe(["delete", "keep_latest"])
}

/// Describes the status of a thread in a search.
pub(crate) fn thread_status() -> Schema {
    maybe(THREAD_STATUS)
}

/// Describes the status of runs to cancel.
pub(crate) fn cancel_status() -> Schema {
    maybe(["pending", "running", "all"])
}

/// Describes the way in which runs are stopped.
pub(crate) fn stop_action() -> Object {
    one_of(["interrupt", "rollback"])
}
