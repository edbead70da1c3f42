//! Converts any error into the error of a node; the class of a subgraph's failure is kept.

use std::error::Error;

use super::node_error::{ErrorClass, NodeError};
use super::run_error::RunError;

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for NodeError {
    fn from(source: E) -> Self {
        let source = source.into();
        let class = class_of(&*source);
        Self { source, class }
    }
}

/// Returns the class of a subgraph's failure among the causes, if there is one.
fn class_of(error: &(dyn Error + Send + Sync + 'static)) -> ErrorClass {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(failure) = error.downcast_ref::<RunError>() {
            return failure.class();
        }
        cause = error.source();
    }
    ErrorClass::Unclassified
}
