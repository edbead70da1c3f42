//! The types of the expansion, by their names.

use quote::format_ident;
use syn::{DeriveInput, Ident, Visibility};

/// The types of the expansion.
pub(super) struct Names<'a> {
    pub(super) state: &'a Ident,
    pub(super) update: Ident,
    pub(super) write: Ident,
    pub(super) vis: &'a Visibility,
}

impl<'a> Names<'a> {
    pub(super) fn of(input: &'a DeriveInput) -> Self {
        let (update, write) = (format_ident!("{}Update", input.ident), format_ident!("{}Write", input.ident));
        Self { state: &input.ident, update, write, vis: &input.vis }
    }
}
