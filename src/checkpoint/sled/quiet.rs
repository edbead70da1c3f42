//! Panics inside sled, which become errors here: no hook reports them. Knows the hook that reports panics.

use std::cell::Cell;
use std::panic::{set_hook, take_hook};
use std::sync::Once;

use crate::checkpoint::panics::caught;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs a call to sled; its panic becomes the text of the payload, and is reported nowhere else.
pub(super) fn caught_quietly<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    filter_reports();
    let was = QUIET.replace(true);
    let done = caught(call);
    QUIET.set(was);
    done
}

/// Puts a filter before the hook that reports panics, once.
fn filter_reports() {
    static ONCE: Once = Once::new();
    if std::thread::panicking() {
        return; // a hook cannot be set now
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
