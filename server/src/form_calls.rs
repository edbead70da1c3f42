//! Calls of the methods that a program gives its questions: user code, whose panics must not end a request. Knows no request.
//!
//! Small because it only catches and logs.

use superstep::graph::Question;
use superstep_base::panics::catch_panic;

/// Calls a method of a question's form.
///
/// # Errors
/// If it panics: a sentence with the text of the panic, which is logged.
pub(crate) fn call_form<T>(question: &Question, method: &str, call: impl FnOnce() -> T) -> Result<T, String> {
    catch_panic(call).map_err(|panic| {
        let name = question.name();
        tracing::error!(question = name, method, panic, "a method of a question panicked");
        format!("`{method}` of the question `{name}` panicked: {panic}")
    })
}
