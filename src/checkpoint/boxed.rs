//! Boxed futures of object-safe methods.
//!
//! Small because the contract of stores and that of leases both use them.

use std::future::Future;
use std::pin::Pin;

/// Boxed future, as returned by object-safe async methods.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
