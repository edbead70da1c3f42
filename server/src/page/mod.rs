//! Pages that are part of the program: that of people below `/ui/`, and that of the routes at `/docs`.
//!
//! Small because it only lists the folder.

mod docs;
mod embedded;
mod ui;

pub(crate) use docs::routes as docs;
pub(crate) use ui::routes as ui;
pub(crate) use ui::start;
