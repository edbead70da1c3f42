//! The derive macros of superstep.
