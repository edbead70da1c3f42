//! Panics as values: of user types, reducers, hooks and stores. Knows how a panic is caught and described; must not
//! know the caller.

use std::any::Any;
use std::borrow::Cow;
use std::error::Error;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt;

/// Text for a payload of an unknown type.
const NO_TEXT: &str = "a panic without a text";

/// Runs a call and returns the text of its panic as the error.
pub fn catch_panic<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(text)
}

/// Runs a fallible call and converts its panic to an error.
pub fn catch_panic_as<T, E>(call: impl FnOnce() -> Result<T, E>, panicked: impl FnOnce(String) -> E) -> Result<T, E> {
    catch_panic(call).unwrap_or_else(|text| Err(panicked(text)))
}

/// Returns a future that resolves to the text of its panic as the error.
pub fn catch_panic_in<F: Future>(future: F) -> impl Future<Output = Result<F::Output, String>> {
    AssertUnwindSafe(future).catch_unwind().map(|done| done.map_err(text))
}

/// Reason why a value whose `Serialize` panicked cannot be encoded.
pub fn serialize_panicked(panic: String) -> String {
    format!("its `Serialize` panicked: {panic}")
}

/// Drops a value and returns the text of a panic in its `Drop`.
pub fn drop_guarded<T>(value: T) -> Result<(), String> {
    catch_panic(|| drop(value))
}

/// Boxed future whose panics are values, those of its `Drop` included.
pub struct GuardedFuture<F: ?Sized>(Option<Pin<Box<F>>>);

impl<F: ?Sized> GuardedFuture<F> {
    /// Guards a future.
    pub fn new(future: Pin<Box<F>>) -> Self {
        Self(Some(future))
    }

    /// Drops the future before it completes.
    pub fn abandon(&mut self) -> Result<(), String> {
        self.0.take().map_or(Ok(()), drop_guarded)
    }
}

impl<F: Future + ?Sized> Future for GuardedFuture<F> {
    type Output = Result<F::Output, String>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let future = &mut self.0;
        let polled = catch_panic(|| {
            let Some(running) = future else { return Poll::Pending };
            let polled = running.as_mut().poll(cx);
            if polled.is_ready() {
                *future = None;
            }
            polled
        });
        match polled {
            Ok(polled) => polled.map(Ok),
            Err(text) => {
                _ = self.abandon(); // what panicked may do so again
                Poll::Ready(Err(text))
            }
        }
    }
}

impl<F: ?Sized> Drop for GuardedFuture<F> {
    fn drop(&mut self) {
        _ = self.abandon();
    }
}

/// Returns the text of a panic's payload and drops the payload.
pub fn text(payload: Box<dyn Any + Send>) -> String {
    let text = catch_unwind(AssertUnwindSafe(|| payload_text(&*payload))).unwrap_or_else(|again| {
        std::mem::forget(again);
        None
    });
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(again); // its `Drop` may panic as well
    }
    text.unwrap_or_else(|| NO_TEXT.to_owned())
}

macro_rules! first_of {
    ($payload:expr; $($type:ty),*) => {
        None$(.or_else(|| $payload.downcast_ref::<$type>().map(ToString::to_string)))*
    };
}

fn payload_text(payload: &(dyn Any + Send)) -> Option<String> {
    first_of!(
        payload;
        String, &'static str, Cow<'static, str>, Box<str>, Arc<str>,
        Box<dyn Error + Send + Sync>, Box<dyn Error + Send>, std::io::Error, std::fmt::Error,
        bool, char, u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64
    )
}

#[cfg(test)]
mod tests {
    use std::panic::panic_any;

    use rstest::rstest;

    use super::*;

    struct Nasty;

    impl Drop for Nasty {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                panic_any(Self);
            }
        }
    }

    #[rstest]
    #[case::text(|| panic!("out of ink"), "out of ink")]
    #[case::formatted(|| panic!("out of {}", "ink"), "out of ink")]
    #[case::number(|| panic_any(7_u64), "7")]
    #[case::error(|| panic_any(Box::<dyn Error + Send + Sync>::from("out of ink")), "out of ink")]
    #[case::local_error(|| panic_any(std::io::Error::other("out of ink")), "out of ink")]
    #[case::shared(|| panic_any(Arc::<str>::from("out of ink")), "out of ink")]
    #[case::unknown(|| panic_any(vec![1]), "a panic without a text")]
    #[case::nasty(|| panic_any(Nasty), "a panic without a text")]
    fn a_panic_has_a_text_whatever_its_payload(#[case] call: fn(), #[case] expected: &str) {
        assert_eq!(catch_panic(call).unwrap_err(), expected);
    }

    #[tokio::test]
    async fn a_future_is_dropped_within_the_guard() {
        let nasty = Nasty;
        let future: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
            let _held = nasty;
            std::future::pending().await
        });
        let mut guarded = GuardedFuture::new(future);
        assert!((&mut guarded).now_or_never().is_none());
        assert_eq!(guarded.abandon().unwrap_err(), NO_TEXT);
    }
}
