//! The binary `superstep`.

fn main() {}
