//! The output of compilers, linters and test runners, read into findings. `outputs/first` and `outputs/shifted` are outputs of the
//! real tools for the same programs: in `/home/ada/tides`, and seven lines further down in a temporary folder.

use std::collections::BTreeSet;
use std::path::Path;

use rstest::rstest;
use superstep::findings::{Finding, Normalizer, ReportReader, Severity, ShellExit, ShellOutput};

fn read(root: &str, stdout: &[u8]) -> Vec<Finding> {
    let normalizer = Normalizer::new([root]);
    let output = ShellOutput { stdout, stderr: b"", exit: ShellExit::Code(1) };
    ReportReader::new("build", "make", &normalizer).read(&output).findings
}

fn findings(run: &str, tool: &str) -> Vec<Finding> {
    let root = if run == "first" { "/home/ada/tides" } else { "/tmp/tmp.8fQzKw1Xyz/tides" };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/verification/outputs/{run}/{tool}.txt"));
    read(root, &std::fs::read(path).unwrap())
}

fn shown(tool: &str) -> String {
    listed(findings("first", tool))
}

fn listed(findings: Vec<Finding>) -> String {
    let line = |finding: Finding| {
        let file = finding.evidence.file.unwrap_or_else(|| "-".to_owned());
        let lines = finding.evidence.lines.map_or(String::new(), |lines| format!(":{lines}"));
        let kind = serde_json::to_value(&finding.kind).unwrap();
        format!("{} {} {file}{lines}  {}\n", finding.severity, kind.as_str().unwrap(), finding.message)
    };
    findings.into_iter().map(line).collect()
}

fn fingerprints(run: &str, tool: &str) -> BTreeSet<String> {
    findings(run, tool).iter().map(|finding| finding.fingerprint.to_string()).collect()
}

#[test]
fn cargo_build_is_read() {
    insta::assert_snapshot!(shown("cargo_build"), @r#"
    error BUILD_FAIL src/lib.rs:7  E0308: mismatched types: expected `u32`, found `&str`
    error BUILD_FAIL src/lib.rs:8  E0425: cannot find function `missing` in this scope: not found in this scope
    error BUILD_FAIL src/lib.rs:18  E0308: mismatched types: expected `u32`, found `&str`
    warning BUILD_FAIL src/lib.rs:2  unused variable: `unused`
    error BUILD_FAIL src/lib.rs:14  E0382: borrow of moved value: `names`: value borrowed here after move
    "#);
}

#[test]
fn cargo_json_is_read() {
    insta::assert_snapshot!(shown("cargo_json"), @r#"
    error BUILD_FAIL src/lib.rs:7  E0308: mismatched types: expected `u32`, found `&str`
    error BUILD_FAIL src/lib.rs:8  E0425: cannot find function `missing` in this scope: not found in this scope
    error BUILD_FAIL src/lib.rs:18  E0308: mismatched types: expected `u32`, found `&str`
    warning BUILD_FAIL src/lib.rs:2  unused_variables: unused variable: `unused`
    error BUILD_FAIL src/lib.rs:14  E0382: borrow of moved value: `names`: value borrowed here after move
    "#);
}

#[test]
fn cargo_test_is_read() {
    insta::assert_snapshot!(shown("cargo_test"), @r#"
    error TEST_FAIL src/lib.rs:11  tests::high_tide: assertion `left == right` failed: at noon; left: 3; right: 2
    error TEST_FAIL src/lib.rs:18  tests::low_tide: index out of bounds: the len is 2 but the index is 5
    error TEST_FAIL -  tests::reads_a_file: Error: "no such harbour: Brest"
    "#);
}

#[test]
fn clang_is_read() {
    insta::assert_snapshot!(shown("clang"), @r#"
    error BUILD_FAIL sounding.c:4  use of undeclared identifier 'undeclared'
    warning BUILD_FAIL sounding.c:7  -Wint-conversion: incompatible integer to pointer conversion initializing 'char *' with an expression of type 'int'
    warning BUILD_FAIL sounding.c:8  -Wint-conversion: incompatible pointer to integer conversion passing 'char[5]' to parameter of type 'int'
    warning BUILD_FAIL sounding.c:8  -Wformat: format specifies type 'char *' but the argument has type 'int'
    error BUILD_FAIL sounding.c:8  expected ';' after expression
    "#);
}

#[test]
fn eslint_is_read() {
    insta::assert_snapshot!(shown("eslint"), @r#"
    error BUILD_FAIL ts/src/syntax.js:1  Parsing error: Unexpected token ;
    error BUILD_FAIL ts/src/tides.js:2  no-unused-vars: 'unused' is assigned a value but never used
    error BUILD_FAIL ts/src/tides.js:3  no-undef: 'undeclared' is not defined
    warning BUILD_FAIL ts/src/tides.js:5  no-var: Unexpected var, use let or const instead
    error BUILD_FAIL ts/src/tides.js:6  eqeqeq: Expected '===' and instead saw '=='
    "#);
}

#[test]
fn eslint_compact_is_read() {
    insta::assert_snapshot!(shown("eslint_compact"), @r#"
    error BUILD_FAIL ts/src/syntax.js:1  Parsing error: Unexpected token ;
    error BUILD_FAIL ts/src/tides.js:2  no-unused-vars: 'unused' is assigned a value but never used.
    error BUILD_FAIL ts/src/tides.js:3  no-undef: 'undeclared' is not defined.
    warning BUILD_FAIL ts/src/tides.js:5  no-var: Unexpected var, use let or const instead.
    error BUILD_FAIL ts/src/tides.js:6  eqeqeq: Expected '===' and instead saw '=='.
    "#);
}

#[test]
fn eslint_unix_is_read() {
    insta::assert_snapshot!(shown("eslint_unix"), @r#"
    error BUILD_FAIL ts/src/syntax.js:1  Parsing error: Unexpected token ;
    error BUILD_FAIL ts/src/tides.js:2  no-unused-vars: 'unused' is assigned a value but never used.
    error BUILD_FAIL ts/src/tides.js:3  no-undef: 'undeclared' is not defined.
    warning BUILD_FAIL ts/src/tides.js:5  no-var: Unexpected var, use let or const instead.
    error BUILD_FAIL ts/src/tides.js:6  eqeqeq: Expected '===' and instead saw '=='.
    "#);
}

#[test]
fn flake8_is_read() {
    insta::assert_snapshot!(shown("flake8"), @r#"
    error BUILD_FAIL typed.py:1  F401: 'os' imported but unused
    error BUILD_FAIL typed.py:2  F401: 'nowhere_at_all' imported but unused
    error BUILD_FAIL typed.py:4  E302: expected 2 blank lines, found 1
    "#);
}

#[test]
fn gcc_is_read() {
    insta::assert_snapshot!(shown("gcc"), @r#"
    error BUILD_FAIL sounding.c:4  ‘undeclared’ undeclared (first use in this function)
    warning BUILD_FAIL sounding.c:3  -Wunused-variable: unused variable ‘unused’
    warning BUILD_FAIL sounding.c:7  -Wint-conversion: initialization of ‘char *’ from ‘int’ makes pointer from integer without a cast
    warning BUILD_FAIL sounding.c:8  -Wint-conversion: passing argument 1 of ‘depth’ makes integer from pointer without a cast
    warning BUILD_FAIL sounding.c:8  -Wformat=: format ‘%s’ expects argument of type ‘char *’, but argument 2 has type ‘int’
    error BUILD_FAIL sounding.c:8  expected ‘;’ before ‘return’
    warning BUILD_FAIL sounding.c:7  -Wunused-variable: unused variable ‘name’
    warning BUILD_FAIL sounding.c:5  -Wreturn-type: control reaches end of non-void function
    "#);
}

#[test]
fn gcc_c_locale_is_read() {
    insta::assert_snapshot!(shown("gcc_c_locale"), @r#"
    error BUILD_FAIL c/sounding.c:4  'undeclared' undeclared (first use in this function)
    warning BUILD_FAIL c/sounding.c:3  -Wunused-variable: unused variable 'unused'
    warning BUILD_FAIL c/sounding.c:7  -Wint-conversion: initialization of 'char *' from 'int' makes pointer from integer without a cast
    warning BUILD_FAIL c/sounding.c:8  -Wint-conversion: passing argument 1 of 'depth' makes integer from pointer without a cast
    warning BUILD_FAIL c/sounding.c:8  -Wformat=: format '%s' expects argument of type 'char *', but argument 2 has type 'int'
    error BUILD_FAIL c/sounding.c:8  expected ';' before 'return'
    warning BUILD_FAIL c/sounding.c:7  -Wunused-variable: unused variable 'name'
    warning BUILD_FAIL c/sounding.c:5  -Wreturn-type: control reaches end of non-void function
    "#);
}

#[test]
fn go_build_is_read() {
    insta::assert_snapshot!(shown("go_build"), @r#"
    error BUILD_FAIL tides.go:3  imported and not used: "os"
    error BUILD_FAIL tides.go:6  unused declared but not used
    error BUILD_FAIL tides.go:7  undefined: undeclared
    error BUILD_FAIL tides.go:11  cannot use "high" (untyped string constant) as int value in variable declaration
    error BUILD_FAIL tides.go:12  too many arguments in call to Level: have (string, int), want (int)
    "#);
}

#[test]
fn go_panic_is_read() {
    insta::assert_snapshot!(shown("go_panic"), @"error TEST_FAIL go/tides.go:10  TestMissing: runtime error: invalid memory address or nil pointer dereference");
}

#[test]
fn go_test_is_read() {
    insta::assert_snapshot!(shown("go_test"), @r#"
    error TEST_FAIL tides_test.go:7  TestHigh: Level(2) = 3, want 2
    error TEST_FAIL tides_test.go:12  TestMany/low: no water
    "#);
}

#[test]
fn go_vet_is_read() {
    insta::assert_snapshot!(shown("go_vet"), @r#"error BUILD_FAIL tides.go:13  fmt.Printf format %d has arg "high" of wrong type string"#);
}

#[test]
fn java_trace_is_read() {
    insta::assert_snapshot!(shown("java_trace"), @r#"error BUILD_FAIL Tides.java:5  java.lang.IllegalStateException: no level at 0; caused by java.lang.NumberFormatException: For input string: "high""#);
}

#[test]
fn javac_is_read() {
    insta::assert_snapshot!(shown("javac"), @r#"
    error BUILD_FAIL src/tides/Tides.java:5  incompatible types: String cannot be converted to int
    error BUILD_FAIL src/tides/Tides.java:6  cannot find symbol: variable missing, location: class Tides
    error BUILD_FAIL src/tides/Tides.java:6  cannot find symbol: method absent(), location: class Tides
    error BUILD_FAIL src/tides/Tides.java:7  incompatible types: String cannot be converted to int
    "#);
}

#[test]
fn jest_is_read() {
    insta::assert_snapshot!(shown("jest"), @r#"
    error TEST_FAIL tides.test.js:3  tides › high tide: expect(received).toBe(expected) // Object.is equality; Expected: 2; Received: 3
    error TEST_FAIL tides.js:1  tides › missing harbour: TypeError: Cannot read properties of undefined (reading 'name')
    "#);
}

#[test]
fn ld_is_read() {
    insta::assert_snapshot!(shown("ld"), @"error BUILD_FAIL link.c  undefined reference to `sounding'");
}

#[test]
fn make_is_read() {
    insta::assert_snapshot!(shown("make"), @r#"
    error BUILD_FAIL sounding.c:4  ‘undeclared’ undeclared (first use in this function)
    warning BUILD_FAIL sounding.c:3  -Wunused-variable: unused variable ‘unused’
    warning BUILD_FAIL sounding.c:7  -Wint-conversion: initialization of ‘char *’ from ‘int’ makes pointer from integer without a cast
    warning BUILD_FAIL sounding.c:8  -Wint-conversion: passing argument 1 of ‘depth’ makes integer from pointer without a cast
    warning BUILD_FAIL sounding.c:8  -Wformat=: format ‘%s’ expects argument of type ‘char *’, but argument 2 has type ‘int’
    error BUILD_FAIL sounding.c:8  expected ‘;’ before ‘return’
    warning BUILD_FAIL sounding.c:7  -Wunused-variable: unused variable ‘name’
    warning BUILD_FAIL sounding.c:5  -Wreturn-type: control reaches end of non-void function
    "#);
}

#[test]
fn mypy_is_read() {
    insta::assert_snapshot!(shown("mypy"), @r#"
    error BUILD_FAIL typed.py:2  import-not-found: Cannot find implementation or library stub for module named "nowhere_at_all"
    error BUILD_FAIL typed.py:5  return-value: Incompatible return value type (got "int", expected "str")
    "#);
}

#[test]
fn nextest_is_read() {
    insta::assert_snapshot!(shown("nextest"), @r#"
    error TEST_FAIL src/lib.rs:18  tests::low_tide: index out of bounds: the len is 2 but the index is 5
    error TEST_FAIL src/lib.rs:11  tests::high_tide: assertion `left == right` failed: at noon; left: 3; right: 2
    "#);
}

#[test]
fn node_test_is_read() {
    insta::assert_snapshot!(shown("node_test"), @r#"
    error TEST_FAIL js/node.test-cases.js:3  high tide: Expected values to be strictly equal:; 3 !== 2
    error TEST_FAIL js/node.test-cases.js:4  missing harbour: Cannot read properties of undefined (reading 'name')
    "#);
}

#[test]
fn node_test_spec_is_read() {
    insta::assert_snapshot!(shown("node_test_spec"), @r#"
    error TEST_FAIL js/node.test-cases.js:3  high tide: AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:; 3 !== 2
    error TEST_FAIL js/node.test-cases.js:4  missing harbour: TypeError [Error]: Cannot read properties of undefined (reading 'name')
    "#);
}

#[test]
fn node_trace_is_read() {
    insta::assert_snapshot!(shown("node_trace"), @"error BUILD_FAIL js/tides.js:1  TypeError: Cannot read properties of undefined (reading 'name')");
}

#[test]
fn pytest_is_read() {
    insta::assert_snapshot!(shown("pytest"), @r#"
    error TEST_FAIL test_tides.py:16  test_fixture: RuntimeError: the harbour is closed
    error TEST_FAIL test_tides.py:5  test_high_tide: AssertionError: at noon; assert 3 == 2; +  where 3 = level(2)
    error TEST_FAIL test_tides.py:9  TestLow.test_low_tide: AssertionError: assert 'Brest' == 'Saint-Malo'; - Saint-Malo; + Brest
    error TEST_FAIL tides.py:7  test_missing: KeyError: 'harbour'
    error TEST_FAIL test_tides.py:23  test_many[1]: assert 2 == 0; +  where 2 = level(1)
    error TEST_FAIL test_tides.py:23  test_many[2]: assert 3 == 0; +  where 3 = level(2)
    error TEST_FAIL test_tides.py:26  test_tmp: FileNotFoundError: [Errno 2] No such file or directory: '/tmp/pytest-of-root/pytest-6/test_tmp0/log'
    "#);
}

#[test]
fn pytest_import_is_read() {
    insta::assert_snapshot!(shown("pytest_import"), @"error TEST_FAIL test_import.py:1  test_import.py: ModuleNotFoundError: No module named 'nowhere_at_all'");
}

#[test]
fn pytest_short_is_read() {
    insta::assert_snapshot!(shown("pytest_short"), @r#"
    error TEST_FAIL test_tides.py:16  test_fixture: RuntimeError: the harbour is closed
    error TEST_FAIL test_tides.py:5  test_high_tide: AssertionError: at noon; assert 3 == 2; +  where 3 = level(2)
    error TEST_FAIL test_tides.py:9  TestLow.test_low_tide: AssertionError: assert 'Brest' == 'Saint-Malo'; - Saint-Malo; + Brest
    error TEST_FAIL tides.py:7  test_missing: KeyError: 'harbour'
    error TEST_FAIL test_tides.py:23  test_many[1]: assert 2 == 0; +  where 2 = level(1)
    error TEST_FAIL test_tides.py:23  test_many[2]: assert 3 == 0; +  where 3 = level(2)
    error TEST_FAIL test_tides.py:26  test_tmp: FileNotFoundError: [Errno 2] No such file or directory: '/tmp/pytest-of-root/pytest-7/test_tmp0/log'
    "#);
}

#[test]
fn pytest_summary_is_read() {
    insta::assert_snapshot!(shown("pytest_summary"), @r#"
    error TEST_FAIL test_tides.py  test_high_tide: AssertionError: at noon
    error TEST_FAIL test_tides.py  TestLow.test_low_tide: AssertionError: assert 'Brest'
    error TEST_FAIL test_tides.py  test_missing: KeyError: 'harbour'
    error TEST_FAIL test_tides.py  test_many[1]: assert 2 == 0
    error TEST_FAIL test_tides.py  test_many[2]: assert 3 == 0
    error TEST_FAIL test_tides.py  test_tmp: FileNotFoundError: [Errno 2] No such file or
    error TEST_FAIL test_tides.py  test_fixture: RuntimeError: the harbour is closed
    "#);
}

#[test]
fn python_syntax_is_read() {
    insta::assert_snapshot!(shown("python_syntax"), @"error BUILD_FAIL py/syntax.py:1  SyntaxError: invalid syntax");
}

#[test]
fn ruff_is_read() {
    insta::assert_snapshot!(shown("ruff"), @r#"
    error BUILD_FAIL typed.py:1  I001: Import block is un-sorted or un-formatted
    error BUILD_FAIL typed.py:1  F401: `os` imported but unused
    error BUILD_FAIL typed.py:2  F401: `nowhere_at_all` imported but unused
    "#);
}

#[test]
fn rust_link_is_read() {
    insta::assert_snapshot!(shown("rust_link"), @r#"
    error BUILD_FAIL -  linking with `cc` failed: exit status: 1
    error BUILD_FAIL src/main.rs:2  undefined symbol: sounding_depth
    "#);
}

#[test]
fn traceback_is_read() {
    insta::assert_snapshot!(shown("traceback"), @"error BUILD_FAIL py/tides.py:7  KeyError: 'harbour'");
}

#[test]
fn tsc_is_read() {
    insta::assert_snapshot!(shown("tsc"), @r#"
    error BUILD_FAIL src/tides.ts:4  TS2322: Type 'string' is not assignable to type 'number'.
    error BUILD_FAIL src/tides.ts:5  TS2554: Expected 1 arguments, but got 2.
    error BUILD_FAIL src/tides.ts:6  TS2304: Cannot find name 'undeclared'.
    error BUILD_FAIL src/tides.ts:8  TS2322: Type '"middle"' is not assignable to type 'Tide'.
    error BUILD_FAIL src/tides.ts:9  TS2307: Cannot find module './nowhere' or its corresponding type declarations.
    "#);
}

#[test]
fn tsc_pretty_is_read() {
    insta::assert_snapshot!(shown("tsc_pretty"), @r#"
    error BUILD_FAIL src/tides.ts:4  TS2322: Type 'string' is not assignable to type 'number'.
    error BUILD_FAIL src/tides.ts:5  TS2554: Expected 1 arguments, but got 2.
    error BUILD_FAIL src/tides.ts:6  TS2304: Cannot find name 'undeclared'.
    error BUILD_FAIL src/tides.ts:8  TS2322: Type '"middle"' is not assignable to type 'Tide'.
    error BUILD_FAIL src/tides.ts:9  TS2307: Cannot find module './nowhere' or its corresponding type declarations.
    "#);
}

#[test]
fn unittest_is_read() {
    insta::assert_snapshot!(shown("unittest"), @r#"
    error TEST_FAIL py/tides.py:7  test_missing (__main__.Tides.test_missing): KeyError: 'harbour'
    error TEST_FAIL py/unit.py:6  test_high (__main__.Tides.test_high): AssertionError: 3 != 2
    "#);
}

#[test]
fn vitest_is_read() {
    insta::assert_snapshot!(shown("vitest"), @r#"
    error TEST_FAIL tides.test.js:3  tides > high tide: AssertionError: expected 3 to be 2 // Object.is equality
    error TEST_FAIL tides.test.js:4  tides > missing harbour: TypeError: Cannot read properties of undefined (reading 'name')
    "#);
}

#[test]
fn cmake_is_read() {
    insta::assert_snapshot!(shown("cmake"), @r#"error BUILD_FAIL CMakeLists.txt:3  By not providing "FindHarbours.cmake" in CMAKE_MODULE_PATH this project has asked CMake to find a package configuration file provided by "Harbours", but CMake did not find one. Could not find a package configuration file provided by "Harbours" with any of the following names: HarboursConfig.cmake harbours-config.cmake Add the installation prefix of "Harbours" to CMAKE_PREFIX_PATH or set "Harbours_DIR" to a directory containing one of the above files. If "Harbours" provides a separate development package or SDK, be sure it has been installed."#);
}

#[test]
fn cmake_own_is_read() {
    insta::assert_snapshot!(shown("cmake_own"), @r#"
    warning BUILD_FAIL CMakeLists.txt:6  old
    error BUILD_FAIL CMakeLists.txt:7  include could not find requested file: missing.cmake
    error BUILD_FAIL CMakeLists.txt:9  Cannot specify link libraries for target "tide" which is not built by this project.
    "#);
}

#[test]
fn minitest_is_read() {
    insta::assert_snapshot!(shown("minitest"), @r"
    error TEST_FAIL test/tides_test.rb:4  TidesTest#test_brest: ArgumentError: no such harbour: Brest
    error TEST_FAIL test/tides_test.rb:3  TidesTest#test_high: Expected: 3; Actual: 2
    ");
}

#[test]
fn mocha_is_read() {
    insta::assert_snapshot!(shown("mocha"), @r"
    error TEST_FAIL test/tides.js:4  Tides > high is at noon: AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:; 2 !== 3; -2; +3
    error TEST_FAIL test/tides.js:2  Tides > finds Brest: Error: no such harbour: Brest
    error TEST_FAIL test/tides.js:6  Tides > deep > has depths: AssertionError [ERR_ASSERTION]: Expected values to be strictly deep-equal:; + actual - expected; [; 1,; +   2; -   3; ]; [; 1; -  2; +  3; ]
    ");
}

#[test]
fn phpunit_is_read() {
    insta::assert_snapshot!(shown("phpunit"), @r"
    error TEST_FAIL tests/TidesTest.php:5  TidesTest::testBrest: InvalidArgumentException: no such harbour: Brest
    error TEST_FAIL tests/TidesTest.php:4  TidesTest::testHigh: Failed asserting that 2 is identical to 3.
    ");
}

#[test]
fn rspec_is_read() {
    insta::assert_snapshot!(shown("rspec"), @r#"
    error TEST_FAIL spec/tides_spec.rb:3  Tides is high at noon: it("is high at noon") { expect(1 + 1).to eq 3 }; expected: 3; got: 2
    error TEST_FAIL spec/tides_spec.rb:1  Tides finds Brest: def harbour(name) = raise(ArgumentError, "no such harbour: #{name}"); ArgumentError:; no such harbour: Brest
    "#);
}

#[test]
fn a_failure_of_exunit_is_read() {
    let text = "\n  1) test high is at noon (TidesTest)\n     test/tides_test.exs:4\n     Assertion with == failed\n     code:  assert 1 + 1 == 3\n     left:  2\n     right: 3\n     stacktrace:\n       test/tides_test.exs:5: (test)\n\nFinished in 0.03 seconds\n";
    insta::assert_snapshot!(listed(read("/home/ada/tides", text.as_bytes())), @"error TEST_FAIL test/tides_test.exs:5  test high is at noon (TidesTest): Assertion with == failed; code:  assert 1 + 1 == 3; left:  2; right: 3");
}

#[rstest]
fn lines_and_folders_do_not_count(
    #[values(
        "cargo_build",
        "cargo_json",
        "cargo_test",
        "clang",
        "cmake",
        "cmake_own",
        "eslint",
        "eslint_compact",
        "eslint_unix",
        "flake8",
        "gcc",
        "gcc_c_locale",
        "go_build",
        "go_panic",
        "go_test",
        "go_vet",
        "java_trace",
        "javac",
        "jest",
        "ld",
        "make",
        "minitest",
        "mocha",
        "mypy",
        "nextest",
        "node_test",
        "node_test_spec",
        "node_trace",
        "phpunit",
        "pytest",
        "pytest_import",
        "pytest_short",
        "pytest_summary",
        "python_syntax",
        "rspec",
        "ruff",
        "rust_link",
        "traceback",
        "tsc",
        "tsc_pretty",
        "unittest",
        "vitest"
    )]
    tool: &str,
) {
    let first = fingerprints("first", tool);
    assert!(!first.is_empty());
    assert_eq!(first, fingerprints("shifted", tool));
}

#[test]
fn cargo_gives_the_same_findings_as_text_and_as_json() {
    let errors = |tool| {
        let errors = findings("first", tool).into_iter().filter(|finding| finding.severity == Severity::Error);
        errors.map(|finding| (finding.message, finding.fingerprint)).collect::<Vec<_>>()
    };
    assert_eq!(errors("cargo_build"), errors("cargo_json"));
}
