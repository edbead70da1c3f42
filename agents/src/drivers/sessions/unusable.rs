//! The error for a file or folder that the system refuses.

use std::io;
use std::path::Path;

use crate::drivers::{DriverError, ErrorClass};

pub(super) fn unusable(directory: &Path, error: &io::Error) -> DriverError {
    let message = format!("sessions cannot be kept in {}: {error}", directory.display());
    DriverError::new(ErrorClass::Fatal, message)
}
