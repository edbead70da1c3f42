//! What the README shows is what is compiled. Knows files only.

#[test]
fn first_program_of_the_readme_is_the_compiled_example() {
    let (_, program) = include_str!("../examples/readme.rs").split_once("use std::").unwrap_or_default();
    assert!(!program.is_empty());
    assert!(include_str!("../README.md").contains(&format!("```rust,no_run\nuse std::{program}```\n")));
}
