//! What must not compile, and what the compiler then says.

#[test]
fn mistakes_are_explained() {
    trybuild::TestCases::new().compile_fail("tests/mistakes/**/*.rs");
}
