//! The embedded store only.
