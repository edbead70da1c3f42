//! Panics inside a database become errors, and no panic hook reports them. Knows the panic hook.

use std::cell::Cell;
use std::panic::{set_hook, take_hook};
use std::sync::Once;

use superstep_base::panics::catch_panic;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs a call to a database and returns the text of its panic as the error, without calling the panic hook.
pub(in crate::checkpoint) fn catch_quietly<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    filter_reports();
    let was = QUIET.replace(true);
    let done = catch_panic(call);
    QUIET.set(was);
    done
}

/// Wraps the panic hook in a filter, once.
fn filter_reports() {
    static ONCE: Once = Once::new();
    if std::thread::panicking() {
        return; // a panicking thread cannot set a hook
    }
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !QUIET.try_with(Cell::get).unwrap_or(false) {
                before(panic);
            }
        }));
    });
}
